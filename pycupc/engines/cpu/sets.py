"""Sets of candidates of one pair x, y, one after the other, depth first.

Depth t belongs to the sets that consist of the t members chosen and one more. Such a set shares the covariances given
its other members with the sets before and after it, so that its test costs a handful of operations.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numba import uint64

from pycupc.engines.base import Floats
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.walk_state import Cutoff
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.system.compiled import copied_part, fused_part


class Sizes(NamedTuple):
    """The sizes of the sets of a question, ascending, (k,) each."""

    level: Indices
    value: Floats  # this and the next two as in `Cutoff`
    low: Floats
    high: Floats
    root: Floats  # sqrt(n - level - 3): |z| by atanh |r|

    @classmethod
    def of(cls, test: GaussianTest, levels: range) -> Sizes:
        """Those of the sets of a test with so many members."""
        value, low, high = np.array([Cutoff.around(test.cutoff(k)) for k in levels]).reshape(-1, 3).T.copy()
        root = np.sqrt(np.maximum(test.data.n - 3.0 - np.array(levels), 0.0))
        return cls(np.array(levels, np.int64), value, low, high, root)

    @classmethod
    def single(cls, level: int, cutoff: Cutoff) -> Sizes:
        """One size, of which no |z| is computed."""
        return cls(np.array([level]), *np.array([*cutoff, 0.0])[:, None])


class Sets(NamedTuple):
    """Covariances given the members chosen, of x, y and the candidates c after these members."""

    x: Annotated[Floats, "t d"]  # of c with x
    y: Annotated[Floats, "t d"]  # of c with y
    kk: Annotated[Floats, "t d"]  # variance of c
    among: Annotated[Floats, "s d d"]  # of c with the candidates after it, at depths that give two members more
    # of c with the member chosen last, given the members before it, divided by the member's standard deviation
    f: Annotated[Floats, "d"]
    xx: Annotated[Floats, "t"]  # variances of x and y, and their covariance
    yy: Annotated[Floats, "t"]
    xy: Annotated[Floats, "t"]
    chosen: Annotated[Indices, "t"]  # the member, and the next one to choose
    following: Annotated[Indices, "t"]


@copied_part
def choose(sets, t, low, high, q):
    """Whether depth t has another member to choose, which is chosen, for sets of `low` to `high` of q candidates."""
    k, missing = sets.following[t], low - t - 1 if low - t - 1 > 1 else 1
    more = (t + 1 < high) & (k + missing < q)
    if more:
        sets.chosen[t], sets.following[t], sets.following[t + 1] = k, k + 1, k + 1
    return more


@fused_part
def give(sets, t, q, more):
    """Write depth t + 1: as depth t, given the member chosen there too, with the covariances `among` if more is given.

    At depth 0 the member's covariances are in f, and if `more`, all are in `among`.
    """
    u, k = t + 1, sets.chosen[t]
    inverse = 1.0 / math.sqrt(sets.kk[t, k])
    x, y = sets.x[t, k] * inverse, sets.y[t, k] * inverse
    sets.xx[u], sets.yy[u], sets.xy[u] = sets.xx[t] - x * x, sets.yy[t] - y * y, sets.xy[t] - x * y
    for c in range(uint64(k + 1), uint64(q)):
        g = (sets.among[t, k, c] if t > 0 else sets.f[c]) * inverse
        sets.f[c] = g
        sets.x[u, c] = sets.x[t, c] - x * g
        sets.y[u, c] = sets.y[t, c] - y * g
        sets.kk[u, c] = sets.kk[t, c] - g * g
    for a in range(k + 1, q if more else 0):
        g = sets.f[a]
        for c in range(uint64(a + 1), uint64(q)):
            sets.among[u, a, c] = sets.among[t, a, c] - g * sets.f[c]
