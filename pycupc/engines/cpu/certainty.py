"""Where the fast test is certain: farther from the cutoff than rounding can move it."""

from __future__ import annotations

from typing import NamedTuple

from pycupc.gaussian.fisher_z import CUTOFF_BAND, PIVOT_FLOOR

#: A fast r^2 of at least this is doubtful.
NEAR_ONE = 1.0 - PIVOT_FLOOR
#: r^2 below which rounding, not data, decides about a cutoff at zero (alpha = 1).
TINY = 1e-12


class Cutoff(NamedTuple):
    """The cutoff of a level with its doubtful band.

    value : float
        Largest |r| that is independent (`fisher_z.cutoff`).
    low, high : float
        A fast r^2 below `low` is certainly independent, one above `high` certainly not.
    """

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float) -> Cutoff:
        """The cutoff `value` with its band."""
        square = value * value
        return cls(value, square * (1.0 - CUTOFF_BAND) - TINY, square * (1.0 + CUTOFF_BAND) + TINY)
