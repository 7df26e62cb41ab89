"""Positions whose distances approximate the lengths of the shortest paths, for one connected component.

Each node is placed with its neighbours and with pivots that stand for the nodes around them (Ortmann, Klimenta and
Brandes, 2017, A Sparse Stress Model, J. Graph Algorithms Appl. 21(5)), by stress majorisation (Gansner, Koren and
North, 2005, LNCS 3383) from a start by classical scaling of the distances to the pivots (Brandes and Pich, 2007, LNCS
4372). In a small component every node is a pivot; in a large one a few are, so that time and memory are proportional to
the number of edges, not pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]

#: Largest component of which every node is a pivot, and pivots of a larger one.
MAX_DENSE, PIVOTS = 250, 48


def stress_layout(pattern: csr_array) -> Floats:
    """Positions, float64 (k, 2), of a connected graph whose edges have length 1; `pattern` (k, k) has its pairs."""
    k = pattern.shape[0]
    if k == 2:
        return np.array([[0.0, 0.5], [0.0, -0.5]])
    xy = _placed(pattern, *_pivot_distances(pattern), *((20, 0.05) if k > MAX_DENSE else (60, 0.003)))
    centred: Floats = xy - xy.mean(axis=0)
    return centred


def _separated(xy: Floats) -> Floats:
    """Positions with a fixed sign, as LAPACK's vectors have an arbitrary one, and moved apart where they coincide."""
    k = np.arange(len(xy))
    xy = xy * np.sign(xy[np.abs(xy).argmax(axis=0), [0, 1]] + 1e-300)
    return xy + 1e-3 * np.column_stack([np.sin(k), np.cos(2.0 * k)])


def _placed(pattern: Any, pivots: NDArray[np.int64], D: NDArray[np.int64], rounds: int, least: float) -> Floats:
    """The positions after some rounds, fewer if no node moves by `least` any more."""
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
    for _ in range(rounds):
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
        if np.abs(placed - last).max() < least:
            break
    return placed.T.astype(np.float64)


def _pivot_distances(pattern: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pivots, each as far as possible from those before it (or all nodes), and the distance of every node to each."""
    from scipy.sparse.csgraph import dijkstra, shortest_path

    k = pattern.shape[0]
    if k <= MAX_DENSE:
        return np.arange(k), shortest_path(pattern, unweighted=True).astype(np.int64)
    pivots = [int(np.diff(pattern.indptr).argmax())]
    columns: list[NDArray[np.int64]] = []
    nearest = np.full(k, k)
    while len(columns) < PIVOTS:
        columns.append(dijkstra(pattern, unweighted=True, indices=pivots[-1:])[0].astype(np.int64))
        nearest = np.minimum(nearest, columns[-1])
        pivots.append(int(nearest.argmax()))
    return np.array(pivots[:-1]), np.column_stack(columns)
