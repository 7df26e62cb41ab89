"""Properties that hold for any data: engines agree, order and threads do not matter, separating sets separate.

The data are small and awkward: n from 5 on; duplicated, constant and collinear columns.
"""

import numpy as np
import pytest
from common import assert_same
from effects_cases import random_dag
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markov_classes import d_separated, true_cpdag

import pycupc

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of constant and identical columns
COMMON = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


def draw_data(seed: int, p: int, n: int, *, awkward: bool) -> np.ndarray:
    """Observations (n, p) of a random linear model; with `awkward`, two columns are made copies, constants or sums."""
    rng = np.random.default_rng(seed)
    B = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < 0.4), -1)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ B[j, :j]
    if awkward:
        kind = rng.integers(0, 4, size=2)
        for k in kind:
            a, b, c = rng.choice(p, 3, replace=False)
            if k == 0:
                X[:, a] = X[:, b]
            elif k == 1:
                X[:, a] = 3.0
            elif k == 2:
                X[:, a] = X[:, b] + X[:, c]
    return X


sizes = {"seed": st.integers(0, 2**32 - 1), "p": st.integers(3, 11), "n": st.integers(5, 200)}
sizes |= {"alpha": st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5])}


@pytest.mark.parametrize("awkward", [False, True])
@COMMON
@given(**sizes)
def test_cpu_equals_reference(awkward, seed, p, n, alpha):
    suff_stat = pycupc.SuffStat.from_data(draw_data(seed, p, n, awkward=awkward))
    cpu, reference = (pycupc.skeleton(suff_stat, alpha=alpha, engine=engine) for engine in ("cpu", "reference"))
    assert_same(cpu, reference)
    if not awkward:
        np.testing.assert_allclose(cpu.pMax, reference.pMax, rtol=1e-6, atol=1e-300)


@COMMON
@given(**sizes, threads=st.integers(2, 5))
def test_threads_do_not_matter(seed, p, n, alpha, threads):
    suff_stat = pycupc.SuffStat.from_data(draw_data(seed, 3 * p, n + 20, awkward=True))
    one = pycupc.skeleton(suff_stat, alpha=alpha, engine="cpu", numCores=1)
    many = pycupc.skeleton(suff_stat, alpha=alpha, engine="cpu", numCores=threads)
    assert_same(one, many)
    np.testing.assert_array_equal(one.pMax, many.pMax)


@COMMON
@given(**sizes)
def test_both_sides_at_once_are_one_after_the_other(seed, p, n, alpha):
    """A small level, whose sides are tested together, has the answer and the doubtful tests of items of each side."""
    suff_stat = pycupc.SuffStat.from_data(draw_data(seed, 3 * p, n + 20, awkward=True))
    at_once = pycupc.skeleton(suff_stat, alpha=alpha, engine="cpu", numCores=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pycupc.engines.cpu.gaussian.INLINE_TESTS", 0)
        in_items = pycupc.skeleton(suff_stat, alpha=alpha, engine="cpu", numCores=1)
    assert_same(at_once, in_items)
    np.testing.assert_array_equal(at_once.pMax, in_items.pMax)
    assert [level.n_careful for level in at_once.levels] == [level.n_careful for level in in_items.levels]


def test_items_do_not_matter(monkeypatch):
    """Rows that are divided into many items, on threads, give the answer of whole rows."""
    from pycupc.engines.cpu import gaussian, threads

    suff_stat = pycupc.SuffStat.from_data(draw_data(5, 60, 150, awkward=False))
    whole = pycupc.skeleton(suff_stat, alpha=0.3, engine="cpu", numCores=1)
    monkeypatch.setattr(gaussian, "TASK_TESTS", 40)
    monkeypatch.setattr(gaussian, "GATHER_SHARE", 0)
    monkeypatch.setattr(gaussian, "INLINE_TESTS", 0)
    monkeypatch.setattr(threads, "INLINE_TESTS", 0)
    divided = pycupc.skeleton(suff_stat, alpha=0.3, engine="cpu", numCores=4)
    assert whole.max_ord >= 4
    assert_same(whole, divided)
    np.testing.assert_array_equal(whole.pMax, divided.pMax)


@COMMON
@given(**sizes)
def test_relabelling_permutes_the_skeleton(seed, p, n, alpha):
    X = draw_data(seed, p, n, awkward=False)
    order = np.random.default_rng(seed).permutation(p)
    plain, moved = (
        pycupc.skeleton(pycupc.SuffStat.from_data(data), alpha=alpha, engine="cpu") for data in (X, X[:, order])
    )
    np.testing.assert_array_equal(moved.skeleton, plain.skeleton[np.ix_(order, order)])


@pytest.mark.parametrize("seed", range(20))
def test_d_separation_oracle_recovers_the_true_cpdag(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(2, 6)), rng.uniform(0.2, 0.9))
    fit = pycupc.pc(dag, lambda x, y, S, dag: float(d_separated(dag, x, y, S)), alpha=0.5, p=len(dag))
    np.testing.assert_array_equal(fit.graph, true_cpdag(dag))
