"""The evidence of R's objects, without R: no engine starts, and nothing is oriented again."""

import explored_graphs
import numpy as np
import pytest

import pycupc
from pycupc.graph.sparse import SparseGraph
from pycupc.r import r_explanation
from pycupc.r.conversions import to_plain


def asked(fit, evidence=True, graph=None, **options):
    """What R sends about the object of a result, and its options: see `explain`."""
    arrays = fit.to_arrays("matrix")
    if graph is not None:
        arrays |= dict(zip(("graph_from", "graph_to", "graph_mark"), graph.cells(), strict=True))
    sent = {f"a.{name}": values.ravel(order="F") for name, values in to_plain(arrays).items()}
    if evidence:
        sent["a.evidence"] = np.frombuffer(fit.to_bytes(), np.uint8)
    values = {"labels": list(fit.labels), "max_ord": fit.max_ord, "every_cell": False, "call": fit.call}
    values["max_ord_pdsep"] = getattr(fit, "max_ord_pdsep", 0)
    given = {f"a.{name}": value for name, value in values.items()}
    more = {"alpha": 0.2, "alpha_given": False, "known": True, "rules": [], "jci": None, "context": []}
    return sent, given | more | {"question": "edges"} | options


@pytest.fixture
def nothing_again(monkeypatch):
    for name in ("with_reasons", "with_reasons_of_marks", "tests_of", "result_of"):
        monkeypatch.setattr(r_explanation, name, lambda *_, **__: pytest.fail("made again"))


@pytest.fixture(scope="module")
def data():
    return explored_graphs.table(9)


RUNS = {
    "majority": (pycupc.pc, {"maj_rule": True}),
    "conservative": (pycupc.pc, {"conservative": True, "solve_confl": True}),
    "retry": (pycupc.pc, {"u2pd": "retry", "random_state": 1}),
    "tiers": (pycupc.pc, {"tiers": [1, 1, 1, 2, 2, 2, 3, 3, 3]}),
    "skeleton": (pycupc.skeleton, {}),
    "fci": (pycupc.fci, {"maj_rule": True}),
    "rfci": (pycupc.rfci, {}),
}


@pytest.mark.usefixtures("nothing_again")
@pytest.mark.parametrize("name", RUNS)
def test_the_answers_are_those_of_the_result(data, name):
    function, options = RUNS[name]
    fit = function(data, alpha=0.2, **options)
    values, arrays = r_explanation.explain(*asked(fit))
    edges = fit.edges()
    for column in ("from", "to", "type", "set_by"):
        assert values[column] == edges[column].tolist()
    np.testing.assert_array_equal(arrays["pMax"], edges["pMax"])
    np.testing.assert_array_equal(arrays["r"], edges["r"])
    for x, y in ((1, 2), (3, 7), (9, 4)):
        answer = r_explanation.explain(*asked(fit, question="why", x=x, y=y))[0]
        assert answer["text"] == str(fit.why(x - 1, y - 1))
    strict = r_explanation.explain(*asked(fit, question="why", x=1, y=2, alpha=1e-3, alpha_given=True))[0]["why"]
    assert strict["cutoff"] > fit.why(0, 1).cutoff


@pytest.mark.usefixtures("nothing_again")
def test_marks_that_the_object_does_not_share_have_no_reason(data):
    fit = pycupc.pc(data, alpha=0.2, maj_rule=True)
    graph = fit.sparse_graph
    reasons = fit.edges()["set_by"].to_numpy()
    first = np.flatnonzero(reasons != "")[0]
    marks = graph.low_mark.copy(), graph.high_mark.copy()
    for mark in marks:
        mark[first] = 3  # the edge is undirected now
    values, _ = r_explanation.explain(*asked(fit, graph=SparseGraph(graph.p, graph.low, graph.high, *marks)))
    assert sorted(filter(None, values["set_by"])) == sorted(filter(None, np.delete(reasons, first)))


def test_an_object_of_another_skeleton_or_without_evidence_is_rebuilt(data):
    fit = pycupc.pc(data, alpha=0.2)
    expected = fit.edges()["set_by"].tolist()
    assert r_explanation.explain(*asked(fit, evidence=False))[0]["set_by"] == expected
    graph = fit.sparse_graph
    fewer = graph.with_edges(np.arange(1, len(graph)))
    found = r_explanation.explain(*asked(fit, graph=fewer))[0]
    assert len(found["from"]) == len(expected) - 1
