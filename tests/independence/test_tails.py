"""The pooling of imputations in compiled code: bit for bit that of `reference_tests`, by SciPy's own tails."""

import numpy as np
import pytest
from numba import njit
from scipy.special import cython_special

from pycupc.independence.missing import imputed_tests
from pycupc.independence.missing.reference_tests import pooled_g2, pooled_z, upper_tail_of_f
from pycupc.independence.tails import tail_addresses
from pycupc.independence.tails import upper_tail_of_f as tail
from pycupc.system.foreign_code import address_of

ADDRESSES = tail_addresses()
RNG = np.random.default_rng(0)


@njit
def tails(addresses, value, k, df):
    return np.array([tail(addresses, value[i], k[i], df[i]) for i in range(len(value))])


@njit
def of_z(z, n, size, addresses):
    return np.array([imputed_tests._pooled_z(z[i].copy(), n, size, addresses) for i in range(len(z))])


@njit(error_model="numpy")
def of_g2(full, mean, k, M, addresses):
    return np.array([imputed_tests._pooled_g2(full[i], mean[i], k[i], M, addresses) for i in range(len(k))])


def test_the_tail_of_f_has_the_bits_of_scipy():
    value = np.concatenate([RNG.exponential(4, 300), [0.0, -1.0, np.nan, np.inf, 1e300]])
    for df in (0.5, 3.0, 77.7, 1e6, 1e12, 2e12, np.inf, np.nan, 0.0):
        for k in (1.0, 4.0, 300.0, 0.0):
            wide = np.full(len(value), k), np.full(len(value), df)
            with np.errstate(all="ignore"):
                want = upper_tail_of_f(value, *wide)
            np.testing.assert_array_equal(tails(ADDRESSES, value, *wide), want)


@pytest.mark.parametrize("M", [2, 3, 5, 7, 8, 9, 16, 20, 50, 127, 128])
def test_pooling_has_the_bits_of_numpy(M):
    z = RNG.normal(0.1, 0.1, (200, 1)) + RNG.normal(0, RNG.choice([0.0, 1e-9, 0.1], (200, 1)), (200, M))
    for n, size in ((50.0, 2), (60.5, 0), (5.0, 2), (4.0, 2)):
        np.testing.assert_array_equal(of_z(z, n, size, ADDRESSES), pooled_z(z, n, size))
    k = RNG.integers(0, 30, 200).astype(float)
    mean = RNG.exponential(k + 1)
    for full in (mean * RNG.uniform(1, 2, 200), mean, np.zeros(200)):
        np.testing.assert_array_equal(of_g2(full, mean, k, M, ADDRESSES), pooled_g2(full, mean, k, M))


def test_an_unknown_function_is_an_error():
    with pytest.raises(LookupError, match="no function fdtrc float [(]int"):
        address_of(cython_special, "fdtrc", "float (int")
