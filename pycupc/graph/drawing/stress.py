"""Positions whose distances approximate the lengths of the shortest paths, for one connected component.

Small components: all pairs of nodes (Gansner, Koren and North, 2005, Graph Drawing by Stress Majorization, LNCS 3383).
Large ones: each node with its neighbours and with a few pivots that stand for the nodes around them (Ortmann, Klimenta
and Brandes, 2017, A Sparse Stress Model, J. Graph Algorithms Appl. 21(5)), from a start by classical scaling of the
distances to the pivots (Brandes and Pich, 2007, LNCS 4372); time and memory are proportional to the number of edges,
not pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Largest component that is placed by all pairs of its nodes.
MAX_DENSE = 250
#: Pivots of a larger component.
PIVOTS = 48


def stress_layout(start: NDArray[np.int32], neighbours: NDArray[np.int32], *, rough: bool = False) -> Floats:
    """Positions, float64 (k, 2), of a connected graph whose edges have length 1.

    ``neighbours[start[v]:start[v + 1]]`` are the neighbours of node v, ascending. `rough` saves two thirds of the steps
    of a small component, which nobody sees in an overview.
    """
    from scipy.sparse import csr_array

    k = len(start) - 1
    if k == 2:
        return np.array([[0.0, 0.5], [0.0, -0.5]])
    pattern = csr_array((np.ones(len(neighbours)), neighbours, start), shape=(k, k))
    xy = _all_pairs(pattern, rough) if k <= MAX_DENSE else _pivots(pattern)
    centred: Floats = xy - xy.mean(axis=0)
    return centred


def _all_pairs(pattern: Any, rough: bool) -> Floats:
    from scipy.sparse.csgraph import shortest_path

    D = shortest_path(pattern, unweighted=True)
    k = len(D)
    # start: classical scaling
    J = D**2 - (D**2).mean(axis=0) - (D**2).mean(axis=1)[:, None] + (D**2).mean()
    values, vectors = np.linalg.eigh(-J / 2)
    xy = placed = _separated(vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-6)))
    tolerance, part, again = (3e-3, 0.6, 0.6) if rough else (1e-5, 0.5, 0.0)
    off = ~np.eye(k, dtype=bool)
    W = np.zeros_like(D)
    W[off] = D[off] ** -2.0
    total = W.sum(axis=1)
    last = np.inf
    for _ in range(300 if k <= 100 else 100):
        square = (xy**2).sum(axis=1)
        distance = np.sqrt(np.maximum(square[:, None] + square[None, :] - 2 * xy @ xy.T, 0.0))
        stress = (W * (distance - D) ** 2).sum()
        if last - stress < tolerance * stress:
            break
        last = stress
        ratio = W * D / np.maximum(distance, 1e-9)
        # Jacobi form of the majorisation step, of which a part because the full step oscillates, as in `_pivots`
        wanted = (W @ xy + ratio.sum(axis=1)[:, None] * xy - ratio @ xy) / total[:, None]
        before, placed = placed, xy + part * (wanted - xy)
        xy = placed + again * (placed - before)
    return placed


def _separated(xy: Floats) -> Floats:
    """Positions with a fixed sign, since that of LAPACK's vectors is arbitrary, and moved apart where they coincide."""
    k = np.arange(len(xy))
    xy = xy * np.sign(xy[np.abs(xy).argmax(axis=0), [0, 1]] + 1e-300)
    return xy + 1e-3 * np.column_stack([np.sin(k), np.cos(2.0 * k)])


def _pivots(pattern: Any) -> Floats:
    pivots, D = _pivot_distances(pattern)
    square = D.astype(np.float64) ** 2
    C = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    _, vectors = np.linalg.eigh(C.T @ C)
    start = C @ vectors[:, [-1, -2]]
    start *= D.std() / max(float(np.linalg.norm(start, axis=1).std()), 1e-9)

    # a pivot stands for the nodes nearest to it; for node i, the nodes among these within half of the distance from i
    nearest, columns, longest = D.argmin(axis=1), np.arange(len(pivots)), int(D.max())
    own = nearest * (longest + 1) + D.min(axis=1)
    within = np.bincount(own, minlength=len(pivots) * (longest + 1)).reshape(len(pivots), -1).cumsum(axis=1)
    with np.errstate(divide="ignore"):
        weight = np.where(D > 0, np.maximum(within[columns, D // 2], 1) / square, 0.0)

    # single precision, and coordinates by rows: nearly all of the time is spent in the arrays (pivots, nodes)
    degree = np.diff(pattern.indptr)
    first = np.repeat(np.arange(len(D)), degree)
    tail, head = first[first < pattern.indices], pattern.indices[first < pattern.indices]  # each edge once
    total = (weight.sum(axis=1) + degree).astype(np.float32)  # neighbours: distance 1, weight 1
    far = (weight * D).T.astype(np.float32, order="C")
    weight = weight.T.astype(np.float32, order="C")
    xy = placed = _separated(start).T.astype(np.float32, order="C")
    for _ in range(20):
        at = xy[:, pivots]
        dx, dy = xy[0] - at[0][:, None], xy[1] - at[1][:, None]
        pull = far / np.maximum(np.sqrt(dx * dx + dy * dy), 1e-6)
        wanted = at @ (weight - pull) + xy * pull.sum(axis=0)
        step = xy[:, tail] - xy[:, head]
        step /= np.maximum(np.sqrt(step[0] ** 2 + step[1] ** 2), 1e-6)
        by_head, by_tail = xy[:, head] + step, xy[:, tail] - step
        wanted += [np.bincount(tail, by_head[c], len(D)) + np.bincount(head, by_tail[c], len(D)) for c in (0, 1)]
        # a part of the majorisation step, and a part of the step before again: better after 20 rounds than after 40
        # without that
        last, placed = placed, xy + 0.6 * (wanted / total - xy)
        xy = placed + 0.6 * (placed - last)
    return placed.T.astype(np.float64)


def _pivot_distances(pattern: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pivots, each as far as possible from those before it, and the distance of every node to each of them."""
    from scipy.sparse.csgraph import dijkstra

    k = pattern.shape[0]
    pivots = [int(np.diff(pattern.indptr).argmax())]
    columns: list[NDArray[np.int64]] = []
    nearest = np.full(k, k)
    while len(columns) < min(PIVOTS, k):
        columns.append(dijkstra(pattern, unweighted=True, indices=pivots[-1:])[0].astype(np.int64))
        nearest = np.minimum(nearest, columns[-1])
        pivots.append(int(nearest.argmax()))
    return np.array(pivots[:-1]), np.column_stack(columns)
