"""Questions about pairs with many sets, on the device, by the kernels of a level (kernels/README.md).

A question is a row of a graph of its own: the neighbours are the candidates and, last, y, which alone is a target, and
the row has its matrix of correlations. The sizes of sets follow one after the other; `search_pairs` decides most pairs,
and the Schur walk those that it leaves. The rest is left to the CPU, which goes on where the device stopped: pairs with
more than `MOST_CANDIDATES` candidates, or whose candidates do not ascend; a separating set among more than 2^62 sets of
its size; pairs that the search gives up, with more sets of a size than `tuning.WALKED_SETS`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Questions
from pycupc.engines.gpu import sieve, tuning
from pycupc.engines.gpu.device import Device, Session, borrowed_device
from pycupc.engines.gpu.graph import FIXED, LIVE
from pycupc.engines.gpu.kernels import with_row_matrices
from pycupc.engines.gpu.levels import MOST_TESTS, Outlook, level_of
from pycupc.engines.gpu.pruning import outcome, search
from pycupc.engines.gpu.smallest import outlook_of
from pycupc.engines.gpu.structures import Counters, Graph, Level
from pycupc.engines.subsets import about, exact_members
from pycupc.independence.gaussian.family import GaussianTest

if TYPE_CHECKING:
    from pycupc.engines.cpu.pruning.pairs import Reached

Indices = NDArray[np.int64]
#: The search takes no row with more neighbours.
MOST_CANDIDATES = search.CLASSES[-1][0] - 1


def search_on_device(
    index: int, test: GaussianTest, questions: Questions, pairs: Indices, first: Indices
) -> dict[int, Reached]:
    """Search pairs of these questions, given the sets of first[i] members or more of pairs[i], as far as that goes.

    With a `Questions.budget`, which counts the steps of the CPU, and where there is little to do, nothing is searched.
    """
    number = np.diff(questions.candidates.offsets)[pairs]
    last = np.minimum(number, questions.largest)
    fit = (number <= MOST_CANDIDATES) & (first <= last) & _ascending(questions)[pairs]
    kinds, of_kind = np.unique(np.column_stack([number, first, last])[fit], axis=0, return_counts=True)
    sets = [sum(about(d, size) for size in range(a, b + 1)) for d, a, b in kinds.tolist()]
    if questions.budget is not None or float(np.dot(sets, of_kind)) < tuning.QUESTION_SETS:
        return {}
    out: dict[int, Reached] = {}
    device: AbstractContextManager[Device] = borrowed_device(index)
    with device as dev, Session(dev, dev.scratch.release):
        for at in _batches(np.flatnonzero(fit), (number + 2) ** 2):
            out |= _Batch(dev, test, questions, pairs[at]).reached(first[at], last[at])
    return out


def _ascending(questions: Questions) -> NDArray[np.bool_]:
    """The questions whose candidates ascend, bool (m,)."""
    offsets, members = questions.candidates
    falls = np.concatenate(([0], np.cumsum(np.diff(members, prepend=-1) <= 0)))
    inner = np.minimum(offsets[:-1] + 1, offsets[1:])
    ascending: NDArray[np.bool_] = falls[offsets[1:]] == falls[inner]
    return ascending


def _batches(numbers: Indices, cells: Indices) -> Iterator[Indices]:
    """These numbers in parts, whose matrices, of cells[i] doubles, are not too many."""
    ends = np.cumsum(cells[numbers])
    part = (ends * 8) // tuning.QUESTION_BYTES
    yield from np.split(numbers, np.flatnonzero(np.diff(part)) + 1)


class _Batch:
    """Questions that are searched together; use it inside a `Session`."""

    def __init__(self, dev: Device, test: GaussianTest, questions: Questions, pairs: Indices) -> None:
        self._dev, self._test, self._pairs = dev, test, pairs
        lists = [
            [*questions.candidates.of_question(i), int(questions.y[i]), int(questions.x[i])] for i in pairs.tolist()
        ]
        self._degrees = np.array([0, *(len(v) - 1 for v in lists)], dtype=np.int64)  # row 0 is empty
        width = np.where(self._degrees > 0, self._degrees + 1, 0)
        self._ends = np.cumsum(self._degrees)
        entries = int(self._ends[-1])
        C = test.data.C
        matrices = np.concatenate([C[np.ix_(v, v)].ravel() for v in lists])
        place = np.arange(entries) - np.repeat(self._ends - self._degrees, self._degrees)
        row = np.repeat(np.arange(len(width)), self._degrees)
        arrays = [
            matrices, np.full(entries, FIXED, np.uint8), np.concatenate(([0], self._ends)),
            np.zeros(entries, np.int32),  # every neighbour has the number 0: the targets come before their rows
            row.astype(np.int32), np.zeros(entries), np.cumsum(width**2) - width**2, width.astype(np.int32),
            place.astype(np.int32), np.zeros(len(width), np.int32),
        ]  # fmt: skip
        self._arrays = [dev.transfers.copied(a) for a in arrays]
        self._best = dev.cp.empty(entries, dtype=np.uint64)
        self._counters = dev.cp.zeros(ctypes.sizeof(Counters), dtype=np.uint8)
        at = [int(a.data.ptr) for a in self._arrays]
        self._graph = Graph(*at[:5], self._best.data.ptr, at[5], None, len(self._degrees), *at[6:9])
        self._open = at[9]
        self._tests = sieve.RowTests(dev.processors, dev.shared_block, prune=False)

    def reached(self, first: Indices, last: Indices) -> dict[int, Reached]:
        """How far each pair gets, from its sets of first[i] members to those of last[i]."""
        out: dict[int, Reached] = {}
        left = np.ones(len(first), dtype=np.bool_)
        for size in range(int(first.min()), int(last.max()) + 1):
            asked = left & (first <= size) & (size <= last)
            if not asked.any():
                continue
            decided, rank = self._search(size, asked)
            for k in np.flatnonzero(asked & ~(decided & (rank == outcome.NOT_SEPARATED))).tolist():
                d, left[k], members = int(self._degrees[k + 1]), False, None
                if decided[k] and comb(d, size) < MOST_TESTS:
                    members = exact_members(int(rank[k]), d, size)
                out[int(self._pairs[k])] = size, members
        return out | {int(self._pairs[k]): (int(last[k]) + 1, None) for k in np.flatnonzero(left).tolist()}

    def _search(self, size: int, asked: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Whether the sets of a size of each pair are decided, and the rank of the first that separates it."""
        dev, rows = self._dev, np.concatenate(([False], asked))
        outlook = outlook_of(size, self._degrees, rows.astype(np.int64))
        self._mark(rows)
        dev.scratch.reset()
        dev.cp.cuda.runtime.memsetAsync(self._counters.data.ptr, 0, self._counters.nbytes, dev.stream.ptr)
        dev.cp.cuda.runtime.memsetAsync(self._best.data.ptr, 0xFF, self._best.nbytes, dev.stream.ptr)
        widest = int(self._degrees.max())
        wanted = [*map(with_row_matrices, search.kernels(size, widest)), *self._tests.kernels(size, outlook)]
        dev.kernels.load(wanted, "compiling the search for separating sets, once per machine")
        level = level_of(dev, widest, self._counters, size, self._test.cutoff(size))
        found = search.launch(dev, self._graph, level, outlook, self._open, ends_early=False)
        at, n = self._ends[1:] - 1, len(self._best)
        decided, rank = dev.transfers.download((found.decided, np.uint8, (n,)), (found.rank, np.uint64, (n,)))
        dev.wait()
        decided, rank = decided[at] == 1, rank[at].copy()
        sets = np.array([about(d, size) for d in self._degrees.tolist()])
        walked = asked & ~decided & (sets[1:] <= tuning.WALKED_SETS)
        if walked.any():
            best = self._walk(level, outlook, np.concatenate(([False], walked)))[at]
            rank[walked] = best[walked]
        return decided | walked, rank

    def _mark(self, rows: NDArray[np.bool_]) -> None:
        """Make y the target of these rows."""
        state = np.full(len(self._best), FIXED, dtype=np.uint8)
        state[self._ends[rows] - 1] = LIVE
        self._dev.transfers.upload(state, self._arrays[1])
        self._dev.transfers.upload(rows.astype(np.int32), self._arrays[-1])

    def _walk(self, level: Level, outlook: Outlook, rows: NDArray[np.bool_]) -> NDArray[Any]:
        """The rank that the tests of these rows find for each pair."""
        dev = self._dev
        dev.transfers.upload(rows.astype(np.int32), self._arrays[-1])
        self._tests.launch_walk(dev, self._graph, level, outlook, self._open)
        (best,) = dev.transfers.download((int(self._best.data.ptr), np.uint64, (len(self._best),)))
        dev.wait()
        return best
