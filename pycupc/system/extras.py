"""Packages that only some uses need: imported where they are needed; where one is missing, an error names its extra."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def needed(name: str, use: str, extra: str | None, error: type[Exception] = ImportError) -> Any:
    """The module `name`; an `error` says that `use` needs it, and which extra of pycupc, or package, to install."""
    try:
        return import_module(name)
    except ImportError as found:
        what = f"'pycupc[{extra}]'" if extra else name
        raise error(f"{use} needs {name.partition('.')[0]}: pip install {what}") from found


def data_frame(values: Any, **options: Any) -> pd.DataFrame:
    """``pandas.DataFrame(values, **options)``; ImportError if pandas is not installed."""
    frame: pd.DataFrame = needed("pandas", "a DataFrame of results", "pandas").DataFrame(values, **options)
    return frame
