"""The test of numbers and categories, with its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from pycupc.data.mixed import MixedTable
from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.g_square import observations_needed
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.mixed.mix_ci_test import mixCItest, n_parameters, of_categories
from pycupc.independence.p_values import PValues, UntestedPairs, no_untested_pairs
from pycupc.independence.setwise import SetwiseTest

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets
    from pycupc.independence.mixed.likelihood import Numbers


class MixedTest(SetwiseTest):
    """`mixCItest`.

    `data`: complete. `quirks`: whether tests of categories only reproduce pcalg's faults, as micd's tests do.
    """

    name = "mixed"
    engines = ("cpu", "reference")

    def __init__(self, data: MixedTable, alpha: float, *, quirks: bool = False) -> None:
        super().__init__(data, alpha)
        self.quirks = quirks
        self.nbytes = 2 * data.values.nbytes
        self.cost = max(data.n / 2, 1.0)

    @cached_property
    def _prepared(self) -> Numbers:
        from pycupc.independence.mixed.likelihood import Numbers  # loads Numba

        values, kinds = self.data.values, self.data.categorical
        levels = np.array([0 if categories is None else len(categories) for categories in self.data.categories])
        codes = np.ascontiguousarray(np.where(kinds, values, 0.0).T.astype(np.int64))
        centred = np.where(self.data.constant, 0.0, values - values.mean(axis=0))
        return Numbers(np.ascontiguousarray(centred.T), codes, levels.astype(np.int64))

    @cached_property
    def _discrete(self) -> DiscreteTest:
        data = of_categories(self.data, np.flatnonzero(self.data.categorical))
        return DiscreteTest(data, self.alpha, quirks=self.quirks)

    @cached_property
    def _correlations(self) -> Floats:
        return correlation(self.data.numbers())

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        from pycupc.independence.gaussian.partial_correlation import p_values_of_tests  # loads Numba

        V = np.column_stack([x, y, S]).astype(np.int64)
        kinds, p = self.data.categorical, np.empty(len(V))
        of_kind = np.cumsum(kinds) - 1, np.cumsum(~kinds) - 1  # the position of a variable among its kind
        share = kinds[V].sum(axis=1)
        if len(at := np.flatnonzero(share == V.shape[1])):
            some = of_kind[0][V[at]]
            p[at] = self._discrete.single_tests(some[:, 0], some[:, 1], some[:, 2:])[1]
        if len(at := np.flatnonzero(share == 0)):
            some = of_kind[1][V[at]]
            C = self._correlations
            n = np.full(C.shape, float(self.data.n))
            p[at] = p_values_of_tests(C, n, 1, some[:, 0], some[:, 1], some[:, 2:])
        if len(at := np.flatnonzero((share > 0) & (share < V.shape[1]))):
            p[at] = self._mixed(V[at])
        return p

    def _mixed(self, V: Indices) -> Floats:
        """The p-values of tests of variables of both kinds: x, y and S in a row."""
        from scipy.special import chdtrc  # takes a quarter of a second to import

        from pycupc.independence.mixed.likelihood import statistics

        statistic = statistics(self._prepared, V[:, 0], V[:, 1], V[:, 2:])
        parts = (V, 1), (np.delete(V, 1, axis=1), -1), (V[:, 1:], -1), (V[:, 2:], 1)
        df = sum(sign * n_parameters(self.data, some) for some, sign in parts)
        p = chdtrc(df, np.maximum(statistic, 0.0))
        p[np.isnan(statistic)] = 1.0
        p[self.data.constant[V[:, :2]].any(axis=1)] = 1.0
        return np.asarray(p)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return mixCItest(x, y, S, self.data, quirks=self.quirks)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset)

    def _untested(self, sepset: SepSets) -> UntestedPairs:
        """Among the removed pairs of categories whose sets are of categories only, as of `DiscreteTest`."""
        kinds = self.data.categorical
        if np.count_nonzero(kinds) < 2:
            return no_untested_pairs()
        place, parts = np.cumsum(kinds) - 1, [np.zeros((4, 0), dtype=np.int64)]
        for x, y, S in sepset.of_every_size(self._discrete.may_lack):
            at = kinds[x] & kinds[y] & kinds[S].all(axis=1)
            x, y, S = x[at], y[at], S[at]
            needed = observations_needed(self._discrete.data, place[x], place[y], place[S])
            few = needed > self.data.n
            parts.append(np.vstack([x[few], y[few], np.full(int(few.sum()), S.shape[1]), needed[few]]).astype(np.int64))
        return UntestedPairs.by_pair(np.concatenate(parts, axis=1), self.data.n)

    def note(self, n_edgetests: Sequence[int]) -> str:
        """How the answer of tests of categories only may differ from micd's, as of `DiscreteTest`."""
        return self._discrete.note(n_edgetests) if np.count_nonzero(self.data.categorical) > 1 else ""
