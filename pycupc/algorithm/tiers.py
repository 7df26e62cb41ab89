"""The levels with tiers: no test of x and y is given a variable in a tier after theirs (docs/TIERS.md)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.pairs import Pairs
from pycupc.engines.base import Engine, Finished, LevelResult, Questions, State
from pycupc.engines.subsets import about
from pycupc.graph.tiers import NearLists, Tiers
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.fisher_z import z_to_p
from pycupc.system.progress import ProgressHook

Indices = NDArray[np.int64]

#: A level with fewer Gaussian tests, were all pairs to have as many candidates as the widest, asks about both sides
#: together: the tests of side B that are made in vain take less time than another call of the engine.
BOTH_SIDES = 20_000


class TieredLevels:
    """The levels of a run with tiers: `take`, `run_level` and `state` as of an `Engine`, which makes the tests.

    Level 0 is that of the engine. From level 1 on the engine is asked about every ordered pair.
    """

    def __init__(self, engine: Engine, tiers: Tiers) -> None:
        self._engine, self._tiers = engine, tiers

    def take(
        self,
        test: IndependenceTest,
        names: Sequence[str],
        *,
        gaps: Pairs | None = None,
        fixed: Pairs | None = None,
        progress: ProgressHook | None = None,
        **how: Any,
    ) -> None:
        """As `Engine.take`."""
        self._test, self._gaps, self._progress = test, gaps, progress
        self._fixed = Pairs(test.p, *np.zeros((2, 0), dtype=np.int64)) if fixed is None else fixed
        self._engine.take(test, names, gaps=gaps, fixed=fixed, progress=progress, **how | {"m_max": 0})

    def run_level(self, level: int) -> LevelResult:
        """As `Engine.run_level`."""
        if level:
            return self._level(level)
        result = self._engine.run_level(0)
        state = self._engine.state()
        z = state.z if state.unfinished is None else state.unfinished()
        self._low, self._high, self._p_max = state.x, state.y, state.p_max
        self._largest = np.where(np.isinf(z), -np.inf, z_to_p(z)) if self._test.has_r else -z
        return result._replace(more=self._level_0_asks_for_more(result))

    def state(self) -> State:
        """As `Engine.state`."""
        return State(self._low, self._high, -self._largest, None, self._p_max, self._largest)

    def answered(self, level: int) -> None:
        """As `Engine.answered`: the largest p-values are kept."""

    def resume(self, levels: Sequence[Finished]) -> None:
        """As `Engine.resume`."""
        self._low, self._high, self._largest, self._p_max = levels[-1].x, levels[-1].y, -levels[-1].z, None

    def _level_0_asks_for_more(self, result: LevelResult) -> bool:
        tier = self._tiers.tier
        p, n_until = len(tier), np.cumsum(np.bincount(tier))
        none = np.zeros(0, dtype=np.int64)
        low, high = (none, none) if self._gaps is None else (self._gaps.low, self._gaps.high)
        gaps = NearLists(low, high, self._tiers)
        untested = self._fixed | self._gaps

        def more(x: NDArray[np.integer], y: NDArray[np.integer]) -> bool:
            tested = ~untested.holds(x, y)
            limit = self._tiers.limit(x, y)
            others = n_until[limit] - 1 - (tier[y] <= limit) - gaps.n_near(x, limit)
            return bool((others > 0)[tested].any())

        side_b = (np.concatenate(ends) for ends in ((self._high, result.x), (self._low, result.y)))
        return more(*side_b) or any(more(np.full(p - 1 - x, x), np.arange(x + 1, p)) for x in range(p - 1))

    def _level(self, level: int) -> LevelResult:
        begin, lists = time.perf_counter(), NearLists(self._low, self._high, self._tiers)
        number, wanted = lists.number, ~self._fixed.holds(lists.owner, lists.neighbour)
        separated = np.zeros(len(self._low), dtype=np.bool_)
        more, n_tests, done, found = False, 0, 0, []
        for entries in self._turns(lists, np.flatnonzero(wanted & (number >= level)), level):
            for part in lists.parts(entries[~separated[lists.edge[entries]]]):
                x, y, edge = lists.owner[part], lists.neighbour[part], lists.edge[part]
                answers = self._engine.first_separating(Questions(x, y, lists.candidates(part), level, level))
                separated[edge[answers.found & (x < y)]] = True
                counts = (x < y) | ~separated[edge]  # side B is not asked about a pair that side A has separated
                gone = answers.found & counts
                separated[edge[gone]] = True
                more |= bool((number[part[counts]] > level).any())
                n_tests += int(answers.n_tests[counts, level].sum())
                np.maximum.at(self._largest, edge[counts], answers.p[counts])
                S = answers.S.members.reshape(-1, level)[counts[answers.found]]
                found.append((x[gone], y[gone], S, answers.value[gone]))
                if self._p_max is not None:
                    for cells in ((x[counts], y[counts]), (y[counts], x[counts])):
                        np.maximum.at(self._p_max, cells, answers.p[counts])
                done += len(part)
                if self._progress is not None:
                    self._progress(level, done, len(wanted), len(separated) - int(separated.sum()))
        none = (*np.zeros((2, 0), np.int32), np.zeros((0, level), np.int32), np.zeros(0))
        x, y, S, value = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
        order = np.lexsort((y, x))
        self._low, self._high = self._low[~separated], self._high[~separated]
        self._largest = self._largest[~separated]
        seconds = time.perf_counter() - begin
        removed = (x[order], y[order], S[order], value[order])
        return LevelResult(level, *removed, n_tests, len(x), 0, more, seconds=seconds)

    def _turns(self, lists: NearLists, asked: Indices, level: int) -> Iterable[Indices]:
        """The entries that are `asked` about, in the parts that are asked about together."""
        if self._test.in_order:  # row by row, as pcalg visits them
            return np.split(asked, np.flatnonzero(np.diff(lists.owner[asked])) + 1)
        if self._test.has_r and len(asked) * about(int(lists.number.max(initial=0)), level) < BOTH_SIDES:
            return [asked]
        after = lists.owner[asked] > lists.neighbour[asked]  # side B
        return asked[~after], asked[after]
