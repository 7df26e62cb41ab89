"""The p-values of a Gaussian result, computed from its correlations and removals when somebody asks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pycupc.graph.questions import LargestP
from pycupc.graph.removals import WITH_DATA
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.base import UnfinishedZ
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.p_values import ComputedPValues, Floats
from pycupc.system.machine import available_cores, run_in_threads

#: Up to this many variables, computing p-values one by one is faster than loading compiled code.
FEW = 400


@dataclass(frozen=True)
class LargestOfZ:
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

    `graph`, `removals`, `gaps`: as in `ComputedPValues`. `edge_p`, float64 (m,), or what gives it when it is called, on
    first access: the largest p-value of each edge; -inf if never tested. `n`: number of observations. `known`: they
    decided the pairs removed at level 0. Without them, only the p-values of the edges and of pairs removed at later
    levels are known.
    """

    edge_p: Floats | LargestOfZ | LargestP
    n: float
    known: Correlations | None = None

    @property
    def C(self) -> Floats | None:
        """The correlations, float64 (p, p), where they are known; computed on first access."""
        return None if self.known is None else self.known.dense()

    @cached_property
    def edges(self) -> Floats:
        """The largest p-value of each edge, float64 (m,)."""
        return self.edge_p if isinstance(self.edge_p, np.ndarray) else self.edge_p()

    @property
    def complete(self) -> bool:
        return self.known is not None and self.removals.r_known

    @property
    def deferred(self) -> bool:
        return not isinstance(self.edge_p, np.ndarray) and self.edge_p.unfinished is not None

    def settle_for_tests_made(self) -> None:
        if not isinstance(self.edge_p, np.ndarray):
            self.__dict__["edges"] = self.edge_p.met()

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self._of(graph, self.edges)

    def _put_level0(self, out: Floats) -> None:
        if (C := self.C) is None:
            raise ValueError(f"this result was made without its correlations; {WITH_DATA}")
        if len(C) <= FEW:
            x, y = np.triu_indices(len(C), 1)
            out[x, y] = out[y, x] = fisher_z.p_value(C[x, y], self.n, 0)
            return
        from pycupc.independence.gaussian.compiled_p_values import BAND, fill_rows  # loads Numba

        root = math.sqrt(max(self.n - 3.0, 0.0))
        run_in_threads(lambda low: fill_rows(C, root, low, out), range(0, len(C), BAND), available_cores())

    def _of_removals(self) -> Floats:
        return fisher_z.p_value(self.removals.r, self.n, self.removals.level)

    def of_removal(self, k: int) -> float:
        r = self.removals.r_at(k)
        return math.nan if r is None else float(fisher_z.p_value(r, self.n, int(self.removals.level[k])))

    def of_level0(self, x: int, y: int) -> float:
        return math.nan if self.known is None else float(fisher_z.p_value(self.known.pairs([x], [y])[0], self.n, 0))

    def correlations(self, x: ArrayLike, y: ArrayLike) -> Floats | None:
        return None if self.known is None else self.known.pairs(x, y)
