"""Networks of dots: labels have room, lines cover no letters and end at dots and arrowheads."""

import numpy as np
import pytest
from drawn_graphs import arrows, drawn, is_of_arrowheads, random_graph
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection

from pycupc.graph.drawing import network
from pycupc.graph.drawing.network import place_dots


@pytest.mark.parametrize(("p", "edges"), [(61, 60), (120, 150), (300, 320), (70, 700)])
def test_from_61_variables_on_labels_have_room_and_hubs_come_first(p, edges):
    g = random_graph(p, edges, p)
    labels = [f"variable {i}" for i in range(p)]
    ax = drawn(g, labels)
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    connected = int((g.degrees() > 0).sum())
    named = [t for t in ax.texts if t.get_text() in labels]
    assert len(named) >= (0.9 if edges < 400 else 0.5) * connected
    hubs = np.argsort(-g.degrees(), kind="stable")[:5]
    assert {labels[v] for v in hubs} <= {t.get_text() for t in named}
    boxes = np.array([t.get_window_extent(renderer).extents for t in named])  # left, bottom, right, top
    overlap = (boxes[:, None, :2] < boxes[None, :, 2:] - 1.5).all(axis=2)
    overlap &= overlap.T & ~np.eye(len(boxes), dtype=bool)
    assert not overlap.any(), [named[i].get_text() for i in np.argwhere(overlap)[0]]
    assert any("without an edge are not drawn" in t.get_text() for t in ax.texts) == (connected < p)
    assert any("the axes have no unit" in t.get_text() for t in ax.texts)


def test_every_variable_has_its_dot_of_one_colour_and_the_caption_says_what_its_size_means():
    graph = random_graph(90, 120, 4)
    graph = graph.subgraph(np.flatnonzero(graph.degrees()))
    ax = drawn(graph)
    xy, radius = place_dots(graph)
    (dots,) = (c for c in ax.collections if type(c) is PathCollection and not is_of_arrowheads(c))
    assert np.array_equal(dots.get_offsets(), xy)
    assert np.allclose(dots.get_sizes(), (2 * 72 * radius) ** 2)
    assert len(dots.get_facecolor()) == 1
    assert any("larger dots have more neighbours" in t.get_text() for t in ax.texts)


@pytest.mark.parametrize(("p", "edges"), [(100, 120), (100, 200), (300, 320)])
def test_no_label_covers_an_arrowhead(p, edges):
    ax = drawn(random_graph(p, edges, p), [f"variable {i}" for i in range(p)])
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    labels = np.array([t.get_window_extent(renderer).extents for t in ax.texts if t.get_text().startswith("variable ")])
    heads = [path for c in ax.collections if is_of_arrowheads(c) for path in c.get_paths()]
    tips = np.concatenate([path.vertices.reshape(-1, 4, 2) for path in heads])
    assert len(tips) > edges / 2
    tips = ax.transData.transform(tips.reshape(-1, 2)).reshape(-1, 4, 2)
    low, high = tips.min(axis=1), tips.max(axis=1)
    covered = (labels[:, None, :2] < high - 0.5).all(axis=2) & (labels[:, None, 2:] > low + 0.5).all(axis=2)
    assert not covered.any()


@pytest.mark.parametrize(("p", "edges"), [(61, 60), (120, 150), (300, 320)])
def test_lines_cover_no_letters_of_the_names_of_dots(p, edges):
    ax = drawn(random_graph(p, edges, p), [f"variable {i}" for i in range(p)])
    lines = [c for c in ax.collections if type(c) is LineCollection]
    names = [t for t in ax.texts if t.get_text().startswith("variable ")]
    ends = np.concatenate([np.array(c.get_segments()) for c in lines if len(c.get_segments())])
    renderer, back = FigureCanvasAgg(ax.figure).get_renderer(), ax.transData.inverted()
    crossed = [network.crossed(*back.transform(t.get_window_extent(renderer).get_points()), ends).any() for t in names]
    assert np.mean(crossed) < 0.4  # most names lie where there is no line; behind the others the lines are interrupted
    for name in names:
        assert name.get_bbox_patch().get_facecolor() == (1, 1, 1, 1)
        assert name.get_zorder() > max(c.get_zorder() for c in ax.collections)


def test_lines_end_where_dots_and_arrowheads_cover_them():
    start, end = np.zeros((4, 2)), np.array([(3.0, 4.0), (0.3, 0.4), (0.03, 0.04), (0.0, 0.0)])
    lines = network._between_dots(start, end, np.full(4, 0.1), np.full(4, 0.2))
    assert np.allclose(lines[:, 0], [(0.06, 0.08), (0.06, 0.08), (0.03, 0.04), (0.0, 0.0)])
    assert np.allclose(lines[:, 1], [(2.88, 3.84), (0.18, 0.24), (0.03, 0.04), (0.0, 0.0)])


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
