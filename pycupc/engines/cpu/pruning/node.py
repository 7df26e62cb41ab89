"""Nodes, which are families of conditioning sets of one pair (x, y), and the other named arrays of a search.

A node holds the sets that consist of the members taken and of m of its q candidates.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from pycupc.engines.cpu.conditional_covariances import ConditionalCovariances, space_for_sets
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import SETS_PER_PAIR
from pycupc.engines.cpu.walk_arrays import work_space
from pycupc.engines.protocol import Floats, Mask
from pycupc.independence.gaussian.partial_correlation import canonical_space
from pycupc.system.jit import jit_part

#: Slots of `Nodes`: the family among whose sets the first separating one is sought, and the first node of a search.
BASE, ROOT = 0, 1
#: Largest delta of a node: one that has grown to 1, but for rounding, would leave nothing of its variance.
MOST_DELTA = 0.999999


class Nodes(NamedTuple):
    """A stack of nodes, one per slot: correlations given the members taken, all variances 1."""

    C: Annotated[Floats, "slot d d"]  # of the candidates
    x: Annotated[Floats, "slot d"]  # of the candidates with x
    y: Annotated[Floats, "slot d"]  # and with y
    delta: Annotated[Floats, "slot d"]  # C - diag(delta) is positive semidefinite
    weight: Annotated[Floats, "slot d"]  # weights of the relaxation, with sum m
    rho: Annotated[Floats, "slot"]  # of x and y
    position: Annotated[Indices, "slot d"]  # positions of the candidates among the neighbours of x, ascending
    members: Annotated[Indices, "slot level"]  # positions of the members taken
    q: Annotated[Indices, "slot"]  # candidates
    m: Annotated[Indices, "slot"]  # members to be chosen from them
    taken: Annotated[Indices, "slot"]  # members taken


class NodeWork(NamedTuple):
    """Work space for the bound of a node and for its division; d: candidates."""

    H: Annotated[Floats, "d d+1"]  # a factor, and the right side
    a: Annotated[Floats, "d"]  # this and the next five as in the claim
    b: Annotated[Floats, "d"]
    h: Annotated[Floats, "d"]
    z: Annotated[Floats, "d"]
    Ez: Annotated[Floats, "d"]
    s: Annotated[Floats, "d"]
    best: Annotated[Floats, "d"]  # the scores of the best bound
    row: Annotated[Floats, "d"]  # work space
    scale: Annotated[Floats, "d"]  # 1 / standard deviation given one more member
    top: Annotated[Floats, "level+2"]  # largest scores, descending
    keep: Annotated[Indices, "d"]  # candidates that stay
    found: Annotated[Indices, "level"]  # positions of a set that separates the pair, ascending
    first: Annotated[Indices, "level"]  # positions of the first one known so far
    bound: Annotated[Floats, "1"]  # r^2 below which a test is looked at
    smallest: Annotated[Floats, "1"]  # smallest r^2 met
    margin: Annotated[Floats, "1"]  # of the last bound
    spent: Annotated[Floats, "1"]  # nanoseconds of the searches about this pair, by the steps made
    sets_per_pair: Annotated[Floats, "1"]  # `SETS_PER_PAIR`
    asked: Annotated[Mask, "d"]  # by position: a set counts only if it has one of these candidates
    variables: Annotated[Indices, "level+2"]  # of a set, then x and y
    list: Annotated[Indices, "1"]  # where the neighbours of x begin in `Side.neighbours`
    elimination: Annotated[Floats, "given"]  # `canonical_space` of the level
    minimum: Annotated[Mask, "1"]  # search for the smallest r^2: the bound follows the smallest one met
    counts: Annotated[Indices, "4"]  # `TESTS`, `BOUNDS`, `SPENT`, `REPLACED`


def search_space(level: int, d: int, **given: Mask) -> tuple[Nodes, ConditionalCovariances, NodeWork]:
    """Arrays for rows of up to d neighbours; `given`: fields of `NodeWork`, all candidates are `asked` by default."""
    own = {"sets_per_pair": np.full(1, SETS_PER_PAIR), "elimination": canonical_space(level), "asked": np.full(d, True)}
    nodes = work_space(Nodes, slot=level + 3, d=d, level=level)
    return nodes, space_for_sets(level, d), work_space(NodeWork, d=d, level=level, **{**own, **given})


@jit_part
def root(R, delta, d, i, level, nodes):
    """Slot BASE: all conditioning sets of x, which is last of d + 1 variables in R, and the neighbour at position i."""
    q = 0
    for k in range(d):
        if k != i:
            nodes.position[BASE, q] = k
            nodes.x[BASE, q], nodes.y[BASE, q], nodes.delta[BASE, q] = R[k, d], R[k, i], delta[k]
            nodes.weight[BASE, q] = level / (d - 1)
            n = 0
            for r in range(d):
                if r != i:
                    nodes.C[BASE, q, n] = R[k, r]
                    n += 1
            q += 1
    nodes.rho[BASE], nodes.q[BASE], nodes.m[BASE], nodes.taken[BASE] = R[i, d], q, level, 0


@jit_part
def child(nodes, slot, to, w, n, apart, take):
    """Write to slot `to` the node with the n candidates in w.keep but `apart`, which is taken or, else, dropped.

    -1 for `apart`: none. `to` may be `slot`: nothing is read from where something was written before.
    """
    size, xs, ys, position = 0, 0.0, 0.0, 0
    if take:
        xs, ys, position = nodes.x[slot, apart], nodes.y[slot, apart], nodes.position[slot, apart]
    for u in range(n):
        k = w.keep[u]
        if k != apart:
            w.keep[size] = k
            r = nodes.C[slot, apart, k] if take else 0.0
            w.row[size] = r
            w.scale[size] = 1.0 / math.sqrt(1.0 - r * r)
            size += 1
    x_scale, y_scale = 1.0 / math.sqrt(1.0 - xs * xs), 1.0 / math.sqrt(1.0 - ys * ys)
    rho, m, taken, total = (nodes.rho[slot] - xs * ys) * x_scale * y_scale, nodes.m[slot], nodes.taken[slot], 0.0
    for u in range(size):
        k, ru, su = w.keep[u], w.row[u], w.scale[u]
        for v in range(size):
            nodes.C[to, u, v] = (nodes.C[slot, k, w.keep[v]] - ru * w.row[v]) * su * w.scale[v]
        nodes.C[to, u, u] = 1.0
        nodes.x[to, u] = (nodes.x[slot, k] - xs * ru) * su * x_scale
        nodes.y[to, u] = (nodes.y[slot, k] - ys * ru) * su * y_scale
        delta = nodes.delta[slot, k] * su * su
        nodes.delta[to, u] = delta if delta < MOST_DELTA else MOST_DELTA
        nodes.weight[to, u] = nodes.weight[slot, k]
        nodes.position[to, u] = nodes.position[slot, k]
        total += nodes.weight[to, u]
    for t in range(taken):
        nodes.members[to, t] = nodes.members[slot, t]
    if take:
        nodes.members[to, taken] = position
        taken, m = taken + 1, m - 1
    most = m if m < size else size
    for u in range(size):
        nodes.weight[to, u] = 0.7 * nodes.weight[to, u] * most / total + 0.3 * most / size
    nodes.rho[to], nodes.q[to], nodes.m[to], nodes.taken[to] = rho, size, m, taken
