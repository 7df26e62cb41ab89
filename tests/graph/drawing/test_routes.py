"""The curves of edges: around the boxes of other variables, within the picture."""

import numpy as np
import pytest
from drawn_graphs import acyclic, distance, layout_of, random_graph

from pycupc.graph.drawing.layout import layout
from pycupc.graph.drawing.routes import Routes


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
