"""Findings in a table of numbers: its ends, copies of columns, row numbers, values that may mean "missing"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.system.machine import available_cores, run_in_threads

#: Tables of numbers: float64 or, as many files have it, float32.
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: From here on, float64 does not hold every whole number.
EXACT = 2.0**53
#: Numbers that are read at a time, so that they are still in the cache when they are read again.
BLOCK = 1 << 17
#: A table with this many numbers or more is read by threads; and the least number of columns that a thread reads at a
#: time.
THREADED, COLUMNS_OF_THREAD = 1 << 22, 512
#: Rows whose values distinguish most columns from each other.
FEW = 8
#: Difference of mirrored entries, relative to the largest, up to which a matrix counts as symmetric: numbers in files
#: are rounded.
SYMMETRIC = 1e-6
#: Columns up to which sums among them are looked for. That takes time with the cube of their number.
MOST_SUMMED = 128
#: Share of the variance of a column that others leave unexplained below which they may explain it exactly, and share of
#: its norm that is then taken for rounding. Columns that are nearly copies leave more.
SUSPECT, ROUNDING = 1e-9, 1e-13
#: Numbers below this have squares that may vanish; above 1 / TINY, squares that may overflow.
TINY = 1e-100
#: Least coefficient, of columns of variance 1, that makes a column part of a sum.
PART_OF_SUM = 1e-6
#: Rows from which a column that counts them is taken for their number: small arrays made by hand often begin with 1, 2,
#: 3.
COUNTING_ROWS = 5
#: Least size of a number that may stand for a missing value, as -9, 99 and -999 do, but 0 and 1 do not.
SENTINEL = 9
#: Rows that show for most columns that no such number stands alone, or that they hold many numbers.
SENTINEL_HEAD = 64
#: Rows per column from which on rows with names may be variables, as 20,000 genes of 12 samples are.
MANY_ROWS = 100
#: Names of rows that are looked at.
NAMES_READ = 1000
#: Names of samples rather than of variables.
_SAMPLE = re.compile(
    r"(?:samp(?:le)?|subj(?:ect)?|pat(?:ient)?|donor|individual|rep(?:licate)?|control|ctrl|case|treated)[\W_]*\w*\d"
    r"|(?:gsm|srr|err|drr)\d{4}|tcga\W\w",
    re.IGNORECASE,
)


class Ends(NamedTuple):
    """The smallest and the largest value of each column, float64 (p,); both NaN where a value is missing."""

    low: Floats
    high: Floats

    def incomplete(self) -> Ints:
        """The columns with missing or infinite values, ascending."""
        return np.flatnonzero(~(np.isfinite(self.low) & np.isfinite(self.high)))


def ends_of(X: Floats, copy: Floats | None = None) -> Ends:
    """The ends of a table (n, p), in one pass, in which it is also written to `copy`, of its shape and layout."""
    n, p = X.shape
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    by_rows = abs(X.strides[0]) >= abs(X.strides[1])

    def read(part: tuple[int, int]) -> None:
        first, end = part
        step = max(1, BLOCK // max(1, end - first if by_rows else n))
        for k in range(0, n, step) if by_rows else range(first, end, step):
            place = (slice(k, k + step), slice(*part)) if by_rows else (slice(None), slice(k, min(k + step, end)))
            block, columns = X[place], place[1]
            if copy is not None:
                copy[place] = block
                block = copy[place]
            if len(block):
                np.minimum(low[columns], block.min(axis=0), out=low[columns])
                np.maximum(high[columns], block.max(axis=0), out=high[columns])

    threads = available_cores() if X.size >= THREADED else 1
    parts = max(1, min(4 * threads, p // COLUMNS_OF_THREAD))
    run_in_threads(read, pairwise(p * k // parts for k in range(parts + 1)), threads)
    return Ends(low, high)


def rounded(X: Floats) -> Ints:
    """The columns with numbers beyond 2^53, of which float64 does not hold every whole one; NaN are ignored."""
    return np.flatnonzero(np.fmax.reduce(np.abs(X), axis=0, initial=0.0) >= EXACT)


def rows_may_be_variables(n: int, names: Sequence[str], *, rows_have_names: bool) -> bool:
    """Whether a table of n rows, with these names of columns, looks as if it should be transposed."""
    p = len(names)
    return n > p > 0 and ((rows_have_names and n >= MANY_ROWS * p) or all(map(_SAMPLE.match, names)))


def kind_of_matrix(X: Floats) -> Literal["correlation", "covariance"] | None:
    """The kind of matrix that a square, symmetric table of observations is, if it is one."""
    n, p = X.shape
    if n != p or not _close(X[0], X[:, 0]) or np.isinf(X).any():
        return None
    diagonal = X.diagonal()
    present = ~np.isnan(diagonal)  # a constant variable has NaN
    if not present.any() or not (diagonal[present] > 0).all() or not is_symmetric(X):
        return None
    scale = np.sqrt(diagonal)
    if (np.abs(X) > np.outer(scale, scale) * (1 + SYMMETRIC)).any():
        return None
    return "correlation" if np.abs(diagonal[present] - 1).max() <= SYMMETRIC else "covariance"


def is_symmetric(X: Floats) -> bool:
    """Whether a square matrix is symmetric up to rounding; by tiles, of which one and its mirror stay in the cache."""
    tiles = [slice(i, i + 256) for i in range(0, len(X), 256)]
    pairs = ((X[a, b], X[b, a].T) for k, a in enumerate(tiles) for b in tiles[k:])
    return all(bool((x == y).all()) for x, y in pairs) or _close(X, X.T)


def _close(A: Floats, B: Floats) -> bool:
    largest = np.abs(A).max(initial=0.0, where=np.isfinite(A))
    return bool(np.allclose(A, B, rtol=0, atol=SYMMETRIC * float(largest), equal_nan=True))


def counting_rows(X: Floats, ends: Ends) -> Iterator[tuple[int, int]]:
    """The columns that count 0, 1, 2, ... or 1, 2, 3, ..., and where they begin; none of a table of few rows."""
    n, low = len(X), ends.low
    likely = ((low == 0) | (low == 1)) & (ends.high == low + n - 1) & (n >= COUNTING_ROWS)
    for j in np.flatnonzero(likely).tolist():
        if np.array_equal(X[:, j], np.arange(n) + low[j]):
            yield j, int(low[j])


def few_whole_numbers(X: Floats, ends: Ends, most: int) -> bool:
    """Whether every column of (n, p) holds at most `most` different whole numbers, each in two rows or more on average.

    Missing values, NaN, count as none.
    """
    n, p = X.shape
    most, step = min(most, n // 2), max(SENTINEL_HEAD, BLOCK // p)
    gaps, head = bool(np.isnan(ends.low).any()), X[:SENTINEL_HEAD]  # whose values tell for most tables

    def whole(part: Floats) -> bool:
        return not ((part != np.floor(part)) & ~np.isnan(part)).any() if gaps else bool((part == np.floor(part)).all())

    if most <= 1 or not whole(head):
        return False
    with np.errstate(invalid="ignore"):
        wide = np.flatnonzero(~(ends.high - ends.low < most)).tolist()

    def few(part: Floats) -> bool:
        return all((~np.isnan(np.unique(part[:, j]))).sum() <= most for j in wide)

    parts = (X[k : k + step] for k in range(0, n, step))
    return few(head) and all(map(whole, parts)) and few(X)


def sentinels(X: Floats, ends: Ends) -> Iterator[tuple[int, str, int, Floats]]:
    """Columns where a whole number repeats at an end, farther from all others than these are from each other.

    Yields the column, the number, in how many rows it stands, and the other values.
    """
    low, high = ends
    middle = low / 2 + high / 2
    for end in (low, high):
        whole = np.flatnonzero((np.abs(end) >= SENTINEL) & (end == np.floor(end)) & (low < high))
        head, at, half = X[:SENTINEL_HEAD, whole], end[whole], middle[whole]
        inside = (head > np.minimum(at, half)) & (head < np.maximum(at, half))
        for j in whole[~inside.any(axis=0)].tolist():
            number = f"{end[j]:.0f}"  # 7, 8 and 9 are usual; a negative number, whatever its digits
            if "-" not in number and set(number) not in ({"7"}, {"8"}, {"9"}):
                continue
            rest = X[np.abs(X[:, j] - end[j]) > 0, j]  # without NaN
            count, beyond = int((X[:, j] == end[j]).sum()), np.abs(rest - end[j]).min() > abs(middle[j] - end[j])
            if count > 1 and beyond and rest.min() < rest.max():
                yield j, number, count, rest


@cache
def _weights(rows: int) -> Floats:
    """Random weights of a few rows."""
    return np.random.default_rng(0).random((rows, 1))


def groups_of_copies(X: Floats) -> list[list[int]]:
    """Groups of two or more equal columns of a table (n, p): ascending, and sorted by their first members.

    Columns are equal if their BLAKE2b digests of 128 bits are.
    """
    few = X[:: -(-len(X) // FEW)]  # most columns differ in a few rows already
    with np.errstate(over="ignore", invalid="ignore"):
        keys = (few * _weights(len(few))).sum(axis=0)
    keys[np.isnan(keys)] = 0.0
    ordered = np.sort(keys)  # much faster than `np.unique` with the places
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return []
    candidates = np.flatnonzero(np.isin(keys, again))
    groups: dict[bytes, list[int]] = {}
    for some in np.array_split(candidates, len(candidates) // 256 + 1):
        columns = np.ascontiguousarray(X[:, some].T) + 0.0  # -0.0 becomes 0.0, which it is equal to
        for j, column in zip(some.tolist(), columns, strict=True):
            groups.setdefault(blake2b(column, digest_size=16).digest(), []).append(j)
    return sorted(group for group in groups.values() if len(group) > 1)


def sums_of_columns(X: Floats, columns: Ints) -> list[list[int]]:
    """Sets of these columns of a complete table (n, p) of which each is a linear combination of the others and 1.

    None of tables of more than `MOST_SUMMED` such columns, or of no more rows than columns, where some always are.
    """
    n, p = len(X), len(columns)
    if not 3 <= p <= MOST_SUMMED or n <= p + 1:
        return []
    few = X[:: max(1, n // (2 * p + 16))]
    if _differ(few[:, columns]):  # usually
        return []
    Z, C = _spread(X[:, columns])
    if C is None:
        return []
    basis: list[int] = []
    left = C.copy()
    while len(basis) < p and left.diagonal()[j := int(left.diagonal().argmax())] > SUSPECT:
        basis.append(j)
        left -= np.outer(left[j], left[j]) / left[j, j]
        left[j] = left[:, j] = 0.0
    rest = np.setdiff1d(np.arange(p), basis)
    weights = np.linalg.lstsq(Z[:, basis], Z[:, rest], rcond=None)[0]
    missed = np.linalg.norm(Z[:, rest] - Z[:, basis] @ weights, axis=0)
    explained = missed <= ROUNDING * (1 + np.abs(weights).sum(axis=0))
    parts = np.abs(weights.T) > PART_OF_SUM
    sets = (columns[[j, *np.array(basis)[of]]] for j, of in zip(rest[explained], parts[explained], strict=True))
    return sorted(sorted(members.tolist()) for members in sets if len(members) > 1)


def _differ(X: Floats) -> bool:
    """Whether no column of some rows of a table is nearly a linear combination of the others and 1; False if unsure.

    Such a combination is one of the differences from the first row as well, which numbers far from zero have exactly.
    """
    with np.errstate(all="ignore"):
        Z = np.subtract(X[1:], X[0], dtype=np.float64)
        C = Z.T @ Z
        scale = np.sqrt(C.diagonal())
        C /= scale
        C /= scale[:, None]
    return bool(scale.min() > TINY and scale.max() < 1 / TINY) and _is_far_from_singular(C)


def _is_far_from_singular(C: Floats) -> bool:
    """Whether the smallest eigenvalue of a correlation matrix is above SUSPECT."""
    try:
        np.linalg.cholesky(C - SUSPECT * np.eye(len(C)))
    except np.linalg.LinAlgError:
        return False
    return True


def _spread(X: Floats) -> tuple[Floats, Floats | None]:
    """The columns with mean 0 and norm 1, and their products; None if these are far from singular."""
    with np.errstate(all="ignore"):
        Z = X - X.mean(axis=0, dtype=np.float64)
        Z -= Z.mean(axis=0)
        largest = np.abs(Z).max(axis=0)
        Z /= np.where(largest > 0, largest, 1.0)  # squares of small numbers would vanish
        norm = np.sqrt((Z * Z).sum(axis=0))
        Z /= np.where(norm > 0, norm, 1.0)
        C = Z.T @ Z
    return Z, None if not np.isfinite(C).all() or _is_far_from_singular(C) else C
