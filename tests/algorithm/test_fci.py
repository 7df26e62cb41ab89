"""`pycupc.fci` and `pycupc.rfci` against recorded answers of pcalg, and against a running pcalg."""

import os
import pickle

import numpy as np
import pytest
from fci_cases import answers, fitted, random_problem, recorded, rfci_problem

import pycupc

MORE = int(os.environ.get("PYCUPC_LATENT_CASES", "1"))
RECORDED = {function: recorded(function) for function in ("fci", "rfci")}


def check(case, want, function="fci") -> None:
    """With quirks everything is pcalg's."""
    fit, p = fitted(case, function), len(case["labels"])
    about = str({name: value for name, value in case.items() if name not in ("C", "dm")})
    np.testing.assert_array_equal(fit.sparse_graph.amat_pag(), np.reshape(want["amat"], (p, p)), err_msg=about)
    cells = {(v[0], v[1]): tuple(v[2:]) for v in want.get("sepset", [])}
    assert fit.sepset.cells() == cells, about
    assert [list(map(int, fit.n_edgetests)), fit.max_ord] == [want["n_edgetests"][0], want["max_ord"][0][0]], about
    pMax = np.reshape(want["pMax"], (p, p))
    np.testing.assert_allclose(fit.pMax, pMax, rtol=1e-8, atol=1e-12, err_msg=about)
    counts = [fit.n_edgetests_pdsep, fit.max_ord_pdsep]
    assert counts == [want["n_edgetests_pdsep"][0], want["max_ord_pdsep"][0][0]], about
    sets = {v[0]: v[1:] for v in want.get("all_pdsep", [])}
    assert {x: list(v) for x, v in enumerate(fit.all_pdsep or []) if len(v) or x in sets} == sets, about


@pytest.mark.parametrize(
    ("function", "number"), [(name, k) for name, found in RECORDED.items() for k in range(len(found))]
)
def test_recorded(function, number):
    check(*RECORDED[function][number], function)


@pytest.mark.r
@pytest.mark.parametrize(("function", "problem"), [("fci", random_problem), ("rfci", rfci_problem)])
def test_live(rscript, function, problem):
    rng = np.random.default_rng(11)
    cases = [problem(rng, discrete=k % 6 == 5, p_max=9 if k % 6 == 5 else 12) for k in range(40 * MORE)]
    n = 0
    for case, want in zip(cases, answers(rscript, cases, function), strict=True):
        if "error" not in want:
            check(case, want, function)
            n += 1
    assert n > 30 * MORE


def test_recorded_answers_of_rfci_meet_its_own_tests():
    """Some recorded problems lose edges after the skeleton, and some have ambiguous triples."""
    fits = [fitted(case, "rfci") for case, _ in RECORDED["rfci"]]
    assert sum(len(fit.later) > 0 for fit in fits) >= 2
    assert sum(fit.notes.get("ambiguous_triples", 0) > 0 for fit in fits) >= 5


def test_the_largest_p_values_of_the_stage_are_computed_when_somebody_asks(tmp_path):
    """Bounds have answered most of its tests; the values are those of the tests made one by one."""
    rng = np.random.default_rng(1)
    B = np.triu(rng.random((16, 16)) < 0.25, 1) * rng.uniform(0.4, 1.0, (16, 16))
    X = (rng.standard_normal((400, 16)) @ np.linalg.inv(np.eye(16) - B))[:, :13]
    fits = {mode: pycupc.fci(X, alpha=0.1, engine_options={"pruning": mode}) for mode in (False, "always")}
    plain, pruned = fits.values()
    assert isinstance(plain.later.raised, tuple)
    assert not isinstance(pruned.later.raised, tuple)
    assert pruned.p_values.deferred
    assert pruned == plain
    made = pruned.later.raised.met()
    copies = [pycupc.fci(X, alpha=0.1, engine_options={"pruning": "always"}) for _ in range(2)]
    copies[0].p_values.settle_for_tests_made()
    np.testing.assert_array_equal(copies[0].later.raised[2], made[2])
    pruned.save(tmp_path / "pag.npz")
    for fit in (pruned, pickle.loads(pickle.dumps(copies[1])), pycupc.PagAlgo.load(tmp_path / "pag.npz")):
        np.testing.assert_allclose(fit.later.raised[2], plain.later.raised[2], rtol=1e-6)
        np.testing.assert_allclose(fit.pMax, plain.pMax, rtol=1e-6)
    assert (made[2] < 0.999 * plain.later.raised[2]).any()
