"""All DAGs that extend a graph: they direct its undirected edges and add no unshielded collider.

A DAG that extends the graph has a sink that is one in the graph as well, and whose undirected edges may all be directed
into it: each sibling must be adjacent to all other neighbours (Dor and Tarsi 1992). So sinks are taken away in every
order. Orders that direct the same edges are followed once.
"""

from __future__ import annotations

import heapq
from itertools import chain

from pycupc.effects.orientations import Nodes, Orientations

#: The most DAGs that are enumerated.
MOST_DAGS = 1 << 17

#: The parents of each variable.
Parents = tuple[Nodes, ...]


def all_dags(graph: Orientations) -> list[Parents]:
    """Every DAG that extends the graph, once, as the parents of each variable; none if no DAG extends it.

    They come in pcalg's order: of each DAG the sinks are listed as they are taken away, always the lowest that there
    is, and these lists are in lexicographic order.

    Raises ValueError if there are more than `MOST_DAGS`.
    """
    found: list[Parents] = []
    seen: set[Parents] = set()
    states = [(frozenset(range(graph.p)), tuple(graph.parents))]
    while states:
        nodes, parents = states.pop()
        while settled := {x for x in nodes if graph.adjacent[x] & nodes <= graph.parents[x]}:  # sinks as they are
            nodes -= settled
        if parents in seen:
            continue
        seen.add(parents)
        if not nodes:
            found.append(parents)
            if len(found) > MOST_DAGS:
                raise ValueError(f"too many DAGs extend the graph: more than {MOST_DAGS:,}; use another method")
        for x in nodes:
            near = graph.adjacent[x] & nodes
            siblings = graph.siblings[x] & nodes
            if near == siblings | parents[x] & nodes and all(near - {s} <= graph.adjacent[s] for s in siblings):
                more = list(parents)
                more[x] |= siblings
                states.append((nodes - {x}, tuple(more)))
    return sorted(found, key=_sinks)


def _sinks(parents: Parents) -> list[int]:
    """The variables of a DAG in the order in which they are taken away as the lowest sink that there is."""
    children = [0] * len(parents)
    for v in chain.from_iterable(parents):
        children[v] += 1
    sinks = [v for v, n in enumerate(children) if n == 0]
    order = []
    while sinks:
        order.append(heapq.heappop(sinks))
        for v in parents[order[-1]]:
            children[v] -= 1
            if children[v] == 0:
                heapq.heappush(sinks, v)
    return order
