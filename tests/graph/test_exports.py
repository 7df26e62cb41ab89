"""Exports: every one says the same graph, and says which way its edges point.

The CPDAG of these tests is a --> b, c --> b, c --- d, a <-> d, and e on its own; the PAG has all nine pairs of marks.
"""

import csv
import io
import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from common import refused

import pycupc
from pycupc.data import load_example
from pycupc.graph import drawing as plotting
from pycupc.graph import exports
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import ARROW, CIRCLE, KINDS, TAIL, SparseGraph, symbol
from pycupc.results.causal_graph import CausalGraph

LABELS = ["a", "b", "c", "d", "e"]


def cpdag() -> SparseGraph:
    g = np.zeros((5, 5), np.int8)
    g[0, 1] = g[2, 1] = 1
    g[2, 3] = g[3, 2] = 1
    g[0, 3] = g[3, 0] = 2
    return SparseGraph.from_dense(g)


def amat_pag() -> np.ndarray:
    """Every combination of marks once, [i, j] at j: the edge of 0 - 1 is o-o, that of 3 - 4 is ---."""
    amat = np.zeros((5, 5), np.int8)
    marks = [(first, second) for first in (CIRCLE, ARROW, TAIL) for second in (CIRCLE, ARROW, TAIL)]
    ends = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    for (i, j), (first, second) in zip([*ends[:8], ends[9]], marks, strict=True):
        amat[j, i], amat[i, j] = first, second
    return amat


class Described(NamedGraph):
    """A graph whose edges have attributes."""

    attributes = {}  # noqa: RUF012

    def edge_attributes(self):
        return self.attributes


def named(graph, labels=LABELS, attributes=None):
    out = Described(labels=tuple(labels), sparse_graph=graph)
    out.attributes = attributes or {}
    return out


GRAPHS = {"cpdag": cpdag(), "pag": SparseGraph.from_amat_pag(amat_pag())}


@pytest.fixture
def graph():
    return GRAPHS["cpdag"]


@pytest.fixture(params=GRAPHS)
def any_graph(request):
    return GRAPHS[request.param]


def graph_of_edges(edges, labels=LABELS):
    """The graph that a list of (from, to, type) describes: how a reader of our files would rebuild it."""
    amat = np.zeros((len(labels), len(labels)), np.int8)
    at = {label: i for i, label in enumerate(labels)}
    for u, v, kind in edges:
        amat[at[v], at[u]], amat[at[u], at[v]] = KINDS[kind]
    return SparseGraph.from_amat_pag(amat)


def test_edge_list_is_sorted_and_points_from_tail_to_head(graph):
    tail, head, kind = graph.edge_list()
    assert list(zip(tail, head, strict=True)) == [(0, 1), (0, 3), (2, 1), (2, 3)]
    assert kind.tolist() == ["directed", "bidirected", "directed", "undirected"]
    assert graph.counts() == {"directed": 2, "undirected": 1, "bidirected": 1}


def test_every_pair_of_marks_is_an_edge_of_its_kind():
    pag = GRAPHS["pag"]
    np.testing.assert_array_equal(pag.amat_pag(), amat_pag())
    marks = [symbol(*pair) for pair in zip(pag.low_mark, pag.high_mark, strict=True)]
    assert marks == ["o-o", "o->", "o--", "<-o", "<->", "<--", "--o", "-->", "---"]
    tail, head, kind = pag.edge_list()
    assert kind.tolist() == [
        "nondirected", "partially directed", "partially undirected", "partially directed", "bidirected", "directed",
        "partially undirected", "directed", "undirected",
    ]  # fmt: skip
    turned = tail > head
    assert turned.tolist() == [mark in ("<-o", "<--", "--o") for mark in marks]
    assert pag.counts() == {kind: len({*marks}) for kind, marks in KINDS.items()}
    nodes = [3, 1, 4, 0]
    np.testing.assert_array_equal(pag.subgraph(nodes).amat_pag(), amat_pag()[np.ix_(nodes, nodes)])


def test_a_pag_is_made_from_a_matrix_with_or_without_labels():
    for amat, labels in ((amat_pag(), LABELS), (pd.DataFrame(amat_pag(), columns=LABELS), None)):
        graph = NamedGraph.from_amat_pag(amat, labels)
        assert graph.labels == tuple(LABELS)
        assert graph.sparse_graph == GRAPHS["pag"]
        assert graph.amat_pag().loc["a", "c"] == ARROW
        assert graph.edge_counts() == (2, 1, 1)
        assert "5 variables, 9 edges (2 directed, 1 undirected, 1 bidirected, 2 partially directed, 1 non" in repr(
            graph
        )
    assert NamedGraph.from_amat_pag(amat_pag()).labels == ("1", "2", "3", "4", "5")
    with pytest.raises(ValueError, match=r"no circles, which 5 edges of this graph have, first 0 o-o 1; amat_pag\(\)"):
        _ = graph.graph
    refused("labels must name all 5 variables, got 1", NamedGraph.from_amat_pag, amat_pag(), ["a"])


@pytest.mark.parametrize(
    ("read", "a", "b", "form"),
    [(SparseGraph.from_dense, a, b, "1 and 0") for a, b in ((2, 1), (2, 0), (3, 3), (1, 2))]
    + [(SparseGraph.from_amat_pag, a, b, r"1 \(circle\), 2 \(arrowhead\)") for a, b in ((1, 0), (4, 1), (-1, 2))],
)
def test_other_codes_are_refused(read, a, b, form):
    g = np.zeros((3, 3), np.int8)
    g[0, 2], g[2, 0] = a, b
    refused(rf"graph\[0, 2\] = {a} with graph\[2, 0\] = {b} is no edge: expected {form}", read, g)


def test_matrices_state_their_direction(graph):
    shown = NamedGraph(labels=tuple(LABELS), sparse_graph=graph)
    matrix, amat = shown.matrix(), shown.amat()
    assert (matrix.loc["a", "b"], matrix.loc["b", "a"]) == (1, 0)
    assert (amat.loc["b", "a"], amat.loc["a", "b"]) == (1, 0)
    np.testing.assert_array_equal(amat.to_numpy(), matrix.to_numpy().T)
    assert list(amat.index) == list(amat.columns) == LABELS
    assert shown._amat_csv() == amat.to_csv(lineterminator="\n")


def test_amat_csv_of_a_pag_is_read_back():
    text = named(GRAPHS["pag"])._amat_csv(pag=True)
    assert NamedGraph.from_amat_pag(pd.read_csv(io.StringIO(text), index_col=0)).sparse_graph == GRAPHS["pag"]


def test_csv_quotes_every_name_that_needs_it(graph):
    names = ["a\r", "b\r\nc", 'd"e', "f,g", "NA"]
    of_edges = exports.csv(named(graph, names)._edge_columns())
    for text in (named(graph, names)._amat_csv(), of_edges):
        assert "\r\n" not in text.replace("b\r\nc", "")
    assert [line[0] for line in csv.reader(io.StringIO(named(graph, names)._amat_csv(), newline=""))] == ["", *names]
    read = list(csv.reader(io.StringIO(of_edges, newline="")))
    assert {*read[0]} == {"from", "to", "type"}
    assert [line[:2] for line in read[1:]] == named(graph, names).edges()[["from", "to"]].to_numpy().tolist()


def test_edges_table_round_trips(any_graph):
    table = named(any_graph, LABELS, {"z_min": np.arange(len(any_graph))}).edges()
    assert list(table.columns) == ["from", "to", "type", "z_min"]
    assert graph_of_edges(table[["from", "to", "type"]].itertuples(index=False)) == any_graph
    read = pd.read_csv(io.StringIO(exports.csv(named(any_graph)._edge_columns())))
    assert graph_of_edges(read.itertuples(index=False)) == any_graph


def test_networkx_round_trips(any_graph):
    g = named(any_graph, LABELS, {"z_min": np.arange(len(any_graph))}).to_networkx()
    assert sorted(g) == LABELS
    assert graph_of_edges((u, v, d["type"]) for u, v, d in g.edges(data=True)) == any_graph
    for u, v, kind in zip(*any_graph.edge_list(), strict=True):
        assert g.has_edge(LABELS[v], LABELS[u]) == (len({*KINDS[kind]}) == 1)
    assert ("partially directed: from o-> to" in g.graph["convention"]) == (any_graph is GRAPHS["pag"])


def test_graphml_is_read_back_by_networkx(any_graph):
    import networkx as nx

    odd = ["a", 'b "<&>"', "c\x00", "d\u00e9", "e e"]
    m = len(any_graph)
    why = np.array(["", "R1 <a>", "", *["collider"] * (m - 3)], dtype=object)
    text = named(any_graph, odd, {"z_min": np.arange(m) / 2, "set_by": why}).to_graphml()
    g = nx.read_graphml(io.BytesIO(text.encode()))
    names = [g.nodes[f"n{i}"]["label"] for i in range(5)]
    assert names == ["a", 'b "<&>"', "c?", "d\u00e9", "e e"]
    edges = [(int(u[1:]), int(v[1:]), d["type"]) for u, v, d in g.edges(data=True)]
    assert graph_of_edges(edges, range(5)) == any_graph
    for k, (u, v, kind) in enumerate(zip(*any_graph.edge_list(), strict=True)):
        assert g.edges[f"n{u}", f"n{v}"] == {"type": kind, "z_min": k / 2, "set_by": why[k]}


def test_dot_tells_the_kinds_apart():
    lines = named(GRAPHS["cpdag"], ["a", 'b"', "c", "d", "e"]).to_dot().splitlines()
    assert '  "a" -> "b\\"";' in lines
    assert '  "c" -> "d" [dir=none, style=dashed];' in lines
    assert '  "a" -> "d" [dir=both, penwidth=2];' in lines
    assert '  "e";' in lines
    edges = [line for line in named(GRAPHS["pag"]).to_dot().splitlines() if line.startswith("  ") and "->" in line]
    assert edges == [
        '  "a" -> "b" [dir=both, arrowtail=odot, arrowhead=odot];',
        '  "a" -> "c" [dir=both, arrowtail=odot, arrowhead=normal];',
        '  "a" -> "d" [dir=both, arrowtail=odot, arrowhead=none];',
        '  "e" -> "a" [dir=both, arrowtail=odot, arrowhead=normal];',
        '  "b" -> "c" [dir=both, penwidth=2];',
        '  "d" -> "b";',
        '  "e" -> "b" [dir=both, arrowtail=odot, arrowhead=none];',
        '  "c" -> "d";',
        '  "d" -> "e" [dir=none, style=dashed];',
    ]


def test_labels_that_differ_in_control_characters_stay_different(graph):
    import networkx as nx

    odd = ["a\x01", "a?", "a\x02", "a\n", "a\r"]
    lines = named(graph, odd).to_dot().splitlines()
    assert lines[3:8] == ['  "a? [0]";', '  "a?";', '  "a? [2]";', '  "a\\n";', '  "a? [4]";']
    assert len({*lines[8:-1]}) == len(graph)
    g = nx.read_graphml(io.BytesIO(named(graph, odd).to_graphml().encode()))
    assert [g.nodes[f"n{i}"]["label"] for i in range(5)] == ["a? [0]", "a?", "a? [2]", "a\n", "a\r"]


def test_json_round_trips_and_has_no_nan(any_graph):
    values = np.array([1.5, np.inf, np.nan, *range(len(any_graph) - 3)])
    text = named(any_graph, LABELS, {"z_min": values}).to_json()
    out = json.loads(text, parse_constant=lambda s: pytest.fail(f"{s} is not JSON"))
    assert out["nodes"] == LABELS
    assert [e["z_min"] for e in out["edges"]] == [1.5, None, None, *range(len(any_graph) - 3)]
    assert graph_of_edges((e["from"], e["to"], e["type"]) for e in out["edges"]) == any_graph
    assert out["convention"] == exports.EDGE_LIST + exports.CIRCLES * (any_graph is GRAPHS["pag"])


def test_json_keeps_any_label_and_any_kind_of_attribute(graph):
    odd = ['"a"', "two\nlines", "%s \\ {}", "\u00e9\u2028\x00", ", "]
    attributes = {
        '50 % "n"': np.array([1, 2, -3, 4]),
        "fixed": np.array([True, False, True, True]),
        "set_by": np.array(["", "R1, \n%d", '"', "x"], dtype=object),
    }
    out = json.loads(named(graph, odd, attributes).to_json())
    tail, head, kind = graph.edge_list()
    assert out["nodes"] == odd
    for k, edge in enumerate(out["edges"]):
        expected = {"from": odd[tail[k]], "to": odd[head[k]], "type": kind[k]}
        assert edge == expected | {name: values[k] for name, values in attributes.items()}
    assert len(out["edges"]) == len(graph)


def test_wrong_shapes_are_named(graph):
    refused(r"square matrix, got shape \(5, 4\)", SparseGraph.from_dense, graph.dense()[:, :4])
    with pytest.raises(ValueError, match=r"symmetric, got an edge at \[0, 2\] and none at \[2, 0\]"):
        SparseGraph.from_dense(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]]) > 0)
    with pytest.raises(ValueError, match="name the 5 variables of the graph, got 4 labels"):
        named(graph, LABELS[:4]).edges()


def test_empty_graph_exports():
    empty = SparseGraph.from_dense(np.zeros((2, 2), np.int8))
    assert len(named(empty, ["x", "y"]).edges()) == 0
    assert json.loads(named(empty, ["x", "y"]).to_json())["edges"] == []
    nothing = SparseGraph.from_amat_pag(np.zeros((0, 0), np.int8))
    assert json.loads(named(nothing, []).to_json())["nodes"] == []
    assert named(empty, ["x", "y"]).to_networkx().number_of_edges() == 0


@pytest.fixture(scope="module")
def fit():
    return pycupc.pc(load_example("cell_nuclei"), alpha=0.01, engine="cpu")


@pytest.fixture(scope="module")
def all_kinds():
    """An edge of each of the nine pairs of marks, of variables 0 and 1, 2 and 3, and so on; 18 has no edge."""
    amat = np.zeros((19, 19), dtype=int)
    for k, (there, back) in enumerate((a, b) for a in (1, 2, 3) for b in (1, 2, 3)):
        amat[2 * k, 2 * k + 1], amat[2 * k + 1, 2 * k] = there, back
    return NamedGraph.from_amat_pag(amat)


def test_causallearn(fit, all_kinds):
    pytest.importorskip("causallearn")
    for graph in (fit, all_kinds):
        theirs = graph.to_causallearn()
        back = CausalGraph.from_causallearn(theirs)
        assert back.labels == graph.labels
        assert back.sparse_graph == graph.sparse_graph
        # causal-learn's matrix: [j, i] is the mark at j of the edge i - j; -1 tail, 1 arrow, 2 circle
        assert np.array_equal(theirs.graph.T, np.array([0, 2, 1, -1])[graph.amat_pag().to_numpy()])
    names = [node.get_name() for node in theirs.get_nodes()]
    assert theirs.get_edge(theirs.get_node(names[4]), theirs.get_node(names[5])).get_endpoint1().name == "TAIL"


def test_a_result_of_causallearns_pc(fit):
    search = pytest.importorskip("causallearn.search.ConstraintBased.PC")
    data = load_example("cell_nuclei")
    theirs = search.pc(data.to_numpy(), 0.01, node_names=list(data.columns), show_progress=False)
    graph = CausalGraph.from_causallearn(theirs)
    assert graph.labels == fit.labels
    assert np.array_equal(graph.skeleton, fit.skeleton)


def test_pgmpy(fit, all_kinds):
    base = pytest.importorskip("pgmpy.base")
    theirs = fit.to_pgmpy()
    assert theirs.directed_edges == {
        (u, v) for u, v, kind in fit.edges()[["from", "to", "type"]].to_numpy() if kind == "directed"
    }
    back = CausalGraph.from_pgmpy(theirs)
    assert back.subgraph(fit.labels).sparse_graph == fit.sparse_graph
    assert CausalGraph.from_pgmpy(base.DAG([("b", "a"), ("a", "c")])).edges().to_numpy().tolist() == [
        ["b", "a", "directed"],
        ["a", "c", "directed"],
    ]
    refused("directed and undirected edges only, got 1 bidirected edge", all_kinds.to_pgmpy)


def test_igraph(fit):
    pytest.importorskip("igraph")
    theirs = fit.to_igraph()
    ours = fit.to_networkx()
    assert theirs.vs["name"] == list(fit.labels)
    arcs = {(theirs.vs[edge.source]["name"], theirs.vs[edge.target]["name"]): edge["type"] for edge in theirs.es}
    assert arcs == {(u, v): kind for u, v, kind in ours.edges(data="type")}
    assert theirs.es["pMax"] == [ours[u][v]["pMax"] for u, v in arcs]


@pytest.mark.parametrize("read", [CausalGraph.from_causallearn, CausalGraph.from_pgmpy])
def test_other_objects_are_refused(read):
    refused("graph must be .*, got dict", read, {}, error=TypeError)


HOSTILE = ["plain", "a\x00b", "bell\x07 \x1b[31mred", "line\nbreak\r\ttab", "\x7f\x85\u2028\u2029\ufffe\uffff"]
HOSTILE += ['quote " \\ end\\', "<script>&amp;]]>", "half \ud800 a pair", "\\N\\G"]


@pytest.fixture
def hostile():
    p = len(HOSTILE)
    return SparseGraph.from_cells(p, range(p - 1), range(1, p), [1] * (p - 1))


def test_svg_and_graphml_are_valid_xml(hostile, tmp_path):
    plotting.save(hostile, HOSTILE, tmp_path / "graph.svg", title="\x00 title \x1b")
    root = ElementTree.fromstring((tmp_path / "graph.svg").read_bytes())
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "plain" in texts
    assert any(text.startswith("bell?") for text in texts)
    root = ElementTree.fromstring(NamedGraph(labels=HOSTILE, sparse_graph=hostile).to_graphml().encode())
    assert len(list(root.iter("{http://graphml.graphdrawing.org/xmlns}node"))) == 9


def test_dot_has_no_control_characters(hostile):
    text = NamedGraph(labels=HOSTILE, sparse_graph=hostile).to_dot()
    assert [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000)] == []
    quoted = r'"(?:[^"\\\n]|\\.)*"'
    edges = [line for line in text.splitlines() if " -> " in line]
    assert len(edges) == len(HOSTILE) - 1
    assert all(re.fullmatch(rf"  {quoted} -> {quoted};", line) for line in edges)
    assert r'"line\nbreak??tab"' in text
    assert r'"quote \" \\ end\\"' in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it(hostile):
    text = NamedGraph(labels=HOSTILE, sparse_graph=hostile).to_dot()
    done = subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().count("\nedge ") == len(HOSTILE) - 1


def test_csv_is_what_pandas_writes(nuclei_fit):
    columns = nuclei_fit._edge_columns()
    columns["more"] = np.array([np.nan, -np.inf, *range(len(columns["from"]) - 2)])
    columns["from"][0] = 'a "quoted", name\n'
    import pandas as pd

    assert exports.csv(columns) == pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")
    assert nuclei_fit._amat_csv() == nuclei_fit.amat().to_csv(lineterminator="\n")
