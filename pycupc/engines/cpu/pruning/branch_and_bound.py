"""Single pairs, of levels from 5 on or of questions: whether a set separates it, and the first that does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.engines.cpu.conditional_covariances import Sizes
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.bounded_walk_arrays import LEFT
from pycupc.engines.cpu.pruning.branch import DIVIDED_IN_TWO, NONE, SEPARATED, examine
from pycupc.engines.cpu.pruning.node import BASE, ROOT, child, root
from pycupc.engines.cpu.threads import STOP
from pycupc.engines.cpu.walk_arrays import Cutoff, Side
from pycupc.engines.protocol import Floats
from pycupc.system.jit import compiled, jit_part

#: Rows whose smallest delta is below this are not searched: their pivots might be doubtful.
LEAST_DELTA = 1e-5


class PairOutcomes(NamedTuple):
    """The outcome of the search for each target."""

    found: Indices  # (m,) NONE, SEPARATED or LEFT, after the sizes that have no separating set
    n_sizes: Indices  # (m,) number of these sizes
    members: Indices  # (m, level) its first separating set: positions among the neighbours without the target itself
    smallest: Floats  # (m, k) smallest r^2 met, by size

    @classmethod
    def of(cls, m: int, sizes: Sizes) -> PairOutcomes:
        """Nothing is known yet of m targets."""
        k = len(sizes.level)
        members = np.zeros((m, int(sizes.level[-1])), np.int64)
        return cls(np.full(m, LEFT), np.zeros(m, np.int64), members, np.full((m, k), np.inf))


@jit_part
def _find(side, nodes, sets, w, allowance, state):
    """Whether a set of the node in slot ROOT separates the pair, which is then in w.first: NONE, SEPARATED or LEFT."""
    slot = ROOT
    while slot >= ROOT and state[STOP] == 0:
        outcome = examine(side, nodes, slot, sets, w, state)
        if outcome == SEPARATED:
            for t in range(side.level):
                w.first[t] = w.found[t]
            return SEPARATED
        if outcome != NONE and w.spent[0] > allowance:
            return LEFT
        slot += (outcome == DIVIDED_IN_TWO) - (outcome == NONE)
    return NONE if slot < ROOT else LEFT


@jit_part
def _ask(nodes, k, w):
    """Slot ROOT: all sets of slot BASE; for k >= 0 only the sets that have candidate k and none before it."""
    q, n = nodes.q[BASE], 0
    for u in range(k if k > 0 else 0, q):
        w.keep[n] = u
        n += 1
    child(nodes, BASE, ROOT, w, n, k, k >= 0)


@jit_part
def _take(nodes, w):
    """Slot BASE: slot ROOT."""
    for u in range(nodes.q[ROOT]):
        w.keep[u] = u
    child(nodes, ROOT, BASE, w, nodes.q[ROOT], -1, False)


@jit_part
def _decide(side, nodes, sets, w, allowance, state):
    """NONE if no set of slot BASE separates the pair, SEPARATED with the first that does in w.first, or LEFT.

    The first question is whether any set separates the pair. If one does, the members of the first such set follow one
    by one: the smallest candidate that some separating set has after the members known so far.
    """
    k = -1
    while state[STOP] == 0:
        _ask(nodes, k, w)
        known = nodes.taken[BASE]
        if k >= 0 and nodes.position[BASE, k] == w.first[known]:
            _take(nodes, w)
            k = -1 if known == side.level - 2 else 0
            continue
        found = _find(side, nodes, sets, w, allowance, state)
        if found == LEFT or (k < 0 and (found == NONE or known == side.level - 1)):
            return found
        k = 0 if k < 0 else k + (found == NONE)
    return LEFT


@compiled
def search_pairs(side, bound, x, targets, sizes, allowance, outcomes, R, delta, nodes, sets, w, state):  # noqa: PLR0913
    """Decide the pairs of x with the neighbours at the positions `targets`, a size of sets after the other.

    R holds the correlations of the d neighbours and, last, x; R - diag(delta) is positive semidefinite. `side.level`
    and `side.cutoff` are not read, and `bound` is for w.minimum. `allowance` is the number of nanoseconds, in w.spent,
    that the searches about a pair may take. They are counted by the steps made, at times measured once on one machine,
    so that every machine decides the same pairs.
    """
    start = side.offsets[x]
    for o in range(targets.shape[0]):
        i, k, found = targets[o], 0, NONE
        w.spent[0] = 0.0
        while found == NONE and k < len(sizes.level):
            level = sizes.level[k]
            cutoff = Cutoff(sizes.value[k], sizes.low[k], sizes.high[k])
            here = Side(
                side.C, side.offsets, side.neighbours, side.chosen, side.hint, side.binomials, cutoff, level
            )  # fmt: skip
            w.bound[0], w.smallest[0] = bound[start + i] if w.minimum[0] else cutoff.high, math.inf
            w.variables[level], w.variables[level + 1] = x, side.neighbours[start + i]
            root(R, delta, i, level, nodes)
            found = _decide(here, nodes, sets, w, allowance, state)
            outcomes.smallest[o, k] = w.smallest[0]
            if found == NONE:
                k += 1
            elif found == SEPARATED:
                for t in range(level):
                    outcomes.members[o, t] = w.first[t] - (w.first[t] > i)
        outcomes.found[o], outcomes.n_sizes[o] = found, k
        w.spent[1] += w.spent[0]
