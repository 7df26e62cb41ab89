"""Labelled boxes: the form of each kind of edge, marks at the right box, texts."""

import numpy as np
from drawn_graphs import boxes_of, distance, drawn, drawn_marks, random_graph
from matplotlib.collections import LineCollection

from pycupc.graph.sparse import SparseGraph


def test_variables_without_an_edge_are_named_in_a_line_of_text():
    g = np.zeros((5, 5), np.int8)
    g[0, 1] = 1
    ax = drawn(SparseGraph.from_dense(g), ["a", "b", "alone", "$x", "last"])
    assert {"a", "b", "without an edge: alone, $x, last"} <= {t.get_text() for t in ax.texts}
    assert set(boxes_of(ax)) == {"a", "b"}
    ax = drawn(SparseGraph.from_dense(g), ["a", "b", "alone", "c", "d"], around="alone")
    assert set(boxes_of(ax)) == {"alone"}  # which is highlighted


def test_each_kind_of_edge_has_its_form_and_each_variable_its_label():
    g = np.zeros((4, 4), np.int8)
    g[1, 0] = 1
    g[1, 2] = g[2, 1] = 1
    g[2, 3] = g[3, 2] = 2
    ax = drawn(SparseGraph.from_dense(g), ["one", "two", "three", "four"])
    lines = [c for c in ax.collections if type(c) is LineCollection]
    solid, dashed = lines[:2]  # directed, undirected
    assert dashed.get_linestyle() != solid.get_linestyle()
    boxes, (heads, _) = boxes_of(ax), drawn_marks(ax)
    near = [[label for label, box in boxes.items() if distance(head[0], box) < 0.04] for head in heads]
    assert sorted(near, key=str) == [["four"], ["one"], ["three"], [], [], []]  # two --> one, three <-> four, legend
    assert {"one", "two", "three", "four", "directed", "undirected", "bidirected"} <= {t.get_text() for t in ax.texts}


def test_labels_are_text_and_nothing_else():
    labels = ["$\\frac$", "a$b$c", "two\nlines", "x" * 40, "_under_"]
    ax = drawn(random_graph(5, 6, 3), labels)
    ax.figure.canvas.draw()  # mathematics that does not parse would raise here
    assert {"$\\frac$", "a$b$c", "two lines", "x" * 13 + "\u2026" + "x" * 13} <= {t.get_text() for t in ax.texts}
