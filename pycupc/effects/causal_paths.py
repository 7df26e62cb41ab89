"""Causal paths, the sets that block all others, and the optimal one (Henckel, Perkovic and Maathuis 2022)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pycupc.effects.orientations import Nodes, Orientations
from pycupc.effects.regression import Floats, coefficients


def optimal_effects(C: Floats, xs: Sequence[int], ys: Sequence[int], graph: Orientations) -> Floats:
    """Effects of `xs` on `ys` given the optimal set of both, float64 (len(xs), len(ys)).

    0 for each of `ys` that is no descendant of `xs`; NaN for members of `xs`, and where the set is not valid.
    """
    out = np.full((len(xs), len(ys)), np.nan)
    moved = [y for y in ys if y not in xs and may_cause(xs, y, graph)]
    given = optimal_set(xs, moved, graph) if moved else frozenset()
    for k, y in enumerate(ys):
        if y in moved:
            between, forbidden = on_causal_paths(xs, [y], graph)
            if not forbidden & given and blocks(xs, [y], given, between, graph):
                out[:, k] = coefficients(C, xs, [given], [y])[0, :, 0]
        elif y not in xs:
            out[:, k] = 0.0
    return out


def optimal_set(xs: Sequence[int], ys: Sequence[int], graph: Orientations) -> Nodes:
    """The optimal adjustment set of `xs` and `ys` in a graph whose edges at `xs` are all directed.

    It may not be valid; then no set is. Each of `ys` must be a possible descendant of `xs`.
    """
    between, forbidden = on_causal_paths(xs, ys, graph)
    return frozenset().union(*(graph.parents[v] for v in between)) - forbidden - frozenset(xs)


def may_cause(xs: Iterable[int], y: int, graph: Orientations) -> bool:
    """Whether an arrow, or a path of arrows and undirected edges, leads from one of `xs` to y."""
    return y in _reached(xs, graph.onward, graph)


def possible_ancestors(nodes: Iterable[int], graph: Orientations) -> Nodes:
    """`nodes` and all variables with a path of arrows and undirected edges to one of them."""
    return _reached(nodes, graph.back, graph)


def on_causal_paths(xs: Sequence[int], ys: Iterable[int], graph: Orientations) -> tuple[Nodes, Nodes]:
    """The variables on the proper causal paths from `xs` to `ys`, without `xs`, and all that may descend from them."""
    causes = frozenset(xs)
    beyond = _reached((c for x in xs for c in graph.onward(x) - causes), lambda v: graph.onward(v) - causes, graph)
    between = beyond & _reached(ys, lambda v: graph.back(v) - causes, graph)
    return between, _reached(between, graph.onward, graph)


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


def blocks(xs: Sequence[int], ys: Iterable[int], given: Nodes, between: Nodes, graph: Orientations) -> bool:
    """Whether `given` separates `ys` from `xs` without the arrows from `xs` to `between`.

    Walks of a ball (Shachter 1998) over triples of which it is known whether they are colliders.
    """
    causes, ends, ancestors = frozenset(xs), frozenset(ys), possible_ancestors(given, graph)
    # a state: a variable, and whether it was entered along an arrow into it
    first = [(x, w) for x in xs for w in graph.adjacent[x] - graph.siblings[x] - causes]
    line = [(w, x in graph.parents[w]) for x, w in first if w in graph.parents[x] or w not in between]
    seen = set(line)
    while line:
        v, by_arrow = line.pop()
        if v in ends:
            return False
        for w in graph.adjacent[v] - causes:
            passes = v in ancestors if by_arrow and w in graph.parents[v] else v not in given
            state = (w, v in graph.parents[w] or (by_arrow and w in graph.siblings[v]))
            if passes and state not in seen:
                seen.add(state)
                line.append(state)
    return True
