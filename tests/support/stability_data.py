"""Small data for the tests of `pycupc.stability`."""

from typing import Any

import numpy as np
import pandas as pd

from pycupc.discrete import DiscreteSuffStat


def gaussian(n: int = 120, p: int = 10, seed: int = 1) -> pd.DataFrame:
    """Observations of a random linear model; every variable depends on up to two earlier ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        for parent in rng.choice(j, size=min(j, 2), replace=False):
            X[:, j] += rng.uniform(0.4, 0.9) * X[:, parent]
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(p)])


def discrete(n: int = 200, p: int = 6, seed: int = 2) -> DiscreteSuffStat:
    """Codes of a chain with 2 or 3 levels; the last level of the last variable occurs in two rows only."""
    rng = np.random.default_rng(seed)
    nlev = [2 + j % 2 for j in range(p)]
    codes = np.zeros((n, p), dtype=int)
    for j in range(p):
        copied = codes[:, j - 1] % nlev[j] if j else rng.integers(nlev[j], size=n)
        codes[:, j] = np.where(rng.random(n) < 0.7, copied, rng.integers(nlev[j], size=n))
    codes[:, -1] = np.minimum(codes[:, -1], nlev[-1] - 2)
    codes[:2, -1] = nlev[-1] - 1
    return DiscreteSuffStat(codes, nlev, adaptDF=True, labels=[f"d{j}" for j in range(p)])


def dask_cluster(**options: Any) -> Any:
    """
    A Dask cluster on this machine, at ports that are free: with no address, every scheduler asks for port 8787, and
    the second of two that run side by side only warns and takes another.
    """
    import distributed

    return distributed.LocalCluster(  # type: ignore[no-untyped-call]
        threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=None, silence_logs=50, **options
    )
