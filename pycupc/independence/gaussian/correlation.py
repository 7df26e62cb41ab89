"""The correlation matrix of a table of observations, by one definition on every machine.

For the columns x_1, ..., x_p of a table of n observations:

    d_i   =  x_i - mean(x_i), rounded once: the mean is a double-double number
    S_ij  =  d_1i d_1j + d_2i d_2j + ... + d_ni d_nj
    r_ij  =  S_ij / sqrt(S_ii S_jj), at most 1 and at least -1; NaN where a column is constant

A sum takes its terms in the order of the observations: of each four observations (`GROUP`), the second to fourth term
are added to the first, products by fused multiply-adds, and these sums are added up for each 64 observations
(`BLOCK`). The total takes the sum of a block, and what rounding takes off the total then (exactly a floating-point
number, `pairwise.two_sum`) is where the sum of the next block begins. So S_ij has an error of about one unit in the
last place for any n, where adding one term after the other loses more with each observation: in a column of few
different values, such as an indicator, the same term is rounded in the same direction each time. That is needed
because columns may add up, as the indicators of a factor do, or parts and their total. C is then singular, and tests
given all but one of such columns are right only if the rounding of C stays below the limit at which pcalg drops
singular values (docs/contracts/contract.md, section 11). R's ``cor`` sums in long double. The deviations of numbers far
from zero, such as whole numbers around 1e15, are as exact as others, and the deviations of columns that mirror each
other, as two indicators of two levels do, are exactly opposite.

A column of very large or very small numbers is scaled by a power of two before, which changes no digit of r_ij.

r_ij depends on the columns i and j alone: not on where they stand, on the number of threads, on the memory layout of
the table, nor on the engine, the processor or the GPU. So a permutation of the columns permutes the matrix exactly, and
exact copies of a column have exactly the same correlations, with each other exactly 1 (in floating point, too,
sqrt(S S) is S). The PC algorithm depends on this: whether a variable has a copy decides which tests are singular. The
matrix product of a BLAS library, which ``numpy.corrcoef`` uses, rounds copies differently, depending on where they
stand.

`correlation` computes all of this on the CPU, `pycupc.engines.gpu.device_correlation` on a GPU, to the same bits. So it
does not matter where a matrix is computed, or whether it is computed twice, as a whole or in parts (`centred_columns`).
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from pycupc.data.column_checks import Ends, ends_of
from pycupc.independence.base import Floats
from pycupc.system.machine import available_cores, run_in_threads
from pycupc.system.progress import CountHook

#: Columns whose largest value is within these powers of two are not scaled: their squares, and sums of these, are far
#: from the limits of floating point.
EXPONENTS = 256
#: Below this number of multiplications, starting threads takes longer than the work.
INLINE_WORK = 1 << 24


def correlation(X: Floats, *, progress: CountHook | None = None) -> Floats:
    """Correlation matrix of a table, by the definition at the head of this module; R's ``cor`` up to rounding.

    `X`, float64 (n, p): finite, in any memory layout; one copy of it is held. `progress`, callable ``(done, total)``:
    called while the matrix is computed, in tiles of it done and in all. Returns float64 (p, p), exactly
    symmetric; 1 on the diagonal, and NaN in rows and columns of constant variables.
    """
    from pycupc.independence.gaussian.blocked_products import Blocks  # Numba, which takes a while to import

    n, p = X.shape
    table, C = Blocks(n, p, Blocks.width_for(p)), np.empty((p, p))
    blocks, threads = range(len(table)), 1 if p * p * n < INLINE_WORK else available_cores()

    def centre(b: int) -> None:
        C[table.place(b), table.place(b)] = table.centre(b, X)

    def correlate(pair: tuple[int, int]) -> None:
        tile, (rows, columns) = table.correlate(*pair), map(table.place, pair)
        C[rows, columns], C[columns, rows] = tile, tile.T

    run_in_threads(centre, blocks, threads)
    run_in_threads(correlate, combinations(blocks, 2), threads, progress, comb(len(table), 2))
    return C


def scaled(X: Floats, ends: Ends | None = None) -> Floats:
    """`X`, finite, with columns of very large or very small numbers multiplied by powers of two.

    That changes no correlation. If no column needs it, `X` itself is returned. `ends`: `ends_of` X, if known.
    """
    low, high = ends or ends_of(X)
    exponents = np.frexp(np.maximum(high, -low))[1]
    extreme = np.flatnonzero(np.abs(exponents) > EXPONENTS)
    if not len(extreme):
        return X
    out = X.copy()
    out[:, extreme] = np.ldexp(X[:, extreme], -exponents[extreme])
    return out
