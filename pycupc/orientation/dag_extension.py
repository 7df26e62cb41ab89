"""The DAGs that extend a graph: one of them, the CPDAG that all share, and a substitute where there is none.

The last is what u2pd "rand" and "retry" ask for (docs/contracts/contract.md, section 5).
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import ARROW, TAIL, SparseGraph
from pycupc.orientation.colliders import orient_colliders
from pycupc.orientation.meek import apply_rules
from pycupc.orientation.mixed_graph import (
    BOTH,
    FIRST,
    IN,
    KIND,
    MIRROR,
    NEIGHBOUR,
    OUT,
    UNDIRECTED,
    MixedGraph,
    directed_as,
    find,
    owners,
    put_arrowhead,
    steps_of,
    to_sparse,
    without_arrows,
)
from pycupc.orientation.trace import COLLIDER, OrientationStatus
from pycupc.system.jit import compiled_for_large, plain_if_small

#: "retry" gives up after this many sets of reversed edges.
MAX_TRIES = 100


def orient_extendable(
    graph: MixedGraph, u2pd: Literal["rand", "retry"], random_state: int | np.random.Generator | None
) -> tuple[MixedGraph, OrientationStatus, int]:
    """Set the colliders and apply the rules if some DAG extends the colliders; otherwise proceed as `u2pd` says.

    "retry" reverses the edges that colliders direct both ways, in binary counting order over their list (the first edge
    is the lowest bit). If no try is extendable, the last one is made a DAG: its arrows are kept and colliders are
    added. If its arrows have a cycle, that is impossible, and pcalg proceeds as in "rand": a random DAG on the
    skeleton.

    The triples of `graph` are marked. Returns the graph, and status and number of tries as in `Orientation`.
    """
    p = len(graph.start) - 1
    heads = without_arrows(graph)
    orient_colliders(heads, solve_confl=True)
    orient_colliders(graph, solve_confl=False)
    if extension_order(graph) is not None:
        apply_rules(graph, arrow_is_gap=True)
        return graph, "extendable", 0
    tries = 0
    if u2pd == "retry":
        clash = (heads.entry[KIND] == BOTH) & (heads.entry[NEIGHBOUR] > owners(heads.entry))
        turns = np.flatnonzero(clash)
        tries = min(2 ** len(turns) - 1, MAX_TRIES)
        for code in range(1, tries + 1):
            for e in turns[: (code ^ (code - 1)).bit_length()]:
                at = e if graph.entry[KIND, e] == OUT else graph.entry[MIRROR, e]  # the end that the arrowhead goes to
                z = heads.entry[FIRST, at]
                put_arrowhead(graph.entry, at, COLLIDER, z, z, False)
            if extension_order(graph) is not None:
                apply_rules(graph, arrow_is_gap=True)
                return graph, "reoriented", code
        order = sink_order(graph)
        if order is not None:
            return cpdag_of_order(graph, order), "forced", tries
    return cpdag_of_order(graph, np.random.default_rng(random_state).permutation(p)), "random", tries


def dag_and_cpdag(graph: SparseGraph) -> tuple[SparseGraph, SparseGraph] | None:
    """A DAG with the skeleton, the arrows and the unshielded colliders of `graph`, and no others, and its CPDAG.

    All DAGs that extend a graph have the same skeleton and unshielded colliders, hence the same CPDAG. None if no DAG
    extends the graph, as when it has bidirected edges or circles.
    """
    if sum([*graph.counts().values()][2:]):
        return None
    with plain_if_small(2 * steps_of(graph), "orientation"):
        mixed = directed_as(graph)
        order = extension_order(mixed)
        if order is None:
            return None
        cpdag = to_sparse(cpdag_of_order(mixed, order), graph)
    place = np.empty_like(order)
    place[order] = np.arange(graph.p)
    forward = place[graph.low] < place[graph.high]
    marks = (np.where(end, TAIL, ARROW).astype(np.int8) for end in (forward, ~forward))
    return SparseGraph(graph.p, graph.low, graph.high, *marks), cpdag


def extension_order(graph: MixedGraph) -> NDArray[np.int64] | None:
    """A causal order of a DAG that directs the undirected edges without a new collider; None if there is none.

    Repeatedly removes a node that no arrow leaves and whose undirected neighbours are each adjacent to all its other
    neighbours, and puts it before those already removed (Dor and Tarsi 1992). There is such a DAG if in the end no node
    is left. The graph must have no bidirected edges.
    """
    p = len(graph.start) - 1
    entry, order = graph.entry, np.empty(p, dtype=np.int64)
    children = np.bincount(owners(entry)[entry[KIND] == OUT], minlength=p)
    taken = _take_away_nodes(graph.start, entry, children, np.arange(p), np.ones(p, np.bool_), order)
    return order[::-1] if taken == p else None


def sink_order(graph: MixedGraph) -> NDArray[np.int64] | None:
    """A causal order that fits all arrows: always the lowest node that no arrow leaves is put last; None in a cycle."""
    kind, owner, order = graph.entry[KIND], owners(graph.entry), list[int]()
    children = np.bincount(owner[kind == OUT], minlength=len(graph.start) - 1).tolist()
    sinks = [x for x, n in enumerate(children) if not n]  # a heap, as it ascends
    while sinks:
        order.append(x := heapq.heappop(sinks))
        entries = slice(graph.start[x], graph.start[x + 1])
        for y in graph.entry[NEIGHBOUR, entries][kind[entries] == IN].tolist():
            children[y] -= 1
            if not children[y]:
                heapq.heappush(sinks, y)
    return np.array(order[::-1]) if len(order) == len(children) else None


def cpdag_of_order(graph: MixedGraph, order: NDArray[np.int64]) -> MixedGraph:
    """CPDAG of the DAG that directs every edge of the skeleton from the earlier to the later node of `order`."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    dag = without_arrows(graph)
    _orient_colliders_of_order(dag.start, dag.entry, place)
    apply_rules(dag)
    return dag


@compiled_for_large
def _take_away_nodes(start, entry, children, line, waiting, order):
    """Fill `order` with nodes as long as one can be removed, see `extension_order`; returns their number.

    `line` is a ring of the nodes to look at, those `waiting`; `children` counts the arrows out, -1 for removed nodes.
    """
    size = len(line)
    first = 0
    n_waiting = size
    taken = 0
    while n_waiting > 0:
        x = line[first]
        first = first + 1 if first + 1 < size else 0
        n_waiting -= 1
        waiting[x] = False
        last = children[x] == 0
        for i in range(start[x], start[x + 1]):
            y = entry[NEIGHBOUR, i]
            if last and entry[KIND, i] == UNDIRECTED and children[y] >= 0:
                for j in range(start[x], start[x + 1]):
                    z = entry[NEIGHBOUR, j]
                    if j != i and children[z] >= 0 and find(start, entry, y, z) < 0:
                        last = False
                        break
        if not last:
            continue
        children[x] = -1
        order[taken] = x
        taken += 1
        for e in range(start[x], start[x + 1]):
            y = entry[NEIGHBOUR, e]
            if children[y] >= 0:
                children[y] -= entry[KIND, e] == IN
                if not waiting[y]:
                    waiting[y] = True
                    line[(first + n_waiting) % size] = y
                    n_waiting += 1
    return taken


@compiled_for_large
def _orient_colliders_of_order(start, entry, place):
    """Set x -> y <- z where x and z precede y and are not adjacent; the reason names the smallest such z."""
    solve_confl = False
    for y in range(len(place)):
        for i in range(start[y], start[y + 1]):
            x = entry[NEIGHBOUR, i]
            for j in range(start[y], start[y + 1]):
                z = entry[NEIGHBOUR, j]
                if i != j and place[x] < place[y] and place[z] < place[y] and find(start, entry, x, z) < 0:
                    put_arrowhead(entry, i, COLLIDER, z, z, solve_confl)
                    break
