"""Single pairs, of levels from 5 on or of questions: whether a set separates it, and the first that does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.engines.cpu.combinations import rank_without
from pycupc.engines.cpu.graph import ANSWERED, FAR, Indices
from pycupc.engines.cpu.pruning.bounded_walk_arrays import REPLACED, SPENT, UNSOUND
from pycupc.engines.cpu.pruning.branch import DIVIDED_IN_TWO, NONE, SEPARATED, examine
from pycupc.engines.cpu.pruning.delta import load_row
from pycupc.engines.cpu.pruning.node import BASE, ROOT, child, root
from pycupc.engines.cpu.row_items import count_tests, take_item
from pycupc.engines.cpu.threads import REFUSED, STOP
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, END, FIRST, LEFT, ROW, START, WORK, Cutoff, Side, X
from pycupc.engines.protocol import Floats, Mask
from pycupc.system.atomics import atomic_add, atomic_min_rank
from pycupc.system.jit import compiled, jit_inlined, jit_part

#: Rows whose smallest delta is below this are not searched: their pivots might be doubtful.
LEAST_DELTA = 1e-5


class PairOutcomes(NamedTuple):
    """The outcome of the search for each target."""

    found: Indices  # (m,) NONE, SEPARATED, LEFT or UNSOUND, after the sizes that have no separating set
    n_sizes: Indices  # (m,) number of these sizes
    # members: (m, level): its first separating set: positions among the neighbours without the target itself; smallest:
    # (rows, k) smallest r^2 met in a row, by size. They may be empty: they are not wanted then.
    members: Indices
    smallest: Floats

    @classmethod
    def of(cls, m: int, level: int, sizes: tuple[int, int] = (0, 0), *, members: bool = True) -> PairOutcomes:
        """Nothing is known yet of m targets; `level`: largest size, `sizes`: number of rows, and of their sizes."""
        own = np.zeros((m if members else 0, level), np.int64)
        return cls(np.full(m, LEFT), np.zeros(m, np.int64), own, np.full(sizes, np.inf))


class Search(NamedTuple):
    """What the items of a search share."""

    targets: Indices  # (m,): entries, row after row; the parts of an item are positions here
    bound: Floats  # (E,): r^2 below which a test is looked at, for w.minimum
    # allowance, price: (p,): nanoseconds that the search about a pair of a row may take; and that the tests take which
    # it replaces, 0 where they could not be made.
    allowance: Floats
    price: Floats
    wide: Mask  # (p,): rows whose sets are too many to be numbered (`subsets.is_wide`)
    # begin, end: (m,): the sizes of a target among `Sizes`. Several targets of questions may be the same pair, in order
    # of their sizes: the first that is separated decides, and the search about those behind it may end.
    begin: Indices
    end: Indices
    asked: Mask  # (E,): see `NodeWork.asked`; empty if all candidates are
    separated: Indices  # (p,): number of the smallest size known so far with a separating set, -1: none is


@jit_inlined
def _is_void(search, row, k):
    """Whether a smaller size than number k is known to have a set that separates the pair."""
    return 0 <= search.separated[row] < k


@jit_part
def _find(side, search, row, k, nodes, sets, w, state):
    """Whether a set of the node in slot ROOT separates the pair, which is then in w.first: NONE, SEPARATED or LEFT."""
    slot, allowance = ROOT, search.allowance[row]
    while slot >= ROOT and state[STOP] == 0 and not _is_void(search, row, k):
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
def _decide(side, search, row, size, nodes, sets, w, state):
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
        found = _find(side, search, row, size, nodes, sets, w, state)
        if found == LEFT or (k < 0 and (found == NONE or known == side.level - 1)):
            return found
        k = 0 if k < 0 else k + (found == NONE)
    return LEFT


@jit_part
def _search_pair(side, search, item, o, sizes, outcomes, own, nodes, sets, w, state):  # noqa: PLR0913 - compiled code
    """Decide a pair, a size of sets after the other; returns NONE, SEPARATED or LEFT."""
    d, i, found = item[DEGREE], search.targets[o] - item[START], NONE
    row, w.list[0], k, end = item[ROW], item[AT], search.begin[o], search.end[o]
    for t in range(d if len(search.asked) > 0 else 0):
        w.asked[t] = search.asked[item[START] + t]
    while found == NONE and k < end and not _is_void(search, row, k):
        level = sizes.level[k]
        cutoff = Cutoff(sizes.value[k], sizes.low[k], sizes.high[k])
        here = Side(side.C, side.neighbours, side.chosen, side.hint, side.binomials, cutoff, level)
        w.bound[0] = search.bound[search.targets[o]] if w.minimum[0] else cutoff.high
        w.smallest[0] = math.inf
        w.variables[level], w.variables[level + 1] = item[X], side.neighbours[item[AT] + i]
        root(own.R, own.delta, d, i, level, nodes)
        found = _decide(here, search, row, k, nodes, sets, w, state)
        if row < len(outcomes.smallest):
            outcomes.smallest[row, k] = w.smallest[0]
        k += found == NONE
    outcomes.n_sizes[o] = k - search.begin[o]
    if found == SEPARATED:
        atomic_min_rank(search.separated, row, k)
    if found == SEPARATED and o < len(outcomes.members):
        for t in range(sizes.level[k]):
            outcomes.members[o, t] = w.first[t] - (w.first[t] > i)
    return found


@jit_inlined
def _enter(side, search, item, o, found, w, merged):
    """Enter the outcome of a pair into the findings of the level."""
    e, d, price, share = search.targets[o], item[DEGREE], search.price[item[ROW]], 1.0
    if found == SEPARATED:
        rank = FAR
        if not search.wide[item[ROW]]:
            rank = rank_without(side.binomials, d - 1, side.level, w.first, e - item[START])
            share = (rank + 1.0) / side.binomials[d - 1, side.level]
        merged.rank[e], merged.r[e] = rank, math.nan  # r is computed later
    if w.smallest[0] < merged.smallest[e]:
        merged.smallest[e] = w.smallest[0]
    if found != SEPARATED and found != NONE:
        merged.left[e], share = True, 0.0
    if price > 0.0:
        w.counts[SPENT] += int(w.spent[0])
        w.counts[REPLACED] += int(price * share)


@compiled
def search_items(side, search, items, following, sizes, proofs, outcomes, merged, own, nodes, sets, w, state):  # noqa: PLR0913
    """Decide the pairs of one item after the other.

    `side.level` and `side.cutoff` are those of `sizes` where the findings are entered into `merged`, else not read; if
    they are not entered, the work of an item is counted instead of its tests. The nanoseconds of a search are counted
    by the steps made, at times measured once on one machine, so that every machine decides the same pairs.
    """
    enters = len(merged.rank) > 0
    while state[STOP] == 0 and state[REFUSED] == 0:
        q = take_item(following, state)
        if q >= len(items):
            break
        item, n_decided = items[q], 0
        sound = load_row(side, item, proofs, own) >= LEAST_DELTA
        for o in range(item[FIRST], item[END]):
            found, w.spent[0], w.smallest[0] = UNSOUND, 0.0, math.inf
            if sound:
                found = _search_pair(side, search, item, o, sizes, outcomes, own, nodes, sets, w, state)
            if state[STOP] != 0:
                return
            outcomes.found[o] = found
            if enters:
                _enter(side, search, item, o, found, w, merged)
                if found in (NONE, SEPARATED):
                    n_decided += 1
                elif not w.minimum[0] and search.price[item[ROW]] == 0.0:
                    state[REFUSED] = o + 1
                    return
        if enters:
            atomic_add(merged.unfinished, item[ROW], -1)  # what was written before is seen before `done`
            for o in range(item[FIRST], item[END]):
                if outcomes.found[o] in (NONE, SEPARATED):
                    merged.done[search.targets[o]] = ANSWERED
            count_tests(state, float(side.binomials[item[DEGREE] - 1, side.level]) * n_decided)
        else:
            count_tests(state, float(item[WORK]))
