"""Pairs of variables, for fixed gaps and fixed edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import DataError, unknown
from pycupc.data.source import open_text, read_source
from pycupc.data.text_layout import find_delimiter, is_formula, rows


def read_pairs(path: str | PurePath, labels: Sequence[str]) -> NDArray[np.bool_]:
    """Read pairs of variables, for fixed gaps or fixed edges: two names per line, with or without a header line.

    Returns
    -------
    bool (p, p)
        Symmetric; True for the pairs in the file.

    Raises
    ------
    DataError
        If the file cannot be read, or a line does not hold two different names from `labels`.
    """
    source = read_source(path)
    at = {label: i for i, label in enumerate(labels)}
    out = np.zeros((len(at), len(at)), dtype=np.bool_)
    with open_text(source) as text:
        for line, row in rows(source.name, text, find_delimiter(source.ending, text.readline())):
            names = [_unescaped(cell.strip()) for cell in row]
            if line == 1 and len(names) >= 2 and at.keys().isdisjoint(names[:2]):
                continue  # a header such as from,to
            if len(names) < 2:
                raise DataError(f"{source.name}, line {line}: expected two names, got {names}")
            try:
                _set(out, names[:2], at)
            except ValueError as error:
                raise DataError(f"{source.name}, line {line}: {error}") from None
    return out


def _unescaped(cell: str) -> str:
    """A name without the apostrophe of --spreadsheet."""
    return cell[1:] if cell.startswith("'") and is_formula(cell[1:]) else cell


def pairs_mask(pairs: Iterable[tuple[str, str]], labels: Sequence[str]) -> NDArray[np.bool_]:
    """The symmetric matrix bool (p, p) of pairs of names.

    Raises
    ------
    ValueError
        A name is not one of `labels`, or paired with itself.
    """
    at = {label: i for i, label in enumerate(labels)}
    out = np.zeros((len(at), len(at)), dtype=np.bool_)
    for pair in pairs:
        _set(out, pair, at)
    return out


def _set(mask: NDArray[np.bool_], pair: Iterable[str], at: Mapping[str, int]) -> None:
    """Set both cells of a pair of names."""
    a, b = pair
    for name in (a, b):
        if name not in at:
            raise unknown(name, list(at))
    if a == b:
        raise ValueError(f"{a!r} is paired with itself")
    mask[at[a], at[b]] = mask[at[b], at[a]] = True
