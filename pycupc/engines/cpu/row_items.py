"""The items of a side: the tests of a row or of consecutive parts of a row, which threads take one after the other.

The kind of walk determines the parts of a row: prefixes of conditioning sets, the sets that have the same first member,
or targets. An item enters its findings into the level's. Of two findings about an entry, the smaller rank and the
smaller r^2 stay, whichever comes first.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.threads import AGAIN, CAREFUL, STOP, TESTS, WANTED, State
from pycupc.engines.cpu.tuning import MOST_ITEMS, SPACE
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, LEFT, NO_TARGET, PIECES, ROW, START, WORK, Part, X
from pycupc.engines.protocol import Floats, Mask
from pycupc.graph.lists import starts
from pycupc.independence.gaussian.partial_correlation import careful_address
from pycupc.system.atomics import atomic_add, atomic_min, atomic_min_rank
from pycupc.system.jit import jit_inlined, jit_part

#: Largest number of tests that is counted for progress.
MOST_COUNTED = 2.0**61


class Merged(NamedTuple):
    """The arrays into which all threads write the findings of items."""

    # rank, r, smallest, done: of `Findings`; r is NaN where a row has several items: it is computed later.
    rank: Indices
    r: Floats
    smallest: Floats
    done: NDArray[np.int8]
    left: Mask  # (E,): entries that are left to the walk
    unfinished: Indices  # (p,): number of items of a row that are not finished


#: Where no findings are entered.
NOTHING = Merged(
    np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int8), np.zeros(0, np.bool_), np.zeros(0, np.int64)
)


def number_of_items(items: Indices, p: int) -> Indices:
    """For each of p rows the number of its items, int64 (p,)."""
    return np.bincount(items[:, ROW], minlength=p)


def whole_rows(graph: Graph, rows: Indices) -> Indices:
    """Items of these rows, each of all parts of a row, without the last part."""
    items = np.zeros((len(rows), 9), dtype=np.int64)
    items[:, ROW] = items[:, X] = rows
    items[:, START] = items[:, AT] = graph.offsets[rows]
    items[:, DEGREE], items[:, PIECES] = graph.degrees[rows], 1
    return items


def cuts(total: Indices, pieces: Indices, piece: Indices) -> Indices:
    """total * piece // pieces, about, where the product need not fit 64 bits."""
    return total // pieces * piece + total % pieces * piece // pieces


def items_of(graph: Graph, work: Floats, least: Floats, parts: Indices) -> tuple[Indices, Indices]:
    """Items of all rows with work, the largest first, without their parts; and which piece of its row each is.

    A row with `work`, float64 (p,), is divided into pieces of at least `least`, at most one for each of its `parts`,
    int64 (p,).
    """
    share = np.maximum(least, work.sum() / MOST_ITEMS)
    pieces = np.clip(work // share, 1.0, parts).astype(np.int64) * (work > 0.0)
    rows = np.argsort(-work / np.maximum(pieces, 1), kind="stable")[: np.count_nonzero(pieces)]
    items, piece = repeated(graph, rows, pieces[rows])
    items[:, WORK] = np.minimum(work[items[:, ROW]] / items[:, PIECES], MOST_COUNTED)
    return items, piece


def repeated(graph: Graph, rows: Indices, pieces: Indices) -> tuple[Indices, Indices]:
    """A number of items for each of these rows, without their parts; and which piece of its row each is."""
    items = whole_rows(graph, np.repeat(rows, pieces))
    items[:, PIECES] = np.repeat(pieces, pieces)
    return items, np.arange(len(items)) - np.repeat(starts(pieces)[:-1], pieces)


class RowWork(ABC):
    """The work of a thread (`threads.Work`) on items: part after part of them, each with the matrix that it reads."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = parts

    @abstractmethod
    def _make_space(self, d: int) -> Any:
        """Work space for rows with up to d neighbours."""

    @abstractmethod
    def _walk(self, part: Part, space: Any, state: State) -> None:
        """Do the items of a part, in compiled code, until none is left or code for doubtful tests is WANTED."""

    def _finish(self, space: Any) -> None:  # noqa: B027 - most work counts nothing
        """Called by each thread when it leaves a work space."""

    def __call__(self, state: State) -> None:
        d, space = 0, None
        for part in self._parts:
            if state[STOP]:
                break
            if part.following[0] >= len(part.items):
                continue
            if (widest := -(-part.widest // SPACE) * SPACE) != d:
                if space is not None:
                    self._finish(space)
                d, space = widest, self._make_space(widest)
            until_careful(partial(self._walk, part, space, state), state)
        if space is not None:
            self._finish(space)


def until_careful(walk: Callable[[], None], state: State) -> None:
    """Walk; where code for doubtful tests is WANTED, load it, and walk on from the item that needed it."""
    walk()
    while state[WANTED]:
        state[CAREFUL], state[WANTED] = careful_address(), 0
        walk()


@jit_inlined
def take_item(following, state):
    """The number of the next item: of the one to be repeated, if there is one."""
    q = state[AGAIN] - 1
    state[AGAIN] = 0
    if q < 0:
        q = atomic_add(following, 0, 1)
    return q


@jit_inlined
def count_tests(state, tests):
    """Count tests that are dealt with, as far as 64 bits go."""
    total = state[TESTS] + tests
    if total < MOST_COUNTED:
        state[TESTS] = int(total)


@jit_inlined
def start_row(side, place, outcomes, bound):
    """Set up for a walk over a row; returns the number of targets."""
    n = 0
    for i in range(place.d):
        e, o = place.start + i, place.out + i
        bound[i] = -1.0
        outcomes.rank[o] = NO_TARGET
        if side.chosen[e] and not 0 <= side.hint[e] < place.number:
            bound[i] = math.inf
            outcomes.rank[o], outcomes.smallest[o] = -1, math.inf
            n += 1
    return n


@jit_part
def merge(chosen, items, q, outcomes, finished, merged):
    """Write the outcomes of item q to the findings.

    After the last item of a row, the findings about its targets are final: `done` becomes `finished`.
    """
    start, d, whole = items[q, START], items[q, DEGREE], items[q, PIECES] == 1
    for i in range(d):
        rank, e = outcomes.rank[i], start + i
        if rank != NO_TARGET:
            atomic_min(merged.smallest, e, outcomes.smallest[i])
        if rank >= 0:
            atomic_min_rank(merged.rank, e, rank)
            merged.r[e] = outcomes.r[i] if whole else math.nan
        elif rank == LEFT:
            merged.left[e] = True
    if atomic_add(merged.unfinished, items[q, ROW], -1) == 1:
        for e in range(start, start + d):
            if chosen[e] and not merged.left[e]:
                merged.done[e] = finished
