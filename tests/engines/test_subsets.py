"""Numbers and ranks of conditioning sets."""

import math

import numpy as np

from pycupc.engines import subsets


def test_large_numbers_of_sets_saturate_or_are_exact():
    table = subsets.binomial_table(100, 50)
    assert table[60, 30] == math.comb(60, 30)
    assert table[100, 50] == subsets.MAX_RANK
    assert (table >= 0).all()
    degrees = np.array([200, 200, 3])
    assert subsets.level_tests(degrees, degrees, 100) == 2 * 200 * math.comb(199, 100)
