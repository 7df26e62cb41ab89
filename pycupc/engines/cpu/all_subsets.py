"""All subsets S of some candidates, one O(1) test per subset: which of them make a and c independent?

For one pair (a, c) and one list of candidates, the subsets are visited depth first. Adding k to S turns the correlation
matrix of the remaining variables given S into the one given S and k by a rank-one update, so a test needs only three
entries of that matrix. Half of the subsets are leaves, whose update touches only these three, so a subset costs a
handful of operations on average, at any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Counts, Floats, Questions
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import BATCH, FREE
from pycupc.independence.gaussian.limits import CUTOFF_BAND, PIVOT_FLOOR
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set
from pycupc.system.compiled import announced, compiled, part
from pycupc.system.machine import in_threads

#: Positions in `Walk.careful`.
ADDRESS, WANTED = 0, 1


class Walk(NamedTuple):
    """Work space and state of the walk of one job. Depth t belongs to the current set with t free neighbours.

    matrix : float64 (t, free + 2, free + 2)
        Upper triangle of the correlation matrix of the free neighbours, a and c, given the set.
    sound : bool (t,)
        Every pivot on the way to the set was above the floor.
    taken, following : int64 (t,)
        Position of the free neighbour taken in last, and of the one to take in next.
    separating : int64 (t,)
        Separating sets found so far in the subtree of the set.
    nodes : int64
        The members of the set, ascending; behind them room for a and c, for the canonical formula.
    order : int64
        The settled members of the set, the free neighbours, a and c.
    elimination : float64
        Work space, also of the canonical formula.
    careful : int64 (2,)
        `careful_address`, 0 until it is needed; whether it is needed, in which case the counts are void.
    """

    matrix: Floats
    sound: NDArray[np.bool_]
    taken: Indices
    following: Indices
    separating: Indices
    nodes: Indices
    order: Indices
    elimination: Floats
    careful: Indices


def work_space(widest: int) -> Walk:
    """Arrays for walks over the subsets of up to `widest` neighbours."""
    return Walk(
        np.empty((widest + 1, widest + 2, widest + 2)),
        np.empty(widest + 1, np.bool_),
        np.empty(widest + 1, np.int64),
        np.empty(widest + 1, np.int64),
        np.empty(widest + 1, np.int64),
        np.empty(widest + 2, np.int64),
        np.empty(widest + 2, np.int64),
        canonical_space(widest),
        np.zeros(2, np.int64),
    )


@part
def _separates(C, cutoff, walk, depth, size, free):
    """Are a and c independent given the set of this depth, which has `size` members?"""
    if math.isinf(cutoff):
        return True
    vx, vy = walk.matrix[depth, free, free], walk.matrix[depth, free + 1, free + 1]
    cov = walk.matrix[depth, free, free + 1]
    if walk.sound[depth] and vx > PIVOT_FLOOR and vy > PIVOT_FLOOR:
        r2, square = cov * cov / (vx * vy), cutoff * cutoff
        if 1.0 - r2 > PIVOT_FLOOR and abs(r2 - square) > CUTOFF_BAND * square:
            return r2 < square
    last = size - depth + free  # of the members and the free neighbours in `order`
    x, y = walk.order[last], walk.order[last + 1]
    walk.nodes[size], walk.nodes[size + 1] = x, y
    r = given_set(C, walk.nodes, size, walk.elimination, walk.careful[ADDRESS])
    if r != r:
        walk.careful[WANTED] = 1
    return abs(r) <= cutoff


@part
def _start(C, walk, base, width):
    """Condition on the first `base` of the `width` variables in `order`: fills depth 0."""
    A, order = walk.elimination, walk.order
    for i in range(width):
        for j in range(i, width):
            A[i, j] = 1.0 if i == j else C[order[i], order[j]]
    walk.sound[0] = True
    for k in range(base):
        pivot = A[k, k]
        walk.nodes[k] = order[k]
        walk.sound[0] = walk.sound[0] and pivot > PIVOT_FLOOR
        for i in range(k + 1, width):
            f = A[k, i] / pivot
            for j in range(i, width):
                A[i, j] -= f * A[k, j]
    for i in range(base, width):
        for j in range(i, width):
            walk.matrix[0, i - base, j - base] = A[i, j]


@part
def _take(walk, depth, k, free):
    """Take free neighbour k into the set: fills depth + 1."""
    M = walk.matrix
    pivot = M[depth, k, k]
    for i in range(k + 1, free + 2):
        f = M[depth, k, i] / pivot
        for j in range(i, free + 2):
            M[depth + 1, i, j] = M[depth, i, j] - f * M[depth, k, j]
    walk.sound[depth + 1] = walk.sound[depth] and pivot > PIVOT_FLOOR
    walk.taken[depth + 1], walk.following[depth + 1] = k, k + 1


@part
def _count(C, cut, walk, base, free, containing, offset):
    """Walk all sets of a job; returns how many separate.

    Adds to `containing`, from `offset` on, how many of them hold each free neighbour.
    """
    depth = 0
    walk.following[0] = 0
    walk.separating[0] = _separates(C, cut[base], walk, 0, base, free)
    while True:
        k = walk.following[depth]
        if k < free:
            walk.following[depth] = k + 1
            walk.nodes[base + depth] = walk.order[base + k]
            _take(walk, depth, k, free)
            depth += 1
            size = base + depth
            walk.separating[depth] = _separates(C, cut[size], walk, depth, size, free)
        elif depth > 0:  # the subtree is done
            containing[offset + walk.taken[depth]] += walk.separating[depth]
            walk.separating[depth - 1] += walk.separating[depth]
            depth -= 1
        else:
            return walk.separating[0]


def count_separating_sets(C: Floats, cutoff: Callable[[int], float], questions: Questions, n_threads: int) -> Counts:
    """`Engine.count_separating` of Gaussian tests, for all subsets of the candidates.

    Parameters
    ----------
    C : float64 (p, p), contiguous
    cutoff : function
        `fisher_z.cutoff` of each level.
    questions : Questions
    n_threads : int
    """
    offsets, members = questions.candidates
    x, y, degree = questions.x, questions.y, np.diff(offsets)
    cut = np.array([cutoff(size) for size in range(int(degree.max(initial=0)) + 1)])
    owner = np.repeat(np.arange(len(degree)), degree)
    order = np.lexsort((members, owner))  # the walk keeps its sets ascending
    columns = members[order].astype(np.int64)
    found, containing = np.zeros(len(x), dtype=np.int64), np.zeros(len(members), dtype=np.int64)
    settled = np.maximum(degree - FREE, 0)  # of more than FREE candidates the first ones, once each way
    n_jobs = 1 << settled
    side = np.repeat(np.arange(len(x)), n_jobs)
    bits = np.arange(len(side)) - np.repeat(np.cumsum(n_jobs) - n_jobs, n_jobs)
    load = np.cumsum(1 << (degree - settled)[side]) // BATCH
    cuts = [0, *(np.flatnonzero(np.diff(load)) + 1).tolist(), len(side)]

    def work(batch: tuple[int, int]) -> tuple[Indices, Indices, int, Indices]:
        at = side[slice(*batch)]  # consecutive, and so is their stretch of `containing`
        low = int(offsets[at[0]])
        jobs = np.column_stack([x[at], y[at], at, settled[at], bits[slice(*batch)], offsets[at] - low]).astype(np.int64)
        counts = np.zeros(len(at), np.int64), np.zeros(int(offsets[at[-1] + 1]) - low, np.int64)
        space = work_space(int(degree.max()))
        _count_jobs(C, cut, jobs, offsets, columns, space, *counts)
        if space.careful[WANTED]:  # for the first time: load it and begin again
            space.careful[:] = careful_address(), 0
            counts[1][:] = 0
            _count_jobs(C, cut, jobs, offsets, columns, space, *counts)
        return at, counts[0], low, counts[1]

    with announced("compiling for the conservative and majority rule, once per machine"):
        for at, n_found, low, n_containing in in_threads(work, pairwise(cuts) if len(side) else (), n_threads):
            np.add.at(found, at, n_found)
            containing[low : low + len(n_containing)] += n_containing
    out = np.empty_like(containing)
    out[order] = containing
    return Counts(found, out)


@compiled
def _count_jobs(C, cut, jobs, starts, columns, walk, found, containing):
    """Write the number of separating sets of each job, and add how many hold each candidate to `containing`.

    Each job, of int64 (m, 6), has x, y, the number of the pair, how many of its first candidates are settled, which of
    these are in S (bits), and where in `containing` its counts go. `starts` and `columns` are the ascending candidates,
    `walk` the `work_space` of the largest number of candidates.
    """
    for job in range(len(jobs)):
        owner, settled, bits, offset = jobs[job, 2], jobs[job, 3], jobs[job, 4], jobs[job, 5]
        degree = starts[owner + 1] - starts[owner]
        n, base = 0, 0
        for i in range(degree):
            if i >= settled or bits >> i & 1:
                walk.order[n] = columns[starts[owner] + i]
                n += 1
                base += i < settled
        walk.order[n], walk.order[n + 1] = jobs[job, 0], jobs[job, 1]
        _start(C, walk, base, n + 2)
        found[job] = _count(C, cut, walk, base, n - base, containing, offset + settled)
        for i in range(settled):
            if bits >> i & 1:
                containing[offset + i] += found[job]
