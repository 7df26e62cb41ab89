"""How often each edge was found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import SparseGraph, pair_keys

Ints = NDArray[np.int64]

#: The marks of an edge between `low` and `high`, as they are counted.
FORWARD, BACKWARD, UNDIRECTED, BIDIRECTED = range(4)
#: Number of edges that are collected before they are counted.
_MOST_PENDING = 100_000


@dataclass(frozen=True)
class Edges:
    """The edges of one graph: what is kept of a resample.

    Attributes
    ----------
    low, high : int32 (m,)
        ``low < high``; sorted.
    kind : uint8 (m,)
        `FORWARD` (low --> high), `BACKWARD` (low <-- high), `UNDIRECTED`, `BIDIRECTED`.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    kind: NDArray[np.uint8]

    @classmethod
    def of(cls, graph: SparseGraph) -> Edges:
        """The edges of `graph`."""
        one_way = np.where(graph.forward == 1, FORWARD, BACKWARD)
        both = np.where(graph.forward == 2, BIDIRECTED, UNDIRECTED)
        kind = np.where((graph.forward > 0) & (graph.backward > 0), both, one_way)
        return cls(graph.low, graph.high, kind.astype(np.uint8))


@dataclass(frozen=True, eq=False)
class Counts:
    """In how many graphs each pair was adjacent, for the pairs that ever were.

    Attributes
    ----------
    low, high : int32 (m,)
        The pairs, ``low < high``, sorted.
    kinds : int32 (m, 4)
        Graphs with each mark: columns `FORWARD`, `BACKWARD`, `UNDIRECTED`, `BIDIRECTED`.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    kinds: NDArray[np.int32]

    @property
    def adjacent(self) -> Ints:
        """Graphs in which each pair was adjacent, int64 (m,)."""
        out: Ints = self.kinds.sum(axis=1, dtype=np.int64)
        return out


@dataclass
class Tally:
    """Counts edges, graph after graph in any order; memory is proportional to the number of different edges."""

    p: int
    _cells: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _pending: list[Ints] = field(default_factory=list)
    _n_pending: int = 0

    def add(self, edges: Edges) -> None:
        """Count the edges of one graph."""
        pairs = pair_keys(edges.low, edges.high, self.p)
        self._pending.append(pairs * 4 + edges.kind)
        self._n_pending += len(pairs)
        if self._n_pending > max(_MOST_PENDING, len(self._cells)):
            self._count()

    def _count(self) -> None:
        new, times = np.unique(np.concatenate([self._cells[:0], *self._pending]), return_counts=True)
        self._pending, self._n_pending = [], 0
        place = np.searchsorted(self._cells, new)
        known = np.append(self._cells, -1)[place] == new
        self._counts[place[known]] += times[known]
        self._cells = np.insert(self._cells, place[~known], new[~known])
        self._counts = np.insert(self._counts, place[~known], times[~known])

    def counts(self) -> Counts:
        """What has been counted so far."""
        self._count()
        pair, kind = self._cells >> 2, self._cells & 3
        first = np.diff(pair, prepend=-1) > 0
        kinds = np.zeros((np.count_nonzero(first), 4), dtype=np.int32)
        kinds[np.cumsum(first) - 1, kind] = self._counts
        low, high = np.divmod(pair[first], max(self.p, 1))
        return Counts(low.astype(np.int32), high.astype(np.int32), kinds)
