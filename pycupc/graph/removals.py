"""The removals of edges: the stored separating sets, with the partial correlations of the tests that found them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints

Floats = NDArray[np.float64]

#: The remedy if a result was loaded from a file that lacks the requested evidence.
WITH_DATA = "load it together with its data, PcAlgo.load(path, suffStat=data), or save it with evidence=True"


class Removals:
    """Edges removed at level 1 and above, in the order of ``SepSets.flat(by_row=False)``: by level, then by row.

    With a user's asymmetric test, also the edges that only side B removed at level 0, whose cells are stored as well.
    `x`, `y` and `level`, int32 (m,), are the pair in the order of its separating test (x < y on side A, x > y on side
    B) and the size of the set.

    `sets`: the sets that the tests found; without it there are no removals, as in a result of R. `r`: one array for
    each of the blocks of `sets`; NaN if the test gives only p-values. `r_of`: computes an unknown r, given the number
    of the removal. Without both, accessing `r` raises ValueError.
    """

    def __init__(
        self, sets: SepSets | None = None, r: Sequence[Floats] | None = None, r_of: Callable[[int], float] | None = None
    ) -> None:
        self._blocks = () if sets is None else sets.blocks
        self._r = r if self._blocks else ()
        self._r_of = r_of

    def _joined(self, name: str) -> Ints:
        return np.concatenate([np.zeros(0, dtype=np.int32), *(getattr(block, name) for block in self._blocks)])

    @cached_property
    def x(self) -> Ints:
        return self._joined("x")

    @cached_property
    def y(self) -> Ints:
        return self._joined("y")

    @cached_property
    def level(self) -> Ints:
        levels = [block.members.shape[1] for block in self._blocks]
        return np.repeat(np.array(levels, dtype=np.int32), [len(block.x) for block in self._blocks])

    @property
    def r_recorded(self) -> bool:
        """Whether all values of `r` are stored."""
        return self._r is not None

    @property
    def r_known(self) -> bool:
        """Whether `r` is stored or can be computed."""
        return self.r_recorded or self._r_of is not None

    @cached_property
    def r(self) -> Floats:
        if self._r is not None:
            return np.concatenate([np.zeros(0), *self._r])
        if self._r_of is None:
            raise ValueError(f"this result was saved without the partial correlations of its tests; {WITH_DATA}")
        return np.array([self._r_of(k) for k in range(len(self))])

    def r_at(self, k: int) -> float | None:
        """`r` of one removal; None if it is not known."""
        if self._r is None and self._r_of is not None:
            return self._r_of(k)
        return float(self.r[k]) if self.r_known else None

    def __len__(self) -> int:
        return sum(len(block.x) for block in self._blocks)

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        key = np.minimum(self.x, self.y).astype(np.int64) << 32 | np.maximum(self.x, self.y)
        order = np.argsort(key)
        return key[order], order

    def find(self, x: int, y: int) -> int | None:
        """Number of the removal of the unordered pair."""
        key = min(x, y) << 32 | max(x, y)
        keys, order = self._index
        i = int(keys.searchsorted(key))
        return int(order[i]) if i < len(keys) and keys[i] == key else None
