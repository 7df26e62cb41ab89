"""The search for separating sets without enumeration (kernels/pruning), compiled for the host, against enumeration."""

from __future__ import annotations

import ctypes
import itertools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pycupc.engines.gpu import pruning, screening, structures

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
WRAPPER = """
#include <cmath>
#include <vector>
using std::fabs; using std::sqrt;
#include "pruning/first.cuh"
extern "C" {
// Members of an open set, or of the first one, as positions; returns their number, 0: none is open, -1: not decided.
int search(const double* R, const double* delta, int d, int target, int level, double cutoff, double margin, int left,
           int first, int* members) {
    std::vector<double> W(MOST_TAKEN * (d + 1)), p(d), x(d), y(d), v(d);
    std::vector<unsigned short> list(d);
    std::vector<Node> stack(DEPTH);
    Held held = {};
    std::vector<unsigned> high((d + 1) * (d + 1)), low(high.size());
    for (size_t i = 0; i < high.size(); ++i) {
        u64 bits;
        std::memcpy(&bits, R + i, sizeof bits);
        high[i] = bits >> 32;
        low[i] = (unsigned)bits;
    }
    const RowBound row = {{high.data(), low.data()}, delta, d, cutoff, margin};
    const Bench bench = {p.data(), list.data(), &held, W.data(), x.data(), y.data(), v.data()};
    Hand h = {};
    for (int k = 0; k < d; ++k)
        if (k != target) h.node.kept.add(k);
    h.node.target = target;
    h.node.choose = level;
    Quest q = {};
    const int idle = 0;
    q.idle = &idle;
    q.end = NEVER;
    q.left = left;
    q.best = h.node;
    const Verdict verdict = find_any<384>(row, bench, h, stack.data(), q, 0);
    if (verdict != OPEN) return verdict == PROVEN ? 0 : -1;
    begin_quest(q, h.node.taken, q.left, &idle, 0);
    for (bool all = !first; !all; all = take_end(q)) {
        for (int k; (k = take_question(q, h.node)) >= 0;) {
            const Verdict verdict = find_any<384>(row, bench, h, stack.data(), q, k);
            answer(q, k, verdict, h.node.taken);
        }
        if (q.failed < q.end) return -1;
    }
    const Mask& found = first ? q.best.taken : q.witness;
    int n = 0;
    for (int k = 0; k < d; ++k)
        if (found.has(k)) members[n++] = k;
    return n;
}
i64 doubles(int width, int level) { return space_doubles(width, level); }
int node_size() { return sizeof(Node); }
int quest_size() { return sizeof(Quest); }
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("pruning")
    (folder / "wrapper.cpp").write_text(WRAPPER)
    flags = ["-std=c++17", "-O2", "-Wall", "-Werror", "-Wno-unused-function", "-shared", "-fPIC", f"-I{KERNELS}"]
    command = [compiler, *flags, "wrapper.cpp", "-o", "pruning.so"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    lib = ctypes.CDLL(str(folder / "pruning.so"))
    F64, I32 = np.ctypeslib.ndpointer(np.float64), np.ctypeslib.ndpointer(np.int32)
    f64, i32 = ctypes.c_double, ctypes.c_int
    lib.search.argtypes = [F64, F64, i32, i32, i32, f64, f64, i32, i32, I32]
    lib.doubles.restype = ctypes.c_longlong
    return lib


def row(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Correlations of a row, x last; delta, as find_delta computes it; the smallest delta and var(x | neighbours)."""
    d, n = int(rng.integers(4, 12)), int(rng.choice([30, 100, 1000]))
    X = rng.standard_normal((n, d + 1))
    W = (rng.random((d + 1, d + 1)) < 0.5) * rng.normal(0, 0.7, (d + 1, d + 1))
    for i in range(d + 1):
        X[:, i] += X[:, :i] @ W[i, :i]
    R = np.corrcoef(X, rowvar=False)
    R = np.ascontiguousarray((R + R.T) / 2)
    conditional = 1 / np.diag(np.linalg.inv(R[:d, :d]))
    root = np.sqrt(conditional)
    delta = 0.98 * np.linalg.eigvalsh(R[:d, :d] / np.outer(root, root))[0] * conditional
    return R, np.ascontiguousarray(delta), min(delta.min(), 1 / np.linalg.inv(R)[d, d])


def correlations(R: np.ndarray, x: int, y: int, sets: list[tuple[int, ...]]) -> np.ndarray:
    at = np.array([[x, y, *s] for s in sets])
    K = np.linalg.inv(R[at[:, :, None], at[:, None, :]])
    return np.abs(K[:, 0, 1]) / np.sqrt(K[:, 0, 0] * K[:, 1, 1])


@pytest.mark.parametrize("block", range(10))
def test_finds_what_enumeration_finds(host, block):
    """A proof is never wrong, and the first open set is the first set that enumeration finds at or below the cutoff.

    Within the margin above the cutoff a set may count as open.
    """
    rng = np.random.default_rng(block)
    outcomes = {"none": 0, "first": 0, "near": 0}
    for _ in range(60):
        R, delta, least = row(rng)
        if least < 1e-4:
            continue
        d, margin = len(delta), 1e-9 / least**1.5
        target, level = int(rng.integers(d)), int(rng.integers(2, min(d - 1, 7) + 1))
        sets = list(itertools.combinations([k for k in range(d) if k != target], level))
        r = correlations(R, d, target, sets)
        power = 10.0 ** -rng.integers(3, 13)
        limit = float(rng.choice([np.quantile(r, rng.random()), r.min() * (1 - power), r.min() * (1 + power), 0.1]))
        open_at = np.flatnonzero(r <= limit)
        for first in (False, True):
            members = np.zeros(d, np.int32)
            n = host.search(R, delta, d, target, level, limit, margin, 10**6, first, members)
            assert n >= 0
            if n == 0:
                assert not len(open_at)
                outcomes["none"] += 1
                continue
            at = sets.index(tuple(members[:n].tolist()))
            assert r[at] - limit < 2 * margin / least
            if first and len(open_at):
                assert at <= open_at[0]
                outcomes["first" if at == open_at[0] else "near"] += 1
    assert outcomes["none"] > 4
    assert outcomes["first"] > 10 * outcomes["near"]


def test_stops_at_its_limit(host):
    rng = np.random.default_rng(3)
    R, delta, least = row(rng)
    members = np.zeros(len(delta), np.int32)
    assert host.search(R, delta, len(delta), 0, 3, 0.1, 1e-9 / least**1.5, 0, False, members) == -1


def test_sizes_are_the_same_on_both_sides(host):
    for width, level in itertools.product((1, 32, 256), (2, 27, 39, 40, 41, 60)):
        assert host.doubles(width, level) == pruning.space_doubles(width, level)
    text = "".join(
        (KERNELS / "pruning" / name).read_text() for name in ("work.cuh", "exchange.cuh", "search.cuh", "node.cuh")
    )
    stack, depth, words, parts = (
        int(re.search(rf"\b{name} = (\d+)", text)[1]) for name in ("STACK", "DEPTH", "WORDS", "PARTS")
    )
    assert 24 + 8 * parts == pruning.EXCHANGE_ZEROS
    assert pruning.EXCHANGE_ZEROS + parts * (host.node_size() + 16) == pruning.EXCHANGE_BYTES
    assert stack * host.node_size() == 8 * pruning.STACK_DOUBLES
    assert depth * host.node_size() == 8 * pruning.DEPTH_DOUBLES
    assert host.quest_size() == 8 * pruning.FIRST_DOUBLES
    screened = re.search(r"\bMOST_SCREENED = (\d+)", (KERNELS / "pruning" / "screen.cu").read_text())[1]
    assert int(screened) == screening.MOST_WALKED
    assert len(pruning.CLASSES) <= len(structures.Counters().turns)
    for high, slots, block in pruning.CLASSES:
        assert high <= min(32 * slots, 32 * words)
        assert block <= 512
