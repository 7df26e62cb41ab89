"""The p-values of a Gaussian result."""

import sys

import numpy as np
import pytest

from pycupc.graph.removals import Removals
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.p_values import GaussianPValues


@pytest.mark.parametrize(("p", "ulps"), [(20, 2000), (450, 0 if sys.version_info >= (3, 11) else 4)])
def test_the_p_values_of_all_pairs_are_those_of_the_tests(p, ulps):
    """Also of NaN, of correlations beyond the clip, and without degrees of freedom; of few variables by NumPy."""
    rng, n = np.random.default_rng(1), 7.5
    C = np.triu(rng.uniform(-1, 1, (p, p)), 1)
    C[0, :4] = np.nan, -np.nan, -1.0, 1.0
    C = C + C.T
    graph, none = SparseGraph.from_dense(np.zeros((p, p), dtype=np.int8)), np.zeros((0, 2), dtype=np.int32)
    found = GaussianPValues(graph, Removals(), none, np.zeros(0), n, Correlations(C)).dense()
    want, off = np.vectorize(fisher_z.p_value_of)(C, n - 3), ~np.eye(p, dtype=bool)
    np.testing.assert_array_max_ulp(found[off], want[off], ulps)
