"""A graph on named variables: unknown names, parts, relatives of a variable, pictures in notebooks."""

import base64
import json
import re
import sys
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from common import refused
from markov_classes import d_separated as by_networkx
from markov_classes import unlabelled
from true_graphs import written_graph

import pycupc
from pycupc.graph import drawing as plotting
from pycupc.graph.named import NamedGraph
from pycupc.graph.pairs import read_pairs
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph


def test_what_is_printed(nuclei_fit, nuclei):
    for sepset in (nuclei_fit.sepset, pycupc.pc(nuclei, alpha=0.01, maj_rule=True).sepset):
        sizes = [len(S) for S in sepset.cells().values()]
        listed = ", ".join(f"{sizes.count(n)} of size {n}" for n in sorted({*sizes}))
        assert repr(sepset) == f"<SepSets of 30 variables: {listed}>"
    assert repr(nuclei_fit.sepset[29]).startswith("<sepset[29]: {")
    assert repr(pycupc.compare(nuclei_fit, nuclei_fit)).startswith("a and b are equal: skeleton, graph")
    assert repr(nuclei_fit.subgraph([0])) == "<Graph: 1 variable, 0 edges (0 directed, 0 undirected, 0 bidirected)>"
    two = pycupc.pc({"C": [[1, 0.5], [0.5, 1]], "n": 1500})
    assert two.summary().startswith("PC-stable: 2 variables, 1,500 observations, alpha 0.01\n1 edge: 0 directed")
    assert plotting.describe(SparseGraph.undirected(3000, [0], [1])) == "3,000 variables, 1 edge, all undirected"


def test_every_message_about_an_unknown_name_lists_similar_ones(nuclei_fit, nuclei, tmp_path):
    (tmp_path / "pairs.csv").write_text("radius_mean,area_mean\nRadius_mean,area_mean\n")
    calls = (
        lambda: nuclei_fit.index("Radius_mean"),
        lambda: nuclei_fit.sepset["Radius_mean", "area_mean"],
        lambda: nuclei_fit.plot(around="Radius_mean"),
        lambda: pycupc.pc(nuclei, fixedGaps=[("Radius_mean", "area_mean")]),
        lambda: read_pairs(tmp_path / "pairs.csv", nuclei_fit.labels),
    )
    for call in calls:
        refused(r"no variable .*'Radius_mean'; similar: radius_mean, ", call, error=(ValueError, KeyError))


def test_subgraph_by_names(nuclei_fit):
    names = ["perimeter_mean", "radius_mean", "area_mean", "texture_se"]
    part = nuclei_fit.subgraph(names)
    assert part.labels == tuple(names)
    whole = nuclei_fit.matrix()
    np.testing.assert_array_equal(part.matrix(), whole.loc[names, names])
    rows = nuclei_fit.edges().set_index(["from", "to"])
    for row in part.edges().itertuples(index=False):
        known = rows.loc[(row[0], row[1])] if (row[0], row[1]) in rows.index else rows.loc[(row[1], row[0])]
        assert row[2:6] == tuple(known[["type", "pMax", "r", "set_by"]])
    assert len(part.edges()) > 1
    assert nuclei_fit.subgraph([3, "radius_mean"]).labels == (nuclei_fit.labels[3], "radius_mean")
    assert part.subgraph(["area_mean"]).p == 1
    assert json.loads(part.to_json())["nodes"] == names
    assert "4 variables" in repr(part)


@pytest.mark.parametrize(
    ("variables", "error", "words"),
    [
        ("radius_mean", TypeError, "a sequence of labels, got the string 'radius_mean'"),
        (["nobody"], ValueError, "there is no variable 'nobody'"),
        ([30], IndexError, "variables are 0 to 29, got 30"),
        ([1.0], TypeError, "a variable is named by its label or its number, got 1.0"),
        (["radius_mean", 0], ValueError, "must be different variables"),
    ],
)
def test_subgraph_of_what_is_not_there(nuclei_fit, variables, error, words):
    refused(words, nuclei_fit.subgraph, variables, error=error)


# -- notebooks --------------------------------------------------------------------------------------------------------


def test_notebooks_show_counts_and_a_picture(nuclei_fit):
    html = nuclei_fit._repr_html_()
    assert "30 variables, 40 edges (33 directed, 7 undirected, 0 bidirected)" in html
    picture = base64.b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', html)[1])
    assert picture.startswith(b"\x89PNG")
    assert len(html) < 400_000
    ElementTree.fromstring(html.replace("<img", "<img ").replace('"></div>', '"/></div>'))


def test_notebooks_show_counts_only_where_a_picture_would_take_long(nuclei_fit, monkeypatch):
    monkeypatch.setattr("pycupc.graph.named.MAX_SHOWN", (29, 1000))
    assert "<img" not in nuclei_fit._repr_html_()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<img" not in nuclei_fit._repr_html_()
    assert "30 variables" in nuclei_fit._repr_html_()


def test_the_relatives_of_a_variable():
    dag = written_graph(6, (4, 2), (0, 2), (2, 1), (3, 1), (5, 3))
    assert dag.neighbours("c") == ("a", "b", "e")
    assert dag.parents(2) == ("a", "e")
    assert dag.children("c") == ("b",)
    assert dag.markov_blanket("c") == ("a", "b", "d", "e")
    assert dag.neighbours("f") == ("d",)
    assert written_graph(2).markov_blanket(0) == ()
    refused("there is no variable 'q'", dag.markov_blanket, "q")
    pag = NamedGraph.from_amat_pag([[0, 2, 1], [3, 0, 0], [1, 0, 0]], list("abc"))
    assert pag.parents("b") == ("a",)
    assert pag.neighbours("a") == ("b", "c")
    assert pag.children("a") == ("b",)
    refused("the Markov blanket needs a graph of directed and undirected edges", pag.markov_blanket, "a")


def test_the_blanket_is_the_smallest_set_that_separates_and_that_of_the_class():
    for dags, _ in unlabelled(4):
        graphs = [
            CausalGraph(labels=tuple("abcd"), sparse_graph=SparseGraph.from_dense(d.astype(np.int8))) for d in dags
        ]
        for v in range(4):
            others = [w for w in range(4) if w != v]
            separating = [
                S
                for size in range(4)
                for S in combinations(others, size)
                if all(by_networkx(dags[0], v, w, S) for w in others if w not in S)
            ]
            want = tuple("abcd"[w] for w in separating[0])
            assert [g.markov_blanket(v) for g in (*graphs, graphs[0].to_cpdag())] == [want] * (len(dags) + 1)
