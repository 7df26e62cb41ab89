"""Pruning: the answers are those of the tests that it does not make.

Every case runs with pruning wherever it is possible, at small degrees and from level 2 on, and again without it.
PYCUPC_PRUNING_CASES sets the number of random problems (100; 30,000 were run once per change of a bound).
"""

import itertools
import os
import pickle
from itertools import combinations

import numpy as np
import pytest
from conftest import assert_same, gaussian_test, refused, take
from scipy.special import ndtr, ndtri

import pycupc
from pycupc.engines import subsets
from pycupc.engines.base import EngineError
from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.engine import CpuEngine
from pycupc.engines.cpu.extracts import MatrixSource
from pycupc.engines.cpu.pruning import bound, node, plan, smallest, tasks
from pycupc.independence.gaussian import fisher_z

CASES = int(os.environ.get("PYCUPC_PRUNING_CASES", "100"))


@pytest.fixture(params=["walk", "search", "wide"])
def everywhere(request, monkeypatch):
    """All levels from 2 on pruned one way, whatever the degrees; or by pairs, with ranks beyond 64 bits from 64 on."""
    if request.param == "wide":
        monkeypatch.setattr(subsets, "WIDE", 64)
    monkeypatch.setattr(tuning, "WALKED_DEGREE", 0)
    monkeypatch.setattr(tuning, "MANY_NEIGHBOURS", 0)
    monkeypatch.setattr(node, "SETS_PER_PAIR", 0.05)
    monkeypatch.setattr(
        tasks, "pair_seconds", lambda degrees, level: np.full(len(degrees), 1e-3)
    )  # time for deep trees
    monkeypatch.setattr(tuning, "WALKED_LEVEL", 4 if request.param == "walk" else 0)
    return request.param


def random_correlations(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Correlations of one of many kinds, p 5 to 150, and a number of observations, 10 to 20,000."""
    kind = rng.choice(["model", "model", "factor", "toeplitz", "lattice", "near copies", "copies"])
    p, n = int(rng.choice([5, 8, 12, 15, 18, 22, 26, 30])), int(10 ** rng.uniform(1, 4.3))
    if kind in ("model", "factor") and rng.random() < 0.1:
        p = int(rng.integers(40, 151))
    if kind == "toeplitz":
        C = rng.uniform(-0.9, 0.95) ** abs(np.subtract.outer(np.arange(p), np.arange(p)))
    elif kind == "lattice":  # many exact ties: values on a coarse grid
        side = np.arange(p)
        C = np.select([side[:, None] == side, abs(side[:, None] - side) <= 2], [1.0, 0.25], 0.125)
    else:
        X = rng.standard_normal((max(n, 12) if kind == "model" else p + 40, p))
        weights = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < rng.uniform(0.1, 0.9)), -1)
        for j in range(p):
            X[:, j] += X[:, :j] @ weights[j, :j] / max(1.0, np.sqrt(j) * 0.5)
        if kind == "factor":
            X += rng.uniform(0.2, 2) * rng.standard_normal((len(X), 1))
        elif kind in ("near copies", "copies"):
            a, b = rng.choice(p, 2, replace=False)
            X[:, a] = X[:, b] + (10 ** rng.uniform(-9, -1) * X[:, a] if kind == "near copies" else 0)
        C = pycupc.independence.gaussian.correlation.correlation(X)
    np.fill_diagonal(C, 1.0)
    return C, n


def spoilt(rng: np.random.Generator, C: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A copy with pairs that are NaN or were edited, which may make it indefinite, and masks of gaps and fixed edges.

    A row keeps both members of a NaN pair beyond level 1 only if its edges with them are fixed.
    """
    C, p = C.copy(), len(C)
    masks = {name: rng.random((p, p)) < share for name, share in (("fixedGaps", 0.05), ("fixedEdges", 0.1))}
    for _ in range(int(rng.integers(1, 4))):
        a, b, x = rng.choice(p, 3, replace=False)
        C[a, b] = C[b, a] = rng.choice([np.nan, np.nan, rng.uniform(-1, 1)])
        masks["fixedGaps"][[a, x, b, x], [x, a, x, b]] = False
        masks["fixedEdges"][[a, b], [x, x]] = True
    return C, {name: (mask | mask.T) & ~np.eye(p, dtype=bool) for name, mask in masks.items()}


def run(C, n, alpha, pruning, **kwargs):
    return pycupc.skeleton({"C": C, "n": n}, alpha=alpha, engine="cpu", engine_options={"pruning": pruning}, **kwargs)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
def test_random_problems(part, missing, everywhere):
    """Also with NaN and edited correlations, gaps and fixed edges: bounds are for rows proven positive definite."""
    rng = np.random.default_rng((part, ("search", "walk", "wide").index(everywhere), int(missing)))
    pruned_levels = 0
    for _ in range(-(-CASES // (30 if missing else 12))):
        C, n = random_correlations(rng)
        C, masks = spoilt(rng, C) if missing else (C, {})
        alpha = float(rng.choice([0.001, 0.01, 0.05, 0.2, 0.5]))
        m_max = (5 if len(C) > 30 else 6 if len(C) > 26 else 9) - missing
        pruned, plain = (run(C, n, alpha, pruning, m_max=m_max, **masks) for pruning in ("always", False))
        assert_same(pruned, plain)
        assert pruned.n_edgetests == plain.n_edgetests
        np.testing.assert_array_equal(pruned.removals.r, plain.removals.r)
        np.testing.assert_allclose(pruned.pMax, plain.pMax, rtol=1e-6, atol=1e-300)
        pruned_levels += sum(level.n_bounds > 0 for level in pruned.levels)
    assert missing or pruned_levels > 0


def test_no_bounds_in_a_row_with_a_missing_correlation():
    """The correlation of 0 and 1 is NaN, so they are independent given 2 alone; both edges with 2 are fixed."""
    p = 60
    C = np.full((p, p), 0.5)
    np.fill_diagonal(C, 1.0)
    C[0, 1] = C[1, 0] = np.nan
    fixed = np.zeros((p, p), dtype=bool)
    fixed[2, :2] = fixed[:2, 2] = True
    with pytest.warns(UserWarning, match="NaN"):
        fits = [run(C, 10**6, 0.01, pruning, m_max=2, fixedEdges=fixed) for pruning in ("always", False)]
    assert_same(*fits)
    assert int(fits[0].skeleton.sum()) // 2 == 1598


def given(C: np.ndarray, i: int, j: int, T: tuple[int, ...]) -> float:
    K = np.linalg.inv(C[np.ix_([i, j, *T], [i, j, *T])])
    return float(-K[0, 1] / np.sqrt(K[0, 0] * K[1, 1]))


def brute_force_smallest(C: np.ndarray, level: int) -> float:
    """The smallest |partial correlation| over all pairs and conditioning sets of a size."""
    others = {pair: [v for v in range(len(C)) if v not in pair] for pair in combinations(range(len(C)), 2)}
    return min(abs(given(C, *pair, S)) for pair, rest in others.items() for S in combinations(rest, level))


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_cutoffs_beside_the_smallest_correlation(seed, level, everywhere):
    """A cutoff a hair below the smallest |r| removes nothing, one a hair above removes something."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 9)) + rng.uniform(0.5, 1.5) * rng.standard_normal((60, 1))
    C = np.corrcoef(X, rowvar=False)
    least = brute_force_smallest(C, level)
    for distance in (1e-12, 1e-10, 1e-8, 1e-6):
        for sign in (-1, 1):
            results = []
            for pruning in ("always", False):
                cutoff = least * (1 + sign * distance)
                test = gaussian_test(C, 100, lambda of, cutoff=cutoff: cutoff if of == level else 0.0)
                engine = take(CpuEngine(1, pruning), test)
                results.append([engine.run_level(k) for k in range(level + 1)][-1])
            pruned, plain = results
            assert pruned.n_bounds > 0
            assert (pruned.n_removed, pruned.n_tests, pruned.more) == (plain.n_removed, plain.n_tests, plain.more)
            for field in ("x", "y", "S", "r"):
                np.testing.assert_array_equal(getattr(pruned, field), getattr(plain, field))


@pytest.mark.parametrize("floor", [bound.ANY, 0.0], ids=["one size", "all sizes"])
def test_a_certified_family_holds_no_separating_set(floor):
    """The bound of a single node: |r| > c given all sets of m, or |r| > c + rise n given all sets of n <= m members."""
    rng, certified = np.random.default_rng(0), 0
    for _ in range(40):
        q = int(rng.integers(4, 8))
        m = int(rng.integers(1, q + 1))
        X = rng.standard_normal((40, q + 2)) + rng.uniform(0.0, 2.0) * rng.standard_normal((40, 1))
        C = np.corrcoef(X, rowvar=False)
        rho, x, y, R = C[q, q + 1], C[:q, q], C[:q, q + 1], C[:q, :q]
        sizes = range(m, m + 1) if floor == bound.ANY else range(m + 1)
        least = {n: min(np.sign(rho) * given(C, q, q + 1, T) for T in combinations(range(q), n)) for n in sizes}
        nodes, _, work = node.search_space(m + 1, q + 2)
        delta = np.full(q, np.linalg.eigvalsh(R)[0] * (1 - 1e-9))
        for c, rise in itertools.product(np.linspace(0.001, 0.6, 30), (0.0,) if len(sizes) == 1 else (0.0, 0.01, 0.05)):
            nodes.C[0, :q, :q], nodes.x[0, :q], nodes.y[0, :q], nodes.delta[0, :q] = R, x, y, delta
            nodes.weight[0, :q], nodes.taken[0], nodes.rho[0] = m / q, 0, rho
            if bound.excess(nodes, 0, work, q, m, c, rise, floor) < -work.margin[0]:
                certified += 1
                assert all(r > c + rise * n for n, r in least.items())
    assert certified > 100


def dense_problem() -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 40))
    weights = np.tril(rng.uniform(-1, 1, (40, 40)) * (rng.random((40, 40)) < 0.5), -1)
    for j in range(40):
        X[:, j] += X[:, :j] @ weights[j, :j] / max(1.0, np.sqrt(j) * 0.5)
    return np.corrcoef(X, rowvar=False), 500


def test_checked_certificates_hold_and_a_wrong_one_is_reported(everywhere, monkeypatch):
    monkeypatch.setattr(tuning, "WORTH", -1e9)
    monkeypatch.setattr(tuning, "WORTH_LOADING", -1e9)
    monkeypatch.setattr("pycupc.engines.cpu.gaussian.INLINE_TESTS", 0)  # so that no level is made at once
    monkeypatch.setattr(plan, "walk_seconds", lambda degrees, targets, level: np.full(len(degrees), 1e6))
    C, n = dense_problem()
    fit = run(C, n, 0.05, "checked", m_max=4)
    assert sum(level.n_bounds for level in fit.levels) > 0

    decided = tasks.PrunedSide.forget_left

    def forget(self):
        decided(self)
        self._findings.rank[:] = -1

    monkeypatch.setattr(tasks.PrunedSide, "forget_left", forget)
    refused(r"a bound is wrong: it says None for the first set", run, C, n, 0.05, "checked", m_max=4, error=EngineError)


def test_p_values_where_any_test_may_have_been_spared(everywhere):
    """As an engine asks that does not record which tests it spared; some rows have too few neighbours for a level."""
    C, n = dense_problem()
    C = np.block([[C, np.zeros((len(C), 3))], [np.zeros((3, len(C))), np.where(np.eye(3), 1.0, 0.3)]])
    plain = run(C, n, 0.05, False, m_max=5)
    x, y = plain.sparse_graph.low, plain.sparse_graph.high
    levels = []
    for level in range(2, len(plain.n_edgetests)):
        graph = run(C, n, 0.05, False, m_max=level - 1).skeleton
        offsets = np.append(0, np.cumsum(graph.sum(axis=1)))
        neighbours = np.nonzero(graph)[1].astype(np.int32)
        levels.append(smallest.PrunedTests.whole(level, fisher_z.cutoff(0.05, n, level), offsets, neighbours))
    assert len(levels) == 4
    assert np.diff(levels[-1].graph.offsets).min() == 2
    C.flags.writeable = False
    first = run(C, n, 0.05, False, m_max=1).pMax[x, y]
    z = -ndtri(first / 2)
    found = smallest.SmallestZ(MatrixSource(C), n, 2, levels, x, y, z)()
    np.testing.assert_allclose(2 * ndtr(-found), plain.pMax[x, y], rtol=1e-6)


def test_levels_say_what_was_done_and_p_values_are_found_when_somebody_asks(everywhere):
    C, n = dense_problem()
    pruned, plain = run(C, n, 0.05, "always", m_max=4), run(C, n, 0.05, False, m_max=4)
    assert [level.n_tests for level in pruned.levels] == [level.n_tests for level in plain.levels]
    at = pruned.levels[3]
    assert 0 < at.n_made < at.n_tests
    assert at.n_bounds > 0
    assert plain.levels[3].n_made in (-1, plain.levels[3].n_tests)
    assert "edges" not in vars(pruned.p_values)  # not yet
    for fit in (pickle.loads(pickle.dumps(pruned)), pruned):
        np.testing.assert_allclose(fit.pMax, plain.pMax, rtol=1e-6)
    assert not pickle.loads(pickle.dumps(MatrixSource(C))).C.flags.writeable  # the type that is compiled already


def test_a_row_with_more_sets_than_numbers_can_hold_is_weighed():
    seconds = plan.walk_seconds(np.array([3, 5000]), np.array([2, 10]), 1500)
    assert seconds[0] == 0.0
    assert seconds[1] > 1e200


@pytest.mark.parametrize("pruning", [1, "yes", None])
def test_pruning_is_one_of_four(pruning):
    refused("pruning must be True, False, 'always' or 'checked', got", run, np.eye(3), 20, 0.05, pruning)


@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
def test_no_answer_depends_on_memory_as_it_was(monkeypatch, everywhere):
    """Work space is not cleared between tasks: no number in it may be read before it is written."""
    space_of_thread = tasks.PrunedSide._space

    def poisoned(self, widest):
        space = space_of_thread(self, widest)
        arrays = space if isinstance(space[0], np.ndarray) else [array for part in space for array in part]
        constant = getattr(space[-1], "sets_per_pair", None)
        for array in arrays:
            if isinstance(array, np.ndarray) and array.dtype == np.float64 and array is not constant:
                array.fill(np.nan)
        return space

    monkeypatch.setattr(tasks.PrunedSide, "_space", poisoned)
    rng = np.random.default_rng((1, 0, 1))
    for _ in range(12):
        C, n = random_correlations(rng)
        C, masks = spoilt(rng, C)
        alpha, m_max = float(rng.choice([0.001, 0.01, 0.05, 0.2, 0.5])), 4 if len(C) > 30 else 7
        pruned, plain = (run(C, n, alpha, pruning, m_max=m_max, **masks) for pruning in ("always", False))
        assert_same(pruned, plain)
        np.testing.assert_allclose(pruned.pMax, plain.pMax, rtol=1e-6, atol=1e-300)
