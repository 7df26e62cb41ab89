"""The reference engine: a literal PC-stable in plain Python. It is slow, and the oracle of the tests.

It calls any `indepTest` and follows pcalg's loop pair by pair and set by set (docs/CONTRACT.md, section 1). With the
Gaussian test it uses pcalg's formulas literally, pseudoinverse included (section 2). It imports nothing that it checks:
neither the fast engines nor the canonical formula nor their counting of subsets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Engine, Floats, Ints, LevelResult, Mask, ProgressHook
from pycupc.independence.gaussian.gauss_ci_test import partial_correlations
from pycupc.independence.gaussian.suffstat import MatrixFacts
from pycupc.system.machine import free_memory

#: indepTest(x, y, S, suffStat) -> p-value
IndepTest = Callable[[int, int, Sequence[int], Any], float]
#: Ordered pair (x, y), and the neighbours of x but y, from which conditioning sets are taken.
Search = tuple[int, int, list[int]]
#: Position of a pair in the level, x, y, number of tests, the set that separates the pair, and r given it.
Searched = tuple[int, int, int, int, tuple[int, ...] | None, float]
#: Seconds that a `PairTest` should take at a time, so that progress is seen.
AT_ONCE = 0.05


@runtime_checkable
class PairTest(Protocol):
    """An `indepTest` in another process or language, which takes many pairs at a time."""

    def search(self, level: int, wanted: list[Search], alpha: float, na_p: float) -> list[tuple[int, bool, float]]:
        """For each pair the number of tests until the first that separates it, whether one does, and the largest p.

        A pair whose reverse has been separated by this call is not tested: 0 tests. NaN counts as `na_p`.
        """


class ReferenceEngine(Engine):
    """The literal algorithm, one pair after the other.

    Parameters
    ----------
    indep_test : callable (x, y, S, suffStat) -> p, optional
        Any conditional-independence test; the Gaussian one by default.
    suff_stat : any
        Passed to `indep_test`.
    alpha : float
        Significance level, for `indep_test`.
    NAdelete : bool
        A NaN p-value counts as 1 if True, else as 0.
    """

    name = "reference"

    def __init__(
        self, indep_test: IndepTest | None = None, suff_stat: Any = None, alpha: float = 0.01, NAdelete: bool = True
    ) -> None:
        self._test: Any = indep_test
        self._suff_stat, self._alpha, self._na_p = suff_stat, alpha, float(NAdelete)

    def inspect(self, C: Floats) -> MatrixFacts:
        def first(bad: Mask) -> tuple[int, int] | None:
            return (int(np.argwhere(bad)[0, 0]), int(np.argwhere(bad)[0, 1])) if bad.any() else None

        off = ~np.eye(len(C), dtype=bool)
        with np.errstate(invalid="ignore"):
            unlike = ~(np.abs(C - C.T) <= 1e-8) & ~(np.isnan(C) & np.isnan(C.T))
            diagonal = np.flatnonzero(np.abs(np.diagonal(C) - 1) > 1e-10)
            return MatrixFacts(
                nan_count=np.isnan(C).sum(axis=1),
                asymmetric=first(unlike),
                out_of_range=first(off & (np.abs(C) > 1 + 1e-8)),
                bad_diagonal=int(diagonal[0]) if len(diagonal) else None,
            )

    def memory(self, p: int) -> tuple[int, int]:
        return 32 * p * p, free_memory()

    def start(
        self,
        C: Floats,
        n: float,
        *,
        gaps: Mask | None = None,
        fixed: Mask | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """As `Engine.start`; with an `indep_test`, only the shape of C is used, so it may be any (p, p) array."""
        p = len(C)
        self._C, self._n, self._progress = C, n, progress
        self._graph = ~np.eye(p, dtype=bool)
        if gaps is not None:
            self._graph &= ~gaps
        self._fixed = np.zeros((p, p), dtype=bool) if fixed is None else fixed
        self._z_min = np.full((p, p), math.inf)
        self._p_max = np.full((p, p), -math.inf)  # for ordered pairs, as in pcalg

    def degrees(self) -> NDArray[np.int64]:
        return np.asarray(self._graph.sum(axis=1), dtype=np.int64)

    def edges(self) -> tuple[Ints, Ints, Floats]:
        x, y = np.nonzero(np.triu(self._graph))
        return x.astype(np.int32), y.astype(np.int32), np.minimum(self._z_min[x, y], self._z_min[y, x])

    def largest_p_values(self) -> Floats:
        """pcalg's pMax, float64 (p, p): symmetric, 1 on the diagonal, -inf for pairs that were never tested."""
        p_max: Floats = np.maximum(self._p_max, self._p_max.T)
        np.fill_diagonal(p_max, 1.0)
        return p_max

    def _first_separating(
        self, x: int, y: int, sets: Iterator[tuple[int, ...]], cutoff: float
    ) -> tuple[int, tuple[int, ...] | None, float]:
        """The number of tests, the first of the sets that separates the pair, and the partial correlation given it.

        Gaussian tests are computed a few at a time; those after the first that separates are not counted.
        """
        n_tests, at_once = 0, 4
        while some := list(islice(sets, at_once if self._test is None else 1)):
            independent, r = self._run_tests(x, y, some, cutoff)
            if len(independent):
                first = int(independent[0])
                return n_tests + first + 1, some[first], float(r[first])
            n_tests += len(some)
            at_once = min(2 * at_once, 256)
        return n_tests, None, math.nan

    def _run_tests(self, x: int, y: int, sets: list[tuple[int, ...]], cutoff: float) -> tuple[Sequence[int], Floats]:
        """Which of the sets separate the pair, and the partial correlations (with an `indep_test` one set, and NaN)."""
        if self._test is None:
            r = partial_correlations(self._C, x, y, sets)
            independent = np.flatnonzero(np.abs(r) <= cutoff).tolist()
            made = r[: independent[0] + 1] if independent else r
            df = max(self._n - len(sets[0]) - 3, 0)
            self._z_min[x, y] = min(self._z_min[x, y], math.sqrt(df) * math.atanh(np.abs(made).min()))
            return independent, r
        p = float(self._test(x, y, sets[0], self._suff_stat))
        if math.isnan(p):
            p = self._na_p
        self._p_max[x, y] = max(self._p_max[x, y], p)
        return [0] if p >= self._alpha else [], np.array([math.nan])

    def _searched(self, level: int, pairs: list[list[int]], before: Mask, cutoff: float) -> Iterator[Searched]:
        """The pairs that are tested, in order; those removed between two of them are left out."""
        at, at_once, together = 0, 1, isinstance(self._test, PairTest)
        while at < len(pairs):
            part, begin = list(enumerate(pairs[at : at + at_once], at)), time.perf_counter()
            wanted = [(number, *self._search(x, y, before)) for number, (x, y) in part if self._is_open(x, y)]
            wanted = [search for search in wanted if len(search[3]) >= level]
            if not together:
                for number, x, y, candidates in wanted:
                    yield number, x, y, *self._first_separating(x, y, combinations(candidates, level), cutoff)
            elif wanted:
                made = self._test.search(level, [search[1:] for search in wanted], self._alpha, self._na_p)
                for (number, x, y, candidates), (tests, separated, p) in zip(wanted, made, strict=True):
                    if tests:
                        self._p_max[x, y] = max(self._p_max[x, y], p)
                        sets = islice(combinations(candidates, level), tests - 1, None)
                        yield number, x, y, tests, next(sets) if separated else None, math.nan
                at_once = 2 * at_once if time.perf_counter() - begin < AT_ONCE else max(1, at_once // 2)
            at += len(part)

    def _is_open(self, x: int, y: int) -> bool:
        return bool(self._graph[x, y] and not self._fixed[x, y])

    def _search(self, x: int, y: int, before: Mask) -> Search:
        candidates = np.flatnonzero(before[x])
        return x, y, candidates[candidates != y].tolist()

    def run_level(self, level: int, cutoff: float) -> LevelResult:
        before = self._graph.copy()  # the snapshot that makes it "stable"
        found: list[tuple[int, int, tuple[int, ...], float]] = []
        n_tests, more = 0, False
        pairs = np.argwhere(before).tolist()
        for number, x, y, tests, S, r in self._searched(level, pairs, before, cutoff):
            more = more or int(before[x].sum()) - 1 > level
            n_tests += tests
            if S is not None:
                self._graph[x, y] = self._graph[y, x] = False
                found.append((x, y, S, r))
            if self._progress is not None and number % 100 == 0:
                self._progress(level, number, len(pairs), int(self._graph.sum()) // 2)
        # At level 0 the empty set of a cell x < y is implied; a test that is not symmetric may separate on side B.
        stored = [f for f in found if level or f[0] > f[1]]
        return LevelResult(
            level=level,
            x=np.array([f[0] for f in stored], dtype=np.int32),
            y=np.array([f[1] for f in stored], dtype=np.int32),
            S=np.array([f[2] for f in stored], dtype=np.int32).reshape(len(stored), level),
            r=np.array([f[3] for f in stored], dtype=np.float64),
            n_tests=n_tests,
            n_removed=len(found),
            n_careful=0,
            more=more,
        )
