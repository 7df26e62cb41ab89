"""The outlook of a level, without a device."""

from itertools import product

import numpy as np
import pytest

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.pruning.device_branch_and_bound import PAIRS
from pycupc.engines.gpu.schur import SchurTests


def outlook_of(degrees, level):
    degrees = np.array(degrees)
    return Outlook.of(level, degrees, degrees)


def test_a_guess_at_a_later_level_halves_the_neighbours():
    seen = outlook_of([64] * 100, 2)
    guess = seen.later(2, 4)
    assert (guess.pairs, guess.widest, guess.rows) == (1600, 16, (100, 0, 0, 0, 0, 0))
    assert guess.sets == pytest.approx(outlook_of([16] * 100, 4).sets)
    assert guess.tests_at_most == pytest.approx(outlook_of([16] * 100, 4).tests_at_most)


def test_level_1_leaves_few_neighbours():
    assert outlook_of([400] * 1000, 1).later(1, 2).widest == 400 * device_tuning.LEFT[0]


@pytest.mark.parametrize("p", [3, 10, 200, 5000])
def test_every_guess_names_kernels(p):
    tests = SchurTests(132, 227 << 10)
    degrees = np.random.default_rng(p).integers(0, p, p)
    for level, ahead in product((0, 1, 2, 5, 20), (1, 2, 3)):
        later = max(level + ahead, 2)
        guess = outlook_of(degrees, level).later(level, later)
        if later < guess.widest:
            assert all(len(kernel) == 2 for kernel in tests.kernels(later, guess))


def test_a_search_is_compiled_for_the_rows_that_it_may_meet():
    """Of 320 neighbours after level 1, 40 are left at level 5: the narrowest search is enough."""
    tests = SchurTests(132, 227 << 10)
    named = tests.kernels(5, outlook_of([320] * 1000, 2).later(2, 5))
    assert [kernel for kernel in named if kernel in PAIRS] == PAIRS[:1]
    named = tests.kernels(5, outlook_of([94] * 4900, 2).later(2, 5))
    assert not set(named) & set(PAIRS)
