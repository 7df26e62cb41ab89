"""Which rows of a level are pruned, and how. All other rows go to the walk.

Pruning answers tests without making them (docs/contracts/pruning.md). It decides only what is certain: a pair whose row
is too ill-conditioned, or whose search takes longer than the walk would, is left to the walk, as is one with a doubtful
test where rows are walked with bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.cpu import threads, tuning
from pycupc.engines.cpu.graph import Graph, Targets
from pycupc.engines.cpu.pruning.delta import SoundRows, is_definite
from pycupc.engines.cpu.submatrices import CorrelationSource, MatrixSource
from pycupc.engines.protocol import Floats, Mask

#: False: off. True: where it saves time. "always": wherever it is possible. "checked": as True, and the tests of some
#: pairs that bounds have decided are made as well.
PruningMode = bool | Literal["always", "checked"]

#: The two ways: the walk with bounds, and the search.
Way = Literal["walk", "search"]
WAYS: tuple[Way, ...] = ("walk", "search")
#: Smallest eigenvalue of the correlations of a row that is walked with bounds.
LEAST_EIGENVALUE = 1e-4
#: The ways whose code this process has loaded.
_loaded: set[Way] = set()


def loaded() -> frozenset[Way]:
    """The ways whose code this process has loaded."""
    return frozenset(_loaded)


def count_as_loaded(ways: Iterable[Way]) -> None:
    """Decide here as a process does that has loaded these ways: it has found that loading them pays."""
    _loaded.update(ways)


def rows_of_way(way: Way, degrees: NDArray[np.int64], level: int) -> Mask:
    """The rows that go this way if they are pruned, bool (p,)."""
    if level < 2:  # a test of level 1 costs no more than a bound
        return np.zeros(len(degrees), dtype=np.bool_)
    wide = (level <= tuning.WALKED_LEVEL) | (level == tuning.WALKED_LEVEL + 1) & (degrees >= tuning.MANY_NEIGHBOURS)
    return wide if way == "walk" else ~wide


def _may_go(way: Way, degrees: NDArray[np.int64], level: int) -> Mask:
    """The rows that can be pruned this way, bool (p,)."""
    least, most = (tuning.WALKED_DEGREE, tuning.MOST_WALKED) if way == "walk" else (0, tuning.MOST_SEARCHED)
    return rows_of_way(way, degrees, level) & (degrees >= least) & (degrees <= most)


def walk_seconds(degrees: NDArray[np.int64], targets: NDArray[np.int64], level: int) -> Floats:
    """Estimated seconds of the walk for rows with these numbers of neighbours and targets."""
    prefixes = subsets.by_degree(lambda d: subsets.about(d - 1, level - 1), degrees)
    sets = subsets.by_degree(lambda d: subsets.about(d - 1, level), degrees)
    seconds: Floats = tuning.PREFIX_SECONDS * prefixes + tuning.TEST_SECONDS * sets * targets
    return seconds


def pair_seconds(degrees: NDArray[np.int64], level: int) -> Floats:
    """Estimated seconds of the walk per target of such rows; half of the neighbours are targets of one side."""
    per_side = np.maximum(degrees // 2, 1)
    seconds: Floats = walk_seconds(degrees, per_side, level) / per_side
    return seconds


def _pruned_seconds(way: Way, degrees: NDArray[np.int64], targets: NDArray[np.int64], walk: Floats) -> Floats:
    """Estimated seconds of rows that go this way, whose walk would take `walk` seconds."""
    if way == "walk":
        return tuning.WALK_SHARE * walk
    per_pair = tuning.PAIR_SECONDS + tuning.PAIR_SECONDS_PER_SQUARE * degrees.astype(np.float64) ** 2
    seconds: Floats = tuning.ROW_SECONDS + per_pair * targets
    return seconds


class LevelWalk(NamedTuple):
    """The rows with tests of a level, their numbers of prefixes, and estimated seconds, inf if a row is wide."""

    graph: Graph
    level: int
    rows: NDArray[np.int64]
    prefixes: NDArray[np.int64]
    seconds: float

    @classmethod
    def of(cls, graph: Graph, level: int) -> LevelWalk:
        rows = np.flatnonzero(graph.degrees > level)
        if subsets.is_wide(graph.widest, level):
            return cls(graph, level, rows, rows, np.inf)
        table, d = subsets.binomial_table(graph.widest, level), graph.degrees[rows]
        prefixes, tests = table[d - 1, level - 1], d * table[d - 1, level].astype(np.float64)
        seconds = tuning.PREFIX_SECONDS * prefixes.sum(dtype=np.float64) + tuning.TEST_SECONDS * tests.sum()
        return cls(graph, level, rows, prefixes, float(seconds))


class Pruning:
    """Pruning for one problem; `mode` is a bool, "always" or "checked"."""

    def __init__(self, source: CorrelationSource, mode: PruningMode, n_threads: int) -> None:
        self._source, self.mode, self._n_threads = source, mode, n_threads
        self._by_cost = mode in (True, "checked")  # else everywhere or nowhere
        self._all_sound: bool | None = None
        self._sound = np.zeros(source.p, dtype=np.bool_)  # by row; one that is sound stays so: it only loses neighbours

    def choose(self, graph: Graph, targets: Targets, level: int, way: Way) -> Mask:
        """The rows to prune this way, bool (p,)."""
        degrees, per_row = graph.degrees, targets.per_row
        rows = (per_row > 0) & _may_go(way, degrees, level)
        if not rows.any():
            return rows
        walk = walk_seconds(degrees, per_row, level)
        saved = walk - _pruned_seconds(way, degrees, per_row, walk)
        if self._by_cost:
            rows &= saved > 0
            if float(saved[rows].sum()) < (tuning.WORTH if way in _loaded else tuning.WORTH_LOADING):
                return np.zeros_like(rows)
        _loaded.add(way)
        return self.sound(graph, rows) if way == "walk" else rows

    def seconds(self, graph: Graph, targets: Targets, level: int) -> Floats:
        """Estimated seconds of one thread for the targets of each row, float64 (p,)."""
        degrees, per_row = graph.degrees, targets.per_row
        seconds = walk_seconds(degrees, per_row, level) * (per_row > 0)
        if self.mode:
            for way in WAYS:
                rows = (per_row > 0) & _may_go(way, degrees, level)
                pruned = _pruned_seconds(way, degrees, per_row, seconds)
                seconds = np.where(rows, np.minimum(seconds, pruned), seconds)
        return seconds

    def on_trial(self, graph: Graph, chosen: Mask, level: int, way: Way) -> Mask:
        """The targets that are searched before the others, to see whether that pays, bool (E,); all if it must."""
        if way == "walk" or not self._by_cost:
            return chosen
        trial = np.zeros_like(chosen)
        trial[chosen] = np.arange(np.count_nonzero(chosen)) // tuning.TRIAL_PAIRS % tuning.TRIAL == 0
        return trial | chosen & np.repeat(subsets.are_too_many(graph.degrees, level), graph.degrees)

    def refuse(self, graph: Graph, targets: Targets, level: int) -> None:
        """Raise EngineError if a row can neither be tried set by set nor be pruned."""
        degrees = graph.degrees
        if not (too_many := subsets.are_too_many(degrees, level)).any():
            return
        rows = (targets.per_row > 0) & too_many
        if self.mode is not False:
            rows &= ~_may_go("search", degrees, level)
        limit = f"bounds are for rows of at most {tuning.MOST_SEARCHED} neighbours"
        subsets.refuse(rows, degrees, level, limit if self.mode else "pruning is switched off")

    def ways(self, level: int, seconds: float) -> tuple[Way, ...]:
        """The ways that rows of this level may go; none where it is surely too small: quicker than to ask each row.

        `seconds`: estimated, of the walk over all rows.
        """
        if not self._by_cost:
            return WAYS if self.mode else ()
        return WAYS if level > 1 and seconds > (tuning.WORTH if _loaded else tuning.WORTH_LOADING) else ()

    def sound(self, graph: Graph, rows: Mask) -> Mask:
        """The given rows without the ill-conditioned ones, in which a pivot might be doubtful, bool (p,)."""

        if self._all_sound is None:
            C = self._source.C if isinstance(self._source, MatrixSource) else None
            self._all_sound = C is not None and len(C) <= 1024 and is_definite(C, LEAST_EIGENVALUE)
        if self._all_sound:
            return rows
        asked = np.flatnonzero(rows & ~self._sound)
        work = float((graph.degrees[asked].astype(np.float64) ** 3).sum()) * tuning.TESTS_PER_CUBE
        threads.run(SoundRows(self._source, graph, asked, LEAST_EIGENVALUE, self._sound), self._n_threads, int(work))
        return rows & self._sound
