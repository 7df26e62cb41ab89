"""Joint effects of several causes, given the parents of each (Nandy, Maathuis and Richardson 2017, Ann. Stat. 45)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from pycupc.effects.orientations import Nodes
from pycupc.effects.regression import Floats, coefficients


def recursive_regressions(C: Floats, xs: Sequence[int], parents: Sequence[Nodes], y: int) -> Floats:
    """Joint effects of `xs` on y by recursive regressions, float64 (len(xs),)."""
    targets = [*xs, y]
    single = np.array(
        [
            [0.0 if t in pa else coefficients(C, [x], pa, [t])[0, 0] if t != x else 1.0 for t in targets]
            for x, pa in zip(xs, parents, strict=True)
        ]
    )

    @cache
    def effect(i: int, j: int, others: tuple[int, ...]) -> float:
        """The effect of i on j when the others are held fixed; positions in `targets`."""
        if not others:
            return float(single[i, j])
        *rest, k = others
        held = tuple(rest)
        return effect(i, j, held) - effect(i, k, held) * effect(k, j, held)

    every = range(len(xs))
    return np.array([0.0 if y in parents[i] else effect(i, len(xs), tuple(k for k in every if k != i)) for i in every])


def modified_cholesky(C: Floats, xs: Sequence[int], parents: Sequence[Nodes], y: int) -> Floats:
    """Joint effects of `xs` on y by the covariances after intervening on one cause after the other."""
    members = sorted({*xs, y}.union(*parents))
    place = {v: k for k, v in enumerate(members)}
    S: Floats = C[np.ix_(members, members)]
    for x, pa in zip(xs, parents, strict=True):
        before, at = [place[v] for v in sorted(pa)], place[x]
        change = coefficients(S, [at], before, range(len(members)))[0]
        change[before] = 0.0
        if before:
            cut = np.eye(len(members))
            cut[:, before] -= np.outer(change, np.linalg.solve(S[np.ix_(before, before)], S[before, at]))
            S = cut @ S @ cut.T
    end = place[y]
    return np.array(
        [0.0 if y in pa else S[place[x], end] / S[place[x], place[x]] for x, pa in zip(xs, parents, strict=True)]
    )
