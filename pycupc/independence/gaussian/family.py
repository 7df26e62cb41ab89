"""The Gaussian test with its data: partial correlations, of one number of observations or of a number for each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pycupc.data.names import names_for
from pycupc.independence.base import Floats, IndependenceTest, Indices, State
from pycupc.independence.enumerated import EnumeratedTest
from pycupc.independence.gaussian.fisher_z import cutoff, p_value_of
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest, partial_correlation
from pycupc.independence.gaussian.measures import RULES
from pycupc.independence.gaussian.p_values import GaussianPValues, LargestP
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat
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
        return cutoff(self.alpha, self.data.n, level)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return gaussCItest(x, y, S, self.data)

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        largest = LargestP(state.z, state.unfinished) if state.largest_p is None else state.largest_p
        return GaussianPValues(graph, removals, sepset.gaps(), largest, self.data.n, self.data.correlations)


class LocalGaussianTest(EnumeratedTest):
    """Tests of partial correlations whose n - l - 3 has the n of the pairs among x, y and S: `SuffStat.pair_n`."""

    name = "pairwise"

    def __init__(self, data: SuffStat, alpha: float) -> None:
        super().__init__(data, alpha)
        data.check(MatrixFacts.of(data.C), names_for(data.labels, data.p))

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        from pycupc.independence.gaussian.partial_correlation import p_values_of_tests  # loads Numba

        assert self.data.pair_n is not None
        matrix, rule = self.data.pair_n
        return p_values_of_tests(self.data.C, matrix, RULES.index(rule), x, y, S)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        assert self.data.pair_n is not None
        n = self.data.pair_n.of_test(x, y, S)
        return p_value_of(partial_correlation(self.data.C, x, y, sorted(S)), n - len(S) - 3)
