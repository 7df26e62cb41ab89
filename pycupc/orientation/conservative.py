"""Conservative and majority rule: the decision on each unshielded triple (docs/contracts/contract.md, section 6).

For a - b - c with a, c not adjacent, every subset of adj(a) and every subset of adj(c) is tested; what matters is how
many of the subsets that separate a and c contain b. All triples over the same a and c share these tests. With tiers
fewer triples are decided, from fewer subsets (docs/contracts/tiers.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.constraints import Constraints
from pycupc.graph.lists import Lists, spans, starts
from pycupc.graph.questions import Counts, Questions
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph, look_up
from pycupc.graph.tiers import earlier, first_tier, last_tier
from pycupc.system.localised_message import Argument, Message, Variable, Variables

#: Largest number of subsets that is accepted: for one pair with the Gaussian test, for one pair with another test, and
#: in all.
MAX_SUBSETS = 2**30
MAX_SUBSETS_CALLABLE = 2**24
MAX_SUBSETS_ALL = 2**36

Indices = NDArray[np.int64]

_NO_CELLS = FlatCells(*np.zeros((4, 0), dtype=np.int32))

#: The decisions on a triple; the last: no subset separates its ends.
COLLIDER, NON_COLLIDER, AMBIGUOUS, UNSEPARATED = range(4)


@dataclass(frozen=True, eq=False)
class TripleCheck:
    """The decision on each triple, and the separating sets that follow from it.

    `triples`, int64 (k, 3), are the unshielded ones a - b - c, a < c, sorted by (a, c, b); `decision`, int64 (k,), is
    `COLLIDER`, `NON_COLLIDER`, `AMBIGUOUS` or `UNSEPARATED`; `cells` are the cells of the separating sets that have
    changed, with their new contents: b in for a non-collider, out for a collider. As in pcalg, both cells of every
    examined pair exist afterwards, empty if need be.
    """

    triples: Indices
    decision: Indices
    cells: FlatCells

    @property
    def undecided(self) -> Indices:
        """Triples that must not be oriented, int64 (k, 3): the ambiguous and the unseparated ones."""
        return self.triples[self.decision >= AMBIGUOUS]

    @property
    def ambiguous(self) -> Indices:
        """The ambiguous triples, int64 (k, 3); with hidden variables an unseparated one is oriented by its sets."""
        return np.asarray(self.triples[self.decision == AMBIGUOUS])


def unshielded(skeleton: SparseGraph) -> Indices:
    """The unshielded triples a - b - c, a < c, int64 (k, 3), sorted by (b, a, c): pcalg's order of scan."""
    start, neighbours = skeleton.neighbour_lists()
    owner, entry = np.repeat(np.arange(skeleton.p), np.diff(start)), np.arange(len(neighbours))
    after = start[owner + 1] - entry - 1  # entries that follow in the same list
    first, second = np.repeat(entry, after), spans(entry + 1, after)
    triples = np.column_stack([neighbours[first], owner[first], neighbours[second]])
    return triples[~skeleton.adjacent(triples[:, 0], triples[:, 2])]


class Triples(NamedTuple):
    """The unshielded triples of a skeleton, sorted by pair, then by b."""

    near: Lists  # the neighbours of each variable, ascending
    # a, c: (n,): the pairs that are not adjacent and have a common neighbour; a < c, sorted.
    a: Indices
    c: Indices
    # pair, b: (k,): position of the pair of each triple, and its middle.
    pair: Indices
    b: Indices

    @classmethod
    def of(cls, skeleton: SparseGraph) -> Triples:
        p = max(skeleton.p, 1)
        a, b, c = unshielded(skeleton).T
        key = a * p + c
        order = np.argsort(key, kind="stable")  # b ascends already
        pairs, pair = np.unique(key[order], return_inverse=True)
        return cls(skeleton.neighbour_lists(), *np.divmod(pairs, p), pair, b[order])

    def among(self, listed: Indices) -> Triples:
        """The triples in a list, int64 (k, 3), that has each as (a, b, c) or (c, b, a)."""
        p = max(len(self.near.sizes), 1)
        ends, b = np.sort(listed[:, [0, 2]], axis=1).T, listed[:, 1]
        kept = np.isin((self.a[self.pair] * p + self.c[self.pair]) * p + self.b, (ends[0] * p + ends[1]) * p + b)
        return self._kept(kept)

    def _kept(self, kept: NDArray[np.bool_]) -> Triples:
        at, pair = np.unique(self.pair[kept], return_inverse=True)
        return self._replace(a=self.a[at], c=self.c[at], pair=pair, b=self.b[kept])

    def under(self, known: Constraints) -> Triples:
        """The triples whose colliders the tiers neither tell nor exclude, without context variables.

        The neighbours of v that count are in tiers not after its own.
        """
        tier, context, a, b, c = known.tier, known.context, self.a[self.pair], self.b, self.c[self.pair]
        told = (earlier(tier, a, b) & earlier(tier, c, b)) | earlier(tier, b, a) | earlier(tier, b, c)
        decided = ~told & ~(context[a] | context[b] | context[c])
        owner, near = np.repeat(np.arange(known.p), self.near.sizes), self.near.members
        kept = first_tier(tier)[near] <= last_tier(tier)[owner]
        return self._kept(decided)._replace(near=Lists.by_owner(owner[kept], near[kept], known.p))


def check_triples(
    skeleton: SparseGraph,
    sepset: SepSets,
    test: Any,
    count: Callable[[Questions], Counts],
    *,
    maj_rule: bool,
    known: Constraints | None = None,
    listed: Indices | None = None,
) -> TripleCheck:
    """Decide every unshielded triple of a skeleton by the conservative or the majority rule.

    Raises ValueError if a user's test returns NaN, without tiers, or a triple has too many subsets to finish.

    `sepset`: the skeleton's own separating sets. `test`: an `IndependenceTest`. `count`: `Engine.count_separating` of
    an engine that has taken the test. A user's function, which may draw random numbers, is called as often as in pcalg
    and in its order, triple by triple. `maj_rule`: a collider if b is in less than half of the separating sets found, a
    non-collider if in more than half, else ambiguous; without it a collider if b is in none of them, a non-collider if
    in all, else ambiguous.
    `known`: tiers and context variables: only triples that these leave open are decided. `listed`, int64 (k, 3): only
    these triples are decided.

    References
    ----------
    Ramsey, Spirtes and Zhang (2006), Adjacency-faithfulness and conservative causal inference, UAI. Colombo and
    Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15, 3741-3782.
    """
    triples = Triples.of(skeleton)
    triples = triples if known is None else triples.under(known)
    triples = triples if listed is None else triples.among(listed)
    _refuse_endless(triples, MAX_SUBSETS if test.has_r else MAX_SUBSETS_CALLABLE)
    found, with_b = _count(triples, count, one_by_one=test.in_order)
    decision = _decide(found, with_b, maj_rule)
    cells = _changed_cells(triples, decision, sepset, skeleton.p) if known is None else _NO_CELLS
    return TripleCheck(np.column_stack([triples.a[triples.pair], triples.b, triples.c[triples.pair]]), decision, cells)


def _decide(found: Indices, with_b: Indices, maj_rule: bool) -> Indices:
    """The decision on each triple, of whose `found` separating sets `with_b` hold b."""
    if maj_rule:
        out, in_ = 2 * with_b < found, 2 * with_b > found
    else:
        out, in_ = with_b == 0, with_b == found
    return np.where(found == 0, UNSEPARATED, np.where(out, COLLIDER, np.where(in_, NON_COLLIDER, AMBIGUOUS)))


def _changed_cells(triples: Triples, decision: Indices, sepset: SepSets, p: int) -> FlatCells:
    """`TripleCheck.cells`. Cell i of the first half is (a, c) of pair i, cell i of the second half is (c, a)."""
    n, k = len(triples.a), len(triples.b)
    x, y = np.concatenate([triples.a, triples.c]), np.concatenate([triples.c, triples.a])
    there, stored = sepset.of_cells(x, y)
    cell = np.repeat(np.arange(2 * n), stored.length)
    keys = triples.pair * p + triples.b
    wanted = (cell % max(n, 1)) * p + stored.members
    at = look_up(keys, wanted)
    is_b = at >= 0
    removed = is_b & np.isin(decision[at], (COLLIDER, UNSEPARATED))  # pcalg clears b from an unseparated pair too
    has_b = np.zeros((2, k), dtype=np.bool_)
    has_b[cell[is_b] // max(n, 1), at[is_b]] = True
    half, triple = np.nonzero((decision == NON_COLLIDER) & ~has_b)
    added = half * n + triples.pair[triple]
    cell_after = np.concatenate([cell[~removed], added])
    members = np.concatenate([stored.members[~removed], triples.b[triple]])[np.argsort(cell_after, kind="stable")]
    length = np.bincount(cell_after, minlength=2 * n)
    changed = ~there
    changed[cell[removed]] = changed[added] = True
    parts = (x[changed], y[changed], length[changed], members[np.repeat(changed, length)])
    return FlatCells(*(part.astype(np.int32) for part in parts))


def _refuse_endless(triples: Triples, limit: int) -> None:
    """Raise ValueError, which names the triple with the most subsets, if there are too many to finish."""
    if not len(triples.a):
        return
    degree = triples.near.sizes
    sizes = 2.0 ** degree[triples.a] + 2.0 ** degree[triples.c]
    worst, total = int(sizes.argmax()), float(sizes.sum())
    if sizes[worst] <= limit and total <= MAX_SUBSETS_ALL:
        return
    a, c = int(triples.a[worst]), int(triples.c[worst])
    b = int(triples.b[triples.pair.searchsorted(worst)])
    raise ValueError(
        Message(
            "conservative and {maj_rule} test all subsets of adj(a) and adj(c) for each triple a - b - c, which cannot "
            "finish here: triple {triple} alone needs {tests:.3g} tests (node {a} has {n_a} neighbours, node {c} has "
            "{n_c}), all triples {total:.3g}; the limit is {limit:.3g} for one triple and {in_all:.3g} in all. Use a "
            "smaller alpha or neither rule.",
            maj_rule=Argument("maj_rule"),
            triple=Variables((a, b, c)),
            tests=sizes[worst],
            total=total,
            a=Variable(a),
            n_a=degree[a],
            c=Variable(c),
            n_c=degree[c],
            limit=limit,
            in_all=MAX_SUBSETS_ALL,
        )
    )


def _count(triples: Triples, count: Callable[[Questions], Counts], *, one_by_one: bool) -> tuple[Indices, Indices]:
    """Of each triple (a, b, c): the number of sets that separate a and c, and how many of them hold b.

    The triples of a pair share its tests, unless they are to be asked one by one, in pcalg's order.
    """
    k = len(triples.b)
    if not k:
        return triples.b, triples.b
    asked, row = np.arange(len(triples.a)), triples.pair  # the pairs that are asked for; of each triple the place there
    if one_by_one:
        order = np.lexsort((triples.c[triples.pair], triples.a[triples.pair], triples.b))
        asked, row = triples.pair[order], np.argsort(order)
    a, c, degree = triples.a[asked], triples.c[asked], triples.near.sizes
    owner = np.column_stack([a, c]).ravel()  # subsets of adj(a), then of adj(c)
    offsets = starts(degree[owner])
    some = degree[owner] > 0  # a side whose neighbours are all in later tiers is not asked, as in tpc
    candidates = Lists(np.append(offsets[:-1][some], offsets[-1]), triples.near.of_each(owner)[1])
    counts = count(Questions(np.repeat(a, 2)[some], np.repeat(c, 2)[some], candidates, 0, len(degree)))
    found = np.zeros(len(some), dtype=np.int64)
    found[some] = counts.found
    keys = np.repeat(np.arange(len(degree)), degree) * len(degree) + triples.near.members
    with_b = np.zeros(k, dtype=np.int64)
    for side in (2 * row, 2 * row + 1):
        at = look_up(keys, owner[side] * len(degree) + triples.b)  # -1: b is in a later tier than the owner
        there = at >= 0
        with_b[there] += counts.containing[(offsets[side] + at - triples.near.offsets[owner[side]])[there]]
    return (found[0::2] + found[1::2])[row], with_b
