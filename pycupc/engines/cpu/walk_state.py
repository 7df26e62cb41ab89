"""What a walk over the prefixes of a row reads and writes: named arrays, described once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.certainty import Cutoff
from pycupc.engines.cpu.graph import Indices

#: Targets are filled up to whole blocks, so that few are left to scalar instructions.
BLOCK = 8

#: Rank of an outcome that belongs to no target.
NO_TARGET = -2

#: First index of `Matrices.target`, of `Matrices.member` and of `Matrices.size`.
COVARIANCE, VARIANCE, BOUND = 0, 1, 2
TARGETS, PADDED, COLUMNS = 0, 1, 2


class Side(NamedTuple):
    """What all walks of one side of a level share.

    C : float64 (p, p)
    offsets, neighbours : int64 (p + 1,), int32 (E,)
        The neighbour lists.
    chosen : bool (E,)
        Targets.
    hint : int64 (E,)
        Number of a prefix that is known to separate the entry, -1 if none is: a walk beyond it drops the target. It
        serves only to stop early, never as an answer, so it does not matter which thread wrote it when.
    binomials : int64
        `subsets.binomial_table` of the largest degree and the level.
    cutoff : Cutoff
    level : int
    """

    C: Floats
    offsets: Indices
    neighbours: Ints
    chosen: Mask
    hint: Indices
    binomials: Indices
    cutoff: Cutoff
    level: int


class Items(NamedTuple):
    """Work items, int64 (m,) each: a row, the number of its first prefix, and the number of prefixes."""

    row: Indices
    first: Indices
    prefixes: Indices


class Outcomes(NamedTuple):
    """What the walks of a task find, a stretch per item, by position: the entry, and the fields of `Findings`.

    entry, rank : int64; r, smallest : float64. The rank is NO_TARGET where nothing was to be tested.
    """

    entry: Indices
    rank: Indices
    r: Floats
    smallest: Floats


class Matrices(NamedTuple):
    """The matrices M|P for the prefixes of size t.

    pair : float64 (t, position k, column)
        M_kj.
    target : float64 (t, 3, column)
        M_xj, M_jj and the bound of the targets.
    member : float64 (t, 2, position k)
        M_xk and M_kk.
    variance : float64 (t,)
        M_xx, NaN where a pivot on the way is not above the floor; nothing else is valid then.
    position : int64 (t, column)
        -1 for filling.
    column : int64 (t, position)
        -1 where there is none.
    size : int64 (t, 3)
        Targets, the same with filling, all columns.
    """

    pair: Floats
    target: Floats
    member: Floats
    variance: Floats
    position: Indices
    column: Indices
    size: Indices


class Work(NamedTuple):
    """Work space of a walk.

    bound : float64 (position,)
        Bound of a target, -1 for what is not one, or no longer.
    chosen : int64 (level,)
        Positions of the prefix and of the last member.
    last : float64 (2, column)
        M_xj and M_jj of the targets given the whole prefix.
    runs : int64 (d + 2, 3)
        Pieces of consecutive columns that stay, as (from, to, length).
    nodes, elimination : int64 (level + 2,), float64 (level + 4, level + 4)
        For the canonical formula.
    """

    bound: Floats
    chosen: Indices
    last: Floats
    runs: Indices
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
    """A last member k of the set, after a prefix that ends in s, and what its tests need given all of the prefix.

    factor : M_ks / M_ss. covariance, variance : M_xk and M_kk, the variance NaN if it is doubtful. determinant :
    M_xx M_kk - M_xk^2.
    """

    s: int
    k: int
    factor: float
    covariance: float
    variance: float
    determinant: float


def work_space(level: int, d: int) -> tuple[Matrices, Work]:
    """Arrays for walks over rows of up to d neighbours."""
    t, width = level - 1, d + BLOCK
    matrices = Matrices(
        np.empty((t, d, width)),
        np.empty((t, 3, width)),
        np.empty((t, 2, d)),
        np.empty(t),
        np.empty((t, width), np.int64),
        np.empty((t, d), np.int64),
        np.empty((t, 3), np.int64),
    )
    work = Work(
        np.empty(d),
        np.empty(level, np.int64),
        np.empty((2, width)),
        np.empty((d + 2, 3), np.int64),
        np.empty(level + 2, np.int64),
        np.empty((level + 4, level + 4)),
    )
    return matrices, work
