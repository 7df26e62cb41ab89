"""Single pairs, of levels from 5 on or of questions: whether a set separates it, and the first that does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Floats
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.examine import DIVIDED_IN_TWO, NONE, SEPARATED, examine
from pycupc.engines.cpu.pruning.node import BASE, ROOT, child, root
from pycupc.engines.cpu.pruning.walk_state import LEFT, Side
from pycupc.engines.cpu.threads import STOP
from pycupc.engines.cpu.walk_state import Cutoff
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.system.compiled import compiled, part

#: Rows whose smallest delta is below this are not searched: their pivots might be doubtful.
LEAST_DELTA = 1e-5


class PairOutcomes(NamedTuple):
    """The outcome of the search for each target."""

    found: Indices  # (m,) NONE, SEPARATED or LEFT
    members: Indices  # (m, level) its first separating set: positions among the neighbours without the target itself
    smallest: Floats  # (m,) smallest r^2 met


class Sizes(NamedTuple):
    """The sizes of the sets of a question, ascending, (k,) each."""

    level: Indices
    value: Floats  # this and the next two as in `Cutoff`
    low: Floats
    high: Floats
    root: Floats  # sqrt(n - level - 3): |z| by atanh |r|

    @classmethod
    def of(cls, test: GaussianTest, levels: range) -> Sizes:
        """Those of the sets of a test with so many members."""
        value, low, high = np.array([Cutoff.around(test.cutoff(k)) for k in levels]).reshape(-1, 3).T.copy()
        root = np.sqrt(np.maximum(test.data.n - 3.0 - np.array(levels), 0.0))
        return cls(np.array(levels, np.int64), value, low, high, root)


@part
def _find(side, nodes, sets, w, allowance, state):
    """Whether a set of the node in slot ROOT separates the pair, which is then in w.first: NONE, SEPARATED or LEFT."""
    slot = ROOT
    while slot >= ROOT and state[STOP] == 0:
        outcome = examine(side, nodes, slot, sets, w, state)
        if outcome == SEPARATED:
            for t in range(side.level):
                w.first[t] = sets.found[t]
            return SEPARATED
        if outcome != NONE and w.spent[0] > allowance:
            return LEFT
        slot += (outcome == DIVIDED_IN_TWO) - (outcome == NONE)
    return NONE if slot < ROOT else LEFT


@part
def _ask(nodes, k, w):
    """Slot ROOT: all sets of slot BASE or, from k = 0 on, those of its candidate k and of candidates after it."""
    q, n = nodes.q[BASE], 0
    for u in range(k if k > 0 else 0, q):
        w.keep[n] = u
        n += 1
    child(nodes, BASE, ROOT, w, n, k, k >= 0)


@part
def _take(nodes, w):
    """Slot BASE: slot ROOT."""
    for u in range(nodes.q[ROOT]):
        w.keep[u] = u
    child(nodes, ROOT, BASE, w, nodes.q[ROOT], -1, False)


@part
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
def search_row(side, x, targets, allowance, outcomes, R, delta, nodes, sets, w, state):  # noqa: PLR0913 - the hot loop
    """Decide the pairs of x with the neighbours at the positions `targets`.

    R holds the correlations of the d neighbours and, last, x; R - diag(delta) is positive semidefinite. `allowance` is
    the number of nanoseconds, in w.spent, that the searches about a pair may take. They are counted by the steps made,
    at times measured once on one machine, so that every machine decides the same pairs.
    """
    start, level = side.offsets[x], side.level
    for o in range(targets.shape[0]):
        i = targets[o]
        w.bound[0], w.smallest[0], w.spent[0] = side.bound[start + i], math.inf, 0.0
        w.variables[level], w.variables[level + 1] = x, side.neighbours[start + i]
        root(R, delta, i, level, nodes)
        outcomes.found[o] = _decide(side, nodes, sets, w, allowance, state)
        outcomes.smallest[o] = w.smallest[0]
        w.spent[1] += w.spent[0]
        for t in range(level):
            outcomes.members[o, t] = w.first[t] - (w.first[t] > i)


@compiled
def search_pair(side, x, sizes, z, allowance, R, delta, nodes, sets, w, state):  # noqa: PLR0913 - the hot loop
    """Search the sets of one pair, a size after the other; returns the number of sizes without a separating set.

    The candidates are the `side.neighbours` before the last one, which is y; R holds the correlations of all these and,
    last, x. `side.level` and `side.cutoff` are not read. The size after those counted was not decided, or z[1] is 1 and
    the first set that separates the pair is in w.first. z[0] is lowered to the smallest |z| met.
    """
    d = len(side.neighbours)
    w.spent[0] = 0.0
    for k in range(len(sizes.level)):
        level = sizes.level[k]
        cutoff = Cutoff(sizes.value[k], sizes.low[k], sizes.high[k])
        here = Side(
            side.C, side.offsets, side.neighbours, side.chosen, side.bound, side.hint, side.binomials, cutoff, level,
            side.minimum,
        )  # fmt: skip
        w.bound[0], w.smallest[0] = cutoff.high, math.inf
        w.variables[level], w.variables[level + 1] = x, side.neighbours[d - 1]
        root(R, delta, d - 1, level, nodes)
        found = _decide(here, nodes, sets, w, allowance, state)
        if w.smallest[0] < 1.0:
            met = sizes.root[k] * math.atanh(math.sqrt(w.smallest[0]))
            z[0] = met if met < z[0] else z[0]
        if found != NONE:
            z[1] = found == SEPARATED
            return k
    return len(sizes.level)
