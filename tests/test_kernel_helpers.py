"""The device helpers, compiled for the host: the same source must give the same bits as its Python twin."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pycupc.gaussian.partial_correlation import partial_correlation, work_space

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
WRAPPER = """
#include <cmath>
using std::fabs; using std::sqrt;
#include "canonical_small.cuh"
#include "pseudo_inverse.cuh"
extern "C" {
double r(const double* C, long long p, int x, int y, const int* S, int l, double* A, double* V, int step) {
    return partial_correlation(C, p, x, y, S, l, A, V, step);
}
double small_r(const double* C, long long p, int x, int y, const int* S, int l, int step) {
    return small_correlation(l, C, p, x, y, S, step);
}
unsigned long long choose(int n, int k) { return binomial(n, k); }
u64 rank_of(const u64* t, int stride, int n, int k, const int* s) { return subset_rank(t, stride, n, k, s); }
void unrank(const u64* t, int stride, int n, int k, u64 rank, int* s) { subset_unrank(t, stride, n, k, rank, s); }
int next(int n, int k, int* s) { return subset_next(n, k, s); }
int pinv(const double* A, int n, double* Y, double* work) { return pseudo_inverse(A, n, Y, work); }
}
"""
SMALL = int(re.search(r"SMALL = (\d+)", (KERNELS / "canonical_small.cuh").read_text())[1])
F64, I32 = np.ctypeslib.ndpointer(np.float64), np.ctypeslib.ndpointer(np.int32)
U64 = np.ctypeslib.ndpointer(np.uint64)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("helpers")
    (folder / "wrapper.cpp").write_text(WRAPPER)
    command = [
        compiler,
        "-std=c++17",
        "-O2",
        "-ffp-contract=off",
        "-Wall",
        "-Werror",
        "-Wno-unused-function",
        "-shared",
        "-fPIC",
        f"-I{KERNELS}",
        "wrapper.cpp",
        "-o",
        "helpers.so",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    lib = ctypes.CDLL(str(folder / "helpers.so"))
    lib.r.restype = lib.small_r.restype = ctypes.c_double
    lib.r.argtypes = [F64, ctypes.c_longlong, ctypes.c_int, ctypes.c_int, I32, ctypes.c_int, F64, F64, ctypes.c_int]
    lib.small_r.argtypes = [F64, ctypes.c_longlong, ctypes.c_int, ctypes.c_int, I32, ctypes.c_int, ctypes.c_int]
    lib.choose.restype = lib.rank_of.restype = ctypes.c_ulonglong
    lib.rank_of.argtypes = [U64, ctypes.c_int, ctypes.c_int, ctypes.c_int, I32]
    lib.unrank.argtypes = [U64, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ulonglong, I32]
    lib.next.argtypes = [ctypes.c_int, ctypes.c_int, I32]
    lib.pinv.argtypes = [F64, ctypes.c_int, F64, F64]
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
    if kind == "nan":
        C[3, :] = C[:, 3] = np.nan
    return np.ascontiguousarray(C)


@pytest.mark.parametrize("kind", ["plain", "duplicate", "sum", "nearly", "few rows", "skewed", "nan"])
def test_canonical_has_the_bits_of_its_python_twin(host, kind):
    rng = np.random.default_rng(7)
    p = 12
    for _ in range(20):
        C = correlations(kind, rng, p)
        for level in range(8):
            x, y, *S = rng.permutation(p)[: level + 2].tolist()
            S = np.array(sorted(S), dtype=np.int32)
            A, V = work_space(level)
            twin = partial_correlation(C, x, y, S, level, A, V)
            for step in (1, 5):  # entries side by side, or every fifth word
                spread = np.zeros(max(1, level * step), np.int32)
                spread[: level * step : step] = S
                mine = [host.r(C, p, x, y, spread, level, np.empty(A.size * step), np.empty(V.size * step), step)]
                if 2 <= level <= SMALL:
                    mine.append(host.small_r(C, p, x, y, spread, level, step))
                for r in mine:
                    assert np.float64(r).tobytes() == np.float64(twin).tobytes(), (kind, level, x, y, S, step)


def test_binomials_are_exact_and_saturate(host):
    top = 1 << 62
    for n, k in itertools.product([0, 1, 2, 5, 30, 61, 64, 67, 100, 3000, 20000], range(41)):
        assert host.choose(n, k) == min(math.comb(n, k), top), (n, k)


def table(stride: int, columns: int) -> np.ndarray:
    return np.array([[min(math.comb(n, k), 1 << 62) for n in range(stride)] for k in range(columns)], dtype=np.uint64)


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


@pytest.mark.parametrize("rank", [2, 4, 6])
def test_pseudo_inverse_by_full_rank_cholesky(host, rank):
    n = 6
    B = np.random.default_rng(rank).standard_normal((n, rank))
    A, Y = np.ascontiguousarray(B @ B.T), np.empty((n, n))
    assert host.pinv(A, n, Y, np.empty(3 * n * n)) == rank
    np.testing.assert_allclose(Y, np.linalg.pinv(A), rtol=1e-6, atol=1e-8)
