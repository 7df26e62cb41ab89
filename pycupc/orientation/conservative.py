"""Conservative and majority rule: which unshielded triples are decided (contract, section 6).

For a - b - c with a, c not adjacent, every subset of adj(a) and every subset of adj(c) is tested; what matters is how
many of those that separate a and c hold b. All triples over the same a and c share these tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pycupc.gaussian.fisher_z import cutoff
from pycupc.orientation.colliders import Triple
from pycupc.orientation.mixed_graph import neighbour_sets

#: Refused above this many subsets: for one pair with the built-in test, for one pair with a test in Python, in all.
MAX_SUBSETS = 2**30
MAX_SUBSETS_CALLABLE = 2**24
MAX_SUBSETS_ALL = 2**36

_FREE = 16  # a job walks at most 2^16 subsets and a batch of jobs about 2^17: milliseconds, so that Ctrl-C is heard
_BATCH = 2**17

Pair = tuple[int, int]


@dataclass(frozen=True)
class TripleCheck:
    """Which triples are decided, and the separating sets that say so.

    Attributes
    ----------
    ambiguous : frozenset of (a, b, c), a < c
        Triples that may not be oriented.
    sepset_changes : dict of (x, y) to tuple of int
        Cells of the separating sets that have changed, with their new contents: b in for a non-collider, out for a
        collider. As in pcalg, both cells of every pair looked at exist afterwards, empty if need be.
    decisions : dict of (a, b, c) to str
        "collider", "non-collider", "ambiguous", or "unseparated" (ambiguous: no subset separates a and c).
    n_tests : int
        Subsets looked at (those of both adj(a) and adj(c) count twice, as in pcalg).
    n_careful : int
        How many of them needed the careful path of the built-in test.
    """

    ambiguous: frozenset[Triple]
    sepset_changes: dict[Pair, tuple[int, ...]]
    decisions: dict[Triple, str]
    n_tests: int = 0
    n_careful: int = 0

    def apply(self, sepset: Any) -> ChangedSepsets:
        """`sepset` as it looks after the check."""
        return ChangedSepsets(sepset, self.sepset_changes)


class ChangedSepsets:
    """Separating sets with some cells replaced; the original stays as it is."""

    def __init__(self, original: Any, changes: dict[Pair, tuple[int, ...]]) -> None:
        self._original, self._changes = original, changes

    def get(self, x: int, y: int) -> tuple[int, ...] | None:
        """Contents of cell (x, y), None if there is none."""
        return self._changes[x, y] if (x, y) in self._changes else self._original.get(x, y)

    def contains(self, x: int, z: int, b: int) -> bool:
        """Is b in cell (x, z)?"""
        return b in self._changes[x, z] if (x, z) in self._changes else self._original.contains(x, z, b)


def check_triples(
    skeleton: np.ndarray,
    sepset: Any,
    C: np.ndarray | None,
    n: int | None,
    alpha: float,
    *,
    maj_rule: bool,
    indep_test: Callable[[int, int, tuple[int, ...], Any], float] | None = None,
    suff_stat: Any = None,
    n_threads: int | None = None,
) -> TripleCheck:
    """Decide every unshielded triple of a skeleton by the conservative or the majority rule.

    Parameters
    ----------
    skeleton : bool (p, p)
        Symmetric, empty diagonal.
    sepset : object with ``get(x, y) -> tuple of int or None``
        The skeleton's own separating sets.
    C : float64 (p, p) or None
        Correlation matrix; not used with `indep_test`.
    n : int or None
        Number of observations; not used with `indep_test`.
    alpha : float in [0, 1]
        Level of the tests.
    maj_rule : bool
        False: b in none of the separating sets found is a collider, in all a non-collider, else ambiguous.
        True: in less than half a collider, in more than half a non-collider, in exactly half ambiguous.
    indep_test : callable ``(a, c, S, suff_stat) -> p``, optional
        Instead of the built-in Gaussian test.
    suff_stat : object, optional
        Handed to `indep_test`.
    n_threads : int, optional
        For the built-in test; default all cores. The answer does not depend on it.

    Returns
    -------
    TripleCheck

    Raises
    ------
    TypeError, ValueError
        If the skeleton is not a symmetric bool matrix with an empty diagonal, `indep_test` returns NaN, or a triple has
        so many subsets that the check could not finish.

    References
    ----------
    Ramsey, Spirtes and Zhang (2006), Adjacency-faithfulness and conservative causal inference, UAI. Colombo and
    Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15.
    """
    adjacent = neighbour_sets(skeleton)
    middles: dict[Pair, list[int]] = {}
    for b, neighbours in enumerate(adjacent):
        for a in neighbours:
            for c in neighbours - adjacent[a]:
                if c > a:
                    middles.setdefault((a, c), []).append(b)
    _refuse_endless(adjacent, middles, MAX_SUBSETS if indep_test is None else MAX_SUBSETS_CALLABLE)
    if indep_test is None:
        counts, n_careful = _count_gaussian(adjacent, middles, np.ascontiguousarray(C, np.float64), n, alpha, n_threads)
    else:
        counts, n_careful = _count_callable(adjacent, middles, indep_test, suff_stat, alpha), 0
    n_tests = sum(2 ** len(adjacent[a]) + 2 ** len(adjacent[c]) for a, c in middles)

    decisions: dict[Triple, str] = {}
    changes: dict[Pair, tuple[int, ...]] = {}
    for (a, c), bs in middles.items():
        found, containing = counts[a, c]
        cells = {cell: sepset.get(*cell) for cell in ((a, c), (c, a))}
        after = {cell: () if S is None else tuple(S) for cell, S in cells.items()}
        for b in bs:
            decision = decisions[a, b, c] = _decide(found, containing.get(b, 0), maj_rule)
            for cell, S in after.items():
                if decision == "non-collider":
                    after[cell] = S if b in S else (*S, b)
                elif decision != "ambiguous":  # pcalg clears b from an unseparated pair too
                    after[cell] = tuple(s for s in S if s != b)
        changes.update((cell, S) for cell, S in after.items() if cells[cell] != S)
    ambiguous = frozenset(t for t, decision in decisions.items() if decision in ("ambiguous", "unseparated"))
    return TripleCheck(ambiguous, changes, decisions, n_tests, n_careful)


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


def _count_callable(
    adjacent: list[set[int]], middles: dict[Pair, list[int]], indep_test: Callable, suff_stat: Any, alpha: float
) -> dict[Pair, tuple[int, dict[int, int]]]:
    """Per pair: number of separating sets, and how many hold each neighbour; `indep_test` decides."""
    counts = {}
    for a, c in middles:
        known: dict[tuple[int, ...], bool] = {}
        found, containing = 0, {}
        for neighbours in (sorted(adjacent[a]), sorted(adjacent[c])):
            for size in range(len(neighbours) + 1):
                for S in combinations(neighbours, size):
                    if S not in known:
                        p = indep_test(a, c, S, suff_stat)
                        if p != p:
                            raise ValueError(f"indep_test must return a p-value, got NaN for x={a}, y={c}, S={S}")
                        known[S] = bool(p >= alpha)
                    if known[S]:
                        found += 1
                        for b in S:
                            containing[b] = containing.get(b, 0) + 1
        counts[a, c] = found, containing
    return counts


def _count_gaussian(
    adjacent: list[set[int]], middles: dict[Pair, list[int]], C: np.ndarray, n: int, alpha: float, n_threads: int | None
) -> tuple[dict[Pair, tuple[int, dict[int, int]]], int]:
    """The same by the built-in test, in batches of jobs over threads; also the number of careful tests."""
    if not middles:
        return {}, 0
    from pycupc.orientation.all_subsets import count_separating  # loads Numba

    degree = [len(s) for s in adjacent]
    starts = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    columns = np.fromiter((v for s in adjacent for v in sorted(s)), np.int64, int(starts[-1]))
    cut = np.array([cutoff(alpha, n, level) for level in range(max(degree) + 1)])

    sides = [(a, c, owner) for a, c in middles for owner in (a, c)]
    containing_at = np.concatenate([[0], np.cumsum([degree[owner] for _, _, owner in sides])])
    total_found = np.zeros(len(sides), np.int64)
    total_containing = np.zeros(int(containing_at[-1]), np.int64)

    def batches():
        """(side of each job, jobs) with about _BATCH subsets each."""
        batch, load = [], 0
        for side, (a, c, owner) in enumerate(sides):
            settled = max(degree[owner] - _FREE, 0)
            for bits in range(2**settled):
                batch.append((side, a, c, owner, settled, bits))
                load += 2 ** (degree[owner] - settled)
                if load >= _BATCH:
                    yield np.array(batch, np.int64)
                    batch, load = [], 0
        if batch:
            yield np.array(batch, np.int64)

    def work(batch: np.ndarray):
        side = batch[:, 0]
        low = containing_at[side[0]]  # the sides of a batch are consecutive: so is its stretch of counts
        jobs = np.column_stack([batch[:, 1:], containing_at[side] - low])
        found = np.zeros(len(batch), np.int64)
        containing = np.zeros(int(containing_at[side[-1] + 1] - low), np.int64)
        careful = count_separating(C, cut, jobs, starts, columns, found, containing)
        return side, low, found, containing, careful

    n_careful = 0
    n_threads = n_threads or os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool:
        for side, low, found, containing, careful in _ahead(pool, work, batches(), 2 * n_threads):
            np.add.at(total_found, side, found)
            total_containing[low : low + len(containing)] += containing
            n_careful += careful

    counts: dict[Pair, tuple[int, dict[int, int]]] = {}
    found_list, containing_list, at = total_found.tolist(), total_containing.tolist(), containing_at.tolist()
    for side, (a, c, owner) in enumerate(sides):
        found, containing = counts.get((a, c), (0, {}))
        for i, v in enumerate(columns[starts[owner] : starts[owner + 1]].tolist()):
            containing[v] = containing.get(v, 0) + containing_list[at[side] + i]
        counts[a, c] = found + found_list[side], containing
    return counts, n_careful


def _ahead(pool: ThreadPoolExecutor, work: Callable, items, n_ahead: int):
    """Results of `work` in order, with no more than `n_ahead` items waiting, so that an interrupt is soon over."""
    waiting = []
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) >= n_ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()
