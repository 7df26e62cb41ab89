"""What the summary of a result says: its levels, its notes, and in a sentence why a graph of `pc` is no CPDAG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycupc.graph.sparse import BIDIRECTED
from pycupc.results.causal_graph import CPDAG, RETRY, CausalGraph
from pycupc.system.localised_message import Message
from pycupc.system.text import counted

#: The note of a result: the number of edges to which colliders or rules gave arrows of both directions.
CONTRADICTING = "contradicting_edges"


@dataclass(frozen=True)
class LevelSummary:
    """One level of the skeleton phase: its tests, as pcalg counts them, and edges.

    `n_careful` are doubtful tests, decided by the canonical formula, among all that the engine made. The number may
    vary between runs: an engine with several threads makes some tests that pcalg would not have made. `n_made` are the
    tests made if `n_bounds` bounds answered the others, else -1.
    """

    level: int
    n_tests: int
    n_removed: int
    edges_left: int
    n_careful: int
    seconds: float
    n_made: int = -1
    n_bounds: int = 0


def level_lines(levels: Sequence[LevelSummary], n_edgetests: Sequence[int]) -> list[str]:
    """The levels as the lines of a table, or the numbers of tests where only these are known."""
    if not levels:
        return [f"tests per level: {', '.join(f'{v:,}' for v in n_edgetests)}"]
    width = max(18, *(len(f"{s.n_tests:,}") for s in levels))
    lines = ["", f"{'level':>5} {'tests':>{width}} {'removed':>12} {'edges left':>12} {'seconds':>9}"]
    lines += [
        f"{s.level:>5} {s.n_tests:>{width},} {s.n_removed:>12,} {s.edges_left:>12,} {s.seconds:>9.3f}" for s in levels
    ]
    if careful := sum(s.n_careful for s in levels):
        lines.append(f"{careful:,} tests were ill-conditioned or near the cutoff: the canonical formula decided")
    if bounds := sum(s.n_bounds for s in levels):
        made = sum(s.n_tests if s.n_made < 0 else s.n_made for s in levels)
        lines.append(f"{made:,} of {sum(n_edgetests):,} tests were made; {bounds:,} bounds answered the others")
    return lines


def closing_lines(notes: Mapping[str, Any], engine: str) -> list[str]:
    """The last lines of a summary."""
    lines = [f"{key.replace('_', ' ')}: {value}" for key, value in notes.items()]
    return [*lines, f"engine: {engine}"] if engine else lines


def contradictions(graph: CausalGraph, notes: Mapping[str, Any], *, known: bool, remedy: bool) -> str:
    """Why a graph is no CPDAG, in a sentence with neither capital nor full stop; "" for a CPDAG.

    `notes`: of the result. With `known` directions the program is tpc, and no `remedy` would keep them.
    """
    if graph.is_cpdag:
        return ""
    counts = graph.sparse_graph.counts()
    if len(counts) > 3:  # with circles: not a graph of pc
        return graph._not_a_cpdag()
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
    elif not graph._has_dag:
        kept += f" ({graph._without_dag()})"
    if known or not remedy:
        return f"{who}, which is usual in real data; {kept}"
    text = "{who}, which is usual in real data; {kept}; {way} gives a "
    text += "CPDAG" if graph._has_dag else "graph that a DAG extends"
    return Message(text, who=who, kept=kept, way=CPDAG if graph._has_dag else RETRY)
