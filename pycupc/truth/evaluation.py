"""`evaluate`: how much of a true graph a result has found, and how much of the result is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import listed
from pycupc.graph.sparse import ARROW, SparseGraph
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.nearest import hinted
from pycupc.system.shown import as_lines, as_table
from pycupc.truth.graphs import Coding, as_causal_graph


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of `evaluate`; printed, it is a short report.

    Attributes
    ----------
    missing, extra : int
        Pairs of variables with an edge in the truth only, and in the result only.
    other_direction : int
        Pairs with an edge in both that is directed in one of them and undirected, or directed the other way, in the
        other one.
    edges_found, edges_true, edges_right : int
        Edges of the result, of the truth, and of both, whatever their directions.
    arrows_found, arrows_true, arrows_right : int
        Directed edges of the result, of the truth, and those that are directed the same way in both.
    """

    missing: int
    extra: int
    other_direction: int
    edges_found: int
    edges_true: int
    edges_right: int
    arrows_found: int
    arrows_true: int
    arrows_right: int

    @property
    def shd(self) -> int:
        """Structural Hamming distance: pairs of variables whose edge differs, `missing + extra + other_direction`."""
        return self.missing + self.extra + self.other_direction

    @property
    def edge_precision(self) -> float:
        """Share of the edges found that are true, in [0, 1]; NaN if none was found."""
        return _share(self.edges_right, self.edges_found)

    @property
    def edge_recall(self) -> float:
        """Share of the true edges that were found, in [0, 1]; NaN if the truth has none."""
        return _share(self.edges_right, self.edges_true)

    @property
    def arrow_precision(self) -> float:
        """Share of the arrows found that are true, in [0, 1]; NaN if none was found."""
        return _share(self.arrows_right, self.arrows_found)

    @property
    def arrow_recall(self) -> float:
        """Share of the true arrows that were found, in [0, 1]; NaN if the truth has none."""
        return _share(self.arrows_right, self.arrows_true)

    @property
    def sentence(self) -> str:
        """The numbers of edges and arrows in a line: "19 of 20 edges found, 0 false; 17 of 18 arrows, 0 false"."""
        edges = f"{self.edges_right:,} of {self.edges_true:,} edges found, {self.extra:,} false"
        wrong = self.arrows_found - self.arrows_right
        return f"{edges}; {self.arrows_right:,} of {self.arrows_true:,} arrows, {wrong:,} false"

    def _repr_html_(self) -> str:
        """For notebooks: a table of edges and arrows."""
        counts = {"right": (self.edges_right, self.arrows_right), "found": (self.edges_found, self.arrows_found)}
        counts["true"] = self.edges_true, self.arrows_true
        shares = {"precision": (self.edge_precision, self.arrow_precision)}
        shares["recall"] = self.edge_recall, self.arrow_recall
        table = as_table({"": ("edges", "arrows"), **counts, **shares})
        return f"<div>{as_lines(repr(self).splitlines()[0])}{table}</div>"

    def __repr__(self) -> str:
        lines = [
            f"SHD {self.shd:,}: {self.missing:,} missing, {self.extra:,} extra, {self.other_direction:,} with another "
            "direction"
        ]
        for kind, right, found, true in (
            ("edges", self.edges_right, self.edges_found, self.edges_true),
            ("arrows", self.arrows_right, self.arrows_found, self.arrows_true),
        ):
            shares = " and ".join(
                f"{name} {right:,}/{n:,}" + (f" = {right / n:.2f}" if n else "")
                for name, n in (("precision", found), ("recall", true))
            )
            lines.append(f"{kind + ':':7} {shares}")
        return "\n".join(lines)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


@hinted
def evaluate(
    fit: Any, truth: Any, *, as_cpdag: bool = False, labels: Sequence[str] | None = None, coding: Coding | None = None
) -> Evaluation:
    """Compare a result with the true graph: structural Hamming distance, precision and recall.

    Parameters
    ----------
    fit : PcAlgo, CausalGraph, NamedGraph, networkx.DiGraph or array-like of numbers (p, p)
        What was found. Matrices are read as `truth`.
    truth : CausalGraph, PcAlgo, networkx.DiGraph or array-like of numbers (p, p)
        A DAG or a CPDAG. Of a matrix, [i, j] other than 0 and [j, i] = 0 is i --> j, and both 1 is i --- j; a DataFrame
        has the names of its columns, and the ``amat()`` of a result is read as what it is. Of a graph of networkx, two
        arcs between a pair are an undirected edge. If both have names, variables are matched by name.
    as_cpdag : bool, default False
        Compare with the CPDAG of the truth: the directions that data can tell. Without it, an edge that is directed in
        a true DAG and undirected in the result counts as different, although no method can tell its direction.
    labels : sequence of p str, optional
        Names of the variables of `truth`, if it has no names; by default the names of `fit`, in the same order.
    coding : "matrix" or "amat", optional
        How matrices are read: "matrix", the default, from row to column; "amat" from column to row, as pcalg's
        amat.cpdag.

    Returns
    -------
    Evaluation

    Raises
    ------
    TypeError
        If `fit` or `truth` is none of these, such as a result of `fci`, or a graph of networkx without directions.
    ValueError
        If the two have different variables, `truth` has a directed cycle or other edges than directed and undirected
        ones, or no DAG extends it and `as_cpdag` is true.

    Notes
    -----
    The distance is as of pcalg's ``shd``: each pair of variables counts once, and a bidirected edge of the result, a
    contradiction, counts as undirected (Tsamardinos, Brown and Aliferis 2006, Machine Learning 65, 31-78).

    Examples
    --------
    >>> import pycupc
    >>> known = pycupc.simulate(10, 2000, seed=1)
    >>> fit = pycupc.pc(known.data, alpha=0.01)
    >>> found = pycupc.evaluate(fit, known.graph, as_cpdag=True)
    """
    found = as_causal_graph(fit, "fit", coding=coding, acyclic=False)
    true = as_causal_graph(truth, "truth", labels=labels, coding=coding, default=found.labels)
    true = _in_order_of(found, true)
    return _compared(found.sparse_graph, (true.to_cpdag() if as_cpdag else true).sparse_graph)


def _in_order_of(found: CausalGraph, true: CausalGraph) -> CausalGraph:
    """The truth with its variables in the order of the result; ValueError if they have other names."""
    if true.labels == found.labels:
        return true
    only = [[name for name in one if name not in other] for one, other in _both_ways(found.labels, true.labels)]
    if any(only):
        parts = [
            f"only {name} has {listed(names)}" for name, names in zip(("fit", "truth"), only, strict=True) if names
        ]
        raise ValueError(
            f"fit and truth must have the same variables, but {'; '.join(parts)}; `labels` names the variables of truth"
        )
    place = {name: v for v, name in enumerate(true.labels)}
    edges = true.sparse_graph.subgraph([place[name] for name in found.labels])
    return CausalGraph(labels=found.labels, sparse_graph=edges)


def _both_ways(one: Sequence[str], two: Sequence[str]) -> tuple[tuple[Sequence[str], set[str]], ...]:
    return (one, set(two)), (two, set(one))


def _compared(found: SparseGraph, true: SparseGraph) -> Evaluation:
    _, i, j = np.intersect1d(found.keys, true.keys, assume_unique=True, return_indices=True)
    way_found, way_true = _ways(found), _ways(true)
    same = way_found[i] == way_true[j]
    return Evaluation(
        missing=len(true) - len(j),
        extra=len(found) - len(i),
        other_direction=int((~same).sum()),
        edges_found=len(found),
        edges_true=len(true),
        edges_right=len(i),
        arrows_found=int((way_found != 0).sum()),
        arrows_true=int((way_true != 0).sum()),
        arrows_right=int((same & (way_found[i] != 0)).sum()),
    )


def _ways(graph: SparseGraph) -> NDArray[np.int8]:
    """Of each edge 1 if it is directed to its higher end, -1 to its lower end, 0 if both ends have the same mark."""
    ways: NDArray[np.int8] = (graph.high_mark == ARROW).astype(np.int8) - (graph.low_mark == ARROW)
    return ways
