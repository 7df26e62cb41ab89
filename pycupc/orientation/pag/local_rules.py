"""The colliders, and the rules that look at three or four variables: 1, 2, 3, 6, 7 and 8 (docs/contracts/latent.md).

Each function walks the entries `chosen`, which were found when it began, and reads the marks as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import ARROW, CIRCLE, TAIL
from pycupc.orientation.mixed_graph import KIND, MIRROR, NEIGHBOUR, triple_number
from pycupc.orientation.pag.mark_lists import NONE, TAIL_OF_RULE_1, edge, is_ambiguous, put
from pycupc.orientation.trace import COLLIDER
from pycupc.system.jit import compiled_for_large


@compiled_for_large
def colliders(start, entry, triple, near, chosen, owner):
    """x *-> y <-* z for each unshielded x - y - z whose y separates x and z in no stored set."""
    for e in chosen:
        y = owner[e]
        x = entry[NEIGHBOUR, e]
        for j in range(start[y], start[y + 1]):
            if j != e and entry[KIND, j] != NONE and triple[triple_number(entry, e, j)] == 0:
                z = entry[NEIGHBOUR, j]
                if edge(start, entry, near, x, z) < 0:
                    put(entry, e, ARROW, COLLIDER, z, 0)
                    put(entry, j, ARROW, COLLIDER, x, 0)


@compiled_for_large
def rule_1(start, entry, triple, near, chosen, owner):
    """a *-> b o-* c, a and c not adjacent: b --> c."""
    for e in chosen:
        b = owner[e]
        a = entry[NEIGHBOUR, e]
        for j in range(start[b], start[b + 1]):
            if j == e or entry[KIND, j] != CIRCLE or is_ambiguous(entry, triple, e, j):
                continue
            if edge(start, entry, near, a, entry[NEIGHBOUR, j]) < 0:
                put(entry, entry[MIRROR, j], ARROW, 1, a, 0)
                put(entry, j, TAIL, TAIL_OF_RULE_1, a, 0)


@compiled_for_large
def rule_2(start, entry, triple, near, chosen, owner):
    """a *-o c and a --> b *-> c or a *-> b --> c: an arrowhead at c."""
    for e in chosen:
        c = owner[e]
        a = entry[NEIGHBOUR, e]
        for j in range(start[c], start[c + 1]):
            if entry[KIND, j] == ARROW:
                b = entry[NEIGHBOUR, j]
                i = edge(start, entry, near, b, a)
                if i < 0 or entry[KIND, i] != ARROW:
                    continue
                if entry[KIND, entry[MIRROR, i]] == TAIL or entry[KIND, entry[MIRROR, j]] == TAIL:
                    put(entry, e, ARROW, 2, b, 0)
                    break


@compiled_for_large
def rule_3(start, entry, triple, near, chosen, owner):
    """a *-> b <-* c, a *-o d o-* c, a and c not adjacent, d *-o b: an arrowhead at b."""
    for e in chosen:
        d = owner[e]
        b = entry[NEIGHBOUR, e]
        done = False
        for i in range(start[d], start[d + 1]):
            if done or i == e or entry[KIND, i] != CIRCLE:
                continue
            a = entry[NEIGHBOUR, i]
            k = edge(start, entry, near, b, a)
            if k < 0 or entry[KIND, k] != ARROW:
                continue
            for j in range(i + 1, start[d + 1]):
                if done or j == e or entry[KIND, j] != CIRCLE:
                    continue
                c = entry[NEIGHBOUR, j]
                k = edge(start, entry, near, b, c)
                if k < 0 or entry[KIND, k] != ARROW or is_ambiguous(entry, triple, i, j):
                    continue
                if edge(start, entry, near, a, c) < 0:
                    put(entry, entry[MIRROR, e], ARROW, 3, a, c)
                    done = True


@compiled_for_large
def rule_6(start, entry, triple, near, chosen, owner):
    """a --- b o-* c: a tail at b."""
    for e in chosen:
        b, i = entry[NEIGHBOUR, e], entry[MIRROR, e]
        for j in range(start[b], start[b + 1]):
            if j != i and entry[KIND, j] == TAIL and entry[KIND, entry[MIRROR, j]] == TAIL:
                put(entry, i, TAIL, 6, entry[NEIGHBOUR, j], 0)
                break


@compiled_for_large
def rule_7(start, entry, triple, near, chosen, owner):
    """a --o b o-* c, a and c not adjacent: a tail at b."""
    for e in chosen:
        b, i = entry[NEIGHBOUR, e], entry[MIRROR, e]
        for j in range(start[b], start[b + 1]):
            if j != i and entry[KIND, j] == CIRCLE and entry[KIND, entry[MIRROR, j]] == TAIL:
                a = entry[NEIGHBOUR, j]
                if not is_ambiguous(entry, triple, i, j) and edge(start, entry, near, a, owner[e]) < 0:
                    put(entry, i, TAIL, 7, a, 0)
                    break


@compiled_for_large
def rule_8(start, entry, triple, near, chosen, owner):
    """a o-> c and a --> b --> c or a --o b --> c: a --> c."""
    for e in chosen:
        c, i = owner[e], entry[MIRROR, e]
        a = entry[NEIGHBOUR, e]
        for j in range(start[c], start[c + 1]):
            if entry[KIND, j] == ARROW and entry[KIND, entry[MIRROR, j]] == TAIL:
                b = entry[NEIGHBOUR, j]
                k = edge(start, entry, near, a, b)
                if k >= 0 and entry[KIND, k] == TAIL and entry[KIND, entry[MIRROR, k]] != TAIL:
                    put(entry, i, TAIL, 8, b, 0)
                    break


def _marks(own: tuple[int, ...], other: tuple[int, ...]) -> NDArray[np.bool_]:
    """A table in which these marks are wanted."""
    table = np.zeros((4, 4), dtype=np.bool_)
    table[np.ix_(own, other)] = True
    return table


#: The rules of this file by number.
LOCAL_RULES = {1: rule_1, 2: rule_2, 3: rule_3, 6: rule_6, 7: rule_7, 8: rule_8}
#: The reasons of the marks that a rule sets, see `pycupc.orientation.trace.Forms`; a rule without an entry has paths.
FORMS = {
    1: ("R1", (2, 0, 1)),
    TAIL_OF_RULE_1: ("R1", (2, 1, 0)),
    2: ("R2", (0, 2, 1)),
    3: ("R3", (2, 1, 3, 0)),
    6: ("R6", (2, 1, 0)),
    7: ("R7", (2, 1, 0)),
    8: ("R8", (1, 2, 0)),
    10: ("R10", (1, 2, 0, 3)),
}
#: The marks at owner and neighbour of the entries that a rule scans.
_ANY = (CIRCLE, ARROW, TAIL)
_TO_CIRCLE, _FROM_CIRCLE = _marks(_ANY, (CIRCLE,)), _marks((ARROW,), (CIRCLE,))
SCANNED = {
    1: _marks((ARROW,), _ANY),
    2: _marks((CIRCLE,), _ANY),
    **dict.fromkeys((3, 4, 6, 7), _TO_CIRCLE),
    5: _marks((CIRCLE,), (CIRCLE,)),
    **dict.fromkeys((8, 9, 10), _FROM_CIRCLE),
}
