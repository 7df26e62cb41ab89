"""The graph being oriented, as compiled code takes it: neighbour lists with the state of each edge.

Every edge has two entries, one in the list of either end. An entry describes the edge as seen from that end, the
*owner* of the list: `IN` is an arrow from the neighbour to the owner. Time and memory are proportional to the number of
edges, not to p^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import spans, starts
from pycupc.graph.sparse import ARROW, TAIL, Ints, Marks, SparseGraph
from pycupc.orientation.trace import Trace
from pycupc.system.jit import compiled_for_large, jit_part

Indices = NDArray[np.int64]

#: The rows of `MixedGraph.entry`, one array because every array that is passed on takes time to compile.
NEIGHBOUR, MIRROR, PAIRS, KIND, RULE, FIRST, SECOND, TURNED = range(8)

#: The state of an edge, seen from the owner of the entry. The bit `IN` is an arrowhead at the owner, `OUT` one at the
#: neighbour.
UNDIRECTED, IN, OUT, BOTH = 0, 1, 2, 3

#: The marks at the owner and at the neighbour, per state.
_OWN_MARK = np.array([TAIL, ARROW, TAIL, ARROW], dtype=np.int8)
_OTHER_MARK = np.array([TAIL, TAIL, ARROW, ARROW], dtype=np.int8)

#: What is known of a triple x - y - z (bits): x and z are adjacent, or have a separating set with y; it is ambiguous.
NO_COLLIDER, AMBIGUOUS = 1, 2

#: `MixedGraph.near` has at most this number of words, or one per variable: 256 KiB, which stay in the cache of a core.
MOST_WORDS = 1 << 15

#: For indices in loops that take most of the time: Numba lets signed ones count from the end where they are negative,
#: and finding out whether they are takes a third of the time.
unsigned = np.uint64


class MixedGraph(NamedTuple):
    """A skeleton and the present state of its edges."""

    # (p + 1,): the entries of variable v are ``start[v]`` to ``start[v + 1] - 1``, its neighbours ascending.
    start: Indices
    # (8, 2 m): NEIGHBOUR; MIRROR, the entry of the same edge in the list of the neighbour; PAIRS, see `triple_number`;
    # KIND: `UNDIRECTED`, `IN`, `OUT` or `BOTH` (bidirected: a conflict). Where it is `IN` or `BOTH`: RULE, what last
    # put the arrowhead at the owner, with its further variables FIRST and SECOND, see `Trace`. TURNED belongs to Meek's
    # rules.
    entry: Indices
    triple: Marks  # `NO_COLLIDER` and `AMBIGUOUS` of each pair of neighbours of each variable
    near: Indices  # (p, a power of two): see `maybe_adjacent`


def steps_of(graph: SparseGraph) -> int:
    """The pairs of neighbours of each variable, which most steps of an orientation visit."""
    degree = graph.degrees()
    return int((degree * degree).sum())


def undirected(skeleton: SparseGraph) -> MixedGraph:
    """A skeleton without orientations or marked triples."""
    start = starts(skeleton.degrees())
    entry = np.zeros((8, int(start[-1])), dtype=np.int64)
    words = 1
    while 64 * words < skeleton.p and 2 * words * skeleton.p <= MOST_WORDS:
        words *= 2
    near = np.zeros((skeleton.p, words), dtype=np.int64)
    _fill_lists(plain(skeleton.low), plain(skeleton.high), start[:-1].copy(), entry, near)
    number = np.arange(entry.shape[1])
    pairs = np.cumsum(spans(0, np.diff(start)))  # up to and including each entry
    entry[PAIRS] = pairs - number
    return MixedGraph(start, entry, np.zeros(int(pairs[-1]) if len(pairs) else 0, dtype=np.int8), near)


def directed_as(graph: SparseGraph) -> MixedGraph:
    """The edges of `graph`, which has no circles, as they are marked, without marked triples."""
    out = undirected(graph)
    at, low, high = _entries_of_lower_ends(out, graph), graph.low_mark == ARROW, graph.high_mark == ARROW
    out.entry[KIND, at] = low * IN + high * OUT
    out.entry[KIND, out.entry[MIRROR, at]] = high * IN + low * OUT
    return out


def without_arrows(graph: MixedGraph) -> MixedGraph:
    """The same lists and triples, with every edge undirected."""
    entry = graph.entry.copy()
    entry[KIND] = UNDIRECTED
    return graph._replace(entry=entry)


def owners(entry: Indices) -> Indices:
    out: Indices = entry[NEIGHBOUR, entry[MIRROR]]
    return out


def plain(array: NDArray[np.integer]) -> Ints:
    """`array` in the one form that is compiled for: int32, contiguous, not read-only; a copy only where it is not."""
    return np.require(array, np.int32, ["C", "W"])


def to_sparse(graph: MixedGraph, skeleton: SparseGraph) -> SparseGraph:
    """The graph as it is now."""
    kind = graph.entry[KIND].take(_entries_of_lower_ends(graph, skeleton))
    return SparseGraph(skeleton.p, skeleton.low, skeleton.high, _OWN_MARK[kind], _OTHER_MARK[kind])


def _entries_of_lower_ends(graph: MixedGraph, skeleton: SparseGraph) -> Indices:
    """Of each edge, the entry in the list of its lower end."""
    # The larger neighbours come last in each list, and the edges, sorted by both ends, in the same order.
    last_edge = np.cumsum(np.bincount(skeleton.low, minlength=skeleton.p))
    at: Indices = np.arange(len(skeleton)) + (graph.start[1:] - last_edge)[skeleton.low]
    return at


def trace(graph: MixedGraph, kinds: Sequence[int] = (IN, BOTH), *forms_and_paths: Any) -> Trace:
    """What set the marks at the owners of entries of these kinds; `graph` must not change any more."""
    return Trace(partial(_marks, graph.entry, kinds), *forms_and_paths)


def directed_both_ways(graph: MixedGraph) -> int:
    """Number of edges that got an arrowhead at either end, one after the other: an overwritten arrow keeps its rule."""
    rule, mirror = graph.entry[RULE] > 0, graph.entry[MIRROR]
    return int(np.count_nonzero(rule & rule[mirror])) // 2


def _marks(entry: Indices, kinds: Sequence[int]) -> tuple[Ints, ...]:
    """The input of `Trace`: the marks that were set here, without the marks of `directed_as`."""
    at = np.flatnonzero(np.isin(entry[KIND], kinds) & (entry[RULE] > 0))
    rows = (entry[NEIGHBOUR], owners(entry), entry[RULE], entry[FIRST], entry[SECOND])
    return tuple(row[at].astype(np.int32) for row in rows)


@compiled_for_large
def _fill_lists(low, high, following, entry, near):
    """Write the lists of edges sorted by (low, high); `following`, the first entry of each list, is used up."""
    for k in range(len(low)):  # a list receives its smaller neighbours first, then the larger ones, each ascending
        i = following[low[k]]
        j = following[high[k]]
        entry[NEIGHBOUR, i] = high[k]
        entry[NEIGHBOUR, j] = low[k]
        entry[MIRROR, i] = j
        entry[MIRROR, j] = i
        following[low[k]] = i + 1
        following[high[k]] = j + 1
        v, w = entry[NEIGHBOUR, j], entry[NEIGHBOUR, i]  # int64: as plain Python an int32 would not do
        near[v, word(near, w)] |= 1 << (w & 63)
        near[w, word(near, v)] |= 1 << (v & 63)


@jit_part
def word(near, w):
    """The column of `near` with the bit of w, bit w modulo 64."""
    return unsigned(w) >> unsigned(6) & unsigned(near.shape[1] - 1)


@jit_part
def maybe_adjacent(near, v, w):
    """Quicker than `find`: if this is 0 rather than 1, v and w are not adjacent.

    `near` has a bit for w modulo 64 times its columns: with up to 1,024 variables that is a bit for every pair. The
    answer is a number, so that code that joins two of them by & needs no branch, as it would with bools.
    """
    return near[unsigned(v), word(near, w)] >> (w & 63) & 1


@jit_part
def find(start, entry, v, w):
    """The entry of w in the list of v, -1 if they are not adjacent."""
    low = start[v]
    end = start[v + 1]
    high = end
    while high - low > 16:
        middle = (low + high) >> 1
        if entry[NEIGHBOUR, unsigned(middle)] < w:
            low = middle + 1
        else:
            high = middle
    at = low
    for e in range(low, high):  # quicker than the last steps of a bisection, half of whose branches are mispredicted
        at += entry[NEIGHBOUR, unsigned(e)] < w
    if at < end and entry[NEIGHBOUR, unsigned(at)] == w:
        return at
    return -1


@jit_part
def triple_number(entry, i, j):
    """The position in `triple` of the neighbours in two different entries of one list.

    The pairs stand in the order of the later entry, then of the earlier one.
    """
    if i > j:
        return entry[PAIRS, i] + j
    return entry[PAIRS, j] + i


def triple_numbers(graph: MixedGraph, triples: NDArray[np.integer]) -> Indices:
    """`triple_number` of the triples (a, b, c), int (k, 3), both of whose edges there are."""
    numbers = np.empty(len(triples), dtype=np.int64)
    _number_triples(graph.start, graph.entry, plain(triples), numbers)
    return numbers[numbers >= 0]


@compiled_for_large
def _number_triples(start, entry, triples, numbers):
    """Write the number of each triple, -1 where an edge is missing."""
    for k in range(len(triples)):
        b = np.int64(triples[k, 1])  # so that `find` is not compiled for int32 as well
        i = find(start, entry, b, np.int64(triples[k, 0]))
        j = find(start, entry, b, np.int64(triples[k, 2]))
        numbers[k] = triple_number(entry, i, j) if i >= 0 and j >= 0 else -1


@jit_part
def put_arrowhead(entry, e, rule, first, second, solve_confl):
    """Put an arrowhead at the owner of entry e; returns whether that made a new arrow.

    Without conflict solving the edge becomes this arrow, whatever it was. With it an undirected edge becomes the arrow,
    an arrow the other way becomes bidirected, and any other edge stays as it is.
    """
    was = entry[KIND, e]
    if solve_confl and was & IN:
        return False
    clash = solve_confl and was == OUT
    entry[KIND, e] = BOTH if clash else IN
    entry[KIND, entry[MIRROR, e]] = BOTH if clash else OUT
    entry[RULE, e] = rule
    entry[FIRST, e] = first
    entry[SECOND, e] = second
    return was != IN and not clash
