"""u2pd "rand" and "retry": a graph that some DAG extends (tests/CONTRACT.md, section 5)."""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.compiled import compiled
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
    find,
    owners,
    put_arrowhead,
    without_arrows,
)
from pycupc.orientation.trace import COLLIDER

#: "retry" gives up after this many sets of turned edges.
MAX_TRIES = 100

#: How a graph that some DAG extends was found, see `Orientation.status`.
Way = Literal["extendable", "reoriented", "forced", "random"]


def orient_extendable(
    graph: MixedGraph, u2pd: Literal["rand", "retry"], random_state: int | np.random.Generator | None
) -> tuple[MixedGraph, Way, int]:
    """Colliders and rules if a DAG extends them, else what `u2pd` says.

    "retry" turns the edges that colliders want both ways, in binary counting order over their list (the first edge is
    the lowest bit). If no try is extendable, the last one is made a DAG: its arrows kept, colliders added. If it has a
    cycle, that cannot be done, and pcalg goes on as in "rand": a random DAG on the skeleton.

    Parameters
    ----------
    graph : MixedGraph
        The skeleton, its triples marked.

    Returns
    -------
    graph, status, number of tries
    """
    p = len(graph.start) - 1
    heads = without_arrows(graph)
    orient_colliders(heads, solve_confl=True)
    orient_colliders(graph, solve_confl=False)
    if is_extendable(graph):
        apply_rules(graph, arrow_is_gap=True)
        return graph, "extendable", 0
    tries = 0
    if u2pd == "retry":
        clash = (heads.entry[KIND] == BOTH) & (heads.entry[NEIGHBOUR] > owners(heads.entry))
        turns = np.flatnonzero(clash).tolist()
        tries = min(2 ** len(turns) - 1, MAX_TRIES)
        for code in range(1, tries + 1):
            for e in turns[: (code ^ (code - 1)).bit_length()]:
                at = e if graph.entry[KIND, e] == OUT else graph.entry[MIRROR, e]  # the end that the arrowhead goes to
                z = heads.entry[FIRST, at]
                put_arrowhead(graph.entry, at, COLLIDER, z, z, False)
            if is_extendable(graph):
                apply_rules(graph, arrow_is_gap=True)
                return graph, "reoriented", code
        order = sink_order(graph)
        if order is not None:
            return cpdag_of_order(graph, order), "forced", tries
    return cpdag_of_order(graph, np.random.default_rng(random_state).permutation(p)), "random", tries


def is_extendable(graph: MixedGraph) -> bool:
    """Can the undirected edges be directed without a cycle or a new collider? (Dor and Tarsi 1992)

    Takes away, one at a time, a node that no arrow leaves and whose undirected neighbours are each adjacent to all
    its other neighbours; the graph is extendable if that ends with no node left.
    """
    p = len(graph.start) - 1
    waiting, gone = np.ones(p, dtype=np.bool_), np.zeros(p, dtype=np.bool_)
    return bool(_is_extendable(graph.start, graph.entry, _children(graph), np.arange(p), waiting, gone))


def sink_order(graph: MixedGraph) -> NDArray[np.int64] | None:
    """A causal order that agrees with every arrow: again and again the lowest node that no arrow leaves goes last.

    None if the arrows form a cycle.
    """
    start, neighbour = graph.start.tolist(), graph.entry[NEIGHBOUR].tolist()
    arrow_in = (graph.entry[KIND] == IN).tolist()
    left = _children(graph).tolist()
    sinks = [x for x, n in enumerate(left) if not n]  # ascending, so a heap already
    order = []
    while sinks:
        x = heapq.heappop(sinks)
        order.append(x)
        for e in range(start[x], start[x + 1]):
            if arrow_in[e]:
                y = neighbour[e]
                left[y] -= 1
                if not left[y]:
                    heapq.heappush(sinks, y)
    return np.array(order[::-1]) if len(order) == len(left) else None


def cpdag_of_order(graph: MixedGraph, order: NDArray[np.int64]) -> MixedGraph:
    """CPDAG of the DAG that directs every edge of the skeleton from the earlier to the later node of `order`."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    dag = without_arrows(graph)
    _orient_colliders_of_order(dag.start, dag.entry, place)
    apply_rules(dag)
    return dag


def _children(graph: MixedGraph) -> NDArray[np.int64]:
    """How many arrows leave each node."""
    return np.bincount(owners(graph.entry)[graph.entry[KIND] == OUT], minlength=len(graph.start) - 1)


@compiled
def _is_extendable(start, entry, children, line, waiting, gone):
    """`line`, at first all nodes in order, is a ring of those to look at; the other arrays follow the nodes left."""
    p = len(line)
    first = 0
    n_waiting = p
    left = p
    while n_waiting > 0:
        x = line[first]
        first = (first + 1) % p
        n_waiting -= 1
        waiting[x] = False
        last = not gone[x] and children[x] == 0
        for i in range(start[x], start[x + 1]):
            y = entry[NEIGHBOUR, i]
            if last and entry[KIND, i] == UNDIRECTED and not gone[y]:
                for j in range(start[x], start[x + 1]):
                    z = entry[NEIGHBOUR, j]
                    if j != i and not gone[z] and find(start, entry, y, z) < 0:
                        last = False
                        break
        if not last:
            continue
        gone[x] = True
        left -= 1
        for e in range(start[x], start[x + 1]):
            y = entry[NEIGHBOUR, e]
            children[y] -= entry[KIND, e] == IN
            if not gone[y] and not waiting[y]:
                waiting[y] = True
                line[(first + n_waiting) % p] = y
                n_waiting += 1
    return left == 0


@compiled
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
