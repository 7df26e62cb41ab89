"""How the columns of a table are read that need a decision: left out, marks for missing values, numbers with a unit."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.column_checks import COUNTING_ROWS
from pycupc.data.names import DataError, listed
from pycupc.data.text_columns import MANY_TEXTS, TextColumn, marks_of_missing, no_variables
from pycupc.data.text_layout import option
from pycupc.data.units import has_unit
from pycupc.system.localised_message import Message, Words
from pycupc.system.text import counted

#: Names of a first column that names the rows, also by numbers: R's, and pandas' of an index without a name.
_ROW_NAMES = re.compile(r"row[._ ]?names?|unnamed: 0", re.IGNORECASE)
#: Names of identifiers.
_IDENTIFIER = re.compile(r"(?i:(?:^|[\W_\d])id$|identifier)|[a-z]I[Dd]$")
#: Names of columns that count the rows because they are the time.
_TIME = re.compile(r"time|date|day|week|month|quarter|year|hour|minute|second|age|t$", re.IGNORECASE)


@dataclass(frozen=True)
class Decisions:
    """What is decided about columns, by their names.

    `out`: what the columns are, which are left out since they are no variables. `marks`: the text that means a missing
    value. `units`: the unit of the numbers. `columns`: as they were before.
    """

    out: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, TextColumn] = field(default_factory=dict)

    @classmethod
    def of(
        cls, columns: Mapping[str, TextColumn], keep: Sequence[str], *, decimal: str = ".", numbers: bool = True
    ) -> Decisions:
        """The decisions about columns of text, but those to `keep`.

        `numbers`: whether texts may be numbers with a unit, and marks beside numbers; a test of categories takes them
        as they stand. ValueError if a column holds numbers with units that cannot be read.
        """
        out = no_variables(columns, keep)
        rest = {name: kind for name, kind in columns.items() if name not in out and name not in keep} if numbers else {}
        found = {name: kind.unit(decimal) for name, kind in rest.items()}
        wrong = {name: unit.problem for name, unit in found.items() if unit.problem}
        if wrong:
            said = listed([f"{name} {problem}" for name, problem in wrong.items()], "; ")
            text = (
                "numbers with a unit need the same unit in all rows, and a point or comma that is known ({decimal}): "
            )
            text += (
                "{said}. Correct them, or leave the column out: {drop}; as texts: {keep}; a text that means a missing "
            )
            text += "value: {na}"
            way = Words(option("decimal", "," if decimal == "." else "."), "dec of read.csv")
            na = Words(option("na", ["TEXT"]), "na.strings of read.csv")
            ways = {name: _option(name, wrong) for name in ("drop", "keep")}
            raise DataError(Message(text, said=said, decimal=way, na=na, **ways))
        units = {name: unit.name for name, unit in found.items() if unit.name}
        return cls(out, marks_of_missing(rest, units), units, columns)

    def __bool__(self) -> bool:
        return bool(self.out or self.marks or self.units)

    @property
    def parts(self) -> dict[str, Message]:
        """The sentences, each by the name under which the manifest has it."""
        found = {}
        if self.out:
            said = listed([f"{name} {why}" for name, why in self.out.items()], "; ")
            text = "left out, since no variables: {said} (to keep: {keep})"
            found["columns_left_out"] = Message(text, said=said, keep=_option("keep", self.out))
        if self.units:
            first = {name: next(filter(has_unit, self.columns[name].texts)) for name in self.units}
            said = listed([f"{name} in {unit} (such as {first[name]!r})" for name, unit in self.units.items()])
            text = "read as numbers, without their unit: {said} (to keep the texts: {keep})"
            found["units"] = Message(text, said=said, keep=_option("keep", self.units))
        if self.marks:
            counts = {name: counted(sum(self.columns[name].marks.values()), "row") for name in self.marks}
            said = listed([f"{mark!r} in {name} ({counts[name]})" for name, mark in self.marks.items()])
            found["marks_of_missing"] = Message("taken for missing values, beside numbers: {said}", said=said)
        return found

    @property
    def said(self) -> str | Message:
        """All sentences as one."""
        together: str | Message = ""
        for part in self.parts.values():
            together = Message("{first}; {second}", first=together, second=part) if together else part
        return together


#: The facts of the manifest about the data that were decided, and rows that were left out.
FACTS = ("columns_left_out", "units", "marks_of_missing", "rows_dropped")


def _option(name: str, columns: Iterable[str]) -> Words:
    """How to keep columns, or to leave them out."""
    names = list(columns)
    quoted = ", ".join(f'"{one}"' for one in names)
    in_r = f"x[setdiff(names(x), c({quoted}))]" if name == "drop" else f"factor() of {quoted}, or indepTest"
    return Words(f"{name}={names}", in_r, " ".join([f"--{name}", *map(shlex.quote, names)]))


def with_doubts(data: Any, error: DataError | TypeError, columns: Mapping[str, TextColumn]) -> DataError | TypeError:
    """The error; where only some columns of text hold numbers as well, it begins with these."""
    names = [name for name, kind in columns.items() if kind.numbers and not kind.only_marks]
    if not names or len(names) == len(columns) or not isinstance(error, DataError):
        return error
    texts = {name: listed([*map(repr, columns[name].texts)], most=2) for name in names}
    text = (
        "{path}: {said} hold numbers beside other texts: if these mean a missing value: {na}; if all are categories: "
    )
    text += "{keep}; else: {drop}. {error}"
    ways = {"na": option("na", list(columns[names[0]].texts)[:1]), "drop": option("drop", names)}
    said = listed([f"{name} ({texts[name]})" for name in names])
    return DataError(
        Message(text, path=os.fspath(data), said=said, keep=_option("keep", names), error=error.args[0], **ways)
    )


def numbers_the_rows(name: str, cells: Iterable[float], *, first: bool) -> str:
    """What a column of numbers is in a clause that counts the rows, or gives each another number; else "".

    The `first` column counts them unless its name says that it is the time, and numbers them if it is called row names;
    others have the name of an identifier. Numbers such as 19901231 are dates where the name says so.
    """
    numbers = np.array(list(cells), dtype=np.float64)
    n, start = len(numbers), numbers[0]
    may_count = first and n >= COUNTING_ROWS and start in (0, 1) and not _TIME.search(name)
    if may_count and (numbers == np.arange(n) + start).all():
        return f"counts the rows ({start:.0f}, {start + 1:.0f}, {start + 2:.0f}, ...)"
    whole = bool((numbers == np.floor(numbers)).all())
    if whole and "date" in name.casefold() and _are_dates(numbers):
        return "holds dates"
    named = (first and _ROW_NAMES.fullmatch(name) is not None) or (_IDENTIFIER.search(name) is not None and whole)
    each_once = named and n >= COUNTING_ROWS and len(np.unique(numbers)) == n and not np.isnan(numbers).any()
    return "numbers the rows" if each_once else ""


def is_identifier(name: str) -> bool:
    """Whether a column has the name of an identifier or a date: id, patient_id, LocationID, but not paid."""
    return _IDENTIFIER.search(name) is not None or "date" in name.casefold()


def _are_dates(numbers: NDArray[np.float64]) -> bool:
    """Whether whole numbers are different dates, as 19901231."""
    year, month, day = numbers // 10_000, numbers // 100 % 100, numbers % 100
    valid = (year > 1000) & (year < 3000) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(valid.all()) and len(np.unique(numbers)) > MANY_TEXTS
