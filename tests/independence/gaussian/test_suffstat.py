"""The sufficient statistic of the Gaussian test."""

import numpy as np
from common import refused

from pycupc import SuffStat, pc


def test_numbers_of_observations_and_infinite_correlations():
    assert SuffStat(np.eye(3), 2**70).n == 2**70
    refused("'C' and 'n'; missing: n", pc, {"C": np.eye(3), "n": None})
    C = np.eye(3)
    C[0, 1] = C[1, 0] = np.inf
    for engine in ("cpu", "reference"):
        refused(r"correlations in \[-1, 1\], but C\[0, 1\] = inf", pc, {"C": C, "n": 50}, engine=engine)
