"""A number of observations for each pair of variables, and the number that a test takes from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NRule = Literal["mean", "min", "harmonic"]
RULES = get_args(NRule)


class PairN(NamedTuple):
    """Numbers of observations by pair."""

    matrix: Floats  # (p, p): symmetric; the diagonal is not read
    # {"mean", "min", "harmonic"}: a test of x and y given S takes this mean, or the smallest, of the numbers of all
    # pairs among x, y and S.
    rule: NRule

    @classmethod
    def of(cls, n: Any, p: int, rule: Any) -> PairN:
        """TypeError or ValueError if `n` is no matrix of numbers of observations, or there is no such rule."""
        if rule not in RULES:
            raise ValueError(f"n_rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
        matrix = np.array(n, dtype=np.float64)
        if matrix.shape != (p, p):
            raise ValueError(f"n must be a number or a matrix of shape ({p}, {p}) like C, got shape {matrix.shape}")
        np.fill_diagonal(matrix, 0.0)
        if not (np.isfinite(matrix).all() and (matrix >= 0).all() and np.array_equal(matrix, matrix.T)):
            i, j = np.argwhere(~((matrix >= 0) & np.isfinite(matrix) & (matrix == matrix.T)))[0].tolist()
            raise ValueError(
                f"n must have finite numbers of at least 0 and be symmetric, got n[{i}, {j}] = {matrix[i, j]} and "
                f"n[{j}, {i}] = {matrix[j, i]}"
            )
        return cls(matrix, rule)

    @property
    def typical(self) -> float:
        """The mean over all pairs."""
        p = len(self.matrix)
        return float(self.matrix.sum() / (p * (p - 1)))

    def of_test(self, x: int, y: int, S: Sequence[int]) -> float:
        """The number of observations of one test."""
        nodes = [*S, x, y]
        numbers = self.matrix[np.ix_(nodes, nodes)][np.triu_indices(len(nodes), 1)]
        if self.rule == "min":
            return float(numbers.min())
        if self.rule == "mean":
            return float(numbers.mean())
        return 0.0 if (numbers == 0).any() else float(len(numbers) / (1 / numbers).sum())
