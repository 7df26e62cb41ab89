"""Joint effects of several causes, given the parents of each (Nandy, Maathuis and Richardson 2017, Ann. Stat. 45)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from pycupc.effects.orientations import Nodes
from pycupc.effects.regression import Floats, coefficients, effects_given


def recursive_regressions(C: Floats, xs: Sequence[int], sets: Sequence[Sequence[Nodes]], ys: Sequence[int]) -> Floats:
    """Joint effects of `xs` on each of `ys` for each choice of parents: float64 (len(ys), len(xs), len(sets))."""
    every, targets = range(len(xs)), [*xs, *ys]
    single = np.empty((len(xs), len(targets), len(sets)))
    for i, x in enumerate(xs):  # few parent sets, each in many choices
        number = {parents: k for k, parents in enumerate(dict.fromkeys(choice[i] for choice in sets))}
        found = effects_given(C, x, [*number], targets)
        single[i] = found[[number[choice[i]] for choice in sets]].T

    @cache
    def effect(i: int, j: int, others: tuple[int, ...]) -> Floats:
        """The effect of i on j when the others are held fixed; positions in `targets`."""
        if not others:
            return np.asarray(single[i, j], dtype=np.float64)
        *rest, k = others
        held = tuple(rest)
        return effect(i, j, held) - effect(i, k, held) * effect(k, j, held)

    out = np.zeros((len(ys), len(xs), len(sets)))
    for k, y in enumerate(ys):
        for i in every if y not in xs else ():
            moved = np.array([y not in choice[i] for choice in sets])
            out[k, i] = np.where(moved, effect(i, len(xs) + k, tuple(v for v in every if v != i)), 0.0)
    return out


def modified_choleskies(C: Floats, xs: Sequence[int], sets: Sequence[Sequence[Nodes]], ys: Sequence[int]) -> Floats:
    """As `recursive_regressions`, by the covariances after intervening on one cause after the other."""
    out = np.zeros((len(ys), len(xs), len(sets)))
    for j, choice in enumerate(sets):
        members = sorted({*xs, *ys}.union(*choice))
        place = {v: k for k, v in enumerate(members)}
        S: Floats = C[np.ix_(members, members)]
        for x, parents in zip(xs, choice, strict=True):
            before, at = [place[v] for v in sorted(parents)], place[x]
            change = coefficients(S, [at], [before], range(len(members)))[0, 0]
            if before:
                change[before] = 0.0
                cut = np.eye(len(members))
                cut[:, before] -= np.outer(change, np.linalg.solve(S[np.ix_(before, before)], S[before, at]))
                S = cut @ S @ cut.T
        for i, (x, parents) in enumerate(zip(xs, choice, strict=True)):
            moved = [y not in parents and y not in xs for y in ys]
            out[:, i, j] = moved * S[place[x], [place[y] for y in ys]] / S[place[x], place[x]]
    return out
