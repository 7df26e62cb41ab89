"""P-values of tests made set by set: recorded for conditional tests, computed again for the tests of level 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.independence.p_values import ComputedPValues, Floats, set_both

#: p-values of pairs x, y given nothing: (x int, y int) -> float64
Unconditional = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True, eq=False)
class TestedPValues(ComputedPValues):
    """P-values of tests that have no r.

    `graph`, `removals`, `gaps`: as in `ComputedPValues`; the `r` of a removal is the p-value of the separating test.
    `edge_p`, float64 (m,): the largest p-value of each edge; -inf if never tested. `unconditional`: computes the
    p-values of the other pairs, which were removed at level 0.
    """

    edge_p: Floats
    unconditional: Unconditional

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self._of(graph, self.edge_p)

    def dense(self, out: Floats | None = None) -> Floats:
        p = self.graph.p
        result = np.empty((p, p)) if out is None else out
        for i in range(p - 1):
            others = np.arange(i + 1, p, dtype=np.int32)
            p_values = self.unconditional(np.full(len(others), i, dtype=np.int32), others)
            result[i, i + 1 :] = result[i + 1 :, i] = p_values
        set_both(result, self.gaps[:, 0], self.gaps[:, 1], -math.inf)
        set_both(result, self.removals.x, self.removals.y, self.removals.r)
        set_both(result, self.graph.low, self.graph.high, self.edge_p)
        np.fill_diagonal(result, 1.0)
        return result

    def of_removal(self, k: int) -> float:
        return float(self.removals.r[k])

    def of_level0(self, x: int, y: int) -> float:
        return float(self.unconditional(np.array([x], np.int32), np.array([y], np.int32))[0])
