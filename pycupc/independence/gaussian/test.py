"""The Gaussian test with its data: partial correlations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from pycupc.independence.base import IndependenceTest, State
from pycupc.independence.gaussian.fisher_z import cutoff
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.p_values import GaussianPValues, LargestOfZ
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.p_values import PValues, UntestedPairs, too_few_for_fisher_z

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import SparseGraph


def warn_of_few(n: float, stacklevel: int) -> None:
    """Warn if no test of n observations has more than 0 degrees of freedom."""
    if n <= 3:
        text = f"no test of fewer than 4 observations finds a dependence, got n = {n:g}"
        warnings.warn(text, stacklevel=stacklevel)


class GaussianTest(IndependenceTest):
    """Tests of partial correlations."""

    name = "gaussian"
    engines = ("cpu", "gpu", "cupc-e", "cupc-s", "reference")
    has_r = True

    def __init__(self, data: SuffStat, alpha: float) -> None:
        self.data, self.alpha = data, alpha
        if not data.quiet:
            warn_of_few(data.n, stacklevel=8)
        self.p, self.n, self.labels, self.nbytes = data.p, data.n, data.labels, 8 * data.p**2

    def cutoff(self, level: int) -> float:
        return cutoff(self.alpha, self.data.n, level)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return gaussCItest(x, y, S, self.data)

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        largest = LargestOfZ(state.z, state.unfinished) if state.largest_p is None else state.largest_p
        return GaussianPValues(graph, removals, sepset.gaps(), largest, self.data.n, self.data.correlations)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(too_few_for_fisher_z, self.data.n, sepset)


def compares_r(test: IndependenceTest) -> TypeGuard[GaussianTest]:
    """Whether a test compares partial correlations with a cutoff, for which the engines have walks of their own."""
    return test.has_r
