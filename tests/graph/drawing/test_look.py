"""Options of pictures: groups, tiers, paths, size; and which options are refused."""

import numpy as np
import pytest
from drawn_graphs import drawn, four, is_of_arrowheads, random_graph
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from pycupc.graph.drawing import plot
from pycupc.graph.sparse import SparseGraph


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
