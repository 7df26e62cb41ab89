"""The interface of an engine: take the problem once, then run level l and report its removals."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat
from pycupc.system.progress import ProgressHook as ProgressHook  # for those who import `Engine`

if TYPE_CHECKING:
    from pycupc.independence.discrete.contingency import Data

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]

#: Bytes per ordered pair of neighbours, measured, of an engine whose graph is in main memory: while level 0 collects
#: them, while a later level tests them, and more for each one that this level keeps.
FOUND_BYTES, TESTED_BYTES, KEPT_BYTES = 10, 60, 40


class EngineError(RuntimeError):
    """An engine cannot run on this machine: no device, no driver, not enough memory, or a kernel that failed."""


@dataclass(frozen=True)
class LevelResult:
    """The outcome of one level.

    x, y, S and r may be incomplete until `Engine.wait` returns: an engine may copy them while the next level runs.

    Attributes
    ----------
    level : int
    x, y : int32 (m,)
        Ordered pairs whose tests removed an edge: x < y on side A, x > y on side B; sorted by (x, y). At level 0, whose
        removals on side A follow from the graph, only those on side B, which a user's asymmetric test may cause.
    S : int32 (m, level)
        Separating sets, each ascending.
    r : float64 (m,)
        Canonical partial correlations of the separating tests.
    n_tests : int
        pcalg's ``n.edgetests`` of this level, exact, also beyond 2^63.
    n_removed : int
        Edges removed, level 0 included.
    n_careful : int
        Number of doubtful tests, which the canonical formula decided.
    more : bool
        A visited pair had more than `level` candidates: pcalg runs another level.
    n_made : int
        Number of tests made, if bounds answered the others of `n_tests`; -1 if all were made.
    n_bounds : int
        Number of bounds evaluated.
    """

    level: int
    x: Ints
    y: Ints
    S: Ints
    r: Floats
    n_tests: int
    n_removed: int
    n_careful: int
    more: bool
    n_made: int = -1
    n_bounds: int = 0


class UnfinishedZ(Protocol):
    """Computes the smallest |z| of all tests of each edge, float64 (m,), in the order of `Engine.edges`.

    An engine that answers tests without making them may know only an upper bound.
    """

    @property
    def z(self) -> Floats:
        """The smallest |z| of the tests that were made: the upper bound."""

    def __call__(self) -> Floats: ...


class Engine(ABC):
    """One way of running levels.

    Use: `take` (or `inspect` and `start`), then `compile` and `run_level` for 0, 1, 2, ..., `edges`, `close`.

    Attributes
    ----------
    name : str
    side_by_side : int
        Number of runs on large data that should be made at the same time, each in a thread with its own engine: more
        than one if Python and a device would otherwise wait for each other.
    correlates_on_device : bool
        Whether `correlation` computes on a device rather than in this process's threads.
    """

    name: str
    side_by_side: int = 1
    correlates_on_device: bool = False

    def correlation(self, X: Floats) -> Floats:
        """Correlation matrix of data (n, p), as `pycupc.independence.gaussian.correlation` defines it."""
        return correlation(X)

    def take(
        self,
        data: SuffStat,
        names: Sequence[str],
        *,
        gaps: Mask | None = None,
        fixed: Mask | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """`start` with correlations that have been checked (`SuffStat.check`).

        An engine with its own device computes correlations of data there.
        """
        data.check(self.inspect(data.C), names)
        self.start(data.C, data.n, gaps=gaps, fixed=fixed, progress=progress)

    @abstractmethod
    def inspect(self, C: Floats) -> MatrixFacts:
        """Inspect C once (on the device, if there is one) for NaN, asymmetry and values beyond +-1."""

    @abstractmethod
    def start(
        self,
        C: Floats,
        n: float,
        *,
        gaps: Mask | None = None,
        fixed: Mask | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        """Take the problem: C float64 (p, p); gaps and fixed, bool (p, p) or None: no edge, edge never tested."""

    def start_discrete(
        self, data: Data, *, gaps: Mask | None = None, fixed: Mask | None = None, progress: ProgressHook | None = None
    ) -> None:
        """As `start`, for the G^2 tests of discrete data.

        Its levels have no cutoff on |r|. In place of the |z| of Gaussian tests, `edges` returns minus the largest
        p-value, and `LevelResult.r` holds the p-value of the separating test.

        Raises
        ------
        EngineError
            The engine has no such tests.
        """
        raise EngineError(f"engine {self.name!r} has no tests of discrete data; take 'cpu', 'gpu' or 'reference'")

    def expect(self, cutoffs: Callable[[int], float | None]) -> None:  # noqa: B027 - most engines wait until asked
        """Announce before `take` the levels that will be requested as long as `LevelResult.more`, with their cutoffs.

        `cutoffs` returns None for a level that will not be requested. An engine may begin a level before it is
        requested.
        """

    def compile(self, level: int) -> None:  # noqa: B027 - an engine that compiles nothing has nothing to do
        """Compile the code that `level` needs and this machine has not compiled before, and log that."""

    @abstractmethod
    def run_level(self, level: int, cutoff: float) -> LevelResult:
        """Run one level; `cutoff` is the largest |r| judged independent (`fisher_z.cutoff`)."""

    def timed_level(self, level: int, cutoff: float) -> tuple[LevelResult, float]:
        """`compile` and `run_level`; also the seconds that the tests took, without those for compiling."""
        self.compile(level)
        start = time.perf_counter()
        return self.run_level(level, cutoff), time.perf_counter() - start

    def wait(self) -> None:  # noqa: B027 - most engines have completed a level when they report it
        """Complete the arrays of all `LevelResult` so far."""

    @abstractmethod
    def degrees(self) -> NDArray[np.int64]:
        """Current number of neighbours of each variable, int64 (p,)."""

    @abstractmethod
    def edges(self) -> tuple[Ints, Ints, Floats]:
        """Edges left (x < y, sorted by (x, y)) and the smallest |z| of all tests of each; inf where never tested."""

    def unfinished_z(self) -> UnfinishedZ | None:
        """None if `edges` has the smallest |z| of all tests; else an object that computes it, also after `close`."""
        return None

    def noncolliders(self) -> Ints | None:
        """Paths x - b - z of the present graph whose b is in the separating set of x and z, int32 (k, 2), in any order.

        A path is given as the positions of x and z in the neighbour lists of all variables, one list after the other,
        each ascending; the smaller position first. None: the engine does not know them.
        """
        return None

    @abstractmethod
    def memory(self, p: int) -> tuple[int, int]:
        """Bytes that a run needs for C and for each of p^2 pairs, and bytes free, where the engine keeps its state.

        What depends on the edges left is checked during the run.
        """

    def close(self) -> None:  # noqa: B027 - most engines hold nothing that Python does not free
        """Release the memory that the engine holds; it may be started again."""
