"""The parent sets that causes may have in the DAGs behind a graph (docs/EFFECTS.md, section 2).

A set of siblings of x is valid as further parents of x if it adds no unshielded collider. Valid sets are complete, so
they are enumerated as cliques, and not among all subsets of the siblings; afterwards they are put into pcalg's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Nodes, Orientations, Set, ends_between
from pycupc.system.message import Message, Variables

#: The most parent sets of one cause, or of several together, that are enumerated.
MOST_PARENT_SETS = 1 << 17

#: Siblings of each cause that become parents, and the graph in which they are.
Choice = tuple[list[Nodes], Orientations]


def local_parent_sets(x: int, graph: Orientations) -> list[Set]:
    """The siblings that may become parents of x, each valid set once: by size, then lexicographically.

    ValueError if there are more than `MOST_PARENT_SETS`. Those of many causes: `Regressors.local`.
    """
    siblings, near, parents = graph.siblings[x], graph.adjacent, graph.parents[x]
    # a parent of a child of x that is not adjacent to x would make the child a new collider
    forced = {z for z in siblings if graph.parents[z] - near[x] - {x}}
    free = sorted(t for t in siblings if parents <= near[t])
    if not forced.issubset(free):
        return []
    found = []
    for clique in _cliques((), free, near):
        if forced.issubset(clique):
            found.append(clique)
            check_number(len(found), [x])
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
            check_number(len(found), xs)
    found.sort(key=lambda choice: (len(choice[0]), choice[0]))
    return [(sets, extended) for _, sets, extended in found]


def check_number(n: int, xs: Sequence[int]) -> None:
    """ValueError if `xs` have more than `MOST_PARENT_SETS`."""
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
        check_number(MOST_PARENT_SETS + 1, xs)
    found = []
    for dags in product(*reversed(lists)):
        into = {
            v: frozenset(nodes[k] for k in parents)
            for nodes, dag in zip(reversed(components), dags, strict=True)
            for v, parents in zip(nodes, dag, strict=True)
        }
        found.append([graph.parents[x] | into[x] for x in xs])
    return found
