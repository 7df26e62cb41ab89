"""Categories: from files, where any text in a cell is a value, and as codes 0, 1, ... by column."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data import binary
from pycupc.data.csv_cells import Cells, number_in
from pycupc.data.in_memory import RawTable, column_names
from pycupc.data.names import DataError, is_real, kept_names, listed
from pycupc.data.readers import check_size, complete_rows
from pycupc.data.source import read_source
from pycupc.data.text_columns import MANY_TEXTS, MOST_LEVELS
from pycupc.data.text_layout import MISSING, ReadOptions, is_mark, is_number, like_a_number, option
from pycupc.data.units import unit_of, without_unit
from pycupc.system.localised_message import Message, Words
from pycupc.system.logging import logger

#: Cells that mean "no value". "none" and "null" do not: they may be categories.
_MISSING = frozenset(("", "na", "nan", "n/a", "#n/a"))


def read_categories(path: str | PurePath, options: ReadOptions | None = None) -> RawTable:
    """Read a table of categories, as texts: rows are observations, columns are variables.

    Path and options are as for `read_data`; without ``header="no"`` the first line holds the names. With
    ``missing="keep"`` a missing value is None. `DataError` if the file cannot be read as such a table.
    """
    options, types = options or ReadOptions(), list[str]()
    source = read_source(path)
    of_all: dict[str, Any] = {"only": (), "drop": ()} if options.transpose else {}
    if options.drop_non_numeric:
        raise DataError(f"{source.name}: {option('drop_non_numeric', value=True)} leaves no categories; name columns")
    if options.transpose and source.kind in ("parquet", "feather"):
        raise DataError(f"{source.name}: categories in {source.kind} are not transposed; write the table transposed")
    if source.kind in ("parquet", "feather"):
        schema = binary.arrow_schema(source)
        columns = list(map(str, schema.names))
        labels, layout = kept_names(source.name, columns, options.only, options.drop), f"the names of {source.kind}"
        types = ["double" if name in options.units else str(schema.field(name).type) for name in labels]
        body = [["" if v is None else str(v) for v in c.to_pylist()] for c in binary.read_arrow(source, labels).columns]
        for column in [body[labels.index(name)] for name in options.units]:
            column[:] = [without_unit(cell) for cell in column]
        cells, rows_have_names = np.array(body, dtype=object).T, False
    else:
        found = Cells.of(source, replace(options, header="no" if options.header == "no" else "yes", **of_all))
        found = found.with_row_names() if options.transpose else found
        kept, layout = found.layout.columns, found.layout.words
        labels = [found.layout.names[k] for k in kept]
        cells = np.array([[row[k].strip() for k in kept] for _, row in found.body()], dtype=object)
        cells = cells.reshape(-1, len(kept))
        found.warn_of_groups()
        rows_have_names = found.rows_have_names(len(cells)) and not options.transpose
        if options.transpose:
            cells, labels = _transposed(source.name, cells, found, options)
            layout += "; transposed: rows are variables"
    check_size(source.name, len(cells), len(labels))
    no_value = _MISSING | {cell.strip().casefold() for cell in options.na}
    holes = np.array([[cell.casefold() in no_value for cell in row] for row in cells.tolist()])
    if numbers := options.missing_numbers:
        holes |= np.array([[number_in(cell, options.decimal) in numbers for cell in row] for row in cells.tolist()])
    if options.missing == "keep":
        cells[holes] = None
    table = RawTable(cells, labels, types, layout=layout, facts=source.facts, rows_have_names=rows_have_names)
    return complete_rows(source.name, table, holes, options.missing)


def _transposed(name: str, cells: NDArray[Any], found: Cells, options: ReadOptions) -> tuple[NDArray[Any], list[str]]:
    """The cells with rows as columns, of which the options `only` and `drop` choose some, and their names."""
    has_names = found.layout.has_row_names
    names = found.first_column() if has_names else [f"V{k + 1}" for k in range(len(cells))]
    kept = kept_names(name, names, options.only, options.drop)
    place = {one: k for k, one in enumerate(names)}
    return cells[[place[one] for one in kept]].T, kept


#: Up to this number of different whole numbers, a column beside columns of words is taken for codes of categories.
MOST_CODES = 20
#: Fewer different words beside measurements may mean that a value is missing.
FEW_WORDS = 4


def values_of(data: Any, name: str) -> RawTable:
    """The values of a table (n, p) of categories, in which texts stay as they are; ValueError if it is no table."""
    if isinstance(data, np.ma.MaskedArray):
        values = data.data.astype(object)
        values[np.ma.getmaskarray(data)] = None
    else:
        values = np.asarray(data)
    if values.dtype.kind == "U" and isinstance(data, Sequence):  # rows of a list: its numbers have become texts
        cells = np.array(data, dtype=object)
        values = values if all(isinstance(cell, str) for cell in cells.flat) else cells
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 2:
        text = "must be a table with one row per observation and at least 2 columns"
        raise ValueError(f"{name} {text}, got shape {values.shape}")
    if values.dtype == object and not any(isinstance(cell, str | bytes) for cell in values.flat):
        with contextlib.suppress(TypeError, ValueError):
            values = values.astype(np.float64)
    return RawTable(values, column_names(data))


def code_table(values: NDArray[Any], names: Sequence[str]) -> tuple[NDArray[np.int64], tuple[tuple[Any, ...], ...]]:
    """Codes int64 (n, p) of a table, and the categories behind them by column; `names`: the names of its columns.

    ValueError if values are missing, or numbers are not whole; the message names all columns.
    """
    codes, categories = np.empty(values.shape, dtype=np.int64), []
    missing: list[str] = []
    for j, name in enumerate(names):
        kept, codes[:, j] = with_gaps(values[:, j].tolist(), whole)
        if number := int((codes[:, j] < 0).sum()):
            missing.append(f"{number} missing values in {name}")
        categories.append(kept)
    if missing:
        raise ValueError(f"data must be complete; {listed(missing)}")
    refuse_measurements(names, categories)
    first = listed([f"{category} = {code}" for code, category in enumerate(categories[0])], most=4)
    largest = max(map(len, categories))
    logger.info("coded %d columns, 2 to %d levels; %s: %s", len(names), largest, names[0], first)
    return codes, tuple(categories)


#: Names of columns whose texts are categories, though nearly every row may have another one.
_KEPT = ContextVar("_KEPT", default=frozenset[str]())


@contextlib.contextmanager
def keeping(names: Iterable[str]) -> Iterator[None]:
    """Inside, the texts of these columns are categories because somebody said so."""
    token = _KEPT.set(frozenset(names))
    try:
        yield
    finally:
        _KEPT.reset(token)


def kept_columns() -> frozenset[str]:
    """The columns of which somebody said that their texts are categories."""
    return _KEPT.get()


def are_kept(name: str) -> bool:
    """Whether a column is among them."""
    return name in kept_columns()


def check_texts(names: Sequence[str], categories: Iterable[Sequence[Any] | None], rows: Sequence[int]) -> None:
    """Raise `ValueError` if a column holds no categories: nearly every row has another value, or numbers have a unit.

    `categories`: the different values of each column, None where they are not to be looked at; `rows`: the number of
    rows of each column that have a value. Columns of `keeping` only need few enough categories for a test. Also raises
    as `check_marks`.
    """
    known = list(categories)
    check_marks(names, known)
    numbers = False
    named, units, words, shown = list[str](), dict[str, None](), dict[str, None](), list[str]()
    for name, kept, n in zip(names, known, rows, strict=True):
        texts = [one for one in kept or () if isinstance(one, str)]
        k, unit = len(kept or ()), unit_of(texts)
        no_category = not are_kept(name) and ((k > MANY_TEXTS and 2 * k > n) or (unit and k > MOST_CODES))
        if kept and (k > MOST_LEVELS or no_category):
            shown.append(f"{name} ({k:,} different values in {n:,} rows, such as {str(kept[0])!r})")
            if unit:
                units[unit] = None
            elif few := _beside_numbers([*map(str, kept)]):
                words |= dict.fromkeys(few)
            elif not are_numbers(kept):
                named.append(name)
            numbers = numbers or are_numbers(kept)
    if shown:
        text = f"a column of categories may have at most {MOST_LEVELS} of them, each in several rows"
        text += f"; write numbers without {' and '.join(map(repr, units))}" if units else ""
        text += "; texts of numbers have to become numbers" if numbers else ""
        leave = option("drop", named, python="leave them out")
        text += f"; names and free text are no variables: {leave}" if named else ""
        raise ValueError(Message("{text}{perhaps}: {shown}", text=text, perhaps=_perhaps(words), shown=listed(shown)))


def check_marks(names: Sequence[str], categories: Iterable[Sequence[Any] | None]) -> None:
    """Raise `ValueError` if marks of missing values would make categories of numbers, as ? beside 1, 2 and 3 does."""
    marks, shown = dict[str, None](), list[str]()
    for name, kept in zip(names, categories, strict=True):
        texts = [one for one in kept or () if isinstance(one, str)]
        others = [text for text in texts if not like_a_number(text) or text.strip().casefold() in MISSING]
        numbers = len(others) < len(texts) or any(map(is_real, kept or ()))
        if others and numbers and all(map(is_mark, others)):
            marks |= dict.fromkeys(others)
            shown.append(f"{name} ({listed([*map(repr, others)], most=3)})")
    if shown:
        text = "a mark of missing values would make categories of the numbers in these columns: {columns}. "
        text += "If it means a missing value: {remedy}; if it is a category, write a word"
        raise ValueError(Message(text, columns=listed(shown), remedy=means_missing(marks)))


def counted(names: Sequence[str], categories: Iterable[Iterable[Any] | None], of_file: str = "") -> Iterator[str]:
    """A warning about texts that are numbers, too many for codes; or, `of_file`, numbers that are not whole."""
    found, words = list[str](), dict[str, None]()
    for name, kept in zip(names, categories, strict=True):
        texts = [one for one in kept or () if isinstance(one, str)]
        if is_measured(texts, few=not of_file):
            found.append(f"{name} ({len(texts)})")
            words |= dict.fromkeys(_beside_numbers(texts))
    if found:
        text = f"{of_file}{': ' * bool(of_file)}each number counts as a category, which suits codes but no measurements"
        text += f"; numbers of categories: {listed(found)}"
        yield Message("{text}{perhaps}", text=text, perhaps=_perhaps(words))


def _beside_numbers(texts: Sequence[str]) -> list[str]:
    """The words beside many numbers, if they are few: they may mean that a value is missing."""
    words = [text for text in texts if not like_a_number(text)]
    return words if len(words) < FEW_WORDS < len(texts) else []


def _perhaps(words: Iterable[str]) -> str:
    """What to do if words mean that a value is missing; "" without any."""
    known = [*words]
    text = "; if {words} means a missing value: {remedy}"
    return Message(text, words=listed([*map(repr, known)]), remedy=means_missing(known)) if known else ""


def means_missing(marks: Iterable[str]) -> Words:
    """How to say that texts mean a missing value."""
    known = [*marks]
    in_python = f"na={known} of the function that reads the file, or NaN in place of it"
    in_r = f"na.strings = c({', '.join(map(json.dumps, known))}) of the function that reads the file, or NA"
    return Words(in_python, in_r, option("na", known, python=in_python))


def doubtful(names: Sequence[str], categories: Iterable[Iterable[Any] | None]) -> Iterator[str]:
    """Warnings about categories that may mean a missing value; several signs, as + and -, mean none."""
    for name, kept in zip(names, categories, strict=True):
        texts = list(map(str, kept or ()))
        signs = [text for text in texts if text and not any(map(str.isalnum, text))]
        for one, text in zip(kept or (), texts, strict=True):
            if text.casefold() in MISSING | {"nat", "<na>"} or (signs == [text] and is_mark(text)):
                said = f"{one!r} is a category of {name}"
                yield Message(
                    "{said}; if it means a missing value: {remedy}", said=said, remedy=means_missing([str(one)])
                )


def refuse_measurements(names: Sequence[str], categories: Sequence[tuple[Any, ...]]) -> None:
    """ValueError if columns have numbers that are not whole among their categories; it lists all columns by kind."""
    columns = zip(names, categories, strict=True)
    measured = [name for name, kept in columns if any(isinstance(one, float) for one in kept)]
    if not measured:
        return
    others = [name for name in names if name not in measured]
    advice = (
        f"; these are categories: {listed(others, most=50)}. mixCItest takes both (pc(MixedTable.of(table), "
        "mixCItest)); or leave the numbers out, or cut them into intervals (pandas.cut), or leave the categories out"
        if others
        else ". Are they continuous? Then use the Gaussian test (gaussCItest), or cut them into intervals"
    )
    shown = listed(measured, most=50)
    raise ValueError(f"data must be categories, but these columns hold numbers that are not whole: {shown}{advice}")


def is_missing(cell: Any) -> bool:
    """Whether a cell of a table means that its value is missing."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)  # of pandas, neither equal nor unequal


def whole(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def in_order(categories: Iterable[Any]) -> tuple[Any, ...]:
    """Different categories by value, or by type and value if they are of several types."""
    given = list(categories)
    try:
        return tuple(sorted(given))
    except TypeError:
        return tuple(sorted(given, key=lambda category: (str(type(category)), category)))


def with_gaps(
    cells: Sequence[Any], category: Callable[[Any], Any] = lambda cell: cell
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The categories of a column in order, and the code of each cell, int64 (n,), -1 where it is missing.

    ``category(cell)``, equal to the cell, stands for it.
    """
    kept = in_order({category(cell) for cell in set(cells) if not is_missing(cell)})
    code = {one: k for k, one in enumerate(kept)}
    return kept, np.array([code.get(cell, -1) for cell in cells], dtype=np.int64)


def are_whole(categories: Iterable[Any]) -> bool:
    """Whether all are whole numbers, or texts of such."""
    return all(like_a_number(text) and is_number(text) and float(text).is_integer() for text in map(str, categories))


def are_numbers(categories: Iterable[Any]) -> bool:
    """Whether all are numbers, or texts of such, also in another form."""
    return all(like_a_number(text) and text.strip().casefold() not in MISSING for text in map(str, categories))


def is_measured(values: Iterable[str], *, few: bool = False) -> bool:
    """Whether some of the texts of a column are numbers too many for codes, or not whole unless a `few` may be that."""
    numbers = {cell for cell in values if like_a_number(cell)}
    return len(numbers) > MOST_CODES or not (few or are_whole(numbers))


def look_categorical(different: Sequence[Sequence[str]]) -> bool:
    """Whether, of the different texts of each column, half of the columns hold nothing like a number, and none hold
    measurements or too many different values."""
    words = sum(not any(map(like_a_number, values)) for values in different)
    few = max(map(len, different)) <= MOST_LEVELS
    return 2 * words >= len(different) and few and not any(map(is_measured, different))


def may_be_numbers(codes: NDArray[np.float64], texts: Sequence[str]) -> bool:
    """Whether a column of texts, and codes of them, may be one of numbers, some of which are damaged or missing.

    Not so few whole numbers among ranges (0, 1-19, 20+), or among words in most rows, each in several.
    """
    numbers = [like_a_number(text) for text in texts]
    if not any(numbers):
        return False
    measured = is_measured([text for text, number in zip(texts, numbers, strict=True) if number], few=True)
    rows = np.bincount(codes[~np.isnan(codes)].astype(int), minlength=len(texts))
    of_words = rows[~np.array(numbers)]
    often = len(of_words) > 0 and int(of_words.sum()) >= 2 * len(of_words)
    with_figures = all(any(map(str.isdigit, text)) for text, number in zip(texts, numbers, strict=True) if not number)
    mostly_words = len(of_words) >= sum(numbers) and 2 * int(of_words.sum()) >= int(rows.sum())
    return measured or not often or not (with_figures or mostly_words)
