"""A user's own test: any function of two variables, a set and the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from pycupc.independence.base import IndependenceTest, State
from pycupc.independence.batch import Batch
from pycupc.independence.p_values import PValues, RecordedPValues

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import SparseGraph

#: indepTest(x, y, S, suffStat) -> p-value, or a test that answers many at a time
IndepTest = Callable[[int, int, Sequence[int], Any], float] | Batch
#: Ordered pair (x, y), and the neighbours of x but y, from which conditioning sets are taken.
Search = tuple[int, int, list[int]]


@runtime_checkable
class PairTest(Protocol):
    """An `indepTest` in another process or language, which takes many pairs at a time."""

    def search(self, level: int, wanted: list[Search], alpha: float, na_p: float) -> list[tuple[int, bool, float]]:
        """For each pair the number of tests until the first that separates it, whether one does, and the largest p.

        A pair whose reverse has been separated by this call is not tested: 0 tests. NaN counts as `na_p`.
        """


class CustomTest(IndependenceTest):
    """A function that is called once per test.

    `function`, callable (x, y, S, suffStat) -> p: it may be a `PairTest` as well. `suff_stat`: passed to `function`.
    `p`: number of variables. `NAdelete`: a NaN p-value counts as 1 if True, else as 0.
    """

    name = "custom"
    in_order = True

    def __init__(self, function: IndepTest, suff_stat: Any, alpha: float, p: int, *, NAdelete: bool = True) -> None:
        self.function: Any = function
        self.suff_stat, self.alpha, self.p = suff_stat, alpha, p
        self.n, self.na_p = None, float(NAdelete)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return float(self.function(x, y, tuple(S), self.suff_stat))

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        if state.p_max is not None:  # the reference engine, which alone runs such tests, records every p-value
            return RecordedPValues(state.p_max)
        none = np.full((self.p, self.p), -math.inf)  # no level ran, because all pairs are gaps
        np.fill_diagonal(none, 1.0)
        return RecordedPValues(none)
