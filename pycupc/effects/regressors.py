"""The parent sets of many causes at once, and the causes themselves: the regressors of their effects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.effects import parent_sets
from pycupc.effects.orientations import Orientations
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.mixed_graph import IN, KIND, NEIGHBOUR, OUT, directed_as, find
from pycupc.system.compiled import announced, compiled, part

Ints = NDArray[np.int64]


class Regressors(NamedTuple):
    """Lists of regressors, int64; those of cause k are lists ``first[k]`` to ``first[k + 1] - 1``."""

    first: Ints
    start: Ints  # list r has the entries start[r] to start[r + 1] - 1 of `members`
    members: Ints  # the parents, ascending, and last the cause

    @classmethod
    def of(cls, causes: Sequence[int], sets: Sequence[Sequence[Iterable[int]]]) -> Regressors:
        """Given parent sets of each cause."""
        lists = [[*sorted(parents), x] for x, of_one in zip(causes, sets, strict=True) for parents in of_one]
        first, start = (np.cumsum([0, *map(len, parts)], dtype=np.int64) for parts in (sets, lists))
        return cls(first, start, np.array([v for members in lists for v in members], dtype=np.int64))

    @classmethod
    def local(cls, graph: SparseGraph, causes: Ints, *, with_knowledge: bool = False) -> Regressors:
        """The parents in the graph with each of the `local_parent_sets`, in their order.

        With background knowledge, whose arrows may imply others, they are `joint_parent_sets`. ValueError if a cause
        has more than `MOST_PARENT_SETS`.
        """
        if with_knowledge:
            known, xs = Orientations.of(graph), causes.tolist()
            found = [parent_sets.joint_parent_sets([x], known) for x in xs]
            return cls.of(
                xs, [[known.parents[x] | own[0] for own, _ in sets] for x, sets in zip(xs, found, strict=True)]
            )
        of, first, none = directed_as(graph), np.zeros(len(causes) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        most, work = parent_sets.MOST_PARENT_SETS, np.empty((3, int(np.diff(of.start).max(initial=0))), dtype=np.int64)
        with announced("compiling for effects, once per machine"):
            n_members = _enumerate(of.start, of.entry, causes, most, first, none, none, work)
            for k in np.flatnonzero(np.diff(first) > most).tolist():
                parent_sets.check_number(most + 1, [int(causes[k])])
            start, members = np.zeros(int(first[-1]) + 1, dtype=np.int64), np.empty(n_members, dtype=np.int64)
            _enumerate(of.start, of.entry, causes, most, first, start, members, work)
        return cls(first, start, members)

    def pairs(self) -> tuple[Ints, Ints]:
        """All pairs within the lists, of a list after the other: member i with the members 0 to i, for ascending i."""
        number = np.arange(len(self.members)) - np.repeat(self.start[:-1], np.diff(self.start)) + 1
        low = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
        low += np.repeat(np.arange(len(number)) - number + 1, number)
        return np.repeat(self.members, number), self.members[low]


@compiled
def _enumerate(start, entry, causes, most, first, begin, members, work):
    """Write the number of sets before each cause, and the sets if there is room; returns the number of members.

    A cause has at most ``most + 1`` sets. For each size, the cliques of this size are visited.
    """
    free = work[0]
    forced = work[1]
    chosen = work[2]
    sets = 0
    end = 0
    for c in range(len(causes)):
        x = causes[c]
        n_free = _candidates(start, entry, x, free, forced)
        size = 0
        some = n_free >= 0
        while some and size <= n_free:
            some = size == 0
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
                    if _holds_forced(forced, n_free, chosen, size):
                        if len(begin) > 0:
                            end = _write(start, entry, x, free, chosen, size, members, end)
                            begin[sets + 1] = end
                        else:
                            end += size + 1 + _n_parents(start, entry, x)
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
def _n_parents(start, entry, x):
    n = 0
    for e in range(start[x], start[x + 1]):
        n += entry[KIND, e] == IN
    return n


@part
def _candidates(start, entry, x, free, forced):
    """The siblings of x adjacent to all its parents, and which must be parents; -1 if another one must.

    A parent of a child of x that is not adjacent to x would make the child a new collider.
    """
    n = 0
    for e in range(start[x], start[x + 1]):
        if entry[KIND, e] != IN and entry[KIND, e] != OUT:
            t = entry[NEIGHBOUR, e]
            must = False
            for g in range(start[t], start[t + 1]):
                w = entry[NEIGHBOUR, g]
                must = must or (entry[KIND, g] == IN and w != x and find(start, entry, x, w) < 0)
            may = True
            for g in range(start[x], start[x + 1]):
                may = may and (entry[KIND, g] != IN or find(start, entry, t, entry[NEIGHBOUR, g]) >= 0)
            if may:
                free[n] = t
                forced[n] = must
                n += 1
            elif must:
                return -1
    return n


@part
def _is_near_all(start, entry, free, chosen, depth, k):
    near = True
    for d in range(depth):
        near = near and find(start, entry, free[chosen[d]], free[k]) >= 0
    return near


@part
def _holds_forced(forced, n_free, chosen, size):
    missing = 0
    for k in range(n_free):
        missing += forced[k]
    for d in range(size):
        missing -= forced[chosen[d]]
    return missing == 0


@part
def _write(start, entry, x, free, chosen, size, members, end):
    """The parents and the chosen siblings, ascending, and x; returns the end of the list."""
    d = 0
    for e in range(start[x], start[x + 1]):
        v = entry[NEIGHBOUR, e]
        is_chosen = d < size and free[chosen[d]] == v
        d += is_chosen
        if is_chosen or entry[KIND, e] == IN:
            members[end] = v
            end += 1
    members[end] = x
    return end + 1
