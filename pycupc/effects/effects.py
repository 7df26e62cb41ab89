"""`effects`: the possible effects of all variables on all others, from one graph (docs/EFFECTS.md, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from pycupc.data.names import position
from pycupc.data.table import Table
from pycupc.effects.orientations import Orientations
from pycupc.effects.regression import Floats, Ints
from pycupc.effects.result import Effects, Variable
from pycupc.graph.named import NamedGraph
from pycupc.independence.gaussian.suffstat import SuffStat, as_suff_stat


def effects(
    fit: NamedGraph,
    data: Any = None,
    causes: Sequence[Variable] | Variable | None = None,
    effects: Sequence[Variable] | Variable | None = None,
    method: Literal["local", "optimal"] = "local",
) -> Effects:
    """The possible total effects of all variables on all others in a linear model with this graph.

    Parameters
    ----------
    fit : NamedGraph
        A CPDAG, such as the result of `pc`.
    data : table, covariance matrix, or SuffStat
        Observations (rows) of the variables of `fit`, as `pc` takes them: effects are in their units. A symmetric
        matrix (p, p) is a covariance matrix. A `SuffStat`, or a mapping with C and n: effects are in standard
        deviations.
    causes, effects : str, int, or sequence of them, optional
        By default all variables.
    method : {"local", "optimal"}
        Adjust for the parents of the cause, or for optimal sets, which vary less but need a right graph, and take
        longer.

    Returns
    -------
    Effects

    Raises
    ------
    TypeError, ValueError, IndexError
        If the data do not fit the graph, there is no such variable, the graph has circles, a cause has too many valid
        sets of parents; with "optimal", if the graph is not a CPDAG, also with background knowledge.
    """
    if method not in ("local", "optimal"):
        raise ValueError(f"method must be 'local' or 'optimal', got {method!r}")
    C, n = _covariances(fit, data)
    if C.shape != (fit.p, fit.p):
        raise ValueError(f"data must have the {fit.p} variables of the graph, got {len(C)}")
    graph = Orientations.of(fit.sparse_graph)
    if method == "optimal":
        graph.check_maximal(fit.sparse_graph, fit.labels)
    of, on = _chosen(causes, fit.labels), _chosen(effects, fit.labels)
    return Effects(labels=fit.labels, C=C, n=n, causes=of, effects=on, method=method, _graph=graph)


def _chosen(variables: Any, labels: tuple[str, ...]) -> Ints:
    """Positions of one variable or several, by label or position; all if None."""
    if variables is None:
        return np.arange(len(labels))
    several = variables if np.ndim(variables) > 0 else [variables]
    return np.array([position(v, labels) for v in several], dtype=np.int64)


def _covariances(fit: NamedGraph, data: Any) -> tuple[Floats, float | None]:
    """The covariance matrix, float64 (p, p), and the number of observations if it is known."""
    if isinstance(data, (SuffStat, Mapping)):
        stat = as_suff_stat(data)
        return stat.C, stat.n
    shape = getattr(data, "shape", None)
    if shape is not None and tuple(shape) == (fit.p, fit.p):
        C = np.ascontiguousarray(data, dtype=np.float64)
        if np.allclose(C, C.T, rtol=1e-10, atol=0):
            n = getattr(fit, "n", None)
            return C, None if n is None else float(n)
    table = Table.of(data)
    table.check()
    if table.labels is not None and set(table.labels) == set(fit.labels) and table.labels != fit.labels:
        raise ValueError("the columns of data must have the order of the variables of the graph")
    return np.cov(table.values, rowvar=False), float(len(table.values))
