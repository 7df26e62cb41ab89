"""P-values of discrete data: recorded where a test was more than a table of two variables, counted again where not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pycupc.results.evidence import Floats, PValues, Removals
from pycupc.sparse_graph import Ints, SparseGraph

#: p-values of pairs x, y given nothing: (x int, y int) -> float64
Unconditional = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True, eq=False)
class DiscretePValues(PValues):
    """P-values of G^2 tests.

    Attributes
    ----------
    graph : SparseGraph
        The edges that are left.
    edge_p : float64 (m,)
        The largest p-value of each of them; -inf where never tested.
    removals : Removals
        The edges removed at levels from 1 on; their `r` is the p-value of the separating test.
    gaps : int32 (k, 2)
        Pairs that were never tested (fixedGaps).
    unconditional : callable
        The p-values of the others, which were removed at level 0.
    """

    graph: SparseGraph
    edge_p: Floats
    removals: Removals
    gaps: Ints
    unconditional: Unconditional

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self.edge_p

    def dense(self, out: Floats | None = None) -> Floats:
        p = self.graph.p
        result = np.empty((p, p)) if out is None else out
        for i in range(p - 1):
            others = np.arange(i + 1, p, dtype=np.int32)
            p_values = self.unconditional(np.full(len(others), i, dtype=np.int32), others)
            result[i, i + 1 :] = result[i + 1 :, i] = p_values
        gone = self.removals
        for x, y, values in (
            (self.gaps[:, 0], self.gaps[:, 1], -math.inf),
            (gone.x, gone.y, gone.r),
            (self.graph.low, self.graph.high, self.edge_p),
        ):
            result[x, y] = result[y, x] = values
        np.fill_diagonal(result, 1.0)
        return result

    def at(self, x: int, y: int) -> float:
        if x == y:
            return 1.0
        edge = int(self.graph.edge_number(x, y))
        if edge >= 0:
            return float(self.edge_p[edge])
        found = self.removals.find(x, y)
        if found is not None:
            return float(self.removals.r[found])
        if (self.gaps == (min(x, y), max(x, y))).all(axis=1).any():
            return -math.inf
        return float(self.unconditional(np.array([min(x, y)], np.int32), np.array([max(x, y)], np.int32))[0])
