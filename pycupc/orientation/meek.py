"""Rules 1, 2, 3 in pcalg's order, round after round until nothing changes (docs/contracts/contract.md, section 4).

Rule 4, which only arrows known before can call for, is applied where it is asked for (docs/contracts/tiers.md).

pcalg lists, at the start of each rule, all pairs of the graph down the columns of its matrix (second index outermost)
and goes through them. The order shows in the answer wherever orientations disagree, so it is kept exactly; the lists
are not. A listed pair can do something only if an arrow that its condition needs is new since the rule last looked at
it, so each rule visits only those pairs, in the same order, and the cost depends on the number of arrows set, not on
p^2 per round.

    without conflict solving   a rule sees its own arrows at once: pairs that they concern and that are still to come
                               in this pass are queued, those already passed wait for the next round
    with conflict solving      a rule reads the graph as it was when it started; an arrow against one set meanwhile
                               makes the edge bidirected

The queue holds nodes b, not pairs: a visit to b goes through all its pairs (a, b). Pairs that no new arrow concerns
stay unchanged.
"""

from __future__ import annotations

import numpy as np

from pycupc.graph.sparse import SparseGraph
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
    undirected,
)
from pycupc.orientation.trace import FIRST_KNOWN
from pycupc.system.code_cache import loads
from pycupc.system.jit import compiled_for_large, jit_part

#: Positions in `counts`: how many nodes wait, and the lowest of them.
N_WAITING, LOWEST = 0, 1


def apply_rules(
    graph: MixedGraph, *, solve_confl: bool = False, arrow_is_gap: bool = False, rule_4: bool = False
) -> None:
    """Rules 1, 2, 3, and 4 if wanted, in turn until a whole round changes nothing; changes `graph`, with colliders.

    With `solve_confl` arrows that disagree become bidirected. With `arrow_is_gap` rule 3 also takes c1, c2 with an
    arrow between them for not adjacent. So does pcalg's version of the rules for "rand" and "retry"; it shows only
    where earlier colliders were overwritten.
    """
    # An edge is an arrow from the start or undirected then, and the one pass that directs it can do so once each way:
    # there are never more arrows to remember than entries.
    entry = graph.entry
    arrows = np.empty(entry.shape[1], dtype=np.int64)
    degree = np.diff(graph.start)
    undecided, waiting = np.zeros((2, len(degree)), dtype=np.bool_)
    undecided[entry[NEIGHBOUR].take(np.flatnonzero(entry[KIND] == UNDIRECTED))] = True  # the ends of undirected edges
    # Every arrow is new to every rule, but matters only where it meets an undirected edge.
    colliders = np.flatnonzero(entry[KIND] == IN)
    tail, head = (entry[NEIGHBOUR].take(e) for e in (colliders, entry[MIRROR].take(colliders)))
    colliders = colliders[undecided[tail] | undecided[head]]
    arrows[: len(colliders)] = colliders
    entry[TURNED] = 0
    both = np.empty(int(degree.max(initial=0)), dtype=np.int64)
    seen, counts, n_rules = np.zeros(5, dtype=np.int64), np.zeros(2, dtype=np.int64), 4 if rule_4 else 3
    _apply_rules(*graph[:3], arrows, len(colliders), n_rules, seen, waiting, counts, both, solve_confl, arrow_is_gap)


def add_arrow(graph: MixedGraph, e: int, reason: int = FIRST_KNOWN) -> bool:
    """Direct an undirected edge to the owner of entry e, and all that the rules derive; False if it cannot be done."""
    if graph.entry[KIND, e] == UNDIRECTED:
        put_arrowhead(graph.entry, e, reason, 0, 0, False)
        apply_rules(graph, rule_4=True)
    return bool(graph.entry[KIND, e] == IN)


def with_arrow(graph: MixedGraph, e: int) -> MixedGraph | None:
    """The graph with an arrow to the owner of entry e and all that the rules derive from it; None if it has the other.

    `graph` stays as it is.
    """
    if graph.entry[KIND, e] != UNDIRECTED:
        return graph if graph.entry[KIND, e] == IN else None
    out = graph._replace(entry=graph.entry.copy())
    add_arrow(out, e)
    return out


@compiled_for_large
def _apply_rules(  # noqa: C901, PLR0913, PLR0915 - in one piece, because pieces take much longer to compile
    start, entry, triple, arrows, n_arrows, n_rules, seen, waiting, counts, both, solve_confl, arrow_is_gap
):
    """Rounds, rules, nodes b, entries e of b.

    `arrows` holds the entries of all arrows, `n_arrows` of them, in the order in which they were set, and `seen` how
    many each rule has looked at. `waiting`, bool (p,), are the nodes that the pass has to visit; `both` is work space.
    The row TURNED of `entry` has the last pass that changed an edge, which was undirected when that pass started.
    """
    now = 0
    none = -1
    before = none
    while n_arrows > before:
        before = n_arrows
        for rule in range(1, n_rules + 1):
            now += 1
            counts[LOWEST] = len(waiting)
            for i in range(seen[rule], n_arrows):
                if entry[KIND, arrows[i]] == IN:  # not overwritten since
                    _wake(start, entry, waiting, counts, rule, arrows[i], none, arrow_is_gap)
                    if rule == 4:
                        _wake(start, entry, waiting, counts, 2, entry[MIRROR, arrows[i]], none, arrow_is_gap)
            seen[rule] = n_arrows
            b = counts[LOWEST] - 1
            while counts[N_WAITING] > 0:
                b += 1
                if not waiting[b]:
                    continue
                waiting[b] = False
                counts[N_WAITING] -= 1
                for e in range(start[b], start[b + 1]):
                    if entry[KIND, e] != UNDIRECTED and (entry[TURNED, e] != now or (rule == 1 and not solve_confl)):
                        continue  # not listed, or, in rule 1, not undirected any more
                    head = e
                    first = -1
                    second = -1
                    n = 0
                    a = entry[NEIGHBOUR, e]
                    if rule == 1:  # x -> b, b - a, x and a not adjacent: b -> a (else a new collider)
                        head = entry[MIRROR, e]
                        for i in range(start[b], start[b + 1]):
                            if (
                                first < 0
                                and entry[KIND, i] == IN
                                and entry[TURNED, i] != now
                                and find(start, entry, a, entry[NEIGHBOUR, i]) < 0
                                and triple[triple_number(entry, i, e)] & AMBIGUOUS == 0
                            ):
                                first = entry[NEIGHBOUR, i]
                    else:  # collect the c with a -> c -> b (rule 2) or a - c -> b (rules 3, 4)
                        for i in range(start[a], start[a + 1]):
                            if _state(entry, i, now, solve_confl) == (OUT if rule == 2 else UNDIRECTED):
                                j = find(start, entry, b, entry[NEIGHBOUR, i])
                                if j >= 0 and _state(entry, j, now, solve_confl) == IN:
                                    both[n] = i
                                    n += 1
                    if rule == 2 and n > 0:  # a - b: a -> b (else a cycle)
                        first = entry[NEIGHBOUR, both[0]]
                    for s in range(n if rule == 3 else 0):  # not adjacent: a -> b (else a cycle or collider)
                        for t in range(s + 1, n):
                            gap = find(start, entry, entry[NEIGHBOUR, both[s]], entry[NEIGHBOUR, both[t]])
                            if (
                                first < 0
                                and (gap < 0 or (arrow_is_gap and entry[KIND, gap] != UNDIRECTED))
                                and triple[triple_number(entry, both[s], both[t])] & AMBIGUOUS == 0
                            ):
                                first = entry[NEIGHBOUR, both[s]]
                                second = entry[NEIGHBOUR, both[t]]
                    for s in range(n if rule == 4 else 0):  # a - c -> d -> b, a - d, b and c not adjacent: a -> b
                        d = entry[NEIGHBOUR, both[s]]
                        for i in range(start[a], start[a + 1]):
                            c = entry[NEIGHBOUR, i]
                            if first >= 0 or c == b or _state(entry, i, now, solve_confl) != UNDIRECTED:
                                continue
                            j = find(start, entry, d, c)
                            if (
                                j >= 0
                                and _state(entry, j, now, solve_confl) == IN
                                and find(start, entry, b, c) < 0
                                and triple[triple_number(entry, i, entry[MIRROR, e])] & AMBIGUOUS == 0
                            ):
                                first = c
                                second = d
                    if first >= 0:
                        if put_arrowhead(entry, head, rule, first, second, solve_confl):
                            arrows[n_arrows] = head
                            n_arrows += 1
                        entry[TURNED, head] = now
                        entry[TURNED, entry[MIRROR, head]] = now
                        if rule > 1 and not solve_confl:
                            _wake(start, entry, waiting, counts, rule, e, b, arrow_is_gap)
                            if rule == 4:
                                _wake(start, entry, waiting, counts, 2, entry[MIRROR, e], b, arrow_is_gap)


@jit_part
def _wake(start, entry, waiting, counts, rule, e, after, arrow_is_gap):
    """Let the nodes beyond `after` wait whose pairs may satisfy the rule because of the arrow u -> v of entry e.

    These are pairs (a, v), and in rule 2 also (u, b) with u -> v -> b. In rule 4, also all b next to v, for which it is
    called a second time with the entry of the other end. With `arrow_is_gap` the arrow may be the gap of
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


@jit_part
def _state(entry, e, now, solve_confl):
    """The state that conditions are read from: with conflict solving, that at the start of this pass."""
    if solve_confl and entry[TURNED, e] == now:
        return UNDIRECTED
    return entry[KIND, e]


@loads(_apply_rules)
def load_rules() -> None:
    """Load the code of the rules, or compile it, by three variables in a line."""
    apply_rules(undirected(SparseGraph.undirected(3, [0, 1], [1, 2])), solve_confl=False)
