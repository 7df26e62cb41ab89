"""Conservative and majority rule: the walk over the sets, schedules, rules that differ, and what is refused."""

import numpy as np
import pytest
from common import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from orientation_cases import Cells, check_dense, noise_test, one_triple, random_case

from pycupc.engines.cpu import threads
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest

seeds = st.integers(0, 2**32 - 1)


# Conservative and majority rule


def awkward_data(rng, p, n):
    """Correlations of a sample with a duplicate, a sum of two others and, sometimes, an undefined column."""
    x = rng.standard_normal((n, p)) + 0.6 * rng.standard_normal((n, 1))
    kind = rng.integers(0, 4)
    if kind >= 1:
        x[:, 0] = x[:, 1]
    if kind >= 2:
        x[:, 2] = x[:, 3] + x[:, 4]
    C = np.corrcoef(x.T)
    C = (C + C.T) / 2
    if kind == 3:
        C[5, :] = C[:, 5] = np.nan
    np.fill_diagonal(C, 1.0)
    return C


@given(seeds, st.booleans(), st.sampled_from([0.0, 0.01, 0.2, 1.0]))
@settings(max_examples=12, deadline=None)
def test_walk_equals_one_test_at_a_time(seed, maj_rule, alpha):
    rng = np.random.default_rng(seed)
    p, n = 9, int(rng.integers(5, 100))
    C = awkward_data(rng, p, n)
    skeleton, cells, _ = random_case(rng, p_max=p + 1)
    got = check_dense(skeleton, Cells(cells), C, n, alpha, maj_rule=maj_rule)
    want = check_dense(
        skeleton, Cells(cells), None, None, alpha, maj_rule=maj_rule, indep_test=gaussCItest, suff_stat={"C": C, "n": n}
    )
    assert got.decisions == want.decisions
    assert got.sepset_changes == want.sepset_changes
    assert got.ambiguous == want.ambiguous


def test_walk_does_not_depend_on_tasks_or_threads(monkeypatch):
    rng = np.random.default_rng(0)
    C = awkward_data(rng, 14, 60)
    skeleton = np.triu(rng.random((14, 14)) < 0.7, 1)
    skeleton |= skeleton.T
    want = check_dense(skeleton, Cells({}), C, 60, 0.2, maj_rule=True, n_threads=1)
    assert len(want.decisions) > 30
    monkeypatch.setattr(threads, "INLINE_TESTS", 1)
    got = check_dense(skeleton, Cells({}), C, 60, 0.2, maj_rule=True, n_threads=3)
    assert got.decisions == want.decisions
    assert got.sepset_changes == want.sepset_changes


def test_rules_differ_where_sets_disagree():
    """Node 1 is in 4 of the 6 sets that separate 0 and 2 here (those of adj(0) and of adj(2))."""
    skeleton = np.zeros((4, 4), dtype=bool)
    for a, b in ((0, 1), (1, 2), (0, 3), (3, 2)):
        skeleton[a, b] = skeleton[b, a] = True

    def test(x, y, S, stat):
        return float({x, y} == {0, 2} and S != ())

    kinds = [
        check_dense(skeleton, Cells({}), None, None, 0.5, maj_rule=maj, indep_test=test).decisions[0, 1, 2]
        for maj in (False, True)
    ]
    assert kinds == ["ambiguous", "non-collider"]


# Refusals


def test_endless_checks_are_refused_by_name():
    skeleton = ~np.eye(40, dtype=bool)
    skeleton[3, 7] = skeleton[7, 3] = False
    with pytest.raises(ValueError, match=r"triple \(3, 0, 7\) alone needs .*node 3 has 38 neighbours"):
        check_dense(skeleton, Cells({}), np.eye(40), 100, 0.05, maj_rule=True)
    small = ~np.eye(27, dtype=bool)
    small[3, 7] = small[7, 3] = False
    with pytest.raises(ValueError, match=r"triple \(3, 0, 7\)"):
        check_dense(small, Cells({}), None, None, 0.05, maj_rule=True, indep_test=noise_test, suff_stat=1)


def test_nan_from_a_test_is_refused():
    refused(r"indep_test must return a p-value, got NaN for x=0, y=2, S=\(\)", one_triple, {}, float("nan"), 0.0)
