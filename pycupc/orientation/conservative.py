"""Conservative and majority rule: the decision on each unshielded triple (docs/CONTRACT.md, section 6).

For a - b - c with a, c not adjacent, every subset of adj(a) and every subset of adj(c) is tested; what matters is how
many of the subsets that separate a and c contain b. All triples over the same a and c share these tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import FlatCells
from pycupc.graph.sparse import SparseGraph, look_up
from pycupc.independence.gaussian.fisher_z import cutoff
from pycupc.system.machine import available_cores
from pycupc.system.message import Argument, Message, Variable, Variables, Words

#: Largest number of subsets that is accepted: for one pair with the built-in test, for one pair with a test in Python,
#: and in all.
MAX_SUBSETS = 2**30
MAX_SUBSETS_CALLABLE = 2**24
MAX_SUBSETS_ALL = 2**36

Indices = NDArray[np.int64]

#: The decisions on a triple; the last: no subset separates its ends.
COLLIDER, NON_COLLIDER, AMBIGUOUS, UNSEPARATED = range(4)


@dataclass(frozen=True)
class GaussianTest:
    """The built-in test: correlation matrix float64 (p, p), number of observations, significance level of each test.

    `n_threads` threads share the work, all cores by default; the answer does not depend on them.
    """

    C: NDArray[np.float64]
    n: float
    alpha: float
    n_threads: int | None = None


@dataclass(frozen=True)
class CallableTest:
    """A user's own test ``(a, c, S, suff_stat) -> p``, its `suff_stat`, and the significance level of each test."""

    indep_test: Callable[[int, int, Sequence[int], Any], float]
    suff_stat: Any
    alpha: float


TripleTest = GaussianTest | CallableTest


class StoredSets(Protocol):
    """The part of `SepSets` that this module needs."""

    def of_cells(self, x: Indices, y: Indices) -> tuple[NDArray[np.bool_], FlatCells]:
        """Which of the cells (x, y) hold a set, and the sets; the other cells have length 0."""


@dataclass(frozen=True, eq=False)
class TripleCheck:
    """The decision on each triple, and the separating sets that follow from it.

    Attributes
    ----------
    triples : int64 (k, 3)
        The unshielded triples a - b - c, a < c, sorted by (a, c, b).
    decision : int64 (k,)
        The decision on each triple: `COLLIDER`, `NON_COLLIDER`, `AMBIGUOUS` or `UNSEPARATED`.
    cells : FlatCells
        Cells of the separating sets that have changed, with their new contents: b in for a non-collider, out for a
        collider. As in pcalg, both cells of every examined pair exist afterwards, empty if need be.
    """

    triples: Indices
    decision: Indices
    cells: FlatCells

    @property
    def undecided(self) -> Indices:
        """Triples that must not be oriented, int64 (k, 3): the ambiguous and the unseparated ones."""
        return self.triples[self.decision >= AMBIGUOUS]


class Triples(NamedTuple):
    """The unshielded triples of a skeleton, sorted by pair, then by b.

    start, neighbours : int64 (p + 1,), int64 (2 m,)
        The neighbours of v, ascending: ``neighbours[start[v]:start[v + 1]]``.
    a, c : int64 (n,)
        The pairs that are not adjacent and have a common neighbour; a < c, sorted.
    pair, b : int64 (k,)
        Position of the pair of each triple, and its middle.
    """

    start: Indices
    neighbours: Indices
    a: Indices
    c: Indices
    pair: Indices
    b: Indices

    @classmethod
    def of(cls, skeleton: SparseGraph) -> Triples:
        """The triples of a skeleton."""
        p = max(skeleton.p, 1)
        start, neighbours = skeleton.neighbour_lists()
        owner = np.repeat(np.arange(skeleton.p), np.diff(start))
        after = start[owner + 1] - np.arange(len(owner)) - 1  # entries that follow in the same list
        first = np.repeat(np.arange(len(owner)), after)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
        a, c = neighbours[first].astype(np.int64), neighbours[second].astype(np.int64)
        open_ = ~skeleton.adjacent(a, c)
        key, b = (a * p + c)[open_], owner[first[open_]]
        order = np.argsort(key, kind="stable")  # b ascends already
        pairs, pair = np.unique(key[order], return_inverse=True)
        return cls(start, neighbours.astype(np.int64), *np.divmod(pairs, p), pair, b[order])


def check_triples(skeleton: SparseGraph, sepset: StoredSets, test: TripleTest, *, maj_rule: bool) -> TripleCheck:
    """Decide every unshielded triple of a skeleton by the conservative or the majority rule.

    Parameters
    ----------
    skeleton : SparseGraph
    sepset : SepSets, or another object with its ``of_cells``
        The skeleton's own separating sets.
    test : GaussianTest or CallableTest
    maj_rule : bool
        False: a collider if b is in none of the separating sets found, a non-collider if it is in all of them, else
        ambiguous. True: a collider if b is in less than half of them, a non-collider if in more than half, else
        ambiguous.

    Returns
    -------
    TripleCheck

    Raises
    ------
    ValueError
        If a user's test returns NaN, or a triple has too many subsets for the check to finish.

    References
    ----------
    Ramsey, Spirtes and Zhang (2006), Adjacency-faithfulness and conservative causal inference, UAI. Colombo and
    Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15, 3741-3782.
    """
    triples = Triples.of(skeleton)
    if isinstance(test, GaussianTest):
        _refuse_endless(triples, MAX_SUBSETS)
        of_pairs, with_b = _count_gaussian(triples, test)
        found = of_pairs[triples.pair]
    else:
        _refuse_endless(triples, MAX_SUBSETS_CALLABLE)
        found, with_b = _count_callable(triples, test)
    decision = _decide(found, with_b, maj_rule)
    cells = _changed_cells(triples, decision, sepset, skeleton.p)
    return TripleCheck(np.column_stack([triples.a[triples.pair], triples.b, triples.c[triples.pair]]), decision, cells)


def _decide(found: Indices, with_b: Indices, maj_rule: bool) -> Indices:
    """The decision on each triple, of whose `found` separating sets `with_b` hold b."""
    if maj_rule:
        out, in_ = 2 * with_b < found, 2 * with_b > found
    else:
        out, in_ = with_b == 0, with_b == found
    return np.select([found == 0, out, in_], [UNSEPARATED, COLLIDER, NON_COLLIDER], AMBIGUOUS)


def _changed_cells(triples: Triples, decision: Indices, sepset: StoredSets, p: int) -> FlatCells:
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
    degree = np.diff(triples.start)
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


def _count_callable(triples: Triples, test: CallableTest) -> tuple[Indices, Indices]:
    """Of each triple (a, b, c): the number of separating sets by a user's test, and how many of them hold b.

    The test is called as often as in pcalg and in its order, triple by triple, because it may draw random numbers.
    """
    found, with_b = np.zeros(len(triples.b), dtype=np.int64), np.zeros(len(triples.b), dtype=np.int64)
    a_of, c_of = triples.a[triples.pair], triples.c[triples.pair]
    lists = [neighbours.tolist() for neighbours in np.split(triples.neighbours, triples.start[1:-1])]
    for i in np.lexsort((c_of, a_of, triples.b)).tolist():
        a, b, c = int(a_of[i]), int(triples.b[i]), int(c_of[i])
        for neighbours in (lists[a], lists[c]):
            for bits in range(2 ** len(neighbours)):
                S = tuple(v for k, v in enumerate(neighbours) if bits >> k & 1)
                p = test.indep_test(a, c, S, test.suff_stat)
                if p != p:
                    text = "{test} must return a p-value, got NaN for x={x}, y={y}, S={S}"
                    facts = {"x": Variable(a), "y": Variable(c), "S": Variables(S)}
                    raise ValueError(Message(text, test=Words("indep_test", "indepTest"), **facts))
                if p >= test.alpha:
                    found[i] += 1
                    with_b[i] += b in S
    return found, with_b


def _count_gaussian(triples: Triples, test: GaussianTest) -> tuple[Indices, Indices]:
    """Of each pair the number of separating sets, and of each triple how many hold b, by the built-in test."""
    if not len(triples.a):
        return triples.a, triples.b
    from pycupc.orientation.all_subsets import count_separating_sets  # loads Numba

    start, n = triples.start, len(triples.a)
    degree = np.diff(start)
    x, y = np.concatenate([triples.a, triples.c]), np.concatenate([triples.c, triples.a])  # subsets of adj(x)
    cut = np.array([cutoff(test.alpha, test.n, level) for level in range(int(degree.max()) + 1)])
    C = np.ascontiguousarray(test.C, np.float64)
    n_threads = test.n_threads or available_cores()
    found, containing, counts_at = count_separating_sets(C, cut, (start, triples.neighbours), (x, y), n_threads)
    keys = np.repeat(np.arange(len(degree)), degree) * len(degree) + triples.neighbours
    with_b = np.zeros(len(triples.b), dtype=np.int64)
    for side in (triples.pair, triples.pair + n):
        place = keys.searchsorted(x[side] * len(degree) + triples.b) - start[x[side]]  # of b in adj(x)
        with_b += containing[counts_at[side] + place]
    return found[:n] + found[n:], with_b
