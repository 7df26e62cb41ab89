"""The tests of data with gaps, with their data: several imputations, test-wise deletion, an n for each pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.data.names import names_for
from pycupc.independence.base import Floats, Indices
from pycupc.independence.enumerated import EnumeratedTest
from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.gauss_ci_test import partial_correlation
from pycupc.independence.gaussian.measures import RULES
from pycupc.independence.gaussian.suffstat import MatrixFacts, SuffStat
from pycupc.independence.missing import literal
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation, as_imputation, as_incomplete
from pycupc.independence.p_values import PValues, UntestedPairs, too_few_for_fisher_z
from pycupc.system.message import Message, Setting

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets


class ImputedTest(EnumeratedTest):
    """`gaussMItest`, or `disMItest` of categories."""

    name = "imputed"

    def __init__(self, data: MultipleImputation, alpha: float, *, NAdelete: bool = True) -> None:
        super().__init__(data, alpha, NAdelete=NAdelete)
        self.nbytes = data.codes.nbytes if data.categories else 2 * data.matrices.nbytes
        self.cost = data.M * float(data.n if data.categories else 1)

    @cached_property
    def p_of_tests(self) -> Callable[[Indices, Indices, Indices], Floats]:
        from pycupc.independence.missing import imputed_tests as compiled  # loads Numba

        data = self.data
        if data.categories:
            in_a_row = np.ascontiguousarray(data.codes.transpose(1, 0, 2).reshape(data.p, -1))
            return partial(compiled.discrete_p, compiled.Codes(in_a_row, data.M, data.levels))
        stack = compiled.Stack(data.matrices, np.ascontiguousarray(data.matrices.transpose(1, 2, 0)))
        return partial(compiled.gaussian_p, stack, data.n)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return (literal.disMItest if self.data.categories else literal.gaussMItest)(x, y, S, self.data)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        if self.data.categories:
            return super().find_untested(sepset, p_values)
        return partial(too_few_for_fisher_z, self.data.n, sepset)


class TestwiseTest(EnumeratedTest):
    """`gaussCItwd`, or `disCItwd` of categories.

    `quirks`: whether `disCItwd` answers as micd, with its faults.
    """

    __test__ = False  # not a test of pytest
    name = "incomplete"

    def __init__(self, data: IncompleteTable, alpha: float, *, NAdelete: bool = True, quirks: bool = False) -> None:
        super().__init__(data, alpha, NAdelete=NAdelete)
        self.quirks = quirks
        self.nbytes = data.values.nbytes * (1 if data.categories else 2)
        self.cost = max(data.n / 20.0, 1.0)

    @cached_property
    def p_of_tests(self) -> Callable[[Indices, Indices, Indices], Floats]:
        from pycupc.independence.missing import testwise_tests as compiled  # loads Numba

        if self.data.categories:
            values = np.ascontiguousarray(self.data.values.T)
            levels = values.max(axis=1).astype(np.int64) + 1
            return partial(compiled.discrete_p, compiled.Codes(values, levels, self.data.adaptDF, self.quirks))
        there = np.ascontiguousarray(~self.data.missing.T).astype(np.float64)
        return partial(compiled.gaussian_p, compiled.Numbers(self.data.centred(), there), self.data.values)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        if self.data.categories:
            return literal.disCItwd(x, y, S, self.data, quirks=self.quirks)
        return literal.gaussCItwd(x, y, S, self.data)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset)

    def _untested(self, sepset: SepSets) -> UntestedPairs:
        """The removed pairs of whose test too few rows are complete for a p-value below 1."""
        there = (~self.data.missing).T
        numbers = there.astype(np.float32)  # exact: fewer than 2^24 rows
        complete = numbers @ numbers.T

        def counted(x: Indices, y: Indices, S: Indices) -> Floats:
            if S.shape[1] == 0:
                return np.asarray(complete[x, y], dtype=np.float64)
            out, step = np.empty(len(x)), max((1 << 24) // self.data.n, 1)
            for begin in range(0, len(x), step):
                at = slice(begin, begin + step)
                whole = there[x[at]] & there[y[at]]
                for member in S[at].T:
                    whole &= there[member]
                out[at] = whole.sum(axis=1)
            return out

        def needed(level: int) -> int:
            return 2 if self.data.categories else level + 4

        least = complete.min()
        return _too_few(sepset.of_every_size(lambda level: level > 0 or least < needed(0)), counted, needed)

    def note(self, n_edgetests: Sequence[int]) -> str:
        """How the answer of `disCItwd` may differ from micd's; empty if it cannot but where levels do not occur."""
        adapted = self.data.categories and self.data.adaptDF and bool((self.data.values.max(axis=0) > 1).any())
        if not self.data.categories or not (any(n_edgetests[6:]) or (adapted and any(n_edgetests[1:]))):
            return ""
        text = "may differ from micd's disCItwd, which has the faults of pcalg's disCItest; {other} gives its answer"
        if self.quirks:
            text = "as micd's disCItwd, with the faults of pcalg's disCItest; {other} gives the right answer"
        return Message(text, other=Setting("quirks", not self.quirks))


class LocalGaussianTest(EnumeratedTest):
    """Tests of partial correlations whose n - l - 3 has the n of the pairs among x, y and S: `SuffStat.pair_n`."""

    name = "pairwise"

    def __init__(self, data: SuffStat, alpha: float) -> None:
        super().__init__(data, alpha)
        data.check(MatrixFacts.of(data.C), names_for(data.labels, data.p))

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        from pycupc.independence.gaussian.partial_correlation import p_values_of_tests  # loads Numba

        assert self.data.pair_n is not None
        matrix, rule = self.data.pair_n
        return p_values_of_tests(self.data.C, matrix, RULES.index(rule), x, y, S)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        n = self._n_of_test(x, y, S)
        return p_value_of(partial_correlation(self.data.C, x, y, sorted(S)), n - len(S) - 3)

    def _n_of_test(self, x: int, y: int, S: Sequence[int]) -> float:
        assert self.data.pair_n is not None
        return float(self.data.pair_n.of_test(x, y, S))

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset)

    def _untested(self, sepset: SepSets) -> UntestedPairs:
        """The removed pairs that their number of observations leaves no degrees of freedom."""
        assert self.data.pair_n is not None
        matrix = self.data.pair_n.matrix
        least = matrix[~np.eye(len(matrix), dtype=np.bool_)].min()

        def counted(x: Indices, y: Indices, S: Indices) -> Floats:
            if S.shape[1] == 0:
                return np.asarray(matrix[x, y])
            tests = zip(x.tolist(), y.tolist(), S.tolist(), strict=True)
            return np.array([self._n_of_test(*test) for test in tests])

        return _too_few(sepset.of_every_size(lambda level: least <= level + 3), counted, lambda level: level + 4)


def _too_few(
    cells: Iterable[tuple[Indices, ...]],
    counted: Callable[[Indices, Indices, Indices], Floats],
    needed: Callable[[int], int],
) -> UntestedPairs:
    """Of the pairs x, y with their sets S, by size, those with fewer observations, as `counted`, than are `needed`."""
    parts, there = [np.zeros((4, 0), dtype=np.int64)], [np.zeros(0)]
    for x, y, S in cells:
        level = S.shape[1]
        n = counted(x, y, S)
        few = n <= needed(level) - 1
        both = np.repeat([[level], [needed(level)]], int(few.sum()), axis=1)
        parts.append(np.vstack([x[few], y[few], both]).astype(np.int64))
        there.append(n[few].astype(np.float64))
    return UntestedPairs.by_pair(np.concatenate(parts, axis=1), np.concatenate(there))


def missing_test(
    indepTest: Any, suffStat: Any, alpha: float, *, NAdelete: bool, quirks: bool
) -> ImputedTest | TestwiseTest | None:
    """The test of missing data that a function or the class of the data names; None if they name none.

    TypeError or ValueError if the data do not fit the function.
    """
    imputed, testwise = (literal.gaussMItest, literal.disMItest), (literal.gaussCItwd, literal.disCItwd)
    if indepTest is None and isinstance(suffStat, MultipleImputation | IncompleteTable):
        indepTest = (imputed if isinstance(suffStat, MultipleImputation) else testwise)[suffStat.categories]
    if indepTest in imputed:
        data = as_imputation(suffStat, categories=indepTest is imputed[1])
        return ImputedTest(data, alpha, NAdelete=NAdelete)
    if indepTest in testwise:
        gapped = as_incomplete(suffStat, categories=indepTest is testwise[1])
        return TestwiseTest(gapped, alpha, NAdelete=NAdelete, quirks=quirks)
    return None
