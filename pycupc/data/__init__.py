"""Data: tables of many kinds, in memory and in files, as one `Table`, and the example data of the package.

    table.py, column_checks.py    the one door, and the findings of one pass over a table
    mixed.py                      tables of numbers and categories together
    content.py                    what a table holds: numbers, categories or both, complete or with gaps
    in_memory.py                  tables in memory: pandas, polars, Arrow, xarray, ...
    readers.py                    tables of numbers from files
    categories.py                 tables of categories from files, and as codes
    source.py, binary.py          the bytes of a file and its kind; Parquet, Feather and Excel
    text_layout.py, csv_cells.py  delimiter, header and row names of a text; its cells as numbers
    names.py                      checks of names and of numbers

The source and licence of the example data are in README.md in this folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pycupc.data.categories import read_categories
from pycupc.data.readers import DataError, read_data
from pycupc.system.extras import data_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXAMPLE", "EXAMPLES", "DataError", "load_example", "read_data"]

#: The example data: CSV with one header line, 569 rows, 30 columns.
EXAMPLE = Path(__file__).with_name("cell_nuclei.csv")
#: By kind; the discrete example is a CSV of strings with one header line, 3,000 rows, 5 columns.
EXAMPLES = {"continuous": EXAMPLE, "discrete": Path(__file__).with_name("sprinkler.csv")}


def load_example(kind: Literal["continuous", "discrete"] = "continuous") -> pd.DataFrame:
    """Read the example data.

    Parameters
    ----------
    kind : {"continuous", "discrete"}

    Returns
    -------
    pandas.DataFrame
        Continuous: float64, 569 rows (images of cell samples), 30 columns (measurements of the cell nuclei). Discrete:
        strings, 3,000 rows, 5 columns, sampled from a Bayesian network with a known graph.

    References
    ----------
    Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning
    Repository, doi:10.24432/C5DW2B, CC BY 4.0. Pearl (2009), Causality, 2nd edition, figure 1.2: the graph.
    """
    if kind == "continuous":
        return read_data(EXAMPLES[kind])
    table = read_categories(EXAMPLES[kind])
    return data_frame(table.values, columns=table.labels)
