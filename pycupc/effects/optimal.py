"""Optimal adjustment sets (Henckel, Perkovic and Maathuis 2022, J. R. Stat. Soc. B 84)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pycupc.effects.orientations import Nodes, Orientations


def optimal_set(xs: Sequence[int], y: int, graph: Orientations) -> Nodes | None:
    """The optimal adjustment set of `xs` and y in a graph whose edges at `xs` are all directed.

    Returns
    -------
    frozenset, or None
        None if no set of variables is a valid adjustment set. The set is meaningless unless y may be a descendant of
        `xs`, see `may_cause`.
    """
    causes = frozenset(xs)

    def onward(v: int) -> Nodes:
        return graph.children(v) | graph.siblings[v]

    def back(v: int) -> Nodes:
        return (graph.parents[v] | graph.siblings[v]) - causes

    beyond = _reached((c for x in xs for c in onward(x) - causes), lambda v: onward(v) - causes)
    between = beyond & _reached([y], back)  # on the proper paths from xs to y
    forbidden = _reached(between, onward) | causes
    found = frozenset().union(*(graph.parents[v] for v in between)) - forbidden
    if forbidden & _reached(between, onward) & causes:
        return None
    return found if _blocks(causes, y, found, between, graph) else None


def may_cause(xs: Iterable[int], y: int, graph: Orientations) -> bool:
    """Whether an arrow, or a path of arrows and undirected edges, leads from one of `xs` to y."""
    return y in _reached(xs, lambda v: graph.children(v) | graph.siblings[v])


def _reached(start: Iterable[int], step: Callable[[int], Nodes]) -> Nodes:
    """The variables of `start` and all that lie some steps further."""
    found = set(start)
    line = list(found)
    while line:
        new = step(line.pop()) - found
        found |= new
        line += new
    return frozenset(found)


def _blocks(causes: Nodes, y: int, given: Nodes, between: Nodes, graph: Orientations) -> bool:
    """Whether `given` separates y from the causes once the first arrows of their proper causal paths are taken away.

    Walks of a ball (Shachter 1998) over triples of which it is known whether they are colliders.
    """
    ancestors = _reached(given, lambda v: graph.parents[v] | graph.siblings[v])
    # a state: a variable, and whether it was entered along an arrow into it
    line = [(c, True) for x in causes for c in graph.children(x) - between - causes]
    line += [(a, False) for x in causes for a in graph.parents[x] - causes]
    seen = set(line)
    while line:
        v, by_arrow = line.pop()
        if v == y:
            return False
        passes, opened = v not in given, v in ancestors
        steps = [(c, True) for c in graph.children(v)] if passes else []
        if by_arrow and opened:
            steps += [(a, False) for a in graph.parents[v]]
        if not by_arrow and passes:
            steps += [(a, False) for a in graph.parents[v]]
        if passes:
            steps += [(s, by_arrow) for s in graph.siblings[v]]
        for state in steps:
            if state not in seen and state[0] not in causes:
                seen.add(state)
                line.append(state)
    return True
