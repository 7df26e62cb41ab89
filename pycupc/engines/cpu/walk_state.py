"""The arrays that a walk over the prefixes of a row reads and writes, as named tuples.

`Cutoff` says where the fast test is certain: farther from the cutoff than rounding can move it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import BLOCK
from pycupc.independence.gaussian.limits import CUTOFF_BAND, PIVOT_FLOOR
from pycupc.independence.gaussian.partial_correlation import canonical_space

#: A fast r^2 of at least this is doubtful.
NEAR_ONE = 1.0 - PIVOT_FLOOR
#: r^2 below which rounding, not data, decides about a cutoff at zero (alpha = 1).
TINY = 1e-12


class Cutoff(NamedTuple):
    """The cutoff of a level with its doubtful band."""

    value: float  # largest |r| that is independent (`fisher_z.cutoff`)
    # low, high: a fast r^2 below `low` is certainly independent, one above `high` certainly not.
    low: float
    high: float

    @classmethod
    def around(cls, value: float) -> Cutoff:
        """The cutoff `value` with its band."""
        square = value * value
        return cls(value, square * (1.0 - CUTOFF_BAND) - TINY, square * (1.0 + CUTOFF_BAND) + TINY)


#: Rank of an outcome that belongs to no target.
NO_TARGET = -2
#: M_jj of filling: so large that its r^2 is certainly 0.
LARGE = 1e300


class Side(NamedTuple):
    """The data shared by all walks of one side of a level."""

    C: Floats  # (p, p)
    # offsets, neighbours: (p + 1,), (E,): the neighbour lists.
    offsets: Indices
    neighbours: Ints
    chosen: Mask  # (E,): targets
    # (E,): number of a prefix that is known to separate the entry, -1 if none is: a walk beyond it drops the target. It
    # serves only to stop early, never as an answer, so it does not matter which thread wrote it when.
    hint: Indices
    binomials: Indices  # `subsets.binomial_table` of the largest degree and the level
    cutoff: Cutoff
    level: int


class Items(NamedTuple):
    """Work items, int64 (m,) each: a row, the number of its first prefix, and the number of prefixes."""

    row: Indices
    first: Indices
    prefixes: Indices


class Outcomes(NamedTuple):
    """The findings of the walks of a task, a stretch per item, by position: the entry, and the fields of `Findings`."""

    entry: Indices
    rank: Indices  # NO_TARGET where nothing was to be tested
    r: Floats
    smallest: Floats

    def part(self, stretch: slice) -> Outcomes:
        """The outcomes of some items."""
        return Outcomes(self.entry[stretch], self.rank[stretch], self.r[stretch], self.smallest[stretch])


#: In place of C in the data of a side: each extract has its own.
NO_CORRELATIONS = np.empty((0, 0))


class Matrices(NamedTuple):
    """The matrices M|P for the prefixes of size t, t = 0 .. level - 2."""

    kj: Floats  # (t, position k, column j)
    # xj, jj, bound: (t, column j): of the targets.
    xj: Floats
    jj: Floats
    bound: Floats
    # xk, kk: (t, position k)
    xk: Floats
    kk: Floats
    xx: Floats  # (t,): NaN where a pivot on the way is not above the floor; nothing else is valid then
    position: Indices  # (t, column): 0 for filling
    column: Indices  # (t, position): -1 where there is none
    # targets, padded, columns: (t,): number of columns: targets, the same with filling, all.
    targets: Indices
    padded: Indices
    columns: Indices


class Work(NamedTuple):
    """Work space of a walk."""

    bound: Floats  # (position,): bound of a target, -1 for a variable that is no target, or no longer one
    open_before: Indices  # (t,): open targets at the time when the matrices of depth t were laid out
    chosen: Indices  # (level,): positions of the prefix and of the last member
    # xj, jj: (column,): M_xj and M_jj of the targets given the whole prefix.
    xj: Floats
    jj: Floats
    runs: Indices  # (d + 2, 3): pieces of consecutive columns that stay, as (from, to, length)
    # nodes, elimination: (level + 2,), `canonical_space` of the level: for the canonical formula.
    nodes: Indices
    elimination: Floats


class Place(NamedTuple):
    """Where a walk is: row x with d neighbours, which starts at entry `start` and at outcome `out`; the prefix."""

    x: int
    d: int
    start: int
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


def work_space(level: int, d: int) -> tuple[Matrices, Work]:
    """Arrays for walks over rows of up to d neighbours."""
    t, width = level - 1, d + BLOCK
    matrices = Matrices(
        kj=np.zeros((t, d, width)),  # filling is never written
        xj=np.empty((t, width)),
        jj=np.empty((t, width)),
        bound=np.empty((t, width)),
        xk=np.empty((t, d)),
        kk=np.empty((t, d)),
        xx=np.empty(t),
        position=np.empty((t, width), np.int64),
        column=np.empty((t, d), np.int64),
        targets=np.empty(t, np.int64),
        padded=np.empty(t, np.int64),
        columns=np.empty(t, np.int64),
    )
    work = Work(
        bound=np.empty(d),
        open_before=np.empty(t, np.int64),
        chosen=np.empty(level, np.int64),
        xj=np.empty(width),
        jj=np.empty(width),
        runs=np.empty((d + 2, 3), np.int64),
        nodes=np.empty(level + 2, np.int64),
        elimination=canonical_space(level),
    )
    return matrices, work
