"""Which rows of a level are pruned, and how. All other rows go to the walk.

Pruning answers tests without making them (docs/PRUNING.md). It decides only what is certain: a pair whose row is too
ill-conditioned, or whose search takes longer than the walk would, is left to the walk, as is one with a doubtful test
where rows are walked with bounds.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.base import Floats, Mask
from pycupc.engines.cpu.graph import Graph, Targets
from pycupc.engines.cpu.pruning.delta import is_definite

#: False: off. True: where it saves time. "always": wherever it is possible. "checked": as True, and the tests of some
#: pairs that bounds have decided are made as well.
PruningMode = bool | Literal["always", "checked"]

#: The two ways: the walk with bounds, and the search.
Way = Literal["walk", "search"]
WAYS: tuple[Way, ...] = ("walk", "search")
#: Up to level `ROW_LEVEL` rows are walked with bounds, and at the next level rows with at least `WIDE_ROW` neighbours.
#: In all other rows, a search decides each pair of variables.
ROW_LEVEL, WIDE_ROW = 4, 64
#: Seconds that pruning must save at a level, or the level is not pruned: while its code is not loaded yet, and later.
#: Loading the code takes some ten seconds on a new machine, where it is compiled, and half a second afterwards.
WORTH_LOADING, WORTH = 1.0, 0.01
#: Rows with fewer neighbours are not walked with bounds.
ROW_DEGREE = 32
#: Rows with more neighbours are not pruned, so that the work space of a thread stays below 200 MB up to level 40.
MOST_NEIGHBOURS: dict[Way, int] = {"walk": 2000, "search": 512}
#: Smallest eigenvalue of the correlations of a row that is walked with bounds.
LEAST_EIGENVALUE = 1e-4
#: Seconds of the walk per prefix (the members of a set without the last one), and per test.
PREFIX_SECONDS, TEST_SECONDS = 1.3e-7, 6e-10
#: The ordered pairs of a level are divided into groups of `TRIAL_PAIRS`. The searches are first made for one group in
#: `TRIAL`, and for the others only if that saved time.
TRIAL, TRIAL_PAIRS = 24, 4
#: The ways whose code this process has loaded.
_loaded: set[Way] = set()


def rows_of_way(way: Way, degrees: NDArray[np.int64], level: int) -> Mask:
    """The rows that go this way if they are pruned, bool (p,)."""
    if level < 2:  # a test of level 1 costs no more than a bound
        return np.zeros(len(degrees), dtype=np.bool_)
    wide = (level <= ROW_LEVEL) | (level == ROW_LEVEL + 1) & (degrees >= WIDE_ROW)
    return wide if way == "walk" else ~wide


def _may_go(way: Way, degrees: NDArray[np.int64], level: int) -> Mask:
    """The rows that can be pruned this way, bool (p,)."""
    large_enough = degrees >= (ROW_DEGREE if way == "walk" else 0)
    return rows_of_way(way, degrees, level) & large_enough & (degrees <= MOST_NEIGHBOURS[way])


def walk_seconds(degrees: NDArray[np.int64], targets: NDArray[np.int64], level: int) -> Floats:
    """Estimated seconds of the walk for rows with these numbers of neighbours and targets."""
    kinds, row = np.unique(degrees, return_inverse=True)
    prefixes, sets = (np.array([subsets.about(d - 1, k) for d in kinds.tolist()]) for k in (level - 1, level))
    seconds: Floats = PREFIX_SECONDS * prefixes[row] + TEST_SECONDS * sets[row] * targets
    return seconds


def pair_seconds(degrees: NDArray[np.int64], level: int) -> Floats:
    """Estimated seconds of the walk per target of such rows; half of the neighbours are targets of one side."""
    per_side = np.maximum(degrees // 2, 1)
    seconds: Floats = walk_seconds(degrees, per_side, level) / per_side
    return seconds


def _pruned_seconds(degrees: NDArray[np.int64], targets: NDArray[np.int64], walk: Floats, way: Way) -> Floats:
    """Estimated seconds of pruning for rows of which the walk takes `walk` seconds."""
    searches: Floats = 50e-6 + (15e-6 + 0.03e-6 * degrees.astype(np.float64) ** 2) * targets
    return 0.4 * walk if way == "walk" else searches


class Pruning:
    """Pruning for one problem.

    Parameters
    ----------
    C : float64 (p, p), contiguous, not writeable
    mode : bool or {"always", "checked"}
    """

    def __init__(self, C: Floats, mode: PruningMode) -> None:
        self._C, self.mode = C, mode
        self._by_cost = mode in (True, "checked")  # else everywhere or nowhere
        self._all_sound: bool | None = None
        self._sound: dict[int, bool] = {}  # by row; a row that is sound stays so, as it only loses neighbours

    def choose(self, graph: Graph, targets: Targets, level: int, way: Way) -> Mask:
        """The rows to prune this way, bool (p,)."""
        degrees, per_row = graph.degrees(), targets.per_row
        if not self.may_pay(degrees, level):
            return np.zeros(len(degrees), dtype=np.bool_)
        rows = (per_row > 0) & _may_go(way, degrees, level)
        if not rows.any():
            return rows
        walk = walk_seconds(degrees, per_row, level)
        saved = walk - _pruned_seconds(degrees, per_row, walk, way)
        if self._by_cost:
            rows &= saved > 0.2 * walk
            if float(saved[rows].sum()) < (WORTH if way in _loaded else WORTH_LOADING):
                return np.zeros_like(rows)
        _loaded.add(way)
        return self.sound(graph, rows) if way == "walk" else rows

    def on_trial(self, graph: Graph, pruned: Targets, level: int, way: Way) -> Mask:
        """The targets that are searched before the others, to see whether that pays, bool (E,); all if it must."""
        if way == "walk" or not self._by_cost:
            return pruned.chosen
        chosen = np.flatnonzero(pruned.chosen)
        trial = np.zeros_like(pruned.chosen)
        trial[chosen[np.arange(len(chosen)) // TRIAL_PAIRS % TRIAL == 0]] = True
        return trial | pruned.chosen & np.repeat(subsets.are_too_many(graph.degrees(), level), graph.degrees())

    def refuse(self, graph: Graph, targets: Targets, level: int) -> None:
        """Raise EngineError if a row can neither be tried set by set nor be pruned."""
        degrees = graph.degrees()
        rows = (targets.per_row > 0) & subsets.are_too_many(degrees, level)
        if self.mode is not False:
            rows &= ~_may_go("search", degrees, level)
        limit = f"bounds are for rows of at most {MOST_NEIGHBOURS['search']} neighbours"
        subsets.refuse(rows, degrees, level, limit if self.mode else "pruning is switched off")

    def may_pay(self, degrees: NDArray[np.int64], level: int) -> bool:
        """False where a level is surely too small: quicker than to look at every row."""
        if not self._by_cost:
            return bool(self.mode)
        d = int(degrees.max(initial=0))
        prefixes, sets = subsets.about(d - 1, level - 1), subsets.about(d - 1, level)
        at_most = len(degrees) * (PREFIX_SECONDS * prefixes + TEST_SECONDS * d * sets)
        return level > 1 and at_most > (WORTH if _loaded else WORTH_LOADING)

    def sound(self, graph: Graph, rows: Mask) -> Mask:
        """The given rows without the ill-conditioned ones, bool (p,)."""
        sound = np.zeros_like(rows)
        sound[rows] = [self._is_sound(graph, x) for x in np.flatnonzero(rows).tolist()]
        return sound

    def _is_sound(self, graph: Graph, x: int) -> bool:
        """Whether no set of variables in the row has a pivot that might be doubtful."""
        if self._all_sound is None:
            self._all_sound = len(self._C) <= 1024 and is_definite(self._C, LEAST_EIGENVALUE)
        if not self._all_sound and not self._sound.get(x):
            members = np.append(graph.neighbours[graph.offsets[x] : graph.offsets[x + 1]], x)
            self._sound[x] = is_definite(self._C[np.ix_(members, members)], LEAST_EIGENVALUE)
        return self._all_sound or self._sound[x]


def split(graph: Graph, targets: Targets, rows: Mask) -> tuple[Targets, Targets]:
    """The targets in the rows to prune, and the others."""
    pruned = targets.chosen & np.repeat(rows, graph.degrees())
    return (
        Targets(pruned, np.where(rows, targets.per_row, 0), targets.more),
        Targets(targets.chosen & ~pruned, np.where(rows, 0, targets.per_row), targets.more),
    )
