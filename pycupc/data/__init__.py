"""Data: tables of many kinds, in memory and in files, as one `Table`, and the example data of the package.

    table.py, column_checks.py    the one door, and the findings of one pass over a table
    mixed.py                      tables of numbers and categories together
    content.py                    what a table holds: numbers, categories or both, complete or with gaps
    clean_columns.py              columns that are left out, numbers with a unit, marks of missing values
    text_columns.py, units.py     columns of text; numbers with a unit
    dates.py                      texts that are dates
    covariances.py                covariances in files of Tetrad
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
from typing import TYPE_CHECKING

from pycupc.data.categories import read_categories
from pycupc.data.readers import DataError, read_data
from pycupc.system.extras import data_frame
from pycupc.system.nearest import did_you_mean, hinted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXAMPLE", "EXAMPLES", "DataError", "load_example", "read_data"]

_FOLDER = Path(__file__).parent
#: The files of the example data by name: CSV with one header line. The first is the one meant without a name.
EXAMPLES = {name: _FOLDER / f"{name}.csv" for name in ("greenhouse", "cell_nuclei", "sprinkler")}
EXAMPLE = EXAMPLES["greenhouse"]
#: The arrows of the true graph, for those that were simulated: from, to, and the coefficient of a linear model.
TRUTHS = {name: _FOLDER / f"{name}_truth.csv" for name in ("greenhouse", "sprinkler")}
#: Names of version 0.2.0.
OLDER_NAMES = {"continuous": "cell_nuclei", "discrete": "sprinkler"}


def check_example(kind: str) -> str:
    """The name of example data, also by its name in 0.2.0; ValueError if there are none."""
    name = OLDER_NAMES.get(kind, kind) if isinstance(kind, str) else kind
    if name not in EXAMPLES:
        raise ValueError(f"kind must be one of {', '.join(EXAMPLES)}, got {kind!r}{did_you_mean(str(kind), EXAMPLES)}")
    return name


@hinted
def load_example(kind: str = "greenhouse") -> pd.DataFrame:
    """Read the example data.

    Parameters
    ----------
    kind : {"greenhouse", "cell_nuclei", "sprinkler"}, default "greenhouse"
        Which data.

    Returns
    -------
    pandas.DataFrame
        "greenhouse": float64, 1,500 rows (a week of a greenhouse each), 15 columns, simulated from a linear model;
        `pycupc.load_truth` gives its graph. "cell_nuclei": float64, 569 rows (images of cell samples), 30 columns
        (measurements of the cell nuclei), real. "sprinkler": strings, 3,000 rows, 5 columns, sampled from a Bayesian
        network; `load_truth` gives its graph.

    Raises
    ------
    ValueError
        If there are no such data.

    References
    ----------
    Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning
    Repository, doi:10.24432/C5DW2B, CC BY 4.0. Pearl (2009), Causality, 2nd edition, figure 1.2: the graph.
    """
    path = EXAMPLES[name := check_example(kind)]
    if name != "sprinkler":
        return read_data(path)
    table = read_categories(path)
    return data_frame(table.values, columns=table.labels)
