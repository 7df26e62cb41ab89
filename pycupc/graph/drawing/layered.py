"""Positions in layers, arrows pointing down, for one connected component (Sugiyama, Tagawa and Toda, 1981, IEEE Trans.
SMC 11(2)): cycles are broken, nodes get ranks, edges between distant ranks get a waypoint in each rank between, each
rank is ordered so that few edges cross, and coordinates make the edges short and those through waypoints straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Nodes = NDArray[np.integer]

#: Room for an edge at a waypoint, and least distance between boxes of a rank, in inches.
WAYPOINT, GAP = 0.25, 0.25
#: Width of the ranks, relative to the side of a square that holds all boxes.
ASPECT = 1.5
#: Sweeps that order the ranks, and sweeps that move the boxes.
ORDERING, MOVING = 24, 40


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
    rows, near, weight = _with_waypoints(rank, edges)
    _order(rows, near)
    width = np.full(len(near), WAYPOINT)
    width[:k] = sizes[:, 0] + GAP
    x = _across(rows, near, weight, width)[:k]
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


def _with_waypoints(
    rank: NDArray[np.int64], edges: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]], list[list[float]]]:
    """The nodes, then the waypoints, of each rank; of each of them its neighbours in the ranks beside, and weights."""
    rows: list[list[int]] = [np.flatnonzero(rank == r).tolist() for r in range(int(rank.max()) + 1)]
    near: list[list[int]] = [[] for _ in rank]
    weight: list[list[float]] = [[] for _ in rank]
    for edge in edges:
        high, low = sorted(edge, key=lambda v: rank[v])
        path = [high]
        for row in rows[rank[high] + 1 : rank[low]]:
            path.append(len(near))
            row.append(len(near))
            near.append([])
            weight.append([])
        path.append(low)
        for u, v in pairwise(path):
            strength = float(1 + 3 * ((u >= len(rank)) + (v >= len(rank))))
            for a, b in ((u, v), (v, u)):
                near[a].append(b)
                weight[a].append(strength)
    return rows, near, weight


def _order(rows: list[list[int]], near: list[list[int]]) -> None:
    """Order each rank by the mean places of the neighbours in the rank before, downward and upward in turn."""
    row_of = {v: r for r, row in enumerate(rows) for v in row}
    best, fewest = [list(row) for row in rows], np.inf
    for sweep in range(ORDERING):
        place = {v: (i + 0.5) / len(row) for row in rows for i, v in enumerate(row)}
        down = sweep % 2 == 0
        for r in range(len(rows)) if down else reversed(range(len(rows))):
            means = {}
            for v in rows[r]:
                before = [place[u] for u in near[v] if (row_of[u] <= r if down else row_of[u] >= r)]
                means[v] = sum(before) / len(before) if before else place[v]
            rows[r].sort(key=lambda v: means[v])
            place.update((v, (i + 0.5) / len(rows[r])) for i, v in enumerate(rows[r]))
        if (crossings := _crossings(rows, near, row_of)) < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


def _crossings(rows: list[list[int]], near: list[list[int]], row_of: dict[int, int]) -> int:
    """The number of pairs of edges that cross between neighbouring ranks."""
    at = {v: i for row in rows for i, v in enumerate(row)}
    total = 0
    for r, row in enumerate(rows):
        upper, lower = np.array([(at[v], at[u]) for v in row for u in near[v] if row_of[u] > r]).reshape(-1, 2).T
        total += int(((upper[:, None] < upper) & (lower[:, None] > lower)).sum())
    return total


def _across(rows: list[list[int]], near: list[list[int]], weight: list[list[float]], width: Floats) -> Floats:
    """Abscissae of nodes and waypoints that keep the order and the distances, and make the edges short."""
    x = np.empty(len(width))
    offsets = []
    for row in rows:
        offsets.append(np.cumsum(width[row]) - width[row] / 2)
        x[row] = offsets[-1] - width[row].sum() / 2
    for sweep in range(MOVING):
        placed = list(zip(rows, offsets, strict=True))
        for row, offset in placed if sweep % 2 else placed[::-1]:
            total = np.array([sum(weight[v]) for v in row])
            wanted = [np.dot(weight[v], x[near[v]]) for v in row] / total
            x[row] = offset + _ascending(wanted - offset, total)
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
