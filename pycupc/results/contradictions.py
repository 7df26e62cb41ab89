"""Why a graph of `pc` is no CPDAG, in a sentence: its arrows, or the tests, contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycupc.graph.sparse import BIDIRECTED
from pycupc.results.causal_graph import CPDAG, RETRY, CausalGraph
from pycupc.system.localised_message import Message
from pycupc.system.text import counted

#: The note of a result: the number of edges to which colliders or rules gave arrows of both directions.
CONTRADICTING = "contradicting_edges"


def contradictions(graph: CausalGraph, notes: Mapping[str, Any], *, known: bool, remedy: bool) -> str:
    """The sentence, with neither capital nor full stop; "" for a CPDAG. `notes`: of the result.

    With `known` directions the program is tpc, and no `remedy` would keep them.
    """
    if graph.is_cpdag:
        return ""
    counts = graph.sparse_graph.counts()
    if len(counts) > 3:  # with circles: not a graph of pc
        return graph.not_a_cpdag()
    bidirected = counts[BIDIRECTED]
    if edges := bidirected or notes.get(CONTRADICTING, 0):
        who = f"arrows contradict each other on {counted(edges, 'edge')}"
    elif undecided := notes.get("ambiguous_triples", 0):
        who = f"the tests leave {counted(undecided, 'triple')} undecided"
    else:
        who = "the tests contradict each other"
    kept = "kept as they are" if known else "kept as pcalg has them"
    if bidirected:
        kept = "marked as bidirected"
    elif not graph.has_dag:
        kept += f" ({graph.without_dag()})"
    if known or not remedy:
        return f"{who}, which is usual in real data; {kept}"
    text = "{who}, which is usual in real data; {kept}; {way} gives a "
    text += "CPDAG" if graph.has_dag else "graph that a DAG extends"
    return Message(text, who=who, kept=kept, way=CPDAG if graph.has_dag else RETRY)
