"""The GPU engine: the state of a run stays on the device; each level sends counters and records to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import (
    Answers,
    Counts,
    Engine,
    EngineError,
    Floats,
    Ints,
    LevelResult,
    Mask,
    Pairs,
    ProgressHook,
    Questions,
    State,
)
from pycupc.engines.gpu import correlation as of_data
from pycupc.engines.gpu import discrete, schur, smallest
from pycupc.engines.gpu.ahead import RunAhead
from pycupc.engines.gpu.cupc import CupcTests, Geometry
from pycupc.engines.gpu.device import Session, check_room, open_device
from pycupc.engines.gpu.graph import DeviceGraph
from pycupc.engines.gpu.levels import LevelTests
from pycupc.engines.gpu.structures import Filter, Graph, Level
from pycupc.independence.base import IndependenceTest, UnfinishedZ
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat
from pycupc.system.machine import available_cores

if TYPE_CHECKING:
    from pycupc.engines.cpu import CpuEngine
    from pycupc.independence.discrete.contingency import Data

#: The algorithm of the engine "gpu" is called "schur".
ALGORITHMS = ("schur", "cupc-e", "cupc-s")
#: Most bytes of scratch memory that are kept from run to run.
KEEP = 1 << 30
#: Bytes of device memory whatever the number of variables: counters, tables, scratch.
FIXED_BYTES = 32 << 20


class GpuEngine(Engine):
    """Levels on one CUDA device.

    Parameters
    ----------
    algorithm : {"schur", "cupc-e", "cupc-s"}
        The Schur walk, or one of the two algorithms of Zarebavani et al. (2020); the answer is the same.
    device : int
        Number of the CUDA device.
    beta, gamma : int
        cupc-e: edges per block and threads per edge, from 1 on; at most 512 threads per block.
    theta, delta : int
        cupc-s: threads per block, at most 256, and blocks per row, from 1 on.
    pruning : bool or "checked"
        schur: whether pruning decides pairs, where it can, without testing all their conditioning sets; see
        `pycupc.engines.gpu.screening` and `pycupc.engines.gpu.pruning`. The answer is the same. From the first level
        that may need 2^62 tests on, which the device cannot count, the engine "cpu" then takes over, and a warning says
        so. With "checked", tests of some pairs that pruning has decided are made on the CPU, and compared.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    EngineError
        If there is no usable device; the message says why. In a run with "checked", if a test contradicts pruning.
    """

    families = (GaussianTest, DiscreteTest)
    side_by_side = 2
    correlates_on_device = True

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
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
        if pruning not in (True, False, "checked") or not isinstance(pruning, bool | str):
            raise ValueError(f"pruning must be True, False or 'checked', got {pruning!r}")
        geometry = Geometry(beta=beta, gamma=gamma, theta=theta, delta=delta)
        self._prune = bool(pruning) and algorithm == "schur"
        self.algorithm = algorithm
        self.name = "gpu" if algorithm == "schur" else algorithm
        self.device = open_device(device)
        check = self._check if pruning == "checked" else None
        self._gaussian: LevelTests = (
            schur.SchurTests(self.device.processors, self.device.shared_block, prune=self._prune, check=check)
            if algorithm == "schur"
            else CupcTests(algorithm, geometry)
        )
        self._C: Any = None
        self._mirrored = False  # True: inspection has found C to equal its transpose to the last bits
        self._C_host: Floats | None = None
        self._data: SuffStat | None = None
        self._cutoffs: Callable[[int], float | None] = _none_expected
        self._graph: DeviceGraph | None = None
        self._levels: RunAhead | None = None
        self._progress: ProgressHook | None = None
        self._cpu: CpuEngine | None = None  # has taken over

    def close(self) -> None:
        """Release the device memory of the run."""
        if self._graph is not None:
            with suppress(self.device.cp.cuda.runtime.CUDARuntimeError):  # it has been reported
                self._graph.wait()
        self._C = self._C_host = self._graph = self._levels = self._data = self._cpu = None
        self._cutoffs = _none_expected
        if self.device.scratch.size > KEEP:
            self.device.scratch.release()

    def _session(self) -> Session:
        return Session(self.device, self.close)

    def _compile(self, level: int) -> None:
        self.compile(level)

    def compile(self, level: int | None = None) -> None:
        """Load the kernels of `level` (None: all of the algorithm), and compile those that CuPy's cache lacks."""
        if level is None:
            wanted = [of_data.INSPECT, *self._gaussian.all_kernels()]
            wanted += [*of_data.KERNELS, *(name for l in range(3) for name in DeviceGraph.kernels(l))]
            wanted += discrete.KERNELS if self.algorithm == "schur" else []
            notice = f"compiling the kernels of {self.name}, once per machine"
        elif cpu := self._takes_over(level):
            cpu._compile(level)
            return
        else:
            wanted = (self._levels or DeviceGraph).kernels(level)
            notice = f"compiling for level {level}, once per machine"
        if self.device.kernels.missing(wanted):
            with self._session():
                self.device.kernels.load(wanted, notice)

    # ---------------------------------------------------------------- the matrix

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        """Bytes that a run needs at its start (C twice, G), and bytes free on the device."""
        return self._memory(test.p)

    def _memory(self, p: int) -> tuple[int, int]:
        need = 11 * p * p + 64 * p + FIXED_BYTES
        return need, self.device.free_memory(need)

    @contextmanager
    def _uploading(self, C: Floats) -> Iterator[None]:
        """Copy C to the device while the block runs, unless `inspect` has just done so."""
        if self._C is not None and self._C_host is C:
            yield
            return
        host = np.ascontiguousarray(C, dtype=np.float64)
        self._C = None
        p = host.shape[0]
        check_room(self.device, f"p = {p}", *self._memory(p))
        self._C, self._mirrored = self.device.cp.empty((p, p), dtype=np.float64), False
        with self.device.transfers.uploading(host, self._C):
            yield
        self._C_host = C

    def correlation(self, X: Floats) -> Floats:
        """Correlation matrix of data (n, p), computed on the device; see `pycupc.engines.gpu.correlation`."""
        with self._session():
            C = of_data.correlation(self.device, X)
            (host,) = self.device.transfers.download((C.data.ptr, np.float64, C.shape))
            self.device.wait()
        return host

    def inspect(self, C: Floats) -> MatrixFacts:
        """Inspect C on the device; the upload is kept for `start`."""
        with self._session():
            with self._uploading(C):
                pass
            found = of_data.launch_inspection(self.device, self._C)
            self.device.wait()
        return self._facts(found)

    def _facts(self, found: NDArray[np.uint64]) -> MatrixFacts:
        facts, self._mirrored = of_data.inspected(found)
        return facts

    # ---------------------------------------------------------------- the run

    def _take(
        self,
        test: IndependenceTest,
        names: Sequence[str],
        gaps: Pairs | None,
        fixed: Pairs | None,
        m_max: float,
        progress: ProgressHook | None,
    ) -> None:
        self._test = test
        masks = {name: None if pairs is None else pairs.dense() for name, pairs in (("gaps", gaps), ("fixed", fixed))}
        if isinstance(test, DiscreteTest):
            self.start_discrete(test.prepared, gaps=masks["gaps"], fixed=masks["fixed"], progress=progress)
        elif isinstance(test, GaussianTest):
            self._cutoffs = lambda level: test.cutoff(level) if level <= m_max else None
            self._take_gaussian(test.data, names, gaps=masks["gaps"], fixed=masks["fixed"], progress=progress)

    def state(self) -> State:
        """The edges left; see `Engine.state`."""
        self.wait()
        return State(*self.edges(), self.unfinished_z())

    def first_separating(self, questions: Questions) -> Answers:
        """See `Engine.first_separating`: compiled code on the CPU."""
        from pycupc.engines.cpu.questions import first_separating  # loads Numba

        return first_separating(self._test, questions, available_cores())

    def count_separating(self, questions: Questions) -> Counts:
        """See `Engine.count_separating`: compiled code on the CPU."""
        from pycupc.engines.cpu.questions import count_separating  # loads Numba

        return count_separating(self._test, questions, available_cores())

    def start(
        self,
        C: Floats,
        n: float,
        *,
        gaps: Mask | None = None,
        fixed: Mask | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """Take the problem; see `Engine.start`."""
        with self._session():
            with self._uploading(C):
                self._begin(SuffStat(C, n), gaps, fixed, progress)
            self._C_host = None  # the caller may change its array, unless it calls `unfinished_z` later

    def _take_gaussian(
        self,
        data: SuffStat,
        names: Sequence[str],
        *,
        gaps: Mask | None = None,
        fixed: Mask | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """Take the problem; see `Engine.take`. The correlations of data are computed on the device, and stay there.

        If level 0 is expected (`expect`), it is launched right behind the inspection of C: one wait serves both. Level
        1 then runs while the host looks at the findings of the inspection.
        """
        facts = None
        with self._session():
            if data.data is None:
                with self._uploading(data.C):
                    levels = self._begin(data, gaps, fixed, progress)
                self._C_host = None  # the caller may change its array
                found = of_data.launch_inspection(self.device, self._C)
            else:
                self._C, self._C_host, self._mirrored = None, None, True
                self._C = of_data.correlation(self.device, data.data)
                levels = self._begin(data, gaps, fixed, progress)
            launched = levels.launch_level0()
            if data.data is None:
                self.device.wait()
                facts = self._facts(found)
                if launched:
                    levels.end_level0(mirrored=self._mirrored)
        if facts is not None:
            data.check(facts, names)

    def _begin(self, data: SuffStat, gaps: Mask | None, fixed: Mask | None, progress: ProgressHook | None) -> RunAhead:
        self._data, self._progress, self._cpu = data, progress, None
        self._graph = DeviceGraph(self.device, self._C, data.n, gaps=gaps, fixed=fixed, bounds=schur.BOUNDS)
        self._levels = RunAhead(self.device, self._graph, self._gaussian, self._cutoffs)
        return self._levels

    def start_discrete(
        self, data: Data, *, gaps: Mask | None = None, fixed: Mask | None = None, progress: ProgressHook | None = None
    ) -> None:
        """Take the problem; see `Engine.start_discrete`. The algorithms of Zarebavani et al. have no such tests."""
        if self.algorithm != "schur":
            raise EngineError(f"engine {self.name!r} has no tests of discrete data; take 'cpu', 'gpu' or 'reference'")
        self._progress = progress
        self._C = self._C_host = self._graph = self._levels = self._data = self._cpu = None
        with self._session():
            graph = discrete.start(self.device, data, gaps, fixed)
        self._graph = graph
        self._levels = RunAhead(self.device, graph, graph.tests, _none_expected)  # see DiscreteGraph.settle

    def _started(self) -> DeviceGraph:
        if self._graph is None:
            raise EngineError("the engine has no problem: call start() first")
        return self._graph

    def _check(self, graph: Graph, level: Level, pairs: int, found: Filter) -> None:
        assert self._data is not None
        smallest.check(self.device, self._data, (graph, level, pairs), found)

    def _takes_over(self, level: int) -> CpuEngine | None:
        """The engine that runs this level and all after it instead of the device, if that cannot."""
        graph, data = self._graph, self._data
        if self._cpu or not (level and self._prune) or graph is None or data is None or graph.outlook.countable:
            return self._cpu
        with self._session():
            assert isinstance(self._test, GaussianTest)
            self._cpu = smallest.take_over(self._test, graph, level, self._progress)
        return self._cpu

    def _run(self, level: int) -> LevelResult:
        return self._run_level(level, self._test.cutoff(level))

    def _run_level(self, level: int, cutoff: float) -> LevelResult:
        if cpu := self._takes_over(level):
            return cpu._run(level)
        graph = self._started()
        most, edges = int(min(graph.outlook.tests_at_most, 2**62)), graph.outlook.pairs // 2

        def tick() -> None:
            if self._progress is not None:
                self._progress(level, graph.tests_done(), most, edges)

        with self._session():
            assert self._levels is not None
            return self._levels.run_level(level, cutoff, tick, mirrored=self._mirrored)

    def expect(self, cutoffs: Callable[[int], float | None]) -> None:
        """Levels that will be asked for; see `Engine.expect`."""
        self._cutoffs = cutoffs

    def wait(self) -> None:
        """Wait for the records that are still being copied to the host; see `Engine.wait`."""
        if self._graph is not None:
            with self._session():
                self._graph.wait()

    def degrees(self) -> NDArray[np.int64]:
        """Neighbours of each variable, int64 (p,)."""
        if self._cpu is not None:
            assert self._cpu._graph is not None
            return self._cpu._graph.degrees()
        with self._session():
            return self._started().degrees(first=self._levels is not None and self._levels.level0_waits)

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """Edges left and the smallest |z| of their tests; see `Engine.edges`."""
        if self._cpu is not None:
            return self._cpu.state()[:3]
        with self._session():
            return self._started().edges()

    def unfinished_z(self) -> UnfinishedZ | None:
        """A function that finds the smallest |z| if a filter spared tests; see `Engine.unfinished_z`."""
        if self._cpu is not None:
            return self._cpu.state().unfinished
        pending = self._graph.pending if self._graph is not None else []
        if self._data is None or not pending:
            return None
        return smallest.SmallestZ(self.device.index, self._data, pending, *self.edges())


def _none_expected(level: int) -> None:
    return None
