"""The levels with tiers: x and y are tested given neighbours of x in tiers not after its own (docs/TIERS.md)."""

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
    """

    def __init__(self, engine: Engine, known: Constraints) -> None:
        self._engine, self._tier = engine, known.tier

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
        p, tier = len(self._tier), self._tier
        near = np.searchsorted(np.sort(tier), tier, side="right") - 1
        if self._gaps is not None:
            for x, y in ((self._gaps.low, self._gaps.high), (self._gaps.high, self._gaps.low)):
                near -= np.bincount(x[tier[y] <= tier[x]], minlength=p)
        untested = self._fixed | self._gaps

        def more(x: NDArray[np.integer], y: NDArray[np.integer]) -> bool:
            tested = ~untested.holds(x, y)
            return bool((near[x] - (tier[y] <= tier[x]) > 0)[tested].any())

        side_b = (np.concatenate(ends) for ends in ((self._high, result.x), (self._low, result.y)))
        return more(*side_b) or any(more(np.full(p - 1 - x, x), np.arange(x + 1, p)) for x in range(p - 1))

    def _level(self, level: int) -> LevelResult:
        begin, lists = time.perf_counter(), _NearLists(self._low, self._high, self._tier)
        wanted = ~self._fixed.holds(lists.owner, lists.neighbour)
        separated = np.zeros(len(self._low), dtype=np.bool_)
        more, n_tests, done, found = False, 0, 0, []
        for entries in lists.in_order() if self._test.in_order else lists.by_side():
            entries = entries[wanted[entries] & ~separated[lists.edge[entries]]]
            n_candidates = lists.n_candidates[entries]
            more |= bool((n_candidates > level).any())
            for part in lists.parts(entries[n_candidates >= level]):
                x, y, edge = lists.owner[part], lists.neighbour[part], lists.edge[part]
                answers = self._engine.first_separating(Questions(x, y, lists.candidates(part), level, level))
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
        self._low, self._high, self._largest = (a[~separated] for a in (self._low, self._high, self._largest))
        seconds = time.perf_counter() - begin
        removed = (x[order], y[order], S[order], value[order])
        return LevelResult(level, *removed, n_tests, len(x), 0, more, seconds=seconds)

    def _record(self, x: Ints, y: Ints, p: NDArray[np.float64]) -> None:
        """Keep the largest p-values of all pairs, where the engine does so."""
        if self._p_max is not None:
            self._p_max[x, y] = self._p_max[y, x] = np.maximum(self._p_max[x, y], p)


class _NearLists:
    """The neighbours of each variable, and those in tiers not after its own, of a graph that a level finds.

    An entry is an ordered pair of neighbours, `owner` and `neighbour`, int32 (2 m,), by owner, then by neighbour; its
    candidates are the owner's neighbours in tiers not after the owner's, without the neighbour itself.
    """

    def __init__(self, low: Ints, high: Ints, tier: Indices) -> None:
        graph = SparseGraph.undirected(len(tier), low, high)
        start, self.neighbour = graph.neighbour_lists()
        self.owner = np.repeat(np.arange(len(tier), dtype=np.int32), np.diff(start))
        self.edge = graph.edge_number(self.owner, self.neighbour)
        self._near = tier[self.neighbour] <= tier[self.owner]
        self._members = self.neighbour[self._near]
        number = np.bincount(self.owner[self._near], minlength=len(tier))
        self._start = np.concatenate(([0], np.cumsum(number)))
        self._number = number[self.owner]
        self.n_candidates: Indices = self._number - self._near
        self._rows = start

    def by_side(self) -> Iterator[Indices]:
        """The entries of side A, then those of side B."""
        yield np.flatnonzero(self.owner < self.neighbour)
        yield np.flatnonzero(self.owner > self.neighbour)

    def in_order(self) -> Iterator[Indices]:
        """The entries row by row, as pcalg visits them."""
        for begin, end in zip(self._rows[:-1].tolist(), self._rows[1:].tolist(), strict=True):
            yield np.arange(begin, end)

    def parts(self, entries: Indices) -> Iterator[Indices]:
        """The entries in parts that have about `CANDIDATES_AT_ONCE` candidates."""
        part = np.cumsum(self.n_candidates[entries]) // CANDIDATES_AT_ONCE
        yield from np.split(entries, np.flatnonzero(np.diff(part)) + 1) if len(entries) else ()

    def candidates(self, entries: Indices) -> Lists:
        """The candidates of these entries."""
        number = self._number[entries]
        ends = np.cumsum(number)
        place = np.arange(ends[-1]) + np.repeat(self._start[self.owner[entries]] - ends + number, number)
        members = self._members[place]
        others = members != np.repeat(self.neighbour[entries], number)
        return Lists(np.concatenate(([0], np.cumsum(self.n_candidates[entries]))), members[others])
