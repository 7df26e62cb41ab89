"""The tests of data with gaps, with their data: several imputations, and test-wise deletion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.missing import reference_tests
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.p_values import PValues, UntestedPairs, too_few, too_few_for_fisher_z
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.localised_message import Message, Setting

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import Ints
    from pycupc.independence.deciding import Walked
    from pycupc.independence.missing.imputed_tests import Codes, Stack


class ImputedTest(SetwiseTest):
    """`gaussMItest`, or `disMItest` of categories."""

    name = "imputed"

    def __init__(self, data: MultipleImputation, alpha: float, *, NAdelete: bool = True) -> None:
        super().__init__(data, alpha, NAdelete=NAdelete)
        self.nbytes = data.codes.nbytes if data.categories else 2 * data.matrices.nbytes
        self.cost = data.M * data.n / 8.0 if data.categories else 7.0 + 2.4 * data.M

    @cached_property
    def prepared(self) -> Stack | Codes:
        """The data as compiled code takes them."""
        from pycupc.independence.missing.imputed_tests import Codes, Stack  # loads Numba

        data = self.data
        if data.categories:
            in_a_row = np.ascontiguousarray(data.codes.transpose(1, 0, 2).reshape(data.p, -1))
            return Codes(in_a_row, data.M, data.levels, self.alpha, self.na_p)
        across = np.ascontiguousarray(data.matrices.transpose(1, 2, 0))
        return Stack(data.matrices, across, float(data.n), self.alpha, self.na_p)

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        from pycupc.independence.missing import imputed_tests as compiled  # loads Numba

        if isinstance(self.prepared, compiled.Codes):
            return compiled.discrete_p(self.prepared, x, y, S)
        return compiled.gaussian_p(self.prepared, self.prepared.n, x, y, S)

    def walked(self, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked | None:
        from pycupc.independence.missing import imputed_tests as compiled  # loads Numba

        if isinstance(self.prepared, compiled.Codes):
            return compiled.walked_codes(self.prepared, x, y, candidates, size)
        return compiled.walked_numbers(self.prepared, size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Compiled functions that older pickles hold are left out."""
        self.__dict__ |= {name: value for name, value in state.items() if name != "p_of_tests"}

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return (reference_tests.disMItest if self.data.categories else reference_tests.gaussMItest)(x, y, S, self.data)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        if self.data.categories:
            return super().find_untested(sepset, p_values)
        return partial(too_few_for_fisher_z, self.data.n, sepset)


class TestwiseTest(SetwiseTest):
    """`gaussCItwd`, or `disCItwd` of categories.

    `quirks`: whether `disCItwd` answers as micd, with its faults. `per_df`: as of `testwise_tests.Codes`.
    """

    __test__ = False  # not a test of pytest
    name = "incomplete"
    per_df = 0  # also of pickles that do not have it

    def __init__(
        self, data: IncompleteTable, alpha: float, *, NAdelete: bool = True, quirks: bool = False, per_df: int = 0
    ) -> None:
        super().__init__(data, alpha, NAdelete=NAdelete)
        self.quirks, self.per_df = quirks, per_df
        self.nbytes = data.values.nbytes * (1 if data.categories else 2)
        self.cost = max(data.n / 20.0, 1.0)

    @cached_property
    def p_of_tests(self) -> Callable[[Indices, Indices, Indices], Floats]:
        from pycupc.independence.missing import testwise_tests as compiled  # loads Numba

        if self.data.categories:
            values = np.ascontiguousarray(self.data.values.T)
            levels = values.max(axis=1).astype(np.int64) + 1
            how = self.data.adaptDF, self.quirks, self.per_df
            return partial(compiled.discrete_p, compiled.Codes(values, levels, *how))
        there = np.ascontiguousarray(~self.data.missing.T).astype(np.float64)
        return partial(compiled.gaussian_p, compiled.Numbers(self.data.centred(), there), self.data.values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Compiled functions are bound anew: those that pickles of 0.2.0 hold take other arguments."""
        self.__dict__ |= {name: value for name, value in state.items() if name != "p_of_tests"}

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        if self.data.categories:
            return reference_tests.disCItwd(x, y, S, self.data, quirks=self.quirks)
        return reference_tests.gaussCItwd(x, y, S, self.data)

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
        return too_few(sepset.of_every_size(lambda level: level > 0 or least < needed(0)), counted, needed)

    def note(self, n_edgetests: Sequence[int]) -> str:
        """How the answer of `disCItwd` may differ from micd's; empty if it cannot but where levels do not occur."""
        adapted = self.data.categories and self.data.adaptDF and bool((self.data.values.max(axis=0) > 1).any())
        if not self.data.categories or not (any(n_edgetests[6:]) or (adapted and any(n_edgetests[1:]))):
            return ""
        text = "may differ from micd's disCItwd, which has the faults of pcalg's disCItest; {other} gives its answer"
        if self.quirks:
            text = "as micd's disCItwd, with the faults of pcalg's disCItest; {other} gives the right answer"
        return Message(text, other=Setting("quirks", not self.quirks))
