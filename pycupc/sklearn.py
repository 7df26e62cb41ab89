"""An estimator for scikit-learn: `PC`, the PC algorithm on the columns of X."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from pycupc.algorithm.pc import pc


@dataclass(eq=False, repr=False)
class PC(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """`pycupc.pc` as an estimator of scikit-learn, for continuous data.

    Parameters
    ----------
    alpha : float
        Significance level of the tests, from 0 to 1.
    m_max, u2pd, conservative, maj_rule, solve_confl, engine
        As of `pycupc.pc`.

    Attributes
    ----------
    result_ : PcAlgo
        What `pycupc.pc` returned.
    adjacency_ : int8 (p, p)
        [i, j] = 1 and [j, i] = 0 is i --> j, both 1 undirected, both 2 bidirected.
    labels_ : str (p,)
        The names of the variables: the names of the columns of X, or "1", "2", ...
    n_features_in_ : int
    feature_names_in_ : str (p,)
        Only if the columns of X have names that are texts.
    """

    alpha: float = 0.01
    _: KW_ONLY
    m_max: float = math.inf
    u2pd: Literal["relaxed", "rand", "retry"] = "relaxed"
    conservative: bool = False
    maj_rule: bool = False
    solve_confl: bool = False
    engine: str = "auto"

    def fit(self, X: ArrayLike, y: Any = None) -> PC:
        """Find the graph of the columns of X, float (n, p); `y` is ignored.

        Raises
        ------
        ValueError
            If X has missing or infinite values, fewer than 4 rows or 2 columns, or a parameter is out of its range. A
            constant column, which gets no edges, gives a warning.
        """
        data = validate_data(self, X, dtype=np.float64, ensure_min_samples=4, ensure_min_features=2)
        labels = [str(name) for name in getattr(self, "feature_names_in_", range(1, data.shape[1] + 1))]
        self.result_ = pc(data, labels=labels, **self.get_params(deep=False))
        self.adjacency_ = self.result_.graph
        self.labels_ = np.array(labels)
        return self
