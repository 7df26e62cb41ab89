"""The parent sets that causes may have in the DAGs behind a graph (docs/EFFECTS.md, section 2).

A set of siblings of x is valid as further parents of x if it adds no unshielded collider. Valid sets are complete, so
they are enumerated as cliques, and not among all subsets of the siblings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

import numpy as np

from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Ints, Nodes, Orientations, with_equal_marks_as_tails
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.meek import with_arrow
from pycupc.orientation.mixed_graph import IN, KIND, MIRROR, NEIGHBOUR, OUT, UNDIRECTED, directed_as, find, owners
from pycupc.system.compiled import compiled, part
from pycupc.system.message import Message, Variables

#: The most parent sets of one cause, or of several together, that are enumerated.
MOST_PARENT_SETS = 1 << 17


class ParentSets(NamedTuple):
    """The parent sets of several causes, int64: those of cause k are sets ``first[k]`` to ``first[k + 1] - 1``."""

    first: Ints
    start: Ints  # set s has the entries start[s] to start[s + 1] - 1 of `members`
    members: Ints  # the parents, ascending, and last the cause

    @classmethod
    def of(cls, causes: Sequence[int], sets: Sequence[Sequence[Iterable[int]]]) -> ParentSets:
        """Given parent sets of each cause."""
        lists = [[*sorted(parents), x] for x, of_one in zip(causes, sets, strict=True) for parents in of_one]
        first, start = (np.cumsum([0, *map(len, parts)], dtype=np.int64) for parts in (sets, lists))
        return cls(first, start, np.array([v for members in lists for v in members], dtype=np.int64))

    def of_cause(self, k: int) -> list[Nodes]:
        """The parent sets of cause k."""
        bounds = self.start[self.first[k] : self.first[k + 1] + 1].tolist()
        return [frozenset(self.members[a : b - 1].tolist()) for a, b in pairwise(bounds)]

    def pairs(self) -> tuple[Ints, Ints]:
        """All pairs within the sets, of a set after the other: member i with the members 0 to i, for ascending i."""
        number = np.arange(len(self.members)) - np.repeat(self.start[:-1], np.diff(self.start)) + 1
        low = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
        low += np.repeat(np.arange(len(number)) - number + 1, number)
        return np.repeat(self.members, number), self.members[low]


def parent_sets(graph: SparseGraph, causes: Sequence[int], *, with_knowledge: bool = False) -> ParentSets:
    """The valid parent sets of each cause: the fewest parents first, then lexicographically.

    With background knowledge, whose arrows may imply others, they are those of `joint_parent_sets`. ValueError if a
    cause has more than `MOST_PARENT_SETS`.
    """
    if with_knowledge:
        known = Orientations.of(graph)
        return ParentSets.of(causes, [[own for (own,), _ in joint_parent_sets([x], graph, known)] for x in causes])
    of, first, none = directed_as(graph), np.zeros(len(causes) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    work = np.empty((3, int(np.diff(of.start).max(initial=0))), dtype=np.int64)
    given = of.start, of.entry, np.asarray(causes, dtype=np.int64), MOST_PARENT_SETS, first
    n_members = _enumerate(*given, none, none, work)
    for k in np.flatnonzero(np.diff(first) > MOST_PARENT_SETS).tolist():
        _check_number(MOST_PARENT_SETS + 1, [int(causes[k])])
    start, members = np.zeros(int(first[-1]) + 1, dtype=np.int64), np.empty(n_members, dtype=np.int64)
    _enumerate(*given, start, members, work)
    return ParentSets(first, start, members)


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
    start = directed_as(with_equal_marks_as_tails(graph.subgraph(nodes)))
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


@compiled
def _enumerate(start, entry, causes, most, first, begin, members, work):
    """Write the number of sets before each cause, and the sets if there is room; returns the number of members.

    A cause has at most ``most + 1`` sets. For each size, the cliques of this size are visited.
    """
    base = work[0]
    free = work[1]
    chosen = work[2]
    sets = 0
    end = 0
    for c in range(len(causes)):
        n_base, n_free = _candidates(start, entry, causes[c], base, free)
        size = 0
        some = n_base >= 0
        while some and size <= n_free:
            some = False
            depth = 0
            k = 0
            while depth >= 0:
                if depth < size and k < n_free:
                    if _is_near_all(start, entry, free, chosen, depth, k):
                        chosen[depth] = k
                        depth += 1
                    k += 1
                    continue
                if depth == size:
                    some = True
                    if len(begin) > 0:
                        _write(base, n_base, free, chosen, size, members, end)
                        members[end + n_base + size] = causes[c]
                        begin[sets + 1] = end + n_base + size + 1
                    end += n_base + size + 1
                    sets += 1
                    if sets - first[c] > most:
                        size = n_free
                        break
                depth -= 1
                if depth >= 0:
                    k = chosen[depth] + 1
            size += 1
        first[c + 1] = sets
    return end


@part
def _candidates(start, entry, x, base, free):
    """Write the parents of x in all its sets to `base`, siblings that may join them to `free`; returns their numbers.

    A sibling with a parent that is not adjacent to x is in all sets: as a child of x it would be a new collider. -1
    and 0 if such a sibling is not adjacent to all others of `base`, so that no set is valid.
    """
    n_base = 0
    n_free = 0
    for e in range(start[x], start[x + 1]):
        t = entry[NEIGHBOUR, e]
        always = entry[KIND, e] == IN
        if entry[KIND, e] != OUT:
            for g in range(start[t], start[t + 1]):
                w = entry[NEIGHBOUR, g]
                always = always or (entry[KIND, g] == IN and w != x and find(start, entry, x, w) < 0)
            if always:
                base[n_base] = t
                n_base += 1
    b = 0
    for e in range(start[x], start[x + 1]):
        t = entry[NEIGHBOUR, e]
        always = b < n_base and base[b] == t
        b += always
        if entry[KIND, e] != IN and entry[KIND, e] != OUT:
            may = True
            for k in range(n_base):
                may = may and (base[k] == t or find(start, entry, t, base[k]) >= 0)
            if always and not may:
                return -1, 0
            if may and not always:
                free[n_free] = t
                n_free += 1
    return n_base, n_free


@part
def _is_near_all(start, entry, free, chosen, depth, k):
    near = True
    for d in range(depth):
        near = near and find(start, entry, free[chosen[d]], free[k]) >= 0
    return near


@part
def _write(base, n_base, free, chosen, size, members, end):
    """`base` and the chosen siblings, ascending."""
    d = 0
    for b in range(n_base):
        while d < size and free[chosen[d]] < base[b]:
            members[end + b + d] = free[chosen[d]]
            d += 1
        members[end + b + d] = base[b]
    while d < size:
        members[end + n_base + d] = free[chosen[d]]
        d += 1
