"""Small runs that load the code of Gaussian tests, or compile it, for processes that compile ahead."""

from __future__ import annotations

import numpy as np

from pycupc.engines.cpu.gaussian import PlainWalk
from pycupc.engines.cpu.gaussian_questions import Asked, walk_pairs, walk_sets
from pycupc.engines.cpu.graph import Graph
from pycupc.engines.cpu.set_walk import walk_items
from pycupc.engines.cpu.submatrices import MatrixSource
from pycupc.engines.cpu.threads import new_state
from pycupc.engines.cpu.walk_arrays import Cutoff, Side
from pycupc.engines.protocol import Lists, Questions
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.system.code_cache import Loader, loads
from pycupc.system.jit import frozen

_C = np.where(np.eye(4), 1.0, 0.5)


@loads(walk_items)
def load_walk() -> None:
    """The tests of level 2, by the walk over rows."""
    neighbours = np.tile(np.arange(4, dtype=np.int32), (4, 1))[~np.eye(4, dtype=np.bool_)]
    graph = Graph.of_lists(np.arange(0, 13, 3), neighbours)
    findings = graph.no_findings()
    targets = graph.targets(2, False, findings)
    side = Side.of(graph, targets, 2, Cutoff.around(0.1))
    PlainWalk.of_side(MatrixSource(frozen(_C)), graph, targets, side, findings, {})[0](new_state()[0])


@loads(walk_pairs)
def load_questions() -> None:
    """A question about two variables, whose candidates are two others."""
    (x, y), both, none = np.arange(2)[:, None], Lists.of([[2, 3]]), np.zeros(0, dtype=np.bool_)
    first, last, room = np.zeros(1, np.int64), np.full(1, 2), np.full(1, 2**62)
    asked = Asked(x, y, both.offsets, both.members.astype(np.int64), none, first, last, room)
    walk_sets(GaussianTest(SuffStat(_C, 100), 0.9), Questions(x, y, both, 0, 2), asked, 1, only_first=True)


def loaders(*, asks: bool) -> tuple[Loader, ...]:
    """See `Engine.loaders`: of a run with questions, which come later, the run itself reaches the walk soon."""
    return (load_questions, load_walk) if asks else (load_walk,)
