"""Pictures of thousands of lines and dots."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from pycupc.graph.drawing import plot, save
from pycupc.graph.drawing.network import place_dots
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph


def hairball(p, edges, seed=0):
    """A graph whose edges are directed, and the same without directions."""
    pairs = np.sort(np.random.default_rng(seed).integers(0, p, (edges, 2)), axis=1)
    low, high = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).T
    return arrows(p, low, high), SparseGraph.undirected(p, low, high)


def arrows(p, low, high):
    """The edges low --> high."""
    return SparseGraph(p, low, high, np.full(len(low), TAIL, np.int8), np.full(len(low), ARROW, np.int8))


@pytest.mark.parametrize("with_strength", [False, True])
def test_crossings_are_no_darker_than_a_line_and_stronger_lines_lie_above_weaker_ones(with_strength):
    graph, _ = hairball(700, 2500)
    strength = np.random.default_rng(1).random(len(graph)) if with_strength else None
    ax = plot(graph, [f"v{i}" for i in range(700)], ax=Figure().add_axes((0, 0, 1, 1)), strength=strength)
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()))
    colours, widths = lines.get_colors(), np.asarray(lines.get_linewidth())
    assert len(colours) == len(widths) == len(lines.get_segments()) == len(graph)
    assert (colours[:, 3] == 1).all()  # opaque: what is drawn last is seen, and nothing adds up
    assert (np.diff(colours[:, 2]) <= 0).all()  # ever darker
    assert (np.diff(widths) >= 0).all()
    assert len(np.unique(widths)) == (len(graph) if with_strength else 1)


def test_vector_files_keep_their_lines(tmp_path):
    graph, _ = hairball(700, 2500)
    save(graph, [f"v{i}" for i in range(700)], tmp_path / "g.svg")
    text = (tmp_path / "g.svg").read_text(encoding="utf-8")
    assert "<image" not in text
    assert text.count('clip-path="url(') >= len(graph)


def test_components_of_any_size_of_a_large_graph_are_placed_without_overlaps():
    rng = np.random.default_rng(0)
    sizes, start, tail = [2, 3, 5, 20, 90, 200, 400], 0, []
    for k in sizes:
        tail += [start + int(rng.integers(max(0, i - 3), i)) for i in range(1, k)]  # a tree
        start += k
    head = np.setdiff1d(np.arange(start), np.cumsum([0, *sizes[:-1]]))
    graph = arrows(start, np.array(tail), head)
    xy, radius = place_dots(graph)
    a, b = np.triu_indices(start, 1)
    overlapping = np.hypot(*(xy[a] - xy[b]).T) < radius[a] + radius[b]
    assert overlapping.sum() <= 0.01 * start
    length = np.hypot(*(xy[tail] - xy[head]).T)
    assert np.percentile(length, 95) < 0.9  # inches, where neighbours should be 0.42 apart
