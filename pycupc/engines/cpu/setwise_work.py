"""The walk of each family of tests without bounds: in compiled code where it has one, else in rounds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from pycupc.engines.cpu import threads
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.setwise_walk import Found, Pairs, SetwiseWalk
from pycupc.engines.protocol import Floats, Mask
from pycupc.independence.setwise import SetwiseTest


def work_on_sets(
    test: SetwiseTest, pairs: Pairs, size: int, found: Found, n_threads: int,
    report: Callable[[int], None] | None = None, *, only_first: bool = True,
) -> threads.Work:  # fmt: skip
    """The work of threads that test pairs given their sets of one size; `report`, `only_first`: as of `SetwiseWalk`."""
    if only_first and test.walk:
        work: threads.Work = import_module(f"pycupc.engines.cpu.{test.walk}").walk(test, pairs, size, found, n_threads)
        return work  # a family is loaded when it is used
    return SetwiseWalk(test, pairs, size, found, n_threads, report, only_first=only_first)


def unconditional(test: SetwiseTest, x: Indices, y: Indices) -> tuple[Mask, Floats]:
    """Whether pairs are independent given nothing, and the p-values, `na_p` in place of NaN."""
    m = len(x)
    if not test.walk:
        independent, p = test.single_tests(x, y, np.empty((m, 0), np.int64))
        return independent, np.nan_to_num(p, nan=test.na_p)
    found, none, each = Found.of_questions(m, 0), np.zeros(m, dtype=np.int64), np.arange(m)
    lists = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.bool_)
    pairs = Pairs(x, y, none, none, none, *lists, np.full(m, 2**62), each, none.astype(np.float64))
    threads.run(work_on_sets(test, pairs, 0, found, 1), 1, 0)
    return found.rank >= 0, -found.smallest
