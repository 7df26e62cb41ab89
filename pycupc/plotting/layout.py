"""Positions of the boxes of a drawing: a stress layout per component, without overlaps, and the components packed.

Everything is deterministic: the same graph is drawn the same way on every machine. Lengths are in inches.
Method of the stress layout: Gansner, Koren and North (2005), Graph Drawing by Stress Majorization, LNCS 3383.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Nodes = NDArray[np.integer]
#: The nodes of one component and their positions, relative to each other.
Block = tuple[Nodes, Floats]


def layout(tail: Nodes, head: Nodes, directed: NDArray[np.bool_], sizes: Floats, *, spacing: float = 1.0) -> Floats:
    """Place boxes so that neighbours lie near each other, arrows tend to point down and no two boxes overlap.

    Parameters
    ----------
    tail, head : int (m,)
        Edges.
    directed : bool (m,)
        Whether an edge points from tail to head.
    sizes : float (p, 2)
        Width and height of the box of each node.
    spacing : float
        Distance between neighbours.

    Returns
    -------
    float (p, 2)
        Centres of the boxes; nodes without edges are in rows below the others.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    p, m = len(sizes), len(tail)
    pattern = coo_array((np.ones(2 * m), (np.r_[tail, head], np.r_[head, tail])), shape=(p, p)).tocsr()
    _, component = connected_components(pattern, directed=False)
    blocks: list[Block] = []
    isolated: list[Block] = []
    for c in np.unique(component):
        nodes = np.flatnonzero(component == c)
        if len(nodes) == 1:
            isolated.append((nodes, np.zeros((1, 2))))
            continue
        inside = np.isin(tail, nodes)
        local = np.full(p, -1)
        local[nodes] = np.arange(len(nodes))
        xy = _stress_layout(pattern[nodes][:, nodes]) * spacing
        stretch = 1.0 + 0.6 * min(1.0, float(sizes[nodes, 0].mean()))  # labels are wider than high
        xy = _rotate(xy, local[tail[inside & directed]], local[head[inside & directed]], stretch)
        blocks.append((nodes, _remove_overlaps(xy, sizes[nodes])))
    blocks.sort(key=lambda block: (-len(block[0]), block[0][0]))
    positions = np.zeros((p, 2))
    widest = max((_extent(xy, sizes[nodes])[1][0] for nodes, xy in blocks), default=0.0)
    width = max(widest, 1.3 * np.sqrt(sum(np.prod(_extent(xy, sizes[nodes])[1]) for nodes, xy in blocks) + 1e-9), 4.0)
    bottom = _place_in_rows(positions, blocks[:1], sizes, width, top=0.0, gap=0.35)
    if blocks:
        blocks = _place_in_gaps(positions, blocks, sizes, tail, head, width)
    bottom = _place_in_rows(positions, blocks, sizes, width, top=bottom - 0.35, gap=0.35)
    _place_in_rows(positions, isolated, sizes, width, top=bottom - 0.25, gap=0.15)
    return positions


def _extent(xy: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Lower left corner, and width and height, of the rectangle that the boxes cover."""
    low: Floats = (xy - sizes / 2).min(axis=0)
    return low, (xy + sizes / 2).max(axis=0) - low


def _place_in_gaps(
    positions: Floats, blocks: list[Block], sizes: Floats, tail: Nodes, head: Nodes, width: float
) -> list[Block]:
    """Place blocks where the first, already placed, leaves room on a grid of cells; return those that do not fit."""
    cell, gap = 0.1, 0.3
    first = blocks[0][0]
    low, (w, h) = _extent(positions[first], sizes[first])
    shape = (int(h / cell) + 1, int(max(w, width) / cell) + 1)
    taken = np.zeros(shape, dtype=bool)

    def mark(points: Floats, reach: Floats) -> None:
        start = np.maximum(((points - reach - low) / cell).astype(int), 0)
        stop = ((points + reach - low) / cell).astype(int) + 1
        for (x0, y0), (x1, y1) in zip(start.tolist(), stop.tolist(), strict=True):
            taken[y0:y1, x0:x1] = True

    mark(positions[first], sizes[first] / 2)
    own = np.isin(tail, first)
    t = np.linspace(0, 1, 40)[:, None, None]
    along = (1 - t) * positions[tail[own]] + t * positions[head[own]]
    mark(along.reshape(-1, 2), np.full(2, 0.15))  # edges may be slightly curved
    unplaced = []
    for nodes, xy in blocks[1:]:
        corner, size = _extent(xy, sizes[nodes])
        need = np.ceil((size + 2 * gap) / cell).astype(int)
        total = np.pad(taken.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        bw, bh = need.tolist()
        inside = total[bh:, bw:] - total[:-bh, bw:] - total[bh:, :-bw] + total[:-bh, :-bw]
        rows, columns = np.nonzero(inside == 0)
        if len(rows) == 0:  # also where the block is larger than the grid
            unplaced.append((nodes, xy))
            continue
        k = int(np.argmin(columns - rows * 0.01))  # leftmost, then highest
        at = low + np.array([columns[k], rows[k]]) * cell + gap
        positions[nodes] = xy - corner + at
        taken[rows[k] : rows[k] + bh, columns[k] : columns[k] + bw] = True
    return unplaced


def _place_in_rows(
    positions: Floats, blocks: list[Block], sizes: Floats, width: float, top: float, gap: float
) -> float:
    """Place blocks side by side in rows of at most `width`, downward from `top`; return the y below the last row."""
    x, row_height = 0.0, 0.0
    for nodes, xy in blocks:
        low, (w, h) = _extent(xy, sizes[nodes])
        if x > 0 and x + w > width:
            x, top, row_height = 0.0, top - row_height - gap, 0.0
        positions[nodes] = xy - low + (x, top - h)
        x, row_height = x + w + gap, max(row_height, h)
    return top - row_height


def _stress_layout(pattern: Any) -> Floats:
    """Positions (k, 2) of a connected graph whose distances approximate the lengths of the shortest paths."""
    from scipy.sparse.csgraph import shortest_path

    D = shortest_path(pattern, unweighted=True)
    k = len(D)
    if k == 2:
        return np.array([[0.0, 0.5], [0.0, -0.5]])
    # start: classical scaling, its signs fixed by the largest entry because those of LAPACK are arbitrary
    J = D**2 - (D**2).mean(axis=0) - (D**2).mean(axis=1)[:, None] + (D**2).mean()
    values, vectors = np.linalg.eigh(-J / 2)
    start = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-6))
    start *= np.sign(start[np.abs(start).argmax(axis=0), [0, 1]])
    xy = start + 1e-3 * np.column_stack(
        [np.sin(np.arange(k)), np.cos(2.0 * np.arange(k))]
    )  # separates coinciding nodes
    off = ~np.eye(k, dtype=bool)
    W = np.zeros_like(D)
    W[off] = D[off] ** -2.0
    total = W.sum(axis=1)
    last = np.inf
    for _ in range(300 if k <= 100 else 60):
        square = (xy**2).sum(axis=1)
        distance = np.sqrt(np.maximum(square[:, None] + square[None, :] - 2 * xy @ xy.T, 0.0))
        stress = (W * (distance - D) ** 2).sum()
        if last - stress < 1e-5 * stress:
            break
        last = stress
        ratio = W * D / np.maximum(distance, 1e-9)
        # Jacobi form of the majorisation step, halved because the full step oscillates
        wanted = (W @ xy + ratio.sum(axis=1)[:, None] * xy - ratio @ xy) / total[:, None]
        xy = 0.5 * (xy + wanted)
    centred: Floats = xy - xy.mean(axis=0)
    return centred


def _rotate(xy: Floats, tail: Nodes, head: Nodes, stretch: float) -> Floats:
    """Rotate the drawing so that arrows tend to point down and it fills a page; widths are multiplied by `stretch`."""
    step = xy[head] - xy[tail]
    step = step / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-9)
    best, best_score = xy, -np.inf
    for angle in np.linspace(0.0, 2 * np.pi, 72, endpoint=False):
        c, s = np.cos(angle), np.sin(angle)
        rotation = np.array([[c, s], [-s, c]])
        rotated = xy @ rotation * (stretch, 1.0)
        width, height = np.ptp(rotated, axis=0) + 0.3
        down = -float((step @ rotation)[:, 1].mean()) if len(step) else 0.0
        score = down - 0.8 * abs(np.log(width / height / 1.3)) if len(xy) > 3 else down
        if score > best_score + 1e-9:
            best, best_score = rotated, score
    return best


def _remove_overlaps(xy: Floats, sizes: Floats) -> Floats:
    """Spread the drawing, then move boxes until none overlaps another."""
    need = (sizes[:, None, :] + sizes[None, :, :]) / 2 + (0.25, 0.3)
    upper = np.triu(np.ones((len(xy), len(xy)), dtype=bool), 1)
    # factor by which the drawing would have to grow to separate each pair: growth separates most, moves the others
    with np.errstate(divide="ignore"):
        factor = (need / np.abs(xy[:, None, :] - xy[None, :, :])).min(axis=2)[upper]
    crowded = np.sort(factor)[::-1][: max(1, len(xy) // 3)]
    xy = xy * float(np.clip(crowded[-1], 1.0, 1.7))
    order = np.sign(np.subtract.outer(np.arange(len(xy)), np.arange(len(xy))))[:, :, None]
    steps = 400 if len(xy) <= 100 else 60
    for step in range(steps):
        delta = xy[:, None, :] - xy[None, :, :]
        overlap = need - np.abs(delta)
        both = (overlap[:, :, 0] > 1e-3) & (overlap[:, :, 1] > 1e-3)
        np.fill_diagonal(both, False)
        if not both.any():
            break
        side = np.where(delta == 0, order, np.sign(delta))
        cheaper = overlap / need  # relative to the distance needed, otherwise wide boxes are stacked in columns
        along_x = cheaper[:, :, 0] <= cheaper[:, :, 1]
        move = np.where(both[:, :, None], overlap * side, 0.0) * np.stack([along_x, ~along_x], axis=2)
        count = np.maximum(both.sum(axis=1), 1)[:, None]
        xy += move.sum(axis=1) / (2.0 * count if step < 0.75 * steps else 2.0)
    return xy
