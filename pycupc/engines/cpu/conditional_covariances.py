"""Sets of candidates of one pair x, y, one after the other, depth first.

Depth t belongs to the sets that consist of the t members chosen and one more. Such a set shares the covariances given
its other members with the sets before and after it, so that its test costs a handful of operations.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.walk_arrays import Cutoff, work_space
from pycupc.engines.protocol import Floats
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.system.jit import jit_fma, jit_inlined
from pycupc.system.numba_names import uint64


class Sizes(NamedTuple):
    """The sizes of the sets of a question, ascending, (k,) each."""

    level: Indices
    value: Floats  # this and the next two as in `Cutoff`
    low: Floats
    high: Floats
    root: Floats  # sqrt(n - level - 3): |z| by atanh |r|

    @classmethod
    def of(cls, test: GaussianTest, levels: range) -> Sizes:
        """The cutoffs for conditioning sets of these sizes."""
        level, cutoffs = np.array(levels, dtype=np.int64), np.array([test.cutoff(k) for k in levels], dtype=np.float64)
        root = np.sqrt(np.maximum(test.data.n - 3.0 - level, 0.0))
        return cls(level, *Cutoff.around(cutoffs), root)  # type: ignore[arg-type]

    @classmethod
    def single(cls, level: int, cutoff: Cutoff) -> Sizes:
        """One size, of which no |z| is computed."""
        return cls(np.array([level]), *np.array([*cutoff, 0.0])[:, None])


class ConditionalCovariances(NamedTuple):
    """Covariances given the members chosen, of x, y and the candidates c after these members."""

    C: Annotated[Floats, "inner d d"]  # of the candidates; upper triangle; where another member may be chosen
    x: Annotated[Floats, "t d"]  # of c with x
    y: Annotated[Floats, "t d"]  # of c with y
    kk: Annotated[Floats, "t d"]  # variance of c
    xx: Annotated[Floats, "t"]  # variances of x and y, and their covariance
    yy: Annotated[Floats, "t"]
    xy: Annotated[Floats, "t"]
    chosen: Annotated[Indices, "t"]  # the member, and the next one to choose
    following: Annotated[Indices, "t"]


def space_for_sets(size: int, d: int) -> ConditionalCovariances:
    """For sets of up to `size` of d candidates."""
    return work_space(ConditionalCovariances, inner=max(size - 1, 0), t=size + 1, d=d)


@jit_inlined
def choose(sets, t, low, high, q):
    """Whether depth t has another member to choose, which is chosen, for sets of `low` to `high` of q candidates."""
    k, missing = sets.following[t], low - t - 1 if low - t - 1 > 1 else 1
    more = (t + 1 < high) & (k + missing < q)
    if more:
        sets.chosen[t], sets.following[t], sets.following[t + 1] = k, k + 1, k + 1
    return more


@jit_fma
def give(sets, t, high, q):
    """Write depth t + 1: as depth t, given the member chosen there too, for sets of up to `high` of q candidates."""
    u, k = t + 1, sets.chosen[t]
    inverse = 1.0 / sets.kk[t, k]
    xk, yk = sets.x[t, k] * inverse, sets.y[t, k] * inverse
    sets.xx[u] = sets.xx[t] - xk * sets.x[t, k]
    sets.yy[u] = sets.yy[t] - yk * sets.y[t, k]
    sets.xy[u] = sets.xy[t] - xk * sets.y[t, k]
    for a in range(uint64(k + 1), uint64(q)):
        c = sets.C[t, k, a]
        sets.x[u, a] = sets.x[t, a] - xk * c
        sets.y[u, a] = sets.y[t, a] - yk * c
        sets.kk[u, a] = sets.kk[t, a] - c * c * inverse
    if u + 1 < high:
        for a in range(k + 1, q):
            f = sets.C[t, k, a] * inverse
            for b in range(uint64(a + 1), uint64(q)):
                sets.C[u, a, b] = sets.C[t, a, b] - f * sets.C[t, k, b]
