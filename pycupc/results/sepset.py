"""Separating sets, sparse: only those of levels from 1 on are stored, the empty ones of level 0 are implied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

#: Up to this many stored sets, one sorted list of all cells is made at the first look-up; it costs a few milliseconds.
FLAT_AT_ONCE = 300_000


class SepSets:
    """Separating sets in pcalg's own cells.

    ``sepset[x][y]`` is None (the pair is adjacent, a fixed gap, or its set is in the mirrored cell) or a tuple of
    0-based indices; ``()`` in cell x < y for a pair that is independent without conditioning. The cell tells on which
    side the set was found: x < y a subset of adj(x), x > y one of adj of the larger index.

    Parameters
    ----------
    skeleton : bool (p, p)
    x, y : int (m,)
        Cells that hold a set, in row order.
    length : int (m,)
        Size of each.
    members : int (sum of length,)
        The sets, one after the other, each ascending.
    gaps : bool (p, p), optional
        Pairs that never had an edge (fixedGaps): they have no set.
    """

    def __init__(
        self,
        skeleton: np.ndarray,
        x: np.ndarray,
        y: np.ndarray,
        length: np.ndarray,
        members: np.ndarray,
        gaps: np.ndarray | None = None,
    ) -> None:
        self._skeleton, self._gaps = skeleton, gaps
        self._p = len(skeleton)
        self._given = (x, y, length, members)
        self._blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
        self._changed: dict[tuple[int, int], tuple[int, ...]] = {}

    @classmethod
    def from_levels(
        cls,
        skeleton: np.ndarray,
        blocks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
        gaps: np.ndarray | None = None,
    ) -> SepSets:
        """From one (x, y, S) a level, as engines report them: int32, sorted by (x, y), S of shape (m, level).

        Millions of sets come with every run and few are ever looked up, so they stay as they are until someone asks
        for all of them.
        """
        new = cls(skeleton, *(np.zeros(0, dtype=np.int32) for _ in range(4)), gaps)
        new._blocks = [block for block in blocks if len(block[0])]
        new._many = sum(len(block[0]) for block in blocks) > FLAT_AT_ONCE
        return new

    @cached_property
    def _flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Key x * p + y of every stored cell, ascending; start and end of its set in the members; the members."""
        x, y, length, members = self._given
        if self._blocks:
            x, y = (np.concatenate([block[i] for block in self._blocks]) for i in (0, 1))
            length = np.repeat([block[2].shape[1] for block in self._blocks], [len(block[0]) for block in self._blocks])
            members = np.concatenate([block[2].ravel() for block in self._blocks])
        key = np.asarray(x, dtype=np.int64) * self._p + np.asarray(y, dtype=np.int64)
        order = np.argsort(key, kind="stable")
        start = np.concatenate(([0], np.cumsum(length, dtype=np.int64)))
        return key[order], start[:-1][order], start[1:][order], np.ascontiguousarray(members, dtype=np.int32)

    @property
    def _key(self) -> np.ndarray:
        return self._flat[0]

    @property
    def _start(self) -> np.ndarray:
        return self._flat[1]

    @property
    def _end(self) -> np.ndarray:
        return self._flat[2]

    @property
    def _members(self) -> np.ndarray:
        return self._flat[3]

    def __len__(self) -> int:
        """Number of variables (rows)."""
        return self._p

    def __getitem__(self, x: int) -> _Row:
        if not -self._p <= x < self._p:
            raise IndexError(f"sepset has rows 0 to {self._p - 1}, got {x}")
        return _Row(self, x % self._p)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SepSets):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return (
            all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
            and np.array_equal(self._skeleton, other._skeleton)
            and np.array_equal(self.gaps(), other.gaps())
        )

    __hash__ = None  # type: ignore[assignment]

    def _stored(self, x: int, y: int) -> list[int] | None:
        """The set stored in cell (x, y), None if there is none."""
        if self._blocks is not None and self._many and "_flat" not in self.__dict__:
            for xs, ys, sets in self._blocks:
                low, high = xs.searchsorted(np.int32(x), "left"), xs.searchsorted(np.int32(x), "right")
                i = int(low + ys[low:high].searchsorted(np.int32(y)))
                if i < high and ys[i] == y:
                    return sets[i].tolist()
            return None
        keys, start, end, members = self._flat
        key = x * self._p + y
        i = int(keys.searchsorted(key))
        return members[start[i] : end[i]].tolist() if i < len(keys) and keys[i] == key else None

    def get(self, x: int, y: int) -> tuple[int, ...] | None:
        """What cell (x, y) holds."""
        if self._changed and (x, y) in self._changed:
            return self._changed[x, y]
        found = self._stored(x, y)
        if found is not None:
            return tuple(found)
        if x >= y or self._skeleton[x, y] or (self._gaps is not None and self._gaps[x, y]):
            return None
        return () if self._stored(y, x) is None else None

    def contains(self, x: int, y: int, b: int) -> bool:
        """Is b in the set of cell (x, y)? False where there is none."""
        if self._changed and (x, y) in self._changed:
            return b in self._changed[x, y]
        return b in (self._stored(x, y) or ())

    def contains_many(self, x: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
        """`contains` of many cells at once: bool, as long as the three arrays."""
        if self._changed or self._blocks is None:
            cells = zip(x.tolist(), y.tolist(), b.tolist(), strict=True)
            return np.fromiter((self.contains(*cell) for cell in cells), dtype=bool, count=len(x))
        out = np.zeros(len(x), dtype=bool)
        rows = np.arange(self._p + 1, dtype=np.int32)
        for xs, ys, sets in self._blocks:
            start = xs.searchsorted(rows)
            at = np.flatnonzero(start[x] < start[x + 1])
            low, end, want = start[x[at]], start[x[at] + 1], y[at]
            high = end
            while (open_ := low < high).any():  # bisection of y within its row, for all cells together
                middle = (low + high) // 2
                less = open_ & (ys[np.minimum(middle, len(ys) - 1)] < want)
                low, high = np.where(less, middle + 1, low), np.where(open_ & ~less, middle, high)
            hit = low < end
            hit[hit] = ys[low[hit]] == want[hit]
            at, low = at[hit], low[hit]
            out[at] = (sets[low] == b[at, None]).any(axis=1)
        return out

    def of_pair(self, x: int, y: int) -> tuple[int, ...] | None:
        """The set of the unordered pair, from whichever cell holds it."""
        found = self.get(x, y)
        return self.get(y, x) if found is None else found

    def changed(self, cells: Mapping[tuple[int, int], tuple[int, ...]]) -> SepSets:
        """A copy in which these cells hold other sets (the conservative and majority rules change some)."""
        copy = object.__new__(SepSets)
        copy.__dict__.update(self.__dict__)
        copy._changed = {**self._changed, **{key: tuple(value) for key, value in cells.items()}}
        return copy

    def original(self) -> SepSets:
        """The sets that the tests found, before any cell was changed."""
        copy = self.changed({})
        copy._changed = {}
        return copy

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The cells that are not implied: x, y, length (int32), in row order, and their members (int32)."""
        x, y, length = self._key // self._p, self._key % self._p, self._end - self._start
        if not self._changed:
            in_order = bool((self._start[1:] == self._end[:-1]).all())
            members = self._members if in_order else self._gathered()
            return x.astype(np.int32), y.astype(np.int32), length.astype(np.int32), members
        cells = {
            (a, b): self._members[s:e].tolist()
            for a, b, s, e in zip(x.tolist(), y.tolist(), self._start.tolist(), self._end.tolist(), strict=True)
        }
        cells.update(self._changed)
        keys = sorted(cells)
        return (
            np.array([k[0] for k in keys], dtype=np.int32),
            np.array([k[1] for k in keys], dtype=np.int32),
            np.array([len(cells[k]) for k in keys], dtype=np.int32),
            np.array([m for k in keys for m in cells[k]], dtype=np.int32),
        )

    def _gathered(self) -> np.ndarray:
        """Members of all cells, in the order of the cells."""
        length = self._end - self._start
        before = np.cumsum(length) - length
        return self._members[np.repeat(self._start - before, length) + np.arange(length.sum())]

    def gaps(self) -> np.ndarray:
        """Pairs x < y that have neither an edge nor a set, int32 (k, 2): the fixed gaps."""
        if self._gaps is None:
            return np.zeros((0, 2), dtype=np.int32)
        pairs = np.argwhere(np.triu(self._gaps & ~self._skeleton, 1)).astype(np.int32)
        return pairs[[self.of_pair(int(a), int(b)) is None for a, b in pairs]] if len(pairs) else pairs

    def empty_pairs(self) -> np.ndarray:
        """bool (p, p), upper triangle: pairs whose empty set is implied (removed at level 0)."""
        out = np.triu(~self._skeleton, 1)
        if self._gaps is not None:
            out &= ~self._gaps
        x, y = self._key // self._p, self._key % self._p
        out[np.minimum(x, y), np.maximum(x, y)] = False
        return out

    def cells(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """All cells that hold a set, level 0 included, as a dict: for small p, tests and comparisons."""
        pairs = zip(*(v.tolist() for v in np.nonzero(self.empty_pairs())), strict=True)
        found: dict[tuple[int, int], tuple[int, ...]] = dict.fromkeys(pairs, ())
        x, y, length, members = self.arrays()
        ends = np.cumsum(length, dtype=np.int64).tolist()
        flat = members.tolist()
        for a, b, n, end in zip(x.tolist(), y.tolist(), length.tolist(), ends, strict=True):
            found[a, b] = tuple(flat[end - n : end])
        return found


class _Row:
    """One row of `SepSets`: ``sepset[x]``."""

    def __init__(self, sets: SepSets, x: int) -> None:
        self._sets, self._x = sets, x

    def __getitem__(self, y: int) -> tuple[int, ...] | None:
        if not -len(self) <= y < len(self):
            raise IndexError(f"sepset[{self._x}] has entries 0 to {len(self) - 1}, got {y}")
        return self._sets.get(self._x, y % len(self))

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[tuple[int, ...] | None]:
        return (self[y] for y in range(len(self)))
