"""A `Device` whose kernels run on the host (cuda_on_host.h): the GPU engine of discrete data without a GPU, slowly."""

import ctypes
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from common import ROOT, assert_noncolliders, assert_same, take
from near_copies import assert_same_evidence, near_copies

import pycupc
from pycupc.engines.cpu import CpuEngine
from pycupc.engines.gpu import missing, schur
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.gpu_engine import GpuEngine
from pycupc.engines.gpu.kernels import WITH_ROW_MATRICES
from pycupc.engines.gpu.transfers import Scratch, Transfers
from pycupc.graph.pairs import Pairs
from pycupc.independence.gaussian.test import GaussianTest

HERE = Path(__file__).resolve().parent
KERNELS = ROOT / "kernels"
HEADER = HERE / "cuda_on_host.h"
#: The kernels of each file; a file in rows/ is another one, compiled for a graph with a matrix for each row.
Files = dict[str, tuple[str, ...]]
#: Numbers that a compiled kernel takes after the addresses of its arguments: grid, block, seed of the threads' order.
ARGUMENTS = ("gx", "gy", "bx", "by", "seed")
#: Kernel files of a whole run on correlations, and their kernels, without those of the tests of levels >= 1.
GRAPH_FILES: Files = {
    "correlation/correlation": ("centre<double>", "centre<float>", "correlate"),
    "graph/inspect": ("inspect",),
    "graph/noncolliders": ("noncolliders",),
    "graph/neighbours": ("level0", "count_neighbours", "list_neighbours", "weakest_evidence"),
    "graph/removals": ("settle", "finish"),
}
#: Those of a whole run on correlations, with the Schur walk.
WALK_FILES: Files = GRAPH_FILES | {
    "schur/level1": ("level1",),
    "schur/plan": ("plan_phases",),
    "schur/sets": tuple(name for _, name in schur.SETS.values()),
    "schur/tiles": tuple(name for _, name in schur.TILES.values()),
}
#: Those of a whole run on discrete data, with the tests.
FILES: Files = {
    "graph/neighbours": ("count_neighbours", "list_neighbours", "weakest_evidence"),
    "graph/noncolliders": ("noncolliders",),
    "graph/removals": ("settle",),
    "discrete/data": ("pack_codes", "enter_results"),
    "discrete/pairs": ("contingency_pairs", "tally_pairs"),
    "discrete/sets": (*("count_targets", "plan_sets", "contingency_sets"), *("contingency_records", "p_values")),
}
#: Those of a whole run on incomplete data, with the tests.
MISSING_FILES: Files = {
    **{file: names for file, names in FILES.items() if not file.startswith("discrete")},
    "discrete/data": ("enter_results",),
    "discrete/pairs": ("tally_pairs",),
    "discrete/sets": ("count_targets", "plan_sets"),
    "missing/tests": tuple(name for family in range(5) for _, name in missing.kernels_of(family)),
}


def compiler() -> str:
    """The C++ compiler; without one, skip the test."""
    found = shutil.which("g++")
    return found if found is not None else pytest.skip("no C++ compiler")


def library_of(source: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """The library of C++ source that includes headers of the kernels."""
    (folder / "wrapper.cpp").write_text(source)
    always = ["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-I{KERNELS}", f"-I{HERE}"]
    subprocess.run([compiler(), *always, *flags, "wrapper.cpp", "-o", "library.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "library.so"))


def for_host(file: Path) -> str:
    """The text of a kernel file, with its dynamic shared memory where cuda_on_host.h has it."""
    return re.sub(r"extern __shared__ (\w+) (\w+)\[\];", r"\1* const \2 = (\1*)dynamic_memory;", file.read_text())


def build(folder: Path, threads: int, files: Files = FILES) -> dict[str, ctypes.CDLL]:
    """Compile each kernel file into a library; without a C++ compiler, skip the test.

    `threads` is for the tests of discrete and of missing data: how many a block has. What another test of this session
    has compiled is copied, since a library has the state of one running kernel.
    """
    flags = ["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-fno-gnu-unique"]
    shared, texts = folder.parents[1] / "kernels-for-host", hashlib.sha256(HEADER.read_bytes() + repr(flags).encode())
    header = shared / texts.hexdigest()
    header.mkdir(exist_ok=True, parents=True)
    for file in sorted((*KERNELS.rglob("*.cuh"), *KERNELS.rglob("*.cu"))):
        text = for_host(file)
        texts.update(text.encode())
        target = folder / file.relative_to(KERNELS)
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_text(text)
    _compile_header(header / f"{HEADER.name}.gch", flags)
    flags += [f"-I{header}", f"-I{folder}", f"-I{HERE}"]
    running = []
    for file, names in files.items():
        source, library = folder / f"{file}.cpp", folder / f"{file}.so"
        source.parent.mkdir(exist_ok=True, parents=True)
        source.write_text("\n".join([*_exports(file, names), ""]))
        defined = [f"-DCONTINGENCY_THREADS={threads}"] if file.startswith(("discrete/", "missing/")) else []
        of_file = texts.copy()
        of_file.update(source.read_bytes() + "".join(defined).encode())
        kept = shared / f"{of_file.hexdigest()}.so"
        if kept.exists():
            shutil.copy(kept, library)
            continue
        command = [compiler(), *flags, *defined, str(source), "-o", str(library)]
        running.append((subprocess.Popen(command, stderr=subprocess.PIPE, text=True), library, kept))
    for done, library, kept in running:
        _, errors = done.communicate()
        assert done.returncode == 0, errors
        os.replace(shutil.copy(library, f"{kept}.{os.getpid()}"), kept)
    return loaded(folder, files)


def _compile_header(compiled: Path, flags: list[str]) -> None:
    """Compile cuda_on_host.h, which takes half of the time of a small file; the compiler finds it by its name."""
    if not compiled.exists():
        own = compiled.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler(), *flags, "-x", "c++-header", str(HEADER), "-o", str(own)], check=True)
        os.replace(own, compiled)


def loaded(folder: Path, files: Files) -> dict[str, ctypes.CDLL]:
    """The libraries that `build` has made in a folder."""
    return {file: ctypes.CDLL(str(folder / f"{file}.so")) for file in files}


def _exports(file: str, names: tuple[str, ...]) -> list[str]:
    """The source of a library that runs these kernels of a file."""
    with_rows = ["#define ROW_MATRICES"] if file.startswith("rows/") else []
    lines = [*with_rows, '#include "cuda_on_host.h"', f'#include "{file.removeprefix("rows/")}.cu"', 'extern "C" {']
    for name in names:
        launch = f"host::launch({name}, a, {{gx, gy, 1}}, {{bx, by, 1}}, seed)"
        lines.append(
            f"void {_exported(name)}(void** a, {', '.join(f'unsigned {n}' for n in ARGUMENTS)}) {{ {launch}; }}"
        )
    return [*lines, "}"]


def _exported(name: str) -> str:
    return "run_" + re.sub(r"\W", "_", name)


class Memory(np.ndarray):
    """An array of the host that looks like one of the device."""

    @property
    def data(self):
        address = self.ctypes.data
        return SimpleNamespace(ptr=address, memset_async=lambda value, n, stream: ctypes.memset(address, value, n))


def _new(shape, dtype=np.float64):
    """Memory that holds no zeros, but for the end of what is reserved by the gigabyte."""
    out = np.empty(shape, dtype)
    out.reshape(-1)[: 1 << 22] = 0xAB if out.itemsize > 1 else np.uint8(0xAB).astype(out.dtype)
    return out.view(Memory)


class _Pinned(bytearray):
    @property
    def ptr(self) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(self))


class _Kernel:
    def __init__(self, function, launches: Iterator[int]) -> None:
        self._function, self._launches = function, launches

    def blocks_per_processor(self, block: int, shared: int) -> int:
        assert shared <= 1 << 18
        return 2

    def __call__(self, grid, block, args, *, stream, shared=0, cooperative=False) -> None:
        (gx, gy), (bx, by) = (*grid, 1)[:2], (*block, 1)[:2]
        if cooperative:  # blocks run one after the other and cannot wait for each other
            gx = gy = 1
        addresses = (ctypes.c_void_p * len(args))(*[ctypes.addressof(a) for a in args])
        self._function(addresses, gx, gy, bx, by, next(self._launches))


class _Kernels:
    loading_ahead = False

    def __init__(self, libraries: dict[str, ctypes.CDLL]) -> None:
        self._libraries = libraries
        self._launches = itertools.count(1)  # the seeds

    def get(self, file: str, name: str, rows: bool = False) -> _Kernel:
        file = f"rows/{file}" if rows and file in WITH_ROW_MATRICES else file
        return _Kernel(getattr(self._libraries[file], _exported(name)), self._launches)

    def missing(self, wanted, rows) -> list:
        return []

    def load(self, wanted, rows, notice="") -> None:
        """All are there."""

    load_ahead = load


class HostDevice(Device):
    """Two processors of two blocks each."""

    def __init__(self, libraries: dict[str, ctypes.CDLL]) -> None:
        runtime = SimpleNamespace(
            memcpyAsync=lambda to, source, n, kind, stream: ctypes.memmove(to, source, n),
            memcpyPeerAsync=lambda to, at, source, other, n, stream: ctypes.memmove(to, source, n),
            memsetAsync=lambda to, value, n, stream: ctypes.memset(to, value, n),
        )

        class Context(nullcontext):
            compute_capability = "90"

        pool = SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=lambda: None)
        errors = type("OutOfMemoryError", (Exception,), {}), type("CUDAError", (Exception,), {})
        runtime.CUDARuntimeError = errors[1]
        cuda = SimpleNamespace(
            Device=lambda index: Context(),
            runtime=runtime,
            alloc_pinned_memory=lambda n: _Pinned(n),
            memory=SimpleNamespace(OutOfMemoryError=errors[0]),
            driver=SimpleNamespace(CUDADriverError=errors[1]),
        )
        self.cp = SimpleNamespace(
            empty=_new,
            zeros=lambda shape, dtype: np.zeros(shape, dtype).view(Memory),
            cuda=cuda,
            get_default_memory_pool=lambda: pool,
            get_default_pinned_memory_pool=lambda: pool,
        )
        self.index, self.name, self.processors, self.shared_block = 0, "host", 2, 1 << 18
        self.stream = self.copies = mock.MagicMock(ptr=0, done=True)  # nothing has to be waited for
        self.side = [self.stream] * 6
        self.stop = self.cp.zeros(1, np.int32)
        self.kernels = _Kernels(libraries)
        self.transfers = Transfers(self.cp, self.stream)
        self._answer = self.cp.cuda.alloc_pinned_memory(4096)
        self.scratch = Scratch(self.cp)
        self.lock, self.tick = threading.RLock(), None
        self._binom, self._tables = None, {}

    def free_memory(self, enough: int = 0) -> int:
        return 8 << 30

    def wait(self) -> None:
        if self.tick is not None:
            self.tick()

    def product(self, A, B, out, scale: float = 1.0, keep: float = 0.0) -> None:
        assert not np.shares_memory(A, out) or keep == 0.0
        made = scale * (np.asarray(A) @ np.asarray(B))
        out[...] = made + keep * out if keep else made

    def stop_kernels(self) -> None:
        """None runs."""

    def peek(self, address: int, nbytes: int) -> bytes:
        return ctypes.string_at(address, nbytes)


class HostEngine(GpuEngine):
    """The GPU engine on a `HostDevice`; `algorithm`, `prune` and `options` as in `GpuEngine`."""

    def __init__(
        self, libraries: dict[str, ctypes.CDLL], algorithm: str = "schur", *, prune: bool = True, **options: str
    ) -> None:
        with mock.patch("pycupc.engines.gpu.gpu_engine.open_device", return_value=HostDevice(libraries)):
            super().__init__(algorithm, pruning=prune, **options)


def observations(seed: int, p: int, n: int, strength: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ (rng.normal(0, strength, j) * (rng.random(j) < 0.4))
    return X


def compare(engine, C: np.ndarray, n: float, alpha: float, levels: int = 1, **options) -> pycupc.PcAlgo:
    """As `compare_data`, of correlations."""
    return compare_data(engine, {"C": C, "n": n}, alpha, levels, **options)


def compare_data(engine, data, alpha: float, levels: int = 1, **options) -> pycupc.PcAlgo:
    """The answer, which is that of the CPU engine, with at least so many levels."""
    fit, expected = (pycupc.skeleton(data, alpha=alpha, engine=e, **options) for e in (engine, "cpu"))
    assert_same(fit, expected)
    if fit.sepset.noncolliders is not None:  # several devices list none
        assert_noncolliders(fit)
    assert len(fit.n_edgetests) >= levels
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-300)
    return fit


def compare_near_copies(engine) -> None:
    """pMax of copies whose partial correlation is clipped: such a test counts, though its r^2 exceeds 0.9999999^2."""
    for seed in range(12):
        fit, expected = (pycupc.skeleton(**near_copies(seed), engine=e) for e in (engine, "cpu"))
        assert_same(fit, expected)
        assert_same_evidence(fit.pMax, expected.pMax)


def compare_states(engine: GpuEngine, test: GaussianTest, **pairs: Pairs | None) -> None:
    """Edges, their smallest |z| and the results of each level are those of the CPU engine, from before level 0 on."""
    engines = [take(e, test, **pairs) for e in (engine, CpuEngine())]
    for level in range(-1, 4):
        results = [e.run_level(level) for e in engines if level >= 0]
        mine, theirs = (e.state() for e in engines)
        for i in (0, 1):
            np.testing.assert_array_equal(mine[i], theirs[i])
            assert mine[i].dtype == np.int32
        np.testing.assert_allclose(mine.z, theirs.z, rtol=1e-6, atol=1e-12)
        for name in ("x", "y", "S", "n_tests", "n_removed", "more") if results else ():
            np.testing.assert_array_equal(*(getattr(result, name) for result in results), err_msg=name)
    engine.close()
