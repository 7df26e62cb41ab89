"""`pycupc.fci` and `pycupc.rfci` against pcalg, recorded and live; engines, arguments, a given skeleton."""

import os
import pickle

import numpy as np
import pytest
from common import refused
from fci_cases import answers, fitted, random_problem, recorded, rfci_problem

import pycupc
from pycupc.orientation.pag.possible_d_sep import biconnected

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


def test_components_by_position():
    rng, n = np.random.default_rng(6), 0
    for _ in range(40):
        case = random_problem(rng)
        case["arguments"] = {"biCC": True}
        named, numbered = dict(case), dict(case)
        named["labels"] = [f"v{k}" for k in range(len(case["labels"]))]
        numbered["labels"] = [str(k + 1) for k in range(len(case["labels"]))]
        one, two = fitted(named, quirks=False), fitted(numbered, quirks=False)
        assert (one.sparse_graph, one.sepset) == (two.sparse_graph, two.sepset)
        parts = [set(part.tolist()) for part in biconnected(one.skeleton_fit.sparse_graph)]
        for x, y, S in zip(one.later.x, one.later.y, map(one.later.S.of_one, range(len(one.later.x))), strict=True):
            assert any({x, y, *S} <= part for part in parts)
        n += sum(one.later.n_tests) > sum(fitted(named).later.n_tests)
    assert n > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "anytime"}, "type='anytime' needs a finite m_max"),
        ({"type": "adaptive", "m_max": 2}, "type='adaptive' finds m_max itself"),
        ({"type": "slow"}, "type must be"),
        ({"conservative": True, "maj_rule": True}, "conservative=True and maj_rule=True"),
        ({"rules": [True] * 9}, "rules must be 10 values"),
        ({"jci": "2"}, "jci must be"),
        ({"jci": "12"}, "it needs selectionBias=False"),
        ({"contextVars": ["nobody"]}, "contextVars"),
        ({"pdsep_max": -1}, "pdsep_max must be"),
        ({"budget": 0}, "budget must be"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        pycupc.fci({"C": np.eye(3), "n": 10}, **options)


def test_a_gap_between_context_variables():
    with pytest.raises(ValueError, match="one of which is in fixedGaps"):
        pycupc.fci(
            {"C": np.eye(3), "n": 10},
            fixedGaps=~np.eye(3, dtype=bool),
            jci="123",
            contextVars=[0, 1],
            selectionBias=False,
        )


@pytest.mark.parametrize("function", ["fci", "rfci"])
def test_discrete_data_on_both_engines(function):
    rng = np.random.default_rng(5)
    for _ in range(4):
        case = random_problem(rng, discrete=True, p_max=8) | {"arguments": {}}
        one, two = (fitted(case, function, engine=engine) for engine in ("cpu", "reference"))
        assert (one.sparse_graph, one.sepset, one.trace) == (two.sparse_graph, two.sepset, two.trace)
        assert list(one.later.n_tests) == list(two.later.n_tests)


@pytest.mark.parametrize("function", [pycupc.fci, pycupc.rfci])
def test_a_skeleton_of_other_data(function):
    rng = np.random.default_rng(6)
    C = np.corrcoef(rng.standard_normal((5, 50)))
    fit = pycupc.skeleton({"C": C, "n": 50}, alpha=0.3)
    whole = function({"C": C, "n": 50}, alpha=0.3)
    for skeleton in (fit, pycupc.pc({"C": C, "n": 50}, alpha=0.3, maj_rule=True)):
        found = function({"C": C, "n": 50}, alpha=0.3, skeleton=skeleton)
        assert (found.sparse_graph, found.sepset) == (whole.sparse_graph, whole.sepset)
        assert list(found.later.n_tests) == list(whole.later.n_tests)
    for given, name in (
        ({"suffStat": {"C": C, "n": 51}, "alpha": 0.3}, "n"),
        ({"suffStat": {"C": C, "n": 50}, "alpha": 0.2}, "alpha"),
        ({"suffStat": {"C": C[:4, :4], "n": 50}, "alpha": 0.3}, "its variables are others"),
        ({"suffStat": {"C": C, "n": 50}, "alpha": 0.3, "labels": list("abcde")}, "its variables are others"),
    ):
        refused(rf"skeleton must be of the same data and alpha: .*{name}$", function, **given, skeleton=fit)


@pytest.mark.parametrize("function", [pycupc.fci, pycupc.rfci])
def test_a_skeleton_of_other_data_with_the_same_names(function):
    """Neither names nor n or alpha tell them apart: p-values do. Gaps and fixed edges are those of the skeleton."""
    rng = np.random.default_rng(8)
    data = rng.standard_normal((60, 5)) @ (np.eye(5) + np.eye(5, k=1))
    fit = pycupc.skeleton(data)
    assert function(data, skeleton=fit) == function(data)
    with pytest.raises(ValueError, match="skeleton must be of the same data and test: 1 and 3 have another p-value"):
        function(data + 0.1 * rng.standard_normal((60, 5)), skeleton=fit)
    for name, pair in (("fixedGaps", ("1", "2")), ("fixedEdges", ("1", "5"))):
        given = {name: [pair]}
        with pytest.raises(ValueError, match=f"skeleton must be of the same {name}, which have the pair of 1 and"):
            function(data, skeleton=fit, **given)
        assert function(data, skeleton=pycupc.skeleton(data, **given), **given) == function(data, **given)
    with pytest.raises(TypeError, match="skeleton must be a result of pycupc.skeleton, got PagAlgo"):
        function(data, skeleton=function(data))


def test_one_context_variable_by_name_or_position():
    data = np.random.default_rng(9).standard_normal((500, 3)) @ np.triu(np.ones((3, 3)))
    options = {"labels": ["sex", "b", "c"], "alpha": 0.01, "jci": "1", "selectionBias": False}
    several = pycupc.fci(data, contextVars=["sex"], **options)
    assert several.sparse_graph != pycupc.fci(data, **options).sparse_graph
    for one in ("sex", 0, np.array(["sex"])):
        assert pycupc.fci(data, contextVars=one, **options).sparse_graph == several.sparse_graph
    with pytest.warns(UserWarning, match="contextVars have no effect with jci='0'"):  # as in pcalg
        without = pycupc.fci(data, contextVars=["sex"], **options | {"jci": "0"})
    assert without.sparse_graph == pycupc.fci(data, **options | {"jci": "0"}).sparse_graph
