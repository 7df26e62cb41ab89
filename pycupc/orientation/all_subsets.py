"""All subsets S of a neighbourhood, one O(1) test each: which of them make a and c independent?

For one pair (a, c) and one list of neighbours the subsets are walked depth first. Taking k into S turns the correlation
matrix of what is left, given S, into the one given S and k by a rank-one update, so a test is three numbers of that
matrix. Half of the subsets are leaves, whose update touches only these three, so a subset costs a handful of
operations on average, at any size.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pycupc.gaussian.fisher_z import CUTOFF_BAND, PIVOT_FLOOR
from pycupc.gaussian.partial_correlation import partial_correlation


@njit(cache=True, nogil=True, error_model="numpy")
def _separates(C, a, c, S, size, vx, vy, cov, sure, T, A, V):
    """Is |partial correlation| of a and c given S[:size] at most T? Returns the answer and 1 if the careful path ran.

    `vx`, `vy`, `cov` are their conditional variances and covariance, to be believed only if `sure`.
    """
    if math.isinf(T):
        return True, 0
    if sure and vx > PIVOT_FLOOR and vy > PIVOT_FLOOR:
        r2 = cov * cov / (vx * vy)
        if 1.0 - r2 > PIVOT_FLOOR and abs(r2 - T * T) > CUTOFF_BAND * T * T:
            return r2 < T * T, 0
    return abs(partial_correlation(C, a, c, S, size, A, V)) <= T, 1


@njit(cache=True, nogil=True, error_model="numpy")
def count_separating(C, cut, jobs, starts, columns, found, containing):
    """Count the separating sets of each job, and how many of them hold each neighbour.

    Parameters
    ----------
    C : float64 (p, p)
    cut : float64, one per level
        `fisher_z.cutoff`.
    jobs : int64 (m, 6)
        a, c, the node whose neighbours the subsets are of, how many of the first neighbours are settled, which of these
        are in S (bits), and where in `containing` this job's counts go.
    starts, columns : int64
        Neighbours of node v, ascending: ``columns[starts[v]:starts[v + 1]]``.
    found : int64 (m,)
        Written: number of separating sets.
    containing : int64
        Added to: per neighbour, number of separating sets with it in.

    Returns
    -------
    int
        Tests that took the careful path.
    """
    widest = 0
    for job in range(jobs.shape[0]):
        widest = max(widest, starts[jobs[job, 2] + 1] - starts[jobs[job, 2]])
    M = np.empty((widest + 1, widest + 2, widest + 2))
    A = np.empty((widest + 2, widest + 2))
    V = np.empty((2, widest + 2))
    S = np.empty(widest + 1, np.int64)  # members of the set, ascending
    node = np.empty(widest + 2, np.int64)
    position = np.empty(widest + 1, np.int64)  # of the element taken in at each depth
    following = np.empty(widest + 1, np.int64)  # position to take in next at each depth
    below = np.empty(widest + 1, np.int64)  # separating sets found so far in the subtree of each depth
    sure = np.empty(widest + 1, np.bool_)
    careful = 0
    for job in range(jobs.shape[0]):
        a, c, owner, settled, bits, offset = jobs[job]
        neighbours = columns[starts[owner] : starts[owner + 1]]
        # Settled members first, given which the walk starts; then the free neighbours, a and c.
        base = 0
        for i in range(settled):
            if bits >> i & 1:
                S[base] = neighbours[i]
                node[base] = neighbours[i]
                base += 1
        free = neighbours.size - settled
        for i in range(free):
            node[base + i] = neighbours[settled + i]
        node[base + free] = a
        node[base + free + 1] = c
        width = base + free + 2
        for i in range(width):
            for j in range(i, width):
                A[i, j] = 1.0 if i == j else C[node[i], node[j]]
        sure[0] = True
        for k in range(base):
            pivot = A[k, k]
            sure[0] = sure[0] and pivot > PIVOT_FLOOR
            for i in range(k + 1, width):
                f = A[k, i] / pivot
                for j in range(i, width):
                    A[i, j] -= f * A[k, j]
        for i in range(free + 2):
            for j in range(i, free + 2):
                M[0, i, j] = A[base + i, base + j]
        x, y = free, free + 1
        yes, slow = _separates(C, a, c, S, base, M[0, x, x], M[0, y, y], M[0, x, y], sure[0], cut[base], A, V)
        careful += slow
        below[0] = 1 if yes else 0
        following[0] = 0
        depth = 0
        while True:
            k = following[depth]
            if k == free:  # subtree done
                if depth == 0:
                    break
                containing[offset + settled + position[depth]] += below[depth]
                below[depth - 1] += below[depth]
                depth -= 1
                continue
            following[depth] = k + 1
            old = M[depth]
            new = M[depth + 1]
            pivot = old[k, k]
            for i in range(k + 1, free + 2):
                f = old[k, i] / pivot
                for j in range(i, free + 2):
                    new[i, j] = old[i, j] - f * old[k, j]
            S[base + depth] = neighbours[settled + k]
            depth += 1
            position[depth] = k
            following[depth] = k + 1
            sure[depth] = sure[depth - 1] and pivot > PIVOT_FLOOR
            size = base + depth
            yes, slow = _separates(C, a, c, S, size, new[x, x], new[y, y], new[x, y], sure[depth], cut[size], A, V)
            careful += slow
            below[depth] = 1 if yes else 0
        found[job] = below[0]
        for i in range(settled):
            if bits >> i & 1:
                containing[offset + i] += below[0]
    return careful
