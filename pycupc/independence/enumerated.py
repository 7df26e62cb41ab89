"""A test without bounds: an engine makes it given one set after the other, of many pairs at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from pycupc.independence.base import Floats, IndependenceTest, Indices, Mask, State
from pycupc.independence.p_values import PValues, RecordedPValues
from pycupc.independence.tested_p_values import TestedPValues

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import Ints, SparseGraph


class EnumeratedTest(IndependenceTest):
    """A test of which only p-values are known, that is made of many pairs at a time."""

    cost: float = 10.0  # the time of a test, in times of a Gaussian test: about 20 ns
    symmetric: bool = True  # whether the tests of (x, y) and (y, x) have the same p-value
    # The most tests that `single_tests` is given at a time; 0: the engine chooses, and threads may call it together.
    at_once: int = 0

    @abstractmethod
    def single_tests(self, x: Indices, y: Indices, S: Indices) -> tuple[Mask, Floats]:
        """Whether x[i] and y[i] are independent given S[i], and the p-values, NaN where undefined; S int64 (m, l).

        Where p is NaN, `na_p` decides.
        """

    def decided(self, p: Floats) -> Mask:
        """Whether these p-values mean independence."""
        return np.where(np.isnan(p), self.na_p, p) >= self.alpha

    def unconditional(self, x: Ints, y: Ints) -> Floats:
        """pcalg's pMax of pairs x < y that level 0 removed."""
        none = np.empty((len(x), 0), dtype=np.int64)
        return np.nan_to_num(self.single_tests(x.astype(np.int64), y.astype(np.int64), none)[1], nan=self.na_p)

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        if state.p_max is not None:
            return RecordedPValues(state.p_max)
        return TestedPValues(graph, removals, sepset.gaps(), -state.z, self.unconditional)
