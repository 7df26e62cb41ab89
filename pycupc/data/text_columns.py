"""Columns of text: how many cells are numbers, words or marks of missing values, and which columns are no variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pycupc.data.dates import are_dates, are_dates_in_order
from pycupc.data.names import DataError, listed
from pycupc.data.text_layout import NUMBER, is_mark, like_a_number, option
from pycupc.data.units import Unit, has_unit, unit_in
from pycupc.system.localised_message import Words

#: From this number of different texts on, they are names or free text if they have fewer than two rows each. No test of
#: them is made then, however many rows there are: a test needs 5 or 10 for each degree of freedom.
MANY_TEXTS = 10
#: Largest number of different values of a categorical column, since the tests store the code of a value in one byte.
MOST_LEVELS = 255
#: Mean length from which on different texts, most of several words, are free text rather than names.
LONG = 25


@dataclass
class TextColumn:
    """The cells of a column: numbers, words, and numbers that are written in another form."""

    numbers: int = 0
    words: int = 0
    other_forms: int = 0
    marks: dict[str, int] = field(default_factory=dict)  # of missing values, perhaps; they count as words, too
    texts: dict[str, None] = field(default_factory=dict)  # different ones that are no plain numbers, as they come
    last: str = ""
    comes_again: bool = False  # whether a text comes again after another

    @classmethod
    def of(cls, cells: Iterable[Any]) -> TextColumn:
        """A column of any values; None and NaN are missing."""
        column = cls()
        for cell in cells:
            if cell is None or cell != cell or str(cell) in ("<NA>", "NaT"):
                continue
            if isinstance(cell, int | float) or NUMBER.fullmatch(str(cell)):
                column.numbers += 1
            else:
                column.add(str(cell))
        return column

    def add(self, cell: str) -> None:
        """Count a cell that is neither a plain number nor empty."""
        other = like_a_number(cell)
        self.other_forms += other
        self.words += not other
        if is_mark(cell):
            self.marks[cell] = self.marks.get(cell, 0) + 1
        self.comes_again |= cell != self.last and cell in self.texts
        self.texts[cell], self.last = None, cell

    @property
    def rows(self) -> int:
        """Number of cells that are not missing."""
        return self.numbers + self.words + self.other_forms

    @property
    def only_marks(self) -> bool:
        """Whether all cells but numbers may be marks of missing values."""
        return self.numbers > 0 and sum(self.marks.values()) == self.words + self.other_forms

    def __str__(self) -> str:
        others = self.words + self.other_forms
        return f" ({others:,} of {others + self.numbers:,} cells)" if self.numbers else ""

    def example(self) -> str:
        """How many texts there are, and one of them, in brackets; "" without any."""
        if not self.texts:
            return ""
        k, others, first = len(self.texts), self.words + self.other_forms, next(iter(self.texts))
        many = f"{others:,} of {others + self.numbers:,} cells" if self.numbers else f"{k:,} different texts"
        return f" (only {first!r})" if k == 1 and not self.numbers else f" ({many}, such as {first!r})"

    def no_variable(self) -> str:
        """What the texts are in a clause, if they are no variable: names of rows, free text, dates; else "".

        Words that are few for the number of rows may be categories, and numbers with a unit are numbers.
        """
        k, n = len(self.texts), self.rows
        if k <= MANY_TEXTS:
            each_once = self.words == k == n > 2 and not self.comes_again
            return "names the rows" if each_once and not any(map(has_unit, self.texts)) else ""
        if not self.numbers and not self.comes_again and are_dates_in_order(self.texts):
            return "holds dates in order"
        different = f"{k:,} different texts in {n:,} rows"
        if not self.numbers and are_dates(self.texts):
            return f"holds dates ({different})"
        if k > MOST_LEVELS and not self.numbers and not self.other_forms and 2 * k <= n:
            return f"has more categories than a test takes, which is {MOST_LEVELS} ({different})"
        if 2 * k <= n or 2 * self.words <= n or self.other_forms or 2 * sum(map(has_unit, self.texts)) > k:
            return ""
        several_words = sum(len(text.split()) > 2 for text in self.texts)
        if 2 * several_words > k and sum(map(len, self.texts)) >= LONG * k:
            return f"holds free text ({different})"
        return f"{'names the rows' if k == n else 'holds names'} ({different})"

    def unit(self, decimal: str = ".") -> Unit:
        """The unit of the numbers, or why they are none; see `pycupc.data.units.unit_in`."""
        return unit_in(self.texts, self.numbers, decimal)


class NotNumbersError(DataError):
    """A table of numbers, of `width` columns, has columns of text, `columns` by name."""

    def __init__(self, text: str, columns: Mapping[str, TextColumn], width: int) -> None:
        super().__init__(text)
        self.columns, self.width = columns, width


def no_variables(columns: Mapping[str, TextColumn], keep: Sequence[str]) -> dict[str, str]:
    """The columns that are no variables but those to `keep`, each with what it is."""
    return {name: why for name, kind in columns.items() if name not in keep and (why := kind.no_variable())}


def marks_of_missing(columns: Mapping[str, TextColumn], units: Mapping[str, str]) -> dict[str, str]:
    """The columns of numbers, maybe with a unit, whose only other text is one mark of signs, as `.` or `?`; the mark.

    None if one of these marks is in another column of text, too, where it may mean a category.
    """
    found = {}
    for name, kind in columns.items():
        if len(kind.marks) == 1 and (kind.only_marks or name in units):
            found[name] = next(iter(kind.marks)).strip()
    others = {text.strip() for name in columns.keys() - found.keys() for text in columns[name].texts}
    return {} if others.intersection(found.values()) else found


def mixed(text: Mapping[str, TextColumn], numbers: Sequence[str]) -> str:
    """The sentences about a table with columns of text, and the ways out."""
    names, most = list(text), 50
    shown = listed([f"{name}{kind}" for name, kind in text.items()], most=most)
    all_numbers = f"; only numbers: {listed(numbers, most=most)}" if numbers else ""
    out = f" {len(text)} of {len(text) + len(numbers)} columns hold other cells than numbers: {shown}{all_numbers}."
    if marked := [name for name, kind in text.items() if kind.only_marks]:
        marks = list(dict.fromkeys(mark for name in marked for mark in text[name].marks))
        out += f" Beside numbers {listed(marked)} holds only {listed(list(map(repr, marks)))}; if that means a missing "
        out += f"value: {option('na', marks)}."
    if numbers:
        only = option("only", list(numbers[:3]))
        out += f" Leave the first out ({option('drop_non_numeric', value=True)}), or choose columns ("
        out += f"{option('drop', names[:3])}, {only})."
    if any(kind.words and not kind.only_marks for kind in text.values()):
        discrete = Words("pc(DiscreteSuffStat.from_data(path or table), disCItest)", in_shell="--test discrete")
        mixed = Words("pc(MixedTable.of(path or table), mixCItest)", in_shell="--test mixed")
        out += f" Words and measurements together: {mixed}. Every value a category: {discrete}"
    return out
