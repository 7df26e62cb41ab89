"""From a table of strings, booleans, categories or whole numbers to codes 0, 1, ... by column."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_labels, listed
from pycupc.data.observations import column_names
from pycupc.system.log import logger


def values_of(data: Any, name: str) -> tuple[NDArray[Any], list[str] | None]:
    """The values of a table (n, p), and the names of its columns if it has names; ValueError if it is no table."""
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
    return values, column_names(data)


def code_table(
    data: Any, labels: Sequence[str] | None
) -> tuple[NDArray[np.int64], tuple[tuple[Any, ...], ...], tuple[str, ...] | None]:
    """Codes int64 (n, p), the categories behind them by column, and `labels`, by default the names of the columns."""
    values, columns = values_of(data, "data")
    labels = columns if labels is None else labels
    checked = None if labels is None else check_labels(labels, values.shape[1])
    names = checked or [f"column {j}" for j in range(values.shape[1])]
    codes = np.empty(values.shape, dtype=np.int64)
    categories: list[tuple[Any, ...]] = []
    measured: list[str] = []
    for j, name in enumerate(names):
        if (found := _categories(values[:, j].tolist(), name)) is None:
            measured.append(name)
        else:
            categories.append(found[0])
            codes[:, j] = found[1]
    if measured:
        raise _mixed(measured, [name for name in names if name not in measured])
    largest = max(map(len, categories))
    first = listed([f"{category} = {code}" for code, category in enumerate(categories[0])], most=4)
    logger.info("coded %d columns, 2 to %d levels; %s: %s", len(names), largest, names[0], first)
    return codes, tuple(categories), checked


def _mixed(measured: Sequence[str], others: Sequence[str]) -> ValueError:
    """The error about columns of numbers that are not whole, which lists all columns by kind."""
    advice = (
        f"; these are categories: {listed(others, most=50)}. No test takes both: leave the numbers out, or cut them "
        "into intervals (pandas.cut), or leave the categories out and use the Gaussian test"
        if others
        else ". Are they continuous? Then use the Gaussian test (gaussCItest), or cut them into intervals"
    )
    shown = listed(measured, most=50)
    return ValueError(f"data must be categories, but these columns hold numbers that are not whole: {shown}{advice}")


def _categories(cells: list[Any], name: str) -> tuple[tuple[Any, ...], list[int]] | None:
    """The different values of a column, sorted, and the code of each cell; None if one is a number but not whole."""
    missing = sum(cell is None or cell != cell for cell in cells)
    if missing:
        raise ValueError(f"data must be complete; {missing} missing values in {name}")
    if any(isinstance(cell, float) and not cell.is_integer() for cell in set(cells)):
        return None
    different = [int(cell) if isinstance(cell, float) else cell for cell in set(cells)]
    try:
        kept = tuple(sorted(different))
    except TypeError:  # of several types
        kept = tuple(sorted(different, key=str))
    code = {category: k for k, category in enumerate(kept)}
    return kept, [code[cell] for cell in cells]
