"""The kinds of conditional-independence tests: the steps of a run that differ between them.

start         gives an engine the problem; `how` are the keyword arguments of `Engine.start`
cutoff        largest |r| that is independent at a level; NaN if the test does not compare r with a cutoff
triple_test   the test of the conservative and the majority rule
p_values      of a run that left the edges of `graph`: `z` as of `Engine.edges`, `removals` with the engine's r
untested      the removed pairs whose test was not made for lack of observations
note          after a run: how pcalg's answer may differ; empty if it cannot
has_r         whether the r of `LevelResult` are partial correlations
computes_C    whether `start` computes correlations
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pycupc.engines.base import Engine, UnfinishedZ
from pycupc.engines.reference import ReferenceEngine
from pycupc.graph.removals import Removals
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.discrete.g_square import DiscreteTest
from pycupc.independence.discrete.p_values import DiscretePValues
from pycupc.independence.discrete.untested import untested_pairs
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.p_values import PValues, RecordedPValues
from pycupc.independence.untested import UntestedPairs, no_untested_pairs
from pycupc.orientation.conservative import CallableTest, GaussianTest, TripleTest

if TYPE_CHECKING:
    from pycupc.independence.discrete.contingency import Data, SingleTests


@dataclass(frozen=True)
class Gaussian:
    """Tests of partial correlations."""

    data: SuffStat
    alpha: float
    has_r: ClassVar[bool] = True

    @property
    def computes_C(self) -> bool:
        return not self.data.has_C

    def start(self, engine: Engine, names: Sequence[str], **how: Any) -> None:
        engine.take(self.data, names, **how)

    def cutoff(self, level: int) -> float:
        return fisher_z.cutoff(self.alpha, self.data.n, level)

    def triple_test(self, n_threads: int | None) -> TripleTest:
        return GaussianTest(self.data.C, self.data.n, self.alpha, n_threads)

    def note(self, n_edgetests: Sequence[int]) -> str:
        return ""

    def untested(self, sepset: SepSets, p_values: PValues) -> UntestedPairs:
        return no_untested_pairs()

    def p_values(self, engine: Engine, graph: SparseGraph, z: Any, removals: Removals, sepset: SepSets) -> PValues:
        largest = LargestP(z, engine.unfinished_z())
        C = partial(getattr, self.data, "C")  # computed only if a p-value is requested that needs it
        return GaussianPValues(graph, removals, sepset.gaps(), largest, self.data.n, C, self.data.correlations)


@dataclass(frozen=True)
class LargestP:
    """Computes the largest p-value of each edge when it is called.

    Attributes
    ----------
    z : float64 (m,)
        The smallest |z| of the tests of each edge; inf where there are none.
    unfinished : UnfinishedZ or None
        Takes the place of z if a bound spared tests.
    """

    z: Any
    unfinished: UnfinishedZ | None

    @property
    def searches(self) -> bool:
        return self.unfinished is not None

    def __call__(self) -> Any:
        return _largest_p(self.z if self.unfinished is None else self.unfinished())

    def met(self) -> Any:
        return _largest_p(self.z if self.unfinished is None else self.unfinished.z)


def _largest_p(z: Any) -> Any:
    """Largest p-value of edges, from the smallest |z| of their tests; -inf where |z| is inf: no test was made."""
    return np.where(np.isinf(z), -np.inf, fisher_z.z_to_p(z))


@dataclass(frozen=True)
class Discrete:
    """G^2 tests on an engine that has them."""

    test: DiscreteTest
    alpha: float
    has_r: ClassVar[bool] = False
    computes_C: ClassVar[bool] = False

    @cached_property
    def _data(self) -> Data:
        from pycupc.independence.discrete.contingency import prepare  # loads Numba

        return prepare(self.test.suff_stat, self.alpha, quirks=self.test.quirks and not self.test.binary)

    def start(self, engine: Engine, names: Sequence[str], **how: Any) -> None:
        engine.start_discrete(self._data, **how)

    def _single_tests(self) -> SingleTests:
        from pycupc.independence.discrete.contingency import SingleTests  # loads Numba

        return SingleTests(self._data)

    def cutoff(self, level: int) -> float:
        return math.nan

    def triple_test(self, n_threads: int | None) -> TripleTest:
        return CallableTest(self._single_tests().p_value, None, self.alpha)

    def p_values(self, engine: Engine, graph: SparseGraph, z: Any, removals: Removals, sepset: SepSets) -> PValues:
        return DiscretePValues(graph, removals, sepset.gaps(), -z, self._single_tests().pairs)

    def untested(self, sepset: SepSets, p_values: PValues) -> UntestedPairs:
        return untested_pairs(self.test.suff_stat, sepset, p_values)

    def note(self, n_edgetests: Sequence[int]) -> str:
        return self.test.note(n_edgetests)


@dataclass(frozen=True)
class Custom(CallableTest):
    """A function that the reference engine calls: a user's test with its `suffStat`, or the literal G^2 test."""

    discrete: DiscreteTest | None = None
    has_r: ClassVar[bool] = False
    computes_C: ClassVar[bool] = False

    def start(self, engine: Engine, names: Sequence[str], **how: Any) -> None:
        engine.start(np.broadcast_to(np.nan, (len(names), len(names))), 0, **how)  # of C, only the shape is used

    def cutoff(self, level: int) -> float:
        return math.nan

    def triple_test(self, n_threads: int | None) -> TripleTest:
        return self

    def p_values(self, engine: Engine, graph: SparseGraph, z: Any, removals: Removals, sepset: SepSets) -> PValues:
        assert isinstance(engine, ReferenceEngine)  # the only one that runs such a test
        return RecordedPValues(engine.largest_p_values())

    def untested(self, sepset: SepSets, p_values: PValues) -> UntestedPairs:
        return untested_pairs(self.discrete.suff_stat, sepset, p_values) if self.discrete else no_untested_pairs()

    def note(self, n_edgetests: Sequence[int]) -> str:
        return "" if self.discrete is None else self.discrete.note(n_edgetests)


Kind = Gaussian | Discrete | Custom


def kind_of(data: SuffStat | DiscreteTest, alpha: float, *, literal: bool) -> Kind:
    """The kind of the built-in tests; the reference engine makes the G^2 test literally."""
    if not isinstance(data, DiscreteTest):
        return Gaussian(data, alpha)
    return Custom(data.p_value, None, alpha, data) if literal else Discrete(data, alpha)
