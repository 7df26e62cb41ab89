"""The work of a run, estimated before it is done: tests and memory, level by level.

The number of tests of a level is known exactly only afterwards, because a removed edge needs no further tests. An exact
upper bound is known beforehand, from the degrees alone: the sum over rows of degree * C(degree - 1, level). For the
complete graph, which loses most of its edges at once, that bound is far too large. Therefore levels 0 and 1, which are
cheap, are run, and the bounds are computed again for the graphs that they leave.

How long a run takes is measured (`trial`): the levels after these run as well, but only for a few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.kinds import kind_of
from pycupc.algorithm.trial import Trial, Watch, degrees_of, time_of, try_levels
from pycupc.data.names import default_labels
from pycupc.engines.base import KEPT_BYTES, TESTED_BYTES
from pycupc.engines.reference import ReferenceEngine
from pycupc.engines.subsets import level_tests
from pycupc.independence.discrete.g_square import DiscreteTest

if TYPE_CHECKING:
    from pycupc.engines.base import Engine, Mask, ProgressHook
    from pycupc.independence.discrete import DiscreteSuffStat
    from pycupc.independence.gaussian.suffstat import SuffStat

#: Number of levels, beyond those run, for which bounds are given.
SHOWN = 12
#: Bytes per separating set without its members.
SET_BYTES = 28
#: Why a counted test may take no time, by kind of test.
NOT_MADE = {
    "gaussian": "pruning may answer most of\nthem without making them",
    "discrete": "those with fewer than ten (--df observed: five)\n"
    "observations per degree of freedom are counted, and not made",
}


@dataclass(frozen=True)
class Stage:
    """The state of the estimate before any test (level -1), or after level 0 or 1 has been run.

    Attributes
    ----------
    level : int
        Last level run, -1 for none.
    edges, max_degree : int
        Number of edges, and largest number of neighbours, of the graph at this stage.
    busiest : str
        Variable with the most neighbours, "" if there are no edges.
    n_tests : int or None
        Number of tests of `level`, pcalg's ``n.edgetests``; None before any.
    seconds : float
        Time that `level` took.
    memory : int
        Upper bound in bytes on the correlations (of discrete data: the codes), the graph and the separating sets during
        the next level.
    most_tests : tuple of int
        Exact upper bounds on the tests of levels ``level + 1, level + 2, ...``; ends where no variable has enough
        neighbours, or after `SHOWN` levels.
    """

    level: int
    edges: int
    max_degree: int
    busiest: str
    n_tests: int | None
    seconds: float
    memory: int
    most_tests: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """The estimate of a run; ``print(estimate)`` shows it as a table.

    Attributes
    ----------
    p : int
        Number of variables.
    n : float
        Number of observations.
    alpha : float
        Significance level.
    engine : str
        Name of the engine.
    test : {"gaussian", "discrete"}
    memory_needed, memory_free : int
        Bytes that the engine reserves at the start of a run, and bytes free where it keeps its state.
    stages : tuple of Stage
        Before any test, and after each level that was run.
    trial : Trial or None
        None if the levels that follow were not tried.
    """

    p: int
    n: float
    alpha: float
    engine: str
    test: str
    memory_needed: int
    memory_free: int
    stages: tuple[Stage, ...] = field(repr=False)
    trial: Trial | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain dict, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return _table(self)


def run_stages(
    data: SuffStat | DiscreteTest,
    alpha: float,
    engine: Engine,
    *,
    gaps: Mask | None = None,
    fixed: Mask | None = None,
    last: int = 1,
    progress: ProgressHook | None = None,
    trial: float = 0,
) -> Estimate:
    """Run levels 0 to `last` on `engine` and bound the tests of those that would follow.

    Parameters
    ----------
    data : SuffStat or DiscreteTest
        The data of the Gaussian test, or the G^2 test with its data.
    engine : Engine
        Not started yet; it is closed afterwards. A reference engine of discrete data has been given the test.
    gaps, fixed : bool (p, p), optional
        Symmetric; pairs without an edge, and edges that are never tested.
    last : int
        Last level to run; -1 runs none.
    progress : callable, optional
        As for `Engine.start`.
    trial : float
        Seconds for which the levels after `last` are tried; 0: they are not.
    """
    suff_stat = data.suff_stat if isinstance(data, DiscreteTest) else data
    test = kind_of(data, alpha, literal=isinstance(engine, ReferenceEngine))
    labels, p, n = labels_of(suff_stat), suff_stat.p, suff_stat.n
    needed, free = engine.memory(p)
    held, removed = _bytes_of(data), 0
    try:
        watch = Watch(progress) if trial else progress
        test.start(engine, labels, gaps=gaps, fixed=fixed, progress=watch)
        degrees = targets = engine.degrees()
        if fixed is not None:
            untested = fixed & ~np.eye(p, dtype=np.bool_)
            targets = degrees - (untested if gaps is None else untested & ~gaps).sum(axis=1)
        stages = [_stage(-1, degrees, targets, labels, None, 0.0, (held, 0))]
        for level in range(last + 1):
            if not stages[-1].most_tests:
                break
            result, seconds = engine.timed_level(level, test.cutoff(level))
            degrees, targets = degrees_of(engine, fixed)
            removed += result.n_removed if level else 0  # the empty sets of level 0 are not stored
            stages.append(_stage(level, degrees, targets, labels, result.n_tests, seconds, (held, removed)))
        tried = None
        if isinstance(watch, Watch):
            passed = sum(stage.seconds for stage in stages)
            tried = try_levels(engine, test.cutoff, watch, trial, (stages[-1].level + 1, passed), labels, fixed)
    finally:
        engine.close()
    kind = "gaussian" if data is suff_stat else "discrete"
    return Estimate(p, n, alpha, engine.name, kind, needed, free, tuple(stages), tried)


def _bytes_of(data: SuffStat | DiscreteTest) -> int:
    """Bytes of C; or of the codes and of the table of m ln m."""
    if isinstance(data, DiscreteTest):
        return data.suff_stat.codes.nbytes + 8 * (data.suff_stat.n + 1)
    return 8 * data.p**2


def labels_of(suff_stat: SuffStat | DiscreteSuffStat) -> Sequence[str]:
    """Names of the variables; without names "1", "2", ..., as in `pc`."""
    return suff_stat.labels if suff_stat.labels is not None else default_labels(suff_stat.p)


def _stage(
    level: int,
    degrees: NDArray[np.int64],
    targets: NDArray[np.int64],
    labels: Sequence[str],
    n_tests: int | None,
    seconds: float,
    kept: tuple[int, int],
) -> Stage:
    """The stage after `level`; `kept` are the bytes of the data, and the number of separating sets stored."""
    top = int(degrees.max(initial=0))
    most = [level_tests(degrees, targets, later) for later in range(level + 1, min(level + 1 + SHOWN, top))]
    busiest = str(labels[int(np.argmax(degrees))]) if top else ""
    edges = int(degrees.sum()) // 2
    held, removed = kept
    # the graph before and after the next level, the sets stored and one for each edge still to be removed
    memory = held + (TESTED_BYTES + KEPT_BYTES) * 2 * edges + (removed + edges) * (SET_BYTES + 4 * (level + 1))
    return Stage(level, edges, top, busiest, n_tests, seconds, memory, tuple(most))


def _table(e: Estimate) -> str:
    """The estimate as a table: one column per stage, one row per level."""
    lines = [f"{e.p:,} variables, {e.n:,} observations, alpha {e.alpha:g}, engine {e.engine}"]
    lines.append(f"memory: {size(e.memory_free)} free; a run reserves {size(e.memory_needed)}")
    heads = ["before any test", "after level 0", "after level 1"][: len(e.stages)]
    lines += ["", f"{'':<14}" + "".join(f"{h:>18}" for h in heads)]
    lines.append(f"{'edges':<14}" + "".join(f"{s.edges:>18,}" for s in e.stages))
    lines.append(f"{'largest degree':<14}" + "".join(f"{s.max_degree:>18,}" for s in e.stages))
    lines.append(f"{'memory, up to':<14}" + "".join(f"{size(s.memory):>18}" for s in e.stages))
    lines += ["", f"tests per level: exact for a level that was run, else an upper bound (<=); {NOT_MADE[e.test]}"]
    depth = max(s.level + len(s.most_tests) for s in e.stages) + 1
    for level in range(depth):
        cells = [_cell(e.stages[: k + 1], level) for k in range(len(e.stages))]
        lines.append(f"{f'level {level}':<14}" + "".join(f"{c:>18}" for c in cells))
    lines += ["", _outlook(e)]
    return "\n".join(lines)


def _cell(stages: Sequence[Stage], level: int) -> str:
    """The tests of `level` as known at the last of `stages`."""
    for stage in stages:
        if stage.level == level:
            return count(stage.n_tests or 0)
    stage = stages[-1]
    k = level - stage.level - 1
    return f"<= {count(stage.most_tests[k])}" if k < len(stage.most_tests) else "-"


def _outlook(e: Estimate) -> str:
    """Conclusions from the last stage, in sentences."""
    last = e.stages[-1]
    if not last.most_tests:
        return "No level is left to run: a run takes no longer than this estimate."
    if e.trial is not None:
        return time_of(e.trial)
    text = f"Next: level {last.level + 1} with at most {count(last.most_tests[0])} tests"
    if last.n_tests and last.level >= 1 and last.seconds > 0.02:  # a shorter time measures mostly the overhead
        text += f"; level {last.level} ran at {count(int(last.n_tests / last.seconds))} tests per second"
    text += ".\nEach level removes edges: the bounds of later levels are those of the present graph."
    if last.max_degree > 100:
        text += f"\n{last.busiest} has {last.max_degree:,} neighbours. A smaller alpha or m_max shortens the run."
    return text


def count(value: int) -> str:
    """A count: in full below 10^9, otherwise as 1.23e45 (truncated)."""
    if value < 10**9:
        return f"{value:,}"
    exponent = len(str(value)) - 1
    return f"{value // 10 ** (exponent - 2) / 100:.2f}e{exponent:02d}"


def size(n_bytes: int) -> str:
    """A number of bytes, as 12 MiB or 3.4 GiB."""
    if n_bytes >= 2**60:
        return "an unknown amount"
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**30 else f"{math.ceil(n_bytes / 2**20)} MiB"
