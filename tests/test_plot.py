"""Plots: boxes do not overlap, arrows end at the right box, and files are reproducible."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.figure import Figure

from pycupc.plotting import overview, plot, save
from pycupc.plotting.draw import describe
from pycupc.plotting.layout import layout
from pycupc.sparse_graph import SparseGraph


def random_graph(p, edges, seed, codes=(1, 1, 2)):
    """A graph with `edges` edges of the three kinds, in equal shares."""
    rng = np.random.default_rng(seed)
    g = np.zeros((p, p), np.int8)
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((p, p), bool), 1)))[:edges]
    for k, (i, j) in enumerate(pairs):
        g[i, j] = codes[k % 3]
        if k % 3:
            g[j, i] = codes[k % 3]
    return g


def drawn(g, labels, **options):
    return plot(SparseGraph.from_dense(g), labels, ax=Figure(facecolor="white").add_axes((0, 0, 1, 1)), **options)


@pytest.mark.parametrize(("p", "edges"), [(2, 1), (5, 0), (12, 20), (40, 80), (60, 120)])
def test_boxes_do_not_overlap(p, edges):
    tail, head, kind = SparseGraph.from_dense(random_graph(p, edges, p)).edge_list()
    sizes = np.column_stack([np.linspace(0.3, 2.0, p), np.full(p, 0.27)])
    xy = layout(tail, head, kind == "directed", sizes)
    overlap = (sizes[:, None] + sizes[None]) / 2 - np.abs(xy[:, None] - xy[None]) > 1e-6
    overlap = overlap.all(axis=2) & ~np.eye(p, dtype=bool)
    assert not overlap.any(), np.argwhere(overlap)[:3]


def test_arrows_point_down_on_the_whole():
    g = np.zeros((6, 6), np.int8)
    g[np.arange(5), np.arange(1, 6)] = 1  # a chain 0 -> 1 -> ... -> 5
    tail, head, kind = SparseGraph.from_dense(g).edge_list()
    xy = layout(tail, head, kind == "directed", np.full((6, 2), 0.3))
    assert (xy[tail, 1] > xy[head, 1]).all()


def test_each_kind_of_edge_has_its_form_and_each_variable_its_label():
    from matplotlib.patches import FancyArrowPatch

    g = np.zeros((4, 4), np.int8)
    g[1, 0] = 1
    g[1, 2] = g[2, 1] = 1
    g[2, 3] = g[3, 2] = 2
    ax = drawn(g, ["one", "two", "three", "four"])
    arrows = [a for a in ax.patches if isinstance(a, FancyArrowPatch) and a.patchA is not None]
    texts = {t.get_text(): np.array(t.get_position()) for t in ax.texts}
    ends = {}
    for arrow in arrows:
        ends[type(arrow.get_arrowstyle()).__name__] = (arrow, arrow.patchA, arrow.patchB)
    assert set(ends) == {"CurveFilledB", "Curve", "CurveFilledAB"}  # one head, none, two
    _, start, stop = ends["CurveFilledB"]  # one -> two was set as [1, 0]: two --> one
    assert np.hypot(*(box_centre(start) - texts["two"])) < 0.02
    assert np.hypot(*(box_centre(stop) - texts["one"])) < 0.02
    assert ends["Curve"][0].get_linestyle() != ends["CurveFilledB"][0].get_linestyle()
    assert {"one", "two", "three", "four", "directed", "undirected", "bidirected"} <= set(texts)


def box_centre(patch):
    return np.array([patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2])


def test_overview_above_sixty_and_matrix_above_that(monkeypatch):
    g = random_graph(80, 100, 1)
    labels = [f"v{i}" for i in range(80)]
    ax = drawn(g, labels)
    named = [t for t in ax.texts if t.get_text() in labels]
    assert len(named) == 12
    assert any("without an edge are not drawn" in t.get_text() for t in ax.texts)
    monkeypatch.setattr(overview, "MAX_NETWORK", 10)
    ax = drawn(g, labels)
    assert ax.get_xlabel() == "to (column)"
    assert sum(len(c.get_offsets()) for c in ax.collections) == 34 + 2 * 33 + 2 * 33


def test_a_figure_takes_the_size_of_the_drawing_only_if_the_axes_fill_it():
    g = random_graph(12, 20, 12)
    assert tuple(drawn(g, list("abcdefghijkl")).figure.get_size_inches()) != (6.4, 4.8)
    for host in (Figure(figsize=(8, 4)), Figure(figsize=(8, 4)).subfigures()):
        ax = plot(SparseGraph.from_dense(g), list("abcdefghijkl"), ax=host.add_axes((0, 0, 1, 0.5)))
        assert tuple(host.figure.get_size_inches()) == (8, 4)
        assert 0 < ax.texts[0].get_fontsize() < 9


def test_labels_are_text_and_nothing_else():
    labels = ["$\\frac$", "a$b$c", "two\nlines", "x" * 40, "_under_"]
    ax = drawn(random_graph(5, 6, 3), labels)
    ax.figure.canvas.draw()  # mathematics that does not parse would raise here
    assert {"$\\frac$", "a$b$c", "two lines", "x" * 13 + "\u2026" + "x" * 13} <= {t.get_text() for t in ax.texts}


@pytest.mark.parametrize("p", [1, 3, 61, 70])
def test_graphs_without_edges_are_drawn(p, tmp_path):
    save(SparseGraph.from_dense(np.zeros((p, p), np.int8)), [f"v{i}" for i in range(p)], tmp_path / "g.png")
    assert (tmp_path / "g.png").stat().st_size > 1000


def test_files_in_every_format_and_the_same_each_time(tmp_path):
    g, labels = random_graph(10, 15, 2), [f"variable {i} & <co>" for i in range(10)]
    for run in "ab":
        save(SparseGraph.from_dense(g), labels, *[tmp_path / f"{run}.{ending}" for ending in ("png", "svg", "pdf")])
    for ending, magic in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        first = (tmp_path / f"a.{ending}").read_bytes()
        assert first.startswith(magic)
        assert first == (tmp_path / f"b.{ending}").read_bytes()
    assert "variable 3 &amp; &lt;co&gt;" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("p", "edges", "text"),
    [
        (2, 1, "2 variables, 1 edge, all directed"),
        (5, 0, "5 variables, 0 edges"),
        (6, 5, "6 variables, 5 edges: 2 directed, 2 undirected, 1 bidirected"),
    ],
)
def test_describe(p, edges, text):
    assert describe(SparseGraph.from_dense(random_graph(p, edges, p))) == text
