"""Adjustment sets of a graph as lists of variables, and whether a set is one (docs/EFFECTS.md, "Adjustment sets")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from pycupc.data.names import listed, positions
from pycupc.effects.orientations import Graph, Nodes, Orientations, Variable, causal_graph_of, check_maximal
from pycupc.effects.paths import blocks, may_cause, on_causal_paths, optimal_set, possible_ancestors
from pycupc.graph.sparse import ARROW, CIRCLE, TAIL, SparseGraph
from pycupc.results.causal_graph import CausalGraph
from pycupc.results.pagalgo import PagAlgo

Variables = Variable | Sequence[Variable]
Kind = Literal["dag", "cpdag", "pdag", "mag", "pag"]
KINDS = ("optimal", "canonical", "parents")


class _Question:
    """Causes, effects and a graph, with `member`, one of the graphs without open marks that it stands for.

    That is a DAG of a maximally oriented graph, or with `hidden` variables a MAG of a PAG.
    """

    def __init__(self, graph: Graph, x: Variables, y: Variables, *, hidden: bool = False, quirks: bool = False) -> None:
        named = causal_graph_of(graph, with_marks=hidden)
        self.labels, self.hidden, self.quirks = named.labels, hidden, quirks
        if hidden:
            self.marks, member = named.sparse_graph.amat_pag(), _mag(named.sparse_graph)
        else:
            check_maximal(named)
            member = named.to_dag().sparse_graph
        self.graph, self.member = (Orientations.of(part, hidden=hidden) for part in (named.sparse_graph, member))
        self.xs, self.ys = (list(dict.fromkeys(positions(v, self.labels))) for v in (x, y))
        if not self.xs or not self.ys or {*self.xs} & {*self.ys}:
            raise ValueError(f"x and y must be different variables, at least one each, got {x!r} and {y!r}")

    def is_valid(self, given: Nodes, ys: Sequence[int]) -> bool:
        """The generalised criterion: of the graphs of a class, blocked paths need to be sought in one only."""
        between, forbidden = on_causal_paths(self.xs, ys, self.graph)
        first = [(x, c) for x in self.xs for c in self.graph.onward(x) & between]
        causal = all(c not in self.graph.siblings[x] and self._is_visible(x, c) for x, c in first)
        return causal and not forbidden & given and blocks(self.xs, ys, given, between, self.member)

    def _is_visible(self, x: int, y: int) -> bool:
        """Whether no hidden variable can be a cause of both x and y, where x may have an arrow to y."""
        if not self.hidden or self.marks[y, x] == CIRCLE:
            return not self.hidden or self.quirks
        A, line, seen = self.marks, [x], {x}
        while line:
            v = line.pop()
            for w in self.graph.parents[v]:  # collider paths into x, over parents of y
                if w != y and not A[w, y]:
                    return True
                if w not in seen and A[v, w] == ARROW and A[w, y] == ARROW and A[y, w] == TAIL:
                    seen.add(w)
                    line.append(w)
        return False


def _mag(graph: SparseGraph) -> SparseGraph:
    """One MAG of the class (Zhang 2008): circles at arrows become tails, and o-o edges a DAG without new colliders.

    ValueError if no MAG has these marks, or some edge has a tail where selection must have happened.
    """
    marks = np.array([graph.low_mark, graph.high_mark])
    if ((marks == TAIL) & (marks[::-1] != ARROW)).any():
        raise ValueError("the graph must have an arrowhead or two circles at each edge: selection is not supported")
    open_edges = np.flatnonzero((marks == CIRCLE).all(axis=0))
    part = SparseGraph.undirected(graph.p, graph.low[open_edges], graph.high[open_edges])
    dag = CausalGraph(labels=tuple(map(str, range(graph.p))), sparse_graph=part).to_dag().sparse_graph
    marks[marks == CIRCLE] = TAIL
    marks[:, open_edges] = dag.low_mark, dag.high_mark
    return replace(graph, low_mark=marks[0], high_mark=marks[1])


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
        if any set is. "parents": those of x.

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
            raise ValueError("no variable of y is a descendant of x: the effect is 0, without adjustment")
        found = optimal_set(xs, ys, among)
    elif kind == "canonical":
        found = possible_ancestors([*xs, *ys], among) - forbidden - causes - frozenset(ys)
    else:
        found = frozenset().union(*(among.parents[v] for v in xs)) - causes
    if frozenset(ys) & found or not asked.is_valid(found, ys):
        effect = " on ".join(listed([asked.labels[v] for v in variables]) for variables in (xs, asked.ys))
        raise ValueError(f"no adjustment set of kind {kind!r} is valid for the effect of {effect} in this graph")
    return [asked.labels[v] for v in sorted(found)]


def is_adjustment_set(
    graph: Graph, x: Variables, y: Variables, given: Variables = (), type: Kind | None = None, *, quirks: bool = False
) -> bool:
    """Whether adjusting for `given` gives the total effects of x on y in every DAG that the graph allows.

    The generalised adjustment criterion (Perkovic, Textor, Kalisch and Maathuis 2018), as pcalg's ``gac``.

    Parameters
    ----------
    graph, x, y
        As of `adjustment_set`; or a PAG, the result of `fci` or `rfci`, or a MAG.
    given : int or str, or a sequence of them
    type : {"dag", "cpdag", "pdag", "mag", "pag"}, optional
        "mag" and "pag" allow hidden variables, which the others do not: an array is then amat.pag, the mark at the
        column. By default "pag" for a result of `fci` or `rfci`, else "pdag", which includes the first two.
    quirks : bool, default False
        In a PAG, take an edge x o-> y on a possibly causal path for the effect of x that pcalg takes it for, although a
        hidden variable may be all that is behind it.

    Raises
    ------
    TypeError, ValueError, IndexError
        As `adjustment_set`; or if `given` has a variable of x or y.
    """
    if type not in (None, *get_args(Kind)):
        raise ValueError(f"type must be one of {', '.join(map(repr, get_args(Kind)))}, got {type!r}")
    hidden = type in ("mag", "pag") or (type is None and isinstance(graph, PagAlgo))
    asked = _Question(graph, x, y, hidden=hidden, quirks=quirks)
    members = frozenset(positions(given, asked.labels))
    if members & {*asked.xs, *asked.ys}:
        raise ValueError("given must have no variable of x or y")
    return asked.is_valid(members, asked.ys)
