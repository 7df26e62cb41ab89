"""The one door for data: `Table.of` takes a table in memory or in a file, with the findings of one pass over it."""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data import column_checks
from pycupc.data.categories import (
    MOST_CODES,
    are_numbers,
    check_texts,
    code_table,
    counted,
    doubtful,
    means_missing,
    read_categories,
    values_of,
)
from pycupc.data.column_checks import Ends, Floats, Ints, ends_of
from pycupc.data.in_memory import chosen_columns, converted
from pycupc.data.names import check_labels, listed, listed_at, names_for
from pycupc.data.readers import read_table
from pycupc.data.text_layout import ReadOptions
from pycupc.system.localised_message import Argument, Message, Words
from pycupc.system.logging import logger


@dataclass(frozen=True, eq=False)
class Table:
    """A table of observations: rows are observations, columns are variables."""

    # (n, p): numbers, float64 or float32, NaN where one is missing; or the codes of categories, int64, from 0 on, none
    # missing.
    values: NDArray[Any]
    labels: tuple[str, ...] | None  # tuple of p str, or None: names of the variables
    ends: Ends  # the smallest and the largest value of each column
    categories: tuple[tuple[Any, ...], ...] | None = None  # tuple of p tuples, or None: what each code stands for
    layout: str = ""  # how a file was read, in words
    facts: dict[str, Any] = field(default_factory=dict)  # of a file: path, sha256, number of bytes, rows dropped

    @classmethod
    def of(cls, data: Any, labels: Sequence[str] | None = None, *, categories: bool = False, **options: Any) -> Table:
        """Make a table of data in memory, which are copied unless they are a memory map to read only, or in a file.

        Parameters
        ----------
        data : table, array_like of shape (n, p), or path of a file
            See `pycupc.SuffStat.from_data`; of `categories`, see `pycupc.discrete.DiscreteSuffStat.from_data`.
        labels : sequence of str, optional
            Names of the variables, instead of the names of the columns.
        categories : bool
            Whether to code the values as categories.
        **options
            The attributes of `ReadOptions`; for a table in memory `only`, `drop` and `drop_non_numeric`.

        Raises
        ------
        TypeError, ValueError
            `data` is of another kind (the message says how to convert it), has fewer than 2 rows or columns, or
            `labels` do not fit.

        Warns
        -----
        UserWarning
            Columns or rows that were left out, guesses about the layout of a file, whole numbers beyond 2^53.
        """
        if in_file := isinstance(data, (str, os.PathLike)):
            raw = (read_categories if categories else read_table)(os.fsdecode(data), ReadOptions(**options))
        else:
            data = chosen_columns(data, **options) if options else data
            raw = (values_of if categories else converted)(data, "data")
        values = raw.values
        if not categories:
            check_shape(values)
        labels = raw.labels if labels is None else labels
        checked = None if labels is None else check_labels(labels, values.shape[1])
        if in_file:
            logger.info("read %d observations of %d variables from %s", *values.shape, raw.facts["path"])
        named = raw.rows_have_names
        if labels is not None and column_checks.rows_may_be_variables(len(values), labels, rows_have_names=named):
            _warn_of_rows(len(values), len(labels), raw.facts)
        if categories:
            codes, of_columns = code_table(values, names_for(checked, values.shape[1]))
            high = np.array([len(of_column) - 1.0 for of_column in of_columns])
            return cls(codes, checked, Ends(np.zeros(len(high)), high), of_columns, raw.layout, raw.facts)
        own = values if in_file or is_mapped(values) else np.empty_like(values)  # the caller may change it later
        ends = raw.ends or ends_of(values, None if own is values else own)
        replace(raw, values=own).warn_of_rounding()
        return cls(own, checked, ends, layout=raw.layout, facts=raw.facts)

    @classmethod
    def of_values(cls, values: Floats, labels: tuple[str, ...] | None) -> Table:
        """The table of finite numbers and names that have been checked; it is not copied."""
        return cls(values, labels, ends_of(values))

    @cached_property
    def names(self) -> Sequence[str]:
        """The labels, or names for messages."""
        return names_for(self.labels, self.values.shape[1])

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.values)

    @cached_property
    def constant(self) -> Ints:
        """The columns with one value in all rows, ascending."""
        return np.flatnonzero(self.ends.low == self.ends.high)

    @cached_property
    def copies(self) -> list[list[int]]:
        """Groups of equal columns, without constant ones: ascending, and sorted by their first members."""
        constant = set(self.constant.tolist())
        return [group for group in column_checks.groups_of_copies(self.values) if group[0] not in constant]

    def check(self, *, complete: bool = True) -> None:
        """Check that a table of numbers is complete and finite, and no matrix; see `pycupc.SuffStat.from_data`.

        Unless it must be `complete`, values may be missing, but not all of a column.
        """
        _refuse_matrix(self.values)
        incomplete = self.ends.incomplete()
        if complete:
            self._refuse(incomplete, "{data} must be complete and finite; missing or infinite values in {columns}")
        else:
            gaps = self.values[:, incomplete]
            self._refuse(incomplete[np.isinf(gaps).any(axis=0)], "{data} must be finite; infinite values in {columns}")
            self._refuse(incomplete[np.isnan(gaps).all(axis=0)], "all values are missing in {columns}")
        for remark in self._remarks() if complete else remarks_on(self.values, self.names):
            warnings.warn(remark, stacklevel=3)

    def check_scale(self) -> None:
        """ValueError if squares of the numbers of a column, which varies, are beyond the range of float64."""
        variance_of = np.nanvar if len(self.ends.incomplete()) else np.var
        with np.errstate(over="ignore", invalid="ignore"):
            variance = variance_of(self.values, axis=0)
        wrong = ~((variance > 1e-290) & (variance < 1e290))
        wrong[self.constant] = False
        self._refuse(np.flatnonzero(wrong), "{data} must have variances from 1e-290 to 1e290; others: {columns}")

    def _refuse(self, columns: NDArray[np.int64], text: str) -> None:
        if len(columns):
            raise ValueError(Message(text, data=Argument("data"), columns=listed_at(self.names, columns)))

    def _remarks(self) -> Iterator[str]:
        """Warnings about the columns of a complete table of numbers."""
        yield from remarks_on(self.values, self.names, self.ends)
        if len(self.constant):
            yield f"constant columns have no correlations, hence no edges: {listed_at(self.names, self.constant)}"
        if self.copies:
            groups = listed([" = ".join(self.names[j] for j in group) for group in self.copies], "; ")
            yield f"identical columns cannot be told from each other; consider keeping one of each: {groups}"
        again = {j for group in self.copies for j in group[1:]} | set(self.constant.tolist())
        different = np.array([j for j in range(len(self.names)) if j not in again], dtype=np.int64)
        for members in column_checks.sums_of_columns(self.values, different):
            names = listed([self.names[j] for j in members])
            text = "tests given all but one of them are decided by rounding in every program"
            yield f"{names} are linearly dependent: {text}"

    @cached_property
    def may_be_codes(self) -> bool:
        """Whether every column holds few whole numbers, as codes of categories are."""
        return column_checks.few_whole_numbers(self.values, self.ends, MOST_CODES)

    def warn_of_codes(self) -> None:
        """Warn of numbers that may be codes, where nobody has chosen the Gaussian test, which takes them as numbers."""
        if self.may_be_codes:
            warnings.warn(self.remark_on_codes(), stacklevel=3)

    def remark_on_codes(self) -> Message:
        """The sentence about numbers that may be codes."""
        text = "every column of the data holds few whole numbers, and the Gaussian test runs; if they are codes of "
        text += "categories: {discrete}; if not: {gaussian}"
        in_python = "pc(DiscreteSuffStat.from_data(data), disCItest)"
        discrete = Words(in_python, 'indepTest = "disCItest"', "--test discrete")
        gaussian = Words("indepTest=gaussCItest", 'indepTest = "gaussCItest"', "--test gaussian")
        return Message(text, discrete=discrete, gaussian=gaussian)

    def check_categories(self) -> None:
        """Check that a table of categories holds nothing else, as `check_texts`.

        Numbers are taken for categories, however many; a warning names columns of too many, or with numbers that are
        not whole, and words that may mean "missing".
        """
        known = self.categories or ()
        texts = [None if are_numbers(kept) else kept for kept in known]
        check_texts(self.names, texts, [len(self.values)] * len(known))
        for remark in (*counted(self.names, known, self.facts.get("path", "")), *doubtful(self.names, known)):
            warnings.warn(remark, stacklevel=3)


def remarks_on(X: Floats, names: Sequence[str], ends: Ends | None = None) -> Iterator[str]:
    """Warnings about columns that count the rows, and numbers that may mean a missing value.

    `ends`, without NaN, if they are known.
    """
    ends = ends or Ends(np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0))
    for j, start in column_checks.counting_rows(X, ends):
        yield (
            f"{names[j]} counts {start}, {start + 1}, {start + 2}, ... through the rows; if it is the number of the "
            "row and no variable, leave it out"
        )
    for j, number, count, rest in column_checks.sentinels(X, ends):
        text = "{name} is {number} in {n:,} rows, far from all other values, which are {low:g} to {high:g}"
        said = text.format(name=names[j], number=number, n=count, low=rest.min(), high=rest.max())
        yield Message("{said}; if that means a missing value: {remedy}", said=said, remedy=means_missing([number]))


def _warn_of_rows(n: int, p: int, facts: dict[str, Any]) -> None:
    where = f"{facts['path']}: " if facts else ""
    text = f"{n:,} rows were read as observations, and {p:,} columns as variables; if the rows are variables, as genes"
    way = Words("choose(path, transpose=True), or table.T in memory", "t(x)", "--transpose")
    warnings.warn(Message("{text} often are, transpose the table: {way}", text=where + text, way=way), stacklevel=4)


def is_mapped(values: NDArray[Any]) -> bool:
    """Whether this is a memory map that cannot be written to."""
    return isinstance(values.base, mmap.mmap | np.memmap) and not values.flags.writeable


def check_shape(values: Floats) -> None:
    """ValueError unless this is a table with at least two rows and two columns."""
    if values.ndim != 2:
        raise ValueError(f"data must be a table of shape (n, p), got shape {values.shape}")
    for axis, parts in ((1, "columns (variables)"), (0, "rows (observations)")):
        if values.shape[axis] < 2:
            text = "{data} must have at least 2 {parts}, got {n}"
            raise ValueError(Message(text, data=Argument("data"), parts=parts, n=values.shape[axis]))


def _refuse_matrix(X: Floats) -> None:
    """Raise `ValueError` if a table of observations is a correlation or covariance matrix."""
    if (kind := column_checks.kind_of_matrix(X)) is None:
        return
    n, unit = len(X), kind == "correlation"
    C = "C" if unit else "C / numpy.sqrt(numpy.outer(C.diagonal(), C.diagonal()))"
    with_C = f'pc({{"C": {C}, "n": n}}), on the command line --correlation N{"" if unit else " after that division"}'
    with_C_in_r = f"cu_pc(list(C = {'C' if unit else 'cov2cor(C)'}, n = n), ...)"
    with_data = f'pc({{"C": numpy.corrcoef(data, rowvar=False), "n": {n}}})'
    raise ValueError(
        Message(
            "{data} of shape ({n}, {n}) are symmetric with {values} on the diagonal. If this is a {kind} matrix C of n "
            "observations: {with_C}. If it is a table of {n} observations after all: {with_data}",
            data=Argument("data"),
            n=n,
            values="1" if unit else "positive values",
            kind=kind,
            with_C=Words(with_C, with_C_in_r),
            with_data=Words(with_data, f"cu_pc(list(C = cor(x), n = {n}), ...)"),
        )
    )
