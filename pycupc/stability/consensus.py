"""How often each edge was found, and the graph of the edges that were found in enough resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.graph import drawing as plotting
from pycupc.graph.explorer import InlinePage, show_page
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import ARROW, CIRCLE, TAIL, SparseGraph, pair_keys
from pycupc.results import explorer_content
from pycupc.results.causal_graph import CausalGraph
from pycupc.results.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The columns of counts of a CPDAG: low --> high, low <-- high, undirected, bidirected.
FORWARD, BACKWARD, UNDIRECTED, BIDIRECTED = range(4)
#: The marks at low and high of the kinds of edges of a graph, in the order of their numbers: of a CPDAG, of a PAG.
_CPDAG_KINDS = ((TAIL, ARROW), (ARROW, TAIL), (TAIL, TAIL), (ARROW, ARROW))
_PAG_KINDS = tuple(product((CIRCLE, ARROW, TAIL), repeat=2))
#: Edges that are counted together; they need some 0.5 GB.
COUNTED = 1 << 24


@dataclass(frozen=True, eq=False)
class Counting:
    """How the edges of the graphs of a method are counted.

    `kinds`, int (k, 2), are the marks at low and high of each kind of edge. An edge of a kind adds 1 to each of its c
    `columns`, int (k, c), so that the sum of all columns is c times the number of graphs in which the pair is adjacent.
    `names` are the columns, as shares, for an edge that is listed from low to high, and `turned` is their order for an
    edge that is listed from high to low.
    """

    kinds: Ints
    columns: Ints
    names: tuple[str, ...]
    turned: tuple[int, ...]

    def numbers(self, graph: SparseGraph) -> NDArray[np.uint8]:
        """The number of the kind of each edge of a graph."""
        number = np.zeros((4, 4), dtype=np.uint8)
        number[tuple(self.kinds.T)] = np.arange(len(self.kinds))
        return number[graph.low_mark, graph.high_mark]

    def is_turned(self, counts: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether edges are listed from high to low: more graphs have an arrow there; bool (m,)."""
        forward, backward = (FORWARD, BACKWARD) if self is CPDAG else (4, 1)
        return np.asarray(counts[:, backward] > counts[:, forward])


#: Of `pc`: kinds of edges.
CPDAG = Counting(
    np.array(_CPDAG_KINDS), np.arange(4)[:, None], ("directed", "reversed", "undirected", "bidirected"), (1, 0, 2, 3)
)
#: Of `fci` and `rfci`: the marks at each end.
PAG = Counting(
    np.array(_PAG_KINDS),
    np.array(_PAG_KINDS) - 1 + [0, 3],
    tuple(f"{end}_{mark}" for end in ("from", "to") for mark in ("circle", "arrow", "tail")),
    (3, 4, 5, 0, 1, 2),
)


def counting(method: str) -> Counting:
    """How the graphs of a method are counted."""
    return PAG if METHODS[method].hidden else CPDAG


@dataclass(frozen=True, eq=False)
class Counts:
    """In how many graphs each pair was adjacent, for the pairs that ever were: ``low < high``, int32 (m,), sorted.

    `kinds`, int32 (m, number of columns), has the graphs with each kind of edge, or each mark: the columns of
    `counting`.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    kinds: NDArray[np.int32]

    @classmethod
    def of(cls, graphs: Sequence[Sequence[NDArray[Any]]], p: int, counting: Counting = CPDAG) -> Counts:
        """Count the edges of graphs on p variables: of each, low, high and the numbers of `Counting.numbers`."""
        n_columns, found = len(counting.names), np.zeros(0, dtype=np.int64)
        times: NDArray[Any] = np.zeros(0)
        at_once = max(1, COUNTED // max(1, *(len(low) for low, *_ in graphs)))
        for k in range(0, len(graphs), at_once):
            some = graphs[k : k + at_once]
            cells = [pair_keys(a, b, p)[:, None] * n_columns + counting.columns[kind] for a, b, kind in some]
            new, n = np.unique(np.concatenate(cells), return_counts=True)
            found, place = np.unique(np.concatenate([found, new]), return_inverse=True)
            times = np.bincount(place, np.concatenate([times, n]), len(found))
        pair, column = np.divmod(found, n_columns)
        keys, row = np.unique(pair, return_inverse=True)
        kinds = np.zeros((len(keys), n_columns), dtype=np.int32)
        kinds[row, column] = times
        low, high = np.divmod(keys, max(p, 1))
        return cls(low.astype(np.int32), high.astype(np.int32), kinds)

    @property
    def counting(self) -> Counting:
        """What the columns are."""
        return next(c for c in (CPDAG, PAG) if len(c.names) == self.kinds.shape[1])

    @property
    def adjacent(self) -> Ints:
        """Graphs in which each pair was adjacent, int64 (m,)."""
        out: Ints = self.kinds.sum(axis=1, dtype=np.int64) // self.counting.columns.shape[1]
        return out

    def frequencies(self, at: Ints, turned: NDArray[np.bool_], n_resamples: int) -> dict[str, Floats]:
        """The columns of frequencies of some pairs, which are listed from high to low where `turned`."""
        listed = np.where(turned[:, None], self.kinds[at][:, self.counting.turned], self.kinds[at])
        shares = np.column_stack([self.adjacent[at], listed]) / max(n_resamples, 1)
        return dict(zip(("adjacent", *self.counting.names), shares.T, strict=True))


@dataclass(kw_only=True, eq=False, repr=False)
class StableGraph(NamedGraph):
    """The graph of the stable edges.

    It has those methods of a result of the method that need only the graph: `edges`, `amat` and `matrix`, or of a PAG
    `amat_pag`, `to_networkx`, `to_graphml`, `to_dot`, `to_json`, `subgraph`, `plot`, `explore`. The frequencies are
    attributes of its edges.

    Attributes
    ----------
    labels, sparse_graph
        See `pycupc.graph.named.NamedGraph`.
    alpha : float
    threshold : float
        Share of the resamples in which the two variables of an edge are at least adjacent.
    n_resamples : int
    frequencies : mapping of str to float64 (m,)
        The columns of `Stability.edges` from "adjacent" on, in the order of ``sparse_graph.edge_list()``; they are
        about from and to as the edge is listed there.
    """

    _OFFERED: ClassVar[Sequence[str]] = ("explore", "threshold", "frequencies")
    alpha: float
    threshold: float
    n_resamples: int
    frequencies: Mapping[str, Floats] = field(default_factory=dict)

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

    def small_picture(self) -> Figure:
        """The picture that `plot` draws as a figure for a notebook; ImportError without matplotlib."""
        options = {"strength": self.frequencies["adjacent"], "title": self.title}
        return plotting.small_picture(self.sparse_graph, self.labels, **options)

    def save_picture(
        self, *paths: Path, around: plotting.Variables | None = None, radius: int = 2, **look: Any
    ) -> None:
        """Write the picture that `plot` draws into files; see `pycupc.graph.drawing.save`."""
        title = self.title if around is None else None
        options = {"strength": self.frequencies["adjacent"], "title": title, **look}
        plotting.save(self.sparse_graph, self.labels, *paths, radius=radius, around=around, **options)

    def explore(
        self, path: str | PathLike[str] | None = None, *, show: bool = True, name: str = "", **part: Any
    ) -> Path | InlinePage:
        """Write the explorer of the graph, one HTML file; value and arguments, also `around`, as of `PcAlgo.explore`.

        In place of tests it shows the shares of the resamples that have each edge and each mark.
        """
        facts = f"{plotting.describe(self.sparse_graph)}; {self._facts}"
        about = ("Consensus of PC-stable graphs" if isinstance(self, Consensus) else "Consensus of PAGs", facts)
        content = explorer_content.consensus_content(self.sparse_graph, self.labels, self.frequencies, about, **part)
        return show_page(replace(content, name=str(name)), path, show=show)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._facts}>"


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(StableGraph, CausalGraph):
    """The stable edges of `pycupc.pc`. Attributes as of `StableGraph`.

    Notes
    -----
    The mark of an edge is the one that more than half of the graphs have in which the two variables are adjacent; where
    no mark has that majority the edge is undirected. The arrows are chosen edge by edge, so that together they need not
    be a CPDAG; there may even be a cycle.
    """

    def _with_marks(self, graph: SparseGraph) -> dict[str, Any]:
        turned = graph.edge_list()[0] != self.sparse_graph.edge_list()[0]
        both, shares = ("directed", "reversed"), self.frequencies  # which are about from and to
        listed = {a: np.where(turned, shares[b], shares[a]) for a, b in (both, both[::-1])}
        return {**super()._with_marks(graph), "frequencies": {**shares, **listed}}


@dataclass(kw_only=True, eq=False, repr=False)
class PagConsensus(StableGraph):
    """The stable edges of `pycupc.fci` or `pycupc.rfci`. Attributes as of `StableGraph`.

    Notes
    -----
    The mark at each end of an edge is the one that more than half of the graphs have in which the two variables are
    adjacent; an end without such a mark has a circle. The marks are chosen end by end, so that together they need not
    be a PAG.
    """


def stable_graph(
    labels: tuple[str, ...], counts: Counts, *, alpha: float, threshold: float, n_resamples: int
) -> Consensus | PagConsensus:
    """The graph of the pairs that were adjacent in at least ``threshold * n_resamples`` of the graphs."""
    stable = np.flatnonzero(counts.adjacent >= least_count(threshold, n_resamples))
    kinds, is_pag = counts.kinds[stable], counts.counting is PAG
    marks = 1 + _majority(kinds.reshape(-1, 2, 3), 0) if is_pag else CPDAG.kinds[_majority(kinds, UNDIRECTED)]
    ends = marks.astype(np.int8).T
    graph = SparseGraph(len(labels), counts.low[stable], counts.high[stable], ends[0], ends[1])
    turned = graph.edge_list()[0] != graph.low
    return (PagConsensus if is_pag else Consensus)(
        labels=labels,
        sparse_graph=graph,
        frequencies=counts.frequencies(stable, turned, n_resamples),
        alpha=alpha,
        threshold=threshold,
        n_resamples=n_resamples,
    )


def _majority(times: NDArray[np.int32], otherwise: int) -> Ints:
    """The position on the last axis of the number that is more than half of their sum, `otherwise` where none is."""
    majority = 2 * times > times.sum(axis=-1, keepdims=True)
    return np.where(majority.any(axis=-1), majority.argmax(axis=-1), otherwise)


def least_count(threshold: float, n_resamples: int) -> int:
    """The smallest number of resamples that is a share of at least `threshold`, and at least 1."""
    return max(1, int(np.ceil(round(threshold * n_resamples, 9))))
