"""The rows of the resamples: what each scheme promises."""

import math

import numpy as np
import pytest

from pycupc.stability.rows import Resampling

SCHEMES = ("bootstrap", "subsample", "complementary")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n", [11, 40])
def test_schemes(scheme, n):
    """What each scheme promises of the rows, and that they are a function of seed and index only."""
    resampling = Resampling(n, scheme, 0.5, 5)
    rows = [resampling.indices(i) for i in range(6)]
    for i, drawn in enumerate(rows):
        assert len(drawn) == (n if scheme == "bootstrap" else n // 2)
        assert (np.diff(drawn) >= (scheme != "bootstrap")).all()
        assert drawn[0] >= 0
        assert drawn[-1] < n
        assert np.array_equal(drawn, Resampling(n, scheme, 0.5, 5).indices(i))
        assert not np.array_equal(drawn, Resampling(n, scheme, 0.5, 6).indices(i))
    if scheme == "complementary":
        assert not set(rows[2]) & set(rows[3])
        assert set(rows[2]) & set(rows[4])
    spawned = [np.random.default_rng(seed) for seed in np.random.SeedSequence(5).spawn(6)]
    for i, drawn in enumerate(rows):
        if scheme == "bootstrap":
            expected = spawned[i].integers(n, size=n)
        elif scheme == "subsample":
            expected = spawned[i].permutation(n)[: n // 2]
        elif i % 2 == 0:  # of an odd number of rows, the last in the order drawn is in neither half
            shuffled = spawned[i // 2].permutation(n)
            expected = shuffled[: n // 2]
        else:
            expected = shuffled[n // 2 : 2 * (n // 2)]
        np.testing.assert_array_equal(drawn, np.sort(expected))


def test_rows_are_drawn_evenly():
    """Every row is as likely as any other, in every scheme."""
    for scheme in SCHEMES:
        resampling = Resampling(20, scheme, 0.5, 0)
        times = np.bincount(np.concatenate([resampling.indices(i) for i in range(2000)]), minlength=20)
        mean = times.mean()
        assert abs(times - mean).max() < 5 * math.sqrt(mean)
