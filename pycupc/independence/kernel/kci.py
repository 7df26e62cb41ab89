"""The options of the kernel-based conditional independence test, and its definition (docs/contracts/kernel_test.md).

Zhang, Peters, Janzing and Schoelkopf (2011), Kernel-based conditional independence test and application in causal
discovery, UAI; with the defaults of causal-learn 0.1.4.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from pycupc.data.names import check_real
from pycupc.data.table import Table
from pycupc.independence.base import Floats, Mask
from pycupc.independence.registry import checked_table

#: Added to the eigenvalues of the kernel of S.
RIDGE = 1e-3
#: Eigenvalues up to this share of the largest do not count for the distribution under independence.
SHARE = 1e-5
#: Widths of kernels, in standard deviations: for fewer than 200 observations, fewer than 1,200, and more.
STEPS, GIVEN_NOTHING, GIVEN_A_SET = (200, 1200), (0.8, 0.5, 0.3), (1.2, 0.7, 0.4)


@dataclass(frozen=True)
class KCI:
    """The kernel-based conditional independence test, for ``pycupc.pc(table, KCI())``.

    Given nothing it is the test of the Hilbert-Schmidt independence criterion (HSIC). The p-values are those of
    causal-learn's ``kci`` with its defaults, within 1e-8.

    Parameters
    ----------
    width : float, optional
        Width of all Gaussian kernels, in standard deviations; by default it follows from the number of observations and
        of variables in the set.
    approx : True
        The gamma approximation of the distribution under independence, the only one that is offered.

    Raises
    ------
    TypeError, ValueError
        If `width` is no positive number; if `approx` is not True.
    """

    width: float | None = None
    approx: InitVar[bool] = field(default=True, kw_only=True)

    def __post_init__(self, approx: bool) -> None:
        if approx is not True:
            raise ValueError(
                f"approx must be True, the gamma approximation, got {approx!r}: causal-learn draws the numbers of its "
                "other distribution without a seed, so that its graph changes from run to run"
            )
        if self.width is not None:
            check_real("width", "a positive number", self.width, lambda v: 0 < v < math.inf)

    @property
    def __name__(self) -> str:
        return "KCI" if self.width is None else repr(self)

    def widths(self, n: int, size: int) -> float:
        """The width of the kernels of tests given `size` variables, with n observations."""
        if self.width is not None:
            return float(self.width)
        step = sum(n >= first for first in STEPS)
        return GIVEN_A_SET[step] * math.sqrt(size) if size else GIVEN_NOTHING[step]

    def __call__(self, x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
        """The p-value of one test, as `pycupc.gaussCItest` takes its arguments; `suffStat` is a table of numbers."""
        data = suffStat if isinstance(suffStat, KernelData) else KernelData.of(suffStat)
        return p_value(x, y, S, data, self)


class KernelData:
    """The columns of a table of numbers, standardised.

    `columns`, float64 (p, n): mean 0 and variance 1 with divisor n - 1; zeros of a constant. `constant`, bool (p,).
    `table`: as it was given.
    """

    def __init__(self, table: Table) -> None:
        table.check_scale()
        self.table, self.labels, values = table, table.labels, np.asarray(table.values, dtype=np.float64)
        self.n, self.p = values.shape
        self.constant: Mask = (values == values[0]).all(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            standardised = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
        standardised[:, self.constant] = 0.0
        self.columns: Floats = np.ascontiguousarray(standardised.T)

    @classmethod
    def of(cls, data: Any, labels: Any = None) -> KernelData:
        """Of any table that `pycupc.pc` takes; the errors of `checked_table`. A `Table` has been checked."""
        if isinstance(data, KernelData):
            return data
        return cls(data if isinstance(data, Table) else checked_table(data, labels))


def p_value(x: int, y: int, S: Sequence[int], data: KernelData, how: KCI, *, quirks: bool = False) -> float:
    """The p-value of one test, written out as it is defined; NaN if x or y is constant.

    `quirks`: the answers of causal-learn where x is constant, and 0 below the precision of 1.
    """
    x, y = min(x, y), max(x, y)
    if data.constant[[x, y]].any() and not quirks:
        return math.nan
    Z, S = data.columns / how.widths(data.n, len(S)), list(S)
    if not S:
        A, B = (_centred(_kernel(Z[[v]])) for v in (x, y))
        mean, variance = np.trace(A) * np.trace(B) / data.n, 2 * (A**2).sum() * (B**2).sum() / data.n**2
        return float(tail((A * B).sum(), mean, variance, quirks=quirks))
    R = RIDGE * np.linalg.inv(_centred(_kernel(Z[S])) + RIDGE * np.eye(data.n))
    of_ends = np.concatenate([Z[[x]], Z[S] / 2]), Z[[y]]
    A, B = (R @ _centred(_kernel(values)) @ R for values in of_ends)
    kept = [_truncated(matrix) for matrix in (A, B)]
    mean, variance = (kept[0].diagonal() * kept[1].diagonal()).sum(), 2 * ((kept[0] * kept[1]) ** 2).sum()
    return float(tail((A * B).sum(), mean, variance, quirks=quirks))


def _kernel(values: Floats) -> Floats:
    """The Gaussian kernel of width 1 of values (d, n)."""
    return np.asarray(np.exp(-0.5 * sum((v[:, None] - v) ** 2 for v in values)))


def _centred(K: Floats) -> Floats:
    return np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def _truncated(A: Floats) -> Floats:
    """A symmetric matrix without its eigenvalues up to `SHARE` of the largest."""
    value, vector = np.linalg.eigh((A + A.T) / 2)
    kept = value > SHARE * value[-1]
    return np.asarray((vector[:, kept] * value[kept]) @ vector[:, kept].T)


def tail(statistic: Any, mean: Any, variance: Any, *, quirks: bool = False) -> Any:
    """The upper tails of gamma distributions with these means and variances; NaN where there is none.

    `quirks`: as causal-learn, one minus the lower tail, which is 0 below about 1e-16.
    """
    from scipy.special import gammainc, gammaincc  # takes a quarter of a second to import

    with np.errstate(invalid="ignore", divide="ignore"):
        shape, value = np.square(mean) / variance, np.maximum(statistic, 0.0) * mean / variance
        return 1.0 - gammainc(shape, value) if quirks else gammaincc(shape, value)
