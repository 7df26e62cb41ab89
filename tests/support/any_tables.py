"""Tables of numbers, of categories and of both, with and without gaps, and the command line on them."""

import numpy as np
import pandas as pd

from pycupc import cli


def chain(n: int = 300, p: int = 6, seed: int = 0) -> np.ndarray:
    """Observations of 0 - 1 - 2 - ..., float64 (n, p)."""
    X = np.random.default_rng(seed).standard_normal((n, p))
    for j in range(1, p):
        X[:, j] += X[:, j - 1]
    return X


def frame(n: int = 300) -> pd.DataFrame:
    """The observations of a chain as a DataFrame."""
    return pd.DataFrame(chain(n=n))


def gaps(D: pd.DataFrame) -> pd.DataFrame:
    """The table, of which one cell of twenty is missing."""
    return D.mask(np.random.default_rng(3).random(D.shape) < 0.05)


def incomplete(n: int = 300) -> pd.DataFrame:
    """The observations of a chain with missing values."""
    return gaps(frame(n))


def mixed_frame(n: int = 300) -> pd.DataFrame:
    """A chain of which two variables are categories."""
    X = chain(n=n, p=5)
    D = pd.DataFrame(X.round(6), columns=list("vwxyz"))
    D["v"], D["x"] = np.where(X[:, 0] > 0, "yes", "no"), np.array(["low", "mid", "high"])[np.digitize(X[:, 2], [-1, 1])]
    return D


def run_to_out(*args: object) -> int:
    """Run the command line without a picture, with the folder "out" for its results; returns the exit code."""
    return cli.main([*map(str, args), "--plot", "none", "--force", "--out", "out"])
