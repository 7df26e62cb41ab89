"""Tests of numbers and categories given all sets of one size, in compiled code (`set_items`)."""

from __future__ import annotations

from functools import partial

from pycupc.engines.cpu.set_items import SetItems, take_turns
from pycupc.engines.cpu.setwise_walk import Found, Pairs, tests_of_sets
from pycupc.independence.mixed.decisions import complete_space, decide
from pycupc.independence.mixed.test import MixedTest
from pycupc.system.jit import compiled


def walk(test: MixedTest, pairs: Pairs, size: int, found: Found, n_threads: int) -> SetItems:
    """The work of threads on these pairs."""
    data = test.compiled_data(float(tests_of_sets(pairs.number, size).sum()), size)
    make_space = partial(complete_space, test.likelihoods, data.codes, size)
    return SetItems(_take, data, make_space, pairs, size, found, n_threads)


@compiled
def _take(data, pairs, items, following, window, S, space, found, state):  # noqa: PLR0913 - compiled code
    take_turns(decide, data, pairs, items, following, window, S, space, found, state)
