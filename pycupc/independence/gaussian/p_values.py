"""The p-values of a Gaussian result, computed from its correlations and removals when somebody asks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pycupc.graph.removals import WITH_DATA
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.base import UnfinishedZ
from pycupc.independence.gaussian import fisher_z, p_matrix
from pycupc.independence.gaussian.correlations import Correlations
from pycupc.independence.p_values import ComputedPValues, Filling, Floats, set_both
from pycupc.system.machine import check_room


@dataclass(frozen=True)
class LargestP:
    """The largest p-value of each edge, from the smallest |z| of its tests: -inf where |z| is inf, without any test."""

    z: Floats  # (m,): the smallest |z| of the tests of each edge
    unfinished: UnfinishedZ | None  # takes the place of z if a bound spared tests

    def __call__(self) -> Floats:
        return self._of(self.z if self.unfinished is None else self.unfinished())

    def met(self) -> Floats:
        """As a call, but of the tests made, without searching for the largest of all tests."""
        return self._of(self.z if self.unfinished is None else self.unfinished.z)

    def _of(self, z: Floats) -> Floats:
        return np.where(np.isinf(z), -np.inf, fisher_z.z_to_p(z))


@dataclass(frozen=True, eq=False)
class GaussianPValues(ComputedPValues):
    """P-values of Gaussian tests, computed from the correlations on demand.

    `graph`, `removals`, `gaps`: as in `ComputedPValues`. `edge_p`, float64 (m,), or LargestP: the largest p-value of
    each edge; -inf if never tested. A `LargestP` is called on first access. `n`: number of observations. `known`: they
    decided the pairs removed at level 0. Without them, only the p-values of the edges and of pairs removed at later
    levels are known.
    """

    edge_p: Floats | LargestP
    n: float
    known: Correlations | None = None

    @property
    def C(self) -> Floats | None:
        """The correlations, float64 (p, p), where they are known; computed on first access."""
        return None if self.known is None else self.known.dense()

    @cached_property
    def edges(self) -> Floats:
        """The largest p-value of each edge, float64 (m,)."""
        return self.edge_p() if isinstance(self.edge_p, LargestP) else self.edge_p

    @property
    def complete(self) -> bool:
        return self.known is not None and self.removals.r_known

    @property
    def deferred(self) -> bool:
        return isinstance(self.edge_p, LargestP) and self.edge_p.unfinished is not None

    def settle_for_tests_made(self) -> None:
        if isinstance(self.edge_p, LargestP):
            self.__dict__["edges"] = self.edge_p.met()

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self._of(graph, self.edges)

    def dense(self, out: Floats | None = None) -> Floats:
        if out is None:
            check_room(self.graph.p, 8, "the p-values of all pairs")
        result = np.empty((self.graph.p, self.graph.p)) if out is None else out
        self.fill(result).finish()
        return result

    def fill(self, out: Floats) -> Filling:
        if self.C is None:
            raise ValueError(f"this result was made without its correlations; {WITH_DATA}")

        def put_others() -> None:
            set_both(out, self.gaps[:, 0], self.gaps[:, 1], -math.inf)
            set_both(out, self.graph.low, self.graph.high, self.edges)
            np.fill_diagonal(out, 1.0)

        return p_matrix.begin(out, self.C, self.n, self.removals.parts(), put_others)

    def of_removal(self, k: int) -> float:
        r = self.removals.r_at(k)
        return math.nan if r is None else float(fisher_z.p_value(r, self.n, int(self.removals.level[k])))

    def of_level0(self, x: int, y: int) -> float:
        return math.nan if self.known is None else float(fisher_z.p_value(self.known.block([x], [y])[0, 0], self.n, 0))

    def correlations(self, x: ArrayLike, y: ArrayLike) -> Floats | None:
        return None if self.known is None else self.known.pairs(np.asarray(x), np.asarray(y))
