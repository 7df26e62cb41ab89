"""The steps that read all of C: the inspection before a run, and level 0. NumPy does both, block by block."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.tuning import FOUND_BYTES, INLINE_TESTS, INSPECTED_TILE, LEVEL0_ENTRIES
from pycupc.engines.protocol import EngineError, Floats, Ints, Mask, Pairs
from pycupc.graph.lists import starts
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.suffstat import MatrixFacts
from pycupc.system.machine import SURELY_FREE, free_memory, in_threads

#: A pair that differs by more is asymmetric; an entry beyond +-1 by more is not a correlation.
TOLERANCE = 1e-8
#: The same for the diagonal, which is 1.
TOLERANCE_DIAGONAL = 1e-10


def inspect(C: Floats, n_threads: int) -> MatrixFacts:
    """Inspect C once; returns the `MatrixFacts` for `SuffStat.check`."""
    p = len(C)
    lows = range(0, p, INSPECTED_TILE)

    def is_clean(low: int) -> bool:
        return all(_is_clean(C, low, other) for other in range(low, p, INSPECTED_TILE))

    clean = all(in_threads(is_clean, lows, n_threads if p * p >= INLINE_TESTS else 1))
    if not clean or (np.abs(np.diagonal(C) - 1) > TOLERANCE_DIAGONAL).any():
        return MatrixFacts.of(C)
    return MatrixFacts(np.zeros(p, dtype=np.int64), None, None, None)


def _is_clean(C: Floats, i: int, j: int) -> bool:
    """Whether the tile at (i, j) and its mirror image have no fault; False for any NaN."""
    rows, columns = slice(i, i + INSPECTED_TILE), slice(j, j + INSPECTED_TILE)
    tile, mirrored = C[rows, columns], C[columns, rows].T
    with np.errstate(invalid="ignore"):
        difference = np.subtract(tile, mirrored)
        np.abs(difference, out=difference)
        return bool(
            difference.max() <= TOLERANCE / 2 and tile.max() <= 1 + TOLERANCE / 2 and tile.min() >= -1 - TOLERANCE / 2
        )


def level0(C: Floats, n: float, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, n_threads: int) -> Graph:
    """The edges whose correlation is beyond the cutoff, and the fixed edges; EngineError if they do not fit memory."""
    p = len(C)
    room = p * p if FOUND_BYTES * p * p < SURELY_FREE else free_memory() // FOUND_BYTES

    def sweep(rows: tuple[int, int]) -> tuple[Indices, Ints]:
        """Degrees and neighbours, row after row."""
        low, high = rows
        left = _left(C, cutoff, low, high)
        if fixed is not None:
            left |= fixed.block(low, high)
        if gaps is not None:
            left &= ~gaps.block(low, high)
        left[np.arange(high - low), np.arange(low, high)] = False
        return np.count_nonzero(left, axis=1), np.flatnonzero(left).astype(np.int32) % p

    blocks = pairwise([*range(0, p, max(1, LEVEL0_ENTRIES // p)), p])
    found: list[tuple[Indices, Ints]] = []
    n_found = 0
    for block in in_threads(sweep, blocks, n_threads if p * p >= INLINE_TESTS else 1):
        found.append(block)
        n_found += len(block[1])
        if n_found > room:
            raise EngineError(
                f"level 0 leaves more than {n_found // 2:,} edges among {p:,} variables, which do not fit into the "
                f"{room * FOUND_BYTES / 1e9:.1f} GB that are free; take a smaller alpha or fewer variables"
            )
    degree, neighbours = map(np.concatenate, zip(*found, strict=True))
    offsets = starts(degree)
    never = np.zeros(len(neighbours), dtype=np.bool_)

    def z(entries: Indices) -> Floats:
        x = np.searchsorted(offsets, entries, side="right") - 1
        return np.where(never[entries], np.inf, fisher_z.z_score(C[x, neighbours[entries]], n, 0))

    graph = Graph(offsets, neighbours, never, z)
    if fixed is not None:
        never[:] = fixed.holds(graph.rows(), neighbours)
    return graph


def _left(C: Floats, cutoff: float, low: int, high: int) -> Mask:
    """Which pairs of rows low..high keep their edge; a NaN loses it.

    Where a correlation is as close to the cutoff as an asymmetry may be, the cell above the diagonal decides, as it
    does in pcalg.
    """
    size = np.abs(C[low:high])
    left = size > cutoff - 2 * TOLERANCE
    if np.count_nonzero(left) != np.count_nonzero(size > cutoff + 2 * TOLERANCE):
        left = size > cutoff
        for i, x in enumerate(range(low, high)):
            left[i, :x] = np.abs(C[:x, x]) > cutoff
    return left
