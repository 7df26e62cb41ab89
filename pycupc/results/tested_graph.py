"""`TestedGraph`: a graph with the tests behind its edges; the base of what `pc`, `fci` and `rfci` return."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.drawing import Variables
from pycupc.graph.sparse import read_only
from pycupc.independence.p_values import Floats
from pycupc.results import explored
from pycupc.results.why import Why, reason_of_arrow, reason_of_mark
from pycupc.system.log import counted


class TestedGraph(explored.ExploredResult):
    """A graph with the tests behind its edges."""

    def _why(self, i: int, j: int) -> Why:
        """The answer of `why` for two different variables."""
        raise NotImplementedError

    @cached_property
    def pMax(self) -> Floats:
        """Largest p-value of each pair's tests, float64 (p, p), read only: 1 on the diagonal, -inf if never tested.

        Symmetric, but for the tests of `fci` after the levels: they raise one of the two cells of a pair, as in pcalg.
        """
        return read_only(self.p_values.dense().view())

    def why(self, x: int | str, y: int | str) -> Why:
        """Evidence for or against the edge between two variables, given by index or label.

        TypeError, ValueError or IndexError if there is no such variable, or both are the same.
        """
        i, j = self.index(x), self.index(y)
        if i == j:
            raise ValueError(f"x and y must be different variables, got {self.labels[i]!r} twice")
        return self._why(i, j)

    def edge_attributes(self) -> dict[str, NDArray[Any]]:
        """pMax of each edge and what set its marks, in the order of `SparseGraph.edge_list`."""
        return {name: values.copy() for name, values in self._edge_attributes.items()}

    @cached_property
    def _edge_attributes(self) -> dict[str, NDArray[Any]]:
        tail, head, _ = self.sparse_graph.edge_list()
        trace, of = dict(self.trace.items()), reason_of_mark if self.is_pag else reason_of_arrow  # a dict is quicker
        out: dict[str, NDArray[Any]] = {"pMax": self.p_values.of_edges(self.sparse_graph)}
        for name, *ends in (("set_by", tail, head), ("from_set_by", head, tail))[: 1 + self.is_pag]:
            pairs = zip(*(end.tolist() for end in ends), strict=True)
            out[name] = np.array([" ".join(of(trace, self.labels, *pair) or ()) for pair in pairs], dtype=object)
        return out

    def _head_lines(self, name: str) -> list[str]:
        """The first lines of a summary, which begins with the `name` of the algorithm."""
        degrees, found = self.sparse_graph.degrees(), self.tests_of_levels()
        top = int(degrees.argmax())
        observations = "" if found.n is None else f", {counted(found.n, 'observation')}"
        alpha = "" if found.alpha is None else f", alpha {found.alpha:g}"
        return [
            f"{name}: {counted(self.p, 'variable')}{observations}{alpha}",
            f"{counted(len(self.sparse_graph), 'edge')}: {self.kinds_of_edges()}",
            f"mean degree {degrees.mean():.2f}; most neighbours: {self.labels[top]} with {int(degrees[top]):,}",
        ]

    def explore(
        self,
        path: str | PathLike[str] | None = None,
        *,
        show: bool = True,
        around: Variables | None = None,
        radius: int = 2,
        stability: ArrayLike | None = None,
        effects: explored.ExploredEffects | None = None,
    ) -> Path | explored.InlinePage:
        """Write the explorer of the graph and its evidence, one HTML file.

        Parameters
        ----------
        path : str or Path, optional
            By default a file in a new temporary folder; in a Jupyter notebook none.
        show : bool, default True
            Open it in the browser, or below the cell of a notebook.
        around : str or int, or sequence of them, optional
            Show only these variables and what is near them, starting with the neighbourhood of the first.
        radius : int, default 2
            How many edges away from them, of whatever direction, a variable may be.
        stability : sequence of m float, optional
            A frequency from 0 to 1 for each edge, in the order of `edges`, such as `Stability.frequencies` gives.
        effects : Effects, optional
            What `pycupc.effects` found with method "local": beside a chosen variable, what it moves and what moves it.
            For pages of at most 200 variables.

        Returns
        -------
        Path, or an object that a notebook shows
            The file. In a notebook, if `show`, an object that displays the page; its ``path`` is the file, or None.

        Raises
        ------
        ValueError
            If `stability` has another length, `effects` are those of other variables, or a variable of `around` does
            not exist.
        """
        content = explored.content(self, around=around, radius=radius, stability=stability, effects=effects)
        return explored.show_page(content, path, show=show)
