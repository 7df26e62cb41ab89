"""Positions in layers, arrows pointing down, for one connected component (Sugiyama, Tagawa and Toda, 1981, IEEE Trans.
SMC 11(2)): cycles are broken, nodes get ranks, and each rank is ordered and placed so that edges are short and few of
them cross.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import DIRECTED, SparseGraph
from pycupc.graph.tiers import NO_TIER

Floats = NDArray[np.float64]
Nodes = NDArray[np.integer]

#: Least distances between the boxes of a rank, and between ranks, in inches.
GAP, DOWN = 0.6, 0.7
#: Width of the ranks, relative to the side of a square that holds all boxes.
ASPECT = 2.2
#: How often the boxes of all ranks are moved, at first by their neighbours in the ranks that were moved before.
SWEEPS, ONE_WAY = 30, 12


def layered_layout(graph: SparseGraph, sizes: Floats, tier: Nodes | None = None, aspect: float = ASPECT) -> Floats:
    """Centres of boxes of these `sizes`, float64 (k, 2) both; no two overlap, and one arrow of each cycle points up.

    With `tier`, int (k,), the boxes of a tier lie above all boxes of later tiers, and boxes without a tier lie below.
    """
    k = len(sizes)
    tail, head, kind = graph.edge_list()
    arrows, near = np.zeros((k, k), dtype=np.bool_), graph.skeleton().astype(np.float64)
    arrows[tail[kind == DIRECTED], head[kind == DIRECTED]] = True
    place = np.empty(k, dtype=np.int64)
    tier = np.zeros(k, dtype=np.int64) if tier is None else row_of(tier)
    sequence = np.array(_sequence(arrows), dtype=np.int64)
    place[sequence[np.argsort(tier[sequence], kind="stable")]] = np.arange(k)
    limit = aspect * float(np.sqrt(((sizes[:, 0] + GAP) * (sizes[:, 1] + DOWN)).sum()))
    rank = _ranks((near > 0) & (place[:, None] < place), np.argsort(place), sizes[:, 0] + GAP, limit, tier)
    near /= 1 + np.abs(np.subtract.outer(rank, rank))
    x = _across(rank, near, sizes[:, 0] + GAP)
    high = np.array([max(sizes[rank == r, 1]) + DOWN for r in range(int(rank.max()) + 1)])
    return np.column_stack([x, (high / 2 - np.cumsum(high))[rank]])


def row_of(tier: Nodes) -> Nodes:
    """The tier of each box, and a row after all tiers for boxes without one."""
    return np.where(tier == NO_TIER, tier.max(initial=0) + 1, tier)


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


def _ranks(arrows: NDArray[np.bool_], order: Nodes, widths: Floats, limit: float, tier: Nodes) -> NDArray[np.int64]:
    """The rank of each node, int64 (k,): below its parents, the highest with room; sources just above a child."""
    rank = np.full(len(arrows), -1, dtype=np.int64)
    used: dict[int, float] = {}

    def put(v: int, r: int, step: int) -> None:
        while used.get(r, 0.0) > 0 and used[r] + widths[v] > limit:
            r += step
        used[r] = used.get(r, 0.0) + widths[v]
        rank[v] = r

    for v in order.tolist():
        above = arrows[:, v] | (tier < tier[v])
        put(v, int(rank[above].max(initial=-1)) + 1, 1)
    last = {t: int(rank[tier == t].max()) for t in set(tier.tolist())}
    for v in order[::-1].tolist():
        if arrows[:, v].any() or not arrows[v].any():
            continue
        if (lowest := min(int(rank[arrows[v]].min()) - 1, last[int(tier[v])])) > rank[v]:
            used[int(rank[v])] -= widths[v]
            put(v, lowest, -1)
    return np.unique(rank, return_inverse=True)[1].ravel()


def _across(rank: NDArray[np.int64], near: Floats, width: Floats) -> Floats:
    """Abscissae: rank by rank each node is drawn to its neighbours, which are weighted by `near`, float64 (k, k).

    The nodes of a rank are in the order of the places to which they are drawn, as close to these as their widths allow.
    """
    from scipy.optimize import isotonic_regression

    x, rows = np.zeros(len(rank)), [np.flatnonzero(rank == r) for r in range(int(rank.max()) + 1)]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 1
        for row in rows[:: 1 if down else -1]:
            before = (rank < rank[row[0]]) == down
            weight = near[row] * np.where(before | (sweep >= ONE_WAY), 1.0, 1e-3)
            total = np.maximum(weight.sum(axis=1), 1e-9)  # 0 of a node without an edge
            wanted = weight @ x / total
            order = np.lexsort((x[row], wanted))
            row, wanted = row[order], wanted[order]
            offset = np.cumsum(width[row]) - width[row] / 2
            x[row] = offset + isotonic_regression(wanted - offset, weights=total[order]).x
    return x
