"""Optimal adjustment sets (Henckel, Perkovic and Maathuis 2022, J. R. Stat. Soc. B 84)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pycupc.effects.orientations import Nodes, Orientations
from pycupc.effects.regression import Floats, coefficients


def optimal_effects(C: Floats, xs: Sequence[int], ys: Sequence[int], graph: Orientations) -> Floats:
    """Effects of `xs` on `ys` given the optimal set of both, float64 (len(xs), len(ys)).

    0 for those of `ys` that are no descendants of `xs`; NaN for members of `xs`, and where the set is not valid.
    """
    out = np.full((len(xs), len(ys)), np.nan)
    moved = [y for y in ys if y not in xs and may_cause(xs, y, graph)]
    given = optimal_set(xs, moved, graph) if moved else frozenset()
    for k, y in enumerate(ys):
        if y in moved and is_valid(xs, y, given, graph):
            out[:, k] = coefficients(C, xs, given, [y])[:, 0]
        elif y not in moved and y not in xs:
            out[:, k] = 0.0
    return out


def optimal_set(xs: Sequence[int], ys: Sequence[int], graph: Orientations) -> Nodes:
    """The optimal adjustment set of `xs` and `ys` in a graph whose edges at `xs` are all directed.

    It may not be valid (`is_valid`); then no set is. Each of `ys` must be a possible descendant of `xs`.
    """
    between, forbidden = on_causal_paths(xs, ys, graph)
    return frozenset().union(*(graph.parents[v] for v in between)) - forbidden - frozenset(xs)


def is_valid(xs: Sequence[int], y: int, given: Nodes, graph: Orientations) -> bool:
    """Whether the effects of `xs` on y are those of the regression on `xs` and `given`."""
    between, forbidden = on_causal_paths(xs, [y], graph)
    causes = frozenset(xs)
    return not forbidden & (causes | given) and _blocks(causes, y, given, between, graph)


def is_amenable(xs: Sequence[int], ys: Iterable[int], graph: Orientations) -> bool:
    """Whether every possibly causal path from `xs` to `ys` that leaves `xs` for good begins with an arrow."""
    causes = frozenset(xs)
    starts = [s for x in xs for s in graph.siblings[x] - causes]
    return not frozenset(ys) & _reached(starts, lambda v: (graph.children(v) | graph.siblings[v]) - causes, graph)


def possible_ancestors(nodes: Iterable[int], graph: Orientations) -> Nodes:
    """`nodes` and all variables with a path of arrows and undirected edges to one of them."""
    return _reached(nodes, lambda v: graph.parents[v] | graph.siblings[v], graph)


def on_causal_paths(xs: Sequence[int], ys: Iterable[int], graph: Orientations) -> tuple[Nodes, Nodes]:
    """The variables on the proper causal paths from `xs` to `ys`, without `xs`, and all that may descend from them."""
    causes = frozenset(xs)

    def onward(v: int) -> Nodes:
        return graph.children(v) | graph.siblings[v]

    def back(v: int) -> Nodes:
        return (graph.parents[v] | graph.siblings[v]) - causes

    beyond = _reached((c for x in xs for c in onward(x) - causes), lambda v: onward(v) - causes, graph)
    between = beyond & _reached(ys, back, graph)
    return between, _reached(between, onward, graph)


def may_cause(xs: Iterable[int], y: int, graph: Orientations) -> bool:
    """Whether an arrow, or a path of arrows and undirected edges, leads from one of `xs` to y."""
    return y in _reached(xs, lambda v: graph.children(v) | graph.siblings[v], graph)


def _reached(start: Iterable[int], step: Callable[[int], Nodes], graph: Orientations) -> Nodes:
    """The variables of `start` and all that lie some steps further.

    After an undirected edge u - v, no further one to a neighbour of u is followed: background knowledge may direct the
    edge between its ends the other way.
    """
    done = set(start)
    line = [(v, frozenset[int]()) for v in done]
    seen: set[tuple[int, int]] = set()
    while line:
        v, shortcuts = line.pop()
        steps, siblings = step(v) - done, graph.siblings[v]
        arrows = steps - siblings
        done |= arrows
        line += [(w, frozenset()) for w in arrows]
        if undirected := {(v, w) for w in steps & siblings - shortcuts} - seen:
            seen |= undirected
            line += [(w, graph.adjacent[v] | {v}) for _, w in undirected]
    return frozenset(done).union(w for _, w in seen)


def _blocks(causes: Nodes, y: int, given: Nodes, between: Nodes, graph: Orientations) -> bool:
    """Whether `given` separates y from the causes without the first arrows of their proper causal paths.

    Walks of a ball (Shachter 1998) over triples of which it is known whether they are colliders.
    """
    ancestors = possible_ancestors(given, graph)
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
