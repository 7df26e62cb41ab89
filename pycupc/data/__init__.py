"""The example data of the package; their source and licence are in README.md in this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

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
    from pycupc.data.readers import read_data

    return read_data(EXAMPLE)
