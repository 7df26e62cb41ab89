"""Separating sets in pcalg's own cells, sparse: sets of level 0 are empty and implied, only the others are stored."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.data.names import default_labels, position
from pycupc.graph.lists import spans, starts
from pycupc.graph.sparse import Ints, SparseGraph, look_up, pair_keys
from pycupc.system.machine import check_room
from pycupc.system.text import counted

Cell = tuple[int, int]


class SetsOfOneSize:
    """The stored sets with the same number of members: cells x, y, int32 (m,), in row order, and members (m, size)."""

    def __init__(self, x: Ints, y: Ints, members: Ints) -> None:
        self.x, self.y, self.members = x, y, members

    def find(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where each cell (x, y) is, or would have to be inserted, and whether it is there."""
        wanted = _cell_keys(x, y)
        at = self._keys.searchsorted(wanted)
        there = at < len(self._keys)
        there[there] = self._keys[at[there]] == wanted[there]
        return at, there

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return _cell_keys(self.x, self.y)


def _cell_keys(x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
    """One number for each cell, ascending in row order."""
    return np.asarray(x, dtype=np.int64) << 32 | np.asarray(y, dtype=np.int64)


class FlatCells(NamedTuple):
    """Stored cells in row order: x, y, number of members (int32), and all members one set after the other (int32)."""

    x: Ints
    y: Ints
    length: Ints
    members: Ints

    def take(self, at: NDArray[np.int64]) -> FlatCells:
        length = self.length[at]
        members = self.members[spans(starts(self.length)[at], length)]
        return FlatCells(self.x[at], self.y[at], length, members)


class SepSets:
    """Separating sets, indexed as pcalg's ``sepset``.

    ``sepset[x, y]`` is the set of a pair, whichever cell holds it: None or a tuple of 0-based indices (of labels, where
    x and y are labels). ``sepset[x][y]`` is one cell: None (the pair is adjacent, a fixed gap, or its set is in the
    mirrored cell) or a tuple; ``()`` in cell x < y for a pair that is independent without conditioning. The cell shows
    on which side the set was found: x < y, a subset of adj(x), or x > y, of the neighbours of the larger index.

    A pair x < y that is not adjacent, is no gap and has no stored cell has the empty set in cell (x, y). `get` and
    `implied_empty` decide that, and nothing else does.

    `skeleton`: which pairs are adjacent. `blocks`, sequence of (x, y, members): one block per set size: int32 (m,),
    int32 (m,), int32 (m, size), sorted by (x, y), each cell in one block only. `gaps`, int64 (k,): ``x * p + y``, x <
    y, ascending, of the pairs that never had an edge (fixedGaps) and have no set. `labels`: names of the variables,
    once the sets are part of a result. `noncolliders`, int32 (k, 3), or None where nobody has looked for them: the
    paths x - b - z of the skeleton whose b is in the set of x and z, as of `pycupc.independence.base.State`.
    """

    noncolliders: Ints | None = None  # pickles of earlier versions have none

    def __init__(
        self,
        skeleton: SparseGraph,
        blocks: Sequence[tuple[Ints, Ints, Ints]] = (),
        gaps: NDArray[np.int64] | None = None,
        noncolliders: Ints | None = None,
    ) -> None:
        self.p, self._skeleton, self.noncolliders = skeleton.p, skeleton, noncolliders
        self.labels: tuple[str, ...] = ()
        self.blocks = tuple(SetsOfOneSize(*block) for block in blocks if len(block[0]))
        self._gaps = np.zeros(0, dtype=np.int64) if gaps is None else gaps

    @classmethod
    def from_flat(cls, skeleton: SparseGraph, cells: FlatCells, gaps: NDArray[np.int64] | None = None) -> SepSets:
        """From stored cells in any order; what `flat` gives."""
        x, y, length = (np.asarray(values, dtype=np.int32) for values in cells[:3])
        members = np.asarray(cells.members, dtype=np.int32)
        start, order = starts(length), np.argsort(_cell_keys(x, y), kind="stable")  # a merge, where parts are in order
        at = {size: order[length[order] == size] for size in np.unique(length).tolist()}
        blocks = [(x[k], y[k], members[start[k, None] + np.arange(size)]) for size, k in at.items()]
        return cls(skeleton, blocks, gaps)

    @classmethod
    def from_named_cells(cls, skeleton: SparseGraph, cells: FlatCells) -> SepSets:
        """From every cell that holds a set, the empty ones of level 0 included, as in R's list of lists.

        A pair that is not adjacent and has no cell is a gap; an empty set that `SepSets` implies is not stored.
        """
        p = skeleton.p
        x, y, length = (np.asarray(values, dtype=np.int64) for values in cells[:3])
        named = np.zeros((p, p), dtype=np.bool_)
        named[x, y] = True
        gap = ~(named | named.T | skeleton.skeleton())
        stored = np.flatnonzero((length > 0) | (x > y) | named[y, x])
        kept = FlatCells(*(np.asarray(part, dtype=np.int32) for part in cells)).take(stored)
        return cls.from_flat(skeleton, kept, np.flatnonzero(np.triu(gap, 1)))

    # -- one cell ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.p

    def __getitem__(self, x: int | tuple[int, int] | tuple[str, str]) -> Any:
        if isinstance(x, tuple):
            labels = self.labels or default_labels(self.p)
            try:
                i, j = (position(variable, labels) for variable in x)
            except ValueError as error:
                raise KeyError(f"{error}; sepset[0, 1] takes numbers, sepset['a', 'b'] labels") from None
            found = self.of_pair(i, j)
            return tuple(labels[v] for v in found) if found and isinstance(x[0], str) else found
        if not -self.p <= x < self.p:
            raise IndexError(f"sepset has rows 0 to {self.p - 1}, got {x}")
        return SepSetRow(self, x % self.p)

    def __repr__(self) -> str:
        cells = [pair_keys(block.x, block.y, self.p) for block in self.blocks]
        implied = self.p * (self.p - 1) // 2 - len(self._skeleton) - len(self._gaps)
        implied -= len(np.unique(np.concatenate(cells))) if cells else 0
        sizes = Counter({0: implied})
        for block in self.blocks:
            sizes[block.members.shape[1]] += len(block.x)
        listed = ", ".join(f"{n:,} of size {size}" for size, n in sizes.items() if n)
        return f"<SepSets of {counted(self.p, 'variable')}: {listed or 'none'}>"

    def _stored(self, x: int, y: int) -> tuple[int, ...] | None:
        for block in self.blocks:
            begin, end = block.x.searchsorted(np.array([x, x + 1], dtype=np.int32)).tolist()
            at = begin + int(block.y[begin:end].searchsorted(np.int32(y)))
            if at < end and block.y[at] == y:
                return tuple(block.members[at].tolist())
        return None

    def get(self, x: int, y: int) -> tuple[int, ...] | None:
        """The contents of cell (x, y)."""
        found = self._stored(x, y)
        if found is not None or x >= y or self._skeleton.adjacent(x, y):
            return found
        is_gap = look_up(self._gaps, pair_keys(x, y, self.p)) >= 0
        return None if is_gap or self._stored(y, x) is not None else ()

    def of_pair(self, x: int, y: int) -> tuple[int, ...] | None:
        """The set of the unordered pair, from whichever cell holds it."""
        found = self.get(x, y)
        return self.get(y, x) if found is None else found

    # -- many cells -------------------------------------------------------------------------------------------------

    def of_cells(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.bool_], FlatCells]:
        """Which of the cells (x, y) hold a set, as for `get`, and the sets; the other cells have length 0."""
        there, cells = self.stored_of(x, y)
        no_gap = look_up(self._gaps, pair_keys(x, y, self.p)) < 0
        implied = np.flatnonzero((cells.x < cells.y) & no_gap & ~there & ~self._skeleton.adjacent(x, y))
        there[implied] = ~self.stored_of(cells.y[implied], cells.x[implied])[0]
        return there, cells

    def stored_of(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.bool_], FlatCells]:
        """`of_cells` without the empty sets that are implied."""
        x, y = np.asarray(x, dtype=np.int32), np.asarray(y, dtype=np.int32)
        there, length, found = np.zeros(len(x), dtype=np.bool_), np.zeros(len(x), dtype=np.int32), []
        for block in self.blocks:
            open_ = np.flatnonzero(~there)  # a cell is in one block only
            at, here = block.find(x[open_], y[open_])
            found.append((open_[here], block.members[at[here]]))
            there[open_[here]], length[open_[here]] = True, block.members.shape[1]
        start = starts(length)
        members = np.empty(int(length.sum()), dtype=np.int32)
        for cells, sets in found:
            members[start[cells, None] + np.arange(sets.shape[1])] = sets
        return there, FlatCells(x, y, length, members)

    @property
    def n_stored(self) -> int:
        """Number of stored cells."""
        return sum(len(block.x) for block in self.blocks)

    def flat(self, *, by_row: bool = True) -> FlatCells:
        """The stored cells; the implied ones are not among them. By row, or sets of one size after the other."""
        none = np.zeros(0, dtype=np.int32)
        x, y = (np.concatenate([none, *(getattr(block, name) for block in self.blocks)]) for name in "xy")
        sizes = np.array([block.members.shape[1] for block in self.blocks], dtype=np.int32)
        length = np.repeat(sizes, [len(block.x) for block in self.blocks])
        cells = FlatCells(x, y, length, np.concatenate([none, *(block.members.ravel() for block in self.blocks)]))
        return cells.take(np.argsort(_cell_keys(x, y), kind="stable")) if by_row else cells  # a merge of sorted parts

    def gaps(self) -> Ints:
        """Pairs x < y that have neither an edge nor a set, int32 (k, 2): the fixed gaps."""
        if not len(self._gaps):  # in nearly every run, each of which asks
            return np.empty((0, 2), dtype=np.int32)
        return np.column_stack(np.divmod(self._gaps, max(self.p, 1))).astype(np.int32)

    def implied_empty(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cells (x, y), x < y, whose empty set is implied: pairs removed at level 0, up to p^2 / 2 of them."""
        p = self.p
        check_room(p, 9, "the separating sets of all pairs")
        implied = np.triu(np.ones((p, p), dtype=np.bool_), 1)
        implied[self._skeleton.low, self._skeleton.high] = False
        implied.reshape(-1)[self._gaps] = False
        for block in self.blocks:
            implied[np.minimum(block.x, block.y), np.maximum(block.x, block.y)] = False
        x, y = np.nonzero(implied)
        return x, y

    def of_every_size(self, wanted: Callable[[int], bool]) -> Iterator[tuple[NDArray[Any], ...]]:
        """x, y and the members of all cells, (m,), (m,) and (m, size), by size, of the sizes that are `wanted`.

        The implied cells, which may be many, are among the cells of size 0.
        """
        if wanted(0):
            x, y = self.implied_empty()
            yield x, y, np.empty((len(x), 0), dtype=np.int64)
        for block in self.blocks:
            if wanted(block.members.shape[1]):
                yield block.x, block.y, block.members

    def cells(self) -> dict[Cell, tuple[int, ...]]:
        """All cells that hold a set, the implied ones included, as a dict: for small p, tests and comparisons."""
        x, y = self.implied_empty()
        found: dict[Cell, tuple[int, ...]] = dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True), ())
        for block in self.blocks:
            cells = zip(block.x.tolist(), block.y.tolist(), strict=True)
            found.update(zip(cells, map(tuple, block.members.tolist()), strict=True))
        return found

    def changed(self, new: FlatCells) -> SepSets:
        """A copy in which these cells hold other sets: the conservative and the majority rule change some.

        A set that a mirrored cell had implicitly stays; a gap that receives a set is a gap no longer.
        """
        alone = ~np.isin(_cell_keys(new.y, new.x), _cell_keys(new.x, new.y))
        there, held = self.of_cells(new.y[alone], new.x[alone])
        cells = _joined(new, held.take(np.flatnonzero(there)))
        cells = cells.take(np.argsort(_cell_keys(cells.x, cells.y)))
        start, blocks = starts(cells.length), {block.members.shape[1]: block for block in self.blocks}
        none, changed = np.zeros(0, dtype=np.int32), []
        for size in np.union1d([*blocks], cells.length).astype(np.int64).tolist():  # few cells change in large blocks
            block = blocks.get(size) or SetsOfOneSize(none, none, none.reshape(0, size))
            at, here = block.find(cells.x, cells.y)
            mine, gone = np.flatnonzero(cells.length == size), at[here]
            own = cells.x[mine], cells.y[mine], cells.members[start[mine, None] + np.arange(size)]
            places = at[mine] - gone.searchsorted(at[mine])
            left = (np.delete(part, gone, axis=0) for part in (block.x, block.y, block.members))
            x, y, members = (np.insert(old, places, part, axis=0) for old, part in zip(left, own, strict=True))
            changed.append((x, y, members))
        gaps = np.setdiff1d(self._gaps, pair_keys(cells.x, cells.y, self.p))
        return SepSets(self._skeleton, changed, gaps)

    def of_skeleton(self, skeleton: SparseGraph, setless: NDArray[np.int64] | None = None) -> SepSets:
        """The same sets, of a skeleton without some of the edges.

        The pairs of the edges left out have sets already, except the pairs `setless`, ascending `pair_keys`, which are
        like gaps.
        """
        gaps = self._gaps if setless is None else np.union1d(self._gaps, setless)
        return SepSets(skeleton, [(block.x, block.y, block.members) for block in self.blocks], gaps)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SepSets):
            return NotImplemented
        same = all(np.array_equal(a, b) for a, b in zip(self.flat(), other.flat(), strict=True))
        pairs = np.array_equal(self._skeleton.keys, other._skeleton.keys)
        return self.p == other.p and pairs and np.array_equal(self._gaps, other._gaps) and same


def _joined(one: FlatCells, other: FlatCells) -> FlatCells:
    return FlatCells(*map(np.concatenate, zip(one, other, strict=True)))


class SepSetRow:
    """One row of `SepSets`: ``sepset[x]``."""

    def __init__(self, sets: SepSets, x: int) -> None:
        self._sets, self._x = sets, x

    def __getitem__(self, y: int) -> tuple[int, ...] | None:
        if not -len(self) <= y < len(self):
            raise IndexError(f"sepset[{self._x}] has entries 0 to {len(self) - 1}, got {y}")
        return self._sets.get(self._x, y % len(self))

    def __len__(self) -> int:
        return len(self._sets)

    def __repr__(self) -> str:
        return f"<sepset[{self._x}]: {reprlib.repr({y: S for y, S in enumerate(self) if S is not None})}>"

    def __iter__(self) -> Iterator[tuple[int, ...] | None]:
        return (self[y] for y in range(len(self)))
