"""The arrays that the walk with bounds reads and writes, as named tuples; `walk_state` of the walk is its model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.walk_state import Cutoff

#: A bound must exceed its threshold by this: more than rounding can move it in a well-conditioned row.
MARGIN = 1e-9
#: Rank of a pair that is left to the walk, as a test was doubtful or its search took too long.
LEFT = -3
#: Counts: tests made, bounds evaluated.
TESTS, BOUNDS = 0, 1


class Side(NamedTuple):
    """The data shared by all tasks of one side of a level; fields without a comment are as in `cpu.walk_state.Side`."""

    C: Floats
    offsets: Indices
    neighbours: Ints
    chosen: Mask
    bound: Floats  # (E,) r^2 above which a test does not matter: the doubtful band's end or, for the minimum, the least
    hint: Indices  # (E,) first member of the item that separated the entry, -1: none has; later items drop the entry
    binomials: Indices
    cutoff: Cutoff
    level: int
    minimum: bool  # search for the smallest r^2: the bound follows the smallest one met


class Items(NamedTuple):
    """Work items, int64 (m,) each: a row, and the range first .. end - 1 of the first member of its sets."""

    row: Indices
    first: Indices
    end: Indices


class Place(NamedTuple):
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


class Work(NamedTuple):
    """Work space; u is the number of members that are given."""

    B: Floats  # (u, position of a candidate, column) correlations given u members; 0 where a variable meets itself
    h: Floats  # (u, column) correlations of x with the candidates, given the same members
    position: Indices  # (u, column) position of a column among the neighbours, ascending
    column: Indices  # (u, position) and back
    columns: Indices  # (u,) number of columns
    source: Indices  # (column,) while one more member is given: the column it was
    scale: Floats  # (column,) likewise: 1 / standard deviation
    G: Floats  # (column,)
    X: Floats  # (column,) the square of X
    threshold: Floats  # (column,) c of a target; negative for a variable that is no target, or no longer one
    bound: Floats  # (position,) c squared; likewise
    open: Mask  # (u, s, column) whether the tests of a column are not skipped
    n_open: Indices  # (u, s) their number
    live: Mask  # (u, column) targets that were not skipped on the way
    following: Indices  # (u,) the next member to take
    T: Floats  # (column, column) B by target, of the targets that needed it
    transposed: Mask  # (column,) whether it is there
    given: Floats  # (column,) of each k given s: B_sk
    e: Floats  # (column,) variance
    xk: Floats  # (column,) covariance with x
    determinant: Floats  # (column,) of both
    chosen: Indices  # (level,) positions of a set
    counts: Indices  # (2,) `TESTS`, `BOUNDS`


def floats(**shapes: tuple[int, ...]) -> dict[str, Any]:
    """Arrays of these shapes, float64."""
    return {name: np.empty(shape) for name, shape in shapes.items()}


def integers(**shapes: tuple[int, ...]) -> dict[str, Any]:
    """Arrays of these shapes, int64, zeros."""
    return {name: np.zeros(shape, dtype=np.int64) for name, shape in shapes.items()}


def masks(**shapes: tuple[int, ...]) -> dict[str, Any]:
    """Arrays of these shapes, bool."""
    return {name: np.empty(shape, dtype=np.bool_) for name, shape in shapes.items()}


def walk_space(level: int, d: int) -> Work:
    """Arrays for walks over rows of up to d neighbours."""
    u = level - 1
    vectors = dict.fromkeys(("scale", "G", "X", "threshold", "bound", "given", "e", "xk", "determinant"), (d,))
    places = {"position": (u, d), "column": (u, d), "columns": (u,), "source": (d,), "n_open": (u, d)}
    return Work(
        **floats(B=(u, d, d), h=(u, d), T=(d, d), **vectors),
        **masks(open=(u, d, d), live=(u, d), transposed=(d,)),
        **integers(**places, following=(u,), chosen=(level,), counts=(2,)),
    )
