"""Small runs that load the code of Gaussian tests, or compile it, for processes that compile ahead."""

from __future__ import annotations

import numpy as np

from pycupc.engines.cpu.gaussian import PlainWalk
from pycupc.engines.cpu.gaussian_questions import Asked, walk_pairs, walk_sets
from pycupc.engines.cpu.pruning.pruned_sides import small_side
from pycupc.engines.cpu.set_walk import walk_items
from pycupc.engines.cpu.threads import new_state
from pycupc.engines.protocol import Lists, Questions
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.system.code_cache import Loader, loads


@loads(walk_items)
def load_walk() -> None:
    """The tests of level 2, by the walk over rows."""
    PlainWalk.of_side(*small_side(), {})[0](new_state()[0])


@loads(walk_pairs)
def load_questions() -> None:
    """A question about two variables, whose candidates are two others."""
    (x, y), both, none = np.arange(2)[:, None], Lists.of([[2, 3]]), np.zeros(0, dtype=np.bool_)
    first, last, room = np.zeros(1, np.int64), np.full(1, 2), np.full(1, 2**62)
    asked = Asked(x, y, both.offsets, both.members.astype(np.int64), none, first, last, room)
    test = GaussianTest(SuffStat(np.where(np.eye(4), 1.0, 0.5), 100), 0.9)
    walk_sets(test, Questions(x, y, both, 0, 2), asked, 1, only_first=True)


def loaders(*, asks: bool) -> tuple[Loader, ...]:
    """See `Engine.loaders`: of a run with questions, which come later, the run itself reaches the walk soon."""
    return (load_questions, load_walk) if asks else (load_walk,)
