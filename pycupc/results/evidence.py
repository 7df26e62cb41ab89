"""The tests behind an edge, or behind its absence, and the answer of `why` from them.

For a kept edge: how many tests it survived, and which of them came closest to removing it. At each level, the edge
between a and b is tested given all sets of its size among the other neighbours of a, and among the other neighbours of
b, at the start of the level. These neighbours are known afterwards: the present neighbours, and the neighbours that
were removed at this level or a later one. So nothing needs to be recorded during a run.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.tiers import Counter, counter
from pycupc.independence.gaussian import fisher_z, tolerances
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.results.base import TestedResult
from pycupc.results.explanation import Why, reason_of_arrow
from pycupc.results.tests_after_levels import LaterTests

Integers = NDArray[np.int64]


#: The test of a kept edge with the largest p-value: the set, ascending, and the partial correlation.
WeakestTest = tuple[tuple[int, ...], float]


class KeptEdges:
    """The tests of the kept edges of a result."""

    def __init__(self, fit: TestedResult) -> None:
        self._fit, self._graph, self._last, self._tiers = fit, fit.sparse_graph, fit.max_ord, fit.tiers
        #: The pairs removed at each level, and those left.
        self._pairs = {block.members.shape[1]: (block.x, block.y) for block in fit.found_sepset.blocks}
        lost = np.zeros((2, 0), dtype=np.int32) if self._tiers is None else self._tiers.lost.T
        self._pairs[self._last + 1] = np.append(self._graph.low, lost[0]), np.append(self._graph.high, lost[1])

    def n_tests(self, low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[np.object_], Integers]:
        """How many tests these edges survived, Python's integers (k,), and the highest level of them, int64 (k,)."""
        tests, highest = np.full(len(low), 2, dtype=object), np.zeros(len(low), dtype=np.int64)  # level 0: both orders
        for level, n_candidates in self._counters().items():
            numbers, place = np.unique([n_candidates(low, high), n_candidates(high, low)], return_inverse=True)
            sets = np.array([comb(n, level) for n in numbers.tolist()], dtype=object)
            here = sets[place.reshape(2, -1)].sum(axis=0)
            tests += here
            highest[here > 0] = level
        return tests, highest

    def _counters(self) -> dict[int, Counter]:
        """For each level >= 1 the function that counts the candidates of ordered pairs of neighbours."""
        left = {k: [ends for gone, ends in self._pairs.items() if gone >= k] for k in range(1, self._last + 1)}
        return {level: counter(self._tiers, pairs, self._graph.p) for level, pairs in left.items()}

    def _neighbours(self, v: int) -> tuple[Integers, Integers]:
        """All neighbours of v from level 1 on, ascending, and the level at which each was removed, or `last` + 1."""
        found, levels = [], []
        for level, (x, y) in self._pairs.items():
            for one, other in ((x, y), (y, x)):
                found.append(other[one == v].astype(np.int64))
                levels.append(np.full(len(found[-1]), level))
        nodes, gone = np.concatenate(found), np.concatenate(levels)
        order = np.argsort(nodes)
        return nodes[order], gone[order]

    def weakest_test(self, a: int, b: int) -> WeakestTest | None:
        """The test of the edge between a and b with the largest p-value, by making all of them again.

        None where tests are not known, as of discrete data.
        """
        p_values, n = self._fit.p_values, self._fit.n
        if not isinstance(p_values, GaussianPValues) or p_values.known is None or n is None:
            return None
        from pycupc.independence.gaussian.partial_correlation import canonical_r  # imports Numba

        def tested(S: tuple[int, ...]) -> WeakestTest:
            x, y, *members = np.searchsorted(own, [min(a, b), max(a, b), *S]).tolist()
            return S, canonical_r(C, x, y, members)

        own = np.unique(np.concatenate([[a, b], self._neighbours(a)[0], self._neighbours(b)[0]])).astype(np.int64)
        C = p_values.known.among(own)
        weakest, least = tested(()), np.inf
        sets: set[tuple[int, ...]] = {()}
        for v, other in ((a, b), (b, a)):
            nodes, gone = self._neighbours(v)
            for level in range(1, self._last + 1):
                near = (gone >= level) & (nodes != other)
                if self._tiers is not None:
                    near &= self._tiers.may_be_given(np.array(v), np.array(other), nodes)
                sets.update(combinations(nodes[near].tolist(), level))
        for S in sorted(sets, key=lambda S: (len(S), S)):
            test = tested(S)
            z = math.sqrt(n - len(S) - 3) * math.atanh(abs(test[1]))  # as `fisher_z.z_score`; r is clipped
            if z < least:
                weakest, least = test, z
        return weakest


#: Largest number of tests of one edge that are made again to find the weakest; each takes some microseconds.
MOST_TESTS = 100_000


def why_pair(fit: TestedResult, i: int, j: int) -> Why:
    """The answer of `PcAlgo.why` for two different variables."""
    name = fit.labels.__getitem__
    edge = int(fit.sparse_graph.edge_number(i, j))
    if edge >= 0:
        p = float(fit.p_values.of_edges(fit.sparse_graph)[edge])
        arrow = reason_of_arrow(fit.trace, fit.labels, i, j)
        return Why(name(i), name(j), "fixed", arrow=arrow) if p == -math.inf else _kept(fit, i, j, p, arrow)
    low, high = min(i, j), max(i, j)
    S = fit.found_sepset.of_pair(i, j)
    if S is None:
        lost = fit.tiers is not None and (fit.tiers.lost == (low, high)).all(axis=1).any()
        return Why(name(low), name(high), "impossible" if lost else "gap")
    return _removed(fit, high, low, S) if fit.found_sepset.get(low, high) is None else _removed(fit, low, high, S)


def _kept(fit: TestedResult, i: int, j: int, p: float, arrow: tuple[str, ...] | None) -> Why:
    """For a kept edge whose largest p-value is p."""
    kept = KeptEdges(fit)
    tests: int = kept.n_tests(np.array([i]), np.array([j]))[0][0]
    why = Why(fit.labels[i], fit.labels[j], "kept", p=p, arrow=arrow, n_tests=tests)
    if tests > MOST_TESTS or fit.alpha is None or fit.n is None:
        return why
    weakest = kept.weakest_test(i, j)
    if weakest is None:
        return why
    S, r = weakest
    known = p if p == p else float(fisher_z.p_value(r, fit.n, len(S)))  # R may hold no p-values
    return replace(why, p=known, **_test(fit, S, r, fit.n, fit.alpha))


def _removed(fit: TestedResult, i: int, j: int, S: tuple[int, ...]) -> Why:
    """For a removed pair, in the order of its separating test, given S."""
    name = fit.labels.__getitem__
    why = Why(name(i), name(j), "removed", len(S), "A" if i < j else "B", tuple(map(name, S)))
    few = isinstance(fit.p_values, GaussianPValues) and fit.n is not None and fit.n <= len(S) + 3
    if few:
        return replace(why, p=fit.p_values.at(i, j), n=fit.n, needed=len(S) + 4)
    needed, there = fit.untested.needed_by(i, j)
    if needed[0]:
        return replace(why, p=fit.p_values.at(i, j), n=float(there[0]), needed=int(needed[0]))
    r = _separating_r(fit, i, j, len(S))
    if r is None or fit.n is None or fit.alpha is None:
        return replace(why, p=fit.p_values.at(i, j))
    r = 0.0 if math.isnan(r) else min(max(r, -tolerances.R_MAX), tolerances.R_MAX)
    return replace(why, p=float(fisher_z.p_value(r, fit.n, len(S))), **_test(fit, S, r, fit.n, fit.alpha))


def _test(fit: TestedResult, S: tuple[int, ...], r: float, n: float, alpha: float) -> dict[str, Any]:
    """The attributes of `Why` that describe the test given S, of which r came."""
    z, cutoff = float(fisher_z.z_score(r, n, len(S))), fisher_z.cutoff(alpha, n, len(S))
    names = tuple(fit.labels[v] for v in S)
    return {"level": len(S), "S": names, "r": r, "z": math.copysign(z, r), "cutoff": cutoff, "margin": cutoff - abs(r)}


def _separating_r(fit: TestedResult, i: int, j: int, level: int) -> float | None:
    """Partial correlation of the separating test, None where only its p-value is known."""
    match fit.p_values:
        case GaussianPValues() if level:
            found = fit.removals.find(i, j)
            return None if found is None else fit.removals.r_at(found)
        case GaussianPValues(known=known):
            return None if known is None else float(known.pairs([i], [j])[0])
        case _:
            return None


def why_removed_later(fit: TestedResult, later: LaterTests, k: int) -> Why:
    """For a pair that a test after the levels of `fit` removed, by its number in `later`."""
    S = tuple(later.S.of_one(k))
    x, y = (fit.labels[v] for v in (int(later.x[k]), int(later.y[k])))
    names = tuple(fit.labels[v] for v in S)
    why = Why(x, y, "removed", len(S), None, names, p=float(later.p[k]), stage=later.stage)
    if not isinstance(fit.p_values, GaussianPValues) or fit.n is None or fit.alpha is None:
        return why
    return replace(why, **_test(fit, S, float(later.value[k]), fit.n, fit.alpha))
