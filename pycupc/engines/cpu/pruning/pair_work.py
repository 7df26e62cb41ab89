"""The arrays that the search for the separating set of a pair reads and writes, as named tuples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Floats
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.row_work import floats, integers
from pycupc.independence.gaussian.partial_correlation import canonical_space

#: A family is enumerated if it has at most this many sets for each pair of candidates.
SETS_PER_PAIR = 3.0


class PairOutcomes(NamedTuple):
    """The outcome of the search for each target.

    found : int64 (m,)
        `search.NONE`, `SEPARATED` or `UNDECIDED`.
    members : int64 (m, level)
        Members of its first separating set: positions among the neighbours without the target itself.
    smallest : float64 (m,)
        Smallest r^2 met.
    """

    found: Indices
    members: Indices
    smallest: Floats


class Row(NamedTuple):
    """The row of x, for d neighbours at most.

    R, A : float64 (d + 1, d + 1)
        Correlations of the neighbours and, last, x; work space.
    delta, v, u : float64 (d + 1,)
        R - diag(delta) is positive semidefinite; work space.
    """

    R: Floats
    A: Floats
    delta: Floats
    v: Floats
    u: Floats


class Base(NamedTuple):
    """The state of the search for the first separating set: the members known so far, and the remaining candidates.

    C : float64 (q, q); x, y, delta : float64 (q,); rho : float64 (1,)
        As in `Nodes`.
    position : int64 (q,)
        Positions of the candidates, ascending.
    members, known : int64 (level,)
        Positions of the members so far, and of a set that is known to separate the pair.
    """

    C: Floats
    x: Floats
    y: Floats
    delta: Floats
    rho: Floats
    position: Indices
    members: Indices
    known: Indices


class Nodes(NamedTuple):
    """A stack of nodes, one per slot: correlations given the members taken, all variances 1.

    C : float64 (slot, q, q); x, y : float64 (slot, q)
        Correlations of the candidates among themselves, with x, and with y.
    delta, weight : float64 (slot, q)
        C - diag(delta) is positive semidefinite; weights of the relaxation.
    rho : float64 (slot,)
    position, members : int64 (slot, q), (slot, level)
        Positions of the candidates, ascending, and of the members taken.
    q, m, taken : int64 (slot,)
        Number of candidates, of members to be chosen from them, of members taken.
    scale : float64 (q,)
        Work space.
    """

    C: Floats
    x: Floats
    y: Floats
    delta: Floats
    weight: Floats
    rho: Floats
    position: Indices
    members: Indices
    q: Indices
    m: Indices
    taken: Indices
    scale: Floats


class Leaf(NamedTuple):
    """Covariances while a family is enumerated, by the number t of members given.

    C : float64 (t, q, q)
        Upper triangle.
    x, y, kk : float64 (t, q)
        With x, with y, variances.
    xx, yy, xy : float64 (t,)
    chosen, following : int64 (t,)
        Candidate given at each depth, and the next one.
    set : int64 (level,)
        Positions of a set, ascending.
    """

    C: Floats
    x: Floats
    y: Floats
    kk: Floats
    xx: Floats
    yy: Floats
    xy: Floats
    chosen: Indices
    following: Indices
    set: Indices


class Frame(NamedTuple):
    """Work space for the bound of a node and for its division.

    H : float64 (q, q + 1)
        A factor, and the right side.
    a, b, h, z, Ez, s, best, row, scale : float64 (q,)
        Notation of the bound; `best` holds the scores of the best bound.
    top : float64 (level + 2,)
        Largest scores, descending.
    keep, source : int64 (q,)
        Candidates that stay.
    bound, smallest, margin : float64 (1,)
        Squared partial correlation below which a test is looked at; the smallest such square met; margin of the last
        bound.
    spent : float64 (2,)
        Nanoseconds of the searches about the current pair, and about all pairs, computed from the steps made.
    sets_per_pair : float64 (1,)
        `SETS_PER_PAIR`.
    nodes, elimination : int64 (level + 2,), `canonical_space` of the level
        For the canonical formula; the last two nodes are x and y.
    minimum : int64 (1,)
        Not 0: search for the minimum, and let the bound follow it.
    counts : int64 (2,)
        `TESTS`, `BOUNDS`.
    """

    H: Floats
    a: Floats
    b: Floats
    h: Floats
    z: Floats
    Ez: Floats
    s: Floats
    best: Floats
    row: Floats
    scale: Floats
    top: Floats
    keep: Indices
    source: Indices
    bound: Floats
    smallest: Floats
    margin: Floats
    spent: Floats
    sets_per_pair: Floats
    nodes: Indices
    elimination: Floats
    minimum: Indices
    counts: Indices


def pair_work(level: int, d: int) -> tuple[Row, Base, Nodes, Leaf, Frame]:
    """Arrays for rows of up to d neighbours."""
    slots, n = level + 2, d + 1

    row = Row(floats(n, n), floats(n, n), floats(n), floats(n), floats(n))
    base = Base(floats(n, n), floats(n), floats(n), floats(n), floats(1), integers(n), integers(level), integers(level))
    nodes = Nodes(
        C=floats(slots, n, n),
        x=floats(slots, n),
        y=floats(slots, n),
        delta=floats(slots, n),
        weight=floats(slots, n),
        rho=floats(slots),
        position=integers(slots, n),
        members=integers(slots, level),
        q=integers(slots),
        m=integers(slots),
        taken=integers(slots),
        scale=floats(n),
    )
    leaf = Leaf(
        C=floats(slots, n, n),
        x=floats(slots, n),
        y=floats(slots, n),
        kk=floats(slots, n),
        xx=floats(slots),
        yy=floats(slots),
        xy=floats(slots),
        chosen=integers(level),
        following=integers(slots),
        set=integers(level),
    )
    vectors = {name: floats(n) for name in ("a", "b", "h", "z", "Ez", "s", "best", "row", "scale")}
    frame = Frame(
        H=floats(n, n + 1),
        **vectors,
        top=floats(level + 2),
        keep=integers(n),
        source=integers(n),
        bound=floats(1),
        smallest=floats(1),
        margin=floats(1),
        spent=floats(2),
        sets_per_pair=np.full(1, SETS_PER_PAIR),
        nodes=integers(level + 2),
        elimination=canonical_space(level),
        minimum=np.zeros(1, dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
    )
    return row, base, nodes, leaf, frame
