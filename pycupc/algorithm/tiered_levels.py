"""The levels with tiers: no test of x and y is given a variable in a tier after theirs (docs/contracts/tiers.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.protocol import Answers, AnyEngine, Finished, How, LevelResult, Questions, State
from pycupc.graph.pairs import Pairs
from pycupc.graph.questions import LargestP
from pycupc.graph.sparse import look_up, pair_keys
from pycupc.graph.tiers import NearLists, Tiers
from pycupc.independence.base import Floats, IndependenceTest
from pycupc.independence.gaussian.fisher_z import z_to_p

if TYPE_CHECKING:
    from typing import Unpack

Indices = NDArray[np.int64]


class TieredLevels:
    """The levels of a run with tiers: `take`, `run_level` and `state` as of an `Engine`, which makes the tests.

    The engine runs level 0 as without tiers. From level 1 on it is asked about every ordered pair.
    """

    def __init__(self, engine: AnyEngine, tiers: Tiers, *, by_sides: bool = False) -> None:
        """`by_sides`: ask about all pairs of a side together, also of a test that is called in pcalg's order."""
        self._engine, self._tiers, self._by_sides = engine, tiers, by_sides

    def take(self, test: IndependenceTest, names: Sequence[str], **how: Unpack[How]) -> None:
        """As `Engine.take`."""
        self._test, self._gaps, self._progress = test, how.get("gaps"), how.get("progress")
        division, fixed = how.get("division"), how.get("fixed")
        self._at_once = division is not None and division.kept is not None  # the largest p-values are kept, too
        self._unfinished: list[tuple[Callable[[Indices], Floats], Indices]] = []  # with the keys of the pairs
        self._fixed = Pairs(test.p, *np.zeros((2, 0), dtype=np.int64)) if fixed is None else fixed
        how["m_max"] = 0
        self._engine.take(test, names, **how)

    def run_level(self, level: int) -> LevelResult:
        """As `Engine.run_level`."""
        if level:
            return self._level(level)
        result = self._engine.run_level(0)
        state = self._engine.state()
        z = state.z if state.unfinished is None else state.unfinished()
        self._low, self._high, self._p_max = state.x, state.y, state.p_max
        self._lists = NearLists(self._low, self._high, self._tiers)
        self._largest = np.where(np.isinf(z), -np.inf, z_to_p(z)) if self._test.has_r else -z
        return result._replace(more=self._level_0_asks_for_more(result))

    def state(self) -> State:
        """As `Engine.state`."""
        keys, unfinished = pair_keys(self._low, self._high, len(self._tiers.tier)), []
        for find, pairs in self._unfinished:
            at = look_up(keys, pairs)
            if len(left := np.flatnonzero(at >= 0)):
                unfinished.append((find, left, at[left]))
        largest = LargestP(self._largest, unfinished) if unfinished else self._largest
        return State(self._low, self._high, -self._largest, None, self._p_max, largest)

    def answered(self, level: int) -> None:
        """As `Engine.answered`: the largest p-values are kept."""

    def resume(self, levels: Sequence[Finished]) -> None:
        """As `Engine.resume`."""
        last = levels[-1]
        self._low, self._high, self._largest, self._p_max = last.x, last.y, -last.z, last.p_max
        self._lists = NearLists(self._low, self._high, self._tiers)

    def _level_0_asks_for_more(self, result: LevelResult) -> bool:
        tier = self._tiers.first
        p, n_until = len(tier), np.cumsum(np.bincount(tier))
        n_gaps, untested = None, self._fixed
        if self._gaps is not None:
            n_gaps, untested = NearLists(self._gaps.low, self._gaps.high, self._tiers).n_near, self._fixed | self._gaps

        def more(x: NDArray[np.integer], y: NDArray[np.integer]) -> bool:
            tested = ~untested.holds(x, y)
            limit = self._tiers.limit(x, y)
            others = n_until[limit] - 1 - (tier[y] <= limit) - (0 if n_gaps is None else n_gaps(x, limit))
            return bool((others > 0)[tested].any())

        side_b = (np.concatenate(ends) for ends in ((self._high, result.x), (self._low, result.y)))
        return more(*side_b) or any(more(np.full(p - 1 - x, x), np.arange(x + 1, p)) for x in range(p - 1))

    def _level(self, level: int) -> LevelResult:
        begin, lists = time.perf_counter(), self._lists
        separated = np.zeros(len(self._low), dtype=np.bool_)
        more, n_tests, done, found = False, 0, 0, []
        for part, answers in self._answers(lists, level, separated):
            x, y, edge, gone = lists.owner[part], lists.neighbour[part], lists.edge[part], answers.found
            separated[edge[gone]] = True
            if answers.unfinished is not None:
                self._unfinished.append((answers.unfinished, pair_keys(x, y, len(self._tiers.tier))))
            more |= bool((lists.number[part] > level)[answers.n_tests[:, level] > 0].any())
            n_tests += int(answers.n_tests[:, level].sum())
            np.maximum.at(self._largest, edge, answers.p)
            found.append((x[gone], y[gone], answers.S.members.reshape(-1, level), answers.value[gone]))
            if self._p_max is not None:
                for cells in ((x, y), (y, x)):
                    np.maximum.at(self._p_max, cells, answers.p)
            done += len(part)
            if self._progress is not None:
                self._progress(level, done, len(lists.owner), len(separated) - int(separated.sum()))
        none = (*np.zeros((2, 0), np.int32), np.zeros((0, level), np.int32), np.zeros(0))
        x, y, S, value = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
        order = np.lexsort((y, x))
        if len(x):
            self._low, self._high = self._low[~separated], self._high[~separated]
            self._largest = self._largest[~separated]
            self._lists = NearLists(self._low, self._high, self._tiers)
        seconds = time.perf_counter() - begin
        removed = (x[order], y[order], S[order], value[order])
        return LevelResult(level, *removed, n_tests, len(x), 0, more, seconds=seconds)

    def _answers(self, lists: NearLists, level: int, separated: NDArray[np.bool_]) -> Iterator[tuple[Indices, Answers]]:
        """The entries that are asked about, in parts, with the answers; none whose edge is `separated` by then."""
        asked = np.flatnonzero(~self._fixed.holds(lists.owner, lists.neighbour) & (lists.number >= level))
        if len(asked) and (answers := self._engine.first_separating_entries(lists, asked, level)) is not None:
            yield asked, answers
            return
        after = lists.owner[asked] > lists.neighbour[asked]
        turns = [asked[~after], asked[after]]  # side A, side B
        if self._test.in_order and not self._by_sides:  # row by row, as pcalg visits them
            turns = np.split(asked, np.flatnonzero(np.diff(lists.owner[asked])) + 1)
        for entries in turns:
            for part in lists.parts(entries[~separated[lists.edge[entries]]]):
                asking = lists.owner[part], lists.neighbour[part], lists.candidates(part), level, level
                answers = self._engine.first_separating(Questions(*asking))
                yield part, answers.finished() if self._at_once else answers
