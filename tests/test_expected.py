"""Real and synthetic data of realistic size: the cpu engine gives the known skeletons, counts and separating sets.

The correlations are NumPy's of the file as pandas reads it. In mcc five pairs of columns are identical, so rounding in
the correlations themselves decides some of its tests: another recipe gives another, equally valid, answer there.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest
from conftest import Case

import pycupc

SETS = [
    "nci60_alpha0.01",
    "nci60_alpha0.05",
    "mcc_alpha0.01",
    "mcc_alpha0.05",
    "tcga_brca_jive_alpha0.01",
    "tcga_brca_jive_alpha0.05",
    "saureus_alpha0.01",
    "saureus_alpha0.05",
    "riboflavin_alpha0.01",
    "stock_logret_alpha0.01",
    "std_1000_20_1000_alpha0.05",
    pytest.param("std_1000_100_2000_alpha0.05", marks=pytest.mark.slow),
]


def load(shared, name: str) -> pycupc.SuffStat:
    """Correlations of a set of the shared folder."""
    if name.startswith("std_"):
        spec = importlib.util.spec_from_file_location("synthetic", shared / "tools" / "synthetic.py")
        synthetic = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(synthetic)
        p, degree, n = (int(part) for part in name.split("_")[1:])
        return pycupc.SuffStat.from_data(synthetic.standardised(p, degree, n, seed=0))
    return pycupc.SuffStat.from_data(pd.read_csv(shared / "data" / f"{name}.csv.gz"))


@pytest.mark.parametrize("key", SETS)
def test_cpu_engine_is_exact(shared, key):
    name, alpha = key.rsplit("_alpha", 1)
    want = Case(shared / "data" / "expected" / f"{key}.npz")
    fit = pycupc.skeleton(load(shared, name), alpha=float(alpha), engine="cpu")
    p = fit.p
    skeleton = np.unpackbits(want.skeleton_packed)[: p * p].reshape(p, p).astype(bool)
    np.testing.assert_array_equal(fit.skeleton, skeleton)
    assert fit.n_edgetests == want.n_edgetests.tolist()
    assert fit.max_ord == want.max_ord
    x, y, length, members = fit.sepset.flat()
    later = want.sepset_len > 0  # the sets of level 0 are implied
    np.testing.assert_array_equal(x, want.sepset_x[later])
    np.testing.assert_array_equal(y, want.sepset_y[later])
    np.testing.assert_array_equal(length, want.sepset_len[later])
    np.testing.assert_array_equal(members, want.sepset_members)


def test_nci60_has_the_edges_of_pcalg(shared):
    fit = pycupc.skeleton(load(shared, "nci60"), alpha=0.05, engine="cpu")
    recorded = np.loadtxt(shared / "data" / "nci60_pcalg261_skeleton_alpha0.05.txt", dtype=int)
    want = {(min(pair), max(pair)) for pair in recorded.tolist()}
    assert {(x, y) for x, y in np.argwhere(np.triu(fit.skeleton)).tolist()} == want
