"""The arrays that the walk with bounds reads and writes, as named tuples; `walk_arrays` of the walk is its model."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pycupc.engines.cpu.graph import Indices
from pycupc.engines.protocol import Floats, Mask

#: A bound must exceed its threshold by this: more than rounding can move it in a well-conditioned row.
MARGIN = 1e-9
#: Rank of a pair of a row whose matrix allows no search.
UNSOUND = -4
#: Counts: tests made, bounds evaluated; nanoseconds of the searches about pairs that could be tested set by set, by the
#: steps made, and nanoseconds of the tests that these searches replaced.
TESTS, BOUNDS, SPENT, REPLACED = range(4)


class Target(NamedTuple):
    """A target given P and s: its column, b = B_sy, covariance with x, variance, and its bound."""

    column: int
    b: float
    xy: float
    yy: float
    bound: float


class BoundedWork(NamedTuple):
    """Work space; u is the number of members that are given, d stands for positions, s among them, and columns."""

    B: Annotated[Floats, "u d d"]  # (u, position, column) correlations given u members; 0 of a variable with itself
    h: Annotated[Floats, "u d"]  # correlations of x with the candidates, by column, given the same members
    position: Annotated[Indices, "u d"]  # position of a column among the neighbours, ascending
    column: Annotated[Indices, "u d"]  # and back
    columns: Annotated[Indices, "u"]  # number of columns
    source: Annotated[Indices, "d"]  # while one more member is given: the column that a column was
    scale: Annotated[Floats, "d"]  # likewise: 1 / standard deviation
    G: Annotated[Floats, "d"]  # by column
    X: Annotated[Floats, "d"]  # by column: the square of X
    threshold: Annotated[Floats, "d"]  # by column: c of a target; negative for a variable that is none, or no longer
    bound: Annotated[Floats, "d"]  # by position: c squared; likewise
    open: Annotated[Mask, "u d d"]  # (u, s, column) whether the tests of a column are not skipped
    n_open: Annotated[Indices, "u d"]  # (u, s) their number
    live: Annotated[Mask, "u d"]  # by column: targets that were not skipped on the way
    following: Annotated[Indices, "u"]  # the next member to take
    T: Annotated[Floats, "d d"]  # (column, column) B by target, of the targets that needed it
    transposed: Annotated[Mask, "d"]  # by column: whether it is there
    given: Annotated[Floats, "d"]  # of each column k given s: B_sk
    e: Annotated[Floats, "d"]  # its variance
    xk: Annotated[Floats, "d"]  # its covariance with x
    determinant: Annotated[Floats, "d"]  # of both
    chosen: Annotated[Indices, "level"]  # positions of a set
    minimum: Annotated[Mask, "1"]  # search for the smallest r^2: the bound follows the smallest one met
    counts: Annotated[Indices, "4"]  # `TESTS`, `BOUNDS`
