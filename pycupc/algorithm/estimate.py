"""The work of a run, estimated before it is done: tests and memory, level by level.

The number of tests of a level is known exactly only afterwards, because a removed edge needs no further tests. An exact
upper bound is known beforehand, from the degrees alone: the sum over rows of degree * C(degree - 1, level). For the
complete graph, which loses most of its edges at once, that bound is far too large. Therefore levels 0 and 1, which are
cheap, are run, and the bounds are computed again for the graphs that they leave.

How long a run takes is measured (`timed_trial`): the levels after these run as well, but only for a few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.arguments import Problem
from pycupc.algorithm.possible_d_sep_stage import SetsOfStage, count_sets
from pycupc.algorithm.possible_d_sep_stage import Stage as StageOfFci
from pycupc.algorithm.timed_trial import Trial, Watch, degrees_at_first, degrees_of, time_of, try_levels
from pycupc.engines.protocol import KEPT_BYTES, TESTED_BYTES, LevelResult, Sampled
from pycupc.engines.subsets import level_tests
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph

#: Number of levels, beyond the levels that ran, for which bounds are given.
SHOWN = 12
#: Number of sets from Possible-D-SEP that are tested in some minutes, even one by one.
MANY_SETS = 10**9
#: Bytes per separating set without its members.
SET_BYTES = 28
#: Why a counted test may take no time, by kind of test.
NOT_MADE = {
    "gaussian": ["pruning may answer most of\nthem without making them"],
    "discrete": [
        "tests with fewer than ten (--df observed: five)\nobservations per degree of freedom are counted, and not made"
    ],
}


@dataclass(frozen=True)
class Stage:
    """The state of the estimate before any test (level -1), or after level 0 or 1 has been run."""

    level: int  # last level run, -1 for none
    # edges, max_degree: number of edges, and largest number of neighbours, of the graph at this stage.
    edges: int
    max_degree: int
    n_tests: int | None  # number of tests of `level`, pcalg's ``n.edgetests``; None before any
    seconds: float  # time that `level` took
    # Upper bound in bytes on the correlations (of discrete data: the codes), the graph and the separating sets during
    # the next level.
    memory: int
    # Exact upper bounds on the tests of levels ``level + 1, level + 2, ...``; ends where no variable has enough
    # neighbours, or after `SHOWN` levels.
    most_tests: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """The estimate of a run; ``print(estimate)`` shows it as a table."""

    p: int  # number of variables
    n: float  # number of observations
    alpha: float  # significance level
    engine: str  # name of the engine
    test: str  # name of the kind of test: "gaussian", "discrete", "mixed", ...
    # memory_needed, memory_free: bytes that the engine reserves at the start of a run, and bytes free where it keeps
    # its state.
    memory_needed: int
    memory_free: int
    stages: tuple[Stage, ...] = field(repr=False)  # before any test, and after each level that was run
    trial: Trial | None = None  # None if the levels that follow were not tried
    # Number of variables from which the stage after level 0 and the time are estimated; 0 if levels were run.
    sampled: int = 0
    method: str = "pc"  # {"pc", "fci", "rfci"}
    # Of `fci`: the sets of Possible-D-SEP in the graph after the levels that were run or tried.
    after: SetsOfStage | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain dict, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return _table(self)


def run_stages(problem: Problem, *, last: int = 1, trial: float = 0, pdsep_max: float = math.inf) -> Estimate:
    """Run levels 0 to `last` (-1: none), bound the tests of levels that would follow, and close the engine.

    The levels after `last` are tried for `trial` seconds. `pdsep_max` is as of `fci`.
    """
    engine, test, levels = problem.engine, problem.test, problem.levels()
    needed, free = engine.memory(test)
    removed, found = 0, []

    def run_level(level: int) -> LevelResult:
        result = levels.run_level(level)
        found.append((result.x, result.y, result.S))
        return result

    with closing(engine):
        watch = Watch(problem.progress) if trial else problem.progress
        levels.take(test, problem.labels, gaps=problem.gaps, fixed=problem.fixed, progress=watch)
        stages = [_stage(-1, *degrees_at_first(problem), None, 0.0, (test.nbytes, 0))]
        sampled = engine.sample() if last >= 0 else None
        if sampled is not None:
            return _from_sample(problem, sampled, (needed, free))
        for level in range(last + 1):
            if not stages[-1].most_tests:
                break
            r = run_level(level)
            removed += r.n_removed if level else 0  # the empty sets of level 0 are not stored
            degrees = degrees_of(levels.state(), test.p, problem.fixed)
            stages.append(_stage(level, *degrees, r.n_tests, r.seconds, (test.nbytes, removed)))
        tried = None
        if isinstance(watch, Watch):
            passed = sum(stage.seconds for stage in stages)
            tried = try_levels(problem, run_level, levels.state, watch, trial, (stages[-1].level + 1, passed))
        after = None
        if problem.function == "fci" and last >= 0:
            graph = SparseGraph.undirected(test.p, (state := levels.state()).x, state.y)
            sepset = SepSets(graph, found, None if problem.gaps is None else problem.gaps.keys)
            stage = StageOfFci(m_max=math.inf, pdsep_max=pdsep_max, fixed=problem.fixed, tiers=problem.tiers)
            after = count_sets(graph, sepset, stage)
    n, method = test.n or 0, problem.function
    return Estimate(
        test.p, n, test.alpha, engine.name, test.name, needed, free, tuple(stages), tried, method=method, after=after
    )


def _from_sample(problem: Problem, sampled: Sampled, memory: tuple[int, int]) -> Estimate:
    """The estimate of a run whose level 0 takes long."""
    test, degrees = problem.test, sampled.degrees
    edges = int(degrees.mean() * test.p / 2)
    bounds = [math.ceil(level_tests(degrees, degrees, k) * test.p / len(degrees)) for k in range(1, 1 + SHOWN)]
    stage = Stage(0, edges, int(degrees.max()), problem.n_pairs, sampled.seconds, sampled.memory, tuple(bounds))
    done = Trial(1, finished=True, seconds=sampled.seconds)
    about = (test.p, test.n or 0, test.alpha, problem.engine.name, test.name)
    return Estimate(*about, *memory, (stage,), done, len(degrees))


def _stage(
    level: int,
    degrees: NDArray[np.int64],
    targets: NDArray[np.int64],
    n_tests: int | None,
    seconds: float,
    kept: tuple[int, int],
) -> Stage:
    """The stage after `level`; `kept` are the bytes of the data, and the number of separating sets stored."""
    top = int(degrees.max(initial=0))
    most = [level_tests(degrees, targets, later) for later in range(level + 1, min(level + 1 + SHOWN, top))]
    edges = int(degrees.sum()) // 2
    held, removed = kept
    # the graph before and after the next level, the sets stored and one for each edge still to be removed
    memory = held + (TESTED_BYTES + KEPT_BYTES) * 2 * edges + (removed + edges) * (SET_BYTES + 4 * (level + 1))
    return Stage(level, edges, top, n_tests, seconds, memory, tuple(most))


def _table(e: Estimate) -> str:
    """The estimate as a table: one column per stage, one row per level."""
    lines = [f"{e.p:,} variables, {e.n:,} observations, alpha {e.alpha:g}, engine {e.engine}"]
    lines.append(f"memory: {size(e.memory_free)} free; a run reserves {size(e.memory_needed)}")
    if e.sampled:
        lines.append(f"level 0 was not run; edges, degrees, memory and time are estimates from {e.sampled:,} variables")
    heads = [("before any test", "after level 0", "after level 1")[s.level + 1] for s in e.stages]
    lines += ["", f"{'':<14}" + "".join(f"{h:>18}" for h in heads)]
    lines.append(f"{'edges':<14}" + "".join(f"{s.edges:>18,}" for s in e.stages))
    lines.append(f"{'largest degree':<14}" + "".join(f"{s.max_degree:>18,}" for s in e.stages))
    lines.append(f"{'memory, up to':<14}" + "".join(f"{size(s.memory):>18}" for s in e.stages))
    counted = "tests per level: exact for a level that was run, else an upper bound (<=)"
    lines += ["", "; ".join([counted, *NOT_MADE.get(e.test, [])])]
    depth = max(s.level + len(s.most_tests) for s in e.stages) + 1
    for level in range(depth):
        cells = [_cell(e.stages[: k + 1], level) for k in range(len(e.stages))]
        lines.append(f"{f'level {level}':<14}" + "".join(f"{c:>18}" for c in cells))
    lines += ["", _outlook(e)]
    if e.method == "rfci":
        lines.append("After the levels rfci makes a few tests for each triple, given the sets that the levels found.")
    if e.after is not None:
        lines.append(_outlook_of_fci(e.after, finished=e.trial is not None and e.trial.finished))
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
    return (
        f"Next: level {last.level + 1} with at most {count(last.most_tests[0])} tests.\nEach level removes edges: the "
        "bounds of later levels are computed for the present graph."
    )


def _outlook_of_fci(sets: SetsOfStage, *, finished: bool) -> str:
    """What the tests given sets from Possible-D-SEP would cost, in sentences."""
    if not sets.pairs:
        return "Possible-D-SEP: no edge has further sets; fci makes no tests after the levels."
    graph = "" if finished else " of the graph so far"
    text = (
        f"Possible-D-SEP{graph}: {sets.pairs:,} ordered pairs with sets of up to {sets.largest:,} variables, "
        f"{count(sets.total)} sets in all.\nPruning answers most pairs without making these tests, but not all."
    )
    if sets.total > MANY_SETS:
        limit = max((m for m, n in enumerate(accumulate(sets.by_size)) if n <= MANY_SETS), default=0)
        text += (
            f"\nIf fci takes too long: m_max={limit} leaves {count(sum(sets.by_size[: limit + 1]))} sets, pdsep_max or "
            "budget leave out\nthe largest, and --method rfci makes none of these tests."
        )
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
