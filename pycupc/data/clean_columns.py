"""How the columns of a table are read that need a decision: left out, marks for missing values, numbers with a unit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pycupc.data.column_checks import COUNTING_ROWS
from pycupc.data.names import DataError, listed
from pycupc.data.text_columns import TextColumn, marks_of_missing, no_variables
from pycupc.data.text_layout import option
from pycupc.data.units import has_unit
from pycupc.system.localised_message import Message, Words
from pycupc.system.text import counted

#: Names of a first column that names the rows, also by numbers: R's, and pandas' of an index without a name.
_ROW_NAMES = re.compile(r"row[._ ]?names?|unnamed: 0", re.IGNORECASE)
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


def counts_the_rows(name: str, cells: Iterable[float]) -> str:
    """What a first column is in a clause that counts the rows, but not the time, or numbers them; else ""."""
    numbers = np.array(list(cells), dtype=np.float64)
    n, start = len(numbers), numbers[0]
    if n >= COUNTING_ROWS and start in (0, 1) and not _TIME.search(name) and (numbers == np.arange(n) + start).all():
        return f"counts the rows ({start:.0f}, {start + 1:.0f}, {start + 2:.0f}, ...)"
    each_once = len(np.unique(numbers)) == n > 1 and not np.isnan(numbers).any()
    return "numbers the rows" if each_once and _ROW_NAMES.fullmatch(name) else ""
