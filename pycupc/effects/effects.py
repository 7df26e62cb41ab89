"""`effects`: the possible effects of all variables on all others, from one graph
(docs/contracts/effects.md, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pycupc.data.column_checks import is_symmetric
from pycupc.data.names import positions
from pycupc.data.table import Table
from pycupc.effects.effects_result import Effects
from pycupc.effects.orientations import Variable, causal_graph_of, check_maximal, check_names, warn_unless_cpdag
from pycupc.effects.pooled import PooledEffects
from pycupc.effects.regression import Floats
from pycupc.engines.protocol import EngineError
from pycupc.graph.named import NamedGraph
from pycupc.independence.base import GPU_PAYS_FROM
from pycupc.independence.families import moments_of
from pycupc.independence.gaussian.suffstat import as_suff_stat
from pycupc.independence.registry import Moments
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.localised_message import Argument, Message, Setting, Value
from pycupc.system.machine import gpu_works
from pycupc.system.nearest import hinted


@hinted
def effects(
    fit: NamedGraph | ArrayLike,
    data: Any = None,
    causes: Sequence[Variable] | Variable | None = None,
    effects: Sequence[Variable] | Variable | None = None,
    method: Literal["local", "optimal"] = "local",
    engine: Literal["auto", "cpu", "gpu"] = "auto",
    device: int = 0,
) -> Effects:
    """The possible total effects of all variables on all others in a linear model with this graph.

    Parameters
    ----------
    fit : NamedGraph or array_like (p, p)
        A CPDAG, such as the result of `pc`, or one with background knowledge; or its matrix (row to column).
    data : table, covariance matrix, or SuffStat
        Observations (rows) of the variables of `fit`, as `pc` takes them: effects are in their units. A symmetric
        matrix (p, p) is a covariance matrix. A `SuffStat`, or a mapping with C and n: effects are in standard
        deviations. A `MultipleImputation`: effects are pooled by the rules of Rubin (1987). An `IncompleteTable`: they
        come from the covariances of the rows that are complete in each pair, and have no intervals.
    causes, effects : str, int, or sequence of them, optional
        By default all variables.
    method : {"local", "optimal"}
        Adjust for the parents of the cause, or for optimal sets, which vary less but need a right graph, and take
        longer.
    engine : {"auto", "cpu", "gpu"}
        Where summaries are computed: "gpu" takes method "local"; "auto" is the GPU if it works and there are at least
        `GPU_PAYS_FROM` variables.
    device : int
        Number of the CUDA device.

    Returns
    -------
    Effects

    Raises
    ------
    TypeError, ValueError, IndexError
        If the data do not fit the graph, there is no such variable, the graph has circles, a cause has too many valid
        sets of parents; with "optimal", if the graph is not a CPDAG, also with background knowledge.

    Warns
    -----
    UserWarning
        If the graph is neither a CPDAG nor one with background knowledge and all arrows that Meek's rules derive.
    """
    if method not in ("local", "optimal"):
        raise ValueError(f"method must be 'local' or 'optimal', got {method!r}")
    graph = causal_graph_of(fit)
    on_gpu = _chosen_device(engine, device, method, graph.p)
    moments = _moments(graph, data)
    C, n = moments.matrices.mean(axis=0), moments.n
    several = len(moments.matrices) > 1
    if several and on_gpu is not None:
        if engine == "gpu":
            raise ValueError("engine='gpu' computes effects of one table, got several imputations")
        on_gpu = None
    if C.shape != (graph.p, graph.p):
        raise ValueError(f"data must have the {graph.p} variables of the graph, got {len(C)}")
    graph.sparse_graph.cells()  # refuses circles
    if method == "optimal":
        check_maximal(graph)
    with_knowledge = method == "local" and _has_knowledge(graph)
    chosen = (range(graph.p) if names is None else positions(names, graph.labels) for names in (causes, effects))
    of, on = (np.array(at, dtype=np.int64) for at in chosen)
    for name, at in (("causes", of), ("effects", on)):
        if not len(at):
            raise ValueError(Message("{name} must have at least one variable, got none", name=Argument(name)))
        if len(np.unique(at)) < len(at):
            raise ValueError(Message("{name} must name each variable once", name=Argument(name)))
    own: dict[str, Any] = {"_graph": graph.sparse_graph, "_with_knowledge": with_knowledge, "note": moments.note}
    asked: dict[str, Any] = {"labels": graph.labels, "C": C, "n": n, "causes": of, "effects": on}
    asked |= {"method": method, "device": on_gpu}
    return PooledEffects(**asked, **own, matrices=moments.matrices) if several else Effects(**asked, **own)


def _chosen_device(engine: str, device: int, method: str, p: int) -> int | None:
    """The device for summaries; None for the processor."""
    if engine not in ("auto", "cpu", "gpu") or (engine == "gpu" and method != "local"):
        names = "'auto', 'cpu' or 'gpu'" if method == "local" else "'auto' or 'cpu' with method 'optimal'"
        raise ValueError(Message("engine must be {names}, got {given}", names=names, given=Value(engine)))
    if engine == "cpu" or (engine == "auto" and (method != "local" or p < GPU_PAYS_FROM)):
        return None
    works, detail = gpu_works(device)
    if engine == "gpu" and not works:
        cpu = Setting("engine", "cpu")
        raise EngineError(Message("engine 'gpu' cannot run: {detail}; {cpu} needs no GPU", detail=detail, cpu=cpu))
    return device if works else None


def _has_knowledge(graph: CausalGraph) -> bool:
    """Whether the graph is a CPDAG with further arrows and all that they imply; a warning if it is no CPDAG either."""
    if graph.is_cpdag:
        return False
    try:
        check_maximal(graph)
    except ValueError:
        warn_unless_cpdag(graph, stacklevel=5)
        return False
    return True


def _moments(fit: CausalGraph, data: Any) -> Moments:
    """The covariance matrices, and the number of observations if it is known."""
    data = as_suff_stat(data) if isinstance(data, Mapping) else data
    if (known := moments_of(data)) is not None:
        check_names("data", data, fit.labels)
        return known
    C, n = _covariances(fit, data)
    return Moments(C[None], n)


def _covariances(fit: CausalGraph, data: Any) -> tuple[Floats, float | None]:
    """The covariance matrix, float64 (p, p), and the number of observations if it is known."""
    shape = getattr(data, "shape", None)
    if shape is not None and tuple(shape) == (fit.p, fit.p):
        check_names("data", data, fit.labels)
        C = np.ascontiguousarray(data, dtype=np.float64)
        if not np.isnan(C).any() and is_symmetric(C):
            n = getattr(fit, "n", None)
            return C, None if n is None else float(n)
    table = Table.of(data)
    table.check()
    table.check_scale()
    check_names("data", table, fit.labels)
    C = np.cov(table.values, rowvar=False)
    C[table.constant], C[:, table.constant] = 0.0, 0.0  # without rounding
    return C, float(len(table.values))
