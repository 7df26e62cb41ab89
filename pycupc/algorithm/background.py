"""`add_background_knowledge`: known directions added to a finished graph, as ``pcalg::addBgKnowledge`` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pycupc.graph.constraints import Constraints
from pycupc.graph.knowledge import as_knowledge
from pycupc.graph.sparse import ARROW
from pycupc.orientation import mixed_graph as mg
from pycupc.orientation.dag_extension import dag_and_cpdag
from pycupc.orientation.known import is_closed
from pycupc.orientation.meek import add_arrow, apply_rules
from pycupc.orientation.trace import FIRST_KNOWN, KNOWN
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.jit import plain_if_small
from pycupc.system.nearest import hinted

Graph = TypeVar("Graph", bound=CausalGraph)
#: tail, head, and the number of the reason, see `pycupc.orientation.trace.Trace`.
Arrow = tuple[int, int, int]


@hinted
def add_background_knowledge(
    fit: Graph, required: Any = None, forbidden: Any = None, *, tiers: Any = None, check_input: bool = True
) -> Graph:
    """Direct edges of a graph as is known, and all edges whose direction follows, by Meek's four rules.

    Parameters
    ----------
    fit : PcAlgo, or another graph without circles
        A CPDAG, or a graph that this function has made.
    required, forbidden, tiers
        See `Knowledge`; `tiers` may be a `Knowledge`, or the path of its file. Only edges of the graph are directed: an
        arrow that is forbidden between variables that are not adjacent changes nothing.
    check_input : bool, default True
        Refuse a graph that is not maximal, or that no DAG extends, such as a result of `pc` in which colliders
        contradict each other. Without the check the rules are applied to whatever is there.

    Returns
    -------
    the same type as `fit`
        With more arrows; their reasons are in its `trace`, if it has one.

    Raises
    ------
    ValueError
        What is known contradicts itself or the graph, where pcalg returns NULL; the message names the arrow. Or `fit`
        is not valid.

    References
    ----------
    Meek (1995), Causal inference and causal explanation with background knowledge, UAI. Perkovic, Kalisch and Maathuis
    (2017), Interpreting and using CPDAGs with background knowledge, UAI.

    Examples
    --------
    >>> import numpy as np, pycupc
    >>> x, y, z = np.random.default_rng(1).standard_normal((3, 1000))
    >>> fit = pycupc.pc(np.column_stack([x, x + y, x + y + z]), labels=["x", "y", "z"])
    >>> pycupc.add_background_knowledge(fit, required=[("x", "y")]).matrix().loc["y", "z"]
    np.int8(1)
    """
    if not isinstance(fit, CausalGraph):
        raise TypeError(f"fit must be a graph without circles, such as the result of pc, got {type(fit).__name__}")
    knowledge = as_knowledge(tiers, required=required, forbidden=forbidden)
    known = None if knowledge is None else knowledge.of(fit.labels)
    graph = fit.sparse_graph
    with plain_if_small(2 * mg.steps_of(graph), "orientation"):
        if check_input and (dag_and_cpdag(graph) is None or not is_closed(graph)):
            fault = fit._not_a_cpdag() or "more of its edges have a direction that follows"
            raise ValueError(f"fit must be a CPDAG, or one with known arrows, got a graph that is {fault}")
        mixed = mg.directed_as(graph)
        apply_rules(mixed, rule_4=True)
        for tail, head, number in () if known is None else _arrows(fit, known):
            entry = int(mg.find(mixed.start, mixed.entry, head, tail))  # type: ignore[no-untyped-call]
            if not add_arrow(mixed, entry, number):
                raise _contradiction(fit, (tail, head, number), mixed.entry[mg.KIND, entry] == mg.BOTH)
        found = mg.to_sparse(mixed, graph)
        reasons = {**getattr(fit, "trace", {}), **mg.trace(mixed)}
    changes: dict[str, Any] = fit._with_marks(found)
    if hasattr(fit, "trace") and known is not None:
        changes |= {"trace": reasons, "notes": {**fit.notes, "known_afterwards": known.summary()}}  # type: ignore[attr-defined]
    return replace(fit, **changes)


def _arrows(fit: CausalGraph, known: Constraints) -> Iterator[Arrow]:
    """The arrows that the edges of a graph must be, by what is known."""
    graph, labels = fit.sparse_graph, fit.labels
    ends = np.divmod(known.required, max(known.p, 1))
    for k in np.flatnonzero(~graph.adjacent(*ends)).tolist():
        a, b = labels[ends[0][k]], labels[ends[1][k]]
        raise ValueError(f"{a} --> {b} is required, but {a} and {b} are not adjacent")
    forward, backward = (known.is_impossible(*e) for e in ((graph.low, graph.high), (graph.high, graph.low)))
    known_at = forward | backward
    if (both := np.flatnonzero(forward & backward)).size:
        a, b = labels[graph.low[both[0]]], labels[graph.high[both[0]]]
        raise ValueError(f"{a} and {b} are adjacent, but both directions are forbidden")
    tail, head = (np.where(forward, *e)[known_at] for e in ((graph.high, graph.low), (graph.low, graph.high)))
    reasons = known.reasons(tail, head) + FIRST_KNOWN
    yield from zip(tail.tolist(), head.tolist(), reasons.tolist(), strict=True)


def _contradiction(fit: CausalGraph, arrow: Arrow, bidirected: bool) -> ValueError:
    """The error about an edge that has the other direction."""
    tail, head, reason = arrow
    a, b = fit.labels[tail], fit.labels[head]
    marks = fit.sparse_graph.with_edges(fit.sparse_graph.edge_number([tail], [head]))
    in_fit = marks.low_mark[0] == ARROW or marks.high_mark[0] == ARROW
    why = "is in the graph" if in_fit else "follows from the graph and the arrows before"
    edge = f"{b} <-> {a}" if bidirected else f"{b} --> {a}"
    return ValueError(f"{a} --> {b} ({KNOWN[reason - FIRST_KNOWN]}) contradicts {edge}, which {why}")
