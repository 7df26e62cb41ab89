"""The tests that a kept edge survived: how many there were, and which of them came closest to removing it.

At each level, the edge between a and b is tested given all sets of its size among the other neighbours of a, and among
those of b, as they were at the start of the level. These neighbours are known afterwards: those that are left, and
those that were removed at this level or a later one. So nothing needs to be recorded during a run.
"""

from __future__ import annotations

import math
from itertools import combinations
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.results.evidence import GaussianPValues, PValues, Removals

Integers = NDArray[np.int64]


class TestedResult(Protocol):
    """The attributes of `PcAlgo` that this module reads."""

    labels: tuple[str, ...]
    sparse_graph: SparseGraph
    found_sepset: SepSets
    p_values: PValues
    removals: Removals
    max_ord: int
    n: float | None
    alpha: float | None


class WeakestTest(NamedTuple):
    """The test of a kept edge with the largest p-value: the set, ascending, and the partial correlation."""

    S: tuple[int, ...]
    r: float


class KeptEdges:
    """The tests of the kept edges of a result."""

    def __init__(self, fit: TestedResult) -> None:
        self._fit, self._graph, self._last = fit, fit.sparse_graph, fit.max_ord
        #: The pairs removed at each level.
        self._removed = {block.members.shape[1]: (block.x, block.y) for block in fit.found_sepset.blocks}

    def n_tests(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> tuple[NDArray[np.float64], Integers]:
        """How many tests these edges survived, float64 (k,), and the highest level of them, int64 (k,)."""
        tests, highest = np.full(len(low), 2.0), np.zeros(len(low), dtype=np.int64)  # level 0 tests both orders
        for level, degree in self._degrees().items():
            here = np.zeros(len(low))
            for end in (low, high):
                sets = np.ones(len(low))
                for i in range(level):
                    sets *= np.maximum(degree[end] - 1 - i, 0) / (i + 1)
                here += sets
            tests += np.rint(here)
            highest[here > 0] = level
        return tests, highest

    def n_tests_of(self, a: int, b: int) -> int:
        """How many tests the edge between a and b survived, exact."""
        degrees = self._degrees().items()
        return 2 + sum(comb(max(int(degree[end]) - 1, 0), level) for level, degree in degrees for end in (a, b))

    def _degrees(self) -> dict[int, Integers]:
        """The number of neighbours of each variable at the start of each level >= 1."""
        degree, out = self._graph.degrees().astype(np.int64), {}
        for level in range(self._last, 0, -1):
            for end in self._removed.get(level, ()):
                degree = degree + np.bincount(end, minlength=len(degree))
            out[level] = degree
        return dict(sorted(out.items()))

    def _neighbours(self, v: int) -> tuple[Integers, Integers]:
        """All neighbours of v from level 1 on, ascending, and the level at which each was removed, or `last` + 1."""
        pairs = {**self._removed, self._last + 1: (self._graph.low, self._graph.high)}
        found, levels = [], []
        for level, (x, y) in pairs.items():
            for one, other in ((x, y), (y, x)):
                found.append(other[one == v].astype(np.int64))
                levels.append(np.full(len(found[-1]), level))
        nodes, gone = np.concatenate(found), np.concatenate(levels)
        order = np.argsort(nodes)
        return nodes[order], gone[order]

    def weakest_tests(self, low: NDArray[Any], high: NDArray[Any]) -> list[WeakestTest]:
        """The weakest test of each of these edges, all of which were tested; empty where the tests are not known.

        A test of discrete data is not made again.
        """
        p_values, n = self._fit.p_values, self._fit.n
        if not isinstance(p_values, GaussianPValues) or p_values.C is None or n is None:
            return []
        return [self._weakest(p_values.C, n, a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]

    def _weakest(self, C: NDArray[np.float64], n: float, a: int, b: int) -> WeakestTest:
        """The test of the edge between a and b with the largest p-value, by making all of them again."""
        from pycupc.gaussian.partial_correlation import canonical_space, partial_correlation  # imports Numba

        def tested(S: tuple[int, ...]) -> WeakestTest:
            nodes = np.array([*S, min(a, b), max(a, b)], dtype=np.int32)
            return WeakestTest(S, float(partial_correlation(C, nodes, len(S), work)))  # type: ignore[no-untyped-call]

        work = canonical_space(self._last)
        weakest, least = tested(()), np.inf
        sets: set[tuple[int, ...]] = {()}
        for v, other in ((a, b), (b, a)):
            nodes, gone = self._neighbours(v)
            for level in range(1, self._last + 1):
                sets.update(combinations(nodes[(gone >= level) & (nodes != other)].tolist(), level))
        for S in sorted(sets, key=lambda S: (len(S), S)):
            test = tested(S)
            z = math.sqrt(n - len(S) - 3) * math.atanh(abs(test.r))  # as `fisher_z.z_score`; r is clipped
            if z < least:
                weakest, least = test, z
        return weakest
