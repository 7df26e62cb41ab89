"""The parent sets that causes may have in the DAGs behind a graph (docs/EFFECTS.md, section 2).

A set of siblings of x is valid as further parents of x if it adds no unshielded collider. Valid sets are complete, so
they are enumerated as cliques, and not among all subsets of the siblings; afterwards they are put into pcalg's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Nodes, Orientations, Set, ends_between
from pycupc.system.message import Message, Variables

#: The most parent sets of one cause, or of several together, that are enumerated.
MOST_PARENT_SETS = 1 << 17

#: Siblings of each cause that become parents, and the graph in which they are.
Choice = tuple[list[Nodes], Orientations]


def all_parent_sets(
    causes: Sequence[int], graph: Orientations, *, with_knowledge: bool
) -> tuple[list[Nodes], NDArray[np.int64]]:
    """All parent sets of each cause, and the first set of each, int64 (causes + 1,).

    `with_knowledge`: as `joint_parent_sets` finds them for one cause, else as `local_parent_sets`.
    """
    found: list[Nodes] = []
    first = [0]
    for x in causes:
        known = graph.parents[x]
        if not graph.siblings[x]:
            found.append(known)
        elif with_knowledge:
            found += [known | sets[0] for sets, _ in joint_parent_sets([x], graph)]
        else:
            found += [known.union(members) for members in local_parent_sets(x, graph)]
        first.append(len(found))
    return found, np.array(first)


def local_parent_sets(x: int, graph: Orientations, siblings: Nodes | None = None) -> list[Set]:
    """The siblings that may become parents of x, each valid set once: by size, then lexicographically.

    Parameters
    ----------
    x : int
    graph : Orientations
    siblings : frozenset, optional
        Siblings of x that may be parents; by default all.

    Raises
    ------
    ValueError
        If there are more than `MOST_PARENT_SETS`.
    """
    siblings = graph.siblings[x] if siblings is None else siblings
    near, parents = graph.adjacent, graph.parents[x]
    # a parent of a child of x that is not adjacent to x would make the child a new collider
    forced = {z for z in siblings if graph.parents[z] - near[x] - {x}}
    free = sorted(t for t in siblings if parents <= near[t])
    if not forced.issubset(free):
        return []
    found = []
    for clique in _cliques((), free, near):
        if forced.issubset(clique):
            found.append(clique)
            _check_number(len(found), [x])
    return sorted(found, key=lambda members: (len(members), members))


def _cliques(members: Set, candidates: Sequence[int], near: Sequence[Nodes]) -> Iterator[Set]:
    """`members` and every complete set with more of the candidates, which ascend and are adjacent to all members."""
    yield members
    for k, v in enumerate(candidates):
        yield from _cliques((*members, v), [w for w in candidates[k + 1 :] if w in near[v]], near)


def joint_parent_sets(xs: Sequence[int], graph: Orientations) -> list[Choice]:
    """All ways to direct the undirected edges at `xs` that extend the graph by rules 1 to 4 without contradiction.

    In pcalg's order: by the number of arrows into `xs`, then lexicographically by their positions among all that may be
    (`ends_between`). ValueError if there are too many.
    """
    place = {end: k for k, end in enumerate(ends_between(xs, graph))}
    found, extended_by = [], graph.extensions(xs)
    for sets in product(*([frozenset(s) for s in local_parent_sets(x, graph)] for x in xs)):
        into = {(s, x) for x, members in zip(xs, sets, strict=True) for s in members}
        if any(x in xs and (s in xs) and ((x, s) in into) == ((s, x) in into) for s, x in place):
            continue
        arrows = [(s, x) if (s, x) in into else (x, s) for s, x in place]
        if (extended := extended_by(arrows)) is not None:
            found.append((sorted(place[end] for end in into), list(sets), extended))
            _check_number(len(found), xs)
    found.sort(key=lambda choice: (len(choice[0]), choice[0]))
    return [(sets, extended) for _, sets, extended in found]


def _check_number(n: int, xs: Sequence[int]) -> None:
    if n > MOST_PARENT_SETS:
        text = (
            "too many possible parent sets of {x}: more than {most}; a graph with fewer undirected edges, by more "
            "observations or background knowledge, has fewer"
        )
        raise ValueError(Message(text, x=Variables(tuple(xs)), most=f"{MOST_PARENT_SETS:,}"))


def joint_parents_in_class(xs: Sequence[int], graph: Orientations) -> list[list[Nodes]]:
    """The parents of each of `xs` in every way to direct the undirected components that hold some of `xs`.

    One entry for each combination of DAGs of the components, so that the entries have the multiplicities of the DAGs
    of the class, up to a factor. In pcalg's order: the DAGs of the first component vary fastest.
    """
    components: list[list[int]] = []
    for x in xs:
        if not any(x in nodes for nodes in components):
            components.append(graph.component(x))
    lists = [all_dags(graph.undirected_part(nodes)) for nodes in components]
    if prod(map(len, lists)) > MOST_PARENT_SETS:
        _check_number(MOST_PARENT_SETS + 1, xs)
    found = []
    for dags in product(*reversed(lists)):
        into = {
            v: frozenset(nodes[k] for k in parents)
            for nodes, dag in zip(reversed(components), dags, strict=True)
            for v, parents in zip(nodes, dag, strict=True)
        }
        found.append([graph.parents[x] | into[x] for x in xs])
    return found
