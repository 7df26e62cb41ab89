"""The G^2 test with its data, and the removed pairs whose separating test needed more observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints
from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.discrete.g_square import (
    LARGEST_SET_OF_DISCITEST,
    OBSERVATIONS_PER_DF,
    binCItest,
    disCItest,
    observations_needed,
)
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.p_values import PValues, UntestedPairs
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.localised_message import Message, Setting

if TYPE_CHECKING:
    from pycupc.independence.deciding import Walked
    from pycupc.independence.discrete.contingency import Data


class DiscreteTest(SetwiseTest):
    """G^2 tests.

    `binary`: whether it is `binCItest`, which has no faults. `quirks`: whether it reproduces pcalg's faults.
    """

    name = "discrete"
    engine = "auto"

    def __init__(self, data: DiscreteSuffStat, alpha: float, *, binary: bool = False, quirks: bool = False) -> None:
        super().__init__(data, alpha)
        self.binary, self.quirks = binary, quirks
        self.nbytes = data.codes.nbytes + 8 * (data.n + 1)  # and the table of m ln m
        self.cost = max(data.n / 20, 1.0)

    @cached_property
    def prepared(self) -> Data:
        """The data as compiled code takes them."""
        from pycupc.independence.discrete.contingency import prepare  # loads Numba

        return prepare(self.data, self.alpha, quirks=self.quirks and not self.binary)

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        if self.binary:
            return binCItest(x, y, S, self.data)
        return disCItest(x, y, S, self.data, quirks=self.quirks)

    def single_tests(self, x: Indices, y: Indices, S: Indices) -> tuple[Mask, Floats]:
        from pycupc.independence.discrete.contingency import single_tests  # loads Numba

        return single_tests(self.prepared, x, y, S)

    def walked(self, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked:
        from pycupc.independence.discrete.contingency import walked  # loads Numba

        return walked(self.prepared, x, y, candidates, size)

    def find_untested(self, sepset: SepSets, p_values: PValues) -> Callable[[], UntestedPairs]:
        return partial(self._untested, sepset, p_values)

    def _untested(self, sepset: SepSets, p_values: PValues) -> UntestedPairs:
        """The removed pairs whose separating test was not made; `sepset`: the sets, as the tests found them.

        pcalg's p-value of a test that was not made is 1, the same as for perfect independence. Whether a test was made
        depends on nothing but its variables and the data, so it is found out after a run, and only when somebody asks.
        """
        parts = [np.zeros((4, 0), dtype=np.int64)]
        for x, y, S in sepset.of_every_size(self.may_lack):
            if (
                self.data.df == "observed" and S.shape[1]
            ):  # a table is counted for each: only where the test may not have been
                at = [k for k, pair in enumerate(zip(x.tolist(), y.tolist(), strict=True)) if p_values.at(*pair) == 1.0]
                x, y, S = x[at], y[at], S[at]
            needed = observations_needed(self.data, x, y, S)
            few = needed > self.data.n
            level = np.full(int(few.sum()), S.shape[1])
            parts.append(np.vstack([x[few], y[few], level, needed[few]]).astype(np.int64))
        return UntestedPairs.by_pair(np.concatenate(parts, axis=1), self.data.n)

    def may_lack(self, level: int) -> bool:
        """Whether a test given a set of this size may need more observations than there are."""
        most = float(self.data.nlev.max())
        return bool(OBSERVATIONS_PER_DF * (most - 1) ** 2 * most**level > self.data.n)

    def note(self, n_edgetests: Sequence[int]) -> str:
        """How the answers for the two values of `quirks` may differ; empty if they cannot."""
        if self.binary:
            return ""
        where = []
        levels, at_least = list(n_edgetests), OBSERVATIONS_PER_DF * 2 ** (LARGEST_SET_OF_DISCITEST + 1)
        if any(levels[LARGEST_SET_OF_DISCITEST + 1 :]) and self.data.n >= at_least:
            where.append("which calls all variables independent given 5 or more others")
        if self.data.adaptDF and (self.data.nlev > 2).any() and any(levels[1:]):
            where.append("whose adaptDF raises the degrees of freedom given variables with more than 2 levels")
        if not where:
            return ""
        fault = " and ".join(where)
        if self.quirks:
            text = "as pcalg's disCItest, {fault}; {no_quirks} gives the right answer"
            return Message(text, fault=fault, no_quirks=Setting("quirks", False))
        text = "may differ from pcalg's disCItest, {fault}; {quirks} gives pcalg's answer"
        return Message(text, fault=fault, quirks=Setting("quirks", True))
