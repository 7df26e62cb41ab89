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


def stress_layout(start: NDArray[np.int32], neighbours: NDArray[np.int32]) -> Floats:
    """Positions, float64 (k, 2), of a connected graph whose edges have length 1.

    ``neighbours[start[v]:start[v + 1]]`` are the neighbours of node v, ascending.
    """
    from scipy.sparse import csr_array

    k = len(start) - 1
    if k == 2:
        return np.array([[0.0, 0.5], [0.0, -0.5]])
    pattern = csr_array((np.ones(len(neighbours)), neighbours, start), shape=(k, k))
    xy = _all_pairs(pattern) if k <= MAX_DENSE else _pivots(pattern)
    centred: Floats = xy - xy.mean(axis=0)
    return centred


def _all_pairs(pattern: Any) -> Floats:
    from scipy.sparse.csgraph import shortest_path

    D = shortest_path(pattern, unweighted=True)
    k = len(D)
    # start: classical scaling
    J = D**2 - (D**2).mean(axis=0) - (D**2).mean(axis=1)[:, None] + (D**2).mean()
    values, vectors = np.linalg.eigh(-J / 2)
    xy = _separated(vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-6)))
    off = ~np.eye(k, dtype=bool)
    W = np.zeros_like(D)
    W[off] = D[off] ** -2.0
    total = W.sum(axis=1)
    last = np.inf
    for _ in range(300 if k <= 100 else 100):
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
    return xy


def _separated(xy: Floats) -> Floats:
    """Positions with a fixed sign, since that of LAPACK's vectors is arbitrary, and moved apart where they coincide."""
    k = np.arange(len(xy))
    xy = xy * np.sign(xy[np.abs(xy).argmax(axis=0), [0, 1]] + 1e-300)
    return xy + 1e-3 * np.column_stack([np.sin(k), np.cos(2.0 * k)])


def _pivots(pattern: Any) -> Floats:
    pivots, D = _pivot_distances(pattern)
    square = D**2
    C = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    _, vectors = np.linalg.eigh(C.T @ C)
    xy = C @ vectors[:, [-1, -2]]
    xy *= D.std() / max(float(np.linalg.norm(xy, axis=1).std()), 1e-9)
    xy = _separated(xy)

    # a pivot stands for the nodes nearest to it; for node i, those of them within half of the distance from i
    nearest = D.argmin(axis=1)
    weight = np.empty_like(D)
    for k in range(len(pivots)):
        around = np.sort(D[nearest == k, k])
        weight[:, k] = np.maximum(around.searchsorted(D[:, k] / 2, side="right"), 1)
    with np.errstate(divide="ignore"):
        weight = np.where(D > 0, weight / D**2, 0.0)
    ends = pattern.tocoo()
    tail, head = ends.coords
    near = np.ones(len(tail))  # neighbours: distance 1, weight 1
    total = weight.sum(axis=1) + np.bincount(tail, near, len(D))
    far = weight * D
    for _ in range(40):
        at = xy[pivots]
        # the sum of ratio * (xy - at) over the pivots as products of matrices: nearly all of the time is spent here
        ratio = xy @ (-2.0 * at.T)
        ratio += (xy**2).sum(axis=1)[:, None]
        ratio += (at**2).sum(axis=1)
        np.sqrt(np.maximum(ratio, 1e-18, out=ratio), out=ratio)
        np.divide(far, ratio, out=ratio)
        step = xy[tail] - xy[head]
        step /= np.maximum(np.sqrt((step**2).sum(axis=1)), 1e-9)[:, None]
        wanted = weight @ at + ratio.sum(axis=1)[:, None] * xy - ratio @ at
        for c in (0, 1):
            wanted[:, c] += np.bincount(tail, xy[head, c] + step[:, c], len(D))
        xy = 0.4 * xy + 0.6 * wanted / total[:, None]
    placed: Floats = xy
    return placed


def _pivot_distances(pattern: Any) -> tuple[NDArray[np.int64], Floats]:
    """Pivots, each as far as possible from those before it, and the distance of every node to each of them."""
    from scipy.sparse.csgraph import dijkstra

    k = pattern.shape[0]
    pivots = [int(np.diff(pattern.indptr).argmax())]
    columns: list[Floats] = []
    nearest = np.full(k, np.inf)
    while len(columns) < min(PIVOTS, k):
        columns.append(dijkstra(pattern, unweighted=True, indices=np.array([pivots[-1]]))[0])
        nearest = np.minimum(nearest, columns[-1])
        pivots.append(int(nearest.argmax()))
    return np.array(pivots[:-1]), np.column_stack(columns)
