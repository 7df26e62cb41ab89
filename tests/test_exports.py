"""Exports: every one says the same graph, and says which way its edges point.

The graph of these tests has all three kinds of edge: a --> b, c --> b, c --- d, a <-> d, and e on its own.
"""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from pycupc.graph import exports
from pycupc.graph.sparse import SparseGraph

LABELS = ["a", "b", "c", "d", "e"]


@pytest.fixture
def graph():
    g = np.zeros((5, 5), np.int8)
    g[0, 1] = 1
    g[2, 1] = 1
    g[2, 3] = g[3, 2] = 1
    g[0, 3] = g[3, 0] = 2
    return SparseGraph.from_dense(g)


def graph_of_edges(edges, labels=LABELS):
    """The matrix that a list of (from, to, type) describes: how a reader of our files would rebuild it."""
    g = np.zeros((len(labels), len(labels)), np.int8)
    at = {label: i for i, label in enumerate(labels)}
    for u, v, kind in edges:
        g[at[u], at[v]] = {"directed": 1, "undirected": 1, "bidirected": 2}[kind]
        if kind != "directed":
            g[at[v], at[u]] = g[at[u], at[v]]
    return g


def test_edge_list_is_sorted_and_points_from_tail_to_head(graph):
    tail, head, kind = graph.edge_list()
    assert list(zip(tail, head, kind, strict=True)) == [
        (0, 1, "directed"),
        (0, 3, "bidirected"),
        (2, 1, "directed"),
        (2, 3, "undirected"),
    ]


@pytest.mark.parametrize(("a", "b"), [(2, 1), (2, 0), (3, 3), (1, 2)])
def test_edge_list_refuses_unknown_codes(a, b):
    g = np.zeros((3, 3), np.int8)
    g[0, 2], g[2, 0] = a, b
    with pytest.raises(ValueError, match=rf"graph\[0, 2\] = {a} with graph\[2, 0\] = {b} is no edge"):
        SparseGraph.from_dense(g)


def test_matrices_state_their_direction(graph):
    matrix, amat = exports.row_to_column(graph, LABELS), exports.amat(graph, LABELS)
    assert matrix.loc["a", "b"] == 1
    assert matrix.loc["b", "a"] == 0
    assert amat.loc["b", "a"] == 1
    assert amat.loc["a", "b"] == 0
    np.testing.assert_array_equal(amat.to_numpy(), matrix.to_numpy().T)
    assert list(amat.index) == list(amat.columns) == LABELS


def test_edges_table_round_trips(graph):
    table = exports.edges(graph, LABELS, {"z_min": np.arange(4.0)})
    assert list(table.columns) == ["from", "to", "type", "z_min"]
    np.testing.assert_array_equal(graph_of_edges(table[["from", "to", "type"]].itertuples(index=False)), graph.dense())


def test_attributes_must_fit_the_edges(graph):
    with pytest.raises(ValueError, match=r"one value for each of the 4 edges, got shape \(3,\)"):
        exports.edges(graph, LABELS, {"z": np.zeros(3)})


def test_networkx_round_trips(graph):
    g = exports.to_networkx(graph, LABELS, {"z_min": np.arange(4.0)})
    assert sorted(g) == LABELS
    assert g.edges["a", "b"] == {"type": "directed", "z_min": 0.0}
    assert not g.has_edge("b", "a")
    np.testing.assert_array_equal(graph_of_edges((u, v, d["type"]) for u, v, d in g.edges(data=True)), graph.dense())


def test_graphml_is_read_back_by_networkx(graph):
    import networkx as nx

    odd = ["a", 'b "<&>"', "c\x00", "d\u00e9", "e e"]
    why = np.array(["", "R1 <a>", "", "collider"], dtype=object)
    text = exports.to_graphml(graph, odd, {"z_min": np.arange(4.0), "set_by": why})
    g = nx.read_graphml(io.BytesIO(text.encode()))
    names = [g.nodes[f"n{i}"]["label"] for i in range(5)]
    assert names == ["a", 'b "<&>"', "c?", "d\u00e9", "e e"]
    edges = [(int(u[1:]), int(v[1:]), d["type"]) for u, v, d in g.edges(data=True)]
    np.testing.assert_array_equal(graph_of_edges(edges, range(5)), graph.dense())
    assert g.edges["n2", "n3"] == {"type": "undirected", "z_min": 3.0, "set_by": "collider"}
    assert g.edges["n0", "n3"]["set_by"] == "R1 <a>"


def test_dot_tells_the_three_kinds_apart(graph):
    lines = exports.to_dot(graph, ["a", 'b"', "c", "d", "e"]).splitlines()
    assert '  "a" -> "b\\"";' in lines
    assert '  "c" -> "d" [dir=none, style=dashed];' in lines
    assert '  "a" -> "d" [dir=both, penwidth=2];' in lines
    assert '  "e";' in lines


def test_labels_that_differ_in_control_characters_stay_different(graph):
    import networkx as nx

    odd = ["a\x01", "a?", "a\x02", "a\n", "a\r"]
    lines = exports.to_dot(graph, odd).splitlines()
    assert lines[3:8] == ['  "a? [0]";', '  "a?";', '  "a? [2]";', '  "a\\n";', '  "a? [4]";']
    assert len({*lines[8:-1]}) == len(graph)
    g = nx.read_graphml(io.BytesIO(exports.to_graphml(graph, odd).encode()))
    assert [g.nodes[f"n{i}"]["label"] for i in range(5)] == ["a? [0]", "a?", "a? [2]", "a\n", "a\r"]


def test_json_round_trips_and_has_no_nan(graph):
    text = exports.to_json(graph, LABELS, {"z_min": np.array([1.5, np.inf, np.nan, 2.0])})
    out = json.loads(text, parse_constant=lambda s: pytest.fail(f"{s} is not JSON"))
    assert out["nodes"] == LABELS
    assert out["edges"][1] == {"from": "a", "to": "d", "type": "bidirected", "z_min": None}
    np.testing.assert_array_equal(graph_of_edges((e["from"], e["to"], e["type"]) for e in out["edges"]), graph.dense())
    assert "from --> to" in out["convention"]


def test_json_keeps_any_label_and_any_kind_of_attribute(graph):
    odd = ['"a"', "two\nlines", "%s \\ {}", "\u00e9\u2028\x00", ", "]
    attributes = {
        '50 % "n"': np.array([1, 2, -3, 4]),
        "fixed": np.array([True, False, True, True]),
        "set_by": np.array(["", "R1, \n%d", '"', "x"], dtype=object),
    }
    out = json.loads(exports.to_json(graph, odd, attributes))
    tail, head, kind = graph.edge_list()
    assert out["nodes"] == odd
    for k, edge in enumerate(out["edges"]):
        expected = {"from": odd[tail[k]], "to": odd[head[k]], "type": kind[k]}
        assert edge == expected | {name: values[k] for name, values in attributes.items()}
    assert len(out["edges"]) == len(graph)


def test_wrong_shapes_are_named(graph):
    with pytest.raises(ValueError, match=r"square matrix, got shape \(5, 4\)"):
        SparseGraph.from_dense(graph.dense()[:, :4])
    with pytest.raises(ValueError, match="name the 5 variables of the graph, got 4 labels"):
        exports.edges(graph, LABELS[:4])


def test_empty_graph_exports():
    empty = SparseGraph.from_dense(np.zeros((2, 2), np.int8))
    assert len(exports.edges(empty, ["x", "y"])) == 0
    assert json.loads(exports.to_json(empty, ["x", "y"]))["edges"] == []
    nothing = SparseGraph.from_dense(np.zeros((0, 0), np.int8))
    assert json.loads(exports.to_json(nothing, []))["nodes"] == []
    assert exports.to_networkx(empty, ["x", "y"]).number_of_edges() == 0
