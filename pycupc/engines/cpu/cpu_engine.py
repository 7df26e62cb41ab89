"""The CPU engine: the levels of PC-stable, by either kind of tests over the graph between levels."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cache, partial
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.cpu import answers, answers_from_columns, level0, threads
from pycupc.engines.cpu.check import check_answers, check_level
from pycupc.engines.cpu.cost_from_sample import sample
from pycupc.engines.cpu.gaussian import GaussianTests, Reading
from pycupc.engines.cpu.gaussian_questions import walk_entries
from pycupc.engines.cpu.graph import ANSWERED, FINISHED, OPEN, Findings, Graph, Targets
from pycupc.engines.cpu.level_pieces import Tested, pieces_of, test_elsewhere
from pycupc.engines.cpu.loaders import loaders
from pycupc.engines.cpu.pruning.largest_p_values import PrunedTests
from pycupc.engines.cpu.pruning.plan import PruningMode
from pycupc.engines.cpu.setwise_levels import SetwiseTests
from pycupc.engines.cpu.tuning import COLUMN_BYTES, ENTRY_TESTS, HUB, MOST_PACE, SAMPLED_FROM, SIEVE_FROM
from pycupc.engines.cpu.walk_arrays import Cutoff
from pycupc.engines.protocol import (
    KEPT_BYTES,
    TESTED_BYTES,
    Answers,
    CountHook,
    Counts,
    Elsewhere,
    Engine,
    EngineError,
    Finished,
    LevelResult,
    Questions,
    Sampled,
    State,
)
from pycupc.graph.pairs import FirstGraph
from pycupc.graph.tiers import NearLists
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest, compares_r
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.code_cache import Loader
from pycupc.system.localised_message import Argument, Message, Variable
from pycupc.system.machine import SURELY_FREE, available_cores, free_memory

#: The option `correlations` of `CpuEngine`.
ReadingOption = Literal["dense", "rows"]

#: Levels of Gaussian tests from here on share their compiled code.
LEVELS_COMPILED = 2


class CpuEngine(Engine):
    """Gaussian tests, by Schur complements, and tests that are made set by set, on the CPU.

    Parameters
    ----------
    threads : int, optional
        Threads to use; None, the default, takes all cores this process may use.
    pruning : bool or {"always", "checked"}, default True
        Answer tests by bounds where that is faster (docs/contracts/pruning.md). The result is the same. "always" does
        so wherever it is possible; "checked" also makes the tests of some pairs that were answered so, and compares.
    correlations : {"dense", "rows"}, optional
        Compute the correlations of all variables (8 p^2 bytes), or only the correlations among each variable and its
        neighbours, from the data, when they are needed. The result is the same. By default the engine chooses, by
        memory and time.

    Raises
    ------
    EngineError
        In a run with "checked", if a test contradicts a bound; in any run, if a variable has 2^62
        conditioning sets or more, too many to be tried one by one, and bounds do not decide about them either.
    """

    name = "cpu"
    divides = True

    def __init__(
        self, threads: int | None = None, pruning: PruningMode = True, correlations: ReadingOption | None = None
    ) -> None:
        self.threads = threads or available_cores()
        if pruning not in (True, False, "always", "checked") or not isinstance(pruning, bool | str):
            raise ValueError(f"pruning must be True, False, 'always' or 'checked', got {pruning!r}")
        if correlations not in (None, "dense", "rows"):
            raise ValueError(f"correlations must be 'dense', 'rows' or None, got {correlations!r}")
        self._pruning, self._correlations = pruning, correlations

    def loaders(self, test: IndependenceTest, *, asks: bool) -> Sequence[Loader]:
        return loaders(asks=asks) if compares_r(test) else ()

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        free = self._free = free_memory()  # to be read once: that takes as long as a small level
        if not test.has_r:
            return test.nbytes, free
        data = (of_correlations := cast("GaussianTest", test)).data
        if data.has_C:
            return 0, free
        if self._reading(of_correlations) == "dense":
            return 8 * test.p**2, free
        return COLUMN_BYTES * test.p * int(data.n), free  # `_reading` has looked at the rest

    def _reading(self, test: GaussianTest) -> Reading:
        """How the tests read correlations, see `GaussianTests`."""
        data = not test.data.has_C
        if self._correlations == "rows" and not data:
            raise ValueError("correlations='rows' needs data, from which they are computed, got a matrix of them")
        if self._correlations is not None:
            return self._correlations
        return "sieve" if data and (test.p >= SIEVE_FROM or 8 * test.p**2 > self._free) else "dense"

    def _begin(self, names: Sequence[str]) -> None:
        test = self._test
        if compares_r(test):
            data, reading = test.data, self._reading(test)
            if reading == "dense":
                data.check(level0.inspect(data.C, self.threads), names)
            self._tests: GaussianTests | SetwiseTests = GaussianTests(
                data.correlations, data.n, self._pruning, self.threads, reading
            )
        else:
            self._tests = SetwiseTests(cast("SetwiseTest", test), self.threads)
        self._first = FirstGraph(test.p, self._gaps, self._fixed)
        self._graph: Graph | None = None  # exists from level 0 on
        self._pace = 1.0  # time of the side before, over its estimate

    def _compile(self, level: int) -> None:
        if self._gaussian:
            _load(min(level, LEVELS_COMPILED))
            if self._graph is not None:
                self._gaussian.load_pruning(self._graph, level)

    def state(self) -> State:
        if self._graph is None:
            return State(*self._first.edges())
        edges = self._graph.edges()
        return State(*edges, self._gaussian.unfinished_z(*edges) if self._gaussian else None)

    def sample(self) -> Sampled | None:
        test = self._test
        if (columns := self._columns) is None or test.p < SAMPLED_FROM or math.isinf(test.cutoff(0)):
            return None
        make = partial(CpuEngine, self.threads, self._pruning, "rows")
        return sample(columns, cast("GaussianTest", test), make, self.threads)

    def answered(self, level: int) -> NDArray[np.bool_] | None:
        return self._gaussian.answered(level) if self._gaussian else None

    def resume(self, levels: Sequence[Finished]) -> None:
        fixed, p = self._fixed, self._test.p
        pruned: list[PrunedTests] = []
        graph: Graph | None = None
        for at, level in enumerate(levels):
            if level.answered is not None and graph is not None:
                mask = np.broadcast_to(level.answered, graph.neighbours.shape)
                pruned.append(PrunedTests(at, Cutoff.around(self._test.cutoff(at)), graph, mask))
            x, y = level.x, level.y
            never = np.zeros(len(x), dtype=np.bool_) if fixed is None else fixed.holds(x, y)
            graph = Graph.of_edges(p, x, y, never, level.z)
        if graph is not None:
            self._graph = graph
            if self._gaussian:
                self._gaussian.resume(pruned, graph)

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        found = self._first_separating(questions, self._pruning, progress)
        if self._pruning == "checked":
            check_answers(questions, found, partial(self._first_separating, pruning=False))
        return found

    def _first_separating(
        self, questions: Questions, pruning: PruningMode, progress: CountHook | None = None
    ) -> Answers:
        if (columns := self._columns) is not None:
            ask = partial(answers.first_separating, n_threads=1, pruning=pruning)
            test = cast("GaussianTest", self._test)
            return answers_from_columns.first_separating(columns, test, questions, ask, self.threads, progress)
        return answers.first_separating(self._test, questions, self.threads, progress, pruning)

    def first_separating_entries(self, lists: NearLists, entries: NDArray[np.int64], level: int) -> Answers | None:
        most = len(entries) * subsets.about(int(lists.number.max(initial=0)), level)
        if not self._gaussian or self._columns or self._pruning in ("always", "checked") or most >= ENTRY_TESTS:
            return None
        return walk_entries(cast("GaussianTest", self._test), lists, entries, level)

    def count_separating(self, questions: Questions) -> Counts:
        if (columns := self._columns) is not None:
            ask = partial(answers.count_separating, n_threads=1)
            return answers_from_columns.count_separating(
                columns, cast("GaussianTest", self._test), questions, ask, self.threads
            )
        return answers.count_separating(self._test, questions, self.threads)

    @property
    def _columns(self) -> Columns | None:
        """The data, if the tests read matrices of rows."""
        return self._gaussian.columns if self._gaussian else None

    @property
    def _gaussian(self) -> GaussianTests | None:
        return self._tests if isinstance(self._tests, GaussianTests) else None

    def _run(self, level: int) -> LevelResult:
        cutoff = self._test.cutoff(level)
        return self._level0(cutoff) if self._graph is None else self._level(self._graph, level, cutoff)

    def _level0(self, cutoff: float) -> LevelResult:
        graph = self._graph = self._tests.level0(cutoff, self._gaps, self._fixed, self._division)
        n_pairs, n_kept = int(self._first.tested().sum()), int(np.count_nonzero(~graph.fixed)) // 2
        x, y, p = self._tests.side_b_of_level0
        more = self._first.has_candidates(lambda: np.append(graph.later_ends(), x))
        n_tests, none = n_pairs + n_kept + len(x), np.zeros((len(x), 0), dtype=np.int32)
        return LevelResult(0, x, y, none, p, n_tests, n_pairs - n_kept, 0, more)

    def _level(self, graph: Graph, level: int, cutoff: float) -> LevelResult:
        degrees = graph.degrees
        lists, d = (TESTED_BYTES + 4 * level) * len(graph.neighbours), graph.widest
        d = min(d, HUB) if level == 1 else d
        matrices = max(level - 1, 0) + 2 * (self._columns is not None)  # of the widest row, which each thread holds
        need = lists + matrices * d * (d + 8) * 8 * self.threads
        free = free_memory() if need > SURELY_FREE else 2**62
        self._refuse_beyond(free, need, level, degrees)
        findings, kept = graph.no_findings(self.threads), self._division.kept
        progress = self._level_progress(level, degrees, findings)
        if kept is not None:
            kept.begin(level, findings.take, *FINISHED)
        at_once = self._gaussian.at_once(graph, level, cutoff, findings) if self._gaussian and kept is None else None
        n_careful = at_once or 0
        for side_b in (False, True) if at_once is None else ():
            targets = graph.targets(level, side_b, findings, self.threads)
            if kept is not None:
                targets = graph.targets_at(targets.chosen & (findings.done == OPEN))
            n_careful += self._test_side(graph, targets, level, cutoff, findings, progress)
        separated, stays, more = graph.settle(level, findings, self.threads)
        made = separated.n_tests, 0
        if self._gaussian:
            made = self._gaussian.complete(graph, level, cutoff, findings, separated)
        if self._pruning == "checked":
            decided = np.flatnonzero(findings.done == ANSWERED)
            check_level(graph, decided, findings, level, partial(self._first_separating, pruning=False))
        self._refuse_beyond(free, lists + KEPT_BYTES * len(stays), level, degrees)
        smallest = graph.smallest(findings, stays)
        self._graph = graph.restricted(stays, lambda entries: self._tests.z(smallest[entries], level))
        return LevelResult(level, *separated, len(separated.x), n_careful, more, *made)

    def _test_side(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings,
        progress: threads.Progress | None,
    ) -> int:  # fmt: skip
        """Test the targets of a side, here or elsewhere; returns the number of doubtful tests."""
        if (elsewhere := self._division.elsewhere) is None:
            return self._test_here(graph, targets, level, cutoff, findings, progress)
        seconds, begin = self._tests.seconds(graph, targets, level), time.perf_counter()
        pieces = pieces_of(targets, self._pace * seconds, graph.rows(), self.threads, elsewhere.n_workers)
        if len(pieces) > 1:
            n_careful, took = self._test_elsewhere(elsewhere, graph, pieces, level, findings, progress)
        else:
            n_careful = self._test_here(graph, targets, level, cutoff, findings, progress)
            took = self.threads * (time.perf_counter() - begin)
        self._pace = min(max(took / max(float(seconds.sum()), 1e-9), 1.0), MOST_PACE)
        return n_careful

    def _test_here(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings,
        progress: threads.Progress | None,
    ) -> int:  # fmt: skip
        """`_test_side` by threads of this process."""
        n_careful = 0
        for work, tests in self._tests.rounds(graph, targets, level, cutoff, findings):
            n_careful += threads.run(work, self.threads, tests, progress)
        return n_careful

    def _test_elsewhere(
        self, elsewhere: Elsewhere, graph: Graph, pieces: list[NDArray[np.int64]], level: int, findings: Findings,
        progress: threads.Progress | None,
    ) -> tuple[int, float]:  # fmt: skip
        """`_test_side` by workers; also the seconds of their threads."""
        n_careful, took = 0, 0.0

        def take(tested: Tested, tests: int) -> None:
            nonlocal n_careful, took
            n_careful, took = n_careful + tested.n_careful, took + tested.seconds
            self._tests.count_pruned(tested.made, tested.bounds)
            if progress is not None:
                progress.tests += tests
                progress.report(progress.tests)

        test_elsewhere(elsewhere, graph, level, pieces, findings, take)
        return n_careful, took

    def test_entries(
        self, graph: Graph, entries: NDArray[np.int64], level: int, findings: Findings
    ) -> tuple[int, int, int]:
        """Test these entries of a graph, as a worker; returns the numbers of doubtful tests, tests and bounds.

        The last two are of pruned sides, as for `GaussianTests.take_counts`.
        """
        targets, cutoff = graph.targets_at(entries), self._test.cutoff(level)
        n_careful = self._test_side(graph, targets, level, cutoff, findings, None)
        return n_careful, *self._tests.take_counts()

    def _level_progress(self, level: int, degrees: NDArray[np.int64], findings: Findings) -> threads.Progress | None:
        hook, kept = self._progress, self._division.kept
        if hook is None and kept is None:
            return None
        at_most, edges = subsets.level_tests(degrees, degrees, level), len(findings.rank) // 2

        def report(tests: int) -> None:
            if kept is not None:
                kept.keep_some(level, findings.finished)
            if hook is not None:
                hook(level, tests, at_most, edges - int((findings.rank >= 0).sum()))

        return threads.Progress(report)

    def _refuse_beyond(self, free: int, need: int, level: int, degrees: NDArray[np.int64]) -> None:
        """Refuse a level that needs more bytes than there are."""
        if need <= free:
            return
        worst = int(degrees.argmax())
        raise EngineError(
            Message(
                "level {level} needs {need:.1f} GB for {edges:,} edges and the work space of {threads} threads "
                "(variable {worst} has {d} neighbours) and {free:.1f} GB are free; use fewer threads (numCores), "
                "take a smaller alpha, or set {m_max} to {below} or less",
                level=level, below=level - 1, need=need / 1e9, free=free / 1e9, edges=int(degrees.sum()) // 2,
                d=int(degrees[worst]), threads=self.threads, worst=Variable(worst), m_max=Argument("m_max"),
            )
        )  # fmt: skip


@cache
def _load(level: int) -> None:
    """Load the compiled code of Gaussian tests up to this level, or compile it, by a run on four variables."""
    engine = CpuEngine(threads=1, pruning=False)
    engine.take(GaussianTest(SuffStat(np.where(np.eye(4), 1.0, 0.5), 100), 0.9), "abcd")
    for earlier in range(level + 1):
        engine._run(earlier)
        if engine._graph is not None:
            engine._graph.targets(level, False, engine._graph.no_findings())
