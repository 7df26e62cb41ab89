"""The DAGs that extend a graph: one of them, and the CPDAG that all of them share."""

from __future__ import annotations

import numpy as np

from pycupc.graph.sparse import ARROW, TAIL, SparseGraph
from pycupc.orientation.dag_extension import cpdag_of_order, extension_order
from pycupc.orientation.mixed_graph import directed_as, to_sparse
from pycupc.system.compiled import announced, plain_if_small


def dag_and_cpdag(graph: SparseGraph) -> tuple[SparseGraph, SparseGraph] | None:
    """A DAG with the skeleton, the arrows and the unshielded colliders of `graph`, and no others, and its CPDAG.

    All DAGs that extend a graph have the same skeleton and unshielded colliders, hence the same CPDAG. None if no DAG
    extends the graph, as when it has bidirected edges or circles.
    """
    if sum([*graph.counts().values()][2:]):
        return None
    degree = graph.degrees()
    steps = 2 * int((degree * degree).sum())
    with announced("compiling for the orientation, once per machine"), plain_if_small(steps):
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
