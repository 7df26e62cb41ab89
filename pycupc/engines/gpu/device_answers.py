"""Questions about pairs with many sets, on the device, by the kernels of a level (kernels/README.md).

A question is a row of a graph of its own: the neighbours are the candidates and, last, y, which alone is a target, and
the row has its matrix of correlations. The sizes of sets follow one after the other; `search_pairs` decides most pairs,
and the Schur walk those that it leaves. The rest is left to the CPU, which goes on where the device stopped: pairs with
more than `MOST_CANDIDATES` candidates, or whose candidates do not ascend; a separating set among more than 2^62 sets of
its size; pairs that the search gives up, with more sets of a size than `device_tuning.WALKED_SETS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning, hubs, schur
from pycupc.engines.gpu.device import Device, borrowed_device, session
from pycupc.engines.gpu.device_graph import FIXED, LIVE
from pycupc.engines.gpu.levels import GraphOfHost, Outlook
from pycupc.engines.gpu.pruning import device_branch_and_bound, outcome
from pycupc.engines.protocol import Questions
from pycupc.engines.subsets import TOO_MANY, about, exact_members
from pycupc.graph.lists import starts
from pycupc.independence.gaussian.test import GaussianTest

if TYPE_CHECKING:
    from pycupc.engines.cpu.pruning.pair_search import Reached

Indices = NDArray[np.int64]
#: The search takes no row with more neighbours.
MOST_CANDIDATES = device_branch_and_bound.CLASSES[-1][0] - 1


def search_on_device(
    index: int, test: GaussianTest, questions: Questions, pairs: Indices, first: Indices
) -> dict[int, Reached]:
    """Search pairs of these questions, given the sets of first[i] members or more of pairs[i], as far as that goes.

    With a `Questions.budget`, which counts the steps of the CPU, and where there is little to do, nothing is searched.
    """
    number = questions.candidates.sizes[pairs]
    last = np.minimum(number, questions.largest)
    fit = (number <= MOST_CANDIDATES) & (first <= last) & _ascending(questions)[pairs]
    kinds, of_kind = np.unique(np.column_stack([number, first, last])[fit], axis=0, return_counts=True)
    sets = [sum(about(d, size) for size in range(a, b + 1)) for d, a, b in kinds.tolist()]
    if questions.budget is not None or float(np.dot(sets, of_kind)) < device_tuning.QUESTION_SETS:
        return {}
    out: dict[int, Reached] = {}
    with borrowed_device(index) as dev, session(dev, dev.scratch.release):
        for at in _batches(np.flatnonzero(fit), (number + 2) ** 2):
            out |= _Batch(dev, test, questions, pairs[at]).reached(first[at], last[at])
    return out


def _ascending(questions: Questions) -> NDArray[np.bool_]:
    """The questions whose candidates ascend, bool (m,)."""
    offsets, members = questions.candidates
    falls = starts(np.diff(members, prepend=-1) <= 0)
    inner = np.minimum(offsets[:-1] + 1, offsets[1:])
    ascending: NDArray[np.bool_] = falls[offsets[1:]] == falls[inner]
    return ascending


def _batches(numbers: Indices, cells: Indices) -> Iterator[Indices]:
    """The numbers of questions in parts; the matrices of a part, of cells[i] doubles each, fit the memory for them."""
    ends = np.cumsum(cells[numbers])
    part = (ends * 8) // device_tuning.QUESTION_BYTES
    yield from np.split(numbers, np.flatnonzero(np.diff(part)) + 1)


class _Batch:
    """Questions that are searched together; use it inside a `session`."""

    def __init__(self, dev: Device, test: GaussianTest, questions: Questions, pairs: Indices) -> None:
        self._dev, self._test, self._pairs = dev, test, pairs
        lists = [[*questions.candidates.of_one(i), int(questions.y[i]), int(questions.x[i])] for i in pairs.tolist()]
        self._degrees = np.array([0, *(len(v) - 1 for v in lists)], dtype=np.int64)  # row 0 is empty
        start = starts(self._degrees)
        self._target, rows, entries = start[2:] - 1, len(self._degrees), int(start[-1])  # y is the last of its row
        matrix, width, place = hubs.layout(self._degrees, [0])
        C = test.data.C
        self._graph = GraphOfHost(
            dev,
            rows,
            C=np.concatenate([C[np.ix_(v, v)].ravel() for v in lists]),
            G=np.empty(entries, dtype=np.uint8),
            start=start,
            column=np.zeros(entries, np.int32),  # every neighbour has the number 0: the targets come before their rows
            source=np.repeat(np.arange(rows, dtype=np.int32), self._degrees),
            least=np.zeros(entries),
            matrix=matrix,
            width=width,
            place=place,
        )
        self._open = dev.cp.empty(rows, dtype=np.int32)
        self._tests = schur.SchurTests(dev.processors, dev.shared_block, prune=False)

    def reached(self, first: Indices, last: Indices) -> dict[int, Reached]:
        """How far each pair gets with its sets of first[i] to last[i] members."""
        out: dict[int, Reached] = {}
        left = np.ones(len(first), dtype=np.bool_)
        for size in range(int(first.min()), int(last.max()) + 1):
            asked = left & (first <= size) & (size <= last)
            if not asked.any():
                continue
            decided, rank = self._search(size, asked)
            for k in np.flatnonzero(asked & ~(decided & (rank == outcome.NOT_SEPARATED))).tolist():
                d, left[k], members = int(self._degrees[k + 1]), False, None
                if decided[k] and comb(d, size) < TOO_MANY:
                    members = exact_members(int(rank[k]), d, size)
                out[int(self._pairs[k])] = size, members
        return out | {int(self._pairs[k]): (int(last[k]) + 1, None) for k in np.flatnonzero(left).tolist()}

    def _search(self, size: int, asked: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Whether the sets of a size of each pair are decided, and the rank of the first that separates it."""
        dev, graph, at = self._dev, self._graph.on_device, self._target
        outlook = Outlook.of(size, self._degrees, np.append(0, asked))
        dev.scratch.reset()
        level = self._graph.begin(size, self._test.cutoff(size))
        wanted = [*device_branch_and_bound.kernels(size, outlook.widest), *self._tests.kernels(size, outlook)]
        dev.kernels.load(wanted, True, "compiling the search for separating sets, once per machine")
        self._ask(asked)
        found = device_branch_and_bound.launch(dev, graph, level, outlook, int(self._open.data.ptr), ends_early=False)
        shape = (outlook.pairs,)
        decided, rank = dev.fetch((found.decided, np.uint8, shape), (found.rank, np.uint64, shape))
        decided, rank = decided[at] == 1, rank[at].copy()
        sets = np.array([about(d, size) for d in self._degrees[1:].tolist()])
        walked = asked & ~decided & (sets <= device_tuning.WALKED_SETS)
        if walked.any():
            dev.transfers.upload(np.append(0, walked).astype(np.int32), self._open)
            self._tests.launch_walk(dev, graph, level, outlook, int(self._open.data.ptr))
            (best,) = dev.fetch((graph.best, np.uint64, shape))
            rank[walked] = best[at[walked]]
        return decided | walked, rank

    def _ask(self, asked: NDArray[np.bool_]) -> None:
        """Make y the only target of these rows; no other row has one."""
        state = np.full(int(self._degrees.sum()), FIXED, dtype=np.uint8)
        state[self._target[asked]] = LIVE
        self._dev.transfers.upload(state, self._graph.arrays["G"])
        self._dev.transfers.upload(np.append(0, asked).astype(np.int32), self._open)
