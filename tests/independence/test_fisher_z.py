"""Fisher's z: cutoffs, p-values, the single test."""

import math
import sys

import numpy as np
import pytest

import pycupc
from pycupc.graph.removals import Removals
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian import fisher_z, tolerances
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.p_values import GaussianPValues


@pytest.mark.parametrize("n", [9, 47, 1000, 10**6])
@pytest.mark.parametrize("alpha", [1e-300, 1e-8, 0.01, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("level", [0, 1, 4])
def test_cutoff_is_where_p_crosses_alpha(n, alpha, level):
    cut = fisher_z.cutoff(alpha, n, level)
    df = n - level - 3
    if math.isinf(cut):
        assert fisher_z.p_value_of(tolerances.R_MAX, df) >= alpha
        return
    assert fisher_z.p_value_of(cut, df) >= alpha > fisher_z.p_value_of(math.nextafter(cut, 1), df)


def test_a_p_value_does_not_depend_on_how_many_are_computed():
    z = np.abs(np.random.default_rng(0).normal(0, 4, (350, 300)))
    compiled, one_by_one = fisher_z.z_to_p(z), np.concatenate([fisher_z.z_to_p(rows) for rows in np.vsplit(z, 2)])
    np.testing.assert_array_max_ulp(compiled, one_by_one, 0 if sys.version_info >= (3, 11) else 4)
    np.testing.assert_array_equal(fisher_z.z_to_p(z.T), compiled.T)
    assert fisher_z.z_to_p(np.zeros((0, 3))).shape == (0, 3)


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


def test_cutoff_without_degrees_of_freedom_calls_everything_independent():
    assert fisher_z.cutoff(0.05, 5, 2) == fisher_z.cutoff(0.05, 4, 2) == fisher_z.cutoff(0.0, 1000, 0) == math.inf


def test_gauss_ci_test_by_hand():
    C = np.array([[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]])
    r = (0.5 - 0.3 * 0.4) / math.sqrt((1 - 0.3**2) * (1 - 0.4**2))
    p = math.erfc(math.sqrt(50 - 4) * math.atanh(r) / math.sqrt(2))
    assert pycupc.gaussCItest(0, 1, [2], {"C": C, "n": 50}) == pytest.approx(p, rel=1e-12)
    assert pycupc.gaussCItest(0, 1, [2], pycupc.SuffStat(C, 50)) == pytest.approx(p, rel=1e-12)
