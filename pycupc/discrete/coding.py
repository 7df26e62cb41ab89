"""From a table of strings, booleans, categories or whole numbers to codes 0, 1, ... by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.log import logger


def values_of(data: Any, name: str) -> tuple[NDArray[Any], list[str] | None]:
    """The values of a table (n, p), and the names of its columns if it has names."""
    columns = [str(c) for c in data.columns] if hasattr(data, "columns") else None
    values = np.ma.filled(np.ma.asarray(data), np.nan) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 2:
        raise ValueError(
            f"{name} must be a table with one row per observation and at least 2 columns, got shape {values.shape}"
        )
    if values.dtype == object:
        values = _numbers_if_they_are(values)
    return values, columns


def _numbers_if_they_are(values: NDArray[Any]) -> NDArray[Any]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values


def code_table(data: Any) -> tuple[NDArray[np.int64], tuple[tuple[Any, ...], ...], list[str] | None]:
    """Codes int64 (n, p), the categories behind them by column, and the names of the columns."""
    values, columns = values_of(data, "data")
    names = columns or [f"column {j}" for j in range(values.shape[1])]
    codes = np.empty(values.shape, dtype=np.int64)
    categories: list[tuple[Any, ...]] = []
    for j, name in enumerate(names):
        column = values[:, j]
        missing = np.array([v is None or v != v for v in column.tolist()])
        if missing.any():
            raise ValueError(f"data must be complete; {int(missing.sum())} missing values in {name}")
        if column.dtype.kind == "f" and (column != np.floor(column)).any():
            raise ValueError(
                f"data must be categories; {name} holds numbers that are not whole. Is it continuous? Then use the "
                "Gaussian test (gaussCItest), or cut it into intervals"
            )
        kept, codes[:, j] = np.unique(column.astype(str) if column.dtype == object else column, return_inverse=True)
        if len(kept) < 2:
            raise ValueError(f"a variable needs at least 2 levels; {name} is constant")
        categories.append(tuple(kept.tolist()))
    largest = max(map(len, categories))
    logger.info("coded %d columns, 2 to %d levels; %s: %s", len(names), largest, names[0], _coding(categories[0]))
    return codes, tuple(categories), columns


def _coding(categories: tuple[Any, ...], most: int = 4) -> str:
    shown = ", ".join(f"{category} = {code}" for code, category in enumerate(categories[:most]))
    return shown if len(categories) <= most else f"{shown}, ..."
