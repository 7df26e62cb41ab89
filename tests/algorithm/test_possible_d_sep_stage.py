"""The stage of `fci` after the skeleton: its counts, budget, progress, interrupts, and tests row by row."""

import pickle
import warnings

import numpy as np
import pytest
from fci_cases import fitted, random_problem

import pycupc
from pycupc.orientation.pag.possible_d_sep import possible_d_sep


def test_what_is_right_without_quirks():
    rng, differing = np.random.default_rng(5), set()
    for _ in range(30):
        case = random_problem(rng, p_max=12)
        case["arguments"] = {}
        right, pcalgs = fitted(case, quirks=False), fitted(case)
        assert right.sepset == pcalgs.sepset
        assert right.n_edgetests_pdsep == list(right.later.n_tests)
        assert right.max_ord_pdsep == len(right.later.n_tests) - 1
        assert sum(right.n_edgetests_pdsep) >= sum(pcalgs.n_edgetests_pdsep)
        np.testing.assert_array_equal(right.pMax, right.pMax.T)
        np.testing.assert_array_equal(right.pMax, np.maximum(pcalgs.pMax, pcalgs.pMax.T))
        pds = possible_d_sep(right.skeleton_fit.sparse_graph, right.skeleton_fit.sepset)
        assert [v.tolist() for v in right.all_pdsep] == [v.tolist() for v in pds]
        differing |= {"counts"} if right.n_edgetests_pdsep != pcalgs.n_edgetests_pdsep else set()
        differing |= {"pMax"} if (right.pMax != pcalgs.pMax).any() else set()
    assert differing == {"counts", "pMax"}


def test_a_budget_is_no_secret():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((40, 30)) @ (np.eye(30) + 0.4 * rng.standard_normal((30, 30)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stat = pycupc.SuffStat.from_data(X)
    with pytest.warns(UserWarning, match="later.open_pairs"):
        fit = pycupc.fci(stat, alpha=0.3, m_max=2, budget=1e-9)
    assert len(fit.later.open_pairs) > 0
    assert str(len(fit.later.open_pairs)) in fit.notes["not_searched_to_the_end"]


def test_the_stage_reports_the_pairs_decided():
    calls = []
    rng = np.random.default_rng(8)
    X = rng.standard_normal((200, 24)) @ (np.eye(24) + np.triu(rng.random((24, 24)) < 0.12, 1))
    fit = pycupc.fci(pycupc.SuffStat.from_data(X[:, ::2]), alpha=0.2, progress=lambda *now: calls.append(now))
    stage = [call[1:] for call in calls if call[0] == -1]
    assert sum(fit.later.n_tests) > 0
    assert stage
    assert all(0 <= done <= pairs and edges == len(fit.skeleton_fit.sparse_graph) for done, pairs, edges in stage)
    assert any(done == pairs for done, pairs, _ in stage)


def test_an_interrupt_keeps_the_skeleton(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pycupc.engines.cpu.CpuEngine.first_separating", interrupted)
    rng = np.random.default_rng(5)
    cases = [random_problem(rng) | {"arguments": {}} for _ in range(20)]
    with pytest.raises(pycupc.Interrupted, match="during the tests after the skeleton; levels 0 to") as caught:
        _ = [fitted(case, engine="cpu") for case in cases]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.partial) == (str(caught.value), caught.value.partial)
    assert len(copy.partial.sparse_graph)


def fisher_z(x, y, S, stat) -> float:
    """Fisher's z as a user's test, which is asked in order, one set after the other."""
    return pycupc.gaussCItest(x, y, S, stat)


@pytest.mark.parametrize("quirks", [True, False])
@pytest.mark.parametrize("function", [pycupc.fci, pycupc.rfci])
def test_rows_one_by_one_as_together(function, quirks):
    rng, later = np.random.default_rng(4), 0
    for k in range(12):
        case = random_problem(rng, p_max=13)
        stat = {"C": np.array(case["C"]), "n": case["n"]}
        options = {"alpha": 0.2, "quirks": quirks} | ({"biCC": k % 3 == 0} if function is pycupc.fci else {})
        one = function(stat, fisher_z, p=len(stat["C"]), **options)
        fits = [function(stat, engine=engine, **options) for engine in ("cpu", "reference")]
        for two in fits:
            assert (one.sparse_graph, one.sepset.cells()) == (two.sparse_graph, two.sepset.cells())
            assert list(one.later.n_tests) == list(two.later.n_tests)
            assert one.trace == two.trace
            np.testing.assert_allclose(one.pMax, two.pMax, rtol=1e-6, atol=1e-12)
        later += len(one.later.n_tests) > 1
    assert later > 3
