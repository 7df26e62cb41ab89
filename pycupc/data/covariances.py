"""Covariances in a file as Tetrad writes them: the number of observations, the names, and the lower triangle."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.csv_cells import number_in
from pycupc.data.in_memory import RawTable
from pycupc.data.names import DataError, kept_names, listed_at
from pycupc.data.source import STDIN, Source, open_text, read_source
from pycupc.data.text_layout import is_number

#: Names of such files; other texts are recognised by their first lines.
_NAMED = re.compile(r".*\.cov(?:\.txt)?(?:\.(?:gz|bz2|xz))?", re.IGNORECASE)
#: Bytes of a file that show its first lines.
_HEAD = 1 << 16
_CELLS = re.compile(r"\s*[,;\t]\s*|\s+")


@dataclass(frozen=True)
class Covariances:
    """The covariances, of `n` observations."""

    table: RawTable  # float64 (p, p), with names
    n: int

    def correlations(self) -> NDArray[np.float64]:
        """float64 (p, p), with a diagonal of 1."""
        deviations = np.sqrt(self.table.values.diagonal())
        C: NDArray[np.float64] = self.table.values / np.outer(deviations, deviations)
        np.fill_diagonal(C, 1.0)
        return C


def are_covariances(data: Any) -> bool:
    """Whether this is the path of a file of Tetrad with covariances: by its name, or by its first lines."""
    if not isinstance(data, (str, os.PathLike)) or str(data) == STDIN or not Path(data).is_file():
        return False
    if _NAMED.fullmatch(PurePath(data).name):
        return True
    if PurePath(data).suffix.lower() not in (".txt", ".dat", ""):
        return False
    with Path(data).open("rb") as file:
        lines = file.read(_HEAD).decode("utf-8", "replace").splitlines()
    rows = [cells for _, cells in _rows(lines)][:4]
    if len(rows) < 3 or [len(row) for row in (rows[0], *rows[2:])] != [1, *range(1, len(rows) - 1)]:
        return False
    return rows[0][0].isdecimal() and len(rows[1]) > 1 and not any(map(is_number, rows[1]))


def read_covariances(path: str | os.PathLike[str], only: Sequence[str] = (), drop: Sequence[str] = ()) -> Covariances:
    """Read the covariances of the variables in `only`, or of all, but those in `drop`.

    `DataError` if the file does not hold the number of observations, the names of at least two variables and their
    covariances row by row, up to the diagonal.
    """
    source = read_source(Path(path))
    with open_text(source) as text:
        rows = list(_rows(text.read().splitlines()))
    if len(rows) < 2 or len(rows[0][1]) != 1 or not rows[0][1][0].isdecimal():
        raise _wrong(source, rows[0][0] if rows else 1, "the number of observations in a line of its own, first")
    n, names = int(rows[0][1][0]), rows[1][1]
    kept = kept_names(source.name, names, only, drop)
    if len(kept) < 2:
        raise DataError(f"{source.name}: needs at least 2 variables, has {len(kept)}")
    C = np.zeros((len(names), len(names)))
    if len(rows) != len(names) + 2:
        raise _wrong(source, rows[-1][0], f"{len(names)} lines of covariances below the names, got {len(rows) - 2}")
    for k, (line, cells) in enumerate(rows[2:]):
        numbers = [number_in(cell, ".") for cell in cells]
        if len(cells) != k + 1 or None in numbers:
            raise _wrong(source, line, f"{k + 1} numbers, the covariances up to {names[k]!r}, got {len(cells)} cells")
        C[k, : k + 1] = numbers
    C += np.tril(C, -1).T
    if (wrong := C.diagonal() <= 0).any():
        raise DataError(f"{source.name}: variances must be above 0; they are not of {listed_at(names, wrong)}")
    at = [names.index(name) for name in kept]
    layout = "covariances as Tetrad writes them: n, the names, the lower triangle"
    table = RawTable(C[np.ix_(at, at)], kept, layout=layout, facts=source.facts)
    return Covariances(table, n)


def _rows(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    """The number and the cells of each line, without comments, empty lines and a first line that says the kind."""
    found = []
    for number, line in enumerate(lines, 1):
        text = line.strip().rstrip(",;")
        if text and not text.startswith(("//", "#")) and text.casefold() not in ("/covariance", "/correlation"):
            found.append((number, [cell.strip('"') for cell in _CELLS.split(text)]))
    return found


def _wrong(source: Source, line: int, expected: str) -> DataError:
    return DataError(f"{source.name}, line {line}: a file of covariances of Tetrad has {expected}")
