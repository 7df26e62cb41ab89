"""Levels with more conditioning sets in a row than 64 bits can number: answers that are known without counting.

tests/engines/cpu/test_pruning.py compares the same code with the plain engine on small problems ("wide").
"""

import random
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from common import take
from pruning_problems import dense_problem
from wide_problems import N, equicorrelated, planted

import pycupc
from pycupc.discrete import disCItest
from pycupc.engines import subsets
from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.combinations import rank_without, ranked, unrank
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.cpu.graph import FarSet
from pycupc.engines.cpu.pruning import pruned_sides
from pycupc.engines.protocol import EngineError, Pairs
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.test import GaussianTest


def started(C: np.ndarray, pruning: bool | str = True, tested: slice | None = None) -> CpuEngine:
    """An engine after level 0, which leaves the complete graph; all edges but those among `tested` are fixed."""
    fixed = np.zeros(C.shape, dtype=np.bool_)
    if tested is not None:
        fixed[:] = True
        fixed[tested, tested] = False
    engine = take(CpuEngine(1, pruning), GaussianTest(pycupc.SuffStat(C, N), 0.01), fixed=Pairs.of_matrix(fixed))
    assert engine.run_level(0).n_removed == 0
    return engine


@pytest.mark.parametrize(("p", "level"), [(72, 35), (90, 60), (90, 26), (200, 100)])
def test_a_complete_graph_stays_and_its_tests_are_counted(p, level):
    result = started(equicorrelated(p), tested=slice(5, 11)).run_level(level)
    tests = 30 * comb(p - 2, level)
    assert tests > 2**63
    assert (result.n_tests, result.n_removed, result.more) == (tests, 0, True)
    assert (result.n_made, result.n_bounds) == (0, 30)


def smallest_z(level: int) -> float:
    return float(fisher_z.z_score(np.array([0.5 / (1 + 0.5 * level)]), N, level)[0])


def test_the_smallest_z_of_so_many_tests_is_found():
    engine = started(equicorrelated(70), tested=slice(60, 70))
    for level in (34, 68):
        engine.run_level(level)
    z = engine.state().unfinished()
    assert (len(z), np.isinf(z).sum()) == (70 * 69 // 2, 70 * 69 // 2 - 45)
    np.testing.assert_allclose(z[np.isfinite(z)], smallest_z(68), rtol=1e-9)


def test_a_search_for_the_smallest_z_that_takes_too_long_gives_the_smallest_met(monkeypatch):
    monkeypatch.setattr(tuning, "PATIENCE_FOR_MINIMUM", 1e-3)  # of arithmetic
    engine = started(equicorrelated(70), tested=slice(0, 8))
    engine.run_level(34)  # where all tests are equal, so that no bound can dismiss any of them
    with pytest.warns(UserWarning, match="pMax of 28 edges is the largest p-value met, and may be larger"):
        z = engine.state().unfinished()
    z = z[np.isfinite(z)]
    assert len(z) == 28
    assert ((z >= smallest_z(34) * (1 - 1e-9)) & (z <= smallest_z(0))).all()


@pytest.mark.parametrize("where", ["second", "last", "somewhere"])
def test_the_first_separating_set_beyond_64_bits(where):
    p, x, y, level = 80, 3, 50, 24
    others = [v for v in range(p) if v not in (x, y)]
    position = {
        "second": list(range(1, level + 1)),
        "last": list(range(78 - level, 78)),
        "somewhere": sorted(random.Random(1).sample(range(78), level)),
    }[where]
    rank = {"second": comb(77, level - 1), "last": comb(78, level) - 1}.get(where)
    if rank is None:  # counted in another way than the engine does: sets that agree up to i, and have a smaller member
        start = [0, *(k + 1 for k in position)]
        rank = sum(comb(77 - k, level - i - 1) for i in range(level) for k in range(start[i], position[i]))
    assert rank > 2**63
    S = [others[k] for k in position]
    result = started(planted(p, x, y, S), tested=slice(0, 60)).run_level(level)
    assert (result.x.tolist(), result.y.tolist(), result.S.tolist()) == ([x], [y], [S])
    assert abs(result.r[0]) < 1e-12
    assert result.n_tests == (60 * 59 - 2) * comb(78, level) + rank + 1


def test_ranks_are_exact_and_follow_lexicographic_order():
    for n, size in [(5, 1), (7, 3), (6, 6), (40, 2)]:
        sets, table, members = list(combinations(range(n), size)), subsets.binomial_table(n, size), np.zeros(size, int)
        np.testing.assert_array_equal(ranked(table, n, np.array(sets)), np.arange(len(sets)))
        for rank, S in enumerate(sets):
            unrank(table, n, size, rank, members)
            assert tuple(members.tolist()) == tuple(subsets.exact_members(rank, n, size)) == S
            assert subsets.exact_rank(S, n) == rank
            for skipped in (0, 3, n):  # the same set among n + 1 positions of which one is not a candidate
                positions = np.array([m + (m >= skipped) for m in S])
                assert rank_without(table, n, size, positions, skipped) == rank
    rank = 12345678901234567890123
    assert subsets.exact_rank(subsets.exact_members(rank, 300, 40), 300) == rank


def test_sums_are_exact():
    counts = np.array([2**62 - 1, 2**62 - 1, 2**62 - 1, 5, 0])
    assert subsets.exact_sum(counts) == 3 * (2**62 - 1) + 5
    assert subsets.exact_sum(counts[:0]) == 0


def test_without_pruning_such_a_level_is_refused():
    words = (
        r"level 35 cannot be run: variable 0 has 71 neighbours and so about 10\^20 conditioning sets of size 35, too "
        r"many to try one by one, and pruning is switched off; take a smaller alpha, or set m_max to 34 or less"
    )
    with pytest.raises(EngineError, match=words):
        started(equicorrelated(72), pruning=False).run_level(35)


def test_a_row_that_is_too_large_for_bounds_is_refused():
    with pytest.raises(EngineError, match="variable 0 has 519 neighbours.* bounds are for rows of at most 512 neigh"):
        started(equicorrelated(520)).run_level(10)


def test_collinear_variables_are_refused_by_name():
    C = equicorrelated(72)
    C[4] = C[:, 4] = C[9]
    C[4, 9] = C[9, 4] = 1 - 1e-9
    C[4, 4] = 1.0
    words = "variable 0 has 71 neighbours.* bounds could not decide about its edge to variable 1"
    with pytest.raises(EngineError, match=words):
        started(C, tested=slice(0, 3)).run_level(35)


def test_a_search_that_takes_too_long_ends_the_level(monkeypatch):
    monkeypatch.setattr(tuning, "PATIENCE", 0.0)
    C = planted(72, 3, 50, list(range(10, 45)))
    with pytest.raises(
        EngineError, match=r"variable \d+ has 71 neighbours.* bounds could not decide about its edge to"
    ):
        started(C).run_level(35)


def test_tests_of_discrete_data_have_no_bounds(monkeypatch):
    monkeypatch.setattr(subsets, "TOO_MANY", 2)
    cause = np.random.default_rng(1).integers(0, 2, 2000)
    codes = np.column_stack([cause ^ (np.random.default_rng(k).random(2000) < 0.1) for k in range(2, 7)])
    with pytest.raises(
        EngineError, match=r"level 1 cannot be run: variable \d has \d neigh.*of discrete data have no bou"
    ):
        pycupc.skeleton({"dm": codes, "nlev": [2] * 5, "adaptDF": False}, disCItest, engine="cpu")


def test_checked_bounds_of_such_levels_hold_and_a_wrong_one_is_reported(monkeypatch):
    C = planted(80, 3, 8, list(range(10, 34)))
    assert started(C, "checked", tested=slice(0, 10)).run_level(24).n_removed == 1
    decided = pruned_sides.PrunedSide.forget_left

    def next_set(self):
        decided(self)
        for entry, (rank, positions) in self._findings.far.items():
            self._findings.far[entry] = FarSet(rank + 1, (*positions[:-1], positions[-1] + 1))

    monkeypatch.setattr(pruned_sides.PrunedSide, "forget_left", next_set)
    with pytest.raises(EngineError, match=r"wrong: it says .* for the first set that separates variables 3 and 8 "):
        started(C, "checked", tested=slice(0, 10)).run_level(24)


@pytest.fixture
def fit_beyond_64_bits() -> pycupc.PcAlgo:
    C, n = dense_problem()
    fit = pycupc.skeleton({"C": C, "n": n}, alpha=0.05, m_max=2)
    levels = tuple(replace(level, n_tests=level.n_tests + 10 ** (25 * level.level)) for level in fit.levels)
    return replace(fit, levels=levels, n_edgetests=[level.n_tests for level in levels])


def test_results_hold_counts_beyond_64_bits(fit_beyond_64_bits, tmp_path):
    fit = fit_beyond_64_bits
    fit.save(tmp_path / "fit.npz")
    back = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    assert back.n_edgetests == fit.n_edgetests
    assert back.levels == fit.levels
    assert fit.n_edgetests[2] > 10**50
    assert f"{sum(fit.n_edgetests):,} tests" in repr(back)
    lines = back.summary().splitlines()
    assert f"{fit.n_edgetests[2]:,}" in lines[7]
    assert len({len(line) for line in lines[4:8]}) == 1


def test_counts_that_were_doubles_in_r_compare_equal(fit_beyond_64_bits):
    fit = fit_beyond_64_bits
    from_r = replace(fit, n_edgetests=[int(float(v)) for v in fit.n_edgetests], levels=())
    assert from_r.n_edgetests != fit.n_edgetests
    assert pycupc.compare(fit, from_r).parts["numbers of tests"]
    other = pycupc.compare(fit, replace(from_r, n_edgetests=[*fit.n_edgetests[:2], 10**51]))
    assert not other.parts["numbers of tests"]
    assert str(10**51) in str(other)


def test_an_edge_says_how_many_tests_it_survived():
    C = equicorrelated(72)
    fit = pycupc.skeleton({"C": C, "n": N}, m_max=1)
    assert fit.why(0, 1).n_tests == 2 + 2 * 70
    assert replace(fit, max_ord=70).why(0, 1).n_tests == 2 * 2**70
