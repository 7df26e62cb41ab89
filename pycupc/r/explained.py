"""A result that R holds: rebuilt from its arrays, and why its edges are there, or not.

R's object, which is to be identical to pcalg's, does not hold the reasons of the arrows. They follow from the skeleton
and the separating sets: where orienting these again gives the graph of the object, it gives the reasons as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.select import make_engine
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.orientation import Orientation, check_triples, orient
from pycupc.results.arrays import ANSWER, only_stored_cells
from pycupc.results.pcalgo import PcAlgo

__all__ = ["explain", "result_from"]

#: Names in `pycupc.results.arrays`: arrays of the sets as the tests found them, and arrays of the final sets.
_FOUND = {f"found_{name}": f"sepset_{name}" for name in ("x", "y", "len", "members")} | {
    f"found_{name}": name for name in ("gap_x", "gap_y")
}


def result_from(sent: Mapping[str, Any], options: Mapping[str, Any], side: str, **facts: Any) -> PcAlgo:
    """The result whose arrays R has `sent`, and whose values are in `options`, with names that begin with `side`.

    `facts` are further arguments of `PcAlgo.from_arrays`. With the correlations `C` among them, all p-values but those
    of the edges are computed from these.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name in (*ANSWER, "pMax"):
        type_ = np.float64 if name in ("n_edgetests", "pMax") else np.int32
        arrays[name] = np.frombuffer(sent.get(side + name, b""), dtype=type_)
    labels = options[side + "labels"]
    if options[side + "every_cell"]:
        arrays = only_stored_cells(arrays, len(labels))
    if options[side + "found"]:
        found = dict(arrays)
        for name in _FOUND.values():
            found[name] = np.frombuffer(sent.get(f"{side}found_{name}", b""), dtype=np.int32)
        if options[side + "found_every_cell"]:
            found = only_stored_cells(found, len(labels))
        arrays |= {name: found[as_found] for name, as_found in _FOUND.items()}
    if facts.get("C") is not None:
        graph = SparseGraph.from_cells(len(labels), *(arrays[f"graph_{name}"] for name in ("from", "to", "mark")))
        arrays["edge_p"] = arrays.pop("pMax").reshape(graph.p, graph.p)[graph.low, graph.high]
    return PcAlgo.from_arrays(arrays, labels=labels, max_ord=int(options[side + "max_ord"]), **facts)


def explain(
    sent: Mapping[str, Any], options: Mapping[str, Any], data: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Answer a question about the result "a_..." as plain values and arrays.

    Parameters
    ----------
    sent : mapping of str to buffer
        The arrays that R has sent.
    options : mapping
        The values of the result; `alpha`, or None; `known`: whether the separating sets are known; `question`: "edges",
        or "why" with the positions `x` and `y`, from 0.
    data : mapping with "C" and "n", or None
        The data of the result, if R gave them.
    """
    facts = {"alpha": options["alpha"], **data} if data and options["alpha"] is not None else {}
    fit = result_from(sent, options, "a_", **facts)
    if options["known"]:
        fit = _with_reasons(fit, data)
    if options["question"] == "edges":
        tail, head, kind = fit.sparse_graph.edge_list()
        found = fit.edge_attributes()
        arrays: dict[str, NDArray[Any]] = {"from": tail, "to": head, "pMax": found["pMax"]}
        return {"type": kind.tolist(), "set_by": found["set_by"].tolist()}, arrays
    why = fit.why(int(options["x"]), int(options["y"]))
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(why).items()}
    values["n_tests"] = None if why.n_tests is None else float(why.n_tests)  # R has no integers beyond 32 bits
    return {"why": values, "text": str(why)}, {}


def _with_reasons(fit: PcAlgo, data: Mapping[str, Any] | None) -> PcAlgo:
    """`fit` with the reasons of its arrows, if they can be found."""
    if len(fit.sparse_graph) == fit.edge_counts()[1]:
        return fit
    same = (oriented for oriented in _orientations(fit, data) if oriented.graph == fit.sparse_graph)
    found = next(same, None)
    return fit if found is None else replace(fit, trace=found.trace)


def _orientations(fit: PcAlgo, data: Mapping[str, Any] | None) -> Iterator[Orientation]:
    """The graphs of the variants of `pc`; the graphs of the rules for triples, whose tests need the data, last."""
    skeleton = SparseGraph.undirected(fit.p, fit.sparse_graph.low, fit.sparse_graph.high)
    for solve_confl in (False, True):
        yield orient(skeleton, fit.sepset, solve_confl=solve_confl)
    yield orient(skeleton, fit.sepset, u2pd="retry", random_state=0)
    if data and fit.alpha is not None:
        test = GaussianTest(SuffStat(data["C"], data["n"]), fit.alpha)
        engine, _ = make_engine("cpu", fit.p)
        with warnings.catch_warnings(action="ignore"):  # the run that made the result has warned of its data
            engine.take(test, fit.labels)
        for maj_rule in (False, True):
            check = check_triples(skeleton, fit.sepset, test, engine.count_separating, maj_rule=maj_rule)
            ambiguous = check.undecided
            for solve_confl in (False, True):
                yield orient(skeleton, fit.sepset, solve_confl=solve_confl, ambiguous=ambiguous)
