"""The data of tests of numbers and categories together: a complete table, a table with gaps, several imputations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import in_order
from pycupc.data.mixed import MixedTable
from pycupc.data.names import check_labels, listed_at, names_for, warn_of_constants
from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.missing.data import MultipleImputation, check_alike


def as_mixed(data: Any) -> MixedTable:
    """The data of `mixCItest`: a `MixedTable`, or what `MixedTable.of` takes. They are checked."""
    table = _one_table(data, "mixCItest")
    table.check()
    return table


def as_gapped(data: Any) -> MixedTable:
    """The data of `mixCItwd`: as of `mixCItest`, but values may be missing. They are checked."""
    table = _one_table(data, "mixCItwd")
    table.check_gaps()
    return table


def _one_table(data: Any, test: str) -> MixedTable:
    several = isinstance(data, list | tuple) and len(data) > 0 and np.ndim(data[0]) == 2
    if several or isinstance(data, MultipleImputation | MixedImputation):
        raise TypeError(f"{test} takes one table; mixMItest takes several imputations, as MixedImputation(tables)")
    return data if isinstance(data, MixedTable) else MixedTable.of(data)


class MixedImputation:
    """M completed copies of one incomplete table of numbers and categories, the data of `mixMItest`.

    Parameters
    ----------
    tables : sequence of M tables (n, p), at least two
        Each a `MixedTable`, or what `MixedTable.of` takes; complete, with the same rows and columns in the same order.
    labels : sequence of str, optional
        Names of the variables, instead of the names of the columns.

    Attributes
    ----------
    values : float64 (M, n, p)
        Numbers, or the codes of categories.
    levels : int64 (p,)
        How many categories each column has, also such as do not occur; 0 for numbers.
    n, p, M : int
    labels : tuple of str, or None

    Raises
    ------
    TypeError, ValueError
        There are fewer than two tables, their shapes, names or kinds of columns differ, or one is not complete.
    """

    def __init__(self, tables: Sequence[Any], labels: Sequence[str] | None = None) -> None:
        if not isinstance(tables, list | tuple):
            raise TypeError(f"tables must be a list of imputations, got {type(tables).__name__}")
        if len(tables) < 2:
            text = "at least 2 imputations, as the variance between them counts"
            raise ValueError(f"tables must hold {text}, got {len(tables)}")
        made = [table if isinstance(table, MixedTable) else MixedTable.of(table) for table in tables]
        check_alike([table.values.shape for table in made], "shape")
        check_alike([table.labels for table in made], "names")
        check_alike([table.categorical.tolist() for table in made], "kinds of columns")
        for table in made:
            if (wrong := ~np.isfinite(table.values).all(axis=0)).any():
                text = "each imputation must be complete and finite; missing or infinite values in "
                raise ValueError(text + listed_at(table.names, wrong))
        made[0].check_texts()
        values, levels = _in_one_coding(made)
        self._set(values, levels, made[0].labels if labels is None else labels)
        warn_of_constants((self.values == self.values[:1, :1]).all(axis=(0, 1)), made[0].names)

    @classmethod
    def from_values(cls, values: Any, levels: Any, labels: Sequence[str] | None = None) -> MixedImputation:
        """The values of M imputations, (M, n, p), with codes from 0 on, and the numbers of levels, 0 for numbers."""
        out = cls.__new__(cls)
        out._set(np.ascontiguousarray(values, dtype=np.float64), np.array(levels, dtype=np.int64), labels)
        return out

    def _set(self, values: Floats, levels: Indices, labels: Sequence[str] | None) -> None:
        self.values, self.levels = values, levels
        self.M, self.n, self.p = values.shape
        self.labels = None if labels is None else check_labels(labels, self.p)

    @property
    def categorical(self) -> Mask:
        """Which columns are of categories, bool (p,)."""
        return self.levels > 0

    @cached_property
    def occurring(self) -> MixedImputation:
        """The same without the categories that occur in no imputation."""
        values, levels = self.values.copy(), self.levels.copy()
        for j in np.flatnonzero(self.categorical).tolist():
            different, codes = np.unique(values[:, :, j], return_inverse=True)
            values[:, :, j], levels[j] = codes.reshape(values.shape[:2]), len(different)
        return MixedImputation.from_values(values, levels, self.labels)

    @cached_property
    def matrices(self) -> Floats:
        """The correlations of the numbers in each imputation, float64 (M, q, q)."""
        return np.array([correlation(np.ascontiguousarray(own[:, ~self.categorical])) for own in self.values])

    @cached_property
    def codes(self) -> MultipleImputation:
        """The categories alone."""
        at = self.categorical
        names = [name for name, chosen in zip(names_for(self.labels, self.p), at.tolist(), strict=True) if chosen]
        codes = self.values[:, :, at].transpose(0, 2, 1)
        return MultipleImputation.from_codes(codes, np.maximum(self.levels[at], 2).tolist(), names)

    def take(self, rows: Indices) -> MixedImputation:
        """The observations in `rows`, int64 (k,), of all imputations, with all categories."""
        return MixedImputation.from_values(self.values[:, rows], self.levels, self.labels)

    def constant_variables(self) -> Indices:
        """None: which variables have one value is not found out where values are missing."""
        return np.zeros(0, dtype=np.int64)

    def arrays(self) -> Iterator[NDArray[Any]]:
        """The arrays that determine the answer."""
        yield self.values
        yield self.levels

    def __repr__(self) -> str:
        return (
            f"MixedImputation(M={self.M}, p={self.p}, n={self.n}, {np.count_nonzero(self.categorical)} of categories)"
        )


def as_imputed(data: Any) -> MixedImputation:
    """The data of `mixMItest`: a `MixedImputation`, or a list of M tables."""
    return data if isinstance(data, MixedImputation) else MixedImputation(data)


def _in_one_coding(tables: Sequence[MixedTable]) -> tuple[Floats, Indices]:
    """The values of several tables, float64 (M, n, p): equal categories have equal codes; and how many there are."""
    values = np.array([table.values for table in tables])
    levels = np.zeros(values.shape[2], dtype=np.int64)
    for j, first in enumerate(tables[0].categories):
        if first is None:
            continue
        each = [table.categories[j] or () for table in tables]
        known = first if all(own == first for own in each) else in_order(set().union(*each))
        place, levels[j] = {category: k for k, category in enumerate(known)}, len(known)
        for m, own in enumerate(each):
            values[m, :, j] = np.array([place[category] for category in own])[values[m, :, j].astype(np.int64)]
    return values, levels
