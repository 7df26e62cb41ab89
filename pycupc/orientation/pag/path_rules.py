"""The searches of rules 4, 5, 9 and 10 (docs/contracts/latent.md).

`next_path` is a generator in compiled form: each call goes on at position `at`, int64 (2,), and writes the next path
that lets the rule act into ``work[PATH]``; it returns the number of its variables, 0 at the end. The caller acts on it
and asks again. `at` holds the number of the entry in `chosen` and how many of its candidates have been tried. `FULL`
means that `work`, int64 (3, n), was too short for the queue of a search: the call can be repeated with a longer one.

`seen`, int64 (k,), tells which variables, or entries, a search has met: those with the number of the search, which is
its last value.
"""

from __future__ import annotations

from pycupc.graph.sparse import ARROW, CIRCLE, TAIL
from pycupc.orientation.mixed_graph import KIND, MIRROR, NEIGHBOUR, find
from pycupc.orientation.pag.mark_lists import NONE, edge, is_ambiguous
from pycupc.system.jit import compiled_for_large, jit_part

#: The kinds of steps of a search: along o-o, or along an edge that may be directed forwards.
CIRCLES, FORWARDS = 0, 1
#: The rows of `work`: the variables that a search has queued, the position of the one from which each was reached, and
#: the path found.
QUEUE, CAME, PATH = range(3)
FULL = -1


@compiled_for_large
def next_path(start, entry, triple, near, chosen, owner, at, seen, work, rule, quirks, of_rfci):  # noqa: PLR0913
    """The next path of a rule for an entry of c whose edge a *-* c has a circle at a.

    Rule 4, whose a is called b, has a discriminating path (d, ..., a, b, c) for each a; rule 5, whose c is called b,
    has one cycle; rule 9 one path; rule 10 the parents b and d. With `of_rfci` pcalg's rule 10 of rfci, see
    `_two_paths`.
    """
    while at[0] < len(chosen):
        e = chosen[at[0]]
        c = owner[e]
        a = entry[NEIGHBOUR, e]
        while at[1] < (start[c + 1] - start[c] if rule == 4 else 1) and entry[KIND, entry[MIRROR, e]] == CIRCLE:
            if rule == 4:
                found = _discriminating(start, entry, near, start[c] + at[1], a, c, seen, work)
            elif rule == 5:
                found = _cycle(start, entry, triple, near, a, c, seen, work, quirks)
            elif rule == 9:
                found = _directed(start, entry, triple, near, a, c, seen, work, quirks)
            else:
                found = _parents(start, entry, triple, near, a, c, seen, work, quirks, of_rfci)
            at[1] += found != FULL
            if found != 0:
                return found
        at[0] += 1
        at[1] = 0
    return 0


@jit_part
def _discriminating(start, entry, near, i, b, c, seen, work):
    """The shortest discriminating path (d, ..., a, b, c) for b, where a is in entry i of c."""
    a = entry[NEIGHBOUR, i]
    k = edge(start, entry, near, a, b)
    if entry[KIND, i] != ARROW or entry[KIND, entry[MIRROR, i]] != TAIL or k < 0 or entry[KIND, k] != ARROW:
        return 0  # not b *-> a --> c
    seen[-1] += 1
    number = seen[-1]
    seen[a] = seen[b] = seen[c] = number
    work[QUEUE, 0] = a
    work[CAME, 0] = -1
    n, at = 1, 0
    while at < n:
        v = work[QUEUE, at]
        for i in range(start[v], start[v + 1]):
            d = entry[NEIGHBOUR, i]
            if seen[d] == number or entry[KIND, i] != ARROW:  # d *-> v
                continue
            k = edge(start, entry, near, c, d)
            if k < 0:
                work[PATH, 0] = d
                length = 1
                while at >= 0:
                    work[PATH, length] = work[QUEUE, at]
                    length += 1
                    at = work[CAME, at]
                work[PATH, length] = b
                work[PATH, length + 1] = c
                return length + 2
            at_d, at_c, tail = entry[KIND, entry[MIRROR, i]], entry[KIND, k], entry[KIND, entry[MIRROR, k]]
            if at_d != ARROW or at_c != ARROW or tail != TAIL:  # no d <-> v, or no d --> c
                continue
            if n == work.shape[1]:
                return FULL
            seen[d] = number
            work[QUEUE, n] = d
            work[CAME, n] = at
            n += 1
        at += 1
    return 0


@jit_part
def _cycle(start, entry, triple, near, a, b, seen, work, quirks):  # noqa: PLR0913 - the graph and two nodes
    """An uncovered cycle a, c, ..., d, b of circle edges."""
    for i in range(start[a], start[a + 1]):
        c = entry[NEIGHBOUR, i]
        if c == b or not _is_step(entry, i, CIRCLES) or edge(start, entry, near, b, c) >= 0:
            continue
        for j in range(start[b], start[b + 1]):
            d = entry[NEIGHBOUR, j]
            if d == a or not _is_step(entry, j, CIRCLES) or edge(start, entry, near, a, d) >= 0:
                continue
            k = edge(start, entry, near, c, d)
            if k >= 0 and _is_step(entry, k, CIRCLES):
                work[PATH, 0] = a
                work[PATH, 1] = c
                work[PATH, 2] = d
                work[PATH, 3] = b
                found = 4 if _is_clear(start, entry, triple, work, 4, True, quirks) else 0
            else:
                found = _search(start, entry, triple, near, a, c, d, b, CIRCLES, seen, work, quirks)
            if found != 0:
                return found
    return 0


@jit_part
def _directed(start, entry, triple, near, a, c, seen, work, quirks):  # noqa: PLR0913 - the graph and two nodes
    """An uncovered potentially directed path a, b, ..., c, b not adjacent to c."""
    for i in range(start[a], start[a + 1]):
        b = entry[NEIGHBOUR, i]
        if b != c and _is_step(entry, i, FORWARDS) and edge(start, entry, near, b, c) < 0:
            found = _search(start, entry, triple, near, a, b, c, -1, FORWARDS, seen, work, quirks)
            if found != 0:
                return found
    return 0


@jit_part
def _parents(start, entry, triple, near, a, c, seen, work, quirks, of_rfci):  # noqa: PLR0913 - the graph and two nodes
    """b --> c <-- d such that uncovered potentially directed paths from a to b and to d begin apart."""
    for i in range(start[c], start[c + 1]):
        if entry[KIND, i] != ARROW or entry[KIND, entry[MIRROR, i]] != TAIL:
            continue
        for j in range(i + 1, start[c + 1]):
            if entry[KIND, j] == ARROW and entry[KIND, entry[MIRROR, j]] == TAIL:
                b, d = entry[NEIGHBOUR, i], entry[NEIGHBOUR, j]
                found = _two_paths(start, entry, triple, near, a, b, d, c, seen, work, quirks, of_rfci)
                if found != 0:
                    work[PATH, 0] = b
                    work[PATH, 1] = d
                    return 2 if found > 0 else FULL
    return 0


@jit_part
def _two_paths(start, entry, triple, near, a, b, d, c, seen, work, quirks, of_rfci):  # noqa: PLR0913 - as above
    """Whether there are paths from a to b and from a to d whose second variables are not adjacent; or FULL.

    A second variable that is b, or d, is the end of its path. With `quirks` steps to both, if b and d are not adjacent,
    are the only paths that count; else c is no second variable, and `of_rfci` no second variable is the end.
    """
    if quirks and edge(start, entry, near, b, d) < 0:
        i, j = edge(start, entry, near, a, b), edge(start, entry, near, a, d)
        if i >= 0 and j >= 0 and _is_step(entry, i, FORWARDS) and _is_step(entry, j, FORWARDS):
            return 0 if is_ambiguous(entry, triple, i, j) else 1
    for i in range(start[a], start[a + 1]):
        if not _is_step(entry, i, FORWARDS):
            continue
        for j in range(i + 1, start[a + 1]):
            if not _is_step(entry, j, FORWARDS) or is_ambiguous(entry, triple, i, j):
                continue
            x, y = entry[NEIGHBOUR, i], entry[NEIGHBOUR, j]
            if edge(start, entry, near, x, y) >= 0 or (quirks and c in (x, y)):
                continue
            for turn in range(2):
                found = 1
                for goal in range(2):
                    first, end = (x, y)[(turn + goal) & 1], (b, d)[goal]
                    if found > 0 and (first != end or of_rfci):
                        found = _search(start, entry, triple, near, a, first, end, -1, FORWARDS, seen, work, quirks)
                if found != 0:
                    return found
    return 0


@jit_part
def _is_step(entry, i, kind):
    """Whether a path may go from the owner of entry i to the neighbour."""
    here, there = entry[KIND, i], entry[KIND, entry[MIRROR, i]]
    if kind == CIRCLES:
        return here == CIRCLE and there == CIRCLE
    return here != ARROW and here != NONE and there != TAIL and there != NONE


@jit_part
def _search(start, entry, triple, near, a, first, end, after, kind, seen, work, quirks):  # noqa: PLR0913 - as above
    """The shortest uncovered path of such steps a, `first`, ..., `end`, and `after` if that is not -1.

    With `quirks` pcalg's search: breadth first; a variable counts as met when it is taken from the queue; whether a
    path is uncovered is asked at its end, and at its third variable if there is no `after`; a variable next to `end` is
    never passed, unless it is `first` and there is no `after`.
    """
    if not quirks:
        return _search_steps(start, entry, triple, near, a, first, end, after, kind, seen, work)
    seen[-1] += 1
    number = seen[-1]
    seen[a] = seen[first] = seen[end] = number
    if after >= 0:
        seen[after] = number
    work[QUEUE, 0] = a
    work[CAME, 0] = -1
    work[QUEUE, 1] = first
    work[CAME, 1] = 0
    n, at = 2, 1
    while at < n:
        v = work[QUEUE, at]
        seen[v] = number
        last = edge(start, entry, near, v, end)
        if last >= 0 and _is_step(entry, last, kind):
            length = _write_path(work, at, end, after)
            uncovered = _is_uncovered(start, entry, near, work, length)
            if uncovered and _is_clear(start, entry, triple, work, length, after >= 0, quirks):
                return length
        if last < 0 or not _is_step(entry, last, kind) or (at == 1 and after < 0):
            for i in range(start[v], start[v + 1]):
                w = entry[NEIGHBOUR, i]
                if seen[w] == number or not _is_step(entry, i, kind):
                    continue
                if at == 1 and after < 0 and edge(start, entry, near, a, w) >= 0:
                    continue
                if n == work.shape[1]:
                    return FULL
                work[QUEUE, n] = w
                work[CAME, n] = at
                n += 1
        at += 1
    return 0


@jit_part
def _search_steps(start, entry, triple, near, a, first, end, after, kind, seen, work):  # noqa: PLR0913 - as above
    """`_search` along every step: a path grows only where it stays uncovered and clear; `seen` is by entry."""
    seen[-1] += 1
    number = seen[-1]
    work[QUEUE, 0] = a
    work[CAME, 0] = -1
    work[QUEUE, 1] = first
    work[CAME, 1] = 0
    n, at = 2, 1
    while at < n:
        v = work[QUEUE, at]
        u = work[QUEUE, work[CAME, at]]
        back = find(start, entry, v, u)
        for i in range(start[v], start[v + 1]):
            w = entry[NEIGHBOUR, i]
            if w == after or seen[i] == number or not _is_step(entry, i, kind) or _is_passed(work, at, w):
                continue
            if edge(start, entry, near, u, w) >= 0 or is_ambiguous(entry, triple, back, i):
                continue
            if w == end:
                length = _write_path(work, at, end, after)
                uncovered = _is_uncovered(start, entry, near, work, length)
                if uncovered and _is_clear(start, entry, triple, work, length, after >= 0, False):
                    return length
                continue
            if n == work.shape[1]:
                return FULL
            seen[i] = number
            work[QUEUE, n] = w
            work[CAME, n] = at
            n += 1
        at += 1
    return 0


@jit_part
def _is_passed(work, at, w):
    """Whether w is on the path to position `at` of the queue."""
    while at >= 0:
        if work[QUEUE, at] == w:
            return True
        at = work[CAME, at]
    return False


@jit_part
def _write_path(work, at, end, after):
    """The path to position `at` of the queue, then `end`, and `after` if that is not -1; returns its length."""
    n, k = 0, at
    while k >= 0:
        n += 1
        k = work[CAME, k]
    length = n + 1
    work[PATH, n] = end
    if after >= 0:
        work[PATH, n + 1] = after
        length += 1
    while at >= 0:
        n -= 1
        work[PATH, n] = work[QUEUE, at]
        at = work[CAME, at]
    return length


@jit_part
def _is_uncovered(start, entry, near, work, length):
    covered = 0
    for i in range(length - 2):
        covered += edge(start, entry, near, work[PATH, i], work[PATH, i + 2]) >= 0
    return covered == 0


@jit_part
def _is_clear(start, entry, triple, work, length, closed, quirks):
    """Whether no triple of the path, or cycle, is ambiguous.

    pcalg's check of either goes once around the corner: it leaves out the last triple of a cycle, and asks of a path
    for the triple of its last two variables and its first one.
    """
    for k in range(length - 1 if quirks else (length if closed else length - 2)):
        b = work[PATH, (k + 1) % length]
        i, j = find(start, entry, b, work[PATH, k]), find(start, entry, b, work[PATH, (k + 2) % length])
        if i >= 0 and j >= 0 and i != j and is_ambiguous(entry, triple, i, j):
            return False
    return True
