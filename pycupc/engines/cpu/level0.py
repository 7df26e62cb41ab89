"""The steps that read all of C: the inspection before a run, and level 0. Compiled code goes through its rows."""

from __future__ import annotations

import numpy as np

from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.threads import in_parts
from pycupc.engines.cpu.tuning import FOUND_BYTES, INSPECTED_TILE
from pycupc.engines.protocol import EngineError, Floats, Pairs
from pycupc.graph.lists import starts
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.suffstat import MatrixFacts
from pycupc.system.jit import compiled_for_large, frozen, jit_inlined
from pycupc.system.machine import SURELY_FREE, free_memory
from pycupc.system.numba_names import uint64

#: A pair that differs by more is asymmetric; an entry beyond +-1 by more is not a correlation.
TOLERANCE = 1e-8
#: The same for the diagonal, which is 1.
TOLERANCE_DIAGONAL = 1e-10
#: No mask of some rows.
_NO_MASK = np.zeros((0, 0), dtype=np.bool_)


def inspect(C: Floats, n_threads: int) -> MatrixFacts:
    """Inspect C once; returns the `MatrixFacts` for `SuffStat.check`."""
    p, read, n_tiles = len(C), frozen(C), -(-len(C) // INSPECTED_TILE)
    faults = np.zeros(n_tiles, dtype=np.bool_)
    in_parts(lambda low, high: _find_faults(read, (low, high), faults), n_tiles, p * p, n_threads, "level 0", 4)
    if faults.any() or (np.abs(np.diagonal(C) - 1) > TOLERANCE_DIAGONAL).any():
        return MatrixFacts.of(C)
    return MatrixFacts(np.zeros(p, dtype=np.int64), None, None, None)


@compiled_for_large
def _find_faults(C, tiles, faults):
    """Find the rows of tiles with an entry above the diagonal that is NaN, no correlation, or not its mirror image."""
    p = len(C)
    for t in range(tiles[0], tiles[1]):
        for j0 in range(t * INSPECTED_TILE, p, INSPECTED_TILE):
            n, j1 = 0, j0 + INSPECTED_TILE if j0 + INSPECTED_TILE < p else p
            for i in range(t * INSPECTED_TILE, (t + 1) * INSPECTED_TILE if (t + 1) * INSPECTED_TILE < p else p):
                for j in range(uint64(j0), uint64(j1)):
                    clean = abs(C[i, j] - C[j, i]) <= 0.5 * TOLERANCE
                    n += not (clean & (abs(C[i, j]) <= 1.0 + 0.5 * TOLERANCE))
            faults[t] |= n > 0


def level0(C: Floats, n: float, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, n_threads: int) -> Graph:
    """The edges whose correlation is beyond the cutoff, and the fixed edges; EngineError if they do not fit memory."""
    p, C = len(C), frozen(C)
    room = p * p if FOUND_BYTES * p * p < SURELY_FREE else free_memory() // FOUND_BYTES

    def sweep(low: int, high: int) -> None:
        without, always = (_NO_MASK if pairs is None else pairs.block(low, high) for pairs in (gaps, fixed))
        space = np.empty(p, dtype=np.bool_), np.empty(p + 1, dtype=np.int32)
        _find_left(C, cutoff, (low, high), without, always, first, neighbours, *space)

    first, neighbours = np.zeros(p, dtype=np.int64), np.empty(0, dtype=np.int32)
    in_parts(sweep, p, p * p, n_threads, "level 0", 4)
    offsets = starts(first)
    if (n_found := int(offsets[-1])) > room:
        raise EngineError(
            f"level 0 leaves {n_found // 2:,} edges among {p:,} variables, which do not fit into the "
            f"{room * FOUND_BYTES / 1e9:.1f} GB that are free; take a smaller alpha or fewer variables"
        )
    first, neighbours = offsets[:-1], np.empty(n_found, dtype=np.int32)
    if n_found:
        in_parts(sweep, p, p * p, n_threads, "level 0", 4)
    never = np.zeros(n_found, dtype=np.bool_)

    def z(entries: Indices) -> Floats:
        x = np.searchsorted(offsets, entries, side="right") - 1
        return np.where(never[entries], np.inf, fisher_z.z_score(C[x, neighbours[entries]], n, 0))

    graph = Graph(offsets, neighbours, never, z)
    if fixed is not None:
        never[:] = fixed.holds(graph.rows(), neighbours)
    return graph


@jit_inlined
def _compare(C, cutoff, x, left):
    """Find the pairs of row x whose correlation is beyond the cutoff; a NaN is not.

    Where a correlation is as close to the cutoff as an asymmetry may be, the cell above the diagonal decides, as it
    does in pcalg.
    """
    near = 0
    for y in range(len(C)):
        size = abs(C[x, y])
        left[y] = size > cutoff
        near += (size > cutoff - 2.0 * TOLERANCE) & (size <= cutoff + 2.0 * TOLERANCE)
    if near > 0:
        for y in range(x):
            left[y] = abs(C[y, x]) > cutoff


@compiled_for_large
def _find_left(C, cutoff, rows, gaps, fixed, first, neighbours, left, listed):  # noqa: PLR0913 - compiled code
    """Write the pairs of these rows x that level 0 leaves to `neighbours`, from first[x] on; if that is empty, write
    their number to first[x].

    `gaps`, `fixed`: of these rows, bool (rows, p), or without rows where there are none. `left`, bool (p,), and
    `listed`, int32 (p + 1,), are work space.
    """
    p = len(C)
    for x in range(rows[0], rows[1]):
        _compare(C, cutoff, x, left)
        for y in range(p if len(fixed) > 0 else 0):
            left[y] |= fixed[x - rows[0], y]
        for y in range(p if len(gaps) > 0 else 0):
            left[y] &= not gaps[x - rows[0], y]
        left[x], n = False, 0
        if len(neighbours) == 0:
            for y in range(p):
                n += left[y]
            first[x] = n
        else:
            for y in range(p):
                listed[uint64(n)] = y
                n += left[y]
            for k in range(n):
                neighbours[first[x] + k] = listed[k]
