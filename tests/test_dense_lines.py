"""Pictures of many lines: what Pillow draws where they are dense; dots are placed before directions are known."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pycupc.graph.drawing import layout, lines, rehearse, save
from pycupc.graph.drawing.network import place_dots
from pycupc.graph.explorer import place_early
from pycupc.graph.sparse import SparseGraph

INCHES, DPI = (3.0, 2.0), 100


def canvas_with(start, end, zoom=1.0, **style):
    """A canvas whose axes, of 3 by 2 inches, show these lines, and their artist."""
    figure = Figure(figsize=INCHES, dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, INCHES[0] / zoom), ylim=(0, INCHES[1] / zoom))
    style = {"edgecolors": "#1d3d5c", "linewidths": 0.72, "alpha": 0.5, **style}
    drawn = lines.Lines(np.array(start, float), np.array(end, float), **style)
    ax.add_collection(drawn, autolim=False)
    return canvas, drawn


def ink(canvas):
    """How much darker than white each pixel is, from 0 to 1 in blue, the brightest part of the colour."""
    canvas.draw()
    return 1 - np.asarray(canvas.buffer_rgba())[:, :, 2] / 255.0


@pytest.fixture
def dense_lines(monkeypatch):
    """Numbers of lines that Pillow drew."""
    seen = []
    pixels = lines.Lines._pixels
    monkeypatch.setattr(
        lines.Lines, "_pixels", lambda self, *rest: seen.append(len(self._moves)) or pixels(self, *rest)
    )
    return seen


@pytest.fixture
def drawn_by_pillow(dense_lines, monkeypatch):
    """The same; it draws however few there are."""
    monkeypatch.setattr(lines, "DENSE", 0.0)
    return dense_lines


def by_matplotlib(monkeypatch, *args, **style):
    with monkeypatch.context() as patch:
        patch.setattr(lines, "DENSE", np.inf)
        return ink(canvas_with(*args, **style)[0])


ANGLES = np.deg2rad([0, 3, 20, 45, 70, 90, 130, 177])
STAR = np.full((8, 2), (1.5, 1.0)) + 0.2 * np.c_[np.cos(ANGLES), np.sin(ANGLES)]
TIPS = np.full((8, 2), (1.5, 1.0)) + 0.9 * np.c_[np.cos(ANGLES), np.sin(ANGLES)]


@pytest.mark.parametrize("style", [{}, {"linewidths": 2.0, "alpha": 0.9}, {"alpha": 1.0, "linewidths": 0.3}])
def test_each_line_is_where_matplotlib_draws_it(style, drawn_by_pillow, monkeypatch):
    for start, end in zip(STAR, TIPS, strict=True):
        expected = by_matplotlib(monkeypatch, [start], [end], **style)
        found = ink(canvas_with([start], [end], **style)[0])
        # a line is lighter the nearer it is to a diagonal, by a factor of at most the root of 2
        assert 0.65 < found.sum() / expected.sum() < 1.1
        rows, columns = np.indices(found.shape) + 0.5
        x, y = (found * columns).sum() / found.sum(), len(found) - (found * rows).sum() / found.sum()
        assert np.abs((x, y) - DPI * (start + end) / 2).max() < 0.51  # in pixels; half of that is that of the grid
        near = sum(np.roll(expected, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        assert found[near == 0].max() == 0
    assert drawn_by_pillow == [1] * 8


def test_stronger_lines_are_wider_and_lie_above_weaker_ones(drawn_by_pillow):
    start, end = [(0.1, 1.005), (1.5, 0.1), (0.1, 0.505)], [(2.9, 1.005), (1.5, 1.9), (2.9, 0.505)]
    found = ink(canvas_with(start, end, linewidths=[2.16, 2.16, 0.72], alpha=[0.9, 0.3, 0.3])[0])
    strong, weak = found[90:110, 50].sum(), found[140:160, 50].sum()
    assert strong / weak == pytest.approx(9, rel=0.15)  # three times as wide, three times as dark
    assert found[98, 150] == pytest.approx(found[98, 50], abs=0.01)  # where they cross, the strong one
    assert drawn_by_pillow == [3]


def test_crossings_are_no_darker_than_a_line_so_that_arrowheads_can_be_seen(monkeypatch):
    rng = np.random.default_rng(0)
    ends = rng.uniform(0.1, 0.9, (2, 600, 2)) * INCHES
    found = ink(canvas_with(*ends)[0])
    alone = ink(canvas_with([(0.1, 1.005)], [(2.9, 1.005)])[0]).max()
    crowded = found[80:120, 120:180]
    assert alone / 2 < np.median(crowded) <= found.max() <= alone + 0.01
    assert np.median(by_matplotlib(monkeypatch, *ends)[80:120, 120:180]) > 1.5 * alone


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("dashed", {"linestyles": [(0, (5, 3))]}),
        ("beyond the picture", {"zoom": 2.0}),
        ("invisible", {"visible": False}),
    ],
)
def test_other_lines_are_those_of_matplotlib(what, options, drawn_by_pillow, monkeypatch):
    assert np.array_equal(ink(canvas_with(STAR, TIPS, **options)[0]), by_matplotlib(monkeypatch, STAR, TIPS, **options))
    assert drawn_by_pillow == [], what


def test_few_lines_are_those_of_matplotlib_and_no_lines_are_nothing(monkeypatch):
    assert np.array_equal(ink(canvas_with(STAR, TIPS)[0]), by_matplotlib(monkeypatch, STAR, TIPS))
    assert ink(canvas_with(np.zeros((0, 2)), np.zeros((0, 2)))[0]).max() == 0


def hairball(p, edges, seed=0):
    """A graph whose edges are directed, and the same without directions."""
    pairs = np.sort(np.random.default_rng(seed).integers(0, p, (edges, 2)), axis=1)
    low, high = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).T
    return SparseGraph(p, low, high, np.ones(len(low), np.int8), np.zeros(len(low), np.int8)), SparseGraph.undirected(
        p, low, high
    )


def test_a_dense_picture_is_drawn_by_pillow_and_vector_files_keep_their_lines(tmp_path, dense_lines):
    graph, _ = hairball(700, 2500)
    labels = [f"v{i}" for i in range(700)]
    save(graph, labels, tmp_path / "g.png")
    assert dense_lines == [len(graph)]
    save(graph, labels, tmp_path / "g.svg", tmp_path / "g.pdf")
    assert dense_lines == [len(graph)]
    text = (tmp_path / "g.svg").read_text(encoding="utf-8")
    assert "<image" not in text
    assert text.count("stroke-opacity: 0.55") >= len(graph)


def test_a_picture_is_the_same_after_a_rehearsal(tmp_path):
    graph, _ = hairball(700, 2500)
    labels = [f"v{i}" for i in range(700)]
    for name in ("a", "b"):
        save(graph, labels, tmp_path / f"{name}.png")
        rehearse()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.fixture
def placed(monkeypatch):
    """Numbers of nodes of the components whose distances were computed, from empty caches on."""
    layout._placed.cache_clear()
    layout._dots.cache_clear()
    sizes = []
    monkeypatch.setattr(
        layout,
        "stress_layout",
        lambda start, *rest, _real=layout.stress_layout, **options: (
            sizes.append(len(start) - 1) or _real(start, *rest, **options)
        ),
    )
    return sizes


def test_dots_are_placed_before_directions_are_known(placed):
    graph, skeleton = hairball(700, 1500)
    expected = place_dots(graph)[0]
    n = len(placed)
    assert n
    layout._placed.cache_clear()
    layout._dots.cache_clear()
    place_early(skeleton)
    assert len(placed) == 2 * n
    assert np.array_equal(place_dots(graph)[0], expected)
    assert len(placed) == 2 * n  # nothing was left to do but turning them


@pytest.mark.parametrize(("p", "edges"), [(600, 900), (5_001, 6_000), (1_000, 22_000)])
def test_small_graphs_and_those_that_no_page_shows_are_not_placed_early(p, edges, placed):
    place_early(hairball(p, edges)[1])
    assert placed == []


def test_components_of_any_size_of_a_large_graph_are_placed_without_overlaps():
    rng = np.random.default_rng(0)
    sizes, start, tail = [2, 3, 5, 20, 90, 200, 400], 0, []
    for k in sizes:
        tail += [start + int(rng.integers(max(0, i - 3), i)) for i in range(1, k)]  # a tree
        start += k
    head = np.setdiff1d(np.arange(start), np.cumsum([0, *sizes[:-1]]))
    graph = SparseGraph(start, np.array(tail), head, np.ones(len(head), np.int8), np.zeros(len(head), np.int8))
    xy, radius = place_dots(graph)
    a, b = layout.close_pairs(*xy.T, 2 * radius.max())
    overlapping = np.hypot(*(xy[a] - xy[b]).T) < radius[a] + radius[b]
    assert overlapping.sum() <= 0.01 * start
    length = np.hypot(*(xy[tail] - xy[head]).T)
    assert np.percentile(length, 95) < 0.9  # inches, where neighbours should be 0.42 apart
