"""The walk of each family of tests without bounds: in compiled code where it has one, else in rounds."""

from __future__ import annotations

from collections.abc import Callable

from pycupc.engines.cpu.discrete_walk import discrete_walk
from pycupc.engines.cpu.setwise_walk import Found, Pairs, SetwiseWalk
from pycupc.engines.cpu.threads import Work
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.setwise import SetwiseTest


def work_on_sets(
    test: SetwiseTest, pairs: Pairs, size: int, found: Found, n_threads: int,
    report: Callable[[int], None] | None = None, *, only_first: bool = True,
) -> Work:  # fmt: skip
    """The work of threads that test pairs given their sets of one size; `report`, `only_first`: as of `SetwiseWalk`."""
    if only_first and type(test) is DiscreteTest:
        return discrete_walk(test, pairs, size, found, n_threads)
    return SetwiseWalk(test, pairs, size, found, n_threads, report, only_first=only_first)
