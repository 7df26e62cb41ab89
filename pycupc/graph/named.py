"""A graph on named variables: the base of every result, and of parts of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.data.names import check_labels, default_labels, position
from pycupc.graph import drawing as plotting
from pycupc.graph.exports import Exported
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph, read_only
from pycupc.system.shown import as_lines, as_picture
from pycupc.system.text import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Largest graph of which a notebook shows a picture: variables and edges.
MAX_SHOWN = 300, 1500


@dataclass(kw_only=True, eq=False, repr=False)
class NamedGraph(Exported):
    """A graph on named variables."""

    _OFFERED: ClassVar[Sequence[str]] = (
        *("labels", "edges", "plot", "subgraph"),
        *("neighbours", "parents", "children"),
    )

    @staticmethod
    def from_amat_pag(amat: ArrayLike | pd.DataFrame, labels: Sequence[str] | None = None) -> NamedGraph:
        """The graph of a matrix in pcalg's coding amat.pag, such as ``as(fci(...), "matrix")``.

        Parameters
        ----------
        amat : array-like of int (p, p)
            [i, j] is the mark at j of the edge i - j: 0 without an edge, 1 circle, 2 arrowhead, 3 tail.
        labels : sequence of p str, optional
            By default the names of the columns, else "1" to "p".

        Raises
        ------
        ValueError
            If the matrix is not square, has an edge from a variable to itself, a mark at one end only, or another
            number; or if there are not p different labels.
        """
        graph = SparseGraph.from_amat_pag(amat)
        if labels is None:
            labels = [str(name) for name in getattr(amat, "columns", default_labels(graph.p))]
        return NamedGraph(labels=check_labels(labels, graph.p), sparse_graph=graph)

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.labels)

    @cached_property
    def graph(self) -> NDArray[np.int8]:
        """pcalg's ``as(fit@graph, "matrix")``, int8 (p, p), read only; of a graph with circles a ValueError.

        Row to column: [i, j] = 1 and [j, i] = 0 is i --> j, both 1 undirected, both 2 bidirected.
        """
        return read_only(self.sparse_graph.dense())

    @cached_property
    def skeleton(self) -> NDArray[np.bool_]:
        """Which pairs are adjacent, bool (p, p), read only."""
        return read_only(self.sparse_graph.skeleton())

    def edge_counts(self) -> tuple[int, int, int]:
        """Number of edges that are directed, undirected, bidirected; `SparseGraph.counts` has all kinds."""
        directed, undirected, bidirected, *_ = self.sparse_graph.counts().values()
        return directed, undirected, bidirected

    # -- edges --------------------------------------------------------------------------------------------------------

    def kinds_of_edges(self) -> str:
        """The number of edges of each kind as text."""
        return ", ".join(f"{n:,} {kind}" for kind, n in self.sparse_graph.counts().items())

    def __repr__(self) -> str:
        return f"<Graph: {self._size()}>"

    def _size(self) -> str:
        return f"{counted(self.p, 'variable')}, {counted(len(self.sparse_graph), 'edge')} ({self.kinds_of_edges()})"

    @property
    def _is_small(self) -> bool:
        """Whether notebooks show a picture of the graph."""
        return self.p <= MAX_SHOWN[0] and len(self.sparse_graph) <= MAX_SHOWN[1]

    def _repr_html_(self) -> str:
        """For notebooks: the counts, and a small picture if the graph is small enough and matplotlib is installed."""
        text = as_lines(repr(self)[1:-1])
        if not self._is_small:
            return f"<div>{text}</div>"
        try:
            figure = plotting.small_picture(self.sparse_graph, self.labels)
        except ImportError:
            return f"<div>{text}</div>"
        return f"<div>{text}{as_picture(figure, 'the graph')}</div>"

    # -- variables ----------------------------------------------------------------------------------------------------

    def index(self, v: int | str) -> int:
        """Number of a variable, given by number or label; TypeError, ValueError or IndexError if there is none."""
        return position(v, self.labels)

    def subgraph(self, variables: Sequence[int | str]) -> NamedGraph:
        """The graph on some variables, in this order, with all edges between them and the attributes of these edges.

        TypeError, ValueError or IndexError if `variables` is one string, or one does not exist or is named twice.
        """
        if isinstance(variables, str):
            raise TypeError(f"variables must be a sequence of labels, got the string {variables!r}")
        kept = np.array([self.index(v) for v in variables], dtype=np.int64)
        graph = self.sparse_graph.subgraph(kept)
        edge = self.sparse_graph.edge_number(kept[graph.low], kept[graph.high])
        attributes = {name: values[edge] for name, values in self.edge_attributes().items()}
        labels = tuple(self.labels[v] for v in kept.tolist())
        return _Subgraph(labels=labels, sparse_graph=graph, attributes=attributes)

    def neighbours(self, v: int | str) -> tuple[str, ...]:
        """Labels of all variables with an edge to v, whatever its marks, in order; errors as of `index`."""
        return self._labels(self._edges_at(v)[0])

    def parents(self, v: int | str) -> tuple[str, ...]:
        """Labels of the variables a with a --> v, in the order of the table; errors as of `index`."""
        other, here, there = self._edges_at(v)
        return self._labels(other[(here == ARROW) & (there == TAIL)])

    def children(self, v: int | str) -> tuple[str, ...]:
        """Labels of the variables b with v --> b, in the order of the table; errors as of `index`."""
        other, here, there = self._edges_at(v)
        return self._labels(other[(here == TAIL) & (there == ARROW)])

    def markov_blanket(self, v: int | str) -> tuple[str, ...]:
        """Labels of the variables given which v is independent of all others, in the order of the table.

        These are the neighbours of v and the other parents of its children. In a CPDAG they are the same for all its
        DAGs. Errors as of `index`; ValueError if an edge of the graph is neither directed nor undirected.
        """
        if any([*self.sparse_graph.counts().values()][2:]):
            text = "the Markov blanket needs a graph of directed and undirected edges, such as a DAG or a CPDAG"
            raise ValueError(f"{text}, got {self.kinds_of_edges()}")
        found = {*self.neighbours(v)}.union(*map(self.parents, self.children(v))) - {self.labels[self.index(v)]}
        return tuple(label for label in self.labels if label in found)

    def _edges_at(self, v: int | str) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int8]]:
        """The neighbours of v, ascending, the marks at v and the marks at the neighbours."""
        at, graph = self.index(v), self.sparse_graph
        up, down = graph.low == at, graph.high == at
        other = np.concatenate((graph.low[down], graph.high[up]))
        here = np.concatenate((graph.high_mark[down], graph.low_mark[up]))
        return other, here, np.concatenate((graph.low_mark[down], graph.high_mark[up]))

    def _labels(self, variables: NDArray[np.int32]) -> tuple[str, ...]:
        return tuple(self.labels[v] for v in variables.tolist())

    # -- pictures -----------------------------------------------------------------------------------------------------

    def plot(  # noqa: PLR0913 - the options of a picture
        self,
        *,
        around: plotting.Variables | None = None,
        radius: int = 2,
        title: str | Literal[False] | None = None,
        legend: bool = True,
        figsize: tuple[float, float] | None = None,
        groups: Mapping[str, plotting.Variables] | Sequence[str | None] | None = None,
        tiers: Any = None,
        paths: Sequence[Sequence[str | int]] = (),
        strength: ArrayLike | None = None,
        max_labelled: int = plotting.MAX_LABELLED,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the graph, or the neighbourhood of some variables: ``plot(around="TP53", radius=2)``.

        Parameters
        ----------
        around : str or int, or sequence of them, optional
            Draw only these variables, by label or position, which are highlighted, and what is near them: at most
            `max_labelled` variables, the nearest ones.
        radius : int, default 2
            How many edges away from them, of whatever direction, a variable may be.
        title : str or False, optional
            By default the numbers of variables and of edges of each kind; False: none.
        legend : bool, default True
            Whether the kinds of edges, the groups, and what else is drawn are explained below the picture.
        figsize : (float, float), optional
            Width and height of the figure in inches; by default the drawing's own. The text is as large as fits.
        groups : mapping of str to variables, or sequence of p str or None, optional
            Groups of variables, drawn in a colour and a form of their own: the variables of each group, by label or
            position, or the name of the group of each variable (None: no group).
        tiers : sequence, mapping, Knowledge or path, optional
            As of `pycupc.pc`: the variables of each tier, the earliest first, or the number of the tier of each
            variable. The boxes of a tier lie in rows of their own, above the boxes of later tiers; variables
            without a tier lie below.
        paths : sequence of sequences of variables, optional
            Paths whose edges are highlighted, such as ``[["smoking", "tar", "cancer"]]``.
        strength : sequence of m float, optional
            From 0 to 1 for each edge, in the order of `edges`: stronger edges are drawn thicker and darker, except in
            the pattern of the matrix.
        max_labelled : int
            Largest number of variables that are drawn as boxes with labels.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of a suitable size.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If a variable does not exist, `radius` is negative, `strength`, `groups` or `tiers` do not fit the
            variables and edges, two variables of a path are not adjacent, or the graph is too large for `tiers`,
            `groups` or `paths`.
        """
        return plotting.plot(
            self.sparse_graph,
            self.labels,
            ax=ax,
            max_labelled=max_labelled,
            around=around,
            radius=radius,
            title=title,
            legend=legend,
            figsize=figsize,
            groups=groups,
            tiers=tiers,
            paths=paths,
            strength=strength,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class _Subgraph(NamedGraph):
    """Part of a result; `attributes` belong to its edges."""

    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def edge_attributes(self) -> Mapping[str, NDArray[Any]]:
        return self.attributes
