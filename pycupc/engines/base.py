"""Engines: where the tests of one level are run. Everything that is not hardware lives above them and exists once.

    reference   plain NumPy, literal, any `indepTest`: the oracle of the tests
    cpu         Numba, the schur algorithm
    gpu         CuPy; schur, cupc-e and cupc-s

An engine takes the correlation matrix once (`start`), then runs level after level (`run_level`) and reports what each
removed. All engines return the same, canonical answer: see `pycupc.gaussian.partial_correlation`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pycupc.gaussian.suffstat import MatrixFacts


class EngineError(RuntimeError):
    """An engine cannot run here: no device, no driver, not enough memory, a kernel that failed."""


@dataclass(frozen=True)
class LevelResult:
    """What one level did.

    Attributes
    ----------
    level : int
    x, y : int32 (m,)
        Ordered pair whose test separated the edge: x < y on side A, x > y on side B; sorted by (x, y).
        Empty at level 0, whose removals the adjacency implies.
    S : int32 (m, level)
        Separating sets, each ascending.
    rank : int64 (m,)
        0-based position of S among the size-`level` subsets of adj(x) without y, in lexicographic order.
    r : float64 (m,)
        Canonical partial correlation of the separating test.
    n_tests : int
        pcalg's ``n.edgetests`` of this level.
    n_removed : int
        Edges removed, level 0 included.
    n_careful : int
        Tests that the canonical formula decided because the fast one could not be certain.
    more : bool
        A visited pair had more than `level` candidates: pcalg runs another level.
    """

    level: int
    x: np.ndarray
    y: np.ndarray
    S: np.ndarray
    rank: np.ndarray
    r: np.ndarray
    n_tests: int
    n_removed: int
    n_careful: int
    more: bool


#: Called during a level as progress(level, tests_done, tests_at_most, edges_left); called often, must be quick.
ProgressHook = Callable[[int, int, int, int], None]


class Engine(ABC):
    """One way of running levels. Use: `start`, `run_level` for 0, 1, 2, ..., `kept`, `close`."""

    name: str

    @abstractmethod
    def inspect(self, C: np.ndarray) -> MatrixFacts:
        """Look over C once (on the device when there is one) for NaN, asymmetry and values beyond +-1."""

    @abstractmethod
    def start(
        self,
        C: np.ndarray,
        n: int,
        *,
        gaps: np.ndarray | None = None,
        fixed: np.ndarray | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """Take the problem: C float64 (p, p); gaps and fixed, bool (p, p) or None: no edge, edge never tested."""

    @abstractmethod
    def run_level(self, level: int, cutoff: float) -> LevelResult:
        """Run one level; `cutoff` is the largest |r| judged independent (`fisher_z.cutoff`)."""

    @abstractmethod
    def degrees(self) -> np.ndarray:
        """Number of neighbours of each variable now, int64 (p,)."""

    @abstractmethod
    def adjacency(self) -> np.ndarray:
        """The graph now, bool (p, p)."""

    @abstractmethod
    def kept(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges left (x < y, sorted) and the smallest |z| of all tests of each so far, inf where never tested."""

    @abstractmethod
    def memory(self, p: int) -> tuple[int, int]:
        """Bytes that a run with p variables needs at its start, and bytes free, where the engine keeps its state."""

    def close(self) -> None:  # noqa: B027 - most engines hold nothing that Python does not free
        """Release what the engine holds; it may be started again."""
