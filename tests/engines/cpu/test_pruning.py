"""Pruning: the answers are those of the tests that it does not make.

Every case runs with pruning wherever it is possible, at small degrees and from level 2 on, and again without it.
PYCUPC_PRUNING_CASES sets the number of random problems (100; 30,000 were run once per change of a bound).
"""

import itertools
import math
import pickle
from itertools import combinations

import numpy as np
import pytest
from common import assert_same, gaussian_test, refused, take
from exact_bounds import ABOVE, energy, equal, is_above, is_definite, nudged, problems, smallest, tight, walked
from pruning_problems import CASES, dense_problem, random_correlations, spoilt
from scipy.special import ndtr, ndtri

import pycupc
from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.cpu.pruning import bound, bounded_walk, bounded_walk_arrays, node, plan, pruned_sides
from pycupc.engines.cpu.pruning.delta import PROOF, find_delta
from pycupc.engines.cpu.pruning.largest_p_values import PrunedTests, SmallestZ
from pycupc.engines.cpu.submatrices import MatrixSource
from pycupc.engines.cpu.walk_arrays import DEGREE, Cutoff, Part, Place, Side, work_space
from pycupc.engines.protocol import EngineError
from pycupc.independence.gaussian import fisher_z

FLOORS = pytest.mark.parametrize("floor", [bound.ANY, 0.0], ids=["one size", "all sizes"])


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


@FLOORS
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


def root_of(M: np.ndarray, m: int, taken: bool = False) -> tuple[node.Nodes, node.NodeWork, int, int]:
    """The node of all sets of m candidates in slot 1, or of those with candidate 0; its work, slot and m."""
    q = len(M) - 2
    nodes, _, work = node.search_space(m + 1, q + 2)
    order = [*range(q), q + 1, q]
    R = M[np.ix_(order, order)]
    node.root(R, find_delta(R), q + 1, q, m, nodes)
    work.keep[:q] = np.arange(q)
    node.child(nodes, node.BASE, node.ROOT, work, q, 0 if taken else -1, taken)
    return nodes, work, node.ROOT, m - taken


def bound_at_smallest(M: np.ndarray, m: int, floor: float, rise: float = 0.0, *, taken: bool = False):
    """Excess and margin where the cutoff c is just above the smallest r, which T has: (excess, margin, c, T).

    inf for the excess where there is no such c >= 0.
    """
    first = 0 if floor == 0.0 else m - taken
    r = [(*smallest(M, n + taken, (0,) if taken else ()), n) for n in range(first, m - taken + 1)]
    c, T, n = min((v - rise * n + ABOVE, T, n) for v, T, n in r)
    if c < 0:
        return math.inf, 0.0, 0.0, ()
    nodes, work, slot, m = root_of(M, m, taken)
    over = bound.excess(nodes, slot, work, nodes.q[slot], m, c, rise, floor)
    return over, work.margin[0], c + rise * n, T


@FLOORS
def test_no_bound_exceeds_the_smallest_correlation_in_exact_arithmetic(floor):
    """The claims of docs/contracts/pruning.md, sections 2 and 7, on problems made against them, and on a search around
    each.
    """
    rng, near = np.random.default_rng(1), 0
    for k, (M, m) in enumerate(problems(2, 60)):
        rise, taken = float(rng.choice([0.0, 0.01, 0.04])) if floor == 0.0 else 0.0, m > 2 and k % 3 == 0
        least = math.inf
        for step in range(24):
            beside = nudged(rng, M, 0.1 * 0.8**step) if step else M
            over, margin, c, T = bound_at_smallest(beside, m, floor, rise, taken=taken)
            assert over >= -margin or is_above(beside, T, c), (beside.tolist(), m, c, T)
            if over < least:
                M, least = beside, over
        near += least < 1e-3
    assert near > 5


@FLOORS
@pytest.mark.parametrize("m", range(2, 7))
def test_the_bound_is_reached_where_every_inequality_is_an_equality(floor, m):
    """So that no term of it can be smaller: a cutoff above the smallest r by 1e-10, or below it by 1e-8."""
    for rho, of_a, of_b in ((0.5, 0.45, 0.2), (-0.4, 0.4, 0.05), (0.6, 0.3, 0.0)):
        M = tight(m, m, equal(m), of_a, of_b, rho)
        nodes, work, slot, _ = root_of(M, m)
        nodes.delta[slot, :m] = np.linalg.eigvalsh(M[:m, :m])[0] * (1 - 1e-9)
        r, T = smallest(M, m)
        for c, dismissed in ((r + ABOVE, False), (r - 1e-8, True)):
            assert is_above(M, T, c) == dismissed
            nodes.weight[slot, :m] = 1.0
            assert (bound.excess(nodes, slot, work, m, m, c, 0.0, floor) < -work.margin[0]) == dismissed


def test_the_terms_of_the_bound_in_exact_arithmetic():
    """h bounds the part of b, with its m - 1 largest products, and z'Ez with the scores the part of a."""
    sharp = 0
    for k, (M, m) in enumerate(problems(3, 60)):
        q, C, rng = len(M) - 2, M[:-2, :-2], np.random.default_rng(k)
        nodes, work, slot, _ = root_of(M, m)
        a, b = rng.uniform(-1, 1, (2, q)) if k % 2 else (M[:q, q] + M[:q, q + 1], M[:q, q] - M[:q, q + 1])
        work.a[:q], work.b[:q], w1, w2 = a, b, 0.2, 0.3
        bound._linear_part(nodes, slot, work, q, m, w2)
        h = work.h[:q].copy()
        work.h[:q] = 0.0
        if k % 3:
            bound._factorise(nodes, slot, work, q)
            bound._solve(work, q)
        else:
            work.z[:q] = rng.uniform(-1, 1, q)
        zEz, _ = bound._scores(nodes, slot, work, q, w1)
        for T in itertools.islice(combinations(range(q), m), 40):
            part = list(T)
            of_b = -w2 * float(energy(C, b, T))
            assert h[part].sum() >= of_b - 1e-13
            sharp += bool(h[part].sum() <= of_b + 1e-12 < 0.0)
            assert zEz + work.s[part].sum() >= w1 * float(energy(C, a, T)) - 1e-13
        all_of_them = sorted(h, reverse=True)
        for size in (1, m):
            assert bound.largest_sum(h, q, size, work.top, bound.ANY) == pytest.approx(sum(all_of_them[:size]))
    assert sharp > 3


def test_delta_is_valid_for_the_matrix_and_for_what_is_left_of_it():
    """R - diag(delta) is positive definite in exact arithmetic, also given a member, with variances of 1."""
    for M, _ in problems(4, 60):
        assert is_definite(M, find_delta(M))
        nodes, _, slot, _ = root_of(M, 2, taken=True)
        q = nodes.q[slot]
        assert is_definite(nodes.C[slot, :q, :q], nodes.delta[slot, :q] - PROOF)
        assert nodes.delta[slot, :q].min() > 0.0


def test_the_margin_covers_the_rounding_of_ill_conditioned_nodes():
    """At the least delta that is searched the margin is a hundred times as large as elsewhere."""
    worst = 0.0
    for m, rho in itertools.product((2, 3, 4, 5), (0.5, -0.4)):
        for r in (1.0 - 1.1e-5, 1.0 - 1e-4):  # a alternates: its energy is divided by 1 - r
            M = tight(m, m, r, 0.5 * math.sqrt(1.0 - r), 0.05, rho)
            over, margin, c, T = bound_at_smallest(M, m, bound.ANY)
            assert over >= -margin or is_above(M, T, c)
            worst = max(worst, margin)
    assert worst > 1e-7


def skipped(M: np.ndarray, level: int, c: float, prefix: tuple[int, ...], s: int) -> np.ndarray:
    """The targets that the walk skips after the prefix and s, bool (d,); x is last in M."""
    d = len(M) - 1
    w = work_space(bounded_walk_arrays.BoundedWork, u=level, d=d, level=level)
    lists = np.arange(d, dtype=np.int32), np.ones(d, dtype=np.bool_)
    side = Side(M, *lists, np.full(d, -1), np.zeros((0, 0), np.int64), Cutoff.around(c), level)
    row = Place(d, d, 0, 0, 0, 0)
    w.bound[:] = c * c
    bounded_walk._gather(side, row, w)
    for u, member in enumerate(prefix):
        w.open[u], w.live[u] = True, True
        bounded_walk._condition(w, u, member, d)
    u = len(prefix)
    w.live[u] = True
    bounded_walk._skip(w, u, row, s, d - 1, level - u - 1)
    out = np.zeros(d, dtype=np.bool_)
    for column in range(w.columns[u]):
        out[w.position[u, column]] = not w.open[u, s, column]
    out[s] = False
    return out


@pytest.mark.parametrize("level", [2, 3, 4, 5])
def test_no_target_is_skipped_that_a_set_separates_in_exact_arithmetic(level):
    """The claim of docs/contracts/pruning.md, section 3, also with several members to come, and given a prefix."""
    rng, skips, near = np.random.default_rng(level), 0, 0
    for M, prefix, s, y in walked(rng, level, 100):
        others = [v for v in range(s + 1, len(M) - 1) if v != y]
        sets = [(*prefix, s, *rest) for rest in combinations(others, level - len(prefix) - 1)]
        order = [*(v for v in range(len(M)) if v != y), y]  # x and y last
        place = {v: k for k, v in enumerate(order)}
        of_pair = M[np.ix_(order, order)]
        r, T = min((abs(given(M, len(M) - 1, y, S)), tuple(place[v] for v in S)) for S in sets)
        c = r + ABOVE
        assert not skipped(M, level, c, prefix, s)[y] or is_above(of_pair, T, c), (M.tolist(), prefix, s, y, c)
        skips += bool(skipped(M, level, 0.5 * c, prefix, s)[y])
        near += bool(skipped(M, level, c * (1 - 1e-2), prefix, s)[y])
    assert skips > 8
    assert near > 0 or level == 5


def test_checked_certificates_hold_and_a_wrong_one_is_reported(everywhere, monkeypatch):
    monkeypatch.setattr(tuning, "WORTH", -1e9)
    monkeypatch.setattr(tuning, "WORTH_LOADING", -1e9)
    monkeypatch.setattr("pycupc.engines.cpu.gaussian.INLINE_TESTS", 0)  # so that no level is made at once
    monkeypatch.setattr(plan, "walk_seconds", lambda degrees, targets, level: np.full(len(degrees), 1e6))
    C, n = dense_problem()
    fit = run(C, n, 0.05, "checked", m_max=4)
    assert sum(level.n_bounds for level in fit.levels) > 0

    decided = pruned_sides.PrunedSide.forget_left

    def forget(self):
        decided(self)
        self._findings.rank[:] = -1

    monkeypatch.setattr(pruned_sides.PrunedSide, "forget_left", forget)
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
        levels.append(PrunedTests.whole(level, fisher_z.cutoff(0.05, n, level), offsets, neighbours))
    assert len(levels) == 4
    assert np.diff(levels[-1].graph.offsets).min() == 2
    C.flags.writeable = False
    first = run(C, n, 0.05, False, m_max=1).pMax[x, y]
    z = -ndtri(first / 2)
    found = SmallestZ(MatrixSource(C), n, 2, levels, x, y, z)()
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
    """Work space is not cleared between items: no number in it may be read before it is written."""

    def one_by_one(self, graph, items):
        return [Part(self.C, graph.neighbours, item[None], np.zeros(1, np.int64), item[DEGREE]) for item in items]

    monkeypatch.setattr(MatrixSource, "parts", one_by_one)
    for kind in (pruned_sides.WalkedSide, pruned_sides.SearchedSide):

        def poisoned(self, part, space, state, walk=kind._walk):
            constant = getattr(space[-1], "sets_per_pair", None)
            for array in itertools.chain(*space):
                if array.dtype == np.float64 and array is not constant:
                    array.fill(np.nan)
            walk(self, part, space, state)

        monkeypatch.setattr(kind, "_walk", poisoned)
    rng = np.random.default_rng((1, 0, 1))
    for _ in range(12):
        C, n = random_correlations(rng)
        C, masks = spoilt(rng, C)
        alpha, m_max = float(rng.choice([0.001, 0.01, 0.05, 0.2, 0.5])), 4 if len(C) > 30 else 7
        pruned, plain = (run(C, n, alpha, pruning, m_max=m_max, **masks) for pruning in ("always", False))
        assert_same(pruned, plain)
        np.testing.assert_allclose(pruned.pMax, plain.pMax, rtol=1e-6, atol=1e-300)
