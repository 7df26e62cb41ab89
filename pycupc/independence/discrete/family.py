"""The G^2 test with its data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.discrete.g_square import LARGEST_SET_OF_DISCITEST, OBSERVATIONS_PER_DF, binCItest, disCItest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.discrete.untested import untested_pairs
from pycupc.independence.enumerated import EnumeratedTest
from pycupc.independence.p_values import PValues
from pycupc.independence.untested import UntestedPairs
from pycupc.system.message import Message, Setting

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets
    from pycupc.independence.discrete.contingency import Data


class DiscreteTest(EnumeratedTest):
    """G^2 tests.

    `binary`: whether it is `binCItest`, which has no faults. `quirks`: whether it reproduces pcalg's faults.
    """

    name = "discrete"

    def __init__(self, data: DiscreteSuffStat, alpha: float, *, binary: bool = False, quirks: bool = False) -> None:
        self.data, self.alpha, self.binary, self.quirks = data, float(alpha), binary, quirks
        self.p, self.n, self.labels = data.p, data.n, data.labels
        self.nbytes = data.codes.nbytes + 8 * (data.n + 1)  # and the table of m ln m

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

    def untested(self, sepset: SepSets, p_values: PValues) -> UntestedPairs:
        return untested_pairs(self.data, sepset, p_values)

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
