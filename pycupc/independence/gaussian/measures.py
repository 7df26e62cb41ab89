"""The measures of association from which C may be made: Pearson's correlation, of ranks, of latent variables."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from pycupc.data.names import listed
from pycupc.data.table import Table
from pycupc.independence.base import CorrelationEngine, Floats
from pycupc.independence.gaussian import ranks
from pycupc.independence.gaussian.correlation import Correlations, correlation, scaled
from pycupc.independence.gaussian.latent import Levels, kinds_of, latent_correlation, levels_of
from pycupc.system.localised_message import Argument, Cell, Message, Value, Words
from pycupc.system.logging import logger

MeasureName = Literal["pearson", "spearman", "kendall", "normal-scores", "latent"]
MEASURES = get_args(MeasureName)
NRule = Literal["mean", "min", "harmonic"]
RULES = get_args(NRule)


@dataclass(frozen=True)
class Measure:
    """A measure of association."""

    name: MeasureName = "pearson"
    nearest: bool = False  # whether C is replaced by the nearest correlation matrix if it is indefinite
    # Of "latent": the values of the columns that are binary or ordinal; None before `of_data`.
    levels: Levels | None = None
    # {"mean", "min", "harmonic"}: of a table with gaps, where each pair is correlated on the rows complete in it; else
    # None; see `PairN`.
    n_rule: str | None = None

    def __post_init__(self) -> None:
        if self.name not in MEASURES:
            text = "{argument} must be one of {names}, got {given}"
            names = {"argument": Argument("correlation"), "names": Value(*MEASURES), "given": Value(self.name)}
            raise ValueError(Message(text, **names))
        if not isinstance(self.nearest, (bool, np.bool_)):
            raise TypeError(f"nearest must be True or False, got {self.nearest!r}")

    def of_data(self, table: Table) -> Measure:
        """The measure with the kinds of the columns of a table, which a line of the log says."""
        if self.name != "latent":
            return self
        levels = levels_of(table.values)
        logger.info("latent correlations of %s columns", kinds_of(levels, table.values.shape[1]))
        if not levels:
            text = "no column has two values or few whole ones, so that the correlations are Pearson's"
            warnings.warn(f'correlation="latent": {text}', stacklevel=4)
        return replace(self, levels=levels)

    def correlations(
        self, table: Table, engine: CorrelationEngine | None = None, *, quiet: bool = True, **how: Any
    ) -> Correlations:
        """The correlations of a complete table; without `quiet`, a warning tells of an indefinite matrix.

        `how`: further arguments of `Correlations`.
        """
        X = scaled(table.values, table.ends)
        if self.name == "pearson" and not self.nearest:
            return Correlations(data=X, engine=engine, **how)
        progress, compute = how.get("progress"), correlation if engine is None else engine.correlation
        if self.name == "kendall":
            C = np.sin(ranks.kendall(X, progress, engine) * (math.pi / 2))
        elif self.name == "spearman":
            C = 2.0 * np.sin(compute(ranks.ranks(X)) * (math.pi / 6))
        elif self.name == "latent":
            C = latent_correlation(X, levels_of(X) if self.levels is None else self.levels, progress)
        else:
            C = compute(ranks.normal_scores(X) if self.name == "normal-scores" else X)
        np.fill_diagonal(C, np.where(np.isnan(C.diagonal()), math.nan, 1.0))
        return Correlations(definite(C, nearest=self.nearest, quiet=quiet))


def definite(C: Floats, *, nearest: bool, quiet: bool = False) -> Floats:
    """C, or if `nearest` and C is indefinite the nearest correlation matrix; unless `quiet`, a warning says so."""
    known = ~np.isnan(C.diagonal())
    some = C[np.ix_(known, known)]
    if quiet or np.isnan(some).any():
        return ranks.nearest_correlation(C)[0] if nearest else C  # an error where some are NaN
    with contextlib.suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(some + 1e-10 * np.eye(len(some)))
        return C
    text = f"C is not positive semidefinite, its smallest eigenvalue is {np.linalg.eigvalsh(some)[0]:.3g}"
    if not nearest:
        rules = "tests follow pcalg's rules for such matrices (docs/contracts/contract.md, section 11)"
        how = Words("nearest=True", "nearest = TRUE", in_shell="--nearest")
        template = "{text}: {rules}; {how} takes the nearest correlation matrix instead"
        warnings.warn(Message(template, text=text, rules=rules, how=how), stacklevel=4)
        return C
    near, distance = ranks.nearest_correlation(C)
    warnings.warn(f"{text}: the nearest correlation matrix, {distance:.3g} away, takes its place", stacklevel=4)
    return near


def pairwise_complete(X: Floats, names: Sequence[str], *, quiet: bool = False) -> tuple[Floats, Floats]:
    """Pearson's correlations of the rows that are complete in each pair, and their numbers; float64 (p, p) each.

    A pair that has one value of a variable in its complete rows, or fewer than two such rows, has NaN; unless `quiet`,
    a warning names such pairs.
    """
    there = ~np.isnan(X)
    M = there.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, X, 0.0).sum(axis=0) / M.sum(axis=0)
        Z = np.where(there, X - mean, 0.0)
        Z /= np.sqrt((Z * Z).sum(axis=0) / M.sum(axis=0))
        Z[~there] = 0.0
        n, total, squares = M.T @ M, Z.T @ M, (Z * Z).T @ M
        within = squares - total * total / n  # of i in the rows with j, about n
        within[within <= 1e-12 * n] = math.nan
        C = (Z.T @ Z - total * total.T / n) / np.sqrt(within * within.T)
    C = np.clip(C, -1.0, 1.0)
    C = (C + C.T) / 2
    np.fill_diagonal(C, np.where(np.isnan(within.diagonal()), math.nan, 1.0))
    known = ~np.isnan(C.diagonal())
    apart = np.argwhere(np.triu(np.isnan(C) & known[:, None] & known, 1))
    if len(apart) and not quiet:
        pairs = listed([f"{names[i]} and {names[j]}" for i, j in apart.tolist()], "; ", most=3)
        text = "these pairs have too few rows with both values, or one value, and count as independent"
        warnings.warn(f"{text}: {pairs} ({len(apart):,} in all)", stacklevel=4)
    return C, n


def deviations_of(X: Floats) -> Floats:
    """The standard deviations of the values of each column that are there, float64 (p,); NaN of fewer than two."""
    there = ~np.isnan(X)
    n = there.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.where(there, X - np.where(there, X, 0.0).sum(axis=0) / n, 0.0)
        found: Floats = np.sqrt((apart * apart).sum(axis=0) / np.where(n > 1, n - 1.0, np.nan))
    return found


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
            text = "n must have finite numbers of at least 0 and be symmetric, got n{a} = {at_a} and n{b} = {at_b}"
            cells = {"a": Cell(i, j), "b": Cell(j, i)}
            raise ValueError(Message(text, **cells, at_a=float(matrix[i, j]), at_b=float(matrix[j, i])))
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
