"""Factors of kernels: dense and of low rank."""

import numpy as np
from kernel_cases import made, smooth

from pycupc.independence.kernel import factors

X = smooth(np.random.default_rng(4), 150)


def test_dense_sets_and_sets_of_low_rank_agree(monkeypatch):
    keys = [(0, 1, (2, 3)), (1, 4, (0, 2, 3))]
    expected = made(X, keys)
    for dense, large in ((0.0, 1), (2.0, 9)):
        monkeypatch.setattr(factors, "DENSE", dense)
        monkeypatch.setattr(factors, "LARGE", large)
        np.testing.assert_allclose(made(X, keys), expected, atol=1e-9)
