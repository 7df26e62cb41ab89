"""A test without bounds: an engine makes it given one set after the other, of many pairs at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.independence.base import GAUSSIAN_SECONDS, OWN_SECONDS, Floats, IndependenceTest, Indices, Mask, State
from pycupc.independence.p_values import ComputedPValues, PValues, RecordedPValues

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.independence.deciding import Walked


class SetwiseTest(IndependenceTest):
    """A test of which only p-values are known, that is made of many pairs at a time."""

    engine = "cpu"
    cost: float = 10.0  # the time of a test, in times of a Gaussian test: about 20 ns
    symmetric: bool = True  # whether the tests of (x, y) and (y, x) have the same p-value
    # The most tests that `single_tests` is given at a time; 0: the engine chooses, and threads may call it together.
    at_once: int = 0
    # Threads that `single_tests` may use where it is given `at_once` tests; 0: all cores. The engine says so.
    threads: int = 0
    # Tests of a round, about, where they share their work or are made at the same time: half of it, at least.
    together: int = 1

    def __init__(self, data: Any, alpha: float, *, NAdelete: bool = True) -> None:
        """`data`: with `p`, `n` and `labels`. `NAdelete`: a NaN p-value counts as 1 if True, else as 0."""
        self.data, self.alpha, self.na_p = data, float(alpha), float(NAdelete)
        self.p, self.n, self.labels = data.p, data.n, data.labels

    @property
    def seconds(self) -> float:
        return OWN_SECONDS if self.at_once else GAUSSIAN_SECONDS * max(self.cost, 1.0)

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        """The p-values of x[i] and y[i] given S[i], NaN where undefined; S int64 (m, l). For `single_tests` only."""
        raise NotImplementedError

    def single_tests(self, x: Indices, y: Indices, S: Indices) -> tuple[Mask, Floats]:
        """Whether x[i] and y[i] are independent given S[i], and the p-values; where p is NaN, `na_p` decides."""
        p = self.p_of_tests(x, y, S)
        return self.decided(p), p

    def walked(self, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked | None:
        """How compiled code makes the tests of x[i] and y[i] given sets of `size` candidates.

        None if only `single_tests` makes them. `candidates`, int array: of all pairs, one list after the other.
        """
        return None

    def decided(self, p: Floats) -> Mask:
        """Whether these p-values mean independence."""
        return ~(p < self.alpha) if self.na_p >= self.alpha else p >= self.alpha

    def unconditional(self, x: Ints, y: Ints) -> Floats:
        """pcalg's pMax of pairs x < y that level 0 removed."""
        none = np.empty((len(x), 0), dtype=np.int64)
        return np.nan_to_num(self.single_tests(x.astype(np.int64), y.astype(np.int64), none)[1], nan=self.na_p)

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        if state.p_max is not None:
            return RecordedPValues(state.p_max)
        return TestedPValues(graph, removals, sepset.gaps(), -state.z, self)


@dataclass(frozen=True, eq=False)
class TestedPValues(ComputedPValues):
    """P-values of tests that have no r.

    `graph`, `removals`, `gaps`: as in `ComputedPValues`; the `r` of a removal is the p-value of the separating test.
    `edge_p`, float64 (m,): the largest p-value of each edge; -inf if never tested. `test`: computes the p-values of the
    other pairs, which were removed at level 0.
    """

    edge_p: Floats
    test: SetwiseTest

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self._of(graph, self.edge_p)

    def _put_level0(self, out: Floats) -> None:
        wanted = np.triu(np.ones(out.shape, dtype=np.bool_), 1)
        wanted[self.gaps[:, 0], self.gaps[:, 1]] = False
        for i in range(len(out) - 1):
            others = np.flatnonzero(wanted[i]).astype(np.int32)
            out[i, others] = out[others, i] = self.test.unconditional(np.full_like(others, i), others)

    def _of_removals(self) -> Floats:
        return self.removals.r

    def of_removal(self, k: int) -> float:
        return float(self.removals.r[k])

    def of_level0(self, x: int, y: int) -> float:
        return float(self.test.unconditional(np.array([x], np.int32), np.array([y], np.int32))[0])
