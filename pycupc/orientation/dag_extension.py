"""u2pd "rand" and "retry": a graph that some DAG extends (tests/CONTRACT.md, section 5)."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Literal

import numpy as np

from pycupc.orientation.colliders import ContainsMany, conflicts, orient_colliders
from pycupc.orientation.meek import MeekRules
from pycupc.orientation.mixed_graph import MixedGraph
from pycupc.sparse_graph import SparseGraph

#: "retry" gives up after this many sets of turned edges.
MAX_TRIES = 100

#: How a graph that some DAG extends was found, see `Orientation.status`.
Status = Literal["extendable", "reoriented", "forced", "random"]


def is_extendable(graph: MixedGraph) -> bool:
    """Can the undirected edges be directed without a cycle or a new collider? (Dor and Tarsi 1992)

    Takes away, one at a time, a node that no arrow leaves and whose undirected neighbours are each adjacent to all
    its other neighbours; the graph is extendable if that ends with no node left.
    """
    adjacent, undirected, children = (
        [set(s) if s else s for s in sets] for sets in (graph.adjacent, graph.undirected, graph.children)
    )
    queue = deque(range(graph.p))
    waiting, left = [True] * graph.p, graph.p
    gone = [False] * graph.p
    while queue:
        x = queue.popleft()
        waiting[x] = False
        if gone[x] or children[x]:
            continue
        if any(len(adjacent[x] - adjacent[y]) > 1 for y in undirected[x]):  # y itself is the one
            continue
        gone[x], left = True, left - 1
        for y in adjacent[x]:
            adjacent[y].discard(x)
            undirected[y].discard(x)
            children[y].discard(x)
            if not waiting[y]:
                waiting[y] = True
                queue.append(y)
        adjacent[x].clear()
    return left == 0


def sink_order(graph: MixedGraph) -> list[int] | None:
    """A causal order that agrees with every arrow: again and again the lowest node that no arrow leaves goes last.

    None if the arrows form a cycle.
    """
    left = [len(s) for s in graph.children]
    sinks = [x for x in range(graph.p) if not left[x]]  # ascending, so a heap already
    order = []
    while sinks:
        x = heapq.heappop(sinks)
        order.append(x)
        for y in graph.parents[x]:
            left[y] -= 1
            if not left[y]:
                heapq.heappush(sinks, y)
    return order[::-1] if len(order) == graph.p else None


def cpdag_of_order(skeleton: SparseGraph, adjacent: list[set[int]], order: list[int]) -> MixedGraph:
    """CPDAG of the DAG that directs every edge of the skeleton from the earlier to the later node of `order`."""
    place = {v: i for i, v in enumerate(order)}
    graph = MixedGraph(skeleton, adjacent)
    for y in range(graph.p):
        parents = {x for x in adjacent[y] if place[x] < place[y]}
        for x in sorted(parents):
            others = parents - adjacent[x] - {x}
            if others:
                z = min(others)
                graph.direct(x, y, ("collider", min(x, z), y, max(x, z)))
    MeekRules(graph).run()
    return graph


def orient_extendable(
    skeleton: SparseGraph,
    sepset: ContainsMany,
    u2pd: Literal["rand", "retry"],
    random_state: int | np.random.Generator | None,
) -> tuple[MixedGraph, Status, int]:
    """Colliders and rules if a DAG extends them, else what `u2pd` says.

    "retry" turns the edges that colliders want both ways, in binary counting order over their list (the first edge is
    the lowest bit). If no try is extendable, the last one is made a DAG: its arrows kept, colliders added. If it has a
    cycle, that cannot be done, and pcalg goes on as in "rand": a random DAG on the skeleton.

    Returns
    -------
    graph, status, number of tries
    """
    graph = MixedGraph(skeleton)
    orient_colliders(graph, sepset, (), solve_confl=False)
    if is_extendable(graph):
        MeekRules(graph, arrow_is_gap=True).run()
        return graph, "extendable", 0
    tries = 0
    if u2pd == "retry":
        turns = conflicts(graph, sepset)
        tries = min(2 ** len(turns) - 1, MAX_TRIES)
        for code in range(1, tries + 1):
            flip = code ^ (code - 1)
            for bit, ((a, b), (ab, ba)) in enumerate(turns.items()):
                if not flip >> bit:
                    break
                if a in graph.parents[b]:  # the lowest bits of `flip` are all ones
                    graph.direct(b, a, ba)
                else:
                    graph.direct(a, b, ab)
            if is_extendable(graph):
                MeekRules(graph, arrow_is_gap=True).run()
                return graph, "reoriented", code
        order = sink_order(graph)
        if order is not None:
            return cpdag_of_order(skeleton, graph.adjacent, order), "forced", tries
    order = np.random.default_rng(random_state).permutation(skeleton.p).tolist()
    return cpdag_of_order(skeleton, graph.adjacent, order), "random", tries
