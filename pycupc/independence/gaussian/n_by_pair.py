"""The Gaussian test with its data, with a number of observations for each pair of variables."""

from __future__ import annotations

from collections.abc import Sequence

from pycupc.data.names import names_for
from pycupc.independence.base import Floats, Indices
from pycupc.independence.enumerated import EnumeratedTest
from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.gauss_ci_test import partial_correlation
from pycupc.independence.gaussian.measures import RULES
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat


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
