"""The GPU engine: state on the device from the first level to the last, one small answer to the host per level."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Engine, EngineError, Floats, Ints, LevelResult, Mask, ProgressHook
from pycupc.engines.gpu import discrete, schur
from pycupc.engines.gpu.correlation import correlation
from pycupc.engines.gpu.cupc import CupcTests, Geometry
from pycupc.engines.gpu.device import Device, Session, open_device
from pycupc.engines.gpu.graph import DeviceGraph, Outlook
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Graph, Level, f64, i32, ptr
from pycupc.gaussian.suffstat import MatrixFacts

if TYPE_CHECKING:
    from pycupc.discrete.contingency import Data

#: "schur" is the name that "gpu" has among the algorithms.
ALGORITHMS = ("schur", "cupc-e", "cupc-s")
#: Scratch memory kept from run to run, in bytes.
KEEP = 1 << 30
#: Memory that no pair of variables has a part in: counters, tables, scratch.
FIXED_BYTES = 32 << 20
_NOTHING_FOUND = 2**64 - 1


class LevelTests(Protocol):
    """The tests of a level >= 1: a family of tests and the way they are run."""

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        """Kernels that the level needs."""

    def all_kernels(self) -> list[KernelName]:
        """Kernels that a run may need."""

    def launch(self, dev: Device, graph: Graph, level: Level, outlook: Outlook) -> None:
        """Start the tests: they write graph.best, graph.least, side A's removals in graph.G, and the counters."""


class GpuEngine(Engine):
    """Levels on one CUDA device.

    Parameters
    ----------
    algorithm : {"schur", "cupc-e", "cupc-s"}
        The Schur walk, or one of the two algorithms of Zarebavani et al. (2020); the answer is the same.
    device : int
        CUDA device number.
    beta, gamma : int
        cupc-e: edges per block and threads per edge; at most 512 threads in all.
    theta, delta : int
        cupc-s: threads per block, at most 256, and blocks per row.
    pruning : bool
        schur: whether pairs that provably no conditioning set separates are spared their tests; see
        `pycupc.engines.gpu.pruning`. The answer is the same.
    Raises
    ------
    EngineError
        If there is no usable device; the message says why.
    """

    def __init__(
        self,
        algorithm: Literal["schur", "cupc-e", "cupc-s"] = "schur",
        device: int = 0,
        *,
        beta: int = Geometry.beta,
        gamma: int = Geometry.gamma,
        theta: int = Geometry.theta,
        delta: int = Geometry.delta,
        pruning: bool = True,
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
        if not isinstance(pruning, bool):
            raise ValueError(f"pruning must be True or False, got {pruning!r}")
        geometry = Geometry(beta=beta, gamma=gamma, theta=theta, delta=delta)
        self.algorithm = algorithm
        self.name = "gpu" if algorithm == "schur" else algorithm
        self.device = open_device(device)
        self._gaussian: LevelTests = (
            schur.SchurTests(self.device.processors, prune=pruning)
            if algorithm == "schur"
            else CupcTests(algorithm, geometry)
        )
        self._tests: LevelTests = self._gaussian
        self._C: Any = None
        self._C_host: Floats | None = None
        self._problem: tuple[Floats, float] = np.empty((0, 0)), 0.0
        self._graph: DeviceGraph | None = None
        self._progress: ProgressHook | None = None

    def close(self) -> None:
        """Release the device memory of the run."""
        self._C = self._C_host = self._graph = None
        self._tests = self._gaussian  # those of discrete data hold the data
        if self.device.scratch.size > KEEP:
            self.device.scratch.release()

    def _session(self) -> Session:
        return Session(self.device, self.close)

    def compile(self, level: int | None = None) -> None:
        """Compile what `level` needs and this machine has not compiled before; None: every kernel of the algorithm.

        All kernels together take half a minute at most.
        """
        if level is None:
            wanted = [("graph/inspect", "inspect"), *self._gaussian.all_kernels()]
            wanted += [name for l in range(3) for name in DeviceGraph.kernels(l)]
            wanted += discrete.KERNELS if self.algorithm == "schur" else []
            notice = f"compiling the kernels of {self.name}, once per machine"
        else:
            wanted = (self._graph or DeviceGraph).kernels(level)
            if level and self._graph is not None:
                wanted += self._tests.kernels(level, self._graph.outlook)
            notice = f"compiling for level {level}, once per machine"
        if self.device.kernels.missing(wanted):
            with self._session():
                self.device.kernels.load(wanted, notice)

    # ---------------------------------------------------------------- the matrix

    def memory(self, p: int) -> tuple[int, int]:
        """Bytes that a run with p variables needs at its start (C, flags), and bytes free on the device."""
        return 9 * p * p + 64 * p + FIXED_BYTES, self.device.free_memory()

    def _take(self, C: Floats) -> None:
        """C on the device; a matrix that `inspect` has just uploaded is not sent twice."""
        if self._C is not None and self._C_host is C:
            return
        host = np.ascontiguousarray(C, dtype=np.float64)
        self._C = None
        p = host.shape[0]
        need, free = self.memory(p) if p > 4096 else (0, 0)  # asking takes 0.2 ms; small runs fit any card
        if need > free:
            raise EngineError(
                f"a run with p = {p} needs {need / 2**30:.2f} GiB on {self.device.name} and {free / 2**30:.2f} GiB "
                "are free; use fewer variables, another device, or engine='cpu'"
            )
        self._C = self.device.cp.empty((p, p), dtype=np.float64)
        self.device.transfers.upload(host, self._C)
        self._C_host = C

    def correlation(self, X: Floats) -> Floats:
        """Correlation matrix of data (n, p), computed on the device; see `pycupc.engines.gpu.correlation`."""
        with self._session():
            return correlation(self.device, X)

    def inspect(self, C: Floats) -> MatrixFacts:
        """Inspect C on the device; the upload is kept for `start`."""
        dev, p = self.device, C.shape[0]
        with self._session():
            self._take(C)
            facts = dev.cp.full(3, _NOTHING_FOUND, dtype=np.uint64)
            nan = dev.cp.zeros(p, dtype=np.int64)
            tiles = -(-p // 32)
            args = (ptr(self._C), i32(p), f64(1e-8), f64(1e-10), ptr(facts), ptr(nan))
            dev.launch("graph/inspect", "inspect", (tiles, tiles), (32, 8), args)
            pieces = ((facts.data.ptr, np.uint64, (3,)), (nan.data.ptr, np.int64, (p,)))
            found, nan_count = dev.transfers.download(*pieces)
            dev.wait()
        asymmetric, beyond, diagonal = (None if v == _NOTHING_FOUND else divmod(int(v), p) for v in found)
        return MatrixFacts(nan_count, asymmetric, beyond, None if diagonal is None else diagonal[1])

    # ---------------------------------------------------------------- the run

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
        self._progress, self._graph, self._tests = progress, None, self._gaussian
        with self._session():
            self._take(C)
            self._graph = DeviceGraph(self.device, self._C, n, gaps, fixed, schur.BOUNDS)
            self._C_host = None  # the caller may change its array from now on, unless `unfinished_z` is to be called
            self._problem = np.ascontiguousarray(C, dtype=np.float64), n

    def start_discrete(
        self, data: Data, *, gaps: Mask | None = None, fixed: Mask | None = None, progress: ProgressHook | None = None
    ) -> None:
        """Take the problem; see `Engine.start_discrete`. The algorithms of Zarebavani et al. have no such tests."""
        if self.algorithm != "schur":
            super().start_discrete(data, gaps=gaps, fixed=fixed, progress=progress)
        self._progress, self._graph, self._C, self._C_host = progress, None, None, None
        with self._session():
            graph = discrete.start(self.device, data, gaps, fixed)
        self._graph, self._tests = graph, graph.tests

    def _started(self) -> DeviceGraph:
        if self._graph is None:
            raise EngineError("the engine has no problem: call start() first")
        return self._graph

    def run_level(self, level: int, cutoff: float) -> LevelResult:
        """Run one level; see `Engine.run_level`."""
        graph, dev = self._started(), self.device
        most, edges = int(min(graph.outlook.tests_at_most, 2**62)), graph.outlook.pairs // 2

        def tick() -> None:
            if self._progress is not None:
                self._progress(level, graph.tests_done(), most, edges)

        with self._session():
            if level == 0:
                return graph.run_level0(cutoff, tick)
            of_graph, of_level = graph.begin(level, cutoff)
            if any(graph.outlook.rows):
                self._tests.launch(dev, of_graph, of_level, graph.outlook)
            return graph.finish(of_graph, of_level, tick)

    def degrees(self) -> NDArray[np.int64]:
        """Neighbours of each variable, int64 (p,)."""
        with self._session():
            return self._started().degrees()

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """Edges left and the smallest |z| of their tests; see `Engine.edges`."""
        with self._session():
            return self._started().edges()

    def unfinished_z(self) -> Callable[[], Floats] | None:
        """What computes the smallest |z| where pairs were spared their tests, on the CPU; see `Engine.unfinished_z`."""
        pending = self._graph.pending if self._graph is not None else []
        if not pending:
            return None
        from pycupc.engines.cpu.pruning import minimum  # loads Numba, which a run on the GPU does without

        C, n = self._problem
        C = C.view()
        C.flags.writeable = False
        levels = [minimum.PrunedTests.whole(v.level, v.cutoff, v.offsets, v.neighbours) for v in pending]
        return minimum.SmallestZ.on_all_cores(C, n, levels, *self.edges())
