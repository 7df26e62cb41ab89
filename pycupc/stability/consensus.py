"""How often each edge was found, and the graph of the edges that were found in enough resamples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph import drawing as plotting
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph, pair_keys
from pycupc.results import explored
from pycupc.results.causal_graph import CausalGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The marks of an edge between `low` and `high`, as they are counted.
FORWARD, BACKWARD, UNDIRECTED, BIDIRECTED = range(4)
#: Number of edges that are collected before they are counted.
_MOST_PENDING = 100_000
#: Columns of frequencies, in tables and as attributes of edges.
FREQUENCIES = ("adjacent", "directed", "reversed", "undirected", "bidirected")


@dataclass(frozen=True)
class Edges:
    """The edges of one graph, as kept for a resample.

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
        low, high = graph.low_mark == ARROW, graph.high_mark == ARROW
        kind = np.select([low & high, high, low], [BIDIRECTED, FORWARD, BACKWARD], UNDIRECTED)
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
        cells = np.concatenate([self._cells, *self._pending])
        times = np.ones(len(cells))
        times[: len(self._cells)] = self._counts
        self._cells, place = np.unique(cells, return_inverse=True)
        self._counts = np.bincount(place, times, len(self._cells)).astype(np.int64)
        self._pending, self._n_pending = [], 0

    def counts(self) -> Counts:
        """The counts so far."""
        self._count()
        pair, kind = self._cells >> 2, self._cells & 3
        first = np.diff(pair, prepend=-1) > 0
        kinds = np.zeros((np.count_nonzero(first), 4), dtype=np.int32)
        kinds[np.cumsum(first) - 1, kind] = self._counts
        low, high = np.divmod(pair[first], max(self.p, 1))
        return Counts(low.astype(np.int32), high.astype(np.int32), kinds)


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(CausalGraph):
    """The graph of the stable edges.

    It has those methods of a result of `pycupc.pc` that need only the graph: `edges`, `amat`, `matrix`, `to_networkx`,
    `to_graphml`, `to_dot`, `to_json`, `subgraph`, `plot`, `explore`. The frequencies are attributes of its edges.

    Attributes
    ----------
    labels, sparse_graph
        See `pycupc.graph.named.NamedGraph`.
    alpha : float
    threshold : float
        Share of the resamples in which the two variables of an edge are at least adjacent.
    n_resamples : int
    frequencies : mapping of str to float64 (m,)
        adjacent, directed, reversed, undirected, bidirected: share of the resamples with the edge, and with each mark,
        in the order of ``sparse_graph.edge_list()``. "directed" is from --> to as the edge is listed, "reversed" the
        other way.

    Notes
    -----
    The mark of an edge is the one that more than half of the graphs have in which the two variables are adjacent; where
    no mark has that majority the edge is undirected. The arrows are chosen edge by edge, so that together they need not
    be a CPDAG; there may even be a cycle.
    """

    alpha: float
    threshold: float
    n_resamples: int
    frequencies: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls, labels: tuple[str, ...], counts: Counts, *, alpha: float, threshold: float, n_resamples: int
    ) -> Consensus:
        """The pairs that were adjacent in at least ``threshold * n_resamples`` of the graphs."""
        stable = np.flatnonzero(counts.adjacent >= least_count(threshold, n_resamples))
        kinds = counts.kinds[stable]
        majority = 2 * kinds > kinds.sum(axis=1, keepdims=True)
        mark = np.where(majority.any(axis=1), majority.argmax(axis=1), UNDIRECTED)
        low_mark = np.array([TAIL, ARROW, TAIL, ARROW], dtype=np.int8)[mark]
        high_mark = np.array([ARROW, TAIL, TAIL, ARROW], dtype=np.int8)[mark]
        graph = SparseGraph(len(labels), counts.low[stable], counts.high[stable], low_mark, high_mark)
        frequencies = listed_frequencies(kinds, mark == BACKWARD, n_resamples)
        facts: dict[str, Any] = {"alpha": alpha, "threshold": threshold, "n_resamples": n_resamples}
        return cls(labels=labels, sparse_graph=graph, frequencies=frequencies, **facts)

    def edge_attributes(self) -> dict[str, NDArray[Any]]:
        return dict(self.frequencies)

    @property
    def title(self) -> str:
        """The title of a picture of the graph."""
        return f"{plotting.describe(self.sparse_graph)}\n{self._facts}; the more often, the thicker and darker"

    @property
    def _facts(self) -> str:
        return f"adjacent in at least {self.threshold:.0%} of {self.n_resamples:,} resamples, alpha {self.alpha:g}"

    def plot(self, **options: Any) -> Axes:
        """Draw the graph, more frequent edges thicker and darker, with the options of `pycupc.graph.drawing.plot`."""
        title = self.title if options.get("around") is None else None
        return super().plot(**{"strength": self.frequencies["adjacent"], "title": title, **options})

    def save_picture(self, *paths: Path, around: plotting.Variables | None = None, radius: int = 2) -> None:
        """Write the picture that `plot` draws into files; see `pycupc.graph.drawing.save`."""
        title, strength = self.title if around is None else None, self.frequencies["adjacent"]
        options: dict[str, Any] = {"title": title, "strength": strength, "around": around, "radius": radius}
        plotting.save(self.sparse_graph, self.labels, *paths, **options)

    def explore(
        self,
        path: str | PathLike[str] | None = None,
        *,
        show: bool = True,
        around: plotting.Variables | None = None,
        radius: int = 2,
    ) -> Path | explored.InlinePage:
        """Write the explorer of the graph, one HTML file; arguments and value as of `PcAlgo.explore`.

        In place of tests it shows the shares of the resamples that have each edge and each mark.
        """
        facts = f"{plotting.describe(self.sparse_graph)}; {self._facts}"
        content = explored.consensus_content(
            self.sparse_graph, self.labels, self.frequencies, facts, around=around, radius=radius
        )
        return explored.show_page(content, path, show=show)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._facts}>"


def least_count(threshold: float, n_resamples: int) -> int:
    """The smallest number of resamples that is a share of at least `threshold`, and at least 1."""
    return max(1, int(np.ceil(round(threshold * n_resamples, 9))))


def listed_frequencies(kinds: NDArray[np.int32], turned: NDArray[np.bool_], n_resamples: int) -> dict[str, Floats]:
    """The columns of frequencies of edges that are listed from low to high, or from high to low where `turned`."""
    listed = kinds.copy()
    listed[turned, :2] = kinds[turned, 1::-1]
    shares = np.column_stack([kinds.sum(axis=1), listed]) / max(n_resamples, 1)
    return dict(zip(FREQUENCIES, shares.T, strict=True))
