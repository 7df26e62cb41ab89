"""The summary of a level of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LevelSummary:
    """One level of the skeleton phase.

    Attributes
    ----------
    level : int
        Size of the conditioning sets.
    n_tests : int
        Number of tests, as pcalg counts them.
    n_removed, edges_left : int
    n_careful : int
        Doubtful tests, decided by the canonical formula, among all that the engine made. The number may vary between
        runs: an engine with several threads makes some tests that pcalg would not have made.
    seconds : float
    n_made : int
        Tests made, if bounds answered the others; -1 if all were made.
    n_bounds : int
        Bounds evaluated.
    """

    level: int
    n_tests: int
    n_removed: int
    edges_left: int
    n_careful: int
    seconds: float
    n_made: int = -1
    n_bounds: int = 0
