"""Plots of graphs of any size: marks, neighbourhoods, figures, reproducible files, crossings of thousands of lines."""

from itertools import combinations

import numpy as np
import pytest
from drawn_graphs import arrows, boxes_of, distance, drawn, drawn_marks, random_graph
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from pycupc.graph.drawing import describe, draw, plot, save
from pycupc.graph.sparse import SparseGraph


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


def test_a_figure_takes_the_size_of_the_drawing_only_if_the_axes_fill_it():
    g = random_graph(12, 20, 12)
    assert tuple(drawn(g, list("abcdefghijkl")).figure.get_size_inches()) != (6.4, 4.8)
    for host in (Figure(figsize=(8, 4)), Figure(figsize=(8, 4)).subfigures()):
        ax = plot(g, list("abcdefghijkl"), ax=host.add_axes((0, 0, 1, 0.5)))
        assert tuple(host.figure.get_size_inches()) == (8, 4)
        assert 0 < ax.texts[0].get_fontsize() < 9


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


def test_a_subplot_takes_the_shape_in_which_the_text_is_largest():
    graph, labels = random_graph(30, 40, 3), [f"variable {i}" for i in range(30)]
    figure = Figure(figsize=(12, 6))
    first, second = (plot(graph, labels, ax=figure.add_subplot(1, 2, k + 1)) for k in (0, 1))
    assert first.texts[0].get_fontsize() == second.texts[0].get_fontsize() > 3.8
    wide = (np.ptp(first.get_xlim()) / np.ptp(first.get_ylim()), 12 * first.get_position().width)
    assert wide[0] == pytest.approx(wide[1] / (6 * first.get_position().height))  # the drawing fills the axes
