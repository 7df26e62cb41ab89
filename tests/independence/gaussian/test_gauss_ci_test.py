"""`gaussCItest`, a single test."""

import math

import numpy as np
import pytest

import pycupc


def test_gauss_ci_test_by_hand():
    C = np.array([[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]])
    r = (0.5 - 0.3 * 0.4) / math.sqrt((1 - 0.3**2) * (1 - 0.4**2))
    p = math.erfc(math.sqrt(50 - 4) * math.atanh(r) / math.sqrt(2))
    assert pycupc.gaussCItest(0, 1, [2], {"C": C, "n": 50}) == pytest.approx(p, rel=1e-12)
    assert pycupc.gaussCItest(0, 1, [2], pycupc.SuffStat(C, 50)) == pytest.approx(p, rel=1e-12)
