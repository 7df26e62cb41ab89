"""The correlation matrix of a table of observations, by one definition on every machine.

For the columns x_1, ..., x_p of a table of n observations:

    d_i   =  x_i - mean(x_i), the mean summed in the order of the observations
    S_ij  =  d_1i d_1j + d_2i d_2j + ... + d_ni d_nj, in this order, each term by one fused multiply-add
    r_ij  =  S_ij / sqrt(S_ii S_jj), at most 1 and at least -1; NaN where a column is constant

A column of very large or very small numbers is scaled by a power of two before, which changes no digit of r_ij.

r_ij depends on the columns i and j alone: not on where they stand, on the number of threads, on the memory layout of
the table, nor on the engine, the processor or the GPU. So a permutation of the columns permutes the matrix exactly, and
exact copies of a column have exactly the same correlations, with each other exactly 1 (in floating point, too,
sqrt(S S) is S). The PC algorithm depends on this: whether a variable has a copy decides which tests are singular. The
matrix product of a BLAS library, which ``numpy.corrcoef`` uses, rounds copies differently, depending on where they
stand.

`correlation` computes all of this on the CPU, `pycupc.engines.gpu.correlation` on a GPU, to the same bits. So it does
not matter where a matrix is computed, or whether it is computed twice.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.system.machine import available_cores, in_threads
from pycupc.system.progress import CountHook

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Most columns per block of the table; a tile of the matrix has the pairs of two blocks.
WIDTH = 128
#: Below this number of multiplications, starting threads takes longer than the work.
INLINE_WORK = 1 << 24
#: Rows whose values distinguish most columns from each other.
FEW = 8
#: Calls per thread, so that all end at about the same time.
CALLS_PER_THREAD = 16


class CorrelationEngine(Protocol):
    """An engine that computes correlations on its own device."""

    def correlation(self, X: Floats) -> Floats:
        """Correlation matrix float64 (p, p) of data float64 (n, p), with the bits of `correlation`."""


def correlation(X: Floats, *, progress: CountHook | None = None) -> Floats:
    """Correlation matrix of a table, by the definition at the head of this module.

    Parameters
    ----------
    X : float64 (n, p)
        Observations in rows, variables in columns; finite, in any memory layout.
    progress : callable ``(done, total)``, optional
        Called while the matrix is computed, in tiles of the matrix done and in all.

    Returns
    -------
    float64 (p, p)
        Exactly symmetric; 1 on the diagonal, and NaN in rows and columns of constant variables.

    Notes
    -----
    Besides the result, one copy of the table is held in memory. The result agrees with R's ``cor`` up to rounding.
    """
    from pycupc.independence.gaussian.pairwise import Blocks
    from pycupc.system.compiled import announced  # Numba, which takes a while to import

    n, p = X.shape
    n_blocks = -(-p // WIDTH)
    width = -(-p // (8 * n_blocks)) * 8
    threads = 1 if p * p * n < INLINE_WORK else available_cores()
    table = Blocks(np.zeros((n_blocks, n, width)), np.zeros((n_blocks, width)), np.empty((p, p)))
    tiles = [(i, j) for i in range(n_blocks) for j in range(i + 1, n_blocks)]
    step = max(1, len(tiles) // (threads * CALLS_PER_THREAD))
    parts = [tiles[k : k + step] for k in range(0, len(tiles), step)]
    done, total = n_blocks, n_blocks + len(tiles)
    with announced("compiling for correlations, once per machine"):
        for _ in in_threads(lambda b: table.centre(b, X), range(n_blocks), threads):
            pass
        for part, _ in zip(parts, in_threads(table.correlate, parts, threads), strict=True):
            done += len(part)
            if progress is not None:
                progress(done, total)
    return table.C


def groups_of_identical_columns(X: Floats) -> list[list[int]]:
    """Groups of two or more equal columns of a table (n, p): ascending, and sorted by their first members."""
    groups = []
    few = X[:: -(-len(X) // FEW)]  # most columns differ in a few rows already
    for some in _of_equal_keys(few, np.arange(X.shape[1])):
        for columns in _of_equal_keys(X[:, some], some) if len(few) < len(X) else [some]:
            while len(columns) > 1:  # equal keys are only a hint
                equal = (X[:, columns] == X[:, columns[:1]]).all(axis=0)
                if equal.sum() > 1:
                    groups.append(columns[equal].tolist())
                columns = columns[~equal & (np.arange(len(columns)) > 0)]
    return sorted(groups)


def constant_columns(X: Floats) -> list[int]:
    """Columns of a table (n, p) with one value in all rows, ascending."""
    likely = np.flatnonzero((X[: FEW + 1] == X[0]).all(axis=0))
    return [int(j) for j in likely[(X[:, likely] == X[0, likely]).all(axis=0)]]


def _of_equal_keys(X: Floats, columns: Ints) -> list[Ints]:
    """The columns of X (their numbers are `columns`) that have the same key as another column, by key."""
    n, p = X.shape
    keys = np.zeros(p, dtype=np.uint64)
    weights = np.random.default_rng(0).integers(1 << 63, size=(n, 1), dtype=np.uint64) * 2 + 1
    rows = max(1, (1 << 20) // p)
    for k in range(0, n, rows):
        bits = (X[k : k + rows] + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0, which it is equal to
        bits ^= bits >> 32
        bits *= weights[k : k + rows]
        keys += bits.sum(axis=0, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
    sizes = np.diff(starts, append=p)
    shared = sizes > 1
    pairs = zip(starts[shared].tolist(), sizes[shared].tolist(), strict=True)
    return [columns[order[start : start + size]] for start, size in pairs]
