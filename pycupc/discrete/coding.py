"""From a table of strings, booleans, categories or whole numbers to codes 0, 1, ... by column."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import listed
from pycupc.data.observations import column_names
from pycupc.log import logger


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


def code_table(data: Any) -> tuple[NDArray[np.int64], tuple[tuple[Any, ...], ...], list[str] | None]:
    """Codes int64 (n, p), the categories behind them by column, and the names of the columns."""
    values, columns = values_of(data, "data")
    names = columns or [f"column {j}" for j in range(values.shape[1])]
    codes = np.empty(values.shape, dtype=np.int64)
    categories: list[tuple[Any, ...]] = []
    for j, name in enumerate(names):
        kept, codes[:, j] = _categories(values[:, j].tolist(), name)
        categories.append(kept)
    largest = max(map(len, categories))
    first = listed([f"{category} = {code}" for code, category in enumerate(categories[0])], most=4)
    logger.info("coded %d columns, 2 to %d levels; %s: %s", len(names), largest, names[0], first)
    return codes, tuple(categories), columns


def _categories(cells: list[Any], name: str) -> tuple[tuple[Any, ...], list[int]]:
    """The different values of a column, sorted, and the code of each cell."""
    missing = sum(cell is None or cell != cell for cell in cells)
    if missing:
        raise ValueError(f"data must be complete; {missing} missing values in {name}")
    if any(isinstance(cell, float) and cell != int(cell) for cell in set(cells)):
        raise ValueError(
            f"data must be categories; {name} holds numbers that are not whole. Is it continuous? Then use the "
            "Gaussian test (gaussCItest), or cut it into intervals"
        )
    different = [int(cell) if isinstance(cell, float) else cell for cell in set(cells)]
    try:
        kept = tuple(sorted(different))
    except TypeError:  # of several types
        kept = tuple(sorted(different, key=str))
    if len(kept) < 2:
        raise ValueError(f"a variable needs at least 2 levels; {name} is constant")
    code = {category: k for k, category in enumerate(kept)}
    return kept, [code[cell] for cell in cells]
