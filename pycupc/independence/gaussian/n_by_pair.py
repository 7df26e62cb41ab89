"""The Gaussian test with its data, with a number of observations for each pair of variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pycupc.data.names import names_for
from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.gauss_ci_test import partial_correlation
from pycupc.independence.gaussian.measures import RULES
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat
from pycupc.independence.p_values import PValues, UntestedPairs, too_few
from pycupc.independence.setwise import SetwiseTest

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import Ints
    from pycupc.independence.deciding import Walked


class LocalGaussianTest(SetwiseTest):
    """Tests of partial correlations whose n - l - 3 has the n of the pairs among x, y and S: `SuffStat.pair_n`."""

    name = "pairwise"

    def __init__(self, data: SuffStat, alpha: float) -> None:
        super().__init__(data, alpha)
        data.check(MatrixFacts.of(data.C), names_for(data.labels, data.p))

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        from pycupc.independence.gaussian.pairwise_tests import p_values_of_tests  # loads Numba

        assert self.data.pair_n is not None
        matrix, rule = self.data.pair_n
        return p_values_of_tests(self.data.C, matrix, RULES.index(rule), x, y, S)

    def walked(self, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked:
        from pycupc.independence.gaussian.pairwise_tests import Pairwise, walked  # loads Numba
        from pycupc.system.jit import frozen

        assert self.data.pair_n is not None
        matrix, rule = self.data.pair_n
        return walked(Pairwise(frozen(self.data.C), frozen(matrix), RULES.index(rule), self.alpha), size)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        n = self._n_of_test(x, y, S)
        return p_value_of(partial_correlation(self.data.C, x, y, sorted(S)), n - len(S) - 3)

    def _n_of_test(self, x: int, y: int, S: Sequence[int]) -> float:
        assert self.data.pair_n is not None
        return float(self.data.pair_n.of_test(x, y, S))

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset)

    def _untested(self, sepset: SepSets) -> UntestedPairs:
        """The removed pairs that their number of observations leaves no degrees of freedom."""
        assert self.data.pair_n is not None
        matrix = self.data.pair_n.matrix
        least = matrix[~np.eye(len(matrix), dtype=np.bool_)].min()

        def counted(x: Indices, y: Indices, S: Indices) -> Floats:
            if S.shape[1] == 0:
                return np.asarray(matrix[x, y])
            tests = zip(x.tolist(), y.tolist(), S.tolist(), strict=True)
            return np.array([self._n_of_test(*test) for test in tests])

        return too_few(sepset.of_every_size(lambda level: least <= level + 3), counted, lambda level: level + 4)
