"""The arrays that a walk over the prefixes of a row reads and writes, as named tuples.

`Cutoff` says where the fast test is certain: farther from the cutoff than rounding can move it.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.cpu.graph import Graph, Indices, Targets
from pycupc.engines.protocol import Floats, Ints, Mask
from pycupc.independence.gaussian.tolerances import CUTOFF_BAND, PIVOT_FLOOR

#: A fast r^2 of at least this is doubtful.
NEAR_ONE = 1.0 - PIVOT_FLOOR
#: r^2 below which rounding, not data, decides about a cutoff at zero (alpha = 1).
TINY = 1e-12
#: `NeighbourLists.mirror` where only one side is tested.
NO_MIRROR = np.zeros(0, dtype=np.int64)

Space = TypeVar("Space", bound=tuple[Any, ...])


def work_space(kind: type[Space], **given: Any) -> Space:
    """A named tuple of arrays of zeros.

    Each field is annotated with its dimensions: sums of numbers and of lengths that are `given`. A field that is given
    itself is taken as it is.
    """
    shapes = _shapes(kind, tuple([item for item in given.items() if not isinstance(item[1], np.ndarray)]))
    return kind(*[given[name] if name in given else np.zeros(shape, dtype) for name, shape, dtype in shapes])


@functools.lru_cache(maxsize=256)
def _shapes(kind: type[tuple[Any, ...]], lengths: tuple[tuple[str, int], ...]) -> list[tuple[str, list[int], Any]]:
    """The name, shape and dtype of each field; the shape of one that is given itself may be anything."""
    given = defaultdict(int, lengths)

    def shape(axes: str) -> list[int]:
        return [sum([int(v) if v.isdigit() else given[v] for v in axis.split("+")]) for axis in axes.split()]

    return [(name, shape(axes), dtype) for name, axes, dtype in _fields(kind)]


@functools.cache
def _fields(kind: type[tuple[Any, ...]]) -> list[tuple[str, str, Any]]:
    """The name of each field, its dimensions and its dtype."""

    def dtype(array: Any) -> Any:
        last = get_args(array)[-1]  # the argument of NDArray; before NumPy 2.5, np.dtype of it
        return (*get_args(last), last)[0]

    hints = [(name, *get_args(hint)) for name, hint in get_type_hints(kind, include_extras=True).items()]
    return [(name, axes, dtype(array)) for name, array, axes in hints]


class Cutoff(NamedTuple):
    """The cutoff of a level with its doubtful band."""

    value: float  # largest |r| that is independent (`fisher_z.cutoff`)
    # low, high: a fast r^2 below `low` is certainly independent, one above `high` certainly not.
    low: float
    high: float

    @classmethod
    def around(cls, value: Any) -> Cutoff:
        """The cutoff `value`, float or array, with its band."""
        square = value * value
        return cls(value, square * (1.0 - CUTOFF_BAND) - TINY, square * (1.0 + CUTOFF_BAND) + TINY)


#: Rank of an outcome that belongs to no target.
NO_TARGET = -2
#: Rank of a pair that pruning leaves to the walk, as a test was doubtful or its search took too long.
LEFT = -3
#: M_jj of filling: so large that its r^2 is certainly 0.
LARGE = 1e300


class Side(NamedTuple):
    """The data shared by all walks and searches of one side of a level: each field more makes the walk slower."""

    C: Floats  # (w, w): correlations of the variables of a `submatrices.Part`
    neighbours: Ints  # neighbour lists in the numbers of C
    chosen: Mask  # (E,): targets
    # (E,): number of a part of a row (`row_items`) that is known to separate the entry, -1 if none is: a walk beyond it
    # drops the target. It serves only to stop early, never as an answer, so it does not matter which thread wrote it
    # when.
    hint: Indices
    binomials: Indices  # `subsets.binomial_table` of the largest degree and the level
    cutoff: Cutoff
    level: int

    @classmethod
    def of(cls, graph: Graph, targets: Targets, level: int, cutoff: Cutoff) -> Side:
        """The side of a level in which these targets are tested; its C is empty."""
        hint, binomials = np.full(len(graph.neighbours), -1), subsets.binomial_table(graph.widest, level)
        return cls(np.empty((0, 0)), graph.neighbours, targets.chosen, hint, binomials, cutoff, level)


#: The columns of items (`row_items`), int64 (m, 9): row, its first entry and its number of neighbours; the number of
#: the row and the place of its list in the `Part`; the first of its parts and the one after the last; the number of
#: items of the row; the number of tests.
ROW, START, DEGREE, X, AT, FIRST, END, PIECES, WORK = range(9)


class Part(NamedTuple):
    """Some items of a side, with the correlations that they read."""

    # (w, w), contiguous, not writeable: cells for variables that are not read together may have no meaning.
    C: Floats
    neighbours: Ints
    items: Indices  # (m, 9): with rows and places in the numbers of C
    following: Indices  # (1,): the number of the item that is taken next
    widest: int  # largest number of neighbours of their rows


class Outcomes(NamedTuple):
    """The findings of a walk over a part of a row, by position; the fields are fields of `Findings`."""

    rank: Indices  # NO_TARGET where nothing was to be tested
    r: Floats
    smallest: Floats

    @classmethod
    def of(cls, d: int) -> Outcomes:
        """For up to d neighbours, without a meaning yet."""
        return cls(np.empty(d, np.int64), np.empty(d), np.empty(d))


class Matrices(NamedTuple):
    """The matrices M|P for the prefixes of size t, t = 0 .. level - 2; by position or column."""

    kj: Annotated[Floats, "t d width"]  # of filling any number: its variance is so large that it does not matter
    # xj, jj, bound: of the targets.
    xj: Annotated[Floats, "t width"]
    jj: Annotated[Floats, "t width"]
    bound: Annotated[Floats, "t width"]
    xk: Annotated[Floats, "t d"]
    kk: Annotated[Floats, "t d"]
    xx: Annotated[Floats, "t"]  # NaN where a pivot on the way is not above the floor; nothing else is valid then
    position: Annotated[Indices, "t width"]  # of a column; 0 for filling
    column: Annotated[Indices, "t d"]  # of a position; -1 where there is none
    # targets, padded, columns: number of columns: targets, the same with filling, all.
    targets: Annotated[Indices, "t"]
    padded: Annotated[Indices, "t"]
    columns: Annotated[Indices, "t"]


class WalkWork(NamedTuple):
    """Work space of a walk."""

    bound: Annotated[Floats, "d"]  # bound of a target, -1 for a variable that is no target, or no longer one
    open_before: Annotated[Indices, "t"]  # open targets at the time when the matrices of depth t were laid out
    chosen: Annotated[Indices, "level"]  # positions of the prefix and of the last member
    # xj, jj: M_xj and M_jj of the targets given the whole prefix, by column.
    xj: Annotated[Floats, "width"]
    jj: Annotated[Floats, "width"]
    runs: Annotated[Indices, "d+2 3"]  # pieces of consecutive columns that stay, as (from, to, length)
    nodes: Annotated[Indices, "level+2"]  # for the canonical formula
    elimination: Annotated[Floats, "given"]  # `canonical_space` of the level


class Place(NamedTuple):
    """Where a walk is: row x of C with d neighbours, which starts at entry `start`, at place `at` of the neighbour
    lists and at outcome `out`; the part.
    """

    x: int
    d: int
    start: int
    at: int
    out: int
    number: int


class Candidate(NamedTuple):
    """A last member k of the set, after a prefix that ends in s, and the numbers for its tests given the prefix."""

    s: int
    k: int
    factor: float  # M_ks / M_ss
    xk: float  # M_xk
    kk: float  # M_kk
    determinant: float  # M_xx M_kk - M_xk^2
    sure: bool  # all pivots are above the floor
