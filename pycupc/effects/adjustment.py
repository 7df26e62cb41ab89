"""Adjustment sets of a graph as lists of variables, and whether a set is one (docs/contracts/effects.md, "Adjustment
sets").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pycupc.data.names import listed, positions
from pycupc.effects.causal_paths import blocks, may_cause, on_causal_paths, optimal_set, possible_ancestors
from pycupc.effects.orientations import Graph, Nodes, Orientations, Variable, causal_graph_of, check_maximal
from pycupc.system.localised_message import Message, Value, Words
from pycupc.system.nearest import hinted

Variables = Variable | Sequence[Variable]
KINDS = ("optimal", "canonical", "parents")


class _Question:
    """Causes, effects and a maximally oriented graph, with `member`, one of the DAGs that it stands for."""

    def __init__(self, graph: Graph, x: Variables, y: Variables) -> None:
        named = causal_graph_of(graph)
        self.labels = named.labels
        check_maximal(named)
        self.graph, self.member = map(Orientations.of, (named.sparse_graph, named.to_dag().sparse_graph))
        self.xs, self.ys = (list(dict.fromkeys(positions(v, self.labels))) for v in (x, y))
        if not self.xs or not self.ys or {*self.xs} & {*self.ys}:
            x, y = ([self.labels[v] for v in some] for some in (self.xs, self.ys))
            raise ValueError(f"x and y must be different variables, at least one each, got {x} and {y}")

    def is_valid(self, given: Nodes, ys: Sequence[int]) -> bool:
        """The generalised criterion: blocked paths need to be sought in one DAG of the class only."""
        between, forbidden = on_causal_paths(self.xs, ys, self.graph)
        undirected = any(self.graph.siblings[x] & between for x in self.xs)
        return not undirected and not forbidden & given and blocks(self.xs, ys, given, between, self.member)


@hinted
def adjustment_set(
    graph: Graph, x: Variables, y: Variables, kind: Literal["optimal", "canonical", "parents"] = "optimal"
) -> list[str]:
    """The labels of a set whose adjustment gives the total effects of x on y, in every DAG that extends the graph.

    Parameters
    ----------
    graph : NamedGraph or array_like (p, p)
        A DAG or CPDAG, also with background knowledge, such as the result of `pc`, or a graph matrix (row to column).
    x, y : int or str, or a sequence of them
        Causes and effects.
    kind : {"optimal", "canonical", "parents"}
        "optimal": the valid set with the smallest asymptotic variance in linear models (Henckel, Perkovic and Maathuis
        2022), as pcalg's ``optAdjSet``; variables of y that are no descendants of x are left out of the question, and
        may be in the set. "canonical": all possible ancestors of x and y that are allowed, which is valid
        if any set is. "parents": the parents of x.

    Raises
    ------
    TypeError, ValueError, IndexError
        If there is no such variable; x and y have one in common; the graph is none of these; no y is a descendant of
        x ("optimal"); no set of this kind is valid, as where the direction of an edge at x is not known.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    asked = _Question(graph, x, y)
    xs, ys, among = asked.xs, asked.ys, asked.graph
    causes, forbidden = frozenset(xs), on_causal_paths(xs, ys, among)[1]
    if kind == "optimal":
        ys = [v for v in ys if may_cause(xs, v, among)]
        if not ys:
            text = "no variable of {y} is a descendant of {x}: the effect is 0, without adjustment"
            raise ValueError(Message(text, x=Words("x", "`x.pos`"), y=Words("y", "`y.pos`")))
        found = optimal_set(xs, ys, among)
    elif kind == "canonical":
        found = possible_ancestors([*xs, *ys], among) - forbidden - causes - frozenset(ys)
    else:
        found = frozenset().union(*(among.parents[v] for v in xs)) - causes
    if frozenset(ys) & found or not asked.is_valid(found, ys):
        effect = " on ".join(listed([asked.labels[v] for v in variables]) for variables in (xs, asked.ys))
        text = "no adjustment set of kind {kind} is valid for the effect of {effect} in this graph"
        raise ValueError(Message(text, kind=Value(kind), effect=effect))
    return [asked.labels[v] for v in sorted(found)]


@hinted
def is_adjustment_set(graph: Graph, x: Variables, y: Variables, given: Variables = ()) -> bool:
    """Whether adjusting for `given` gives the total effects of x on y in every DAG that the graph allows.

    The generalised adjustment criterion (Perkovic, Textor, Kalisch and Maathuis 2018), as pcalg's ``gac`` for graphs
    without hidden variables.

    Parameters
    ----------
    graph, x, y
        As of `adjustment_set`.
    given : int or str, or a sequence of them

    Raises
    ------
    TypeError, ValueError, IndexError
        As `adjustment_set`; or if `given` has a variable of x or y.
    """
    asked = _Question(graph, x, y)
    members = frozenset(positions(given, asked.labels))
    if members & {*asked.xs, *asked.ys}:
        raise ValueError(Message("{z} must have no variable of x or y", z=Words("given", "z")))
    return asked.is_valid(members, asked.ys)
