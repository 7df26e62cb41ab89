"""Nodes, which are families of conditioning sets of one pair (x, y), and the other named arrays of a search.

A node holds the sets that consist of the members taken and of m of its q candidates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Floats, Mask
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.walk_state import floats, integers
from pycupc.engines.cpu.tuning import SETS_PER_PAIR
from pycupc.independence.gaussian.partial_correlation import canonical_space
from pycupc.system.compiled import part

#: Slots of `Nodes`: the family among whose sets the first separating one is sought, and the first node of a search.
BASE, ROOT = 0, 1
#: Largest delta of a node: one that has grown to 1, but for rounding, would leave nothing of its variance.
MOST_DELTA = 0.999999


class Nodes(NamedTuple):
    """A stack of nodes, one per slot: correlations given the members taken, all variances 1."""

    C: Floats  # (slot, q, q) of the candidates
    x: Floats  # (slot, q) of the candidates with x
    y: Floats  # (slot, q) and with y
    delta: Floats  # (slot, q) C - diag(delta) is positive semidefinite
    weight: Floats  # (slot, q) weights of the relaxation, with sum m
    rho: Floats  # (slot,) of x and y
    position: Indices  # (slot, q) positions of the candidates among the neighbours of x, ascending
    members: Indices  # (slot, level) positions of the members taken
    q: Indices  # (slot,) candidates
    m: Indices  # (slot,) members to be chosen from them
    taken: Indices  # (slot,) members taken


class Sets(NamedTuple):
    """Covariances while the sets of a node are tested, by the number t of members given."""

    C: Floats  # (t, q, q) of the candidates; upper triangle
    x: Floats  # (t, q) with x
    y: Floats  # (t, q) with y
    kk: Floats  # (t, q) variances
    xx: Floats  # (t,)
    yy: Floats  # (t,)
    xy: Floats  # (t,)
    chosen: Indices  # (level,) candidate given at each depth
    following: Indices  # (t,) the next one
    found: Indices  # (level,) positions of a set, ascending


class Work(NamedTuple):
    """Work space for the bound of a node and for its division."""

    H: Floats  # (q, q + 1) a factor, and the right side
    a: Floats  # (q,) this and the next five as in the claim
    b: Floats
    h: Floats
    z: Floats
    Ez: Floats
    s: Floats
    best: Floats  # (q,) the scores of the best bound
    row: Floats  # (q,) work space
    scale: Floats  # (q,) 1 / standard deviation given one more member
    top: Floats  # (level + 2,) largest scores, descending
    keep: Indices  # (q,) candidates that stay
    first: Indices  # (level,) positions of a set that separates the pair
    bound: Floats  # (1,) r^2 below which a test is looked at
    smallest: Floats  # (1,) smallest r^2 met
    margin: Floats  # (1,) of the last bound
    spent: Floats  # (2,) nanoseconds of the searches about the present pair, and about all, by the steps made
    sets_per_pair: Floats  # (1,) `SETS_PER_PAIR`
    asked: Mask  # (position,) a set counts only if it has one of these candidates
    variables: Indices  # (level + 2,) of a set, then x and y
    elimination: Floats  # `canonical_space` of the level
    counts: Indices  # (2,) `TESTS`, `BOUNDS`


def search_space(level: int, d: int) -> tuple[Nodes, Sets, Work]:
    """Arrays for rows of up to d neighbours."""
    slots = level + 3
    per_node = dict.fromkeys(("x", "y", "delta", "weight"), (slots, d))
    numbers = dict.fromkeys(("q", "m", "taken"), (slots,))
    nodes = Nodes(
        **floats(C=(slots, d, d), **per_node, rho=(slots,)),
        **integers(position=(slots, d), members=(slots, level), **numbers),
    )
    sets = Sets(
        **floats(C=(slots, d, d), x=(slots, d), y=(slots, d), kk=(slots, d), xx=(slots,), yy=(slots,), xy=(slots,)),
        **integers(chosen=(level,), following=(slots,), found=(level,)),
    )
    vectors = dict.fromkeys(("a", "b", "h", "z", "Ez", "s", "best", "row", "scale"), (d,))
    work = Work(
        **floats(H=(d, d + 1), **vectors, top=(level + 2,), bound=(1,), smallest=(1,), margin=(1,), spent=(2,)),
        **integers(keep=(d,), first=(level,), variables=(level + 2,), counts=(2,)),
        sets_per_pair=np.full(1, SETS_PER_PAIR),
        asked=np.ones(d, dtype=np.bool_),
        elimination=canonical_space(level),
    )
    return nodes, sets, work


@part
def root(R, delta, i, level, nodes):
    """Slot BASE: all conditioning sets of x, which is last in R, and the neighbour at position i."""
    d, q = R.shape[0] - 1, 0
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


@part
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
