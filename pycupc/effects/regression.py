"""Effects given parent sets, solved from a covariance matrix.

Of several causes together: Nandy, Maathuis and Richardson 2017, Ann. Stat. 45.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_real
from pycupc.effects.orientations import Ints, Nodes
from pycupc.effects.parent_sets import ParentSets
from pycupc.system.jit import compiled
from pycupc.system.localised_message import Message, Variables

Floats = NDArray[np.float64]

#: A pivot of the Cholesky decomposition below this share of its diagonal entry counts as zero.
SMALLEST_PIVOT = 1e-14


def coefficients(
    C: Floats, xs: Sequence[int], sets: Iterable[Iterable[int]], ys: Sequence[int], names: Sequence[int] | None = None
) -> Floats:
    """Coefficients of `xs` in the regressions of each of `ys` on `xs` and each of `sets`.

    float64 (number of sets, len(xs), len(ys)). Raises ValueError if they are not determined: the covariance matrix of
    the regressors is singular. `names`: the variables of C, if they are only some.
    """
    lists = [[*xs, *sorted(given)] for given in sets]
    out = np.empty((len(lists), len(xs), len(ys)))
    for size in {*map(len, lists)}:
        at = [k for k, members in enumerate(lists) if len(members) == size]
        members = np.array([lists[k] for k in at])
        A = C[members[:, :, None], members[:, None, :]]
        singular = ~(np.linalg.cond(A, 1) <= 1 / np.finfo(np.float64).eps)
        if singular.any():
            text = "the effect of {x} given {given} is not determined: the covariance matrix of these variables is "
            wrong = lists[at[int(singular.argmax())]]
            named = wrong if names is None else [names[v] for v in wrong]
            x, given = (Variables(tuple(part)) for part in (named[: len(xs)], named[len(xs) :]))
            why = "singular" if np.isfinite(A[singular.argmax()]).all() else "incomplete: it holds NaN or infinity"
            raise ValueError(Message(text + why, x=x, given=given))
        out[at] = np.linalg.solve(A, C[members[:, :, None], np.array(ys, dtype=np.int64)])[:, : len(xs)]
    return out


def effects_given(C: Floats, x: int, sets: Sequence[Nodes], ys: Sequence[int]) -> Floats:
    """The effects of x on each of `ys` for each parent set of x, float64 (number of sets, len(ys)).

    0 on a parent, 1 on x itself. ValueError as of `coefficients`.
    """
    out: Floats = coefficients(C, [x], sets, ys)[:, 0]
    out[np.array([[y in parents for y in ys] for parents in sets], dtype=np.bool_).reshape(out.shape)] = 0.0
    out[:, np.asarray(ys) == x] = 1.0
    return out


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
            change = coefficients(S, [at], [before], range(len(members)), members)[0, 0]
            if before:
                change[before] = 0.0
                cut = np.eye(len(members))
                cut[:, before] -= np.outer(change, np.linalg.solve(S[np.ix_(before, before)], S[before, at]))
                S = cut @ S @ cut.T
        for i, (x, parents) in enumerate(zip(xs, choice, strict=True)):
            moved = [y not in parents and y not in xs for y in ys]
            out[:, i, j] = moved * S[place[x], [place[y] for y in ys]] / S[place[x], place[x]]
    return out


def weights_of(covariances: Floats, sets: ParentSets) -> Floats:
    """Weights of rows of the covariance matrix C whose sum has the effects of a cause on all variables.

    float64, one for each of ``sets.members``: the last column of the inverse of the covariance matrix of a parent set
    and its cause. NaN for all of a set if that matrix is singular. `covariances`: the covariances of ``sets.pairs()``.
    """
    weights, largest = np.zeros(len(sets.members)), int(np.diff(sets.start).max(initial=1))
    _solve(covariances, sets.start, weights, np.zeros((largest, largest)), SMALLEST_PIVOT)
    return weights


def half_widths(C: Floats, n: float | None, members: Sequence[int], ys: Ints, level: float) -> Floats:
    """Half the confidence intervals of the coefficients of the last member in regressions of `ys` on all members.

    By the formula of linear regression with an intercept. `C`, float64 (p, p): covariances, not singular among the
    members. `n`: number of observations; NaN is returned if it is not known or too small.
    """
    check_real("level", "a number above 0 and below 1", level, lambda share: 0 < share < 1)
    _, variance, free = last_coefficient(C, n, members, ys)
    if free <= 0:
        return np.full(len(ys), np.nan)
    from scipy.special import stdtrit

    half: Floats = float(stdtrit(free, (1 + level) / 2)) * np.sqrt(variance)
    return half


def last_coefficient(C: Floats, n: float | None, members: Sequence[int], ys: Ints) -> tuple[Floats, Floats, float]:
    """The coefficients of the last member in regressions of `ys` on all members; their variances; degrees of freedom.

    The variances are NaN if there are no degrees of freedom. Arguments as of `half_widths`.
    """
    at, free = np.array(members), (n or 0.0) - len(members) - 1
    c = C[np.ix_(at, ys)]
    inverse = np.linalg.inv(C[np.ix_(at, at)])
    of_all = inverse @ c
    left = np.maximum(0.0, C[ys, ys] - (c * of_all).sum(axis=0))
    return of_all[-1], left * inverse[-1, -1] / free if free > 0 else np.full(len(ys), np.nan), free


@compiled
def _solve(covariances, start, weights, L, smallest_pivot):
    """Fill `weights`, see `weights_of`: Cholesky decompositions, whose last column of the inverse needs only L^T."""
    at = 0
    for r in range(len(start) - 1):
        first = start[r]
        k = start[r + 1] - first
        sound = True
        for i in range(k):
            for j in range(i + 1):
                value = covariances[at]
                variance = value  # after the last j: the variance of i
                at += 1
                for h in range(j):
                    value -= L[i, h] * L[j, h]
                if i > j:
                    L[i, j] = value / L[j, j]
                else:
                    sound = sound and value > smallest_pivot * variance
                    L[i, i] = np.sqrt(value)
        for i in range(k - 1, -1, -1):
            value = 1 / L[i, i] if i == k - 1 else 0.0
            for h in range(i + 1, k):
                value -= L[h, i] * weights[first + h]
            weights[first + i] = value / L[i, i]
        if not sound:
            for i in range(k):
                weights[first + i] = np.nan
