"""Coefficients of regressions, solved from a covariance matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycupc.effects.orientations import Nodes
from pycupc.system.compiled import announced, compiled
from pycupc.system.message import Message, Variables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A pivot of the Cholesky decomposition below this share of its diagonal entry counts as zero.
SMALLEST_PIVOT = 1e-14


def coefficients(C: Floats, xs: Sequence[int], sets: Iterable[Iterable[int]], ys: Sequence[int]) -> Floats:
    """Coefficients of `xs` in the regressions of each of `ys` on `xs` and each of `sets`.

    float64 (number of sets, len(xs), len(ys)). Raises ValueError if they are not determined: the covariance matrix of
    the regressors is singular.
    """
    lists = [[*xs, *sorted(given)] for given in sets]
    out = np.empty((len(lists), len(xs), len(ys)))
    for size in {*map(len, lists)}:
        at = [k for k, members in enumerate(lists) if len(members) == size]
        members = np.array([lists[k] for k in at])
        A = C[members[:, :, None], members[:, None, :]]
        singular = ~(np.linalg.cond(A, 1) <= 1 / np.finfo(np.float64).eps)
        if singular.any():
            given = Variables(tuple(lists[at[int(singular.argmax())]][len(xs) :]))
            of = "the effect of {x} given {given} is not determined: the covariance matrix of these variables is singular"
            raise ValueError(Message(of, x=Variables(tuple(xs)), given=given))
        out[at] = np.linalg.solve(A, C[members[:, :, None], np.asarray(ys)])[:, : len(xs)]
    return out


def effects_given(C: Floats, x: int, sets: Sequence[Nodes], ys: Sequence[int]) -> Floats:
    """The effects of x on each of `ys` for each parent set of x, float64 (number of sets, len(ys)).

    0 on a parent, 1 on x itself. ValueError as of `coefficients`.
    """
    out: Floats = coefficients(C, [x], sets, ys)[:, 0]
    out[np.array([[y in parents for y in ys] for parents in sets], dtype=np.bool_).reshape(out.shape)] = 0.0
    out[:, np.asarray(ys) == x] = 1.0
    return out


@dataclass(frozen=True)
class Regressions:
    """Regressions of any variable on a cause and a parent set of it, as weights of rows of the covariance matrix."""

    start: Ints  # (m + 1,): regression k has the entries ``start[k]`` to ``start[k + 1] - 1``
    members: Ints  # the parents, and last the cause
    # The effects of the cause on all variables are the rows `members` of C, times the weights, summed: the last column
    # of the inverse of the covariance matrix of the members. NaN if that is singular.
    weights: Floats

    @classmethod
    def of(cls, covariances: Floats, start: Ints, members: Ints) -> Regressions:
        """The regressions on these members, solved from the covariances of their pairs (`Regressors.pairs`)."""
        weights, largest = np.zeros(len(members)), int(np.diff(start).max(initial=1))
        with announced("compiling for effects, once per machine"):
            _solve(covariances, start, weights, np.zeros((largest, largest)), SMALLEST_PIVOT)
        return cls(start, members, weights)

    def effects(self, C: Floats, first: int, last: int) -> Floats:
        """Effects of regressions `first` to ``last - 1`` on the variables of the columns of C, float64 (k, columns).

        The product of a sparse matrix and C; an array module for a GPU has it as well.
        """
        from scipy.sparse import csr_array

        entries = slice(self.start[first], self.start[last])
        start = self.start[first : last + 1] - self.start[first]
        shape = (last - first, len(C))
        product: Floats = csr_array((self.weights[entries], self.members[entries], start), shape=shape) @ C
        return product


@compiled
def _solve(covariances, start, weights, L, smallest_pivot):
    """Fill `weights`, see `Regressions`: Cholesky decompositions, whose last column of the inverse needs only L^T."""
    at = 0
    for r in range(len(start) - 1):
        first = start[r]
        k = start[r + 1] - first
        sound = True
        for i in range(k):
            for j in range(i + 1):
                value = covariances[at]
                variance = value  # in the end the one of i
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
