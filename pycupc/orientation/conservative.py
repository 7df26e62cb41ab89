"""Conservative and majority rule: which unshielded triples are decided (tests/CONTRACT.md, section 6).

For a - b - c with a, c not adjacent, every subset of adj(a) and every subset of adj(c) is tested; what matters is how
many of those that separate a and c hold b. All triples over the same a and c share these tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.gaussian.fisher_z import cutoff
from pycupc.machine import available_cores
from pycupc.sparse_graph import SparseGraph

#: Refused above this many subsets: for one pair with the built-in test, for one pair with a test in Python, in all.
MAX_SUBSETS = 2**30
MAX_SUBSETS_CALLABLE = 2**24
MAX_SUBSETS_ALL = 2**36

#: A job walks at most 2^16 subsets and a batch of jobs about 2^17: milliseconds, so that Ctrl-C soon takes effect.
_FREE = 16
_BATCH = 2**17

Pair = tuple[int, int]
Triple = tuple[int, int, int]
Batch = NDArray[np.int64]
Done = TypeVar("Done")


@dataclass(frozen=True)
class GaussianTest:
    """The built-in test: correlation matrix float64 (p, p), number of observations, level of each test.

    `n_threads` threads share the work, all cores by default; the answer does not depend on them.
    """

    C: NDArray[np.float64]
    n: float
    alpha: float
    n_threads: int | None = None


@dataclass(frozen=True)
class CallableTest:
    """A user's own test ``(a, c, S, suff_stat) -> p``, what it is given, and the level of each test."""

    indep_test: Callable[[int, int, tuple[int, ...], Any], float]
    suff_stat: Any
    alpha: float


TripleTest = GaussianTest | CallableTest


class StoredSets(Protocol):
    """Separating sets, as far as this module needs them: `SepSets`."""

    def get_many(self, cells: Sequence[Pair]) -> list[tuple[int, ...] | None]:
        """What each cell (x, y) holds."""


@dataclass(frozen=True)
class TripleCheck:
    """Which triples are decided, and the separating sets that follow from it.

    Attributes
    ----------
    decisions : dict of (a, b, c), a < c, to str
        "collider", "non-collider", "ambiguous", or "unseparated" (no subset separates a and c).
    sepset_changes : dict of (x, y) to tuple of int
        Cells of the separating sets that have changed, with their new contents: b in for a non-collider, out for a
        collider. As in pcalg, both cells of every examined pair exist afterwards, empty if need be.
    """

    decisions: dict[Triple, str]
    sepset_changes: dict[Pair, tuple[int, ...]]

    @property
    def ambiguous(self) -> frozenset[Triple]:
        """Triples that may not be oriented: the ambiguous and the unseparated ones."""
        return frozenset(t for t, decision in self.decisions.items() if decision in ("ambiguous", "unseparated"))


def check_triples(skeleton: SparseGraph, sepset: StoredSets, test: TripleTest, *, maj_rule: bool) -> TripleCheck:
    """Decide every unshielded triple of a skeleton by the conservative or the majority rule.

    Parameters
    ----------
    skeleton : SparseGraph
    sepset : SepSets, or another object with its ``get_many``
        The skeleton's own separating sets.
    test : GaussianTest or CallableTest
    maj_rule : bool
        False: b in none of the separating sets found is a collider, in all a non-collider, else ambiguous.
        True: in less than half a collider, in more than half a non-collider, in exactly half ambiguous.

    Returns
    -------
    TripleCheck

    Raises
    ------
    ValueError
        If a user's test returns NaN, or a triple has so many subsets that the check could not finish.

    References
    ----------
    Ramsey, Spirtes and Zhang (2006), Adjacency-faithfulness and conservative causal inference, UAI. Colombo and
    Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15, 3741-3782.
    """
    adjacent = neighbour_sets(skeleton)
    middles: dict[Pair, list[int]] = {}
    for b, neighbours in enumerate(adjacent):
        for a in neighbours:
            for c in neighbours - adjacent[a]:
                if c > a:
                    middles.setdefault((a, c), []).append(b)
    if isinstance(test, GaussianTest):
        _refuse_endless(adjacent, middles, MAX_SUBSETS)
        by_pair = _count_gaussian(adjacent, middles, test)
        counts = {
            (a, b, c): (by_pair[a, c][0], by_pair[a, c][1].get(b, 0)) for (a, c), bs in middles.items() for b in bs
        }
    else:
        _refuse_endless(adjacent, middles, MAX_SUBSETS_CALLABLE)
        counts = _count_callable(adjacent, middles, test)

    decisions: dict[Triple, str] = {}
    changes: dict[Pair, tuple[int, ...]] = {}
    both = [cell for a, c in middles for cell in ((a, c), (c, a))]
    stored = dict(zip(both, sepset.get_many(both), strict=True))
    for (a, c), bs in middles.items():
        cells = {cell: stored[cell] for cell in ((a, c), (c, a))}
        after = {cell: () if S is None else tuple(S) for cell, S in cells.items()}
        for b in bs:
            decision = decisions[a, b, c] = _decide(*counts[a, b, c], maj_rule)
            for cell, S in after.items():
                if decision == "non-collider":
                    after[cell] = S if b in S else (*S, b)
                elif decision != "ambiguous":  # pcalg clears b from an unseparated pair too
                    after[cell] = tuple(s for s in S if s != b)
        changes.update((cell, S) for cell, S in after.items() if cells[cell] != S)
    return TripleCheck(decisions, changes)


def _decide(found: int, with_b: int, maj_rule: bool) -> str:
    if not found:
        return "unseparated"
    if maj_rule:
        return "collider" if 2 * with_b < found else "non-collider" if 2 * with_b > found else "ambiguous"
    return "collider" if not with_b else "non-collider" if with_b == found else "ambiguous"


def _refuse_endless(adjacent: list[set[int]], middles: dict[Pair, list[int]], limit: int) -> None:
    """ValueError that names the triple with the most subsets if there are too many to finish."""
    if not middles:
        return
    sizes = {pair: 2 ** len(adjacent[pair[0]]) + 2 ** len(adjacent[pair[1]]) for pair in middles}
    worst = max(sizes, key=sizes.__getitem__)
    total = sum(sizes.values())
    if sizes[worst] <= limit and total <= MAX_SUBSETS_ALL:
        return
    a, c = worst
    raise ValueError(
        f"conservative and maj_rule test all subsets of adj(a) and adj(c) for each triple a - b - c, which cannot "
        f"finish here: triple ({a}, {middles[worst][0]}, {c}) alone needs {sizes[worst]:.3g} tests (node {a} has "
        f"{len(adjacent[a])} neighbours, node {c} has {len(adjacent[c])}), all triples {total:.3g}; the limit is "
        f"{limit:.3g} for one triple and {MAX_SUBSETS_ALL:.3g} in all. Use a smaller alpha or neither rule."
    )


#: For each pair (a, c): the number of separating sets, and how many of them hold each neighbour.
Counts = dict[Pair, tuple[int, dict[int, int]]]


def _count_callable(
    adjacent: list[set[int]], middles: dict[Pair, list[int]], test: CallableTest
) -> dict[Triple, tuple[int, int]]:
    """Of each triple (a, b, c): the number of separating sets by a user's test, and how many of them hold b.

    The test is called as often as in pcalg and in its order, triple by triple, because it may draw random numbers.
    """
    counts: dict[Triple, tuple[int, int]] = {}
    for b, a, c in sorted((b, a, c) for (a, c), bs in middles.items() for b in bs):
        found = with_b = 0
        for neighbours in (sorted(adjacent[a]), sorted(adjacent[c])):
            for bits in range(2 ** len(neighbours)):
                S = tuple(v for i, v in enumerate(neighbours) if bits >> i & 1)
                p = test.indep_test(a, c, S, test.suff_stat)
                if p != p:
                    raise ValueError(f"indep_test must return a p-value, got NaN for x={a}, y={c}, S={S}")
                if p >= test.alpha:
                    found += 1
                    with_b += b in S
        counts[a, b, c] = found, with_b
    return counts


def _count_gaussian(adjacent: list[set[int]], middles: dict[Pair, list[int]], test: GaussianTest) -> Counts:
    """Count by the built-in test, in batches of jobs over threads."""
    if not middles:
        return {}
    from pycupc.orientation.all_subsets import count_separating, work_space  # loads Numba

    sides = [(a, c, owner) for a, c in middles for owner in (a, c)]
    degree = [len(s) for s in adjacent]
    start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    columns = np.fromiter((v for s in adjacent for v in sorted(s)), np.int64, int(start[-1]))
    cut = np.array([cutoff(test.alpha, test.n, level) for level in range(max(degree) + 1)])
    C = np.ascontiguousarray(test.C, np.float64)
    counts_at = np.concatenate([[0], np.cumsum([degree[owner] for _, _, owner in sides])])
    total_found = np.zeros(len(sides), np.int64)
    total_containing = np.zeros(int(counts_at[-1]), np.int64)

    def work(batch: Batch) -> tuple[Batch, int, Batch, Batch]:
        side = batch[:, 0]
        low = int(counts_at[side[0]])  # the sides of a batch are consecutive: so is its stretch of counts
        jobs = np.column_stack([batch[:, 1:], counts_at[side] - low])
        found = np.zeros(len(batch), np.int64)
        containing = np.zeros(int(counts_at[side[-1] + 1] - low), np.int64)
        count_separating(C, cut, jobs, start, columns, work_space(max(degree)), found, containing)
        return side, low, found, containing

    n_threads = test.n_threads or available_cores()
    with ThreadPoolExecutor(n_threads) as pool:
        for side, low, found, containing in _ahead(pool, work, _batches(sides, degree), 2 * n_threads):
            np.add.at(total_found, side, found)
            total_containing[low : low + len(containing)] += containing

    counts: Counts = {}
    found_list, containing_list, at = total_found.tolist(), total_containing.tolist(), counts_at.tolist()
    for number, (a, c, owner) in enumerate(sides):
        so_far, members = counts.get((a, c), (0, {}))
        for i, v in enumerate(columns[start[owner] : start[owner + 1]].tolist()):
            members[v] = members.get(v, 0) + containing_list[at[number] + i]
        counts[a, c] = so_far + found_list[number], members
    return counts


def _batches(sides: list[Triple], degree: list[int]) -> Iterator[Batch]:
    """Rows (number of the side, a, c, owner, settled, bits), jobs of about `_BATCH` subsets together.

    A job walks the subsets of the neighbours of `owner`. Of more than `_FREE` neighbours the first ones are settled:
    `bits` says which of them are in every set of the job.
    """
    batch: list[tuple[int, ...]] = []
    load = 0
    for number, (a, c, owner) in enumerate(sides):
        settled = max(degree[owner] - _FREE, 0)
        for bits in range(2**settled):
            batch.append((number, a, c, owner, settled, bits))
            load += 2 ** (degree[owner] - settled)
            if load >= _BATCH:
                yield np.array(batch, np.int64)
                batch, load = [], 0
    if batch:
        yield np.array(batch, np.int64)


def _ahead(
    pool: ThreadPoolExecutor, work: Callable[[Batch], Done], items: Iterable[Batch], n_ahead: int
) -> Iterator[Done]:
    """Results of `work` in order, with no more than `n_ahead` items waiting, so that Ctrl-C soon takes effect."""
    waiting: list[Future[Done]] = []
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) >= n_ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def neighbour_sets(skeleton: SparseGraph) -> list[set[int]]:
    """Neighbours of each variable."""
    start, neighbours = skeleton.neighbour_lists()
    columns, bounds = neighbours.tolist(), start.tolist()
    return [set(columns[bounds[a] : bounds[a + 1]]) for a in range(skeleton.p)]
