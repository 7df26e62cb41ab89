"""Small tables for the tests of reading, and parts of a folder of results."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NAMES = list("abcde")


def chain_table(n: int = 60, seed: int = 0) -> np.ndarray:
    """Five variables in a chain."""
    return np.random.default_rng(seed).standard_normal((n, 5)).cumsum(axis=1)


def expression(n: int, p: int = 12, names: list[str] | None = None) -> pd.DataFrame:
    """Numbers of n genes in p samples, each gene with a level of its own."""
    rng = np.random.default_rng(0)
    values = rng.normal(8, 2, (n, 1)) + rng.standard_normal((n, p))
    return pd.DataFrame(values, [f"ENSG{k:07}" for k in range(n)], names or [f"x{k}" for k in range(p)])


#: What is said of a table that may be transposed: with its number of columns.
TRANSPOSED = "rows were read as observations, and {} columns as variables; if the rows are variables, .* transpose"


def manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a folder of results."""
    return json.loads(Path(folder, "manifest.json").read_text(encoding="utf-8"))


def edges(folder: str | Path) -> str:
    """The edges in a folder of results, as text."""
    return Path(folder, "edges.csv").read_text(encoding="utf-8")
