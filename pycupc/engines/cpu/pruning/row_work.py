"""The arrays that the walk over the rows reads and writes, as named tuples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.walk_state import Cutoff

#: By how much a bound must exceed its threshold: more than rounding can move it in a well-conditioned row.
MARGIN = 1e-9

#: Rank of a pair that is left to the walk, because a test was doubtful or the search gave up.
LEFT = -3

#: Counts of a walk: tests made, bounds evaluated.
TESTS, BOUNDS = 0, 1


class RowSide(NamedTuple):
    """The data shared by all walks of one side of a level; the other fields are as in `walk_state.Side`.

    bound : float64 (E,)
        Squared partial correlation above which a test of the entry does not matter: the upper edge of the doubtful band
        or, in the search for the minimum, the smallest value known.
    hint : int64 (E,)
        First member of the item that separated the entry, -1 if none has: later items drop it.
    minimum : bool
        Search for the minimum: the bound follows the smallest value met.
    """

    C: Floats
    offsets: Indices
    neighbours: Ints
    chosen: Mask
    bound: Floats
    hint: Indices
    binomials: Indices
    cutoff: Cutoff
    level: int
    minimum: bool


class RowItems(NamedTuple):
    """Work items, int64 (m,) each: a row, and the range first .. end - 1 of the first member of its sets."""

    row: Indices
    first: Indices
    end: Indices


class RowPlace(NamedTuple):
    """Row x with d neighbours, which starts at entry `start` and at outcome `out`; first member of the item."""

    x: int
    d: int
    start: int
    out: int
    first: int


class Target(NamedTuple):
    """A target given P and s: its column, b = B_sy, covariance with x, variance, and its bound."""

    column: int
    b: float
    xy: float
    yy: float
    bound: float


class RowWork(NamedTuple):
    """Work space for rows of up to d neighbours; u is the number of members that are given.

    B : float64 (u, position of a candidate, column)
        Correlations given the first u members; 0 where a variable meets itself.
    h : float64 (u, column)
        Correlations of x with the candidates, given the same members.
    position, column : int64 (u, column), (u, position)
        The position of a column among the neighbours, ascending, and back.
    columns : int64 (u,)
        Number of columns.
    source, scale : int64, float64 (column,)
        While one more member is given: the column it was, 1 / standard deviation.
    G, G2, X, X2 : float64 (column,)
        G and the square of X of a column, with the runners-up.
    threshold, bound : float64 (column,), (position,)
        c of a target, and c squared; negative for a variable that is no target, or no longer one.
    open, n_open : bool (u, s, column), int64 (u, s)
        The columns whose tests are not skipped, and their number.
    live : bool (u, column)
        Targets that were not skipped on the way.
    following : int64 (u,)
        The next member to take.
    T, transposed : float64 (column, column), bool (column,)
        B by target, of the targets that needed it.
    given, e, xk, determinant : float64 (column,)
        Of each k given s: B_sk, variance, covariance with x, determinant of both.
    chosen : int64 (level,)
    counts : int64 (2,)
    """

    B: Floats
    h: Floats
    position: Indices
    column: Indices
    columns: Indices
    source: Indices
    scale: Floats
    G: Floats
    G2: Floats
    X: Floats
    X2: Floats
    threshold: Floats
    bound: Floats
    open: Mask
    n_open: Indices
    live: Mask
    following: Indices
    T: Floats
    transposed: Mask
    given: Floats
    e: Floats
    xk: Floats
    determinant: Floats
    chosen: Indices
    counts: Indices


def floats(*shape: int) -> Floats:
    """Work space of that shape, float64."""
    return np.empty(shape)


def integers(*shape: int) -> Indices:
    """Work space of that shape, int64."""
    return np.empty(shape, dtype=np.int64)


def row_work(level: int, d: int) -> RowWork:
    """Arrays for walks over rows of up to d neighbours."""
    u = level - 1

    return RowWork(
        B=floats(u, d, d),
        h=floats(u, d),
        position=integers(u, d),
        column=integers(u, d),
        columns=integers(u),
        source=integers(d),
        scale=floats(d),
        G=floats(d),
        G2=floats(d),
        X=floats(d),
        X2=floats(d),
        threshold=floats(d),
        bound=floats(d),
        open=np.empty((u, d, d), dtype=np.bool_),
        n_open=integers(u, d),
        live=np.empty((u, d), dtype=np.bool_),
        following=integers(u),
        T=floats(d, d),
        transposed=np.empty(d, dtype=np.bool_),
        given=floats(d),
        e=floats(d),
        xk=floats(d),
        determinant=floats(d),
        chosen=integers(level),
        counts=np.zeros(2, dtype=np.int64),
    )
