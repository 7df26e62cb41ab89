"""G^2 tests given all sets of one size, in compiled code (`set_items`)."""

from __future__ import annotations

from functools import partial

import numpy as np

from pycupc.engines.cpu.set_items import SetItems, take_turns
from pycupc.engines.cpu.setwise_walk import Found, Pairs
from pycupc.independence.discrete.contingency import decide, work_space
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.system.jit import compiled


def walk(test: DiscreteTest, pairs: Pairs, size: int, found: Found, n_threads: int) -> SetItems:
    """The work of threads on these pairs."""
    data = test.prepared
    widest = pairs.candidates[data.levels[pairs.candidates].argmax()] if size else 0
    make_space = partial(work_space, data, pairs.x, pairs.y, np.full((1, size), widest))
    return SetItems(_take, data, make_space, pairs, size, found, n_threads)


@compiled
def _take(data, pairs, items, following, window, S, space, found, state):  # noqa: PLR0913 - compiled code
    take_turns(decide, data, pairs, items, following, window, S, space, found, state)
