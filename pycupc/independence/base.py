"""A conditional-independence test together with its data.

Each family of tests has a folder, with a class of tests in `test.py` and its description in `family.py`
(`pycupc.independence.registry`); a user's own are in `custom.py`. An engine asks a test what is declared here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.p_values import PValues, UntestedPairs, no_untested_pairs
from pycupc.system.localised_message import Message, Variable, Variables, Words

if TYPE_CHECKING:
    from pycupc.graph.questions import LargestP
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import SparseGraph

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


class CorrelationEngine(Protocol):
    """An engine that computes correlations on its own device."""

    def correlation(self, X: Floats) -> Floats:
        """Correlation matrix float64 (p, p) of data float64 (n, p): the bits of `gaussian.correlation.correlation`."""


class UnfinishedZ(Protocol):
    """Computes the smallest |z| of all tests of each edge, float64 (m,), in the order of `State`.

    An engine that answers tests without making them may know only an upper bound.
    """

    @property
    def z(self) -> Floats:
        """The smallest |z| of the tests that were made: the upper bound."""

    def __call__(self) -> Floats: ...


class State(NamedTuple):
    """The state of a run between two levels."""

    # x, y: (m,): edges left, x < y, sorted by (x, y).
    x: Ints
    y: Ints
    # (m,): smallest |z| of all tests of each edge; of a test without r, minus its largest p-value; inf where never
    # tested.
    z: Floats
    # If bounds answered tests of these edges, the object that finds their smallest |z|, also after `Engine.close`.
    unfinished: UnfinishedZ | None = None
    # float64 (p, p) or None: pcalg's pMax, if the engine recorded every p-value: symmetric, 1 on the diagonal, -inf
    # where no test was made.
    p_max: Floats | None = None
    # float64 (m,), what finds them, or None: largest p-value of each edge, -inf where never tested: in place of z where
    # z is not known.
    largest_p: Floats | LargestP | None = None
    # int32 (k, 3) or None, if the engine does not know them: x, b, z of the paths x - b - z, of edges that are left,
    # whose b is in the separating set of x and z; x and z in either order.
    noncolliders: Ints | None = None


#: Ordered pair (x, y), and the neighbours of x but y, from which conditioning sets are taken.
Search = tuple[int, int, list[int]]


@runtime_checkable
class PairTest(Protocol):
    """An `indepTest` in another process or language, which takes many pairs at a time."""

    def search(self, level: int, wanted: list[Search], alpha: float, na_p: float) -> list[tuple[int, bool, float]]:
        """For each pair the number of tests until the first that separates it, whether one does, and the largest p.

        A pair whose reverse has been separated by this call is not tested: 0 tests. NaN counts as `na_p`.
        """


#: The number of variables from which "auto" means the GPU: below, a run takes milliseconds on a CPU, less than starting
#: a GPU.
GPU_PAYS_FROM = 500

#: About the seconds of a Gaussian test that is made by itself, and of a call of a user's own function.
GAUSSIAN_SECONDS, OWN_SECONDS = 2e-8, 1e-4


class IndependenceTest(ABC):
    """A conditional-independence test with its data and alpha: x and y are independent if p >= alpha."""

    name: ClassVar[str]
    # The names of the engines that run the test, and of the one that "auto" means; "auto" leaves it to the number of
    # variables.
    engines: ClassVar[tuple[str, ...]] = ("cpu", "gpu", "reference")
    engine: ClassVar[str] = "auto"
    gpu_pays_from: int = GPU_PAYS_FROM  # the number of variables from which "auto" means the GPU
    # Whether the test compares a partial correlation r with a cutoff. If not, p-values stand in the place of r.
    has_r: ClassVar[bool] = False
    p: int  # number of variables
    n: float | None  # number of observations, if known
    alpha: float
    labels: Sequence[str] | None = None  # names that the data have for the variables
    nbytes: int = 0  # bytes of the data that an engine reads
    na_p: float = 1.0  # the p-value in whose place a NaN stands during the levels
    na_in_rules: float = float("nan")  # the same where a rule counts all separating sets; NaN: an error
    # Whether the test is to be asked one set after the other, in pcalg's order, since it may draw random numbers.
    in_order: ClassVar[bool] = False
    # A user's own test that takes many pairs at a time; None: it is asked about one set of one pair.
    of_pairs: PairTest | None = None

    @property
    def seconds(self) -> float:
        """About the seconds of a test, by which a level is divided."""
        return GAUSSIAN_SECONDS if self.has_r else OWN_SECONDS

    def automatic(self, *, in_parts: bool) -> str:
        """The name of the engine that "auto" means; `in_parts`: in a run with a checkpoint or an executor."""
        return self.engine

    def cutoff(self, level: int) -> float:
        """Largest |r| that is independent given a set of this size; NaN if the test has no r."""
        return float("nan")

    @abstractmethod
    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        """The p-value of one test, literally as pcalg makes it."""

    @abstractmethod
    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        """The p-values of a run that left the edges of `graph`; `removals` hold `LevelResult.r`."""

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        """A function that finds the removed pairs whose test was not made for lack of observations.

        A result keeps it, so it holds no more of the test and its data than it needs.
        """
        return no_untested_pairs

    def note(self, n_edgetests: Sequence[int]) -> str:
        """After a run: how pcalg's answer may differ; empty if it cannot."""
        return ""


def no_p_value(x: int, y: int, S: tuple[int, ...]) -> ValueError:
    """The error about a test without p-value where all sets are counted."""
    text = "{test} must return a p-value, got NaN for x={x}, y={y}, S={S}"
    test = Words("indep_test", "indepTest")
    return ValueError(Message(text, test=test, x=Variable(x), y=Variable(y), S=Variables(S)))
