"""The p-values of all pairs of a Gaussian result, from its correlations and removals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.gaussian import fisher_z
from pycupc.machine import available_cores, in_threads
from pycupc.sparse_graph import Ints

Number = TypeVar("Number", bound=np.number)
Floats = NDArray[np.float64]
#: x, y, level (one number, or one per pair) and r of removed pairs.
Part = tuple[Ints, Ints, int | Ints, Floats]

#: Up to this many variables, computing p-values one by one is faster than loading compiled code.
_FEW = 400
#: Rows per task.
_BAND = 64


def fill(out: Floats, C: Floats, n: float, parts: Iterable[Part]) -> None:
    """Write the p-value of the last test of each pair, in both directions, to ``out``, float64 (p, p).

    `C`, float64 (p, p), are the correlations of `n` observations; `parts` are the pairs removed at level 1 and above.
    The cells of edges and of the diagonal receive numbers without a meaning.
    """
    (_one_by_one if len(C) <= _FEW else _in_threads)(out, C, n, parts)


def _one_by_one(out: Floats, C: Floats, n: float, parts: Iterable[Part]) -> None:
    out[:], levels = C, np.zeros(C.shape, dtype=np.int64)
    for x, y, level, r in parts:
        set_both(out, x, y, r)
        set_both(levels, x, y, level)
    x, y = (i.astype(np.int32) for i in np.triu_indices(len(C), 1))
    set_both(out, x, y, fisher_z.p_value(out[x, y], n, levels[x, y]))


def _in_threads(out: Floats, C: Floats, n: float, parts: Iterable[Part]) -> None:
    from pycupc.gaussian import p_values  # loads Numba

    n_threads, root = available_cores(), math.sqrt(max(n - 3.0, 0.0))

    def put(removals: tuple[Ints, Ints, Floats, Floats]) -> None:
        p_values.put_removals(*removals, out)

    def fill_band(first: int) -> None:
        p_values.fill_rows(first, min(first + _BAND, len(C)), root, out)

    np.abs(C, out=out)
    for _ in in_threads(put, _shares(parts, n, n_threads), n_threads):
        pass
    for _ in in_threads(fill_band, range(0, len(C), _BAND), n_threads):
        pass


def _shares(parts: Iterable[Part], n: float, n_shares: int) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
    """x, y, r and the square roots of n - level - 3, each part in so many shares, as compiled code takes them."""
    for x, y, level, r in parts:
        root = np.broadcast_to(np.sqrt(np.maximum(n - 3.0 - np.asarray(level), 0.0)), x.shape)
        types = (np.int32, np.int32, np.float64, np.float64)
        arrays = [np.require(a, t, ["C", "W"]) for a, t in zip((x, y, r, root), types, strict=True)]
        for low, high in pairwise(np.linspace(0, len(x), n_shares + 1).astype(int).tolist()):
            yield arrays[0][low:high], arrays[1][low:high], arrays[2][low:high], arrays[3][low:high]


def set_both(matrix: NDArray[Number], x: Ints, y: Ints, values: Number | NDArray[Number] | float) -> None:
    """Set cells (x, y) and (y, x)."""
    matrix[x, y] = matrix[y, x] = values
