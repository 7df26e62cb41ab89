"""The log-likelihoods of the models of tests, each evaluated once for all tests that need it."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.mixed.cells import Sums, Tables, Work, fill, grouped, in_groups, log_likelihoods, unfilled
from pycupc.system.jit import compiled, frozen, jit_part

#: Bytes of sums that a test keeps; those that were kept first are forgotten.
KEPT = 1 << 28
#: Bytes of log-likelihoods that a test keeps; then it begins anew, as it does with more room until then.
KEPT_MODELS = 1 << 26
#: Slots of log-likelihoods at first.
FIRST_SLOTS = 1 << 10
#: Variables of a word of a key.
BITS = 62
#: Numbers up to which all products are summed at once.
FEW = 8
#: State of a slot whose log-likelihoods are known; 0 if it is free, else the call that last asked for them.
DONE = 1


class Known(NamedTuple):
    """The log-likelihoods of models, in a hash table of s slots; the variables of a model are w words of bits."""

    keys: Indices  # (s, w)
    found: Floats  # (s, 2): at own, and at common parameters; inf where a matrix is singular
    state: Indices  # (s,)
    number: Indices  # (s,): of the model among all that this call asks for
    # (s,), if the variables are categories alone: the call that last asked for models with them; their number in it
    call: Indices
    group: Indices


class Asked(NamedTuple):
    """The models of m tests of k variables that are not known yet, up to 4 m, and what is known."""

    place: Indices  # (p,): of each variable, among the categories and then the numbers
    key: Indices  # (2, w): work space
    known: Floats  # (m, 4, 2): the log-likelihoods of the models of each test, where they are known
    model: Indices  # (m, 4): else the number of the model, or -1
    slot: Indices  # (4 m,): of each model
    numbers: Indices  # (4 m, k): its numbers, which ascend
    sizes: Indices  # (4 m,): how many
    group: Indices  # (4 m,): the number of its categories
    categories: Indices  # (4 m, k): the categories of each group
    shares: Indices  # (4 m,): how many


@jit_part
def _slot(known, key, row):
    """The slot of the variables of ``key[row]``, or the free one where they belong."""
    at, mask, same = 0, len(known.state) - 1, False
    for w in range(key.shape[1]):
        at = (at ^ key[row, w]) * -7046029254386353131  # an odd number without a pattern in its bits
        at ^= at >> 32
    at &= mask
    while not same and known.state[at] + known.call[at] > 0:
        same = True
        for w in range(key.shape[1]):
            same = same and known.keys[at, w] == key[row, w]
        if not same:
            at = (at + 1) & mask
    for w in range(key.shape[1]):
        known.keys[at, w] = key[row, w]
    return at


@jit_part
def _list(asked, n, group, n_categories):
    """Write the numbers of model n, and its categories unless `group` is -1."""
    d, share = 0, 0
    for at in range(len(asked.place)):
        if (asked.key[0, at // BITS] >> (at % BITS)) & 1:
            if at >= n_categories:
                asked.numbers[n, d] = at - n_categories
                d += 1
            elif group >= 0:
                asked.categories[group, share] = at
                share += 1
    asked.sizes[n] = d
    if group >= 0:
        asked.shares[group] = share


@compiled
def _ask(known, V, n_categories, call, asked):
    """Look the models of tests up; returns how many are asked for, how many groups, and how many slots were free."""
    n, groups, taken = 0, 0, 0
    for t in range(len(V)):
        for model in range(4):
            for w in range(asked.key.shape[1]):
                asked.key[0, w] = asked.key[1, w] = 0
            for i in range(V.shape[1]):
                at = asked.place[V[t, i]]
                bit = (1 << (at % BITS)) if i > 1 or not (model >> (1 - i)) & 1 else 0
                asked.key[0, at // BITS] |= bit
                asked.key[1, at // BITS] |= bit if at < n_categories else 0
            slot = _slot(known, asked.key, 0)
            asked.model[t, model] = -1
            if known.state[slot] == DONE:
                asked.known[t, model, 0], asked.known[t, model, 1] = known.found[slot, 0], known.found[slot, 1]
                continue
            if known.state[slot] != call:
                taken += known.state[slot] + known.call[slot] == 0
                known.state[slot], known.number[slot] = call, n
                own = _slot(known, asked.key, 1)
                new = known.call[own] != call
                if new:
                    taken += known.state[own] + known.call[own] == 0
                    known.call[own], known.group[own] = call, groups
                asked.slot[n], asked.group[n] = slot, known.group[own]
                _list(asked, n, groups if new else -1, n_categories)
                groups += new
                n += 1
            asked.model[t, model] = known.number[slot]
    return n, groups, taken


@compiled
def _keep(known, slots, found):
    """Write log-likelihoods into their slots."""
    for i in range(len(found)):
        known.state[slots[i]], known.found[slots[i], 0], known.found[slots[i], 1] = DONE, found[i, 0], found[i, 1]


@compiled
def _statistics(asked, found, V, levels, out):
    """Write the statistics of tests at own and at common parameters, and their degrees of freedom."""
    for t in range(len(V)):
        for model in range(4):
            at, cells, d = asked.model[t, model], 1.0, 0
            for i in range(V.shape[1]):
                if i > 1 or not (model >> (1 - i)) & 1:
                    cells *= levels[V[t, i]] if levels[V[t, i]] > 0 else 1
                    d += levels[V[t, i]] == 0
            sign = 1.0 if model == 0 or model == 3 else -1.0
            for which in range(2):
                value = found[at, which] if at >= 0 else asked.known[t, model, which]
                out[which, t] = value if model == 0 else out[which, t] + sign * value
            df = sign * (cells - 1.0 + cells * (d + d * (d + 1) // 2))
            out[2, t] = df if model == 0 else out[2, t] + df
        out[0, t], out[1, t] = 2.0 * out[0, t], 2.0 * out[1, t]


class LogLikelihoods:
    """The log-likelihoods of sets of variables of M tables.

    `values` (M, n, p): numbers, and codes from 0 on where `levels` is positive. `counted`: how many of the levels count
    for the degrees of freedom; 0 for numbers. `quirks`: as of `mixMItest`.
    """

    def __init__(self, values: Floats, levels: Indices, counted: Indices, *, quirks: bool = False) -> None:
        M, n, p = values.shape
        kinds, flat = levels > 0, values.reshape(M * n, p)
        numbers = flat[:, ~kinds]
        centre = np.where((numbers == numbers[:1]).all(axis=0), numbers[0], numbers.mean(axis=0))
        self.tables = Tables(
            frozen((numbers - centre).T), np.ascontiguousarray(flat[:, kinds].T.astype(np.int64)),
            levels[kinds], centre, M, quirks,
        )  # fmt: skip
        self._counted, self._n_categories = np.ascontiguousarray(counted), int(kinds.sum())
        self._place = np.where(kinds, np.cumsum(kinds) - 1, self._n_categories + np.cumsum(~kinds) - 1)
        self._pairs = np.array(np.tril_indices(min(len(self.tables.values), FEW)), dtype=np.int64)
        self._sums: dict[bytes, Sums] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self._make_room(FIRST_SLOTS)

    def _make_room(self, slots: int) -> None:
        """Begin to keep log-likelihoods anew."""
        none, self._taken, self._calls = np.zeros((5, slots), dtype=np.int64), 0, DONE
        keys = np.zeros((slots, len(self._place) // BITS + 1), dtype=np.int64)
        self._known = Known(keys, np.empty((slots, 2)), none[0], none[1], none[2], none[3])

    def statistics(self, V: Indices) -> tuple[Floats, Floats, Floats]:
        """Of tests of x, y and S in a row, int64 (m, k), float64 (m,) each.

        The statistics at own and at common parameters, inf or NaN where matrices are singular, and their degrees of
        freedom. The second statistic is 0 of one table.
        """
        (m, k), V = V.shape, np.ascontiguousarray(V)
        words = self._known.keys.shape[1]
        integers = ((2, words), (m, 4), 4 * m, (4 * m, k), 4 * m, 4 * m, (4 * m, k), 4 * m)
        key, model, *parts = (np.empty(shape, dtype=np.int64) for shape in integers)
        asked = Asked(self._place, key, np.empty((m, 4, 2)), model, *parts)
        with self._lock:
            slots = len(self._known.state)
            if 2 * (self._taken + 8 * m) > slots:
                most = max(KEPT_MODELS // (8 * (words + 7)), FIRST_SLOTS)
                self._make_room(1 << max(16 * m, min(8 * slots, most)).bit_length())
            self._calls += 1
            known = self._known
            n, groups, taken = _ask(known, V, self._n_categories, self._calls, asked)
            self._taken += taken
        found = np.empty((n, 2))
        if n:
            self._evaluate(asked, groups, found)
            with self._lock:
                if known is self._known:
                    _keep(known, asked.slot, found)
        out = np.empty((3, m))
        _statistics(asked, found, V, self._counted, out)
        return out[0], out[1], out[2]

    def _evaluate(self, asked: Asked, groups: int, found: Floats) -> None:
        """Write the log-likelihoods of the models asked for."""
        k, M = asked.numbers.shape[1], self.tables.M
        work = Work(*map(np.empty, ((M * k, k + 1), (k, k), (k, k + 1), (k, 2 * k))))
        group = asked.group[: len(found)]
        order, ends = np.argsort(group, kind="stable"), np.bincount(group, minlength=groups).cumsum().tolist()
        for g, (begin, end) in enumerate(pairwise([0, *ends])):
            some = order[begin:end]
            sums = self._filled(asked.categories[g, : asked.shares[g]], asked, some)
            log_likelihoods(self.tables, sums, asked, some, work, found)

    def _filled(self, members: Indices, asked: Asked, some: Indices) -> Sums:
        """The sums by the configurations of these categories, with the products of all numbers of these models."""
        sums = self._of_categories(members)
        if len(self.tables.values) <= FEW:
            return sums
        pairs, k = len(sums.filled), asked.numbers.shape[1]
        a, b = np.empty((2, min(pairs, len(some) * k * (k + 1) // 2)), dtype=np.int64)
        with self._lock:  # whoever sees here that products are filled sees their values, too
            n = unfilled(sums, asked, some, np.zeros(pairs, dtype=np.bool_), a, b)
        if n:
            a, b = a[:n], b[:n]
            fill(self.tables.values, sums, a, b)  # threads may do so together: each value is written once, and is equal
            with self._lock:
                sums.filled[a * (a + 1) // 2 + b] = True
        return sums

    def _of_categories(self, members: Indices) -> Sums:
        key = members.tobytes()
        if (known := self._sums.get(key)) is not None:
            return known
        (q, N), M, levels = self.tables.values.shape, self.tables.M, self.tables.levels[members]
        group, order = np.empty((2, N), dtype=np.int64)
        cells = grouped(self.tables, members, group, np.empty(N * int(levels.max(initial=1)), dtype=np.int64))
        counts, start = np.empty((2, cells * M), dtype=np.int64)
        in_groups(group, counts, start, order)
        pairs = q * (q + 1) // 2
        made = Sums(counts, order, np.empty((q, cells * M)), np.empty((pairs, cells * M)), np.zeros(pairs, np.bool_))
        if q <= FEW:
            fill(self.tables.values, made, *self._pairs)
            made.filled[:] = True
        with self._lock:
            if (known := self._sums.get(key)) is not None:  # of another thread
                return known
            size = sum(array.nbytes for array in made)
            while self._sums and self._bytes + size > KEPT:
                self._bytes -= sum(array.nbytes for array in self._sums.pop(next(iter(self._sums))))
            self._sums[key] = made
            self._bytes += size
        return made
