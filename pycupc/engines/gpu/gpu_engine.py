"""The GPU engine: the state of a run stays on the device; each level sends counters and records to the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_correlation as of_data
from pycupc.engines.gpu import device_sieve, device_tuning, schur, sharing
from pycupc.engines.gpu.cupc import CupcTests, Geometry
from pycupc.engines.gpu.device import open_device, session
from pycupc.engines.gpu.device_cost_from_sample import sampled
from pycupc.engines.gpu.device_graph import DeviceGraph, Running
from pycupc.engines.gpu.device_largest_p_values import SmallestZ
from pycupc.engines.gpu.families import BY_ROUNDS, SET_BY_SET
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.on_cpu import AnsweringOnCpu
from pycupc.engines.gpu.pruning import outcome
from pycupc.engines.gpu.sharing import Meeting, Member
from pycupc.engines.gpu.structures import Graph, Level, Pruning
from pycupc.engines.protocol import Engine, EngineError, Finished, Floats, LevelResult, Sampled, State
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.suffstat import MatrixFacts
from pycupc.independence.gaussian.test import GaussianTest

#: The algorithm of the engine "gpu" is called "schur".
ALGORITHMS = ("schur", "cupc-e", "cupc-s")

#: Levels whose kernels are compiled while a level runs.
LEVELS_AHEAD = 3


class GpuEngine(AnsweringOnCpu):
    """Levels on one CUDA device.

    Parameters
    ----------
    algorithm : {"schur", "cupc-e", "cupc-s"}
        The Schur walk, or one of the two algorithms of Zarebavani et al. (2020), for correlations only.
    device : int
        Number of the CUDA device.
    beta, gamma : int
        cupc-e: edges per block and threads per edge, from 1 on; at most 512 threads per block.
    theta, delta : int
        cupc-s: threads per block, at most 256, and blocks per row, from 1 on.
    pruning : bool or "checked"
        schur: whether pruning decides pairs, where it can, without testing all their conditioning sets. The answer is
        the same. With "checked", tests of some pairs that pruning has decided are made on the CPU, and compared.
    correlations : "dense", "rows" or None
        schur: whether all correlations of data are stored, or, after level 0, only the correlations among each variable
        and its neighbours; see `pycupc.engines.gpu.device_sieve`. By default "rows" if all correlations do not fit, or
        cost more.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    EngineError
        No usable device; in a run, a level that may need 2^62 tests; with "checked", a test that contradicts pruning.
    """

    side_by_side = 2
    correlates_on_device = True
    compiles_beside = True

    def __init__(
        self,
        algorithm: Literal["schur", "cupc-e", "cupc-s"] = "schur",
        device: int = 0,
        *,
        beta: int = Geometry.beta,
        gamma: int = Geometry.gamma,
        theta: int = Geometry.theta,
        delta: int = Geometry.delta,
        pruning: Literal[True, False, "checked"] = True,
        correlations: Literal["dense", "rows"] | None = None,
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
        if pruning not in (True, False, "checked") or not isinstance(pruning, bool | str):
            raise ValueError(f"pruning must be True, False or 'checked', got {pruning!r}")
        if correlations not in (None, "dense", "rows"):
            raise ValueError(f"correlations must be 'dense', 'rows' or None, got {correlations!r}")
        if correlations == "rows" and algorithm != "schur":
            raise ValueError(f"correlations='rows' needs algorithm='schur', got {algorithm!r}")
        geometry = Geometry(beta=beta, gamma=gamma, theta=theta, delta=delta)
        schur_walk = algorithm == "schur"
        self.name = "gpu" if schur_walk else algorithm
        self.device = open_device(device)
        self._correlations, self._prunes = correlations, schur_walk and bool(pruning)
        # The part in a run of several devices, see `devices.DevicesEngine`, or in one whose findings are kept.
        self.member: Member | None = None
        check = self._check if pruning == "checked" else None
        of_device = self.device.processors, self.device.shared_block
        self._gaussian: schur.SchurTests | CupcTests
        if schur_walk:
            self._gaussian = schur.SchurTests(*of_device, prune=bool(pruning), check=check)
        else:
            self._gaussian = CupcTests(algorithm, geometry)
        self._forget()

    def _forget(self) -> None:
        self._graph: DeviceGraph | None = None
        self._running: Running | None = None  # launched, but not asked for yet
        self._forget_questions()

    def close(self) -> None:
        with suppress(self.device.cp.cuda.runtime.CUDARuntimeError):  # it has been reported
            if self._graph is not None:
                self._graph.wait()
        self._forget()
        if self.device.scratch.size > device_tuning.KEPT_SCRATCH:
            self.device.scratch.release()

    def for_test(self, test: IndependenceTest) -> Engine:
        rounds = BY_ROUNDS.get(type(test)) if self.name == "gpu" else None
        return self if rounds is None else rounds(self.device)

    def _session(self) -> AbstractContextManager[None]:
        return session(self.device, self.close)

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        """Bytes that a run needs at its start for its data and p^2 pairs, and bytes free on the device."""
        if (set_by_set := SET_BY_SET.get(type(test))) is not None:
            need = set_by_set.memory(test)
        elif self._by_rows(of_correlations := cast("GaussianTest", test)):
            need = device_sieve.RowGraph.memory(int(of_correlations.data.n), test.p)
        else:
            need = of_data.dense_bytes(test.p)
        return need, self.device.free_memory(need)

    def _by_rows(self, test: GaussianTest) -> bool:
        """Whether a run computes correlations from data when they are needed; ValueError if it must but cannot."""
        if self._correlations == "dense":
            return False
        possible = self.name == "gpu" and test.data.rows is not None and not test.data.has_C
        if self._correlations == "rows":
            if not possible:
                raise ValueError("correlations='rows' needs data, from which they are computed, got a matrix of them")
            return True
        return possible and (test.p >= device_tuning.SIEVE_FROM or not self._fits(test.p))

    def _fits(self, p: int) -> bool:
        """Whether the correlations of all pairs fit the device."""
        return (need := of_data.dense_bytes(p)) <= self.device.free_memory(need)

    def correlation(self, X: Floats) -> Floats:
        with self._session():
            C = of_data.correlation(self.device, X)
            (host,) = self.device.fetch((C.data.ptr, np.float64, C.shape))
        return host

    def concordances(self, X: Floats) -> NDArray[np.int64]:
        """Concordant minus discordant pairs of observations, for Kendall's tau."""
        with self._session():
            return of_data.concordances(self.device.cp, X)

    def _compile(self, level: int) -> None:
        if self._running is not None:  # it has been launched
            return
        kernels, rows = self.device.kernels, self._in_rows()
        wanted = kernels.missing(self._kernels(level), rows)
        if not (wanted or kernels.loading_ahead):
            return
        outlook = self._started().outlook
        for later in range(max(level + 1, 2), level + LEVELS_AHEAD + 1):
            guess = outlook.later(level, later)
            if later <= self._m_max and later < guess.widest:
                kernels.load_ahead(self._kernels(later, guess), rows)
        with self._session():
            kernels.load(wanted, rows, f"compiling for level {level}, once per machine")

    def _kernels(self, level: int, outlook: Outlook | None = None) -> list[KernelName]:
        """Kernels that a level needs; `outlook` if that is not the outlook of the graph as it is."""
        graph = self._started()
        tests = graph.tests.kernels(level, outlook or graph.outlook) if level or graph.needs_host else []
        return graph.kernels(level) + tests + (sharing.KERNELS if level and self.member else [])

    def _begin(self, names: Sequence[str]) -> None:
        test, kept = self._test, self._division.kept
        set_by_set = SET_BY_SET.get(type(test))
        self._forget()
        if self.member is None or self.member.count == 1:
            self.member = Member(Meeting(1), 0) if kept and set_by_set is None else None
        if self.member:
            self.member.kept = kept
        with self._session():
            if set_by_set is not None:
                self._graph = set_by_set(self.device, test).graph(self._gaps, self._fixed)
                return
            facts = self._start(self._of_correlations)
        if facts is not None and not (self.member and self.member.number):
            self._of_correlations.data.check(facts, names)

    @property
    def _of_correlations(self) -> GaussianTest:
        """The test, where it is not made set by set."""
        return cast("GaussianTest", self._test)

    def _start(self, test: GaussianTest) -> MatrixFacts | None:
        """Send C or the data to the device, and launch level 0; returns the findings of the inspection of a given C.

        Level 0 is launched right behind the inspection: one wait serves both. Correlations of data are computed on the
        device.
        """
        dev, data, found = self.device, test.data, None
        by_rows = self._by_rows(test)
        fits = by_rows and self._correlations is None and self._fits(test.p)
        if self.member:
            by_rows, fits = any(self.member.exchange(by_rows)), all(self.member.exchange(fits))
        if by_rows:  # the sieve waits for the device, so that level 0 is launched when it is asked for
            assert data.rows is not None
            most = device_tuning.ROWS_SHARE * test.p**2 if fits else math.inf
            self._graph = device_sieve.RowGraph(dev, data.rows, self._gaps, self._fixed, self._gaussian, most)
            self._graph.member = self.member
            return None
        first = [*(() if data.has_C else of_data.KERNELS), *DeviceGraph.kernels(0), *DeviceGraph.kernels(1)]
        dev.kernels.load_ahead([*first, *schur.LIKELY], rows=False)
        if data.has_C:
            host = np.ascontiguousarray(data.C, dtype=np.float64)
            C = dev.cp.empty(host.shape, dtype=np.float64)
            with dev.transfers.uploading(host, C):
                graph = self._graph = self._dense_graph(C)
            found = of_data.launch_inspection(dev, C)
        else:
            graph = self._graph = self._dense_graph()
        if self._m_max >= 0 and not dev.kernels.missing(self._kernels(0), rows=False):
            self._running = graph.launch_level0(test.cutoff(0))
        if found is None:
            return None
        dev.wait()
        facts, graph.mirrored = of_data.inspected(found)
        return facts

    def _dense_graph(self, C: Any = None) -> DeviceGraph:
        """The graph with all correlations; they are computed if they are not given."""
        test = self._of_correlations
        if C is None:
            assert test.data.rows is not None
            C = of_data.correlation(self.device, test.data.rows)
        out = DeviceGraph(self.device, test.p, test.data.n, self._gaps, self._fixed, self._gaussian, C)
        out.member = self.member
        return out

    def _in_rows(self) -> bool:
        return isinstance(self._started(), device_sieve.RowGraph)

    def _started(self) -> DeviceGraph:
        if self._graph is None:
            raise EngineError("the engine has no problem: call take() first")
        return self._graph

    def _check(self, graph: Graph, level: Level, pairs: int, found: Pruning) -> None:
        outcome.check(self.device, self._of_correlations, (graph, level, pairs), found)

    def _run(self, level: int) -> LevelResult:
        graph, progress = self._started(), self._progress
        most, edges = int(min(graph.outlook.tests_at_most, 2**62)), graph.outlook.pairs // 2
        if progress is not None:
            self.device.tick = lambda: progress(level, graph.tests_done(), most, edges)
        try:
            with self._session():
                running, self._running = self._running or self._launch(level), None
                if level == 0:
                    return self._collect_level0()
                counters = graph.collect(running)
                if counters.more:
                    self._launch_ahead(level + 1)
                return graph.result(running, counters)
        finally:
            self.device.tick = None

    def _launch(self, level: int) -> Running:
        graph, cutoff = self._started(), self._test.cutoff(level)
        if level == 0:
            return graph.launch_level0(cutoff)
        of_graph, of_level = graph.begin(level, cutoff)
        if self.member:
            self.member.run(self.device, graph.tests, (of_graph, of_level, graph.outlook))
        elif any(graph.outlook.rows):
            graph.tests.launch(self.device, of_graph, of_level, graph.outlook)
        return graph.settle(of_graph, of_level)

    def _launch_ahead(self, level: int) -> None:
        """Launch a level >= 1 if it will be asked for, is short, and needs neither the host nor compiling."""
        graph = self._started()
        outlook = graph.outlook
        short = level <= self._m_max and outlook.pairs and outlook.tests_at_most <= device_tuning.AHEAD
        if not short or graph.needs_host or self.member:  # several devices wait for each other
            return
        if not self.device.kernels.missing(self._kernels(level), self._in_rows()):
            self._running = self._launch(level)

    def _collect_level0(self) -> LevelResult:
        """Wait for level 0 and launch level 1; with too many edges for matrices of rows, begin again with all of C."""
        try:
            result = self._started().collect_level0()
        except device_sieve.TooManyEntries:
            self._graph = None
            graph = self._graph = self._dense_graph()
            graph.launch_level0(self._test.cutoff(0))
            result = graph.collect_level0()
        if result.more:
            self._launch_ahead(1)
        return result

    def state(self) -> State:
        test, graph = self._of_correlations, self._started()
        with self._session():
            graph.wait()
            edges, paths = graph.edges(), graph.noncolliders()
        if not graph.pruned:
            return State(*edges, noncolliders=paths)
        cutoffs = {level: test.cutoff(level) for level in graph.pruned}
        removed = [(level.level, level.x.copy(), level.y.copy()) for level in graph.results]
        unfinished = SmallestZ(self.device.index, test.data, cutoffs, removed, *edges, self._in_rows())
        return State(*edges, unfinished, noncolliders=paths)

    def sample(self) -> Sampled | None:
        test, graph = self._of_correlations, self._started()
        many = test.p >= device_tuning.SAMPLED_FROM and not math.isinf(test.cutoff(0))
        if not (many and isinstance(graph, device_sieve.RowGraph)) or self.member:
            return None
        self._compile(0)
        with self._session():
            return sampled(graph, test, self)

    def resume(self, levels: Sequence[Finished]) -> None:
        """See `Engine.resume`. Level 0 gives the correlations again."""
        test, graph, self._m_max = self._test, self._started(), 0  # no level runs ahead
        if type(test) in SET_BY_SET:
            super().resume(levels)  # an error
        if isinstance(graph, device_sieve.RowGraph):
            graph.know_level0(levels[0])
        self.run_level(0)
        self._compile(levels[-1].result.level)
        with self._session():
            self._started().resume(levels, test.cutoff)

    def answered(self, level: int) -> NDArray[np.bool_] | None:
        """All entries, if pruning decided pairs of this level; see `Engine.answered`."""
        return np.ones(1, dtype=np.bool_) if level in self._started().pruned else None
