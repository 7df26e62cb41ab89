"""The parent sets that causes may have in the DAGs behind a graph (docs/contracts/effects.md, section 2).

A set of siblings of x is valid as further parents of x if it adds no unshielded collider. Valid sets are complete, so
they are enumerated as cliques, and not among all subsets of the siblings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Ints, Nodes, Orientations
from pycupc.graph.lists import Lists, spans, starts
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.meek import with_arrow
from pycupc.orientation.mixed_graph import BOTH, IN, KIND, MIRROR, NEIGHBOUR, OUT, UNDIRECTED, directed_as, owners
from pycupc.system.localised_message import Message, Variables

#: The most parent sets of one cause, or of several together, that are enumerated.
MOST_PARENT_SETS = 1 << 17


class ParentSets(NamedTuple):
    """The parent sets of several causes, int64: cause k has the sets ``first[k]`` to ``first[k + 1] - 1``."""

    first: Ints
    start: Ints  # set s has the entries start[s] to start[s + 1] - 1 of `members`
    members: Ints  # the parents, ascending, and last the cause

    @classmethod
    def of(cls, causes: Sequence[int], sets: Sequence[Sequence[Iterable[int]]]) -> ParentSets:
        """Given parent sets of each cause."""
        lists = [[*sorted(parents), x] for x, of_one in zip(causes, sets, strict=True) for parents in of_one]
        first, start = (starts([*map(len, parts)]) for parts in (sets, lists))
        return cls(first, start, np.array([v for members in lists for v in members], dtype=np.int64))

    def of_cause(self, k: int) -> list[Nodes]:
        """The parent sets of cause k."""
        bounds = self.start[self.first[k] : self.first[k + 1] + 1].tolist()
        return [frozenset(self.members[a : b - 1].tolist()) for a, b in pairwise(bounds)]

    def pairs(self) -> tuple[Ints, Ints]:
        """All pairs within the sets, of a set after the other: member i with the members 0 to i, for ascending i."""
        sizes = np.diff(self.start)
        before = spans(1, sizes)
        low = spans(np.repeat(self.start[:-1], sizes), before)
        return np.repeat(self.members, before), self.members[low]


def parent_sets(graph: SparseGraph, causes: Sequence[int], *, with_knowledge: bool = False) -> ParentSets:
    """The valid parent sets of each cause: the fewest parents first, then lexicographically.

    With background knowledge, whose arrows may imply others, `joint_parent_sets` finds them. ValueError if a cause has
    more than `MOST_PARENT_SETS`.
    """
    if with_knowledge:
        known = Orientations.of(graph)
        return ParentSets.of(causes, [[own for (own,), _ in joint_parent_sets([x], graph, known)] for x in causes])
    x = np.asarray(causes, dtype=np.int64)
    base, free, valid = _possible_parents(graph)
    of = np.flatnonzero(valid[x])  # the number of the cause of each set
    chosen = np.zeros((len(of), 0), dtype=np.int64)  # the siblings in it, as positions in `free.members`
    number, parts = np.zeros(len(x), dtype=np.int64), []
    while len(of):  # the sets with one sibling more at a time
        number += np.bincount(of, minlength=len(x))
        for k in np.flatnonzero(number > MOST_PARENT_SETS).tolist():
            _check_number(MOST_PARENT_SETS + 1, [int(x[k])])
        parts.append((of, chosen))
        first = chosen[:, -1] + 1 if chosen.shape[1] else free.offsets[x[of]]
        left = free.offsets[x[of] + 1] - first
        row, sibling = np.repeat(np.arange(len(of)), left), spans(first, left)
        for others in chosen.T:
            complete = graph.adjacent(free.members[sibling], free.members[others[row]])
            row, sibling = row[complete], sibling[complete]
        of, chosen = of[row], np.column_stack([chosen[row], sibling])
    return _in_order(x, number, parts, base, free)


def _possible_parents(graph: SparseGraph) -> tuple[Lists, Lists, NDArray[np.bool_]]:
    """The parents in all sets of each variable, siblings that may join them, and whether any set is valid, bool (p,).

    A sibling with a parent that is not adjacent to x is in all sets: as a child of x it would be a new collider.
    """
    lists = directed_as(graph)
    x, near, kind, p = owners(lists.entry), lists.entry[NEIGHBOUR], lists.entry[KIND], graph.p
    always, siblings = kind == IN, np.flatnonzero((kind != IN) & (kind != OUT))
    row, parent = Lists.by_owner(x[always], near[always], p).of_each(near[siblings])
    always[siblings[row[~graph.adjacent(x[siblings[row]], parent)]]] = True
    base, complete = Lists.by_owner(x[always], near[always], p), np.ones(len(x), dtype=np.bool_)
    row, member = base.of_each(x[siblings])
    sibling = near[siblings[row]]
    complete[siblings[row[(sibling != member) & ~graph.adjacent(sibling, member)]]] = False
    valid, free = np.ones(p, dtype=np.bool_), siblings[complete[siblings] & ~always[siblings]]
    valid[x[always & ~complete]] = False  # a sibling that must be, and cannot be, a parent
    return base, Lists.by_owner(x[free], near[free], p), valid


def _in_order(x: Ints, number: Ints, parts: list[tuple[Ints, Ints]], base: Lists, free: Lists) -> ParentSets:
    """The sets of the causes x: for each size the numbers of their causes, and their siblings."""
    of = np.concatenate([np.zeros(0, dtype=np.int64), *(of for of, _ in parts)])
    place = np.empty_like(of)  # of each set: by cause, and for the same cause in the order of `parts`
    place[np.argsort(of, kind="stable")] = np.arange(len(of))
    row, always = base.of_each(x[of])
    sizes = np.repeat([chosen.shape[1] for _, chosen in parts], [len(of) for of, _ in parts]).astype(np.int64)
    siblings = np.concatenate([np.zeros(0, dtype=np.int64), *(chosen.ravel() for _, chosen in parts)])
    whose = np.concatenate([place[row], np.repeat(place, sizes), place])
    members = np.concatenate([always, free.members[siblings], x[of]])
    is_cause = np.arange(len(members)) >= len(members) - len(of)
    first, start = map(starts, (number, np.bincount(whose, minlength=len(of))))
    return ParentSets(first, start, members[np.lexsort((members, is_cause, whose))])


class Choice(NamedTuple):
    """A way to direct the undirected edges at some causes."""

    parents: tuple[Nodes, ...]  # of each cause
    arrows: list[tuple[int, int]]  # of all undirected edges that it directs, also by Meek's rules


def joint_parent_sets(xs: Sequence[int], graph: SparseGraph, known: Orientations | None = None) -> list[Choice]:
    """All ways to direct the undirected edges at `xs` that extend the graph by rules 1 to 4 without contradiction.

    The arrows are set one after the other, each with all that the rules derive from it (Meek 1995); only edges that
    undirected edges join to `xs` can be among these. In pcalg's order: by the number of arrows into `xs`, then
    lexicographically by their positions among all that may be, in the order of `xs` and of siblings. ValueError if
    there are too many. `known`: the orientations of `graph`, if they are there already.
    """
    known = Orientations.of(graph) if known is None else known
    if not any(known.siblings[x] for x in xs):
        return [Choice(tuple(known.parents[x] for x in xs), [])]
    nodes = np.array(sorted({v for x in xs for v in known.component(x)}))
    start = directed_as(graph.subgraph(nodes))
    start.entry[KIND, start.entry[KIND] == BOTH] = UNDIRECTED
    open_ends, owner = np.flatnonzero(start.entry[KIND] == UNDIRECTED), nodes[owners(start.entry)]
    neighbour, own = nodes[start.entry[NEIGHBOUR]], owner[open_ends]
    ends: list[int] = np.concatenate([open_ends[own == x] for x in xs]).tolist()
    found, line = [], [(start, 0)]
    while line:
        state, k = line.pop()
        if k < len(ends):
            either = (with_arrow(state, e) for e in (ends[k], int(state.entry[MIRROR, ends[k]])))
            line += [(more, k + 1) for more in either if more is not None]
            continue
        kind = state.entry[KIND]
        into = [k for k, e in enumerate(ends) if kind[e] == IN]
        new = open_ends[kind[open_ends] == IN]
        arrows = list(zip(neighbour[new].tolist(), owner[new].tolist(), strict=True))
        parents = tuple(known.parents[x].union(a for a, b in arrows if b == x) for x in xs)
        found.append((len(into), into, Choice(parents, arrows)))
        _check_number(len(found), xs)
    return [choice for *_, choice in sorted(found, key=lambda choice: choice[:2])]


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
    _check_number(prod(map(len, lists)), xs)
    found = []
    for dags in product(*reversed(lists)):
        into = {
            v: frozenset(nodes[k] for k in parents)
            for nodes, dag in zip(reversed(components), dags, strict=True)
            for v, parents in zip(nodes, dag, strict=True)
        }
        found.append([graph.parents[x] | into[x] for x in xs])
    return found


def _check_number(n: int, xs: Sequence[int]) -> None:
    """ValueError if `xs` have more than `MOST_PARENT_SETS`."""
    if n > MOST_PARENT_SETS:
        text = (
            "too many possible parent sets of {x}: more than {most}; a graph with fewer undirected edges, by more "
            "observations or background knowledge, has fewer"
        )
        raise ValueError(Message(text, x=Variables(tuple(xs)), most=f"{MOST_PARENT_SETS:,}"))
