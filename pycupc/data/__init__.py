"""Data: files and tables of every kind as arrays of numbers, and the example data of the package.

The source and licence of the example data are in README.md in this folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pycupc.data.readers import DataError, read_data

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXAMPLE", "DataError", "load_example", "read_data"]

#: The example data: CSV with one header line, 569 rows, 30 columns.
EXAMPLE = Path(__file__).with_name("cell_nuclei.csv")


def load_example() -> pd.DataFrame:
    """Read the example data.

    Returns
    -------
    pandas.DataFrame
        float64, 569 rows (images of cell samples), 30 columns (measurements of the cell nuclei).

    References
    ----------
    Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning
    Repository, doi:10.24432/C5DW2B, CC BY 4.0.
    """
    return read_data(EXAMPLE)
