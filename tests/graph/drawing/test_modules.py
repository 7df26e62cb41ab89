"""Modules of a large graph lie apart."""

import numpy as np
from drawn_graphs import drawn, random_graph

from pycupc.graph.drawing.modules import modules_of
from pycupc.graph.drawing.network import place_dots
from pycupc.graph.sparse import SparseGraph


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
