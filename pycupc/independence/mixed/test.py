"""The tests of numbers and categories, with their data: complete, with gaps, or imputed several times."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.data.mixed import MixedTable
from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.discrete.g_square import OBSERVATIONS_PER_DF, free, observations_needed
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.missing.data import IncompleteTable
from pycupc.independence.missing.test import TestwiseTest
from pycupc.independence.mixed import mix_ci_test, mix_mi_test
from pycupc.independence.mixed.data import MixedImputation
from pycupc.independence.mixed.mix_ci_test import (
    codes_are_skipped,
    degrees_of_freedom,
    least_codes,
    levels_in,
    levels_of,
    of_categories,
)
from pycupc.independence.p_values import PValues, UntestedPairs, no_untested_pairs
from pycupc.independence.setwise import SetwiseTest

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import Ints
    from pycupc.independence.deciding import Walked
    from pycupc.independence.missing.imputed_tests import Codes, Stack
    from pycupc.independence.mixed.decisions import Complete
    from pycupc.independence.mixed.likelihood import Columns
    from pycupc.independence.mixed.models import LogLikelihoods


def tests_about(x: Indices, candidates: Ints, size: int, p: int) -> float:
    """About the tests of x[i] given the sets of `size` candidates, as of `SetwiseTest.walked`, of p variables."""
    tests, neighbours = np.ones(len(x)), np.bincount(candidates, minlength=p)[x]  # how many lists hold x: in a graph
    for t in range(size):
        tests *= np.maximum(neighbours - 1 - t, 0) / (t + 1)
    return float(tests.sum())


class _TestOfBothKinds(SetwiseTest):
    """A test of numbers and categories.

    `quirks`: whether it reproduces the faults of micd. `flexible`: whether tests of categories only are those of
    ``flexCItest`` and ``flexCItwd``.
    """

    engines = ("cpu", "reference")

    def __init__(
        self, data: Any, alpha: float, *, NAdelete: bool = True, quirks: bool = False, flexible: bool = False
    ) -> None:
        super().__init__(data, alpha, NAdelete=NAdelete)
        self.quirks, self.flexible = quirks, flexible
        self.nbytes = 2 * data.values.nbytes
        self.cost = max(data.values[..., 0].size / 2, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is computed again when it is needed, such as sums over the observations."""
        computed = {
            name for one in type(self).__mro__ for name, v in vars(one).items() if isinstance(v, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in computed}

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        V, p = np.column_stack([x, y, S]).astype(np.int64, copy=False), np.empty(len(x))
        kind = self.data.categorical[V]
        categories = kind.sum(axis=1)  # how many of the variables are
        of_both = (categories > 0) & (categories < V.shape[1])
        if of_both.all():
            return self._of_both(V)
        for chosen, made in ((kind.all(axis=1), self._of_categories), (categories == 0, self._of_numbers)):
            if len(at := np.flatnonzero(chosen)):
                p[at] = made(self._place[V[at]])
        if len(at := np.flatnonzero(of_both)):
            p[at] = self._of_both(V[at])
        return p

    @cached_property
    def _place(self) -> Indices:
        """The position of each variable among the variables of its kind."""
        kinds = self.data.categorical
        return np.where(kinds, np.cumsum(kinds), np.cumsum(~kinds)) - 1

    @abstractmethod
    def _of_categories(self, V: Indices) -> Floats:
        """The p-values of tests of categories only: the positions of x, y and S among them in a row."""

    @abstractmethod
    def _of_numbers(self, V: Indices) -> Floats:
        """The p-values of tests of numbers only, as `_of_categories`."""

    @abstractmethod
    def _of_both(self, V: Indices) -> Floats:
        """The p-values of tests of variables of both kinds: x, y and S in a row."""


class MixedTest(_TestOfBothKinds):
    """`mixCItest`, or `flexCItest`; `data`: complete."""

    name = "mixed"
    flexible = False  # also of pickles that do not have it

    def __init__(self, data: MixedTable, alpha: float, **how: Any) -> None:
        super().__init__(data, alpha, **how)
        self.cost = max(15.0, data.n / 200)  # the sums over the observations are shared by many tests

    def walked(self, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked | None:
        several = np.count_nonzero(self.data.categorical) > 1
        if several and not isinstance(self._discrete, DiscreteTest):
            return None
        from pycupc.independence.mixed.decisions import walked  # loads Numba

        return walked(self._complete, self.likelihoods, tests_about(x, candidates, size, self.p), size)

    @cached_property
    def _complete(self) -> Complete:
        from pycupc.independence.mixed.decisions import complete_data  # loads Numba

        kinds, discrete = self.data.categorical, None
        if np.count_nonzero(kinds) > 1:
            assert isinstance(self._discrete, DiscreteTest)
            discrete = self._discrete.prepared
        C = self._correlations if np.count_nonzero(~kinds) > 1 else np.zeros((0, 0))
        return complete_data(self.likelihoods, discrete, C, self.data.n, self.alpha)

    @cached_property
    def likelihoods(self) -> LogLikelihoods:
        from pycupc.independence.mixed.models import LogLikelihoods  # loads Numba

        table, levels = self.data, levels_of(self.data)
        counted = levels if self.quirks else table.n_occurring
        return LogLikelihoods(table.values[None], levels, counted, table.constant)

    @cached_property
    def _discrete(self) -> DiscreteTest | TestwiseTest:
        at = np.flatnonzero(self.data.categorical)
        if self.quirks and not self.flexible and codes_are_skipped(self.data, at):
            data = IncompleteTable.of_checked(self.data.values[:, at], categories=True, adaptDF=True)
            return TestwiseTest(data, self.alpha, quirks=True, per_df=OBSERVATIONS_PER_DF)
        return DiscreteTest(
            of_categories(self.data, at, all_levels=self.quirks and self.flexible), self.alpha, quirks=self.quirks
        )

    @cached_property
    def _correlations(self) -> Floats:
        return correlation(self.data.numbers())

    def _of_categories(self, V: Indices) -> Floats:
        return self._discrete.single_tests(V[:, 0], V[:, 1], V[:, 2:])[1]

    def _of_numbers(self, V: Indices) -> Floats:
        from pycupc.independence.gaussian.pairwise_tests import p_values_of_tests  # loads Numba

        C = self._correlations
        n = np.full(C.shape, float(self.data.n))
        return p_values_of_tests(C, n, 1, V[:, 0], V[:, 1], V[:, 2:])

    def _of_both(self, V: Indices) -> Floats:
        from scipy.special import chdtrc  # takes a quarter of a second to import

        statistic, _, df = self.likelihoods.statistics(V)
        p = chdtrc(df, np.maximum(statistic, 0.0))
        p[np.isnan(statistic) | self.data.constant[V[:, :2]].any(axis=1)] = 1.0
        return np.asarray(p)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        made = mix_ci_test.flexCItest if self.flexible else mix_ci_test.mixCItest
        return made(x, y, S, self.data, quirks=self.quirks)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset)

    def _untested(self, sepset: SepSets) -> UntestedPairs:
        """Among the removed pairs of categories whose sets are of categories only, as of `DiscreteTest`."""
        kinds = self.data.categorical
        if np.count_nonzero(kinds) < 2:
            return no_untested_pairs()
        columns = np.flatnonzero(kinds)
        data = of_categories(self.data, columns, all_levels=self.quirks and self.flexible)
        test = DiscreteTest(data, self.alpha, quirks=self.quirks)
        place, parts = np.cumsum(kinds) - 1, [np.zeros((4, 0), dtype=np.int64)]
        for x, y, S in sepset.of_every_size(test.may_lack):
            at = kinds[x] & kinds[y] & kinds[S].all(axis=1)
            x, y, S = x[at], y[at], S[at]
            needed = observations_needed(data, place[x], place[y], place[S])
            few = needed > self.data.n
            parts.append(np.vstack([x[few], y[few], np.full(int(few.sum()), S.shape[1]), needed[few]]).astype(np.int64))
        return UntestedPairs.by_pair(np.concatenate(parts, axis=1), self.data.n)

    def note(self, n_edgetests: Sequence[int]) -> str:
        """How the answer of tests of categories only may differ from micd's, as of `DiscreteTest`."""
        return self._discrete.note(n_edgetests) if np.count_nonzero(self.data.categorical) > 1 else ""


class TestwiseMixedTest(_TestOfBothKinds):
    """`mixCItwd`, or `flexCItwd`; `data`: with gaps."""

    __test__ = False  # not a test of pytest
    name = "incomplete mixed"

    @cached_property
    def _columns(self) -> Columns:
        from pycupc.independence.mixed.likelihood import Columns  # loads Numba

        return Columns(np.ascontiguousarray(self.data.values.T), levels_of(self.data))

    @cached_property
    def _discrete(self) -> TestwiseTest:
        values = self.data.values - least_codes(self.data) if self.flexible else self.data.values
        data = IncompleteTable.of_checked(values[:, self.data.categorical], categories=True, adaptDF=True)
        return TestwiseTest(data, self.alpha, quirks=self.quirks, per_df=0 if self.flexible else OBSERVATIONS_PER_DF)

    @cached_property
    def _gaussian(self) -> TestwiseTest:
        return TestwiseTest(IncompleteTable.of_checked(self.data.numbers()), self.alpha)

    def _of_categories(self, V: Indices) -> Floats:
        return self._discrete.p_of_tests(V[:, 0], V[:, 1], V[:, 2:])

    def _of_numbers(self, V: Indices) -> Floats:
        return self._gaussian.p_of_tests(V[:, 0], V[:, 1], V[:, 2:])

    def _of_both(self, V: Indices) -> Floats:
        from scipy.special import chdtrc  # takes a quarter of a second to import

        from pycupc.independence.mixed.likelihood import statistics

        complete, levels, statistic = statistics(self._columns, V)
        df = degrees_of_freedom(levels_of(self.data)[V] if self.quirks else levels)
        p = np.where(np.isnan(statistic) | (statistic <= 0.0), 1.0, chdtrc(df, np.maximum(statistic, 0.0)))
        p[complete < 2] = np.nan
        return np.asarray(p)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        made = mix_ci_test.flexCItwd if self.flexible else mix_ci_test.mixCItwd
        return made(x, y, S, self.data, quirks=self.quirks)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset)

    def _untested(self, sepset: SepSets) -> UntestedPairs:
        """The removed pairs of whose test too few rows are complete for a p-value below 1."""
        there, kinds, parts = ~np.isnan(self.data.values), self.data.categorical, []
        for x, y, S in sepset.of_every_size(lambda level: True):
            for V in np.column_stack([x, y, S]).astype(np.int64).tolist():
                rows = self.data.values[there[:, V].all(axis=1)][:, V]
                needed = self._needed(rows, kinds[V])
                if len(rows) < needed:
                    parts.append([*V[:2], len(V) - 2, needed, len(rows)])
        table = np.array(parts, dtype=np.int64).reshape(-1, 5).T
        return UntestedPairs.by_pair(table[:4], table[4])

    def _needed(self, rows: Floats, kinds: Mask) -> int:
        """How many complete rows a test needs of which these are the complete rows."""
        if not kinds.any():
            return int(rows.shape[1]) + 2
        if self.flexible or not kinds.all() or len(rows) < 2:
            return 2
        return OBSERVATIONS_PER_DF * free(levels_in(rows, kinds))

    def note(self, n_edgetests: Sequence[int]) -> str:
        """How the answer of tests of categories only may differ from micd's, as of `TestwiseTest`."""
        return self._discrete.note(n_edgetests) if np.count_nonzero(self.data.categorical) > 1 else ""


class ImputedMixedTest(_TestOfBothKinds):
    """`mixMItest`, or `flexMItest`."""

    name = "imputed mixed"
    data: MixedImputation

    @cached_property
    def _tested(self) -> MixedImputation:
        return self.data if self.quirks else self.data.occurring

    @cached_property
    def likelihoods(self) -> LogLikelihoods:
        from pycupc.independence.mixed.models import LogLikelihoods  # loads Numba

        tested = self._tested
        return LogLikelihoods(tested.values, tested.levels, tested.levels, self._constant, quirks=self.quirks)

    def walked(self, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked | None:
        from pycupc.independence.mixed.decisions import Imputed, walked_imputed  # loads Numba

        known = self.likelihoods
        data = Imputed(known.tables, known.kept(1, 2), self._codes, self._stack, self.alpha, self.na_p)
        return walked_imputed(data, known, tests_about(x, candidates, size, self.p), size)

    @cached_property
    def _codes(self) -> Codes:
        from pycupc.independence.missing.imputed_tests import Codes  # loads Numba

        M, n = self.data.M, self.data.n
        if np.count_nonzero(self.data.categorical) < 2:
            return Codes(np.zeros((1, M * n), dtype=np.uint8), M, np.full(1, 2), self.alpha, self.na_p)
        data = self._tested.codes
        in_a_row = np.ascontiguousarray(data.codes.transpose(1, 0, 2).reshape(data.p, -1))
        return Codes(in_a_row, M, data.levels, self.alpha, self.na_p)

    @cached_property
    def _stack(self) -> Stack:
        from pycupc.independence.missing.imputed_tests import Stack  # loads Numba

        few = np.count_nonzero(~self.data.categorical) < 2
        matrices = np.zeros((self.data.M, 0, 0)) if few else self._tested.matrices
        across = np.ascontiguousarray(matrices.transpose(1, 2, 0))
        return Stack(matrices, across, float(self.data.n), self.alpha, self.na_p)

    @cached_property
    def _constant(self) -> Mask:
        values = self._tested.values
        return np.asarray((values == values[:1, :1]).all(axis=(0, 1)))

    def _of_categories(self, V: Indices) -> Floats:
        from pycupc.independence.missing.imputed_tests import discrete_p  # loads Numba

        return discrete_p(self._codes, V[:, 0], V[:, 1], V[:, 2:])

    def _of_numbers(self, V: Indices) -> Floats:
        from pycupc.independence.missing.imputed_tests import gaussian_p  # loads Numba

        return gaussian_p(self._stack, self.data.n, V[:, 0], V[:, 1], V[:, 2:])

    def _of_both(self, V: Indices) -> Floats:
        p = mix_mi_test.pooled(*self.likelihoods.statistics(V), self.data.M)
        p[self._constant[V[:, :2]].any(axis=1)] = 1.0
        return p

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return mix_mi_test.mixMItest(x, y, S, self.data, quirks=self.quirks)
