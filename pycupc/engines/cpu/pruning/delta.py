"""The proof about the matrix of a row on which bounds rely: that it is positive definite, less a number or less delta.

Source: docs/contracts/pruning.md, section 4.
"""

from __future__ import annotations

import numpy as np

from pycupc.engines.cpu.tuning import ITERATIONS, TRIES
from pycupc.engines.protocol import Floats

#: Allowance for the rounding of a factorisation that proves something.
PROOF = 1e-10


def is_definite(R: Floats, less: Floats | float = 0.0) -> bool:
    """Whether R - diag(less) is positive definite; False if R has NaN."""
    rest = R.copy()
    rest.flat[:: len(R) + 1] -= less + PROOF
    try:
        pivots = np.linalg.cholesky(rest).diagonal()
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(pivots).all())  # LAPACK factorises a matrix with NaN without a word


def find_delta(R: Floats) -> Floats:
    """delta, float64 (n,), with R - diag(delta) positive semidefinite, or zeros if none is found.

    It is mu d with d_k = 1 / (R^-1)_kk, where mu is a number just below the smallest eigenvalue of d^-1/2 R d^-1/2.
    """
    nothing = np.zeros(len(R))
    if not is_definite(R):
        return nothing
    inverse = np.linalg.inv(R)
    d = 1.0 / np.diagonal(inverse)
    root = np.sqrt(d)
    scaled, v, norm = root[:, None] * inverse * root, 1.0 + 0.5 * (np.arange(len(R)) % 3), 1.0
    for _ in range(ITERATIONS):
        v = scaled @ (v / norm)
        norm = float(np.sqrt(v @ v))
    mu = 0.98 / norm
    for _ in range(TRIES):
        if is_definite(R, mu * d):
            return np.asarray(mu * d)
        mu *= 0.8
    return nothing
