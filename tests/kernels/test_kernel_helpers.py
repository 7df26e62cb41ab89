"""The device helpers and structures, compiled for the host.

The canonical formula must give the same bits as its Python twin, the structures must have the layout of their mirrors.
"""

import ctypes
import itertools
import math
import re

import numpy as np
import pytest
from gpu_on_host import KERNELS, HostDevice, library_of

from pycupc.engines.gpu import schur
from pycupc.engines.gpu.levels import canonical_doubles
from pycupc.engines.gpu.structures import STRUCTURES
from pycupc.independence.gaussian.partial_correlation import canonical_r

WRAPPER = """
#include <cmath>
using std::fabs; using std::sqrt;
using std::fma;
#include <cstddef>
#include <initializer_list>
#include "canonical/partial_correlation_small.cuh"
#include "common/structures.cuh"
#include "cupc/factor.cuh"
extern "C" {
double r(const double* C, i64 p, int x, int y, const int* S, int l, double* A, int step) {
    return partial_correlation(C, p, x, y, S, l, A, step);
}
double small_r(const double* C, i64 p, int x, int y, const int* S, int l, double* A, int step) {
    return small_correlation(C, p, x, y, S, l, A, step);
}
i64 work_doubles(int level) { return canonical_doubles(level); }
int pitch(int q) { return w_pitch(q); }
u64 rank_of(const u64* t, int stride, int n, int k, const int* s) { return rank_from({t, stride}, n, k, s, k); }
void unrank(const u64* t, int stride, int n, int k, u64 rank, int* s) { subset_unrank({t, stride}, n, k, rank, s); }
int next(int n, int k, int* s) { return subset_next(n, k, s); }
void factor(const double* C, i64 p, const int* s, int l, double* R, double* inverse, double* pivots) {
    double P[packed(6, 0)], inv[6];
    const Factor f = {P, inv};
    for (int i = 0; i < l; ++i) {
        pivots[i] = factor_row(f, C + s[i] * p, s, i, [&](int j, double v) { R[i * l + j] = v; });
        R[i * l + i] = 1.0 / f.inv[i];
    }
    invert(f, l);
    for (int i = 0; i < l; ++i)
        for (int j = 0; j < l; ++j) inverse[i * l + j] = entry(f, i, j);
}
LAYOUTS
}
"""
SMALL = int(re.search(r"SMALL = (\d+)", (KERNELS / "canonical" / "partial_correlation_small.cuh").read_text())[1])
F64, I32 = np.ctypeslib.ndpointer(np.float64), np.ctypeslib.ndpointer(np.int32)
U64 = np.ctypeslib.ndpointer(np.uint64)


def layout_function(structure) -> str:
    """C function that fills an array with the structure's size, then offset and size of each field."""
    name = structure.__name__
    fields = [f"offsetof({name}, {f}), sizeof((({name}*)0)->{f})" for f, _ in structure._fields_]
    values = ", ".join([f"sizeof({name})", *fields])
    return f"void layout_{name}(u64* out) {{ for (u64 v : {{{values}}}) *out++ = v; }}"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    source = WRAPPER.replace("LAYOUTS", "\n".join(map(layout_function, STRUCTURES)))
    lib = library_of(source, tmp_path_factory.mktemp("helpers"), "-Wall", "-Werror", "-Wno-unused-function")
    lib.r.restype = lib.small_r.restype = ctypes.c_double
    ends = [*[ctypes.c_int] * 2, I32, ctypes.c_int, F64, ctypes.c_int]
    lib.r.argtypes = lib.small_r.argtypes = [F64, ctypes.c_longlong, *ends]
    lib.factor.argtypes = [F64, ctypes.c_longlong, I32, ctypes.c_int, F64, F64, F64]
    lib.rank_of.restype = ctypes.c_ulonglong
    lib.rank_of.argtypes = [U64, *[ctypes.c_int] * 3, I32]
    lib.unrank.argtypes = [U64, *[ctypes.c_int] * 3, ctypes.c_ulonglong, I32]
    lib.next.argtypes = [ctypes.c_int, ctypes.c_int, I32]
    return lib


def correlations(kind: str, rng: np.random.Generator, p: int) -> np.ndarray:
    X = rng.standard_normal((4 * p, p))
    if kind == "duplicate":
        X[:, 1] = X[:, 0]
    elif kind == "sum":
        X[:, 2] = X[:, 0] + X[:, 1]
    elif kind == "nearly":
        X[:, 1] = X[:, 0] + 1e-6 * X[:, 1]
    elif kind == "few rows":
        X = X[: p // 2]
    C = np.corrcoef(X, rowvar=False)
    if kind == "skewed":  # a matrix need not be symmetric to the last bit
        X[:, 1] = X[:, 0]
        C = np.corrcoef(X, rowvar=False) + 1e-15 * rng.standard_normal((p, p))
    if kind == "indefinite":  # on a grid, so that entries of exactly 0 are common in the inverses
        C = np.tril(rng.integers(-3, 5, (p, p)) / 4, -1)
        C += C.T
        np.fill_diagonal(C, 1.0)
    if kind == "nan":
        C[3, :] = C[:, 3] = np.nan
    return np.ascontiguousarray(C)


@pytest.mark.parametrize("kind", ["plain", "duplicate", "sum", "nearly", "few rows", "skewed", "indefinite", "nan"])
def test_canonical_has_the_bits_of_its_python_twin(host, kind):
    rng = np.random.default_rng(7)
    p = 12
    for _ in range(20):
        C = correlations(kind, rng, p)
        for level in range(8):
            x, y, *S = rng.permutation(p)[: level + 2].tolist()
            S = np.array(sorted(S), dtype=np.int32)
            twin = canonical_r(C, x, y, S)
            for step in (1, 5):  # entries side by side, or every fifth word
                spread = np.zeros(max(1, level * step), np.int32)
                spread[: level * step : step] = S
                room = np.empty(canonical_doubles(level) * step)
                mine = [host.r(C, p, x, y, spread, level, room, step)]
                if 2 <= level <= SMALL:
                    mine.append(host.small_r(C, p, x, y, spread, level, room, step))
                for r in mine:
                    assert np.float64(r).tobytes() == np.float64(twin).tobytes(), (kind, level, x, y, S, step)


def table(stride: int, columns: int) -> np.ndarray:
    """The table that a device gets, of at least 24 columns."""
    dev = HostDevice({})
    dev.binomials(stride - 1, columns)
    return np.array(dev._binom)


def test_binomials_are_exact_and_saturate():
    found, top = table(3001, 41), 1 << 62
    for n, k in itertools.product([0, 1, 2, 5, 30, 61, 64, 67, 100, 3000], range(41)):
        assert found[k, n] == min(math.comb(n, k), top), (n, k)


def test_subsets_in_lexicographic_order(host):
    stride = 12
    t = table(stride, 6)
    for n, k in itertools.product(range(1, 11), range(1, 6)):
        if k > n:
            continue
        walk = np.arange(k, dtype=np.int32)
        for rank, subset in enumerate(itertools.combinations(range(n), k)):
            s = np.empty(k, np.int32)
            host.unrank(t, stride, n, k, rank, s)
            assert tuple(s) == subset == tuple(walk)
            assert host.rank_of(t, stride, n, k, s) == rank
            changed = host.next(n, k, walk)
        assert changed == -1


def test_ranks_beyond_32_bits(host):
    n, k = 60, 20  # C(60, 20) = 4.2e15
    t = table(n + 1, k + 1)
    for rank in (0, 2**31, 2**40 + 12345, math.comb(n, k) - 1):
        s = np.empty(k, np.int32)
        host.unrank(t, n + 1, n, k, rank, s)
        assert host.rank_of(t, n + 1, n, k, s) == rank


@pytest.mark.parametrize("size", range(1, 7))
def test_factor_and_inverse_of_a_set(host, size):
    rng = np.random.default_rng(size)
    C = correlations("plain", rng, 12)
    s = np.sort(rng.permutation(12)[:size]).astype(np.int32)
    M2 = np.ascontiguousarray(C[np.ix_(s, s)])
    R, inverse, pivots = np.zeros((size, size)), np.empty_like(M2), np.empty(size)
    host.factor(C, 12, s, size, R, inverse, pivots)
    np.testing.assert_allclose(R @ R.T, M2, rtol=0, atol=1e-14)
    np.testing.assert_allclose(pivots, np.diag(R) ** 2, rtol=1e-14)
    np.testing.assert_allclose(inverse, np.linalg.inv(M2), rtol=1e-12, atol=1e-13)


def declared() -> dict[str, list[str]]:
    """Structures and their fields, in order, as the headers declare them."""
    text = "".join((KERNELS / "common" / name).read_text() for name in ("subsets.cuh", "structures.cuh"))
    out = {}
    for name, body in re.findall(r"^struct (\w+) {\n(.*?)^};", re.sub(r"//.*", "", text), re.MULTILINE | re.DOTALL):
        declarations = [line.strip() for line in body.split(";") if "(" not in line and line.strip(" \n}")]
        fields = [re.sub(r"^(const |volatile |unsigned )*\w+[ *]+", "", d).split(",") for d in declarations]
        out[name] = [re.sub(r"\[.*|\W", "", field) for line in fields for field in line]
    return out


def test_every_structure_has_its_mirror():
    assert declared() == {s.__name__: [name for name, _ in s._fields_] for s in STRUCTURES}


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.__name__)
def test_mirrors_have_the_layout_of_the_structures(host, structure):
    layout = np.zeros(1 + 2 * len(structure._fields_), dtype=np.uint64)
    getattr(host, f"layout_{structure.__name__}")(ctypes.c_void_p(layout.ctypes.data))
    fields = [getattr(structure, name) for name, _ in structure._fields_]
    assert layout.tolist() == [ctypes.sizeof(structure), *(v for f in fields for v in (f.offset, f.size))]


def test_sizes_of_work_space_are_the_same_on_both_sides(host):
    host.work_doubles.restype = ctypes.c_longlong
    assert [host.work_doubles(l) for l in range(70)] == [canonical_doubles(l) for l in range(70)]
    assert [host.pitch(q) for q in range(70)] == [schur.w_pitch(q) for q in range(70)]
    tiles = (KERNELS / "schur" / "tiles.cu").read_text()
    assert f"TILE = {schur.TILE}, SLICE = {schur.SLICE};" in tiles
    assert f"PADDING = {schur.PADDING};" in (KERNELS / "schur" / "targets.cuh").read_text()
