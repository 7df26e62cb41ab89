"""The tests that `fci` and `rfci` make after the levels of the skeleton, and the edges that these removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.lists import Lists
from pycupc.graph.sepset import FlatCells
from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.independence.p_values import PValues

Floats = NDArray[np.float64]
Stage = Literal["possible-d-sep", "rfci"]


#: Cells [x, y] of pMax, int32 (k,) each, and p-values, float64 (k,).
Raised = tuple[Ints, Ints, Floats]


class UnfinishedP(Protocol):
    """Cells of pMax whose p-values are computed when it is called, as bounds have answered tests."""

    def __call__(self) -> Raised:
        """With the largest p-values of all tests."""

    def met(self) -> Raised:
        """With the largest p-values of the tests made."""


@dataclass(kw_only=True, eq=False)
class LaterTests:
    """The edges removed after the levels, in the order of their removal, and the numbers of tests made there."""

    # x, y: (m,): the pair in the order of its separating test.
    x: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    y: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    S: Lists = field(default_factory=lambda: Lists.of([]))  # the m separating sets
    # (m,): r of the separating test, or its p-value if the test has no r.
    value: Floats = field(default_factory=lambda: np.zeros(0))
    p: Floats = field(default_factory=lambda: np.zeros(0))  # (m,): the p-value of the separating test
    # {"possible-d-sep", "rfci"}: which tests these are: given subsets of Possible-D-SEP, or the tests of `rfci` on
    # triples and discriminating paths.
    stage: Stage = "possible-d-sep"
    n_tests: list[int] = field(default_factory=list)  # number of tests by the size of the set, from 0 on
    # list of p int32 arrays, or None: pcalg's ``allPdsep``, from 0; an empty array stands for NULL. None if
    # Possible-D-SEP was not computed.
    all_pdsep: list[Ints] | None = None
    n_edgetests_pdsep: list[int] = field(default_factory=lambda: [0])
    # pcalg's ``n.edgetestsPDSEP`` and ``max.ordPDSEP``; with ``quirks`` without the tests that pcalg fails to count.
    max_ord_pdsep: int = 0
    # (x int32 (k,), y int32 (k,), p float64 (k,)), or UnfinishedP: cells [x, y] of pMax that these tests may raise, and
    # the largest p-value of the tests; see `largest_p`.
    raised: Raised | UnfinishedP = field(default_factory=lambda: (*np.zeros((2, 0), dtype=np.int32), np.zeros(0)))
    # (k, 2): pairs whose sets were not all tested, since there were too many.
    open_pairs: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))

    def __len__(self) -> int:
        return len(self.x)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LaterTests):
            return NotImplemented
        cells = zip((*self.cells(), self.open_pairs), (*other.cells(), other.open_pairs), strict=True)
        same = all(np.array_equal(a, b) for a, b in cells)
        return same and (self.stage, self.n_tests) == (other.stage, other.n_tests)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        self.largest_p()
        return self.__dict__

    def largest_p(self) -> Raised:
        """`raised`, computed at the first call if it is not known."""
        if not isinstance(self.raised, tuple):
            self.raised = self.raised()
        return self.raised

    def find(self, x: int, y: int) -> int | None:
        """Number of the removal of the unordered pair."""
        at = np.flatnonzero((self.x == x) & (self.y == y) | (self.x == y) & (self.y == x))
        return int(at[0]) if len(at) else None

    def cells(self) -> FlatCells:
        """The pairs and their sets, in their order."""
        return FlatCells(self.x, self.y, self.S.sizes.astype(np.int32), self.S.members)

    def both_cells(self) -> FlatCells:
        """The cells that pcalg writes: both orders of each pair."""
        x, y, length, members = self.cells()
        return FlatCells(np.append(x, y), np.append(y, x), np.append(length, length), np.append(members, members))


@dataclass(frozen=True, eq=False)
class LaterPValues(PValues):
    """The p-values of a skeleton, some of which `later` tests have raised; `skeleton` is left after the levels."""

    of_levels: PValues
    skeleton: SparseGraph
    later: LaterTests

    def of_edges(self, graph: SparseGraph) -> Floats:
        out = self.of_levels.of_edges(self.skeleton)[self.skeleton.edge_number(graph.low, graph.high)]
        x, y, p = self.later.largest_p()
        edge = graph.edge_number(x, y)
        np.maximum.at(out, edge[edge >= 0], p[edge >= 0])
        return out

    def dense(self, out: Floats | None = None) -> Floats:
        x, y, p = self.later.largest_p()
        if out is None:
            dense = self.of_levels.dense()
            dense = dense.copy() if len(x) else dense
        else:  # symmetric before some cells are raised, so that either order of the cells will do
            dense = out
            self.of_levels.dense(out if out.flags.c_contiguous else out.T)
        if len(x):
            np.maximum.at(dense, (x, y), p)
        return dense

    def at(self, x: int, y: int) -> float:
        if (k := self.later.find(x, y)) is not None:
            return float(self.later.p[k])
        edge = int(self.skeleton.edge_number(x, y))
        return self.of_levels.at(x, y) if edge < 0 else float(self.of_edges(self.skeleton)[edge])

    @property
    def complete(self) -> bool:
        return self.of_levels.complete

    @property
    def deferred(self) -> bool:
        return self.of_levels.deferred or not isinstance(self.later.raised, tuple)

    def settle_for_tests_made(self) -> None:
        self.of_levels.settle_for_tests_made()
        if not isinstance(self.later.raised, tuple):
            self.later.raised = self.later.raised.met()

    def correlations(self, x: ArrayLike, y: ArrayLike) -> Floats | None:
        return self.of_levels.correlations(x, y)
