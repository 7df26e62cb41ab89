"""The loops of the rules for PAGs: work space, compiled and plain code."""

import numpy as np
import pag_oracle
from latent_cases import oriented, random_case

from pycupc.orientation.pag.orienting import Orienting
from pycupc.system import jit


def test_the_work_space_grows(monkeypatch):
    """A search may put a variable into its queue many times."""
    sizes, following = [], Orienting._next

    def watched(self, *given):
        path = following(self, *given)
        sizes.append(self._work.shape[1] - self.p - 3)
        return path

    monkeypatch.setattr(Orienting, "_next", watched)
    rng = np.random.default_rng(1)
    for _ in range(15):
        case = random_case(rng, (5, 9, 10), ((20, 1, 1),), p_max=14)
        for quirks in (True, False):
            want = pag_oracle.orient(case["M"], {}, case["rules"], quirks=quirks, colliders=False)
            np.testing.assert_array_equal(oriented(case | {"cells": {}}, quirks)[0], pag_oracle.as_array(want))
    assert max(sizes) > 0


def test_compiled_as_plain(monkeypatch):
    rng = np.random.default_rng(2)
    cases = [random_case(rng, p_max=12, ambiguous=0.1) for _ in range(20)]
    answers = []
    for most in (-1, 10**12):
        monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", most)
        answers.append([oriented(case, quirks) for case in cases for quirks in (True, False)])
    for (one, why), (two, also) in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)
        assert why == also
