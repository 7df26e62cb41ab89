"""The correlations of a set of variables, whether they come as a matrix or as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.independence.base import CorrelationEngine, Floats
from pycupc.independence.gaussian.correlation import correlation
from pycupc.system.machine import available_cores, check_room
from pycupc.system.progress import CountHook

if TYPE_CHECKING:
    from pycupc.independence.gaussian.centred_columns import Columns

#: `Correlations.pairs` computes the whole matrix if this many pairs per cell of it are asked for: then that is as fast.
PAIRS_PER_CELL = 1 / 8


class Correlations:
    """Correlations of p variables: a matrix, or observations from which they are computed when somebody asks.

    `dense` defines the numbers; `pairs` and `among` return the same bits, without the matrix.

    `matrix`, float64 (p, p). `data`, float64 or float32 (n, p): finite observations, scaled (`correlation.scaled`),
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
