"""Pairs of variables, for fixed gaps and fixed edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import DataError, unknown
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
        keys = self.keys if other is None else np.concatenate([self.keys, other.keys])
        return Pairs(self.p, *np.divmod(keys, self.p))

    def __sub__(self, other: Pairs | None) -> Pairs:
        keys = self.keys if other is None else np.setdiff1d(self.keys, other.keys, assume_unique=True)
        return Pairs(self.p, *np.divmod(keys, self.p))

    def degrees(self) -> Indices:
        """Number of pairs of each variable, int64 (p,)."""
        return np.bincount(np.concatenate([self.low, self.high]), minlength=self.p)

    def holds(self, x: NDArray[np.integer], y: NDArray[np.integer]) -> Mask:
        """Which of the pairs (x, y), in either order, are among these, bool (k,)."""
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
