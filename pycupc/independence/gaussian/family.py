"""The Gaussian test with its data: partial correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pycupc.independence.base import Floats, IndependenceTest, State, UnfinishedZ
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.p_values import PValues

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import SparseGraph


class GaussianTest(IndependenceTest):
    """Tests of partial correlations."""

    name = "gaussian"
    has_r = True

    def __init__(self, data: SuffStat, alpha: float) -> None:
        self.data, self.alpha = data, alpha
        self.p, self.n, self.labels, self.nbytes = data.p, data.n, data.labels, 8 * data.p**2

    def cutoff(self, level: int) -> float:
        return fisher_z.cutoff(self.alpha, self.data.n, level)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return gaussCItest(x, y, S, self.data)

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        largest = LargestP(state.z, state.unfinished) if state.largest_p is None else state.largest_p
        return GaussianPValues(graph, removals, sepset.gaps(), largest, self.data.n, self.data.correlations)


@dataclass(frozen=True)
class LargestP:
    """Computes the largest p-value of each edge when it is called."""

    z: Floats  # (m,): the smallest |z| of the tests of each edge; inf where there are none
    unfinished: UnfinishedZ | None  # takes the place of z if a bound spared tests

    @property
    def searches(self) -> bool:
        return self.unfinished is not None

    def __call__(self) -> Floats:
        return _largest_p(self.z if self.unfinished is None else self.unfinished())

    def met(self) -> Floats:
        return _largest_p(self.z if self.unfinished is None else self.unfinished.z)


def _largest_p(z: Floats) -> Floats:
    """Largest p-value of edges, from the smallest |z| of their tests; -inf where |z| is inf: no test was made."""
    return np.where(np.isinf(z), -np.inf, fisher_z.z_to_p(z))
