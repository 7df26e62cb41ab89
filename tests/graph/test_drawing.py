"""Plots: boxes do not overlap, arrows end at the right box, files are reproducible; thousands of lines and dots."""

import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from pycupc.graph.drawing import describe, draw, network, plot, save, shapes, tikz_of
from pycupc.graph.drawing.layout import layout
from pycupc.graph.drawing.modules import modules_of
from pycupc.graph.drawing.network import place_dots
from pycupc.graph.drawing.routes import Routes
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


def drawn(graph, labels=None, **options):
    ax = Figure(facecolor="white").add_axes((0, 0, 1, 1))
    return plot(graph, labels or [f"v{i}" for i in range(graph.p)], ax=ax, **options)


@pytest.mark.parametrize(("p", "edges"), [(2, 1), (5, 0), (12, 20), (40, 80), (60, 120)])
def test_boxes_do_not_overlap(p, edges):
    graph = random_graph(p, edges, p)
    sizes = np.column_stack([np.linspace(0.3, 2.0, p), np.full(p, 0.27)])
    xy = layout(graph, sizes)
    overlap = (sizes[:, None] + sizes[None]) / 2 - np.abs(xy[:, None] - xy[None]) > 1e-6
    overlap = overlap.all(axis=2) & ~np.eye(p, dtype=bool)
    assert not overlap.any(), np.argwhere(overlap)[:3]


def acyclic(p, m, seed):
    """The arrows of a random graph without cycles: tail < head."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((p, p), bool), 1)))[:m]
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize(("p", "m"), [(2, 1), (9, 14), (30, 40), (60, 90), (60, 180)])
def test_up_to_60_variables_every_arrow_points_down_unless_it_closes_a_cycle(p, m):
    tail, head = acyclic(p, m, p + m)
    sizes = np.column_stack([np.linspace(0.3, 1.5, p), np.full(p, 0.27)])
    xy = layout_of(tail, head, np.ones(m, bool), sizes)
    assert (xy[tail, 1] > xy[head, 1] + 0.27).all()
    assert np.array_equal(xy, layout_of(tail, head, np.ones(m, bool), sizes))
    mixed = np.arange(m) % 3 > 0  # the others are undirected, and force no ranks
    xy = layout_of(tail, head, mixed, sizes)
    assert (xy[tail, 1] > xy[head, 1])[mixed].all()


def test_an_undirected_edge_does_not_run_through_the_boxes_of_its_rank():
    tail, head = np.array([0, 1, 2, 0]), np.array([3, 3, 3, 2])
    xy = layout_of(tail, head, np.array([True, True, True, False]), np.full((4, 2), 0.3))
    assert xy[0, 1] != xy[2, 1]
    assert (xy[tail[:3], 1] > xy[head[:3], 1]).all()


def finely(line):
    """Points on a line, at most a hundredth of it apart."""
    return np.concatenate([line[:-1] + (line[1:] - line[:-1]) * k / 20 for k in range(20)])


def crossed_boxes(graph, xy, sizes):
    """The edges that run through the box of another variable."""
    routes, found = Routes(xy, sizes), []
    tail, head, _ = graph.edge_list()
    for u, v in zip(tail.tolist(), head.tolist(), strict=True):
        points = finely(routes.curve(u, v))
        inside = (np.abs(points[:, None] - xy) < sizes / 2).all(axis=2).any(axis=0)
        inside[[u, v]] = False
        found += [(u, v, w) for w in np.flatnonzero(inside).tolist()]
    return found


@pytest.mark.parametrize(("p", "edges"), [(12, 20), (30, 60), (60, 60), (60, 180)])
def test_no_edge_crosses_the_name_of_another_variable(p, edges):
    graph = random_graph(p, edges, p)
    sizes = np.column_stack([np.random.default_rng(p).uniform(0.5, 2.2, p), np.full(p, 0.27)])
    assert crossed_boxes(graph, layout(graph, sizes), sizes) == []


def test_edges_bend_around_boxes_and_stay_within_the_picture():
    xy, sizes = np.array([(0, 3), (-0.3, 2), (0.6, 1), (0, 0.0), (-3, 0), (3, 3)]), np.tile([1.0, 0.3], (6, 1))
    around = Routes(xy, sizes).curve(0, 3)  # left of one box and right of the other
    assert not ((np.abs(around[:, None] - xy[1:3]) < sizes[1:3] / 2).all(axis=2)).any()
    tail, head = acyclic(60, 180, 3)
    sizes = np.tile([0.8, 0.27], (60, 1))
    xy = layout_of(tail, head, np.ones(180, bool), sizes)
    routes = Routes(xy, sizes)
    ends = np.concatenate([routes.curve(u, v) for u, v in zip(tail, head, strict=True)])
    assert (ends >= (xy - sizes / 2).min(axis=0) - 0.15).all()
    assert (ends <= (xy + sizes / 2).max(axis=0) + 0.15).all()


def test_where_no_curve_is_free_an_edge_goes_around_the_corners_of_boxes():
    wall = [(x, 1.0) for x in (-2.4, -1.2, 0.0, 1.2, 2.4)]  # without a gap
    xy = np.array([(0, 2), (0, 0.0), *wall])
    sizes = np.tile([1.2, 0.3], (len(xy), 1))
    routes = Routes(xy, sizes)
    assert routes._bend(0, 1) is None
    points = finely(routes.curve(0, 1))
    assert not ((np.abs(points[:, None] - xy[2:]) < sizes[2:] / 2).all(axis=2)).any()
    assert distance(points[0], (xy[0] - sizes[0] / 2, xy[0] + sizes[0] / 2)) < 0.04
    assert distance(points[-1], (xy[1] - sizes[1] / 2, xy[1] + sizes[1] / 2)) < 0.04


def test_small_components_lie_in_the_gaps_beside_large_ones_and_none_overlap():
    tail = np.array([0, 0, 0, 0, 1, 6, 7, 9])  # a tree that is wide above and narrow below, and two small components
    head = np.array([1, 2, 3, 4, 5, 7, 8, 10])
    sizes = np.tile([1.0, 0.27], (11, 1))
    xy = layout_of(tail, head, np.ones(8, bool), sizes)
    assert np.ptp(xy[:, 1]) < 3.6  # in rows they took 4.6
    overlap = ((sizes[:, None] + sizes[None]) / 2 - np.abs(xy[:, None] - xy[None]) > 1e-6).all(axis=2)
    assert not (overlap & ~np.eye(11, dtype=bool)).any()


def test_variables_without_an_edge_are_named_in_a_line_of_text():
    g = np.zeros((5, 5), np.int8)
    g[0, 1] = 1
    ax = drawn(SparseGraph.from_dense(g), ["a", "b", "alone", "$x", "last"])
    assert {"a", "b", "without an edge: alone, $x, last"} <= {t.get_text() for t in ax.texts}
    assert set(boxes_of(ax)) == {"a", "b"}
    ax = drawn(SparseGraph.from_dense(g), ["a", "b", "alone", "c", "d"], around="alone")
    assert set(boxes_of(ax)) == {"alone"}  # which is highlighted


def test_one_arrow_of_a_cycle_points_up():
    tail, head = np.array([0, 1, 2, 3, 1]), np.array([1, 2, 3, 0, 4])
    xy = layout_of(tail, head, np.ones(5, bool), np.full((5, 2), 0.3))
    assert (xy[tail, 1] < xy[head, 1]).sum() == 1


def test_layers_are_ordered_so_that_arrows_need_not_cross():
    tail, head = (
        np.array([0, 1, 2, 3, 8, 8, 8, 8]),
        np.array([7, 5, 4, 6, 0, 1, 2, 3]),
    )  # a tree with leaves in disorder
    xy = layout_of(tail, head, np.ones(8, bool), np.full((9, 2), 0.3))
    assert len(set(xy[:, 1].tolist())) == 3
    assert np.array_equal(np.argsort(xy[[0, 1, 2, 3], 0]), np.argsort(xy[[7, 5, 4, 6], 0]))


def test_wide_layers_are_several_rows_so_that_a_star_fits_a_page():
    xy = layout_of(np.zeros(59, int), np.arange(1, 60), np.ones(59, bool), np.tile([1.2, 0.27], (60, 1)))
    assert len(set(xy[:, 1].tolist())) > 3
    assert np.ptp(xy[:, 0]) < 59 * 1.2 / 2


def is_of_arrowheads(collection):
    return type(collection) is PathCollection and not len(collection.get_sizes())  # not the dots of variables


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


def distance(xy, box):
    return np.hypot(*np.maximum(np.maximum(box[0] - xy, xy - box[1]), 0))


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


@pytest.mark.parametrize("p", [9, 100])
def test_circles_touch_their_variables(p):
    """All nine pairs of marks, among boxes and among dots: as many circles, arrowheads and plain ends as there are."""
    amat = np.zeros((p, p), int)
    for k, (i, j) in enumerate(combinations(range(p) if p == 9 else range(0, p, 4), 2)):
        if k < 9 * (p // 5):
            amat[i, j], amat[j, i] = 1 + k % 3, 1 + k // 3 % 3
    graph = SparseGraph.from_amat_pag(amat)
    ax = drawn(graph)
    heads, rings = drawn_marks(ax)
    tips = heads[:, 0]
    if p == 9:
        boxes = boxes_of(ax).values()
        tips, rings = ([xy for xy in at if min(distance(xy, box) for box in boxes) < 0.08] for at in (tips, rings))
    else:
        assert any("two circles: nondirected; one circle: partially undirected" in t.get_text() for t in ax.texts)
    assert len(rings) == (amat == 1).sum()  # the others are in the legend
    assert len(tips) == (amat == 2).sum()


def box_centre(patch):
    low, high = patch.get_path().get_extents().get_points()
    return (low + high) / 2


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


def test_beyond_300_the_overview_names_hubs_and_says_what_its_axes_are(monkeypatch):
    g = random_graph(400, 500, 1)
    labels = [f"v{i}" for i in range(400)]
    ax = drawn(g)
    named = [labels.index(t.get_text()) for t in ax.texts if t.get_text() in labels]
    assert 12 <= len(named) <= 24
    assert g.degrees()[named].min() >= np.sort(g.degrees())[-24]
    assert any("the axes have no unit" in t.get_text() for t in ax.texts)
    monkeypatch.setattr(draw, "MAX_NETWORK", 10)
    ax = drawn(g)
    assert "position of the variable an edge goes to (column)" in ax.get_xlabel()
    assert "reverse Cuthill-McKee" in ax.get_xlabel()
    assert "comes from (row)" in ax.get_ylabel()


def test_the_pattern_of_the_matrix_has_a_cell_for_each_arrow():
    graph = random_graph(90, 300, 5)
    image = draw.matrix_image(graph, np.arange(90))
    assert image.shape == (90, 90, 3)
    drawn_in = (image < 1).any(axis=2)
    assert (drawn_in == (graph.dense() > 0)).all()  # row to column, both cells of what has no or two arrowheads


@pytest.mark.parametrize(("p", "edges"), [(60, 1_770), (600, 178_860), (3_000, 9_000), (40_000, 60_000)])
def test_a_picture_of_any_graph_is_drawn(p, edges, tmp_path):
    pairs = np.unique(np.random.default_rng(p).integers(0, p * p, int(1.4 * edges)))
    if edges * 2.5 > p * (p - 1) / 2:  # nearly complete graphs
        pairs = np.flatnonzero(np.triu(np.ones((p, p), bool), 1))
    low, high = np.minimum(pairs // p, pairs % p), np.maximum(pairs // p, pairs % p)
    pairs = np.unique((low * p + high)[low < high])
    pairs = np.sort(np.random.default_rng(0).permutation(pairs)[:edges])
    graph = SparseGraph.undirected(p, pairs // p, pairs % p)
    save(graph, [f"v{i}" for i in range(p)], tmp_path / "g.png")
    assert (tmp_path / "g.png").stat().st_size > 10_000


def test_a_neighbourhood_is_labelled_and_its_centre_highlighted():
    from matplotlib.colors import to_rgb

    g = random_graph(400, 500, 1)
    labels = [f"v{i}" for i in range(400)]
    ax = drawn(g, around="v7", radius=2)
    near = g.around([7], 2)
    assert {t.get_text() for t in ax.texts} >= {labels[v] for v in near}
    assert not {t.get_text() for t in ax.texts} & {labels[v] for v in set(range(400)) - set(near.tolist())}
    highlighted = [b for b in ax.patches if b.get_facecolor()[:3] == to_rgb("#f2c14e")]
    text = next(t for t in ax.texts if t.get_text() == "v7")
    assert len(highlighted) == 1
    assert np.hypot(*(box_centre(highlighted[0]) - text.get_position())) < 0.02
    assert any(t.get_text().startswith("v7 and what is within 2 edges") for t in ax.texts)


def test_a_large_neighbourhood_keeps_the_nearest():
    star = SparseGraph.undirected(500, np.zeros(499, int), np.arange(1, 500))
    ax = drawn(star, around=["v3", 4], radius=2)
    assert {"v0", "v3", "v4"} <= {t.get_text() for t in ax.texts}
    assert any("the nearest 60 of 500 variables" in t.get_text() for t in ax.texts)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"around": "tp53"}, "no variable 'tp53'; similar: TP53"),
        ({"around": 9}, "variables are 0 to 2, got 9"),
        ({"around": []}, "must name a variable"),
        ({"around": "TP53", "radius": -1}, "radius must be a number of edges, 0 or more, got -1"),
    ],
)
def test_a_wrong_neighbourhood_is_refused(options, text):
    with pytest.raises(ValueError, match=text):
        drawn(SparseGraph.undirected(3, [], []), ["TP53", "MYC", "EGFR"], **options)


@pytest.mark.parametrize("p", [700, 3_000])
def test_large_layouts_put_neighbours_near_each_other(p):
    rng = np.random.default_rng(p)
    tail = np.array([int(rng.integers(max(0, i - 9), i)) for i in range(1, p)])  # a tree
    head = np.arange(1, p)
    sizes = np.full((p, 2), 0.08)
    xy = layout_of(tail, head, np.ones(p - 1, bool), sizes, spacing=0.4)
    assert np.isfinite(xy).all()
    length = np.hypot(*(xy[tail] - xy[head]).T)
    others = rng.permutation(p)[: len(tail)]
    assert np.median(length) < 0.2 * np.median(np.hypot(*(xy[tail] - xy[others]).T))
    assert np.array_equal(xy, layout_of(tail, head, np.ones(p - 1, bool), sizes, spacing=0.4))


@pytest.mark.parametrize("hubs", [1, 20])
def test_the_neighbours_of_hubs_stay_near_them(hubs):
    tail, head = np.repeat(np.arange(hubs), 1000), np.tile(np.arange(hubs, hubs + 1000), hubs)
    xy = layout_of(tail, head, np.ones(len(tail), bool), np.full((hubs + 1000, 2), 0.08), spacing=0.42)
    assert np.ptp(xy, axis=0).max() < 12  # inches; 1,000 dots at this spacing fill a square of 13
    close = np.hypot(*(xy[:, None] - xy[None]).T) < 0.08
    assert np.triu(close, 1).sum() < 1000  # each was near 999 others


def test_a_figure_takes_the_size_of_the_drawing_only_if_the_axes_fill_it():
    g = random_graph(12, 20, 12)
    assert tuple(drawn(g, list("abcdefghijkl")).figure.get_size_inches()) != (6.4, 4.8)
    for host in (Figure(figsize=(8, 4)), Figure(figsize=(8, 4)).subfigures()):
        ax = plot(g, list("abcdefghijkl"), ax=host.add_axes((0, 0, 1, 0.5)))
        assert tuple(host.figure.get_size_inches()) == (8, 4)
        assert 0 < ax.texts[0].get_fontsize() < 9


def test_labels_are_text_and_nothing_else():
    labels = ["$\\frac$", "a$b$c", "two\nlines", "x" * 40, "_under_"]
    ax = drawn(random_graph(5, 6, 3), labels)
    ax.figure.canvas.draw()  # mathematics that does not parse would raise here
    assert {"$\\frac$", "a$b$c", "two lines", "x" * 13 + "\u2026" + "x" * 13} <= {t.get_text() for t in ax.texts}


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


@pytest.mark.parametrize("p", [1, 3, 61, 70])
def test_graphs_without_edges_are_drawn(p, tmp_path):
    save(SparseGraph.undirected(p, [], []), [f"v{i}" for i in range(p)], tmp_path / "g.png")
    assert (tmp_path / "g.png").stat().st_size > 1000


def test_files_in_every_format_and_the_same_each_time(tmp_path):
    g, labels = random_graph(10, 15, 2), [f"variable {i} & <co>" for i in range(10)]
    for run in "ab":
        save(g, labels, *[tmp_path / f"{run}.{ending}" for ending in ("png", "svg", "pdf")])
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert (b"/FontFile2" in pdf, b"/Type3" in pdf) == (True, False)  # TrueType, which editors and journals take
    for ending, magic in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        first = (tmp_path / f"a.{ending}").read_bytes()
        assert first.startswith(magic)
        assert first == (tmp_path / f"b.{ending}").read_bytes()
    assert "variable 3 &amp; &lt;co&gt;" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("p", "edges", "text"),
    [
        (1, 0, "1 variable, 0 edges"),
        (2, 1, "2 variables, 1 edge, all directed"),
        (5, 0, "5 variables, 0 edges"),
        (6, 5, "6 variables, 5 edges: 2 directed, 2 undirected, 1 bidirected"),
        (2_000, 3, "2,000 variables, 3 edges: 1 directed, 1 undirected, 1 bidirected"),
    ],
)
def test_describe(p, edges, text):
    assert describe(random_graph(p, edges, p)) == text


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
    ax = drawn(graph, strength=strength)
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


def four():
    """a --> b --> c, a --- d, and e without an edge."""
    g = np.zeros((5, 5), np.int8)
    g[0, 1] = g[1, 2] = g[0, 3] = g[3, 0] = 1
    return SparseGraph.from_dense(g), list("abcde")


def test_groups_differ_in_colour_and_form_and_are_named():
    graph, labels = four()
    ax = drawn(graph, labels, groups={"first": ["a", "b"], "second": ["c"]})
    fills = {tuple(patch.get_facecolor()): type(patch.get_path()) for patch in ax.patches}
    assert len(fills) == 3  # two groups, and d, which has none
    assert {"first", "second"} <= {t.get_text() for t in ax.texts}
    assert not {"first", "second"} & {
        t.get_text() for t in drawn(graph, labels, groups=["first"] * 4 + [None], legend=False).texts
    }
    vertices = {len(patch.get_path().vertices) for patch in drawn(graph, labels, groups=list("wxyz") + [None]).patches}
    assert len(vertices) > 1  # the fourth has its corners cut off
    large = random_graph(90, 120, 4)
    ax = drawn(large, groups=[str(i % 3) for i in range(90)])
    dots = [c for c in ax.collections if type(c) is PathCollection and not is_of_arrowheads(c) and c.get_zorder() == 3]
    assert len({len(c.get_paths()[0].vertices) for c in dots}) >= 2
    assert len({tuple(c.get_facecolor()[0]) for c in dots}) == 3


def test_variables_without_a_tier_are_the_last_row():
    graph, labels = random_graph(20, 30, 1), [f"v{i}" for i in range(20)]
    tier = [None if i % 3 == 2 else i % 3 for i in range(20)]
    texts = drawn(graph, labels, tiers=tier).texts
    at = {t.get_text(): t.get_position()[1] for t in texts if t.get_text() in labels}
    rows = [[at[f"v{i}"] for i in range(20) if tier[i] == k and f"v{i}" in at] for k in (0, 1, None)]
    assert min(rows[0]) > max(rows[1]) > min(rows[1]) > max(rows[2])
    assert {t.get_text() for t in texts} - set(labels) >= {"tier 1", "tier 2", "no tier"}


def test_tiers_are_rows_the_earliest_above():
    graph, labels = random_graph(20, 30, 1), [f"v{i}" for i in range(20)]
    tier = np.arange(20) % 3
    ax = drawn(graph, labels, tiers=tier)
    at = {t.get_text(): t.get_position()[1] for t in ax.texts if t.get_text() in labels}
    rows = [[at[f"v{i}"] for i in range(20) if tier[i] == k and f"v{i}" in at] for k in range(3)]
    assert min(rows[0]) > max(rows[1]) > min(rows[1]) > max(rows[2])
    assert {"tier 1", "tier 2", "tier 3"} <= {t.get_text() for t in ax.texts}
    by_lists = drawn(graph, labels, tiers=[[labels[i] for i in range(20) if tier[i] == k] for k in range(3)])
    assert {t.get_text(): t.get_position()[1] for t in by_lists.texts if t.get_text() in labels} == at


def test_paths_are_highlighted():
    graph, labels = four()
    ax = drawn(graph, labels, paths=[["a", "b", "c"]])
    halos = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_zorder() == 0.5]
    assert sum(len(c.get_segments()) for c in halos) == 2
    assert halos[0].get_linewidth()[0] > 4


def test_a_picture_without_title_and_legend_of_a_given_size():
    graph, labels = four()
    ax = drawn(graph, labels, title=False, legend=False, figsize=(3.5, 2.5))
    assert tuple(ax.figure.get_size_inches()) == (3.5, 2.5)
    assert {t.get_text() for t in ax.texts} == {*"abcd", "without an edge: e"}
    larger = drawn(graph, labels, figsize=(7, 5))
    size = {t.get_text(): t.get_fontsize() for t in larger.texts}
    assert size["a"] > next(t.get_fontsize() for t in ax.texts if t.get_text() == "a")
    figure = Figure(figsize=(8, 4))
    with pytest.raises(ValueError, match="figsize is the size of a new figure: leave out ax"):
        plot(graph, labels, ax=figure.add_subplot(1, 2, 1), figsize=(3, 3))


def test_a_subplot_takes_the_shape_in_which_the_text_is_largest():
    graph, labels = random_graph(30, 40, 3), [f"variable {i}" for i in range(30)]
    figure = Figure(figsize=(12, 6))
    first, second = (plot(graph, labels, ax=figure.add_subplot(1, 2, k + 1)) for k in (0, 1))
    assert first.texts[0].get_fontsize() == second.texts[0].get_fontsize() > 3.8
    wide = (np.ptp(first.get_xlim()) / np.ptp(first.get_ylim()), 12 * first.get_position().width)
    assert wide[0] == pytest.approx(wide[1] / (6 * first.get_position().height))  # the drawing fills the axes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"groups": {"x": ["q"]}}, "groups: there is no variable 'q'"),
        ({"groups": {"x": ["a"], "y": ["a"]}}, "groups must not share a variable, got 'a' in 'y' again"),
        ({"groups": ["x"]}, "a sequence of 5 names, one for each variable .* got list of length 1"),
        ({"groups": "abcde"}, "groups must map names to variables, .* got str"),
        ({"tiers": [1, 2]}, "tiers must have a number for each of the 5 variables, None for one without a tier, got 2"),
        ({"paths": [["a", "c"]]}, "paths must follow edges, got 'a' and 'c', which are not adjacent"),
        ({"paths": ["ab"]}, "paths must be a sequence of paths"),
        ({"title": True}, "title must be a text, None for the usual one or False for none"),
        ({"figsize": (0, 1)}, "figsize must be a width and a height in inches"),
    ],
)
def test_wrong_options_of_a_picture_are_refused(options, text):
    graph, labels = four()
    with pytest.raises(ValueError, match=text):
        drawn(graph, labels, **options)


def test_options_that_a_large_picture_cannot_show_are_refused():
    graph = random_graph(90, 120, 4)
    with pytest.raises(ValueError, match="tiers are drawn as rows of at most 60 variables, got 90"):
        drawn(graph, tiers=[0] * 90)
    chain = SparseGraph.undirected(3_500, np.arange(3_499), np.arange(1, 3_500))
    with pytest.raises(ValueError, match="groups and paths are drawn of at most 3,000 variables"):
        drawn(chain, paths=[[0, 1]])


def test_modules_of_a_large_graph_lie_apart_and_their_hubs_are_named():
    rng = np.random.default_rng(2)
    hub, low, high = [40 * k for k in range(16)], [], []
    for h in hub:
        low += [h] * 39 + rng.integers(h, h + 40, 30).tolist()
        high += [*range(h + 1, h + 40), *rng.integers(h, h + 40, 30).tolist()]
    low += hub[:-1]
    high += [h + 1 for h in hub[1:]]
    pairs = np.unique(np.sort(np.column_stack([low, high]), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    graph = SparseGraph.undirected(640, *pairs.T)
    module = modules_of(graph)
    assert len(np.unique(module)) == 16
    assert all(len(set(module[h : h + 40].tolist())) == 1 for h in hub)
    ax = drawn(graph)
    assert {f"v{h}" for h in hub} <= {t.get_text() for t in ax.texts}
    assert any("areas: modules" in t.get_text() for t in ax.texts)
    xy, _ = place_dots(graph, module)
    centre = np.array([xy[h : h + 40].mean(axis=0) for h in hub])
    nearest = np.linalg.norm(xy[:, None] - centre, axis=2).argmin(axis=1)
    assert (nearest == np.arange(640) // 40).mean() > 0.97
    assert modules_of(random_graph(700, 3_500, 1)) is None  # without structure there are none


def test_tikz_has_every_variable_edge_and_option(tmp_path):
    graph, labels = four()
    labels[0] = "a_1 & 50% {x}"
    text = tikz_of(graph, labels, groups={"first": ["b"]}, paths=[[labels[0], "b"]])
    assert r"{a\_1 \& 50\% \{x\}};" in text
    assert text.count(r"\node[named") == 4
    assert r"\draw[directed, on path] (v0) -- (v1);" in text
    assert text.count(r"\draw[") == 3
    assert "directed/.style={-{Stealth[length=2.6mm,width=2mm]}" in text
    assert "dashed" in text.partition("undirected/.style")[2].partition("\n")[0]
    assert "group1/.style" in text
    assert "without an edge: e" in text
    save(graph, labels, tmp_path / "g.tikz", tmp_path / "g.svg", groups={"first": ["b"]}, paths=[[labels[0], "b"]])
    assert (tmp_path / "g.tikz").read_text("utf-8") == text
    assert (tmp_path / "g.svg").exists()
    assert {line.count("{") - line.count("}") for line in text.splitlines()} == {0}
    dense = random_graph(60, 180, 60)
    curves = tikz_of(dense, [f"v{i}" for i in range(60)])
    assert curves.count(r"\draw[") == 180
    assert curves.count(".. controls") > 20
    assert "rounded corners=2mm] (v" in curves  # ways around boxes
    with pytest.raises(ValueError, match="TikZ holds at most 60 variables with an edge and 180 edges, got 61 and 60"):
        tikz_of(arrows(61, np.arange(60), np.arange(1, 61)), [f"v{i}" for i in range(61)])
    circles = tikz_of(SparseGraph.from_amat_pag(np.array([[0, 2], [1, 0]])), ["x", "y"])
    assert "{Circle[open,length=2mm]}-{Stealth[length=2.6mm,width=2mm]}" in circles


@pytest.mark.parametrize(("p", "edges"), [(12, 20), (90, 120), (400, 500)])
def test_shapes_for_other_programs_are_those_of_the_picture(p, edges):
    graph = random_graph(p, edges, p)
    found = shapes(graph, [f"v{i}" for i in range(p)], groups=["x"] * p)
    texts, numbers = found.texts, found.numbers
    drawn_there = int((graph.degrees() > 0).sum())
    assert texts["form"] == ("boxes" if p == 12 else "dots")
    assert len(texts["names"]) == len(numbers["x"]) == len(texts["fill"]) == drawn_there
    assert sum(map(bool, texts["names"])) == (24 if p == 400 else drawn_there)
    assert len(texts["alone"]) == p - drawn_there
    assert numbers["points"].size == 2 * numbers["length"].sum()
    assert len(numbers["length"]) == len(numbers["head_mark"]) == len(texts["colours"]) == len(graph)
    assert texts["groups"] == ["x"]
    with pytest.raises(ValueError, match="a picture holds at most 3,000 variables and 9,000 edges"):
        shapes(arrows(3_500, np.arange(3_499), np.arange(1, 3_500)), [f"v{i}" for i in range(3_500)])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_reads_it(tmp_path):
    labels = [r"a_1 & 50% {x} ~^ \\", *(f"v{i}" for i in range(1, 30))]
    groups = [f"group & {i % 5}" for i in range(30)]
    picture = tikz_of(random_graph(30, 50, 3), labels, groups=groups, paths=[])
    start = r"\documentclass{article}\usepackage{tikz}\usetikzlibrary{arrows.meta,shapes.misc}\begin{document}"
    (tmp_path / "g.tex").write_text(start + "\n" + picture + r"\end{document}", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "g.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-600:]


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
