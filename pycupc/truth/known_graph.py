"""`KnownGraph`: a true DAG with the size of each direct effect, and the true graphs of the example data."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.data import EXAMPLES, TRUTHS, check_example
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.nearest import hinted

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class KnownGraph(CausalGraph):
    """The true DAG of a linear model, with its coefficients. Further attributes as of `CausalGraph`.

    Attributes
    ----------
    labels : tuple of str
    coefficients : ndarray of float64 (m,)
        Of each edge, in the order of ``edges()``, how much its second variable changes for one unit more of the first.
    """

    _OFFERED: ClassVar[Sequence[str]] = ("coefficients", "effect")
    coefficients: Floats

    def edge_attributes(self) -> dict[str, NDArray[Any]]:
        return {"coefficient": self.coefficients}

    def effect(self, x: int | str, y: int | str) -> float:
        """The total causal effect of x on y, along all directed paths: how much y changes for one unit more of x.

        TypeError, ValueError or IndexError if there is no such variable.
        """
        i, j = self.index(x), self.index(y)
        tail, head, _ = self.sparse_graph.edge_list()
        weights = np.zeros((self.p, self.p))
        weights[tail, head] = self.coefficients
        return float(np.linalg.solve(np.eye(self.p) - weights.T, np.eye(self.p)[i])[j])


@hinted
def load_truth(kind: str = "greenhouse") -> CausalGraph:
    """The true graph of example data.

    Parameters
    ----------
    kind : {"greenhouse", "sprinkler"}, default "greenhouse"
        As of `load_example`.

    Returns
    -------
    KnownGraph or CausalGraph
        The DAG from which the data were simulated; of "greenhouse" with the coefficients, of which ``effect("lamps",
        "harvest")`` gives total effects.

    Raises
    ------
    ValueError
        If there are no such data, or nobody knows their true graph ("cell_nuclei").

    Examples
    --------
    >>> import pycupc
    >>> fit = pycupc.pc(pycupc.load_example(), alpha=0.01)
    >>> found = pycupc.evaluate(fit, pycupc.load_truth(), as_cpdag=True)
    """
    name = check_example(kind)
    if name not in TRUTHS:
        raise ValueError(f"kind must name data whose true graph is known, {' or '.join(TRUTHS)}, got {kind!r}")
    with TRUTHS[name].open(encoding="utf-8", newline="") as file:
        header, *arrows = csv.reader(file)
    with EXAMPLES[name].open(encoding="utf-8", newline="") as file:
        labels = tuple(next(csv.reader(file)))
    place = {label: v for v, label in enumerate(labels)}
    cells = np.array([(place[arrow[0]], place[arrow[1]]) for arrow in arrows], dtype=np.int32)
    edges = SparseGraph.from_cells(len(labels), cells[:, 0], cells[:, 1], np.ones(len(cells), dtype=np.int8))
    if len(header) == 2:
        return CausalGraph(labels=labels, sparse_graph=edges)
    sizes = {(place[cause], place[effect]): float(size) for cause, effect, size in arrows}
    tail, head, _ = edges.edge_list()
    in_order = np.array([sizes[ends] for ends in zip(tail.tolist(), head.tolist(), strict=True)])
    return KnownGraph(labels=labels, sparse_graph=edges, coefficients=in_order)
