"""Rules 1, 2, 3 in pcalg's order, round after round until nothing changes (tests/CONTRACT.md, section 4).

pcalg lists, at the start of each rule, all pairs of the graph down the columns of its matrix (second index outermost)
and goes through them. The order shows in the answer wherever orientations disagree, so it is kept exactly; the lists
are not. A listed pair can do something only if an arrow that its condition needs is new since the rule last looked at
it, so each rule visits just those pairs, in the same order, and the cost follows the arrows set and not p^2 a round.

    without conflict solving   a rule sees its own arrows at once: pairs that they concern and that are still to come
                               in this pass are queued, those already passed wait for the next round
    with conflict solving      a rule reads the graph as it was when it started; an arrow against one set meanwhile
                               makes the edge bidirected

Nodes b wait, not pairs: a visit to b goes through all its pairs (a, b). Those that nothing new concerns do nothing.
"""

from __future__ import annotations

import numpy as np

from pycupc.compiled import compiled, part
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    IN,
    KIND,
    MIRROR,
    NEIGHBOUR,
    OUT,
    TURNED,
    UNDIRECTED,
    MixedGraph,
    find,
    put_arrowhead,
    triple_number,
)

#: Positions in `counts`: the number of the pass, of the arrows, of the nodes waiting, and the lowest of these; from
#: SEEN + 1 on, how many of the arrows rules 1, 2 and 3 have looked at.
PASS, N_ARROWS, N_WAITING, LOWEST, SEEN = 0, 1, 2, 3, 3


def apply_rules(graph: MixedGraph, *, solve_confl: bool = False, arrow_is_gap: bool = False) -> None:
    """Rules 1, 2, 3 in turn until a whole round changes nothing.

    Parameters
    ----------
    graph : MixedGraph
        With its colliders; changed in place.
    solve_confl : bool
        Let arrows that disagree become bidirected.
    arrow_is_gap : bool
        Rule 3 also takes c1, c2 with an arrow between them for not adjacent. So does pcalg's version of the rules for
        "rand" and "retry"; it shows only where earlier colliders were overwritten.
    """
    # An edge is an arrow from the start or undirected then, and the one pass that directs it can do so once each way:
    # there are never more arrows to remember than entries.
    arrows, counts = np.empty(graph.entry.shape[1], dtype=np.int64), np.zeros(7, dtype=np.int64)
    colliders = np.flatnonzero(graph.entry[KIND] == IN)  # everything is new to every rule
    arrows[: len(colliders)] = colliders
    counts[N_ARROWS] = len(colliders)
    graph.entry[TURNED] = 0
    waiting = np.zeros(len(graph.start) - 1, dtype=np.bool_)
    _apply_rules(*graph, arrows, waiting, counts, solve_confl, arrow_is_gap)


@compiled
def _apply_rules(start, entry, triple, arrows, waiting, counts, solve_confl, arrow_is_gap):
    """`arrows`, entries, in the order in which they were set; `waiting`, bool (p,), the nodes that a pass has to visit.

    The row TURNED holds the last pass that changed an edge, which was undirected when that pass started.
    """
    before = -1
    while counts[N_ARROWS] > before:
        before = counts[N_ARROWS]
        for rule in range(1, 4):
            _pass(start, entry, triple, arrows, waiting, counts, rule, solve_confl, arrow_is_gap)


@part
def _pass(start, entry, triple, arrows, waiting, counts, rule, solve_confl, arrow_is_gap):  # noqa: PLR0913 - hot loop
    """One rule on all pairs that are listed when it starts and that a new arrow concerns."""
    now = counts[PASS] + 1
    counts[PASS] = now
    counts[LOWEST] = len(waiting)
    i = counts[SEEN + rule]
    counts[SEEN + rule] = counts[N_ARROWS]
    after = -1
    while i < counts[N_ARROWS]:
        if entry[KIND, arrows[i]] == IN:  # not overwritten since
            _wake(start, entry, waiting, counts, rule, arrows[i], after, arrow_is_gap)
        i += 1
    b = counts[LOWEST]
    while counts[N_WAITING] > 0:
        if waiting[b]:
            waiting[b] = False
            counts[N_WAITING] -= 1
            for e in range(start[b], start[b + 1]):
                if entry[KIND, e] != UNDIRECTED and entry[TURNED, e] != now:
                    continue
                if rule == 1:
                    _rule1(start, entry, triple, arrows, counts, e, b, solve_confl)
                elif _rule2_or_3(start, entry, triple, arrows, counts, rule, e, b, solve_confl, arrow_is_gap):
                    _wake(start, entry, waiting, counts, rule, e, b, arrow_is_gap)
        b += 1


@part
def _wake(start, entry, waiting, counts, rule, e, after, arrow_is_gap):
    """Let the nodes beyond `after` wait whose pairs may satisfy the rule because of the arrow u -> v of entry e.

    These are pairs (a, v), and in rule 2 also (u, b) with u -> v -> b. With `arrow_is_gap` the arrow may be the gap of
    rule 3, whose b is then a child of u.
    """
    i = entry[MIRROR, e]  # v in the list of u
    end = i + 1
    if rule == 2 or arrow_is_gap:
        i = start[entry[NEIGHBOUR, e]]
        end = start[entry[NEIGHBOUR, e] + 1]
    while i < end:
        b = entry[NEIGHBOUR, i]
        if b > after and not waiting[b]:
            waiting[b] = True
            counts[N_WAITING] += 1
            if b < counts[LOWEST]:
                counts[LOWEST] = b
        i += 1


@part
def _state(entry, e, counts, solve_confl):
    """The state that conditions are read from: with conflict solving, that at the start of this pass."""
    if solve_confl and entry[TURNED, e] == counts[PASS]:
        return UNDIRECTED
    return entry[KIND, e]


@part
def _direct(entry, arrows, counts, e, rule, first, second, solve_confl):
    """Arrowhead at the owner of entry e."""
    if put_arrowhead(entry, e, rule, first, second, solve_confl):
        arrows[counts[N_ARROWS]] = e
        counts[N_ARROWS] += 1
    entry[TURNED, e] = counts[PASS]
    entry[TURNED, entry[MIRROR, e]] = counts[PASS]


@part
def _rule1(start, entry, triple, arrows, counts, e, b, solve_confl):
    """a -> b, b - c, a and c not adjacent: b -> c (else a new collider). The lowest a does it; c is in entry e of b."""
    if _state(entry, e, counts, solve_confl) != UNDIRECTED:
        return
    for i in range(start[b], start[b + 1]):
        if entry[KIND, i] == IN and entry[TURNED, i] != counts[PASS]:
            a = entry[NEIGHBOUR, i]
            if find(start, entry, a, entry[NEIGHBOUR, e]) < 0 and triple[triple_number(entry, i, e)] & AMBIGUOUS == 0:
                _direct(entry, arrows, counts, entry[MIRROR, e], 1, a, a, solve_confl)
                return


@part
def _leads(start, entry, counts, rule, i, b, solve_confl):
    """Is a -> c -> b (rule 2) or a - c -> b (rule 3), c in entry i of a?"""
    if _state(entry, i, counts, solve_confl) != (OUT if rule == 2 else UNDIRECTED):
        return False
    j = find(start, entry, b, entry[NEIGHBOUR, i])
    return j >= 0 and _state(entry, j, counts, solve_confl) == IN


@part
def _rule2_or_3(start, entry, triple, arrows, counts, rule, e, b, solve_confl, arrow_is_gap):  # noqa: PLR0913 - hot loop
    """Direct a -> b, a in entry e of b, if the rule applies; says whether other pairs have to know in this pass.

    Rule 2: a -> c -> b, a - b: a -> b (else a cycle).
    Rule 3: a - c1 -> b, a - c2 -> b, a - b, c1 and c2 not adjacent: a -> b (else a cycle or a new collider).
    """
    a = entry[NEIGHBOUR, e]
    for i in range(start[a], start[a + 1]):
        if not _leads(start, entry, counts, rule, i, b, solve_confl):
            continue
        for j in range(i if rule == 2 else i + 1, start[a + 1]):
            if rule == 3:
                if not _leads(start, entry, counts, rule, j, b, solve_confl):
                    continue
                gap = find(start, entry, entry[NEIGHBOUR, i], entry[NEIGHBOUR, j])
                if gap >= 0 and not (arrow_is_gap and entry[KIND, gap] != UNDIRECTED):
                    continue
                if triple[triple_number(entry, i, j)] & AMBIGUOUS != 0:
                    continue
            _direct(entry, arrows, counts, e, rule, entry[NEIGHBOUR, i], entry[NEIGHBOUR, j], solve_confl)
            return not solve_confl
    return False
