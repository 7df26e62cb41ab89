"""Checks and warnings about a table of observations as a whole."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import listed
from pycupc.data.remedies import option
from pycupc.system.message import Argument, Message, Words

Floats = NDArray[np.float64]

#: Difference of mirrored entries, relative to the largest, up to which a matrix counts as symmetric: numbers in files
#: are rounded.
SYMMETRIC = 1e-6
#: Columns whose largest value is within these powers of two are not scaled: their squares, and sums of these, are far
#: from the limits of floating point.
EXPONENTS = 256
#: Rows from which a column that counts them is taken for their number: more than in a file (data/readers.py), where the
#: column has no name, because small arrays made by hand often begin with 1, 2, 3.
COUNTING_ROWS = 5
#: Least size of a number that may stand for a missing value, as -9, 99 and -999 do, but 0 and 1 do not.
SENTINEL = 9
#: Rows that show for most columns that no such number stands alone.
SENTINEL_HEAD = 64


def refuse_matrix(X: Floats) -> None:
    """Raise `ValueError` if a table of observations is a correlation or covariance matrix: square and symmetric."""
    n, p = X.shape
    if n != p or not _close(X[0], X[:, 0]) or np.isinf(X).any():
        return
    diagonal = X.diagonal()
    present = ~np.isnan(diagonal)  # a constant variable has NaN
    if not present.any() or not (diagonal[present] > 0).all() or not _close(X, X.T):
        return
    scale = np.sqrt(diagonal)
    if (np.abs(X) > np.outer(scale, scale) * (1 + SYMMETRIC)).any():
        return  # no matrix of covariances
    unit = np.abs(diagonal[present] - 1).max() <= SYMMETRIC
    kind, C = (
        ("correlation", "C") if unit else ("covariance", "C / numpy.sqrt(numpy.outer(C.diagonal(), C.diagonal()))")
    )
    after = "" if unit else " after that division"
    raise ValueError(
        Message(
            "{data} of shape ({n}, {p}) are symmetric with {values} on the diagonal. If this is a {kind} matrix C of n "
            "observations: {with_C}. If it is a table of {n} observations after all: {with_data}",
            data=Argument("data"),
            n=n,
            p=p,
            values="1" if unit else "positive values",
            kind=kind,
            with_C=Words(
                f'pc({{"C": {C}, "n": n}}), on the command line --correlation N{after}',
                f"cu_pc(list(C = {'C' if unit else 'cov2cor(C)'}, n = n), ...)",
            ),
            with_data=Words(
                f'pc({{"C": numpy.corrcoef(data, rowvar=False), "n": {n}}})', f"cu_pc(list(C = cor(x), n = {n}), ...)"
            ),
        )
    )


def _close(A: Floats, B: Floats) -> bool:
    largest = np.abs(A).max(initial=0.0, where=np.isfinite(A))
    return bool(np.allclose(A, B, rtol=0, atol=SYMMETRIC * float(largest), equal_nan=True))


def refuse_incomplete(X: Floats, names: Sequence[str]) -> None:
    """Raise `ValueError` that names the columns with missing or infinite values, if there are any."""
    incomplete = [names[j] for j in np.flatnonzero(~np.isfinite(X).all(axis=0)).tolist()]
    if incomplete:
        text = "{data} must be complete and finite; missing or infinite values in {columns}"
        raise ValueError(Message(text, data=Argument("data"), columns=listed(incomplete)))


def warn_of_counter(X: Floats, names: Sequence[str]) -> None:
    """Warn if the first column counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    n, start = len(X), float(X[0, 0])
    if n >= COUNTING_ROWS and start in (0.0, 1.0) and np.array_equal(X[:, 0], np.arange(n) + start):
        warnings.warn(
            f"{names[0]} counts {start:.0f}, {start + 1:.0f}, {start + 2:.0f}, ... through the rows; if it is the "
            "number of the row and no variable, leave it out",
            stacklevel=3,
        )


def extremes(X: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest value of each column."""
    return X.min(axis=0), X.max(axis=0)


def warn_of_sentinels(X: Floats, names: Sequence[str], ends: tuple[Floats, Floats]) -> None:
    """Warn if a whole number repeats at the end of a column, farther from all others than these are from each other.

    `ends`: the `extremes` of X.
    """
    low, high = ends
    middle = low / 2 + high / 2
    head = X[:SENTINEL_HEAD]
    for end, inside in ((low, (head > low) & (head < middle)), (high, (head < high) & (head > middle))):
        likely = (np.abs(end) >= SENTINEL) & (end == np.floor(end)) & (low < high) & ~inside.any(axis=0)
        for j in np.flatnonzero(likely).tolist():
            digits = set(f"{end[j]:.0f}")  # 7, 8 and 9 are usual; a negative number, whatever its digits
            if "-" not in digits and digits not in ({"7"}, {"8"}, {"9"}):
                continue
            rest = X[X[:, j] != end[j], j]
            count, beyond = len(X) - len(rest), np.abs(rest - end[j]).min() > abs(middle[j] - end[j])
            if count > 1 and beyond and rest.min() < rest.max():
                warnings.warn(
                    f"{names[j]} is {end[j]:.0f} in {count:,} rows, far from all other values, which are "
                    f"{rest.min():g} to {rest.max():g}; if that means a missing value: "
                    + option("na", [f"{end[j]:.0f}"], python="leave out these rows, or impute the values"),
                    stacklevel=3,
                )


def scaled(X: Floats, ends: tuple[Floats, Floats] | None = None) -> Floats:
    """`X`, finite, with columns of very large or very small numbers multiplied by powers of two.

    That changes no correlation. If no column needs it, `X` itself is returned. `ends`: the `extremes` of X, if known.
    """
    low, high = extremes(X) if ends is None else ends
    exponents = np.frexp(np.maximum(high, -low))[1]
    extreme = np.flatnonzero(np.abs(exponents) > EXPONENTS)
    if not len(extreme):
        return X
    out = X.copy()
    out[:, extreme] = np.ldexp(X[:, extreme], -exponents[extreme])
    return out
