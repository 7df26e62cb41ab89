"""Tables whose columns are numbers or categories: what a column is, and the categories as codes."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.binary import NUMERIC
from pycupc.data.categories import (
    check_marks,
    check_texts,
    counted,
    doubtful,
    is_missing,
    kept_columns,
    read_categories,
    values_of,
    with_gaps,
)
from pycupc.data.column_checks import Ends
from pycupc.data.in_memory import RawTable, chosen_columns, column_names, is_frame
from pycupc.data.names import check_labels, is_real, listed, listed_at, names_for, warn_of_constants
from pycupc.data.table import Table, check_shape, remarks_on
from pycupc.data.text_layout import MISSING, ReadOptions, is_number

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class MixedTable:
    """A table of numbers and categories: rows are observations, columns are variables.

    Attributes
    ----------
    values : float64 (n, p)
        Numbers, or the codes 0, 1, ... of categories; NaN where one is missing.
    categories : tuple of p tuples, or None for a column of numbers
        What each code stands for.
    ordered : tuple of p bool
        Whether the codes are in the order of an ordered type.
    labels : tuple of p str, or None
    layout, facts
        As of `Table`.
    """

    values: Floats
    categories: tuple[tuple[Any, ...] | None, ...]
    ordered: tuple[bool, ...]
    labels: tuple[str, ...] | None = None
    layout: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    checked: bool = False  # whether `check` has accepted the table, or the table of which this one is a resample

    @classmethod
    def of(cls, data: Any, labels: Sequence[str] | None = None, **options: Any) -> MixedTable:
        """Make a table of a DataFrame, an array (n, p), or a file.

        A column of numbers stays numeric; a column of strings, booleans or categories becomes categorical, with the
        categories of an ordered type in their order, and others sorted. In a file without types, a column with other
        cells than numbers is categorical.

        Parameters
        ----------
        data : DataFrame, array_like, or path of a file
        labels : sequence of str, optional
        **options
            As of `Table.of`, and ``missing="keep"`` of a file, which leaves gaps.

        Raises
        ------
        TypeError, ValueError
            `data` is of another kind; `labels` do not fit; a column holds numbers beside a mark of missing values, such
            as ?.
        """
        if isinstance(data, (str, os.PathLike)):
            chosen = ReadOptions(**options)
            file = read_categories(os.fsdecode(data), replace(chosen, drop_non_numeric=False))
            columns = _columns_of_file(file, chosen.decimal)
            names, layout, facts = file.labels, file.layout, file.facts
        else:
            data = chosen_columns(data, **options) if options else data
            columns, names = _columns_in_memory(data), column_names(data)
            layout, facts = "", {}
        labels = names if labels is None else labels
        checked = None if labels is None else check_labels(labels, len(columns))
        numbers, categories, ordered = zip(*map(_codes_of, columns), strict=True)
        values = np.column_stack(numbers)
        values.flags.writeable = False  # so that a check holds for all later calls
        check_shape(values)
        check_marks(names_for(checked, len(columns)), categories)
        return cls(values, categories, ordered, checked, layout, facts)

    def __repr__(self) -> str:
        n, p = self.values.shape
        return f"MixedTable(p={p}, n={n}, {np.count_nonzero(self.categorical)} of categories)"

    @property
    def names(self) -> Sequence[str]:
        """The labels, or names for messages."""
        return names_for(self.labels, self.values.shape[1])

    @cached_property
    def categorical(self) -> NDArray[np.bool_]:
        """Which columns are of categories, bool (p,)."""
        return np.array([categories is not None for categories in self.categories])

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.values)

    @property
    def p(self) -> int:
        """Number of variables."""
        return int(self.values.shape[1])

    def check_texts(self) -> None:
        """Raise `ValueError` if a column of categories holds none, as `pycupc.data.categories.check_texts`."""
        columns = zip(self.categories, self.occurring, strict=True)
        known = [
            None if own is None or occur is None else [own[code] for code in np.flatnonzero(occur).tolist()]
            for own, occur in columns
        ]
        check_texts(self.names, known, (~np.isnan(self.values)).sum(axis=0).tolist())

    def as_numbers(self) -> Table:
        """The table with codes for numbers, as latent correlations take it.

        Raises
        ------
        ValueError
            A column has three or more categories of a type without order; the message names it.
        """
        without = [
            f"{name} ({listed(categories, most=4)})"
            for name, categories, ordered in zip(self.names, self.categories, self.ordered, strict=True)
            if categories is not None and len(categories) > 2 and not ordered
        ]
        if without:
            raise ValueError(
                "latent correlations need an order of the categories, and these columns have none: "
                f"{listed(without, '; ')}; write numbers in place of the words, use an ordered type "
                "(pandas.Categorical), or mixCItest (--test mixed), which needs no order"
            )
        return replace(Table.of_values(self.values, self.labels), layout=self.layout, facts=self.facts)

    def check(self) -> None:
        """Check that nothing is missing or infinite; a warning names columns with one value.

        Raises
        ------
        ValueError
            Values are missing or infinite, or a column of categories has too many, as names and numbers with a unit
            have; the message names the columns.
        """
        self._check(gaps=False)

    def check_gaps(self) -> None:
        """As `check`, but values may be missing, though not all of a column."""
        self._check(gaps=True)

    def _check(self, *, gaps: bool) -> None:
        """Check the table, unless an earlier check holds, as the values cannot have changed; and warn again."""
        if self.checked:
            return
        how = gaps, kept_columns()
        if (remarks := self._remarks.get(how)) is None:
            remarks = self._checked(gaps)
            if not self.values.flags.writeable:
                self._remarks[how] = remarks
        warn_of_constants(self.constant, self.names)
        for remark in remarks:
            warnings.warn(remark, stacklevel=4)
        if not self.categorical.any():
            Table.of_values(self.values, self.labels).warn_of_codes()

    @cached_property
    def _remarks(self) -> dict[tuple[bool, frozenset[str]], list[str]]:
        """The warnings of earlier checks."""
        return {}

    def _checked(self, gaps: bool) -> list[str]:
        """Raise ValueError if values are wrong; returns warnings."""
        self.check_texts()
        wrong = np.isinf(self.values) if gaps else ~np.isfinite(self.values)
        if (columns := wrong.any(axis=0)).any():
            text = "finite; infinite" if gaps else "complete and finite; missing or infinite"
            raise ValueError(f"data must be {text} values in {listed_at(self.names, columns)}")
        if gaps and (empty := np.isnan(self.values).all(axis=0)).any():
            raise ValueError(f"all values are missing in {listed_at(self.names, empty)}")
        of_texts = (
            *counted(self.names, self.categories, self.facts.get("path", "")),
            *doubtful(self.names, self.categories),
        )
        return [*remarks_on(self.values, self.names, self._ends), *of_texts]

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """Which variables have one value, bool (p,), where they are not missing."""
        return np.asarray(self._ends.low == self._ends.high)

    @cached_property
    def _ends(self) -> Ends:
        return Ends(np.fmin.reduce(self.values), np.fmax.reduce(self.values))

    def constant_variables(self) -> NDArray[np.int64]:
        """The variables that have one value, by their positions."""
        return np.flatnonzero(self.constant)

    def take(self, rows: NDArray[np.int64]) -> MixedTable:
        """The observations in `rows`, int64 (k,), with the categories of the whole table."""
        return replace(self, values=self.values[rows], checked=True)

    def arrays(self) -> Iterator[NDArray[Any]]:
        """The arrays that determine the answer: the values, and how many categories each column has."""
        yield self.values
        yield np.array([-1 if categories is None else len(categories) for categories in self.categories])

    def numbers(self) -> Floats:
        """The columns of numbers, float64 (n, q)."""
        return self.values[:, ~self.categorical]

    def cells(self) -> NDArray[Any]:
        """The numbers and categories themselves, object (n, p), None where one is missing."""
        out = np.empty(self.values.shape, dtype=object)
        for j, (column, own) in enumerate(zip(self.values.T.tolist(), self.categories, strict=True)):
            known = [None if math.isnan(v) else v if own is None else own[int(v)] for v in column]
            out[:, j] = known
        return out

    def codes(self, columns: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The codes of columns of categories, int64 (n, q), without the categories that do not occur."""
        codes = self.values[:, columns].astype(np.int64)
        for k, j in enumerate(np.asarray(columns).tolist()):
            if (occur := self.occurring[j]) is not None and not occur.all():
                codes[:, k] = (occur.cumsum() - 1)[codes[:, k]]
        return codes

    @cached_property
    def occurring(self) -> tuple[NDArray[np.bool_] | None, ...]:
        """Which of the codes from 0 to the largest occur in each column of categories."""
        columns = zip(self.values.T, self.categories, strict=True)
        return tuple(None if own is None else _occurring(column) for column, own in columns)

    @cached_property
    def n_occurring(self) -> NDArray[np.int64]:
        """How many categories occur in each column, int64 (p,); 0 for numbers."""
        return np.array([0 if occur is None else np.count_nonzero(occur) for occur in self.occurring], dtype=np.int64)


def _occurring(column: Floats) -> NDArray[np.bool_]:
    codes = column[~np.isnan(column)] if np.isnan(column.sum()) else column
    return np.bincount(codes.astype(np.int64)) > 0


def _columns_of_file(file: RawTable, decimal: str) -> list[list[Any]]:
    """The columns of texts of a file as lists: numbers where all are, unless the type of a column says otherwise."""
    columns, types = (column.tolist() for column in file.values.T), file.types or [""] * len(file.names)
    return [
        cells if kind and not NUMERIC.match(kind) else _of_texts(cells, decimal)
        for cells, kind in zip(columns, types, strict=True)
    ]


def _of_texts(cells: list[str | None], decimal: str) -> list[Any]:
    """The cells of a column as numbers if all are, else as texts; None where one is missing."""
    plain = [None if cell is None else cell.replace(decimal, ".") for cell in cells]
    if not all(cell is None or is_number(cell) for cell in plain):
        return list(cells)
    return [None if cell is None or cell.casefold() in MISSING else float(cell) for cell in plain]


def _columns_in_memory(data: Any) -> list[Any]:
    """The columns of a table: lists with None where a value is missing, or for pandas categories the column itself."""
    if is_frame(data):
        return [data[name] for name in data.columns]
    values = values_of(data, "data").values
    return [values[:, j].tolist() for j in range(values.shape[1])]


def _codes_of(column: Any) -> tuple[Floats, tuple[Any, ...] | None, bool]:
    """The numbers of a column and None; or its codes, its categories, and whether they are ordered."""
    kind: Any = getattr(column, "dtype", None)
    if hasattr(kind, "categories") and hasattr(getattr(column, "cat", None), "codes"):  # of pandas, maybe ordered
        codes = np.asarray(column.cat.codes, dtype=np.float64)
        used, values = np.unique(codes[codes >= 0]), np.full(len(codes), np.nan)
        values[codes >= 0] = np.searchsorted(used, codes[codes >= 0])
        return values, tuple(kind.categories[int(code)] for code in used), bool(kind.ordered)
    cells = column if isinstance(column, list) else column.to_numpy().tolist()
    if all(is_missing(cell) or is_real(cell) for cell in set(cells)):
        return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells]), None, False
    different, whole = with_gaps(cells)
    return np.where(whole < 0, np.nan, whole), different, False
