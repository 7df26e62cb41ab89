"""How much work a run will be, before it is done: tests and memory, level by level.

A level's tests are known exactly only afterwards, since an edge that goes takes its remaining tests with it. Before a
level its most tests are known exactly, from the degrees alone: the sum over rows of degree x C(degree - 1, level). That
number says little for the complete graph, which thins out at once; so levels 0 and 1, which are cheap, are run, and
the numbers are given again for the graphs that they leave.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.engines.subsets import level_tests
from pycupc.gaussian import fisher_z

if TYPE_CHECKING:
    from pycupc.engines.base import Engine, ProgressHook
    from pycupc.gaussian.suffstat import SuffStat

#: Levels shown beyond those run.
SHOWN = 12
#: Bytes of one entry of a neighbour list, and of one separating set without its members.
ENTRY, SET = 30, 28


@dataclass(frozen=True)
class Stage:
    """What is known at one point: before any test (level -1), or after level 0 or 1 has been run.

    Attributes
    ----------
    level : int
        Last level run, -1 for none.
    edges, max_degree : int
        Of the graph now.
    busiest : str
        Variable with most neighbours.
    n_tests : int or None
        Tests that `level` took: pcalg's ``n.edgetests``; None before any.
    seconds : float
    memory : int
        Bytes at most for correlations, graph and separating sets during the next level.
    most_tests : tuple of int
        Most tests that levels ``level + 1, level + 2, ...`` can take, exact; ends where no variable has enough
        neighbours, or after SHOWN levels.
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
    """Stages before any test, after level 0 and after level 1; and memory in bytes, needed and free.

    ``print(estimate)`` shows a table.
    """

    p: int
    n: int
    alpha: float
    engine: str
    memory_needed: int
    memory_free: int
    stages: tuple[Stage, ...] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain dict, ready for JSON."""
        from dataclasses import asdict

        return asdict(self)

    def __str__(self) -> str:
        return _table(self)


def run_stages(
    suff_stat: SuffStat,
    alpha: float,
    engine: Engine,
    *,
    gaps: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    m_max: float = math.inf,
    last: int = 1,
    progress: ProgressHook | None = None,
) -> Estimate:
    """Run levels 0 to `last` on `engine` and count what is left to do.

    Parameters
    ----------
    suff_stat : SuffStat
    alpha : float in [0, 1]
    engine : Engine
        Not started; it is closed afterwards.
    gaps, fixed : bool (p, p), optional
        Pairs without an edge, and edges never tested.
    m_max : int or inf
        Largest conditioning set counted.
    last : int
        Last level to run; -1 runs none.
    progress : callable, optional
        As of an engine.

    Returns
    -------
    Estimate
    """
    labels, p = labels_of(suff_stat), suff_stat.p
    degrees = targets = np.full(p, p - 1)
    if gaps is not None or fixed is not None:
        pairs = ~np.eye(p, dtype=bool) if gaps is None else ~gaps & ~np.eye(p, dtype=bool)
        degrees, targets = pairs.sum(axis=1), (pairs if fixed is None else pairs & ~fixed).sum(axis=1)
    needed, free = engine.memory(p)
    stages = [_stage(-1, degrees, targets, labels, None, 0.0, m_max)]
    removed = 0
    engine.start(suff_stat.C, suff_stat.n, gaps=gaps, fixed=fixed, progress=progress)
    try:
        for level in range(int(min(last, m_max)) + 1):
            if not degrees.any() or (level > 0 and degrees.max() <= level):
                break
            start = time.perf_counter()
            result = engine.run_level(level, fisher_z.cutoff(alpha, suff_stat.n, level))
            seconds = time.perf_counter() - start
            degrees = engine.degrees()
            free_targets = degrees
            if fixed is not None:
                x, y, _ = engine.edges()
                tested = ~fixed[x, y]
                free_targets = np.bincount(np.concatenate((x[tested], y[tested])), minlength=p)
            removed += result.n_removed if level else 0  # the empty sets of level 0 are not stored
            stages.append(_stage(level, degrees, free_targets, labels, result.n_tests, seconds, m_max, removed))
    finally:
        engine.close()
    return Estimate(p, suff_stat.n, alpha, engine.name, needed, free, tuple(stages))


def labels_of(suff_stat: SuffStat) -> Sequence[str]:
    """Names of the variables, "1", "2", ... where they have none, as in `pc`."""
    return suff_stat.labels if suff_stat.labels is not None else [str(i + 1) for i in range(suff_stat.p)]


def _stage(level, degrees, targets, labels, n_tests, seconds, m_max, removed: int = 0) -> Stage:
    top = int(degrees.max(initial=0))
    most = []
    for next_level in range(level + 1, level + 1 + SHOWN):
        if next_level > m_max or top - 1 < next_level:
            break
        most.append(level_tests(degrees, targets, next_level))
    busiest = str(labels[int(np.argmax(degrees))]) if top else ""
    edges = int(degrees.sum()) // 2
    # C, neighbour lists twice while they are rewritten, sets of the edges gone by now and of all that may go next
    memory = 8 * len(degrees) ** 2 + 2 * ENTRY * 2 * edges + (removed + edges) * (SET + 4 * (level + 1))
    return Stage(level, edges, top, busiest, n_tests, seconds, memory, tuple(most))


def _table(e: Estimate) -> str:
    lines = [f"{e.p:,} variables, {e.n:,} observations, alpha {e.alpha:g}, engine {e.engine}"]
    lines.append(f"memory: {size(e.memory_free)} free; a run reserves {size(e.memory_needed)}")
    heads = ["before any test", "after level 0", "after level 1"][: len(e.stages)]
    lines += ["", f"{'':<14}" + "".join(f"{h:>18}" for h in heads)]
    lines.append(f"{'edges':<14}" + "".join(f"{s.edges:>18,}" for s in e.stages))
    lines.append(f"{'largest degree':<14}" + "".join(f"{s.max_degree:>18,}" for s in e.stages))
    lines.append(f"{'memory, up to':<14}" + "".join(f"{size(s.memory):>18}" for s in e.stages))
    lines += ["", "tests of a level: the number it took, or the most it can take (<=)"]
    depth = max(s.level + len(s.most_tests) for s in e.stages) + 1
    for level in range(depth):
        cells = [_cell(e.stages[: k + 1], level) for k in range(len(e.stages))]
        lines.append(f"{f'level {level}':<14}" + "".join(f"{c:>18}" for c in cells))
    lines += ["", _outlook(e)]
    return "\n".join(lines)


def _cell(stages: Sequence[Stage], level: int) -> str:
    """What the last of `stages` knows about `level`."""
    for stage in stages:
        if stage.level == level:
            return count(stage.n_tests or 0)
    stage = stages[-1]
    k = level - stage.level - 1
    return f"<= {count(stage.most_tests[k])}" if k < len(stage.most_tests) else "-"


def _outlook(e: Estimate) -> str:
    done, last = [s for s in e.stages if s.level >= 0], e.stages[-1]
    if not last.most_tests:
        return "No level is left to run: a run takes no longer than this estimate."
    text = f"Next: level {last.level + 1} with at most {count(last.most_tests[0])} tests"
    timed = [s for s in done if s.n_tests and s.seconds > 0.02]  # shorter ones only measure the start
    if timed and timed[-1].level >= 1:
        rate = timed[-1].n_tests / timed[-1].seconds
        text += f"; level {timed[-1].level} ran at {count(int(rate))} tests a second here"
    text += ".\nThe graph thins out from level to level: the numbers of later levels are for the graph as it is now."
    if last.max_degree > 100:
        text += f"\n{last.busiest} has {last.max_degree:,} neighbours. A smaller alpha or m_max makes the run shorter."
    return text


def count(value: int) -> str:
    """A whole number: in full up to a thousand million, above that as 1.23e+45."""
    if value < 10**9:
        return f"{value:,}"
    exponent = len(str(value)) - 1
    return f"{value // 10 ** (exponent - 2) / 100:.2f}e{exponent:02d}"


def size(n_bytes: int) -> str:
    """Bytes as 12 MiB or 3.4 GiB."""
    if n_bytes >= 2**60:
        return "an unknown amount"
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**30 else f"{math.ceil(n_bytes / 2**20)} MiB"
