"""Kendall's concordant minus discordant pairs of observations on the GPU: products of matrices of signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Pairs of observations times variables at a time. Sums of as many signs are exact in float32.
SIGNS, MOST_PAIRS = 1 << 25, 1 << 23


def concordances(cupy: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """As `pycupc.independence.gaussian.ranks.concordances`."""
    n, p = X.shape
    values, total = cupy.asarray(X), cupy.zeros((p, p), dtype=cupy.float64)
    first, second = np.triu_indices(n, 1)
    step = max(1, min(SIGNS // p, MOST_PAIRS))
    for k in range(0, len(first), step):
        a, b = (cupy.asarray(index[k : k + step]) for index in (first, second))
        signs = cupy.sign(values[a] - values[b]).astype(cupy.float32)
        total += signs.T @ signs
    out: NDArray[np.int64] = cupy.asnumpy(total).astype(np.int64)
    return out
