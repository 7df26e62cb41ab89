"""A conditional-independence test together with its data, and the questions that algorithms ask an engine about it.

Each family of tests has one class: `gaussian.family.GaussianTest`, `discrete.family.DiscreteTest`,
`custom.CustomTest`. An engine knows the families that it can run; all else about a test is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.untested import UntestedPairs, no_untested_pairs

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import SparseGraph
    from pycupc.independence.p_values import PValues

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


class UnfinishedZ(Protocol):
    """Computes the smallest |z| of all tests of each edge, float64 (m,), in the order of `State`.

    An engine that answers tests without making them may know only an upper bound.
    """

    @property
    def z(self) -> Floats:
        """The smallest |z| of the tests that were made: the upper bound."""

    def __call__(self) -> Floats: ...


class State(NamedTuple):
    """The state of a run between two levels.

    x, y : int32 (m,)
        Edges left, x < y, sorted by (x, y).
    z : float64 (m,)
        Smallest |z| of all tests of each edge; of a test without r, minus its largest p-value; inf where never tested.
    unfinished : UnfinishedZ or None
        If bounds answered tests of these edges, the object that finds their smallest |z|, also after `Engine.close`.
    p_max : float64 (p, p) or None
        pcalg's pMax, if the engine recorded every p-value: symmetric, 1 on the diagonal, -inf where no test was made.
    """

    x: Ints
    y: Ints
    z: Floats
    unfinished: UnfinishedZ | None = None
    p_max: Floats | None = None


class IndependenceTest(ABC):
    """A conditional-independence test with its data and its significance level: x and y are independent if p >= alpha.

    Attributes
    ----------
    name : str
    has_r : bool
        Whether the test compares a partial correlation r with a cutoff. If not, p-values stand in the place of r.
    p : int
        Number of variables.
    n : float or None
        Number of observations, if known.
    alpha : float
    labels : sequence of str or None
        Names that the data have for the variables.
    nbytes : int
        Bytes of the data that an engine reads.
    na_p : float
        The p-value in whose place a NaN stands during the levels.
    """

    name: ClassVar[str]
    has_r: ClassVar[bool] = False
    p: int
    n: float | None
    alpha: float
    labels: Sequence[str] | None = None
    nbytes: int = 0
    na_p: float = 1.0

    def cutoff(self, level: int) -> float:
        """Largest |r| that is independent given a set of this size; NaN if the test has no r."""
        return float("nan")

    @abstractmethod
    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        """The p-value of one test, literally as pcalg makes it."""

    @abstractmethod
    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        """The p-values of a run that left the edges of `graph`; `removals` hold `LevelResult.r`."""

    def untested(self, sepset: SepSets, p_values: PValues) -> UntestedPairs:
        """The removed pairs whose test was not made for lack of observations."""
        return no_untested_pairs()

    def note(self, n_edgetests: Sequence[int]) -> str:
        """After a run: how pcalg's answer may differ; empty if it cannot."""
        return ""


class Lists(NamedTuple):
    """A list of variables for each of m questions: the list of question i is ``members[offsets[i]:offsets[i + 1]]``.

    offsets : int64 (m + 1,)
    members : int32
    """

    offsets: Indices
    members: Ints

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Lists:
        """These lists, one after the other."""
        lists = list(lists)
        offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(offsets, np.array([v for members in lists for v in members], dtype=np.int32))

    def of_question(self, i: int) -> list[int]:
        """The list of question i."""
        return self.members[self.offsets[i] : self.offsets[i + 1]].tolist()  # type: ignore[no-any-return]


class Questions(NamedTuple):
    """Pairs of variables, and the sets given which each of them is to be tested.

    Pair i is tested given the subsets of its candidates with `smallest` to `largest` members, except those that lie
    wholly in its list of `skip`. A set keeps the order of the candidates.

    x, y : int (m,)
        Each test is called with x first.
    candidates : Lists
        Different variables, in any order, x and y not among them.
    smallest, largest : int
    skip : Lists or None
    """

    x: NDArray[np.integer]
    y: NDArray[np.integer]
    candidates: Lists
    smallest: int
    largest: int
    skip: Lists | None = None

    def sizes(self) -> range:
        """The sizes of sets that some pair has enough candidates for."""
        widest = int(np.diff(self.candidates.offsets).max(initial=0))
        return range(self.smallest, min(self.largest, widest) + 1)


class Answers(NamedTuple):
    """The first separating set of each of m pairs; a NaN p-value counts as `IndependenceTest.na_p`.

    found : bool (m,)
        Whether a set separates the pair.
    S : Lists
        The set, in the order of the candidates; empty where none was found.
    value : float64 (m,)
        r of the test that separated the pair, or p if the test has no r; NaN where none did.
    p : float64 (m,)
        Largest p-value of the tests of the pair; -inf if there were none.
    n_tests : int64 (m, k)
        Number of tests of the pair, by the size of the set from 0 on; the one that separated it is the last counted.
    """

    found: Mask
    S: Lists
    value: Floats
    p: Floats
    n_tests: Indices


class Counts(NamedTuple):
    """The number of sets that separate each of m pairs.

    found : int64 (m,)
    containing : int64 (number of all candidates,)
        For each entry of the candidates' `members` the number of separating sets that contain it.
    """

    found: Indices
    containing: Indices
