"""The log-likelihoods of the models of tests, kept for all tests that need them, by threads that share them.

A thread that finds neither a model nor the sums that it needs computes them, and keeps them for others where there is
room. Two threads may compute the same at the same time, with the same value, of which one is kept.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.mixed.cells import (
    CATEGORIES,
    CONSTANT,
    COUNTED,
    EACH,
    GROUPS,
    LEVELS,
    MODEL,
    NODES,
    NUMBERS,
    PLACE,
    Space,
    Tables,
    block_at,
    fill_means,
    fill_products,
    grouped,
    in_groups,
    log_likelihoods,
)
from pycupc.system.atomics import atomic_add, atomic_load
from pycupc.system.jit import compiled, frozen, jit_part

#: Bytes of sums that a test keeps; sums without room are computed again.
KEPT = 1 << 28
#: Bytes of log-likelihoods that a test keeps.
KEPT_MODELS = 1 << 26
#: A hash table has more slots than this.
FIRST_SLOTS = 7
#: Variables of a word of a key.
BITS = 62
#: Numbers up to which all products are summed at once.
FEW = 8
#: 2 to this power is more than there is room for.
MANY = 60
#: Added to the state of a slot whose value is there; each thread that wants to write it adds 1 before: the first does.
DONE = 1 << 40


class Kept(NamedTuple):
    """What threads keep for each other, in hash tables of slots: of models, and of their categories.

    A slot has its state, 0 where it is free, then a key: a set of variables in w words of bits.
    """

    models: Indices  # state and key of slot 0, of slot 1, ...
    found: Floats  # (s, 2): of models: at own, and at common parameters; inf where a matrix is singular
    models_taken: Indices  # (1,): slots that are not free
    groups: Indices  # state, key, and where the block is among the integers, and among the floats
    integers: Indices  # blocks
    floats: Floats
    taken: Indices  # (3,): the same of categories, and integers and floats that blocks have


@jit_part
def _find(table, width, w, key):
    """Where the slot of a key of w words begins, or -1 - the begin of the free slot where it belongs."""
    at, mask = 0, len(table) // width - 1
    for i in range(w):
        at = (at ^ key[i]) * -7046029254386353131  # an odd number without a pattern in its bits
        at ^= at >> 32
    at &= mask
    while True:
        state = atomic_load(table, at * width)
        if state == 0:
            return -1 - at * width
        same = state >= DONE
        for i in range(w if same else 0):
            same = same and table[at * width + 1 + i] == key[i]
        if same:
            return at * width
        at = (at + 1) & mask


@jit_part
def _claim(table, width, w, slot, key, taken):
    """Whether this thread is to write the value of a free slot; a quarter of all slots stays free."""
    if atomic_add(taken, 0, 1) >= len(table) // width * 3 // 4 or atomic_add(table, slot, 1) != 0:
        return False
    for i in range(w):
        table[slot + 1 + i] = key[i]
    return True


@jit_part
def _are_there(block, numbers, low, high, j, end):
    """Whether the products are there of the numbers low to high - 1 of a model with its numbers from j to `end` - 1."""
    there = True
    for i in range(low, high):
        for t in range(j, end if end <= i else i + 1):
            a, b = numbers[i], numbers[t]
            there = there and atomic_load(block.integers, block.filled + a * (a + 1) // 2 + b) != 0
    return there


@jit_part
def _fill(values, block, numbers, members, d):
    """Write the products of d numbers that are not there yet."""
    for j in range(0, d, 4):
        fill_means(values, block, numbers, members, j, d)
    for i in range(d):
        for j in range(0, i + 1, 4):
            if not _are_there(block, numbers, i, i + 1, j, j + 4):
                fill_products(values, block, numbers, members, i, j)
                for t in range(j, i + 1 if i + 1 < j + 4 else j + 4):
                    pair = numbers[i] * (numbers[i] + 1) // 2 + numbers[t]
                    atomic_add(block.integers, block.filled + pair, 1)


@jit_part
def _block(tables, kept, space, w, size, d):
    """The sums by the categories of a model, and whether they are kept; of its numbers only, if they are not."""
    integers, floats, key = kept.integers, kept.floats, space.lists[GROUPS]
    q, N = tables.values.shape
    slot = _find(kept.groups, w + 3, w, key)
    if slot >= 0:
        at, start = kept.groups[slot + w + 1], kept.groups[slot + w + 2]
        return block_at(integers, floats, at, start, integers[at], N, q), True
    G = grouped(tables, size, space)
    wanted, and_floats = 1 + G + N + q * (q + 1) // 2, (q + q * (q + 1) // 2) * G
    room = kept.taken[1] + wanted <= len(integers) and kept.taken[2] + and_floats <= len(floats)
    if room and _claim(kept.groups, w + 3, w, -1 - slot, key, kept.taken):
        at, start = atomic_add(kept.taken, 1, wanted), atomic_add(kept.taken, 2, and_floats)
        if at + wanted <= len(integers) and start + and_floats <= len(floats):
            block = block_at(integers, floats, at, start, G, N, q)
            in_groups(block, q, space)
            kept.groups[w - slot], kept.groups[w + 1 - slot] = at, start
            atomic_add(kept.groups, -1 - slot, DONE)
            return block, True
    block = block_at(space.integers, space.floats, 0, 0, G, N, d)
    in_groups(block, d, space)
    return block, False


@jit_part
def _model(tables, kept, space, k, without):
    """The log-likelihoods of the k variables of a test but those at these two places among them."""
    size, d, lists = 0, 0, space.lists
    w = len(tables.facts[0]) // BITS + 1
    for i in range(w):
        lists[MODEL, i] = lists[GROUPS, i] = 0
    for i in range(k):
        at = lists[NODES, i]
        if at == without[0] or at == without[1]:
            continue
        lists[MODEL, at // BITS] |= 1 << (at % BITS)
        if at < tables.n_categories:
            lists[GROUPS, at // BITS] |= 1 << (at % BITS)
            lists[CATEGORIES, size] = at
            size += 1
        else:
            lists[NUMBERS, d] = at - tables.n_categories
            d += 1
    slot = _find(kept.models, w + 1, w, lists[MODEL])
    if slot >= 0:
        return kept.found[slot // (w + 1), 0], kept.found[slot // (w + 1), 1]
    block, is_kept = _block(tables, kept, space, w, size, d)
    numbers = lists[NUMBERS] if is_kept else lists[EACH]
    if not _are_there(block, numbers, 0, d, 0, d):
        every, q = is_kept and tables.whole, len(tables.values)
        which, members = (lists[EACH], lists[EACH]) if every else (numbers, lists[NUMBERS])
        _fill(tables.values, block, which, members, q if every else d)
    own, common = log_likelihoods(tables, block, numbers, d, space)
    if _claim(kept.models, w + 1, w, -1 - slot, lists[MODEL], kept.models_taken):
        at = (-1 - slot) // (w + 1)
        kept.found[at, 0], kept.found[at, 1] = own, common
        atomic_add(kept.models, -1 - slot, DONE)
    return own, common


@jit_part
def statistics(tables, kept, space, x, y, S):
    """The statistics of a test at own and at common parameters, and its degrees of freedom.

    The statistics are inf or NaN where matrices are singular; the second is 0 of one table.
    """
    nodes, facts, size = space.lists[NODES], tables.facts, len(S) + 2
    for i in range(size):
        at, k = facts[PLACE, x if i == 0 else y if i == 1 else S[i - 2]], i
        while k > 0 and nodes[k - 1] > at:
            nodes[k] = nodes[k - 1]
            k -= 1
        nodes[k] = at
    at_own, at_common, df = 0.0, 0.0, 0.0
    for model in range(4):
        cells, d, sign = 1.0, 0, 1.0 if model == 0 or model == 3 else -1.0
        for i in range(size):
            if i > 1 or not (model >> (1 - i)) & 1:
                levels = facts[COUNTED, x if i == 0 else y if i == 1 else S[i - 2]]
                cells *= levels if levels > 0 else 1
                d += levels == 0
        df += sign * (cells - 1.0 + cells * (d + d * (d + 1) // 2))
        without = (facts[PLACE, x] if model > 1 else -1, facts[PLACE, y] if model & 1 else -1)
        own, common = _model(tables, kept, space, size, without)
        at_own, at_common = at_own + sign * own, at_common + sign * common
    return 2.0 * at_own, 2.0 * at_common, df


@compiled
def _all_statistics(tables, kept, space, V, out):
    """Write `statistics` of tests."""
    for t in range(len(V)):
        out[0, t], out[1, t], out[2, t] = statistics(tables, kept, space, V[t, 0], V[t, 1], V[t, 2:])


class LogLikelihoods:
    """The log-likelihoods of sets of variables of M tables.

    `values` (M, n, p): numbers, and codes from 0 on where `levels` is positive. `counted`: how many of the levels count
    for the degrees of freedom; 0 for numbers. `constant`: which variables have one value. `quirks`: as of `mixMItest`.
    """

    def __init__(
        self, values: Floats, levels: Indices, counted: Indices, constant: Mask, *, quirks: bool = False
    ) -> None:
        M, n, p = values.shape
        kinds, flat = levels > 0, values.reshape(M * n, p)
        numbers, facts = flat[:, ~kinds], np.empty((4, p), dtype=np.int64)
        centre = np.where(constant[~kinds], numbers[0], numbers.mean(axis=0))
        codes = flat.T[kinds].astype(np.int64)
        c = len(codes)
        facts[PLACE, kinds], facts[PLACE, ~kinds] = np.arange(c), np.arange(c, p)
        facts[COUNTED], facts[CONSTANT], facts[LEVELS, :c] = counted, constant, levels[kinds]
        self.tables = Tables(frozen((numbers - centre).T), codes, facts, centre, M, c, quirks, len(numbers.T) <= FEW)
        self._largest = sorted(facts[LEVELS, :c].tolist(), reverse=True)
        self._lock = threading.Lock()
        self._kept: Kept | None = None
        self._for_all = False  # whether there is room for all models that there are

    def kept(self, tests: float, k: int) -> Kept:
        """What threads share for a number of tests of k variables, with what is kept already where there is room."""
        if (old := self._kept) is not None and self._for_all:
            return old
        with self._lock:
            old = self._kept
            groups, integers, floats, taken = self._groups(old, tests, k)
            self._kept = made = Kept(*self._models(old, tests), groups, integers, floats, taken)
            each = self._room(self.tables.n_categories, len(self.tables.values))
            room = len(integers) / each[0], len(floats) / max(each[1], 1), len(groups) / (self._words + 3) / 2
            sets = self._sets_of(self.tables.n_categories)
            self._for_all = min(room) >= sets and len(made.found) >= 2 * self._every
            return made

    def _models(self, old: Kept | None, tests: float) -> tuple[Indices, Floats, Indices]:
        """`Kept.models`, `found` and `models_taken`, as they are unless there is too little room."""
        width, every = self._words + 1, self._every
        most = KEPT_MODELS / (8 * (width + 2))
        if old is not None:
            slots, taken = len(old.found), int(old.models_taken[0])
            if 2 * min(taken + 4 * tests, every) <= slots or (slots > most / 2 and 2 * taken <= slots):
                return old.models, old.found, old.models_taken
        slots = _slots(min(2 * min(4 * tests, every), most))
        return np.zeros(slots * width, dtype=np.int64), np.empty((slots, 2)), np.zeros(1, dtype=np.int64)

    def _groups(self, old: Kept | None, tests: float, k: int) -> tuple[Indices, Indices, Floats, Indices]:
        """`Kept.groups`, `integers`, `floats` and `taken`, as they are unless there is too little room."""
        width, sets, block = self._words + 3, min(4 * tests, self._sets_of(k)), self._room(k, len(self.tables.values))
        if old is not None:
            (taken, *used), blocks = old.taken.tolist(), (old.integers, old.floats)
            left = [(len(own) - some) / max(size, 1) for own, some, size in zip(blocks, used, block, strict=True)]
            full = 16 * sum(map(len, blocks)) > KEPT  # there will not be more than twice the room
            enough = 2 * min(taken + sets, self._sets_of(k)) * width <= len(old.groups)
            if enough and min(left) >= (1 if full else sets):
                return old.groups, *blocks, old.taken
        slots = _slots(2 * min(8 * sets, self._sets_of(k + 1)))
        share = min(slots / 2, KEPT / (8 * sum(block)))
        integers, floats = np.empty(int(share * block[0]) + 1, dtype=np.int64), np.empty(int(share * block[1]) + 1)
        return np.zeros(slots * width, dtype=np.int64), integers, floats, np.zeros(3, dtype=np.int64)

    def space(self, k: int) -> Space:
        """The work space of a thread for tests of k variables."""
        tables, (integers, floats) = self.tables, self._room(k, k)
        M, N = tables.M, tables.values.shape[1]
        place = N * max(M, *self._largest[:1], 1)
        whole = [np.empty(shape, dtype=np.int64) for shape in (N, place, integers, (6, max(k, FEW, self._words)))]
        group, at, own, lists = whole
        lists[EACH] = np.arange(lists.shape[1])
        return Space(group, at, np.empty(((2 + M) * k, k + 1)), np.empty((k, 2 * k)), own, np.empty(floats), lists)

    def statistics(self, V: Indices) -> tuple[Floats, Floats, Floats]:
        """`statistics` of tests of x, y and S in a row, int64 (m, k): float64 (m,) each."""
        (m, k), V = V.shape, np.ascontiguousarray(V)
        out = np.empty((3, m))
        _all_statistics(self.tables, self.kept(m, k), self.space(k), V, out)
        return out[0], out[1], out[2]

    @property
    def _words(self) -> int:
        return int(self.tables.facts.shape[1]) // BITS + 1

    @property
    def _every(self) -> float:
        """How many models there are."""
        return math.ldexp(1.0, min(self.tables.facts.shape[1], MANY))

    def _sets_of(self, k: int) -> float:
        """How many sets of up to k categories there are."""
        c = self.tables.n_categories
        return math.ldexp(1.0, min(c, MANY)) if k >= c else float(sum(math.comb(c, size) for size in range(k + 1)))

    def _room(self, k: int, r: int) -> tuple[int, int]:
        """The integers and floats of the largest block of up to k categories, with room for r numbers."""
        pairs = r * (r + 1) // 2
        N, M = self.tables.values.shape[1], self.tables.M
        G = min(math.prod(self._largest[:k]), N) * M
        return 1 + G + N + pairs, (r + pairs) * G


def _slots(wanted: float) -> int:
    """A power of two of at least this number."""
    return 1 << max(math.ceil(wanted) - 1, FIRST_SLOTS).bit_length()
