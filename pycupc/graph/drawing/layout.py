"""Positions of the boxes or dots of a drawing: layers, or a stress layout, per component; the components packed.

Everything is deterministic: the same graph is drawn the same way on every machine. Lengths are in inches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.layered import ASPECT, layered_layout
from pycupc.graph.drawing.modules import modular_layout
from pycupc.graph.drawing.stress import stress_layout
from pycupc.graph.sparse import DIRECTED, SparseGraph

Floats = NDArray[np.float64]


def layout(
    graph: SparseGraph,
    sizes: Floats,
    spacing: float | None = None,
    module: NDArray[np.int64] | None = None,
    aspect: float = ASPECT,
) -> Floats:
    """Place boxes in layers, or dots at a `spacing`, so that neighbours lie near each other and arrows point down.

    `sizes`, (p, 2), are widths and heights; boxes do not overlap. `module`, int (p,) or None: the modules that dots
    keep to, -1 in components without; `aspect`: the width of layers, see `layered_layout`. Returns the centres, float
    (p, 2); nodes without edges are in rows below the others, or packed with them where they are in layers.
    """
    from scipy.sparse.csgraph import connected_components

    if not graph.p:
        return np.zeros((0, 2))
    _, number = connected_components(graph.adjacency(), directed=False)
    parts = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    parts.sort(key=lambda part: (-len(part), part[0]))
    nodes, count = np.concatenate(parts), np.array([len(part) for part in parts])
    component, first = np.repeat(np.arange(len(parts)), count), np.cumsum(count) - count
    place = np.empty(graph.p, dtype=np.int64)
    place[nodes] = np.arange(graph.p)
    linked, placed = int((count > 1).sum()), []
    for part in parts[:linked]:
        own = graph.subgraph(part)
        if spacing is None:
            placed.append(layered_layout(own, sizes[part], aspect=aspect))
        else:
            of_part = None if module is None else module[part]
            placed.append(_dots(own, spacing, 1.3 * float(sizes[part].max()), of_part))
    xy, size = np.concatenate([*placed, np.zeros((len(parts) - linked, 2))]), sizes[nodes]
    if spacing is not None:  # wider for labels, and so that most arrows of a component point down
        tail, head, kind = graph.edge_list()
        u, v = (place[end[kind == DIRECTED]] for end in (tail, head))
        up = np.bincount(component[u], xy[v, 1] - xy[u, 1], len(parts)) > 0
        stretch = 1.0 + 0.6 * np.minimum(1.0, np.bincount(component, size[:, 0]) / count)
        xy = xy * np.column_stack([stretch, np.where(up, -1.0, 1.0)])[component]
    low, high = np.minimum.reduceat(xy - size / 2, first), np.maximum.reduceat(xy + size / 2, first)
    if spacing is None and linked > 1:
        y, (one, two) = xy[:, 1], (place[end] for end in (graph.low, graph.high))
        downward = np.isin(np.arange(len(xy)), np.where(y[one] > y[two], one, two))
        corners = _packed(xy - low[component], size, downward, np.split(np.arange(len(xy)), first[1:]))
    else:
        corners = _below(high - low, linked)
    return (xy - low[component] + corners[component])[place]


def _dots(graph: SparseGraph, spacing: float, least: float, module: NDArray[np.int64] | None) -> Floats:
    """Places of the dots of a component, by its modules if it has some."""
    pattern = graph.adjacency()
    if module is None or module[0] < 0:
        xy = stress_layout(pattern) * spacing
    else:
        xy = modular_layout(pattern, module - module.min(), spacing)
    return _push_apart(xy, max(0.75 * spacing, least))


def _below(extents: Floats, linked: int) -> Floats:
    """Lower left corners of the first `linked` components in rows, and below them of the others, without edges."""
    block = extents[:linked]
    width = max(float(block[:, 0].max(initial=0.0)), 1.3 * float(np.sqrt(block.prod(axis=1).sum() + 1e-9)), 4.0)
    corners, x, top, row_height = [], 0.0, 0.0, 0.0
    for k, (w, h) in enumerate(extents.tolist()):
        gap = 0.35 if k < linked else 0.15
        if x > 0 and (x + w > width or k == linked):
            x, top, row_height = 0.0, top - row_height - gap, 0.0
        corners.append((x, top - h))
        x, row_height = x + w + gap, max(row_height, h)
    return np.array(corners)


#: Distance between components in layers, and the width that is preferred to a height of 1.
BETWEEN, LANDSCAPE = 0.35, 1.5


def _packed(xy: Floats, size: Floats, downward: NDArray[np.bool_], parts: list[NDArray[np.int64]]) -> Floats:
    """Lower left corners of components in layers, the largest first, each in a gap beside or below those before it.

    `downward`: which boxes have an edge to a layer below.
    """
    taken, corners = np.zeros((0, 2, 2)), []
    for part in parts:
        own = _bands(xy[part], size[part], downward[part])
        extent = own[:, 1].max(axis=0)
        left = np.unique(np.append(0.0, taken[:, 1, 0] + BETWEEN))
        top = np.unique(np.append(0.0, taken[:, 0, 1] - BETWEEN))
        at = np.array([(x, y - extent[1]) for y in top[::-1] for x in left])
        low, high = (at[:, None] + own[None, :, c] for c in (0, 1))
        beyond = low[:, :, None] >= taken[None, None, :, 1] + BETWEEN - 1e-9
        apart: Any = (beyond | (high[:, :, None] <= taken[None, None, :, 0] - BETWEEN + 1e-9)).any(axis=3)
        at = at[apart.all(axis=(1, 2))]
        width = np.maximum(at[:, 0] + extent[0], taken[:, 1, 0].max(initial=0.0))
        height = np.maximum(-at[:, 1], -taken[:, 0, 1].min(initial=0.0))
        best = np.lexsort((width + height, np.maximum(width / LANDSCAPE, height)))[0]
        corners.append(at[best])
        taken = np.concatenate([taken, at[best] + own])
    return np.array(corners)


def _bands(xy: Floats, size: Floats, downward: NDArray[np.bool_]) -> Floats:
    """Rectangles that hold a component in layers, float64 (k, 2, 2): each layer, and each gap below one."""
    bands: list[tuple[Floats, Floats]] = []
    below = np.zeros((0, 2, 2))
    for y in np.unique(xy[:, 1]):
        row = np.flatnonzero(xy[:, 1] == y)
        boxes = np.stack([xy[row] - size[row] / 2, xy[row] + size[row] / 2], axis=1)
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        if len(below):
            around = np.concatenate([below, boxes[downward[row]]])[..., 0]
            bottom = below[:, 1, 1].max()
            bands.append((np.array([around.min(), bottom]), np.array([around.max(), low[1]])))
        bands.append((low, high))
        below = boxes
    return np.array(bands)


def _push_apart(xy: Floats, reach: float) -> Floats:
    """Push points closer than `reach` apart, for many small boxes; stops after some rounds, so a few may stay close.

    The first rounds move points too far, which spreads a crowd; the last rounds separate points that this has brought
    together. No point moves far in one round, or the neighbours of a hub, which begin at nearly one place, would drive
    each other away.
    """
    from scipy.spatial import KDTree

    x, y = xy.T.copy()
    for share in (0.9, 0.9, 0.9, 0.9, 0.25, 0.25, 0.25, 0.25):
        a, b = KDTree(np.column_stack([x, y])).query_pairs(reach, output_type="ndarray").T
        if not len(a):
            break
        dx, dy = x[a] - x[b], y[a] - y[b]
        part = share * (reach / np.maximum(np.sqrt(dx * dx + dy * dy), 1e-9) - 1)
        right, up = (np.bincount(a, m, len(x)) - np.bincount(b, m, len(x)) for m in (part * dx, part * dy))
        bound = np.minimum(1.0, 3 * reach / np.maximum(np.hypot(right, up), 1e-9))
        x += right * bound
        y += up * bound
    return np.column_stack([x, y])
