"""Fisher's z: cutoffs and p-values."""

import math
import sys

import numpy as np
import pytest

from pycupc.independence.gaussian import fisher_z, tolerances


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


def test_cutoff_without_degrees_of_freedom_calls_everything_independent():
    assert fisher_z.cutoff(0.05, 5, 2) == fisher_z.cutoff(0.05, 4, 2) == fisher_z.cutoff(0.0, 1000, 0) == math.inf
