"""Pairs of variables, for fixed gaps and fixed edges; the graph with which a run begins, given them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.in_memory import column_names, row_names
from pycupc.data.names import DataError, listed, unknown
from pycupc.data.source import open_text, read_source
from pycupc.data.text_layout import find_delimiter, is_formula, rows

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]


class Pairs:
    """A set of unordered pairs of p variables.

    `keys`, int64 (m,): low * p + high of each pair low < high, ascending.
    """

    def __init__(self, p: int, low: NDArray[np.integer], high: NDArray[np.integer]) -> None:
        self.p = p
        self.keys: Indices = np.unique(np.asarray(low, dtype=np.int64) * p + high)

    @classmethod
    def of_matrix(cls, matrix: NDArray[Any]) -> Pairs:
        """The pairs of a symmetric matrix (p, p), of which the diagonal means nothing."""
        return cls(len(matrix), *np.nonzero(np.triu(matrix, 1)))

    @classmethod
    def of_names(cls, pairs: Iterable[Iterable[str]], labels: Sequence[str]) -> Pairs:
        """Pairs of names. Raises ValueError if a name is not one of `labels`, or paired with itself."""
        at = {label: i for i, label in enumerate(labels)}
        ends = np.array([_positions(pair, at) for pair in pairs], dtype=np.int64).reshape(-1, 2)
        return cls(len(at), ends[:, 0], ends[:, 1])

    @property
    def low(self) -> Indices:
        """The smaller variable of each pair, int64 (m,)."""
        return self.keys // self.p

    @property
    def high(self) -> Indices:
        """The larger variable of each pair, int64 (m,)."""
        return self.keys % self.p

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self.p == other.p and np.array_equal(self.keys, other.keys)

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Pairs | None) -> Pairs:
        if other is None or not len(other):
            return self
        return Pairs(self.p, *np.divmod(np.concatenate([self.keys, other.keys]), self.p))

    def __sub__(self, other: Pairs | None) -> Pairs:
        keys = self.keys if other is None else np.setdiff1d(self.keys, other.keys, assume_unique=True)
        return Pairs(self.p, *np.divmod(keys, self.p))

    def degrees(self) -> Indices:
        """Number of pairs of each variable, int64 (p,)."""
        return np.bincount(np.concatenate([self.low, self.high]), minlength=self.p)

    def holds(self, x: NDArray[np.integer], y: NDArray[np.integer]) -> Mask:
        """Which of the pairs (x, y), in either order, are among these, bool (k,)."""
        if not len(self):  # as in most runs, which ask at each level
            return np.zeros(len(x), dtype=np.bool_)
        wanted = np.minimum(x, y).astype(np.int64) * self.p + np.maximum(x, y)
        at = self.keys.searchsorted(wanted)
        return np.asarray(np.append(self.keys, -1)[at] == wanted)

    @cached_property
    def _cells(self) -> Indices:
        """Both cells of each pair in the matrix of `dense`, as row * p + column, ascending."""
        return np.sort(np.concatenate([self.keys, self.high * self.p + self.low]))

    @cached_property
    def _matrix(self) -> Mask:
        return self.dense()

    def block(self, first: int, end: int) -> Mask:
        """Rows first to end - 1 of `dense`, bool (end - first, p); not to be changed."""
        if 16 * len(self) > self.p**2:  # the matrix takes less memory than the cells
            return self._matrix[first:end]
        out = np.zeros((end - first, self.p), dtype=np.bool_)
        begin, stop = self._cells.searchsorted([first * self.p, end * self.p])
        out.reshape(-1)[self._cells[begin:stop] - first * self.p] = True
        return out

    def dense(self) -> Mask:
        """The symmetric matrix bool (p, p)."""
        out = np.zeros((self.p, self.p), dtype=np.bool_)
        out[self.low, self.high] = out[self.high, self.low] = True
        return out


@dataclass(frozen=True)
class FirstGraph:
    """The complete graph of p variables without `gaps`, in which the edges of `fixed` are never tested."""

    p: int
    gaps: Pairs | None
    fixed: Pairs | None

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Its edges x < y, and z, inf for each: no test has been made (`pycupc.independence.base.State`)."""
        low, high = np.triu_indices(self.p, 1)
        left = np.ones(len(low), dtype=np.bool_) if self.gaps is None else ~self.gaps.holds(low, high)
        x, y = low[left].astype(np.int32), high[left].astype(np.int32)
        return x, y, np.full(len(x), np.inf)

    def tested(self) -> Indices:
        """The number of pairs x < y that level 0 tests, of each x, int64 (p,)."""
        untested = self.fixed if self.gaps is None else self.gaps | self.fixed
        out = np.arange(self.p)[::-1]
        return out.copy() if untested is None else out - np.bincount(untested.low, minlength=self.p)

    def has_candidates(self, kept: Callable[[], NDArray[np.integer]]) -> bool:
        """Whether a tested pair (x, y) has a candidate, another neighbour of x: then pcalg runs level 1.

        `kept()`: y of the pairs x < y, without fixed ones, whose edge side A has kept; side B tests (y, x).
        """
        degree = np.full(self.p, self.p - 1) if self.gaps is None else self.p - 1 - self.gaps.degrees()
        return bool((degree[self.tested() > 0] > 1).any() or (degree[kept()] > 1).any())


def pairs_of(value: Any, name: str, labels: Sequence[str]) -> Pairs | None:
    """The pairs of an argument with this name, a list of pairs of names or a matrix; None if it has none.

    TypeError or ValueError if it is neither, or does not fit the labels.
    """
    p = len(labels)
    if _is_list_of_pairs(value):
        try:
            return Pairs.of_names(value, labels) if value else None
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    if isinstance(value, Pairs) and value.p == p:
        return value if len(value) else None
    matrix = value.dense() if isinstance(value, Pairs) else in_order_of(value, name, labels)
    matrix = marked(matrix, name, p)
    if not np.array_equal(matrix, matrix.T):
        i, j = np.argwhere(matrix != matrix.T)[0].tolist()
        raise ValueError(f"{name} must be symmetric, but differs between ({labels[i]}, {labels[j]}) and the reverse")
    pairs = Pairs.of_matrix(matrix)
    return pairs if len(pairs) else None


def marked(matrix: NDArray[Any], name: str, p: int) -> Mask:
    """Where the matrix (p, p) of an argument with this name is not 0; ValueError or TypeError if it is none."""
    if matrix.shape != (p, p):
        raise ValueError(
            f"{name} must have shape ({p}, {p}), got {matrix.shape}; a list of pairs of names will do, too"
        )
    if matrix.dtype.kind not in "biuf" or (matrix.dtype.kind == "f" and np.isnan(matrix).any()):
        raise TypeError(f"{name} must be a matrix of True and False or a list of pairs of names, got {matrix.dtype}")
    return np.ascontiguousarray(matrix != 0)


def _is_list_of_pairs(value: Any) -> bool:
    """Whether these are pairs of names: [("a", "b"), ...]."""
    return isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(pair, (list, tuple, set, frozenset)) and len(pair) == 2 and all(isinstance(n, str) for n in pair)
        for pair in value
    )


def in_order_of(value: Any, name: str, labels: Sequence[str]) -> Any:
    """`value` as a matrix; the rows and columns of a table with names are put into the order of `labels`."""
    columns = column_names(value)
    if columns is None:
        return np.asarray(value)
    matrix = value.to_numpy()
    if columns == [str(k) for k in range(len(columns))] and set(columns) != set(labels):
        return matrix  # a DataFrame without names
    if sorted(columns) != sorted(labels):
        unknown = sorted(set(columns) - set(labels))
        absent = sorted(set(labels) - set(columns))
        raise ValueError(
            f"{name} must have one row and one column for each variable; "
            + "; ".join(
                [f"not variables: {listed(unknown)}"] * bool(unknown)
                + [f"not in {name}: {listed(absent)}"] * bool(absent)
            )
        )
    rows = row_names(value)
    if rows is not None and sorted(rows) != sorted(columns):
        raise ValueError(f"{name} must have the same names for rows and columns, got the rows {listed(rows)}")
    at_row, at_column = ({label: k for k, label in enumerate(names)} for names in (rows or columns, columns))
    return matrix[np.ix_([at_row[label] for label in labels], [at_column[label] for label in labels])]


def read_pairs(path: str | PurePath, labels: Sequence[str]) -> Pairs:
    """Read pairs of variables, for fixed gaps or fixed edges: two names per line, with or without a header line.

    Raises DataError if the file cannot be read, or a line does not hold two different names from `labels`.
    """
    source = read_source(path)
    at = {label: i for i, label in enumerate(labels)}
    found = []
    with open_text(source) as text:
        for line, row in rows(source.name, text, find_delimiter(source.ending, text.readline())):
            names = [_unescaped(cell.strip()) for cell in row]
            if line == 1 and len(names) >= 2 and at.keys().isdisjoint(names[:2]):
                continue  # a header such as from,to
            if len(names) < 2:
                raise DataError(f"{source.name}, line {line}: expected two names, got {names}")
            try:
                found.append(_positions(names[:2], at))
            except ValueError as error:
                raise DataError(f"{source.name}, line {line}: {error}") from None
    low, high = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Pairs(len(at), low, high)


def _unescaped(cell: str) -> str:
    """A name without the apostrophe of --spreadsheet."""
    return cell[1:] if cell.startswith("'") and is_formula(cell[1:]) else cell


def _positions(pair: Iterable[str], at: Mapping[str, int]) -> list[int]:
    """The positions of a pair of names, ascending."""
    a, b = pair
    for name in (a, b):
        if name not in at:
            raise unknown(name, list(at))
    if a == b:
        raise ValueError(f"{a!r} is paired with itself")
    return sorted((at[a], at[b]))
