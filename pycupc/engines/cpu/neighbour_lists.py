"""Compiled passes over the neighbour lists: what a side tests, and what its findings leave.

The lists are described in `graph`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.combinations import unrank
from pycupc.engines.protocol import Ints, Mask
from pycupc.system.jit import compiled_for_large

Indices = NDArray[np.int64]

#: In place of a rank that is kept apart, as it need not fit 64 bits.
FAR = np.iinfo(np.int64).max


class NeighbourLists(NamedTuple):
    """The neighbour lists as compiled code takes them; mirror[e] is the entry (y, x) of the entry (x, y)."""

    offsets: Indices
    neighbours: Ints
    fixed: Mask
    mirror: Indices


@compiled_for_large
def find_mirror_entries(lists, rows, following):
    """Write `mirror` of the entries whose neighbour is in `rows`; `following`, the first entry of each row on entry, is
    used up.
    """
    offsets, neighbours, mirror = lists.offsets, lists.neighbours, lists.mirror
    for x in range(len(offsets) - 1):  # rows ascending, so each row y is met by its neighbours in its own order
        e, low, end = offsets[x], offsets[x + 1], offsets[x + 1]
        while rows[0] > 0 and e < low:  # the first entry whose neighbour is in `rows`
            middle = (e + low) // 2
            if neighbours[middle] < rows[0]:
                e = middle + 1
            else:
                low = middle
        while e < end and neighbours[e] < rows[1]:
            y = neighbours[e]
            mirror[e] = following[y]
            following[y] += 1
            e += 1


@compiled_for_large
def choose_targets(lists, rank, level, side_b, rows, chosen, per_row):
    """Write the targets of a side in these rows."""
    offsets, neighbours = lists.offsets, lists.neighbours
    for x in range(rows[0], rows[1]):
        if offsets[x + 1] - offsets[x] - 1 < level:
            continue
        for e in range(offsets[x], offsets[x + 1]):
            if (neighbours[e] < x) == side_b and not lists.fixed[e] and not (side_b and rank[lists.mirror[e]] >= 0):
                chosen[e] = True
                per_row[x] += 1


@compiled_for_large
def count_settled(lists, rank, rows, counts):
    """Write the numbers of `Settled` of these rows."""
    offsets, mirror = lists.offsets, lists.mirror
    for x in range(rows[0], rows[1]):
        for e in range(offsets[x], offsets[x + 1]):
            if rank[e] >= 0:
                counts[x, 2] += 1
                if rank[e] != FAR:
                    counts[x, 3] += rank[e] >> 32
                    counts[x, 4] += rank[e] & 0xFFFFFFFF
            elif rank[mirror[e]] < 0:
                counts[x, 1] += 1
                counts[x, 0] += not lists.fixed[e]
            else:  # the other side separated it: it was tested here only if that was side B, after this one
                counts[x, 0] += mirror[e] > e


@compiled_for_large
def list_settled(lists, rank, r, rows, first_gone, gone, first_kept, kept):
    """Write the entries of these rows that stay, and those that are separated with x, y and r, from the places on where
    each row begins.
    """
    entries, xs, ys, rs = gone
    for x in range(rows[0], rows[1]):
        i, k = first_gone[x], first_kept[x]
        for e in range(lists.offsets[x], lists.offsets[x + 1]):
            if rank[e] >= 0:
                entries[i], xs[i], ys[i], rs[i] = e, x, lists.neighbours[e], r[e]
                i += 1
            elif rank[lists.mirror[e]] < 0:
                kept[k] = e
                k += 1


@compiled_for_large
def look_up(lists, rank, binomials, entries, x, members, S):
    """Write the separating sets of entries in rows x, but for those kept apart; `members` is work space for one."""
    offsets, neighbours = lists.offsets, lists.neighbours
    level = len(members)
    for k in range(len(entries)):
        e = entries[k]
        if rank[e] != FAR:
            first = offsets[x[k]]
            unrank(binomials, offsets[x[k] + 1] - first - 1, level, rank[e], members)
            for i in range(level):
                at = first + members[i]
                S[k, i] = neighbours[at + 1 if at >= e else at]  # the candidates are the neighbours without y
