"""Level 0 from data, without a matrix of all variables: a sieve in float32, and the definition for what passes it.

For each pair of columns the sieve computes c, the float32 product of both, scaled to unit length and rounded to
float32. Pairs with |c| > cutoff - margin pass. Of these, r is computed by its definition (`correlation`), and decides.
No pair is lost, since |c - r| <= margin, as follows. Let u = 2^-24 and e = 2^-53 be the largest relative errors of one
rounding to float32 and float64, a and b the centred columns of float64 numbers of which both c and r are made, exactly
scaled to unit length, and A, B their float32 numbers.

1. r has a numerator with n fused multiply-adds, hence an error of at most 1.01 n e (by Cauchy's and Schwarz'
   inequality the products have a sum of absolute values of at most 1), and a root of two such sums of squares, with a
   relative error of at most (1.01 n + 3) e: |r - a'b| <= (3 n + 8) e. Clipping r to [-1, 1] reduces that distance.
2. A and B are quotients by a root with a relative error of at most (n + 3) e, rounded to float64 and to float32. An
   element that is too small for float32 changes by at most t = 2^-126, though a library may take it for 0. So
   |A'B - a'b| <= 2.01 u + (3 n + 8) e + 3 n t.
3. A product of the library sums at most K = `SIEVE_DEPTH` terms in any order, with or without fused multiply-adds. The
   error is at most K u / (1 - K u) times the sum of the absolute products (Higham 2002, Accuracy and Stability of
   Numerical Algorithms, section 3.1), and underflow adds at most t per term. The m = n / K products are added one
   after the other, with an error of at most m u / (1 - m u). So |c - A'B| <= 1.01 (K + m) u + n t, for m below 100,000.

Together: |c - r| <= 1.01 (min(n, K) + m + 2) u + (6 n + 16) e + 4 n t. A constant column is 0 in the sieve, and never
passes; its r is NaN, which counts as independent.
"""

from __future__ import annotations

import math
import threading
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import EngineError, Floats, Ints, Pairs
from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.tuning import SIEVE_DEPTH, SIEVE_TILE, SIEVED_BYTES, SMALLER_ALPHAS
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.columns import Columns
from pycupc.system.machine import free_memory, in_threads
from pycupc.system.progress import CountHook

Singles = NDArray[np.float32]


def margin(n: int) -> float:
    """The largest distance of c from r for n observations, as proved above."""
    products = -(-n // SIEVE_DEPTH)
    in_float32 = 1.01 * (min(n, SIEVE_DEPTH) + products + 2) * 2.0**-24
    return in_float32 + (6 * n + 16) * 2.0**-53 + 4 * n * 2.0**-126


def level0(
    columns: Columns, n: float, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, n_threads: int,
    progress: CountHook | None = None,
) -> Graph:  # fmt: skip
    """The edges whose correlation is beyond the cutoff, and the fixed edges; as `matrix.level0`.

    `progress` is called with the number of tiles done and of all tiles.

    Raises
    ------
    EngineError
        There are too many to fit memory; the message says how many, and which alpha would leave fewer.
    """
    p = len(columns)
    x, y = _Sieve(columns, n, cutoff).pairs(n_threads, progress)
    r = columns.pairs(x, y, n_threads)
    left = np.abs(r) > cutoff
    if gaps is not None:
        left &= ~gaps.holds(x, y)
    if fixed is not None:
        left &= ~fixed.holds(x, y)
    x, y, r = x[left], y[left], r[left]
    n_tested = len(x)
    if fixed is not None:
        always = fixed - gaps
        x, y = np.concatenate([x, always.low]), np.concatenate([y, always.high])
        r = np.concatenate([r, np.full(len(always), np.nan)])
    order = np.lexsort((np.concatenate([y, x]), np.concatenate([x, y])))
    rows, neighbours = np.concatenate([x, y])[order], np.concatenate([y, x])[order].astype(np.int32)
    r, never = np.tile(r, 2)[order], np.tile(np.arange(len(x)) >= n_tested, 2)[order]

    def z(entries: Indices) -> Floats:
        return np.where(never[entries], np.inf, fisher_z.z_score(r[entries], n, 0))

    return Graph(np.searchsorted(rows, np.arange(p + 1)), neighbours, never, z)


class _Sieve:
    """The pairs that may be beyond the cutoff."""

    def __init__(self, columns: Columns, n: float, cutoff: float) -> None:
        self._columns, self._n, self._cutoff = columns, n, cutoff
        self._found: list[tuple[Ints, Ints]] = []
        self._n_found, self._room = 0, free_memory() // SIEVED_BYTES
        #: Cutoffs of smaller significance levels, for the message if there are too many pairs.
        self._alphas = fisher_z.p_value_of(cutoff, n - 3) * 10.0 ** -np.arange(SMALLER_ALPHAS)
        self._counts = np.zeros(SMALLER_ALPHAS + 1, dtype=np.int64)
        self._spaces: list[tuple[Singles, Singles]] = []
        self._lock = threading.Lock()

    def pairs(self, n_threads: int, progress: CountHook | None) -> tuple[Ints, Ints]:
        """x < y of the pairs, int32 (m,) each, in no order.

        The library multiplies with all cores; other threads look at their tiles meanwhile.
        """
        none = np.zeros(0, dtype=np.int32)
        if math.isinf(self._cutoff):
            return none, none
        unit, lows = self._unit_columns(n_threads), range(0, len(self._columns), SIEVE_TILE)
        least = np.nextafter(np.float32(self._cutoff - margin(unit.shape[1])), np.float32(-np.inf))
        cutoffs = np.array([fisher_z.cutoff(alpha, self._n, 0) for alpha in self._alphas.tolist()])
        tiles = [(i, j) for i in lows for j in lows if i <= j]

        def look(tile: tuple[int, int]) -> None:
            self._look(unit, *tile, least, cutoffs)

        for done, _ in enumerate(in_threads(look, tiles, n_threads)):
            if progress is not None:
                progress(done + 1, len(tiles))
        if self._n_found > self._room:
            raise self._refusal()
        return np.concatenate([none, *(x for x, _ in self._found)]), np.concatenate(
            [none, *(y for _, y in self._found)]
        )

    def _unit_columns(self, n_threads: int) -> Singles:
        """The columns, scaled to unit length, float32 (p, n); 0 for constant ones."""
        centred, squares = self._columns.centred, self._columns.squares
        unit = np.empty(centred.shape, dtype=np.float32)

        def scale(part: tuple[int, int]) -> None:
            block = slice(*part)
            with np.errstate(invalid="ignore"):
                unit[block] = centred[block] / np.sqrt(squares[block])[:, None]
            unit[block][np.isnan(squares[block])] = 0.0

        parts = pairwise([*range(0, len(unit), SIEVE_TILE), len(unit)])
        for _ in in_threads(scale, parts, n_threads):
            pass
        return unit

    def _look(self, unit: Singles, i: int, j: int, least: np.float32, cutoffs: Floats) -> None:
        """Find the pairs of a tile, x from i on and y from j on."""
        a, b = unit[i : i + SIEVE_TILE], unit[j : j + SIEVE_TILE]
        space, more = self._take_spaces()
        c = space[: len(a), : len(b)]
        np.matmul(a[:, :SIEVE_DEPTH], b[:, :SIEVE_DEPTH].T, out=c)
        for k in range(SIEVE_DEPTH, unit.shape[1], SIEVE_DEPTH):
            part = more[: len(a), : len(b)]
            np.matmul(a[:, k : k + SIEVE_DEPTH], b[:, k : k + SIEVE_DEPTH].T, out=part)
            c += part
        np.abs(c, out=c)
        x, y = np.divmod(np.flatnonzero(c > least), len(b))
        values = c[x, y]
        if i == j:
            upper = x < y
            x, y, values = x[upper], y[upper], values[upper]
        number = np.searchsorted(cutoffs, values.astype(np.float64))  # of cutoffs below each
        with self._lock:
            self._spaces.append((space, more))
            self._counts += np.bincount(number, minlength=len(self._counts))
            self._n_found += len(x)
            if self._n_found > self._room:
                self._found.clear()
            else:
                self._found.append(((x + i).astype(np.int32), (y + j).astype(np.int32)))

    def _take_spaces(self) -> tuple[Singles, Singles]:
        try:
            return self._spaces.pop()
        except IndexError:
            several = self._columns.centred.shape[1] > SIEVE_DEPTH
            shape = (SIEVE_TILE, SIEVE_TILE)
            return np.empty(shape, dtype=np.float32), np.empty(shape if several else (0, 0), dtype=np.float32)

    def _refusal(self) -> EngineError:
        left = np.cumsum(self._counts[::-1])[::-1][1:]  # pairs beyond each of the cutoffs
        fits = np.flatnonzero(left <= self._room)
        remedy = "use fewer variables"
        if len(fits):
            k = int(fits[0])
            remedy = f"alpha = {self._alphas[k]:.1g} would leave about {int(left[k]):,}"
        need, free = int(left[0]) * SIEVED_BYTES / 1e9, self._room * SIEVED_BYTES / 1e9
        return EngineError(
            f"level 0 leaves about {int(left[0]):,} edges among {len(self._columns):,} variables, which need about "
            f"{need:.1f} GB, and {free:.1f} GB are free; {remedy}"
        )
