"""The correlations of a set of variables: of a table of observations by one definition on every machine, or given.

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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.data.column_checks import Ends, ends_of
from pycupc.independence.base import CorrelationEngine, Floats
from pycupc.system.machine import available_cores, check_room, run_in_threads
from pycupc.system.progress import CountHook

if TYPE_CHECKING:
    from pycupc.independence.gaussian.centred_columns import Columns

#: Columns whose largest value is within these powers of two are not scaled: their squares, and sums of these, are far
#: from the limits of floating point.
EXPONENTS = 256
#: Below this number of multiplications, starting threads takes longer than the work.
INLINE_WORK = 1 << 24
#: `Correlations.pairs` computes the whole matrix if this many pairs per cell of it are asked for: then that is as fast.
PAIRS_PER_CELL = 1 / 8


def correlation(X: Floats, *, progress: CountHook | None = None) -> Floats:
    """Correlation matrix of a table, by the definition at the head of this module; R's ``cor`` up to rounding.

    `X`, float64 (n, p): finite, in any memory layout; one copy of it is held. `progress`, callable ``(done, total)``:
    called while the matrix is computed, in tiles of it done and in all. Returns float64 (p, p), exactly
    symmetric; 1 on the diagonal, and NaN in rows and columns of constant variables.
    """
    from pycupc.independence.gaussian.blocked_products import Blocks  # Numba, which takes a while to import

    n, p = X.shape
    table = Blocks(n, p, Blocks.width_for(p))
    if len(table) == 1:
        return table.centre(0, X).copy()
    C = np.empty((p, p))
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


class Correlations:
    """Correlations of p variables: a matrix, or observations from which they are computed when somebody asks.

    `dense` defines the numbers; `pairs` and `among` return the same bits, without the matrix.

    `matrix`, float64 (p, p). `data`, float64 or float32 (n, p): finite observations, scaled (`scaled`),
    instead of the matrix. They must not be changed. `engine`: computes the matrix on its device; by default the CPU
    does, to the same bits. `progress`, callable ``(done, total)``: called while the CPU computes the matrix. `keep`:
    whether `data` stay when the matrix has been computed: 8 n p bytes.
    """

    def __init__(
        self,
        matrix: Floats | None = None,
        data: Floats | None = None,
        *,
        engine: CorrelationEngine | None = None,
        progress: CountHook | None = None,
        keep: bool = True,
    ) -> None:
        known = matrix if data is None else data
        assert known is not None
        self.p: int = known.shape[1]
        self.data, self._matrix, self._engine, self.progress, self._keep = data, matrix, engine, progress, keep

    @property
    def has_dense(self) -> bool:
        """Whether the matrix has been given or computed, so that it takes no more memory."""
        return self._matrix is not None

    def dense(self) -> Floats:
        """The matrix, float64 (p, p): always the same array, so that changes to it count."""
        if self._matrix is None:
            assert self.data is not None
            check_room(self.p, 8, "the correlations of all pairs")
            if self._engine is None:
                self._matrix = correlation(self.data, progress=self.progress)
            else:
                self._matrix = self._engine.correlation(self.data)
            self._engine = self.progress = None
            self.data = self.data if self._keep else None
        return self._matrix

    def pairs(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """The correlations of k pairs, float64 (k,). For few pairs of data, the matrix is not computed."""
        x, y = np.asarray(x, dtype=np.int64), np.asarray(y, dtype=np.int64)
        if self._matrix is not None or len(x) > max(PAIRS_PER_CELL * self.p**2, 1):
            some: Floats = self.dense()[x, y]
            return some
        variables, at = np.unique(np.concatenate([x, y]), return_inverse=True)
        own: Floats = self.columns(variables).pairs(at[: len(x)], at[len(x) :], available_cores())
        return own

    def among(self, members: ArrayLike) -> Floats:
        """The correlations of k variables with each other, float64 (k, k)."""
        members = np.asarray(members, dtype=np.int64)
        if self._matrix is None:
            return self.columns(members).among(np.arange(len(members)))
        some: Floats = self._matrix[np.ix_(members, members)]
        return some

    def columns(self, variables: NDArray[np.int64] | None = None) -> Columns:
        """The columns of all variables, or of some, from which their correlations are computed."""
        from pycupc.independence.gaussian.centred_columns import Columns  # Numba, which takes a while to import

        assert self.data is not None
        return Columns.of(self.data if variables is None else self.data[:, variables], available_cores())
