"""The GPU engine: state on the device from the first level to the last, one small answer to the host a level."""

from __future__ import annotations

import ctypes
import logging
import math
import time
from typing import Any, Literal

import numpy as np

from pycupc.engines.base import Engine, EngineError, LevelResult, ProgressHook
from pycupc.engines.gpu import cupc, schur
from pycupc.engines.gpu.launch import Graph, Level, f64, i32, i64, ptr
from pycupc.engines.gpu.session import Session, open_device
from pycupc.gaussian.fisher_z import CUTOFF_BAND
from pycupc.gaussian.suffstat import MatrixFacts

logger = logging.getLogger(__name__)

ALGORITHMS = ("schur", "cupc-e", "cupc-s")
#: Words of the small block of counters: kernels add to the first part, scan_rows writes the second.
COUNTS, CAREFUL, STATS, WORDS = 0, 3, 8, 32
#: Share of doubtful tests at a level from which on the next level runs in kernels made for them.
SINGULAR_SHARE = 0.05
#: Scratch memory kept from run to run, in bytes.
KEEP = 1 << 30


class GpuEngine(Engine):
    """Levels on one CUDA device.

    Parameters
    ----------
    algorithm : {"schur", "cupc-e", "cupc-s"}
        Ours, or one of the two of Zarebavani et al. (2020); the answer is the same.
    device : int
        CUDA device number.
    beta, gamma : int
        cupc-e: edges a block and threads an edge; at most 512 threads in all.
    theta, delta : int
        cupc-s: threads a block, at most 256, and blocks a row.

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
        beta: int = cupc.Geometry.beta,
        gamma: int = cupc.Geometry.gamma,
        theta: int = cupc.Geometry.theta,
        delta: int = cupc.Geometry.delta,
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
        self.algorithm = algorithm
        self.name = "gpu" if algorithm == "schur" else algorithm
        self.geometry = cupc.Geometry(beta=beta, gamma=gamma, theta=theta, delta=delta)
        self._dev = open_device(device)
        self._C: Any = None
        self._C_host: np.ndarray | None = None
        self._clear()

    def _clear(self) -> None:
        self._G = self._start = self._buffers = self._counts = None
        self._current = 0

    def close(self) -> None:
        """Release the device memory of the run."""
        self._clear()
        self._C = self._C_host = None
        if self._dev.scratch.size > KEEP:
            self._dev.scratch.release()

    def compile(self) -> None:
        """Compile every kernel that a run may need and that is not in the cache yet: half a minute at most.

        A run compiles what it comes to need, so this only moves the time of the first runs on a machine.
        """
        with self._session():
            kernels = schur.KERNELS if self.algorithm == "schur" else cupc.KERNELS[self.algorithm]
            for file, names in kernels.items():
                for name in names:
                    self._dev.kernel(file, name)

    # ---------------------------------------------------------------- the matrix

    def _take(self, C: np.ndarray) -> None:
        """C on the device; a matrix that `inspect` has just uploaded is not sent twice."""
        if self._C is not None and self._C_host is C:
            return
        host = np.ascontiguousarray(C, dtype=np.float64)
        self._C = None
        p = host.shape[0]
        need, free = self.memory(p) if p > 4096 else (0, 0)  # asking takes 0.2 ms; small runs fit any card
        if need > free:
            raise EngineError(
                f"a run with p = {p} needs {need / 2**30:.2f} GiB on {self._dev.name} and {free / 2**30:.2f} GiB are "
                "free; use fewer variables, another device, or engine='cpu'"
            )
        self._C = self._dev.cp.empty((p, p), dtype=np.float64)
        self._dev.upload(host, self._C)
        self._C_host = C

    def memory(self, p: int) -> tuple[int, int]:
        """Bytes that a run with p variables needs at its start (C, flags), and bytes free on the device."""
        cp = self._dev.cp
        with cp.cuda.Device(self._dev.index):
            free, _ = cp.cuda.runtime.memGetInfo()
            free += cp.get_default_memory_pool().free_bytes()
        return 9 * p * p + 64 * p + (32 << 20), free

    def correlation(self, X: np.ndarray) -> np.ndarray:
        """Correlation matrix of data (n, p), float64: columns centred first, then one matrix product on the device.

        NaN where a column is constant; the diagonal is 1.
        """
        with self._session():
            dev, (n, p) = self._dev, X.shape
            cp = dev.cp
            if (need := 8 * (2 * n * p + p * p)) > (free := self.memory(0)[1]):
                have = f"{free / 2**30:.2f} GiB are free"
                raise EngineError(f"correlations of {n} x {p} data need {need / 2**30:.2f} GiB on {dev.name}, {have}")
            Z = cp.empty((n, p), dtype=np.float64)
            dev.upload(np.ascontiguousarray(X, dtype=np.float64), Z)
            block, columns = (32, 8), (-(-p // 32),)
            self._launch("correlation", "standardise", columns, block, (ptr(Z), i32(n), i32(p)))
            C = Z.T @ Z
            tiles = -(-p // 32)
            self._launch("correlation", "tidy", (tiles, tiles), block, (ptr(C), i32(p)))
            (host,) = dev.download((C.data.ptr, np.float64, (p, p)))
            self._wait(None)
        return host

    def inspect(self, C: np.ndarray) -> MatrixFacts:
        """Look over C on the device; the upload is kept for `start`."""
        with self._session():
            self._take(C)
            cp, p = self._dev.cp, C.shape[0]
            facts = cp.full(3, 2**64 - 1, dtype=np.uint64)
            nan = cp.zeros(p, dtype=np.int64)
            tiles = -(-p // 32)
            args = (ptr(self._C), i32(p), f64(1e-8), f64(1e-10), ptr(facts), ptr(nan))
            self._launch("graph", "inspect", (tiles, tiles), (32, 8), args)
            found, nan_count = self._dev.download((facts.data.ptr, np.uint64, (3,)), (nan.data.ptr, np.int64, (p,)))
            self._wait(None)

        def pair(at: int) -> tuple[int, int] | None:
            return None if at == 2**64 - 1 else (at // p, at % p)

        asymmetric, beyond, diagonal = (int(v) for v in found)
        bad_diagonal = None if diagonal == 2**64 - 1 else diagonal
        return MatrixFacts(nan_count, pair(asymmetric), pair(beyond), bad_diagonal)

    # ---------------------------------------------------------------- the run

    def start(
        self,
        C: np.ndarray,
        n: int,
        *,
        gaps: np.ndarray | None = None,
        fixed: np.ndarray | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """Take the problem; see `Engine.start`."""
        with self._session():
            self._clear()
            self._take(C)
            cp = self._dev.cp
            self._p, self._n, self._progress = C.shape[0], int(n), progress
            self._gaps_host, self._fixed_host = gaps, fixed
            self._gaps, self._fixed = (self._bytes(m) for m in (gaps, fixed))
            self._G = cp.empty((self._p, self._p), dtype=np.uint8)
            self._counts = cp.zeros(WORDS, dtype=np.uint64)
            self._start = [cp.empty(self._p + 1, dtype=np.int64) for _ in range(2)]
            self._current, self._pairs, self._widest = 0, 0, 0
            self._listed = False  # neighbour lists exist from level 0 on
            self._edge_cache: Any = None
            self._C_host = None  # the caller may change its array from now on

    def _bytes(self, mask: np.ndarray | None) -> Any:
        if mask is None:
            return None
        out = self._dev.cp.empty(mask.shape, dtype=np.uint8)
        self._dev.upload(np.ascontiguousarray(mask, dtype=bool).view(np.uint8), out)
        return out

    def _root_df(self, level: int) -> float:
        return math.sqrt(max(0, self._n - level - 3))

    def run_level(self, level: int, cutoff: float) -> LevelResult:
        """Run one level; see `Engine.run_level`."""
        if self._counts is None:
            raise EngineError("run_level() needs start() first")
        with self._session():
            return self._level0(cutoff) if level == 0 else self._level(level, cutoff)

    def _level0(self, cutoff: float) -> LevelResult:
        dev, p = self._dev, self._p
        tiles = -(-p // 32)
        args = (ptr(self._C), ptr(self._gaps), ptr(self._fixed), i32(p), f64(cutoff), ptr(self._G), ptr(self._counts))
        self._launch("graph", "level0", (tiles, tiles), (32, 32), args)
        dev.scratch.reset()
        kept = dev.scratch.take(8 * p)
        self._launch("graph", "count_neighbours", (p,), (128,), (ptr(self._G), i32(p), ptr(kept)))
        binom, stride = dev.binomials(p, 4)
        self._scan(kept, None, self._start[0].data.ptr, None, 1, binom, stride)
        counts = self._read_counts(0)
        self._listed, self._edge_cache = True, None
        self._allocate()
        b = self._buffers[0]
        args = (
            ptr(self._C),
            ptr(self._G),
            i32(p),
            ptr(self._start[0]),
            f64(self._root_df(0)),
            f64(self._root_df(1)),
            *(ptr(b[k]) for k in ("column", "source", "best", "least", "z")),
        )
        self._launch("graph", "list_neighbours", (p,), (32,), args)
        empty = np.empty(0, np.int32)
        return LevelResult(
            0,
            empty,
            empty,
            np.empty((0, 0), np.int32),
            np.empty(0, np.int64),
            np.empty(0),
            int(counts[0]),
            int(counts[1]),
            0,
            self._more_after_level0(bool(counts[2])),
        )

    def _more_after_level0(self, tested: bool) -> bool:
        """A visited pair had more than 0 candidates, in the graph before level 0."""
        if self._gaps_host is None:
            return tested and self._p > 2
        adjacent = self._first_graph()
        more = adjacent.sum(axis=1) > 1
        visit = adjacent if self._fixed_host is None else adjacent & ~np.asarray(self._fixed_host, dtype=bool)
        second = visit & self.adjacency()  # side B is visited only where side A kept the edge
        return bool((np.triu(visit).any(axis=1) & more).any() or (np.tril(second).any(axis=1) & more).any())

    def _allocate(self) -> None:
        """Neighbour lists and what goes with each ordered pair, twice: a level reads one and writes the other."""
        cp, pairs = self._dev.cp, self._pairs
        need = 2 * 32 * pairs
        free = self.memory(0)[1] if need > 1 << 30 else need
        if need > free:
            raise EngineError(
                f"{pairs // 2} edges are left after level 0 and need {need / 2**30:.2f} GiB on {self._dev.name}, where "
                f"{free / 2**30:.2f} GiB are free; use a smaller alpha or fewer variables"
            )
        types = {"column": np.int32, "source": np.int32, "best": np.uint64, "least": np.uint64, "z": np.float64}
        self._buffers = [{k: cp.empty(max(1, pairs), dtype=t) for k, t in types.items()} for _ in range(2)]

    def _level(self, level: int, cutoff: float) -> LevelResult:
        dev, p, pairs = self._dev, self._p, self._pairs
        dev.scratch.reset()
        take = dev.scratch.take
        self._check_size(level)
        old, new = self._buffers[self._current], self._buffers[1 - self._current]
        start, new_start = self._start[self._current], self._start[1 - self._current]
        binom, stride = dev.binomials(p, level + 3)
        self._counts.data.memset_async(0, 8 * STATS, dev.stream)
        lists = (old[k].data.ptr for k in ("column", "source", "best", "least"))
        graph = Graph(self._C.data.ptr, self._G.data.ptr, start.data.ptr, *lists, p)
        square = cutoff * cutoff
        state = Level(
            binom.data.ptr,
            self._counts.data.ptr + 8 * CAREFUL,
            0,
            dev.stop.data.ptr,
            cutoff,
            square * (1 - CUTOFF_BAND),
            square * (1 + CUTOFF_BAND),
            stride,
            level,
        )
        if pairs and any(self._rows):
            if self.algorithm != "schur":
                differs = self._counts.data.ptr + 8 * (CAREFUL + 1)
                cupc.run_level(dev, self.algorithm, self.geometry, graph, state, self._widest, differs)
            elif level == 1:
                for side in (0, 1):
                    self._launch("level1", "level1", (-(-pairs // 64),), (256,), (graph, state, i64(pairs), i32(side)))
            else:
                schur.run_level(dev, graph, state, start, p, self._rows, self._widest, self._sets, self._singular)
        if pairs:
            self._launch("graph", "mark_side_b", (min(4096, -(-pairs // 256)),), (256,), (graph, i64(pairs)))
        kept, removed, record_start = take(8 * p), take(8 * p), take(8 * p + 8)
        self._launch("graph", "count_rows", (p,), (64,), (graph, state, ptr(kept), ptr(removed), ptr(self._counts)))
        self._scan(kept, removed, new_start.data.ptr, record_start, level + 1, binom, stride)
        most = max(1, pairs // 2)
        kinds = {"x": 4, "y": 4, "S": 4 * level, "rank": 8, "r": 8}
        record = {k: take(size * most) for k, size in kinds.items()}
        args = (
            graph,
            ptr(old["z"]),
            f64(self._root_df(level)),
            f64(self._root_df(level + 1)),
            ptr(new_start),
            ptr(record_start),
            *(ptr(new[k]) for k in ("column", "source", "best", "least", "z")),
            ptr(record["x"]),
            ptr(record["y"]),
            ptr(record["rank"]),
        )
        self._launch("graph", "compact_rows", (p,), (32,), args)
        total = ptr(record_start + 8 * p)
        out = tuple(ptr(record[k]) for k in ("rank", "S", "r"))
        if level == 1:
            args = (graph, ptr(record["x"]), ptr(record["y"]), total, *out, ptr(self._counts))
            self._launch("graph", "finish_level1", (min(8192, -(-most // 256)),), (256,), args)
        else:
            shared = 4 * 8 * (level + 2) ** 2
            fits = shared <= 48 << 10
            doubles = schur.canonical_doubles(level)
            blocks = max(1, min(2048, -(-most // 4), (64 << 20) // (8 * 4 * doubles)))
            state.work = take(blocks * 4 * doubles * 8)
            args = (graph, state, ptr(record["x"]), ptr(record["y"]), total, *out, ptr(self._counts), i32(fits))
            self._launch("graph", "finish_records", (blocks,), (128,), args, shared if fits else 0)
        counts = self._read_counts(level)
        self._current, self._edge_cache = 1 - self._current, None
        m = int(counts[STATS + 2])
        x, y, S, rank, r = (
            self._no_records(level)
            if m == 0
            else dev.download(
                (record["x"], np.int32, (m,)),
                (record["y"], np.int32, (m,)),
                (record["S"], np.int32, (m, level)),
                (record["rank"], np.int64, (m,)),
                (record["r"], np.float64, (m,)),
            )
        )
        if m:
            self._wait(level)
        return LevelResult(
            level, x, y, S, rank, r, int(counts[COUNTS]), m, int(counts[CAREFUL]), bool(counts[COUNTS + 2])
        )

    @staticmethod
    def _no_records(level: int) -> list[np.ndarray]:
        none = np.empty(0, np.int32)
        return [none, none, np.empty((0, level), np.int32), np.empty(0, np.int64), np.empty(0)]

    def _check_size(self, level: int) -> None:
        if self._over:
            row = self._over - 1
            raise EngineError(
                f"level {level} has more than 2^62 conditioning sets (variable {row} has up to {self._widest} "
                "neighbours): no machine can test them; set m_max below this level or use a smaller alpha"
            )

    def _scan(
        self,
        kept: int,
        removed: int | None,
        start: int,
        record_start: int | None,
        next_level: int,
        binom: Any,
        stride: int,
    ) -> None:
        column = ctypes.c_void_p(binom.data.ptr + 8 * stride * next_level)
        stats = ctypes.c_void_p(self._counts.data.ptr + 8 * STATS)
        args = (
            ptr(kept),
            ptr(removed),
            i32(self._p),
            ptr(start),
            ptr(record_start),
            i32(next_level),
            column,
            *(i32(b) for b in schur.BOUNDS),
            stats,
        )
        self._launch("graph", "scan_rows", (1,), (1024,), args)

    def _read_counts(self, level: int) -> np.ndarray:
        (counts,) = self._dev.download((self._counts.data.ptr, np.uint64, (WORDS,)))
        self._wait(level)
        stats = counts[STATS:]
        self._pairs, self._widest = int(stats[0]), int(stats[1])
        self._rows = [int(v) for v in stats[3:9]]
        self._sets, self._over = float(stats[11]), int(stats[12])
        self._singular = bool(counts[CAREFUL] > SINGULAR_SHARE * counts[COUNTS])
        return counts

    # ---------------------------------------------------------------- the graph now

    def degrees(self) -> np.ndarray:
        """Neighbours of each variable, int64 (p,)."""
        if not self._listed:
            return self._first_graph().sum(axis=1) if self._gaps_host is not None else np.full(self._p, self._p - 1)
        with self._session():
            (start,) = self._dev.download((self._start[self._current].data.ptr, np.int64, (self._p + 1,)))
            self._wait(None)
        return np.diff(start)

    def _first_graph(self) -> np.ndarray:
        """The graph before level 0."""
        gaps = np.zeros((self._p, self._p), bool) if self._gaps_host is None else np.asarray(self._gaps_host, bool)
        return ~gaps & ~np.eye(self._p, dtype=bool)

    def _edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ordered pairs x, y and their smallest |z|, fetched once a level."""
        if self._edge_cache is None:
            with self._session():
                b = self._buffers[self._current]
                names = ("source", "column", "z")
                self._edge_cache = self._dev.download(*((b[k].data.ptr, b[k].dtype, (self._pairs,)) for k in names))
                self._wait(None)
        return self._edge_cache

    def adjacency(self) -> np.ndarray:
        """The graph, bool (p, p)."""
        if not self._listed:
            return self._first_graph()
        out = np.zeros((self._p, self._p), dtype=bool)
        x, y, _ = self._edges()
        out[x, y] = True
        return out

    def kept(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges x < y left and the smallest |z| of their tests; inf where an edge was never tested."""
        if not self._listed:
            raise EngineError("kept() needs run_level(0) first")
        x, y, z = self._edges()
        a = x < y
        b = ~a
        mirrored = np.argsort(y[b], kind="stable")  # rows of side B ordered as side A's
        return x[a], y[a], np.minimum(z[a], z[b][mirrored])

    # ---------------------------------------------------------------- launching and waiting

    def _launch(
        self, file: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], args: tuple, shared: int = 0
    ) -> None:
        self._dev.kernel(file, name)(grid, block, args, stream=self._dev.stream.ptr, shared=shared)

    def _session(self) -> Session:
        return Session(self)

    def _wait(self, level: int | None) -> None:
        """Wait for the device without blocking Ctrl-C: running kernels are asked to leave, then the run ends."""
        done = self._dev.stream.record()
        began = time.perf_counter()
        told = began
        try:
            while not done.done:
                now = time.perf_counter()
                if now - began > 0.02:
                    time.sleep(0.0002)
                if level is not None and self._progress is not None and now - told > 0.2:
                    told = now
                    most = int(min(2.0 * self._sets * self._widest, 2**62)) if level else 0
                    self._progress(level, 0, most, self._pairs // 2)
        except BaseException:
            self._dev.ask_to_stop()
            raise
