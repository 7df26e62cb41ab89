"""From a table of strings, booleans, categories or whole numbers to codes 0, 1, ... by column."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import listed
from pycupc.data.observations import Converted, column_names
from pycupc.data.text_layout import is_number, like_a_number
from pycupc.system.log import logger

#: Largest number of different values of a categorical column, since the tests store the code of a value in one byte.
MOST_LEVELS = 255
#: Up to this number of different whole numbers, a column beside columns of words is taken for codes of categories.
MOST_CODES = 20


def values_of(data: Any, name: str) -> Converted:
    """The values of a table (n, p) of categories; ValueError if it is no table."""
    if isinstance(data, np.ma.MaskedArray):
        values = data.data.astype(object)
        values[np.ma.getmaskarray(data)] = None
    else:
        values = np.asarray(data)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 2:
        raise ValueError(
            f"{name} must be a table with one row per observation and at least 2 columns, got shape {values.shape}"
        )
    if values.dtype == object:
        with contextlib.suppress(TypeError, ValueError):
            values = values.astype(np.float64)
    return Converted(values, column_names(data), [])


def code_table(values: NDArray[Any], names: Sequence[str]) -> tuple[NDArray[np.int64], tuple[tuple[Any, ...], ...]]:
    """Codes int64 (n, p) of a table, and the categories behind them by column; `names` are those of its columns.

    ValueError if values are missing, or numbers are not whole; the message names all columns.
    """
    codes, categories = np.empty(values.shape, dtype=np.int64), []
    missing: list[str] = []
    measured: list[str] = []
    for j, name in enumerate(names):
        cells = values[:, j].tolist()
        if number := sum(map(is_missing, cells)):
            missing.append(f"{number} missing values in {name}")
        elif (coded := _coded(cells)) is None:
            measured.append(name)
        else:
            categories.append(coded[0])
            codes[:, j] = coded[1]
    if missing:
        raise ValueError(f"data must be complete; {listed(missing)}")
    if measured:
        raise _mixed(measured, [name for name in names if name not in measured])
    first = listed([f"{category} = {code}" for code, category in enumerate(categories[0])], most=4)
    largest = max(map(len, categories))
    logger.info("coded %d columns, 2 to %d levels; %s: %s", len(names), largest, names[0], first)
    return codes, tuple(categories)


def _mixed(measured: Sequence[str], others: Sequence[str]) -> ValueError:
    """The error about columns of numbers that are not whole, which lists all columns by kind."""
    advice = (
        f"; these are categories: {listed(others, most=50)}. mixCItest takes both (pc(MixedTable.of(table), "
        "mixCItest)); or leave the numbers out, or cut them into intervals (pandas.cut), or leave the categories out"
        if others
        else ". Are they continuous? Then use the Gaussian test (gaussCItest), or cut them into intervals"
    )
    shown = listed(measured, most=50)
    return ValueError(f"data must be categories, but these columns hold numbers that are not whole: {shown}{advice}")


def is_missing(cell: Any) -> bool:
    """Whether a cell of a table means that its value is missing."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)  # of pandas, neither equal nor unequal


def _coded(cells: list[Any]) -> tuple[tuple[Any, ...], list[int]] | None:
    """The different values of a column, sorted, and the code of each cell; None if one is a number but not whole."""
    different = set(cells)
    if any(isinstance(cell, float) and not cell.is_integer() for cell in different):
        return None
    kept = in_order(int(cell) if isinstance(cell, float) else cell for cell in different)
    code = {category: k for k, category in enumerate(kept)}
    return kept, [code[cell] for cell in cells]


def in_order(categories: Iterable[Any]) -> tuple[Any, ...]:
    """Different categories by value, or by type and value if they are of several types."""
    given = list(categories)
    try:
        return tuple(sorted(given))
    except TypeError:
        return tuple(sorted(given, key=lambda category: (str(type(category)), category)))


def with_gaps(cells: Sequence[Any]) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The categories of a column in order, and the code of each cell, int64 (n,), -1 where it is missing."""
    gap = list(map(is_missing, cells))
    kept = in_order({cell for cell, missing in zip(cells, gap, strict=True) if not missing})
    code = {category: k for k, category in enumerate(kept)}
    return kept, np.array([-1 if missing else code[c] for c, missing in zip(cells, gap, strict=True)], dtype=np.int64)


def is_measured(values: Iterable[str]) -> bool:
    """Whether some of the texts of a column are numbers that are not whole, or too many whole ones for codes."""
    numbers = {cell for cell in values if like_a_number(cell)}
    return len(numbers) > MOST_CODES or not all(is_number(cell) and float(cell).is_integer() for cell in numbers)


def look_categorical(different: Sequence[Sequence[str]]) -> bool:
    """Whether, of the different texts of each column, half of the columns hold nothing like a number, and none hold
    measurements or too many different values."""
    words = sum(not any(map(like_a_number, values)) for values in different)
    few = max(map(len, different)) <= MOST_LEVELS
    return 2 * words >= len(different) and few and not any(map(is_measured, different))
