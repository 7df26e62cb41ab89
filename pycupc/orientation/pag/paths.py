"""The searches for paths of rules 4, 5, 9 and 10 (docs/LATENT.md).

Rules 4, 5 and 9 are generators in compiled form: each call goes on at position `at`, int64 (2,), and writes the next
path that lets the rule act into ``work[PATH]``; it returns the number of its variables, 0 at the end. The caller acts
on it and asks again. `at` holds the number of the entry in `chosen` and how far its candidates have been tried. `FULL`
means that `work`, int64 (3, n), was too short for the queue of a search: the call can be repeated with a longer one.

`seen`, int64 (k,), tells which variables, or entries, a search has met: those with the number of the search, which is
its last value.
"""

from __future__ import annotations

from pycupc.graph.sparse import ARROW, CIRCLE, TAIL
from pycupc.orientation.mixed_graph import KIND, MIRROR, NEIGHBOUR, find
from pycupc.orientation.pag.lists import NONE, edge, is_ambiguous, put
from pycupc.system.compiled import compiled_for_large, part

#: The kinds of steps of a search: along o-o, or along an edge that may be directed forwards.
CIRCLES, FORWARDS = 0, 1
#: The rows of `work`: the variables that a search has queued, the position of the one from which each was reached, and
#: the path found.
QUEUE, CAME, PATH = range(3)
FULL = -1


@compiled_for_large
def next_discriminating(start, entry, near, chosen, owner, at, seen, work):
    """A discriminating path (d, ..., a, b, c) for b, whose mark at b on b - c is a circle, the shortest for a, b, c."""
    while at[0] < len(chosen):
        e = chosen[at[0]]
        c = owner[e]
        b = entry[NEIGHBOUR, e]
        while at[1] < start[c + 1] - start[c] and entry[KIND, entry[MIRROR, e]] == CIRCLE:
            i = start[c] + at[1]
            if entry[KIND, i] == ARROW and entry[KIND, entry[MIRROR, i]] == TAIL:  # a --> c
                a = entry[NEIGHBOUR, i]
                k = edge(start, entry, near, a, b)
                if k >= 0 and entry[KIND, k] == ARROW:  # b *-> a
                    found = _discriminating(start, entry, near, a, b, c, seen, work)
                    if found != 0:
                        at[1] += found != FULL
                        return found
            at[1] += 1
        at[0] += 1
        at[1] = 0
    return 0


@part
def _discriminating(start, entry, near, a, b, c, seen, work):
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
            if (
                entry[KIND, entry[MIRROR, i]] != ARROW
                or entry[KIND, k] != ARROW
                or entry[KIND, entry[MIRROR, k]] != TAIL
            ):
                continue
            if n == work.shape[1]:  # d <-> v, d --> c
                return FULL
            seen[d] = number
            work[QUEUE, n] = d
            work[CAME, n] = at
            n += 1
        at += 1
    return 0


@compiled_for_large
def next_cycle(start, entry, triple, near, chosen, owner, at, seen, work, quirks):  # noqa: PLR0913 - the hot loop
    """An uncovered cycle a, c, ..., d, b of circle edges, for a o-o b: rule 5. at[1] counts the pairs c, d."""
    while at[0] < len(chosen):
        e = chosen[at[0]]
        b = owner[e]
        a = entry[NEIGHBOUR, e]
        width = start[b + 1] - start[b]
        while at[1] < (start[a + 1] - start[a]) * width and entry[KIND, e] == CIRCLE:
            i, j = start[a] + at[1] // width, start[b] + at[1] % width
            c, d = entry[NEIGHBOUR, i], entry[NEIGHBOUR, j]
            if c == b or not _is_step(entry, i, CIRCLES) or edge(start, entry, near, b, c) >= 0:
                at[1] += width - at[1] % width
                continue
            if d != a and _is_step(entry, j, CIRCLES) and edge(start, entry, near, a, d) < 0:
                found = _close(start, entry, triple, near, a, c, d, b, seen, work, quirks)
                if found != 0:
                    at[1] += found != FULL
                    return found
            at[1] += 1
        at[0] += 1
        at[1] = 0
    return 0


@part
def _close(start, entry, triple, near, a, c, d, b, seen, work, quirks):  # noqa: PLR0913 - the graph and four variables
    k = edge(start, entry, near, c, d)
    if k < 0 or not _is_step(entry, k, CIRCLES):
        return _search(start, entry, triple, near, a, c, d, b, CIRCLES, seen, work, quirks)
    work[PATH, 0] = a
    work[PATH, 1] = c
    work[PATH, 2] = d
    work[PATH, 3] = b
    return 4 if _is_clear(start, entry, triple, work, 4, True, quirks) else 0


@compiled_for_large
def next_directed(start, entry, triple, near, chosen, owner, at, seen, work, quirks):  # noqa: PLR0913 - the hot loop
    """An uncovered potentially directed path a, b, ..., c, b not adjacent to c, for a o-> c: rule 9."""
    while at[0] < len(chosen):
        e = chosen[at[0]]
        c = owner[e]
        a = entry[NEIGHBOUR, e]
        while at[1] < start[a + 1] - start[a] and entry[KIND, entry[MIRROR, e]] == CIRCLE:
            i = start[a] + at[1]
            b = entry[NEIGHBOUR, i]
            if b != c and _is_step(entry, i, FORWARDS) and edge(start, entry, near, b, c) < 0:
                found = _search(start, entry, triple, near, a, b, c, -1, FORWARDS, seen, work, quirks)
                if found != 0:
                    at[1] += found != FULL
                    return found
            at[1] += 1
        at[0] += 1
        at[1] = 0
    return 0


@compiled_for_large
def rule_10(start, entry, triple, near, chosen, owner, at, seen, work, quirks, of_rfci):  # noqa: PLR0913 - the hot loop
    """a o-> c, b --> c <-- d, and uncovered potentially directed paths from a to b and d that begin apart: a --> c.

    With `of_rfci` pcalg's rule of rfci, see `_two_paths`. Returns 0, or FULL.
    """
    while at[0] < len(chosen):
        e = chosen[at[0]]
        c, mark = owner[e], entry[MIRROR, e]
        a = entry[NEIGHBOUR, e]
        for i in range(start[c], start[c + 1]):
            if entry[KIND, i] != ARROW or entry[KIND, entry[MIRROR, i]] != TAIL:
                continue
            for j in range(i + 1, start[c + 1]):
                if entry[KIND, mark] != CIRCLE:
                    break
                if entry[KIND, j] == ARROW and entry[KIND, entry[MIRROR, j]] == TAIL:
                    b, d = entry[NEIGHBOUR, i], entry[NEIGHBOUR, j]
                    avoided = c if of_rfci else -1
                    found = _two_paths(start, entry, triple, near, a, b, d, avoided, seen, work, quirks)
                    if found == FULL:
                        return FULL
                    if found != 0:
                        put(entry, mark, TAIL, 10, b, d)
        at[0] += 1
    return 0


@part
def _two_paths(start, entry, triple, near, a, b, d, avoided, seen, work, quirks):  # noqa: PLR0913 - as above
    """Whether there are paths from a to b and from a to d whose second variables are not adjacent; or FULL.

    A second variable that is b, or d, is the end of its path; if `avoided` is not -1, as in pcalg's rfci, only where
    that holds for both. `avoided` is the second variable of no path.
    """
    for i in range(start[a], start[a + 1]):
        if not _is_step(entry, i, FORWARDS):
            continue
        for j in range(i + 1, start[a + 1]):
            if not _is_step(entry, j, FORWARDS) or is_ambiguous(entry, triple, i, j):
                continue
            x, y = entry[NEIGHBOUR, i], entry[NEIGHBOUR, j]
            if edge(start, entry, near, x, y) >= 0 or x == avoided or y == avoided:
                continue
            for turn in range(2):
                found = 1
                at_once = (x, y)[turn] == b and (x, y)[1 - turn] == d
                for goal in range(2):
                    first, end = (x, y)[(turn + goal) & 1], (b, d)[goal]
                    if found > 0 and not at_once and (first != end or avoided >= 0):
                        found = _search(start, entry, triple, near, a, first, end, -1, FORWARDS, seen, work, quirks)
                if found != 0:
                    return found
    return 0


@part
def _is_step(entry, i, kind):
    """Whether a path may go from the owner of entry i to the neighbour."""
    here, there = entry[KIND, i], entry[KIND, entry[MIRROR, i]]
    if kind == CIRCLES:
        return here == CIRCLE and there == CIRCLE
    return here != ARROW and here != NONE and there != TAIL and there != NONE


@part
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


@part
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


@part
def _is_passed(work, at, w):
    """Whether w is on the path to position `at` of the queue."""
    while at >= 0:
        if work[QUEUE, at] == w:
            return True
        at = work[CAME, at]
    return False


@part
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


@part
def _is_uncovered(start, entry, near, work, length):
    covered = 0
    for i in range(length - 2):
        covered += edge(start, entry, near, work[PATH, i], work[PATH, i + 2]) >= 0
    return covered == 0


@part
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
