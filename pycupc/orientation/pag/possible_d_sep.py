"""Possible-D-SEP: the variables from which `fci` draws sets beyond the neighbours of a pair (docs/contracts/latent.md).

Possible-D-SEP(x) are the variables at the end of a path from x on which every inner v is a collider, or in a triangle
with the two variables beside it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import ARROW, Ints, SparseGraph
from pycupc.orientation.mixed_graph import KIND, MIRROR, NEIGHBOUR, unsigned
from pycupc.orientation.pag.mark_lists import edge
from pycupc.orientation.pag.orienting import Orienting
from pycupc.system.jit import compiled_for_large

Indices = NDArray[np.int64]


def possible_d_sep(skeleton: SparseGraph, sepset: SepSets) -> list[Ints]:
    """Possible-D-SEP of each variable, ascending, without the variable itself."""
    work = Orienting(skeleton)
    with work.compiling():
        work.mark_triples(sepset)
        work.orient_colliders()
        start, entry, _, near = work.graph
        step, met = np.full(entry.shape[1], -1), np.full(skeleton.p, -1)
        queue, found = np.empty(entry.shape[1], dtype=np.int64), np.empty(skeleton.p, dtype=np.int64)
        sizes = (_reached(start, entry, near, x, step, met, queue, found) for x in range(skeleton.p))
        return [np.sort(found[:n]).astype(np.int32) for n in sizes]


@compiled_for_large
def _reached(start, entry, near, x, step, met, queue, found):
    """Write the variables reached from x; returns how many. A step is the entry of its end in the list of its start.

    `step` and `met` hold the x whose walk made the step, or met the variable.
    """
    n, size, at = 0, 0, 0
    met[x] = x
    for e in range(start[x], start[x + 1]):
        queue[n] = e
        step[e] = x
        n += 1
    while at < n:
        back = entry[MIRROR, queue[at]]  # in the list of v, the end of the step from u
        v, u = entry[NEIGHBOUR, queue[at]], entry[NEIGHBOUR, back]
        at += 1
        if met[v] != x:
            met[v] = x
            found[size] = v
            size += 1
        for e in range(start[v], start[v + 1]):
            if e != back and step[unsigned(e)] != x:
                collider = entry[KIND, back] == ARROW and entry[KIND, e] == ARROW
                if collider or edge(start, entry, near, u, entry[NEIGHBOUR, e]) >= 0:
                    step[e] = x
                    queue[n] = e
                    n += 1
    return size


def biconnected(skeleton: SparseGraph) -> list[Indices]:
    """The variables of each biconnected component with an edge, in the order in which a search in depth ends them.

    The search begins at the lowest variable and goes to the lowest neighbours first (Hopcroft and Tarjan 1973).
    """
    start, neighbours = (values.tolist() for values in skeleton.neighbour_lists())
    depth, lowest, edges = [-1] * skeleton.p, [0] * skeleton.p, list[tuple[int, int]]()
    components: list[Indices] = []
    for root in range(skeleton.p):
        if depth[root] >= 0:
            continue
        depth[root] = 0
        following, path = {root: start[root]}, [root]
        while path:
            v = path[-1]
            if following[v] < start[v + 1]:
                w = neighbours[following[v]]
                following[v] += 1
                if depth[w] < 0:
                    depth[w] = lowest[w] = depth[v] + 1
                    following[w] = start[w]
                    edges.append((v, w))
                    path.append(w)
                elif depth[w] < depth[v] and (len(path) < 2 or w != path[-2]):
                    edges.append((v, w))
                    lowest[v] = min(lowest[v], depth[w])
                continue
            path.pop()
            if not path:
                continue
            u = path[-1]
            lowest[u] = min(lowest[u], lowest[v])
            if lowest[v] >= depth[u]:
                at = edges.index((u, v))
                components.append(np.unique(np.array(edges[at:], dtype=np.int64)))
                del edges[at:]
    return components
