"""The data of tests for missing values: several imputations of a table, or a table with gaps."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import (
    are_numbers,
    check_texts,
    counted,
    doubtful,
    in_order,
    refuse_measurements,
    values_of,
    whole,
    with_gaps,
)
from pycupc.data.names import check_labels, listed, listed_at, names_for, warn_of_constants
from pycupc.data.table import Table
from pycupc.data.text_columns import MOST_LEVELS
from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.correlation import correlation, scaled
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat, check_n

Codes = NDArray[np.uint8]
#: The code of a missing value where codes have 8 bits (kernels/missing/tables.cuh).
GAP = MOST_LEVELS


class MultipleImputation:
    """M completed copies of one incomplete table, the data of `gaussMItest` and `disMItest`.

    Parameters
    ----------
    tables : sequence of M tables (n, p), at least two
        Complete tables of the same shape; any kind that `SuffStat.from_data` takes. Their columns are in one order.
    labels : sequence of str, optional
        Names of the variables, instead of the names of the columns.
    categories : bool, default False
        Whether the values are categories: then `disMItest` is the test, else `gaussMItest`.

    Attributes
    ----------
    matrices : float64 (M, p, p)
        The correlations of each imputation; of numbers only.
    codes : uint8 (M, p, n)
        The codes of each imputation, and `levels`, int64 (p,), how many there are; of categories only.
    rows : sequence of float64 (n, p), or None
        The numbers of each imputation, where they are known. If columns of extreme numbers are scaled by powers of two,
        `in_units` is False.
    n, p : float, int
    labels : tuple of str, or None

    Raises
    ------
    TypeError, ValueError
        There are fewer than two tables, their shapes or names differ, or one of them is not complete.
    """

    def __init__(self, tables: Sequence[Any], labels: Sequence[str] | None = None, *, categories: bool = False) -> None:
        made = [Table.of(table, labels, categories=categories) for table in _several(tables, "tables")]
        check_alike([table.values.shape for table in made], "shape")
        check_alike([table.labels for table in made], "names")
        (self.n, self.p), self.labels = made[0].values.shape, made[0].labels
        self.rows: tuple[Floats, ...] | None = None
        if categories:
            made[0].check_categories()
            self.codes, self.levels = _in_one_coding(made)
            return
        for table in made:
            if len(incomplete := table.ends.incomplete()):
                text = "each imputation must be complete and finite; missing or infinite values in "
                raise ValueError(text + listed_at(table.names, incomplete))
        self.rows = tuple(scaled(table.values, table.ends) for table in made)
        self.in_units = all(own is table.values for own, table in zip(self.rows, made, strict=True))
        self.matrices = np.array([correlation(values) for values in self.rows])
        warn_of_constants(np.isin(np.arange(self.p), made[0].constant), made[0].names)

    @classmethod
    def from_correlations(
        cls, matrices: Sequence[Any], n: float, labels: Sequence[str] | None = None
    ) -> MultipleImputation:
        """The correlation matrices of M imputations, as micd's ``getSuff`` makes them, and the number of observations.

        TypeError or ValueError if they are not correlation matrices of one shape.
        """
        out = cls.__new__(cls)
        made = [SuffStat(C, n, labels) for C in _several(matrices, "matrices")]
        check_alike([stat.C.shape for stat in made], "shape")
        out.matrices, out.rows = np.array([stat.C for stat in made]), None
        for stat in made:
            facts = MatrixFacts.of(stat.C)
            stat.check(replace(facts, nan_count=np.zeros_like(facts.nan_count)), names_for(stat.labels, stat.p))
        out.n, out.p, out.labels = check_n(n), made[0].p, made[0].labels
        return out

    @classmethod
    def from_codes(cls, codes: Any, levels: Sequence[int], labels: Sequence[str] | None = None) -> MultipleImputation:
        """The codes of M imputations, (M, p, n), from 0 on, and the number of levels of each variable."""
        out = cls.__new__(cls)
        out.codes, out.levels, out.rows = np.array(codes, dtype=np.uint8), np.array(levels, dtype=np.int64), None
        _, out.p, out.n = out.codes.shape
        out.labels = None if labels is None else check_labels(labels, out.p)
        _check_levels(out.levels, names_for(out.labels, out.p))
        return out

    @property
    def categories(self) -> bool:
        """Whether the values are categories."""
        return hasattr(self, "codes")

    @property
    def M(self) -> int:
        """Number of imputations."""
        return len(self.codes if self.categories else self.matrices)

    def take(self, rows: Indices) -> MultipleImputation:
        """The observations in `rows`, int64 (k,), of all imputations."""
        out = copy.copy(self)
        out.n = len(rows)
        if self.categories:
            out.codes = np.ascontiguousarray(self.codes[:, :, rows])
            return out
        if self.rows is None:
            raise ValueError("resampling draws rows, which correlation matrices do not have")
        out.rows = tuple(values[rows] for values in self.rows)
        out.matrices = np.array([correlation(values) for values in out.rows])
        return out

    def constant_variables(self) -> Indices:
        """None: which variables have one value is not found out where values are missing."""
        return np.zeros(0, dtype=np.int64)

    def arrays(self) -> Iterator[NDArray[Any]]:
        """The arrays that determine the answer."""
        yield from (self.codes, self.levels) if self.categories else self.rows or (self.matrices,)

    def __repr__(self) -> str:
        kind = "categories" if self.categories else "numbers"
        return f"MultipleImputation(M={self.M}, p={self.p}, n={self.n}, {kind})"


class IncompleteTable:
    """A table with missing values, the data of `gaussCItwd` and `disCItwd`: each test leaves out incomplete rows.

    Parameters
    ----------
    data : table (n, p)
        Numbers, missing ones NaN (or None, or masked); or, with `categories`, whole numbers or any categories.
    labels : sequence of str, optional
    categories : bool, default False
    adaptDF : bool, default False
        Of categories: lower the degrees of freedom by the number of empty cells, but not below 1.
    **options
        How to read a file, as for `pycupc.data.read_data`.

    Attributes
    ----------
    values : float64 (n, p), NaN where missing; or int16 (n, p), -1 where missing
        If columns of extreme numbers are scaled by powers of two, `in_units` is False.
    labels : tuple of str, or None
    adaptDF, categories : bool

    Raises
    ------
    TypeError, ValueError
        `data` is of another kind or has infinite values, or a variable has no values at all.
    """

    def __init__(
        self, data: Any, labels: Sequence[str] | None = None, *, categories: bool = False, adaptDF: bool = False,
        **options: Any,
    ) -> None:  # fmt: skip
        self.categories, self.adaptDF = categories, bool(adaptDF)
        names: Sequence[str] | None
        if categories:
            raw = values_of(data, "dm")
            names = raw.labels
            self.values: NDArray[Any] = _codes(raw.values, raw.names if labels is None else labels)
        else:
            table = data if isinstance(data, Table) else Table.of(data, labels, **options)
            table.check(complete=False)
            self.values, names = table.values, table.labels
            seen = np.nan_to_num(self.values)
            self.in_units = (own := scaled(seen)) is seen
            self.values = own + np.where(np.isnan(self.values), np.nan, 0.0)
        labels, missing = names if labels is None else labels, self.missing
        self.n, self.p = self.values.shape
        self.labels = None if labels is None else check_labels(labels, self.p)
        names = names_for(self.labels, self.p)
        if (empty := missing.all(axis=0)).any():
            raise ValueError(f"all values are missing in {listed_at(names, empty)}")
        seen = np.where(missing, np.nan, self.values)
        warn_of_constants(np.fmax.reduce(seen) == np.fmin.reduce(seen), names)
        there = (~missing).astype(np.float32)
        if (few := np.argwhere(there.T @ there < 2)).size:
            pairs = listed([f"{names[i]} and {names[j]}" for i, j in few.tolist() if i < j] or [names[few[0][0]]])
            text = f"fewer than 2 observations are complete in {pairs}: without imputation their p-value is NaN"
            warnings.warn(text, stacklevel=2)

    @classmethod
    def of_checked(cls, values: Floats, *, categories: bool = False, adaptDF: bool = False) -> IncompleteTable:
        """A table of numbers, or of codes from 0 on, that have been checked; NaN where one is missing."""
        out = cls.__new__(cls)
        out.categories, out.adaptDF, out.labels, out.in_units = categories, adaptDF, None, True
        out.values = np.where(np.isnan(values), -1, values).astype(np.int16) if categories else values
        out.n, out.p = values.shape
        return out

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where values are missing, bool (n, p)."""
        return self.values < 0 if self.categories else np.isnan(self.values)

    def centred(self) -> Floats:
        """The numbers less the mean of their column, (p, n), 0 where missing; rounding may make two numbers equal.

        Fast sums of the differences lose no digits where the numbers are far from zero.
        """
        there = ~self.missing.T
        values = np.where(there, self.values.T, 0.0)
        means = values.sum(axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1)
        return np.ascontiguousarray(np.where(there, values - means, 0.0))

    def take(self, rows: Indices) -> IncompleteTable:
        """The observations in `rows`, int64 (k,)."""
        out = copy.copy(self)
        out.values, out.n = self.values[rows], len(rows)
        return out

    def constant_variables(self) -> Indices:
        """None: which variables have one value is not found out where values are missing."""
        return np.zeros(0, dtype=np.int64)

    def arrays(self) -> Iterator[NDArray[Any]]:
        """The arrays that determine the answer."""
        yield self.values

    def __repr__(self) -> str:
        return f"IncompleteTable(p={self.p}, n={self.n}, {self.missing.mean():.1%} missing)"


def as_imputation(suffStat: Any, *, categories: bool = False) -> MultipleImputation:
    """Accept a `MultipleImputation`, or micd's suffStat: M correlation matrices and n, or M tables of categories."""
    test = "disMItest" if categories else "gaussMItest"
    if isinstance(suffStat, MultipleImputation):
        if suffStat.categories != categories:
            other = "MultipleImputation(tables, categories=True)" if categories else "numbers, and not categories"
            raise TypeError(f"{test} needs {other}, got {suffStat!r}")
        return suffStat
    if not isinstance(suffStat, list | tuple):
        expected = "a list of M tables" if categories else "a list of M correlation matrices and n"
        given = type(suffStat).__name__
        raise TypeError(f"suffStat must be a MultipleImputation or {expected} for {test}, got {given}")
    if categories:
        return MultipleImputation(suffStat, categories=True)
    if not suffStat or np.ndim(suffStat[-1]) != 0:
        raise TypeError("suffStat must be a list of M correlation matrices and, last, the number of observations")
    return MultipleImputation.from_correlations(suffStat[:-1], suffStat[-1])


def as_incomplete(suffStat: Any, *, categories: bool = False) -> IncompleteTable:
    """Accept an `IncompleteTable`, a table, or for categories a mapping with "dm" and "adaptDF"."""
    if isinstance(suffStat, IncompleteTable):
        if suffStat.categories != categories:
            kind, test = ("categories", "disCItwd") if categories else ("numbers", "gaussCItwd")
            raise TypeError(f"{test} needs an IncompleteTable of {kind}, got one of the other kind")
        return suffStat
    if categories and isinstance(suffStat, Mapping):
        if suffStat.get("dm") is None:
            raise ValueError("suffStat lacks 'dm' (codes, n rows and p columns)")
        return IncompleteTable(suffStat["dm"], categories=True, adaptDF=suffStat.get("adaptDF", False))
    return IncompleteTable(suffStat, categories=categories)


def _several(values: Any, name: str) -> list[Any]:
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise TypeError(f"{name} must be a list of imputations, got {type(values).__name__}")
    if len(values) < 2:
        text = "at least 2 imputations, as the variance between them counts"
        raise ValueError(f"{name} must hold {text}, got {len(values)}")
    return list(values)


def check_alike(facts: Sequence[Any], what: str) -> None:
    """Raise ValueError unless the imputations agree in this fact."""
    if (other := next((k for k, fact in enumerate(facts) if fact != facts[0]), None)) is not None:
        text = f"{facts[0]} in the first, {facts[other]} in number {other + 1}"
        raise ValueError(f"all imputations must have the same {what}: {text}")


def _in_one_coding(tables: Sequence[Table]) -> tuple[Codes, Indices]:
    """The codes of several tables, uint8 (M, p, n): equal categories have equal codes; and how many there are."""
    categories = [table.categories or () for table in tables]
    known = [in_order(set().union(*of_each)) for of_each in zip(*categories, strict=True)]
    levels = np.array([len(of_column) for of_column in known])
    _check_levels(levels, tables[0].names)
    places = [{category: k for k, category in enumerate(of_column)} for of_column in known]
    codes = np.empty((len(tables), len(known), len(tables[0].values)), dtype=np.uint8)
    for m, table in enumerate(tables):
        for j, (place, own) in enumerate(zip(places, categories[m], strict=True)):
            codes[m, j] = np.array([place[category] for category in own])[table.values[:, j]]
    warn_of_constants(levels < 2, tables[0].names)
    return codes, np.maximum(levels, 2)


def _check_levels(levels: NDArray[np.integer], names: Sequence[str]) -> None:
    for name, k in zip(names, levels.tolist(), strict=True):
        if k > MOST_LEVELS:
            raise ValueError(f"a variable may have at most {MOST_LEVELS} levels; {name} has {k}")


def _codes(values: NDArray[Any], names: Sequence[str]) -> NDArray[np.int16]:
    """The codes of a table of categories, int16, -1 where one is missing; numbers stay as they are."""
    if values.dtype.kind in "iubf":
        wrong = ~(np.isnan(values) | ((values == np.floor(values)) & (values >= 0) & (values < MOST_LEVELS)))
        if len(columns := np.flatnonzero(wrong.any(axis=0))):
            text = f"codes must be whole numbers from 0 to {MOST_LEVELS - 1}; {names[columns[0]]} has others"
            raise ValueError(text)
        return np.where(np.isnan(values), -1, values).astype(np.int16)
    kept, codes = zip(*(with_gaps(column.tolist(), whole) for column in values.T), strict=True)
    refuse_measurements(names, kept)
    check_texts(names, [None if are_numbers(own) else own for own in kept], [int((own >= 0).sum()) for own in codes])
    _check_levels(np.array(list(map(len, kept))), names)
    for remark in (*counted(names, kept), *doubtful(names, kept)):
        warnings.warn(remark, stacklevel=4)
    return np.column_stack(codes).astype(np.int16)
