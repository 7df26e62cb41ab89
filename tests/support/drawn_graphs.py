"""Graphs of many kinds, drawn, and the parts of their pictures."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from pycupc.graph.drawing import plot
from pycupc.graph.drawing.layout import layout
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph


def random_graph(p, edges, seed, codes=(1, 1, 2)):
    """A graph with `edges` edges of the three kinds, in equal shares."""
    rng = np.random.default_rng(seed)
    g = np.zeros((p, p), np.int8)
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((p, p), bool), 1)))[:edges]
    for k, (i, j) in enumerate(pairs):
        g[i, j] = codes[k % 3]
        if k % 3:
            g[j, i] = codes[k % 3]
    return SparseGraph.from_dense(g)


def layout_of(tail, head, directed, sizes, **options):
    p = len(sizes)
    g = np.zeros((p, p), np.int8)
    g[tail, head] = 1
    g[head[~directed], tail[~directed]] = 1
    return layout(SparseGraph.from_dense(g), sizes, **options)


def acyclic(p, m, seed):
    """The arrows of a random graph without cycles: tail < head."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((p, p), bool), 1)))[:m]
    return pairs[:, 0], pairs[:, 1]


def drawn_marks(ax):
    """The triangles of all arrowheads, (k, 4, 2), their tips first, and the centres of all circles, (m, 2)."""
    heads = [path.vertices for c in ax.collections if is_of_arrowheads(c) for path in c.get_paths()]
    rings = [line.get_xydata() for line in ax.lines if line.get_markerfacecolor() == "white"]
    return np.concatenate([np.zeros((0, 2)), *heads]).reshape(-1, 4, 2), np.concatenate([np.zeros((0, 2)), *rings])


def boxes_of(ax):
    """The low and high corners of the boxes by label, without the legend."""
    from matplotlib.patches import FancyBboxPatch

    labels = [text.get_text() for text in ax.texts if text.get_horizontalalignment() == "center"]
    boxes = [box.get_path().get_extents() for box in ax.patches if isinstance(box, FancyBboxPatch)]
    return {label: (box.min, box.max) for label, box in zip(labels, boxes, strict=True)}


def four():
    """a --> b --> c, a --- d, and e without an edge."""
    g = np.zeros((5, 5), np.int8)
    g[0, 1] = g[1, 2] = g[0, 3] = g[3, 0] = 1
    return SparseGraph.from_dense(g), list("abcde")


def is_of_arrowheads(collection):
    return type(collection) is PathCollection and not len(collection.get_sizes())  # not the dots of variables


def drawn(graph, labels=None, **options):
    ax = Figure(facecolor="white").add_axes((0, 0, 1, 1))
    return plot(graph, labels or [f"v{i}" for i in range(graph.p)], ax=ax, **options)


def distance(xy, box):
    return np.hypot(*np.maximum(np.maximum(box[0] - xy, xy - box[1]), 0))


def arrows(p, low, high):
    """The edges low --> high."""
    return SparseGraph(p, low, high, np.full(len(low), TAIL, np.int8), np.full(len(low), ARROW, np.int8))
