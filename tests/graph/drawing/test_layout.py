"""Positions: boxes do not overlap, arrows point down, neighbours lie near each other."""

import numpy as np
import pytest
from drawn_graphs import acyclic, layout_of, random_graph

from pycupc.graph.drawing.layout import layout


@pytest.mark.parametrize(("p", "edges"), [(2, 1), (5, 0), (12, 20), (40, 80), (60, 120)])
def test_boxes_do_not_overlap(p, edges):
    graph = random_graph(p, edges, p)
    sizes = np.column_stack([np.linspace(0.3, 2.0, p), np.full(p, 0.27)])
    xy = layout(graph, sizes)
    overlap = (sizes[:, None] + sizes[None]) / 2 - np.abs(xy[:, None] - xy[None]) > 1e-6
    overlap = overlap.all(axis=2) & ~np.eye(p, dtype=bool)
    assert not overlap.any(), np.argwhere(overlap)[:3]


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


def test_small_components_lie_in_the_gaps_beside_large_ones_and_none_overlap():
    tail = np.array([0, 0, 0, 0, 1, 6, 7, 9])  # a tree that is wide above and narrow below, and two small components
    head = np.array([1, 2, 3, 4, 5, 7, 8, 10])
    sizes = np.tile([1.0, 0.27], (11, 1))
    xy = layout_of(tail, head, np.ones(8, bool), sizes)
    assert np.ptp(xy[:, 1]) < 3.6  # in rows they took 4.6
    overlap = ((sizes[:, None] + sizes[None]) / 2 - np.abs(xy[:, None] - xy[None]) > 1e-6).all(axis=2)
    assert not (overlap & ~np.eye(11, dtype=bool)).any()


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
