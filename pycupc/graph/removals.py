"""The removals of edges: the pair, its level, and the partial correlation of the test that separated it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import Ints

Floats = NDArray[np.float64]

#: The remedy if a result was loaded from a file that lacks the requested evidence.
WITH_DATA = "load it together with its data, PcAlgo.load(path, suffStat=data), or save it with evidence=True"


class Removals:
    """Edges removed at level 1 and above, in the order of ``SepSets.flat(by_row=False)``: by level, then by row.

    Attributes
    ----------
    x, y : int32 (m,)
        The pair in the order of the separating test: x < y on side A, x > y on side B.
    level : int32 (m,)
    r : float64 (m,)
        Partial correlation of the separating test; NaN if the test gives only p-values. Accessing it raises ValueError
        if the result was loaded, without the data, from a file that does not hold it.

    Parameters
    ----------
    parts : sequence of (x, y, level, r)
        One part per level; r is None where it is not known.
    r_of : callable, optional
        Computes an unknown r, given the number of the removal.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Ints, Ints, int | Ints, Floats | None]] = (),
        r_of: Callable[[int], float] | None = None,
    ) -> None:
        self._parts = parts  # as the engine reported them; joined on first access
        self._r_of = r_of

    def _joined(self, i: int, dtype: type) -> NDArray[Any]:
        parts: list[NDArray[Any]] = [np.zeros(0, dtype=dtype)]
        parts += [np.broadcast_to(np.asarray(part[i], dtype=dtype), part[0].shape) for part in self._parts]
        return np.concatenate(parts)

    @cached_property
    def x(self) -> Ints:
        return self._joined(0, np.int32)

    @cached_property
    def y(self) -> Ints:
        return self._joined(1, np.int32)

    @cached_property
    def level(self) -> Ints:
        return self._joined(2, np.int32)

    @property
    def r_recorded(self) -> bool:
        """Whether all values of `r` are stored."""
        return all(part[3] is not None for part in self._parts)

    @property
    def r_known(self) -> bool:
        """Whether `r` is stored or can be computed."""
        return self._r_of is not None or self.r_recorded

    @cached_property
    def r(self) -> Floats:
        if self.r_recorded:
            return self._joined(3, np.float64)
        if self._r_of is None:
            raise ValueError(f"this result was saved without the partial correlations of its tests; {WITH_DATA}")
        return np.array([self._r_of(k) for k in range(len(self.x))])

    def parts(self) -> Iterator[tuple[Ints, Ints, int | Ints, Floats]]:
        """x, y, level and r of all removals in parts, which are not joined if `r` is stored."""
        if not self.r_recorded:
            yield self.x, self.y, self.level, self.r
            return
        for x, y, level, r in self._parts:
            assert r is not None
            yield x, y, level, r

    def r_at(self, k: int) -> float | None:
        """`r` of one removal; None if it is not known."""
        if self._r_of is not None:
            return self._r_of(k)
        return float(self.r[k]) if self.r_known else None

    def __len__(self) -> int:
        return len(self.x)

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
