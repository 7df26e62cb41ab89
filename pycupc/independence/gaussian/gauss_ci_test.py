"""pcalg's ``gaussCItest``, written out literally: the pseudoinverse of the correlation matrix of x, y and S.

It uses NumPy and is slow; for ill-conditioned matrices, where rounding in float64 would decide, it uses decimal
arithmetic with 50 digits. The reference engine and the comparison of two results use it; the other engines do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.tolerances import EPS, R_MAX
from pycupc.system.nearest import hinted

#: r is computed in decimal arithmetic where the smallest singular value is not above this share of the largest, or the
#: diagonal entry P_xx or P_yy of the pseudoinverse not above this share of (largest singular value) (P P)_xx: only the
#: entries of an indefinite matrix are so small, as terms of both signs cancel in them.
ILL_CONDITIONED = 1e-6
#: Digits of that arithmetic.
DIGITS = 50


def partial_correlations(C: NDArray[np.float64], x: int, y: int, sets: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Partial correlations of x and y given each of several sets of one size, as pcalg computes them.

    Closed formulas for up to one conditioning variable, the pseudoinverse of ``C[{x, y, S}]`` beyond
    (docs/contracts/contract.md, section 2). NaN becomes 0 and the results lie in [-0.9999999, 0.9999999].
    """
    S = np.array(sets, dtype=np.intp).reshape(len(sets), -1)
    size = S.shape[1]
    with np.errstate(all="ignore"):
        if size == 0:
            r = np.full(len(S), C[x, y])
        elif size == 1:
            xk, yk = C[x, S[:, 0]], C[y, S[:, 0]]
            r = (C[x, y] - xk * yk) / np.sqrt((1 - yk**2) * (1 - xk**2))
        else:
            index = np.empty((len(S), size + 2), dtype=np.intp)
            index[:, 0], index[:, 1], index[:, 2:] = x, y, S
            sub = C[index[:, :, None], index[:, None, :]]
            sub[~np.isfinite(sub).all(axis=(1, 2))] = 0.0  # then no singular value is kept, and r is NaN
            u, sv, vt = np.linalg.svd(sub)
            keep = sv > (size + 2) * sv[:, :1] * EPS
            half = np.where(keep[:, :, None], vt[:, :, :2] / sv[:, :, None], 0.0)
            P, squares = u[:, :2] @ half, (half**2).sum(axis=1)
            r = -P[:, 1, 0] / np.sqrt(P[:, 0, 0] * P[:, 1, 1])
            cancelled = np.abs(P.diagonal(axis1=1, axis2=2)) <= ILL_CONDITIONED * sv[:, :1] * squares
            for i in np.flatnonzero((sv[:, -1] <= ILL_CONDITIONED * sv[:, 0]) | cancelled.any(axis=1)):
                if sv[i, 0] > 0:
                    r[i] = _in_decimals(C, [*sorted(S[i].tolist()), x, y])
    clipped: NDArray[np.float64] = np.clip(np.nan_to_num(r), -R_MAX, R_MAX)
    return clipped


def _in_decimals(C: NDArray[np.float64], nodes: list[int]) -> float:
    """Partial correlation of the last two of the nodes given the others: the pseudoinverse by Jacobi rotations.

    Each pair is read from the cell whose row is the later of the two nodes, so that the matrix is symmetric.
    """
    m = len(nodes)
    with localcontext() as context:
        context.prec = DIGITS
        A = [[Decimal(float(C[nodes[max(i, j)], nodes[min(i, j)]])) for j in range(m)] for i in range(m)]
        V = [[Decimal(int(i == j)) for j in range(m)] for i in (m - 2, m - 1)]  # two rows of the eigenvectors
        done = False
        while not done:
            largest, done = max(abs(A[i][i]) for i in range(m)), True
            for i, j in combinations(range(m), 2):
                if abs(A[i][j]) > largest.scaleb(6 - DIGITS):
                    _rotate(A, V, i, j)
                    done = False
        limit = m * largest * Decimal(EPS)
        kept = [k for k in range(m) if abs(A[k][k]) > limit]
        xx, xy, yy = (sum((V[a][k] * V[b][k] / A[k][k] for k in kept), Decimal(0)) for a, b in ((0, 0), (0, 1), (1, 1)))
        zero = [limit * sum((V[a][k] / A[k][k]) ** 2 for k in kept) for a in (0, 1)]
        defined = abs(xx) > zero[0] and abs(yy) > zero[1] and xx * yy > 0
        return float(-xy / (xx * yy).sqrt()) if defined else np.nan


def _rotate(A: list[list[Decimal]], V: list[list[Decimal]], i: int, j: int) -> None:
    """Zero A[i][j] of the symmetric A; V follows."""
    theta = (A[j][j] - A[i][i]) / (2 * A[i][j])
    t = (1 / (abs(theta) + (theta * theta + 1).sqrt())).copy_sign(theta)
    c = 1 / (t * t + 1).sqrt()
    s = t * c
    for row in (*A, *V):
        row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
    A[i], A[j] = (
        [c * u - s * v for u, v in zip(A[i], A[j], strict=True)],
        [s * u + c * v for u, v in zip(A[i], A[j], strict=True)],
    )
    A[i][j] = A[j][i] = Decimal(0)


def partial_correlation(C: NDArray[np.float64], x: int, y: int, S: Sequence[int]) -> float:
    """As `partial_correlations`, given one set."""
    return float(partial_correlations(C, x, y, [S])[0])


@hinted
def gaussCItest(x: int, y: int, S: Sequence[int], suffStat: SuffStat | Mapping[str, Any]) -> float:
    """p-value of pcalg's ``gaussCItest``: are x and y independent given S in a Gaussian model?

    Parameters
    ----------
    x, y : int
        0-based, different variables.
    S : sequence of int
        Conditioning set, 0-based, without x and y; may be empty.
    suffStat : SuffStat or mapping with keys "C" and "n"
        Correlation matrix, float64 of shape (p, p), and number of observations.

    Returns
    -------
    float in [0, 1]

    Notes
    -----
    `pc` and `skeleton` recognise this function as their `indepTest`: the engines then run their own form of the test.
    """
    if isinstance(suffStat, Mapping):
        C, n = np.asarray(suffStat["C"], dtype=np.float64), float(suffStat["n"])
    else:
        C, n = suffStat.C, suffStat.n
    return p_value_of(partial_correlation(C, x, y, S), n - len(S) - 3)
