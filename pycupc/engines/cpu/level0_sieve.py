"""Level 0 from data, without a matrix of all variables: a sieve in float32, and the definition for what passes it.

For each pair of columns the sieve computes c, the float32 product of both, scaled to unit length and rounded to
float32. Pairs with |c| > cutoff - margin pass. Of these, r is computed by its definition (`correlation`), and decides.
No pair is lost, since |c - r| <= margin, as follows. Let u = 2^-24 and e = 2^-53 be the largest relative errors of one
rounding to float32 and float64, a and b the centred columns of float64 numbers of which both c and r are made, exactly
scaled to unit length, and A, B their float32 numbers.

1. r has a numerator in which at most n roundings concern a term, hence an error of at most 1.01 n e (by Cauchy's and
   Schwarz' inequality the products have a sum of absolute values of at most 1), and a root of two such sums of squares,
   with a relative error of at most (1.01 n + 3) e: |r - a'b| <= (3 n + 8) e. Clipping r to [-1, 1] reduces that
   distance.
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
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.tuning import PART_NUMBERS, SIEVE_DEPTH, SIEVE_TILE, SIEVED_BYTES, SMALLER_ALPHAS
from pycupc.engines.protocol import UNDIVIDED, Division, EngineError, Floats, Ints, Pairs
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.system.machine import free_memory, in_threads, single_products
from pycupc.system.progress import CountHook

Singles = NDArray[np.float32]


def margin(n: int) -> float:
    """The largest distance of c from r for n observations, as proved above."""
    products = -(-n // SIEVE_DEPTH)
    in_float32 = 1.01 * (min(n, SIEVE_DEPTH) + products + 2) * 2.0**-24
    return in_float32 + (6 * n + 16) * 2.0**-53 + 4 * n * 2.0**-126


def level0(
    columns: Columns, n: float, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, n_threads: int,
    progress: CountHook | None = None, division: Division = UNDIVIDED,
) -> Graph:  # fmt: skip
    """The edges whose correlation is beyond the cutoff, and the fixed edges; as `level0.level0`.

    `progress` is called with the number of tiles done and of all tiles.

    Raises EngineError if there are too many to fit memory; the message says how many, and which alpha would leave
    fewer. Or the executor of `division` has failed.
    """
    x, y = Sieve(columns, n, cutoff, division).pairs(n_threads, progress)
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
    never = np.arange(len(x)) >= n_tested

    def z(edges: Indices) -> Floats:
        return np.where(never[edges], np.inf, fisher_z.z_score(r[edges], n, 0))

    return Graph.of_edges(len(columns), x, y, never, z)


class Found(NamedTuple):
    """The pairs x < y that may be beyond the cutoff, in some tiles."""

    x: Ints  # (m,)
    y: Ints  # (m,)
    # (SMALLER_ALPHAS + 1,): how many pairs lie between two neighbouring cutoffs of `Search.cutoffs`, below the first,
    # above the last.
    counts: Indices


class Search(NamedTuple):
    """The question about a tile: which products exceed `least`, and how many exceed each of the ascending `cutoffs`."""

    least: np.float32
    cutoffs: Floats

    def look(self, a: Singles, b: Singles, at: tuple[int, int]) -> Found:
        """Find the pairs of a tile: of columns a, float32 (w, n), from number at[0] on, and b from at[1] on."""
        c = a[:, :SIEVE_DEPTH] @ b[:, :SIEVE_DEPTH].T
        for k in range(SIEVE_DEPTH, a.shape[1], SIEVE_DEPTH):
            c += a[:, k : k + SIEVE_DEPTH] @ b[:, k : k + SIEVE_DEPTH].T
        np.abs(c, out=c)
        x, y = np.divmod(np.flatnonzero(c > self.least), len(b))
        values = c[x, y]
        if at[0] == at[1]:
            upper = x < y
            x, y, values = x[upper], y[upper], values[upper]
        number = np.searchsorted(self.cutoffs, values.astype(np.float64))  # of cutoffs below each
        counts = np.bincount(number, minlength=len(self.cutoffs) + 1)
        return Found((x + at[0]).astype(np.int32), (y + at[1]).astype(np.int32), counts)


def find_in_part(
    search: Search, a: Singles, b: Singles, at: tuple[int, int], room: int, n_threads: int = 1,
    count: Callable[[int], None] = lambda tiles: None,
) -> Found:  # fmt: skip
    """The pairs in all tiles of a part, also the work of an executor; of more than `room` pairs only the number.

    `count` is called with the number of tiles done.
    """

    def look(tile: tuple[int, int]) -> Found:
        own, other = (columns[v : v + SIEVE_TILE] for columns, v in zip((a, b), tile, strict=True))
        return search.look(own, other, (at[0] + tile[0], at[1] + tile[1]))

    tiles = ((i, j) for i in _starts(len(a)) for j in _starts(len(b)) if at[0] + i <= at[1] + j)
    gathered = _Gathered(room, len(search.cutoffs))
    with single_products():
        for done, found in enumerate(in_threads(look, tiles, n_threads)):
            gathered.add(found)
            count(done)
    return gathered.found()


class _Gathered:
    """The pairs found so far; if there are more than `room`, only their number."""

    def __init__(self, room: int, n_cutoffs: int) -> None:
        self._room, self._pairs, self._n = room, [np.zeros((2, 0), dtype=np.int32)], 0
        self.counts = np.zeros(n_cutoffs + 1, dtype=np.int64)

    @property
    def too_many(self) -> bool:
        return int(self.counts.sum()) > self._room

    def add(self, found: Found) -> None:
        self.counts += found.counts
        self._pairs.append(np.stack([found.x, found.y]))
        if self.too_many:
            self._pairs = self._pairs[:1]

    def found(self) -> Found:
        x, y = np.concatenate(self._pairs, axis=1)
        return Found(x, y, self.counts)


class Sieve:
    """The pairs that may be beyond the cutoff."""

    def __init__(self, columns: Columns, n: float, cutoff: float, division: Division = UNDIVIDED) -> None:
        self._columns, self._n, self._cutoff, self._division = columns, n, cutoff, division
        self._room = free_memory() // SIEVED_BYTES
        #: Cutoffs of smaller significance levels, for the message if there are too many pairs.
        self._alphas = fisher_z.p_value_of(cutoff, n - 3) * 10.0 ** -np.arange(SMALLER_ALPHAS)

    def pairs(self, n_threads: int, progress: CountHook | None) -> tuple[Ints, Ints]:
        """x < y of the pairs, int32 (m,) each, in no order."""
        gathered, kept = _Gathered(self._room, SMALLER_ALPHAS), self._division.kept
        if math.isinf(self._cutoff):
            return gathered.found()[:2]
        unit = self._unit_columns()
        p, n = unit.shape
        search = self._search(n)
        side = max(1, PART_NUMBERS // n // SIEVE_TILE) * SIEVE_TILE
        left = dict(enumerate((i, j) for i in _starts(p, side) for j in _starts(p, side) if i <= j))
        sizes = {number: _n_tiles(at, side, p) for number, at in left.items()}
        total, done = sum(sizes.values()), 0
        cut = f"{side} columns"
        for numbers, (x, y, counts) in () if kept is None else kept.read(cut):
            gathered.add(Found(x.astype(np.int32), y.astype(np.int32), counts))
            done += sum(sizes[number] for number in numbers.tolist() if left.pop(number, None) is not None)

        def count(tiles: int) -> None:
            if progress is not None:
                progress(done + tiles, total)

        elsewhere = self._division.elsewhere
        make = partial(find_in_part, search, room=self._room, n_threads=n_threads, count=count)
        parts: Iterable[tuple[int, Found]] = (
            (number, make(unit[i : i + side], unit[j : j + side], (i, j))) for number, (i, j) in left.items()
        )
        if elsewhere is not None:  # a worker needs a part of the columns: each item has its own
            items = (
                (number, (search, unit[i : i + side], unit[j : j + side], (i, j), self._room))
                for number, (i, j) in left.items()
            )
            parts = elsewhere.results(find_in_part, items, len(left), "parts of level 0")
        for number, found in parts:
            gathered.add(found)
            if kept is not None:
                kept.add(cut, number, found)
            done += sizes[number]
            count(0)
        if gathered.too_many:
            raise self._refusal(gathered.counts)
        return gathered.found()[:2]

    def _search(self, n: int) -> Search:
        least = np.nextafter(np.float32(self._cutoff - margin(n)), np.float32(-np.inf))
        return Search(least, np.array([fisher_z.cutoff(alpha, self._n, 0) for alpha in self._alphas.tolist()]))

    def beside(self, chosen: Indices, n_threads: int) -> tuple[Indices, Ints]:
        """The ordered pairs (x, y), x among at most a tile of variables; none if the cutoff is infinite."""
        unit, before = self._unit_columns(), (-SIEVE_TILE, 0)  # these variables are numbered before all
        search = self._search(unit.shape[1])
        at, y, _ = find_in_part(search, unit[chosen], unit, before, self._room, n_threads)
        x = chosen[at + SIEVE_TILE]
        others = x != y
        return x[others], y[others]

    def _unit_columns(self) -> Singles:
        """The columns, scaled to unit length, float32 (p, n); 0 for constant ones."""
        centred, squares = self._columns.centred, self._columns.squares
        unit = np.empty(centred.shape, dtype=np.float32)
        with np.errstate(invalid="ignore"):
            for low in _starts(len(unit)):
                block = slice(low, low + SIEVE_TILE)
                unit[block] = centred[block] / np.sqrt(squares[block])[:, None]
        unit[np.isnan(squares)] = 0.0
        return unit

    def _refusal(self, counts: Indices) -> EngineError:
        left = np.cumsum(counts[::-1])[::-1][1:]  # pairs beyond each of the cutoffs
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


def _starts(stop: int, step: int = 0) -> range:
    """Where the tiles, or stretches of `step` columns, of `stop` columns begin."""
    return range(0, stop, step or SIEVE_TILE)


def _n_tiles(at: tuple[int, int], side: int, p: int) -> int:
    rows, columns = (-(-min(side, p - v) // SIEVE_TILE) for v in at)
    return rows * (rows + 1) // 2 if at[0] == at[1] else rows * columns
