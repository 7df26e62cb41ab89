"""Pruning on the GPU: everything is as without it, and every pair that it dismisses has no separating set.

pytest -m gpu tests/gpu/test_gpu_pruning.py
"""

import dataclasses
import itertools
import math
import os
import time

import numpy as np
import pytest
from common import assert_same, gaussian_test, take
from near_copies import assert_same_evidence, near_copies

from pycupc import skeleton
from pycupc.engines.gpu import GpuEngine, device_largest_p_values
from pycupc.engines.gpu.pruning import device_bounded_walk, device_branch_and_bound, outcome
from pycupc.engines.protocol import EngineError
from pycupc.independence.gaussian.fisher_z import cutoff

pytestmark = pytest.mark.gpu

#: Blocks of 25 random problems; 200 of them, 5,000 problems, are run once per change of a kernel.
BLOCKS = int(os.environ.get("PYCUPC_PRUNING_BLOCKS", "12"))
KINDS = ("plain", "copy", "sum", "toeplitz", "lattice", "few rows")


def problem(seed: int) -> tuple[np.ndarray, int, float]:
    """Correlations, number of observations and alpha; p from 5 to 150, by turns of an awkward kind."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    p, n = int(rng.integers(5, 151 if seed % 7 == 0 else 60)), int(rng.choice([10, 20, 60, 400, 2000, 20000]))
    X = rng.standard_normal((n, p))
    W = (rng.random((p, p)) < min(0.5, 6 / p)) * rng.normal(0, 0.6, (p, p))
    for i in range(p):
        X[:, i] += X[:, :i] @ W[i, :i]
    if kind == "copy":
        X[:, 1] = X[:, 0]
    if kind == "sum":
        X[:, 2] = X[:, 0] + X[:, 1] + 10.0 ** -rng.integers(2, 8) * X[:, 2]
    if kind == "few rows":
        X = X[: max(4, p // 2)]
    C = np.corrcoef(X, rowvar=False)
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    if kind == "toeplitz":
        C = rng.uniform(0.3, 0.95) ** distance.astype(float)
    if kind == "lattice":
        C = np.eye(p) + 0.45 * (distance == 1)
    C = np.ascontiguousarray((C + C.T) / 2)
    np.fill_diagonal(C, 1.0)
    return C, n, float(rng.choice([0.001, 0.01, 0.05, 0.2, 0.5]))


@pytest.fixture(params=["search", "walk"])
def forced(request, monkeypatch):
    """One way of pruning at all of its levels, and the pairs it dismissed: (level, cutoff, x, y, candidates)."""
    none = {"least_tests": 0.0, "tests_per_pair": 0.0, "least_sets": 0.0, "sets_per_node": 1e-3, "few_nodes": 4}
    of_search = {"first_level": 2, **none} if request.param == "search" else {"first_level": 99}
    monkeypatch.setattr(
        device_branch_and_bound, "TUNING", dataclasses.replace(device_branch_and_bound.TUNING, **of_search)
    )
    monkeypatch.setattr(device_bounded_walk, "LEVELS", device_bounded_walk.LEVELS if request.param == "walk" else ())
    monkeypatch.setattr(
        device_bounded_walk, "TUNING", dataclasses.replace(device_bounded_walk.TUNING, least_tests=0.0, most_left=2.0)
    )
    certified: list[tuple[int, float, int, int, np.ndarray]] = []
    enter_ranks = outcome.enter_ranks

    def noting(dev, graph, level, found, pairs):
        def fetch(address, dtype, count):
            out = np.empty(count, dtype)
            dev.stream.synchronize()
            dev.cp.cuda.runtime.memcpy(out.ctypes.data, address, out.nbytes, 2)
            return out

        decided, rank = fetch(found.decided, np.uint8, pairs), fetch(found.rank, np.uint64, pairs)
        start, column = fetch(graph.start, np.int64, graph.p + 1), fetch(graph.column, np.int32, pairs)
        for e in np.flatnonzero((decided == 1) & (rank == 2**64 - 1)):
            x = int(np.searchsorted(start, e, "right")) - 1
            row = column[start[x] : start[x + 1]]
            certified.append((level.level, level.cutoff, x, int(column[e]), row[row != column[e]]))
        enter_ranks(dev, graph, level, found, pairs)

    monkeypatch.setattr(outcome, "enter_ranks", noting)
    return certified


def levels(engine: GpuEngine, C: np.ndarray, n: int, cutoffs, at_most: int = 9):
    """The results of all levels, and the edges at the end."""
    take(engine, gaussian_test(C, float(n), cutoffs), m_max=at_most)
    out = []
    for level in range(at_most + 1):
        out.append(engine.run_level(level))
        if not out[-1].more:
            break
    edges = engine.state()[:3]
    engine.close()
    return out, edges


def same(a, b) -> None:
    """Removals, separating sets, their correlations, counts and edges are equal, bit for bit."""
    assert len(a[0]) == len(b[0])
    for one, other in zip(a[0], b[0], strict=True):
        for field in ("x", "y", "S", "r"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=f"{one.level} {field}")
        for field in ("level", "n_tests", "n_removed", "more"):
            assert getattr(one, field) == getattr(other, field), (one.level, field)
    np.testing.assert_array_equal(a[1][:2], b[1][:2])


def smallest_r(C: np.ndarray, x: int, y: int, sets: np.ndarray) -> float:
    """The smallest |r| of x and y given any of `sets`."""
    at = np.concatenate([np.tile([x, y], (len(sets), 1)), sets], axis=1)
    K = np.linalg.inv(C[at[:, :, None], at[:, None, :]])
    return float(np.min(np.abs(K[:, 0, 1]) / np.sqrt(K[:, 0, 0] * K[:, 1, 1])))


def sample(rng, candidates: np.ndarray, level: int, most: int = 400) -> np.ndarray:
    """All subsets of that size where there are at most `most`, else some."""
    if math.comb(len(candidates), level) <= most:
        return np.array(list(itertools.combinations(candidates, level)))
    return np.array([rng.choice(candidates, level, replace=False) for _ in range(most)])


@pytest.mark.parametrize("block", range(BLOCKS))
def test_same_answer_and_true_certificates(forced, block):
    rng = np.random.default_rng(block)
    on, off = GpuEngine(), GpuEngine(pruning=False)
    proven = 0
    for seed in range(25 * block, 25 * (block + 1)):
        forced.clear()
        C, n, alpha = problem(seed)
        cutoffs = [cutoff(alpha, n, level) for level in range(10)]
        same(levels(on, C, n, cutoffs.__getitem__), levels(off, C, n, cutoffs.__getitem__))
        proven += len(forced)
        for i in rng.permutation(len(forced))[:30]:
            level, limit, x, y, candidates = forced[i]
            assert smallest_r(C, x, y, sample(rng, candidates, level)) > limit, (seed, level, x, y)
    assert proven > 100


@pytest.mark.parametrize("seed", range(40))
def test_cutoffs_next_to_a_correlation(forced, seed):
    """The cutoff of a level lies within 1e-12 to 1e-6 of the smallest |r| of an edge."""
    rng = np.random.default_rng(seed)
    C, n, _ = problem(6 * seed)
    C = C[:24, :24].copy()
    on, off = GpuEngine(), GpuEngine(pruning=False)
    level = 2 + seed % 3
    cutoffs = [cutoff(0.2, n, k) for k in range(10)]
    take(off, gaussian_test(C, float(n), cutoffs.__getitem__), m_max=level - 1)
    for k in range(level):
        off.run_level(k)
    x, y, *_ = off.state()
    near = np.zeros(C.shape, dtype=bool)
    near[x, y] = near[y, x] = True
    for e in rng.permutation(len(x))[:3]:
        candidates = np.flatnonzero(near[x[e]] & (np.arange(len(C)) != y[e]))
        if len(candidates) < level:
            continue
        least = smallest_r(C, x[e], y[e], sample(rng, candidates, level, 20000))
        for power in (-12, -9, -7, -6):
            for sign in (-1, 1):
                at = [*cutoffs[:level], least + sign * 10.0**power, *cutoffs[level + 1 :]]
                same(levels(on, C, n, at.__getitem__, level), levels(off, C, n, at.__getitem__, level))


def test_what_the_result_says(forced):
    C, n, alpha = problem(0)
    engine = GpuEngine()
    take(engine, gaussian_test(C, float(n), lambda level: cutoff(alpha, n, level)))
    results = []
    while not results or results[-1].more:
        results.append(engine.run_level(len(results)))
    for result in results[1:]:
        assert result.n_made >= 0
        assert (result.n_bounds > 0) >= (result.n_made < result.n_tests)
    assert any(result.n_made < result.n_tests for result in results[1:])
    pending = engine.state().unfinished._pending()
    assert [level.level for level in pending] == [r.level for r in results[1:] if r.n_bounds and r.n_made < r.n_tests]
    for level in pending:
        assert level.offsets[0] == 0
        assert level.offsets[-1] == len(level.neighbours)
        assert len(level.offsets) == len(C) + 1
    engine.close()


@pytest.mark.parametrize("way", ["tests", "search, then tests", "search, then cpu"])
@pytest.mark.parametrize("seed", range(0, 60, 7))
def test_p_values(forced, way, seed, monkeypatch):
    if way != "tests":
        monkeypatch.setattr(device_largest_p_values, "FEW_TESTS", -1.0)
    if way == "search, then cpu":
        monkeypatch.setattr(device_largest_p_values, "MANY_TESTS", -1.0)
    C, n, alpha = problem(seed)
    stat = {"C": C, "n": n}
    on, off = (
        skeleton(stat, alpha=alpha, engine="gpu", engine_options={"pruning": pruned}) for pruned in (True, False)
    )
    assert on.n_edgetests == off.n_edgetests
    np.testing.assert_allclose(on.pMax, off.pMax, rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize("seed", range(1, 40, 2))
def test_p_values_of_near_copies(forced, seed, monkeypatch):
    monkeypatch.setattr(device_largest_p_values, "FEW_TESTS", -1.0)
    fits = [skeleton(**near_copies(seed), engine=engine) for engine in ("gpu", "cpu")]
    assert_same(*fits)
    assert_same_evidence(fits[0].pMax, fits[1].pMax)


def test_no_bounds_in_a_row_with_a_missing_correlation(forced):
    """0 and 1, whose correlation is NaN, both have a fixed edge with 2."""
    C, fixed = 0.5 + 0.5 * np.eye(60), np.zeros((60, 60), dtype=bool)
    C[0, 1] = C[1, 0] = np.nan
    fixed[2, :2] = fixed[:2, 2] = True
    with pytest.warns(UserWarning, match="NaN"):
        fits = [
            skeleton({"C": C, "n": 10**6}, alpha=0.01, m_max=3, fixedEdges=fixed, engine=engine, engine_options=options)
            for engine, options in (("gpu", {}), ("cpu", {"pruning": False}))  # 9e7 tests: the reference takes minutes
        ]
    assert_same(*fits)


def test_p_values_are_found_on_the_cpu_if_the_device_cannot(forced, monkeypatch):
    def fails(*_):
        raise EngineError("out of device memory")

    C, n, alpha = problem(0)
    fit = skeleton({"C": C, "n": n}, alpha=alpha, engine="gpu")
    monkeypatch.setattr(device_largest_p_values, "borrowed_device", fails)
    with pytest.warns(UserWarning, match="the largest p-values are searched for on the CPU: out of device memory"):
        p_values = fit.pMax
    expected = skeleton({"C": C, "n": n}, alpha=alpha, engine="cpu").pMax
    np.testing.assert_allclose(p_values, expected, rtol=1e-6, atol=1e-300)


def test_pruning_is_one_of_three():
    with pytest.raises(ValueError, match="pruning must be True, False or 'checked', got 2"):
        GpuEngine(pruning=2)


@pytest.mark.usefixtures("forced")
def test_checked_pruning_holds():
    """That a wrong one is reported is tested on the host."""
    engine = GpuEngine(pruning="checked")
    for seed in range(12):
        C, n, alpha = problem(seed)
        cutoffs = [cutoff(alpha, n, level) for level in range(10)]
        same(levels(engine, C, n, cutoffs.__getitem__, 6), levels(GpuEngine(), C, n, cutoffs.__getitem__, 6))


def test_a_complete_graph_whose_tests_cannot_be_counted():
    p = 72
    C, fixed = 0.5 + 0.5 * np.eye(p), np.ones((p, p), dtype=bool)
    fixed[5:11, 5:11] = False
    with pytest.raises(EngineError, match=r"level \d+ may need more than 2\^62 tests .* use engine='cpu'"):
        skeleton({"C": C, "n": 10**9}, alpha=0.01, engine="gpu", fixedEdges=fixed, m_max=40)


@pytest.mark.parametrize("forced", ["search"], indirect=True)
def test_blocks_that_share_small_searches_do_not_wait_for_each_other(forced):
    """A launch that takes microseconds took seconds where warps kept the holder of a lock from its data."""
    problems = []
    for seed, p, n, density, alpha in ((1, 30, 500, 6 / 30, 0.05), (2, 40, 60, 6 / 40, 0.2), (3, 90, 400, 6 / 90, 0.3)):
        rng = np.random.default_rng(seed)
        B = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < density), -1)
        X = rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - B).T
        problems.append(({"C": np.corrcoef(X, rowvar=False), "n": n}, alpha))
    began = time.monotonic()
    for _ in range(100):  # 1 s
        for stat, alpha in problems:
            skeleton(stat, alpha=alpha, engine="gpu")
    assert time.monotonic() - began < 60
