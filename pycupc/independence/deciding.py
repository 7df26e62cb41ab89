"""One test in compiled code, whichever its family: the type of the data leads to the code.

The walk over pairs (`engines/cpu/turn_walk.py`) is compiled once for each family that is in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.system.jit import compiled, jit_overload

#: The code of each type of data.
_CODE: dict[type, Callable[..., Any]] = {}


class Walked(NamedTuple):
    """Tests of some pairs given sets of one size, as a walk in compiled code makes them."""

    data: Any  # a named tuple with a code of `decide`
    # The work space of a thread, given int64 (2,): the address of `partial_correlation.careful_address`, 0 before it is
    # needed, and a flag that a test has needed it: the test is to be made again then.
    work: Callable[[Indices], Any]


def decides(kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a part of compiled code (`jit_part`) as `decide` for data of this type."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _CODE[kind] = function
        return function

    return register


def kinds() -> frozenset[type]:
    """The types of data that have a code of `decide`, of the families that are loaded."""
    return frozenset(_CODE)


def decide(data, x, y, S, work):
    """Test x and y given S: (independent, p); p is NaN where it is undefined."""
    return _CODE[type(data)](data, x, y, S, work)


@jit_overload(decide)
def _of_type(data, x, y, S, work):
    return _CODE[data.instance_class]


@compiled
def run_tests(data, x, y, sets, order, work, independent, p):
    """Write whether x[i] and y[i] are independent given sets[i], and p, for i in `order`: equal sets together."""
    for i in order:
        independent[i], p[i] = decide(data, x[i], y[i], sets[i], work)


def p_of_tests(walked: Walked, x: Indices, y: Indices, sets: Indices, careful_address: Callable[[], int]) -> Floats:
    """The p-values of x[i] and y[i] given sets[i], float64 (m,), NaN where undefined."""
    independent, p, careful = np.empty(len(x), dtype=np.bool_), np.empty(len(x)), np.zeros(2, dtype=np.int64)
    x, y, sets = (np.ascontiguousarray(values, dtype=np.int64) for values in (x, y, sets))
    run_tests(walked.data, x, y, sets, np.arange(len(x)), walked.work(careful), independent, p)
    if careful[1]:
        careful[:] = careful_address(), 0
        run_tests(walked.data, x, y, sets, np.arange(len(x)), walked.work(careful), independent, p)
    return p
