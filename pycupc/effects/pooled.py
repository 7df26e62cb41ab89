"""Effects of data with several imputations, pooled by Rubin's rules (docs/contracts/effects.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pycupc.data.names import check_real
from pycupc.effects.effects_result import Effects
from pycupc.effects.local import InBlocks, LocalEffects
from pycupc.effects.orientations import Ints
from pycupc.effects.parent_sets import ParentSets
from pycupc.effects.regression import Floats, last_coefficient


@dataclass(frozen=True)
class PooledLocalEffects(InBlocks):
    """Effects given the parents of the causes: the means over several imputations, given the same parents."""

    causes: Ints
    effects: Ints
    sets: ParentSets
    each: tuple[LocalEffects, ...]

    @classmethod
    def of(cls, matrices: Floats, sets: ParentSets, causes: Ints, effects: Ints) -> PooledLocalEffects:
        """The effects in M covariance matrices, float64 (M, p, p)."""
        return cls(causes, effects, sets, tuple(LocalEffects.of(C, sets, causes, effects) for C in matrices))

    def rows(self, causes: slice) -> Floats:
        pooled: Floats = np.mean([each.rows(causes) for each in self.each], axis=0)
        return pooled


@dataclass(kw_only=True, eq=False, repr=False)
class PooledEffects(Effects):
    """`Effects` in M imputations: each value is the mean over the imputations, for the same parents or set.

    Attributes
    ----------
    matrices : float64 (M, p, p)
        The covariance matrix of each imputation; `C` is their mean.
    """

    matrices: Floats = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pooled = PooledLocalEffects.of(self.matrices, self.sets, self.causes, self.effects)

    @property
    def source(self) -> str:
        return f"pooled over {len(self.matrices)} imputations"

    def _scaled(self, sd: Floats) -> PooledEffects:
        return replace(self, C=self.C / np.outer(sd, sd), matrices=self.matrices / np.outer(sd, sd))

    def rows(self, causes: slice) -> Floats:
        if self.method == "local":
            return self._pooled.rows(causes)
        pooled: Floats = np.mean([self._optimal_rows(C, causes) for C in self.matrices], axis=0)
        return pooled

    def half_widths(self, members: list[int], ys: Ints, level: float) -> Floats:
        """Half the intervals of pooled coefficients, with the degrees of freedom of Barnard and Rubin (1999)."""
        check_real("level", "a number above 0 and below 1", level, lambda share: 0 < share < 1)
        from scipy.special import stdtrit

        found = [last_coefficient(C, self.n, members, ys) for C in self.matrices]
        value, variance = (np.array([one[k] for one in found]) for k in (0, 1))
        free, M = found[0][2], len(self.matrices)
        if free <= 0:
            return np.full(len(ys), np.nan)
        within, between = variance.mean(axis=0), (1 + 1 / M) * value.var(axis=0, ddof=1)
        total = within + between
        share = np.where(total > 0, between / np.where(total > 0, total, 1.0), 0.0)  # of the missing information
        with np.errstate(divide="ignore"):
            of_imputations = (M - 1) / share**2
        of_data = (free + 1) / (free + 3) * free * (1 - share)
        df = np.where(share > 0, 1 / (1 / of_imputations + 1 / np.maximum(of_data, 1e-300)), of_data)
        half: Floats = stdtrit(df, (1 + level) / 2) * np.sqrt(total)
        return half
