"""Positions in layers, arrows pointing down, for one connected component (Sugiyama, Tagawa and Toda, 1981, IEEE Trans.
SMC 11(2)): cycles are broken, nodes get ranks, and each rank is ordered and placed so that edges are short and few of
them cross.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Nodes = NDArray[np.integer]

#: Least distance between boxes of a rank, in inches.
GAP = 0.4
#: Width of the ranks, relative to the side of a square that holds all boxes.
ASPECT = 1.8
#: How often the boxes of all ranks are moved.
SWEEPS = 30


def layered_layout(start: Nodes, neighbours: Nodes, tail: Nodes, head: Nodes, sizes: Floats, gap: float) -> Floats:
    """Centres of boxes, float64 (k, 2); no two overlap, and arrows point down, except one of each cycle.

    ``neighbours[start[v]:start[v + 1]]`` are the neighbours of node v; directed edges go from `tail` to `head`; `sizes`
    are the widths and heights of the boxes, and `gap` is the distance between ranks, in inches.
    """
    k = len(sizes)
    arrows = np.zeros((k, k), dtype=np.bool_)
    arrows[tail, head] = True
    place = np.empty(k, dtype=np.int64)
    place[_sequence(arrows)] = np.arange(k)
    arrows = (arrows | arrows.T) & (place[:, None] < place)
    first = np.repeat(np.arange(k), np.diff(start))
    edges = [(u, v) for u, v in zip(first.tolist(), neighbours.tolist(), strict=True) if u < v]
    limit = ASPECT * float(np.sqrt(((sizes[:, 0] + GAP) * (sizes[:, 1] + gap)).sum()))
    rank = _ranks(arrows, np.argsort(place), edges, sizes[:, 0] + GAP, limit)
    near = np.zeros((k, k))
    for u, v in edges:
        near[u, v] = near[v, u] = 1 / (1 + abs(rank[u] - rank[v]))
    x = _across(rank, near, sizes[:, 0] + GAP)
    high = np.array([max(sizes[rank == r, 1]) + gap for r in range(int(rank.max()) + 1)])
    return np.column_stack([x, (high / 2 - np.cumsum(high))[rank]])


def _sequence(arrows: NDArray[np.bool_]) -> list[int]:
    """All nodes, so that few arrows point backward, and none without a cycle (Eades, Lin and Smyth, 1993)."""
    first: list[int] = []
    last: list[int] = []
    left = np.ones(len(arrows), dtype=np.bool_)
    while left.any():
        out, into = arrows[:, left].sum(axis=1), arrows[left].sum(axis=0)
        if len(ends := np.flatnonzero(left & (out == 0))):
            last.append(int(ends[-1]))
            left[last[-1]] = False
        else:
            first.append(int(np.where(left, np.where(into == 0, len(arrows), out - into), -len(arrows) - 1).argmax()))
            left[first[-1]] = False
    return first + last[::-1]


def _ranks(
    arrows: NDArray[np.bool_], order: Nodes, edges: Sequence[tuple[int, int]], widths: Floats, limit: float
) -> NDArray[np.int64]:
    """The rank of each node, int64 (k,): below its parents, the highest with room; sources just above a child.

    Undirected edges force no ranks: nodes that have no others are put above or below a neighbour, and of two neighbours
    in a rank one moves up or down if it is not held there by parents or children.
    """
    k = len(arrows)
    rank = np.full(k, -k)
    used: dict[int, float] = {}

    def put(v: int, r: int, step: int) -> None:
        while used.get(r, 0.0) > 0 and used[r] + widths[v] > limit:
            r += step
        used[r] = used.get(r, 0.0) + widths[v]
        rank[v] = r

    directed = set(np.nonzero(arrows | arrows.T)[0].tolist())
    for v in (v for v in order.tolist() if v in directed):
        put(v, int(rank[arrows[:, v]].max(initial=-1)) + 1, 1)
    for v in order[::-1].tolist():
        if v in directed and not arrows[:, v].any() and (lowest := int(rank[arrows[v]].min()) - 1) > rank[v]:
            used[int(rank[v])] -= widths[v]
            put(v, lowest, -1)
    while (rank == -k).any():  # the component is connected
        u, v = next((u, v) if rank[v] == -k else (v, u) for u, v in edges if (rank[u] == -k) != (rank[v] == -k))
        step = 1 if arrows[:, u].any() else -1
        put(v, int(rank[u]) + step, step)
    for u, v in edges:  # within a rank, an edge may run through boxes
        for w, step, held in ((u, -1, arrows[:, u]), (v, -1, arrows[:, v]), (u, 1, arrows[u]), (v, 1, arrows[v])):
            if rank[u] == rank[v] and not held.any():
                used[int(rank[w])] -= widths[w]
                put(w, int(rank[w]) + step, step)
    return np.unique(rank, return_inverse=True)[1].ravel()


def _across(rank: NDArray[np.int64], near: Floats, width: Floats) -> Floats:
    """Abscissae: rank by rank each node is drawn to its neighbours, which are weighted by `near`, float64 (k, k).

    The nodes of a rank are in the order of the places to which they are drawn, as close to these as their widths allow.
    """
    x, rows = np.zeros(len(rank)), [np.flatnonzero(rank == r) for r in range(int(rank.max()) + 1)]
    for sweep in range(SWEEPS):
        for row in rows[:: 1 if sweep % 2 else -1]:
            wanted = near[row] @ x / near[row].sum(axis=1)
            order = np.lexsort((x[row], wanted))
            row, wanted = row[order], wanted[order]
            offset = np.cumsum(width[row]) - width[row] / 2
            x[row] = offset + _ascending(wanted - offset, near[row].sum(axis=1))
    return x


def _ascending(wanted: Floats, weight: Floats) -> Floats:
    """The ascending numbers nearest to the wanted ones: pools of adjacent violators (weighted least squares)."""
    pools: list[tuple[float, float, int]] = []
    for value, w in zip(wanted.tolist(), weight.tolist(), strict=True):
        pool = (value, w, 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, total, count = pools.pop()
            pool = ((mean * total + pool[0] * pool[1]) / (total + pool[1]), total + pool[1], count + pool[2])
        pools.append(pool)
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])
