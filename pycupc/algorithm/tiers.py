"""The levels with tiers: no test of x and y is given a variable in a tier after theirs (docs/TIERS.md)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pycupc.data.constraints import Constraints
from pycupc.data.pairs import Pairs
from pycupc.engines.base import Engine, LevelResult, Lists, Questions, State
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.fisher_z import z_to_p
from pycupc.system.progress import ProgressHook

Ints = NDArray[np.int32]
Indices = NDArray[np.int64]

#: Candidates of all pairs that an engine is asked about at a time: 4 bytes each, as much as a level of a dense graph.
CANDIDATES_AT_ONCE = 1 << 24


class TieredLevels:
    """The levels of a run with tiers: `take`, `run_level` and `state` as of an `Engine`, which makes the tests.

    Level 0 is that of the engine. From level 1 on the engine is asked about every ordered pair.

    Parameters
    ----------
    engine : Engine
    known : Constraints
    latent : bool, default False
        Whether there may be hidden common causes. Then the sets of x, y are drawn from the tiers up to the later one of
        both, not up to the tier of x.
    """

    def __init__(self, engine: Engine, known: Constraints, *, latent: bool = False) -> None:
        self._engine, self._tier, self._latent = engine, known.tier, latent

    def take(
        self,
        test: IndependenceTest,
        names: Sequence[str],
        *,
        gaps: Pairs | None = None,
        fixed: Pairs | None = None,
        m_max: float = math.inf,
        progress: ProgressHook | None = None,
    ) -> None:
        """As `Engine.take`."""
        self._test, self._gaps, self._progress = test, gaps, progress
        self._fixed = Pairs(test.p, *np.zeros((2, 0), dtype=np.int64)) if fixed is None else fixed
        self._engine.take(test, names, gaps=gaps, fixed=fixed, m_max=0, progress=progress)

    def run_level(self, level: int) -> LevelResult:
        """As `Engine.run_level`."""
        if level:
            return self._level(level)
        result = self._engine.run_level(0)
        state = self._engine.state()
        z = state.z if state.unfinished is None else state.unfinished()
        self._low, self._high, self._p_max = state.x, state.y, state.p_max
        self._largest = np.where(np.isinf(z), -np.inf, z_to_p(z)) if self._test.has_r else -z
        return replace(result, more=self._level_0_asks_for_more(result))

    def state(self) -> State:
        """As `Engine.state`."""
        return State(self._low, self._high, -self._largest, None, self._p_max, self._largest)

    def _level_0_asks_for_more(self, result: LevelResult) -> bool:
        p, tier, n_until = len(self._tier), self._tier, np.cumsum(np.bincount(self._tier))
        none = np.zeros(0, dtype=np.int64)
        low, high = (none, none) if self._gaps is None else (self._gaps.low, self._gaps.high)
        gaps = _NearLists(low, high, tier)
        untested = self._fixed | self._gaps

        def more(x: NDArray[np.integer], y: NDArray[np.integer]) -> bool:
            tested = ~untested.holds(x, y)
            limit = self._limit(x, y)
            others = n_until[limit] - 1 - (tier[y] <= limit) - gaps.n_near(x, limit)
            return bool((others > 0)[tested].any())

        side_b = (np.concatenate(ends) for ends in ((self._high, result.x), (self._low, result.y)))
        return more(*side_b) or any(more(np.full(p - 1 - x, x), np.arange(x + 1, p)) for x in range(p - 1))

    def _limit(self, x: NDArray[np.integer], y: NDArray[np.integer]) -> Indices:
        """The last tier from which the sets of the ordered pairs are drawn."""
        return np.asarray(np.maximum(self._tier[x], self._tier[y]) if self._latent else self._tier[x])

    def _level(self, level: int) -> LevelResult:
        begin, lists = time.perf_counter(), _NearLists(self._low, self._high, self._tier)
        limit = self._limit(lists.owner, lists.neighbour)
        number = lists.n_near(lists.owner, limit) - (self._tier[lists.neighbour] <= limit)
        wanted = ~self._fixed.holds(lists.owner, lists.neighbour)
        separated = np.zeros(len(self._low), dtype=np.bool_)
        more, n_tests, done, found = False, 0, 0, []
        for entries in lists.in_order() if self._test.in_order else lists.by_side():
            entries = entries[wanted[entries] & ~separated[lists.edge[entries]]]
            more |= bool((number[entries] > level).any())
            for part in lists.parts(entries[number[entries] >= level]):
                x, y, edge = lists.owner[part], lists.neighbour[part], lists.edge[part]
                answers = self._engine.first_separating(
                    Questions(x, y, lists.candidates(part, limit[part]), level, level)
                )
                n_tests += int(answers.n_tests[:, level].sum())
                np.maximum.at(self._largest, edge, answers.p)
                separated[edge[answers.found]] = True
                found.append((x[answers.found], y[answers.found], answers.S.members, answers.value[answers.found]))
                self._record(x, y, answers.p)
                done += len(part)
                if self._progress is not None:
                    self._progress(level, done, len(wanted), len(separated) - int(separated.sum()))
        none = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
        x, y, S, value = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
        order, S = np.lexsort((y, x)), S.reshape(-1, level)
        self._low, self._high = self._low[~separated], self._high[~separated]
        self._largest = self._largest[~separated]
        seconds = time.perf_counter() - begin
        removed = (x[order], y[order], S[order], value[order])
        return LevelResult(level, *removed, n_tests, len(x), 0, more, seconds=seconds)

    def _record(self, x: Ints, y: Ints, p: NDArray[np.float64]) -> None:
        """Keep the largest p-values of all pairs, where the engine does so."""
        if self._p_max is not None:
            self._p_max[x, y] = self._p_max[y, x] = np.maximum(self._p_max[x, y], p)


class _NearLists:
    """The neighbours of each variable by tier.

    An entry is an ordered pair of neighbours, `owner` and `neighbour`, int32 (2 m,), by owner, then by neighbour.
    `edge` is the position of the pair in the list of edges.
    """

    def __init__(self, low: NDArray[np.integer], high: NDArray[np.integer], tier: Indices) -> None:
        graph = SparseGraph.undirected(len(tier), low, high)
        self._start, self.neighbour = graph.neighbour_lists()
        self._degree = np.diff(self._start)
        self.owner = np.repeat(np.arange(len(tier), dtype=np.int32), self._degree)
        self.edge = graph.edge_number(self.owner, self.neighbour)
        self._tier, self._n_tiers = tier, int(tier.max(initial=0)) + 1
        self._by_tier = np.sort(self.owner.astype(np.int64) * self._n_tiers + tier[self.neighbour])

    def n_near(self, x: NDArray[np.integer], limit: Indices) -> Indices:
        """The number of neighbours of x in tiers up to `limit`."""
        last = self._by_tier.searchsorted(x.astype(np.int64) * self._n_tiers + limit, side="right")
        return np.asarray(last - self._start[x])

    def by_side(self) -> Iterator[Indices]:
        """The entries of side A, then those of side B."""
        yield np.flatnonzero(self.owner < self.neighbour)
        yield np.flatnonzero(self.owner > self.neighbour)

    def in_order(self) -> Iterator[Indices]:
        """The entries row by row, as pcalg visits them."""
        for begin, end in zip(self._start[:-1].tolist(), self._start[1:].tolist(), strict=True):
            yield np.arange(begin, end)

    def parts(self, entries: Indices) -> Iterator[Indices]:
        """The entries in parts, whose owners have about `CANDIDATES_AT_ONCE` neighbours together."""
        part = np.cumsum(self._degree[self.owner[entries]]) // CANDIDATES_AT_ONCE
        yield from np.split(entries, np.flatnonzero(np.diff(part)) + 1) if len(entries) else ()

    def candidates(self, entries: Indices, limit: Indices) -> Lists:
        """The owner's neighbours in tiers up to the `limit` of each entry, without the neighbour of the entry."""
        owner = self.owner[entries]
        degree = self._degree[owner]
        ends = np.cumsum(degree)
        members = self.neighbour[np.arange(ends[-1]) + np.repeat(self._start[owner] - ends + degree, degree)]
        entry = np.repeat(np.arange(len(entries)), degree)
        kept = (self._tier[members] <= limit[entry]) & (members != self.neighbour[entries[entry]])
        number = np.bincount(entry[kept], minlength=len(entries))
        return Lists(np.concatenate(([0], np.cumsum(number))), members[kept])
