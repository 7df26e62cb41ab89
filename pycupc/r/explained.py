"""Results that R holds: rebuilt from their arrays, compared, and why their edges are there, or not.

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
from pycupc.independence.gaussian.correlations import Correlations
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.orientation import Orientation, check_triples, orient
from pycupc.r.conversions import from_plain
from pycupc.r.r_memory import square
from pycupc.results.arrays import graph_from_arrays, only_stored_cells
from pycupc.results.comparison import compare
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

Sent = Mapping[str, NDArray[Any]]
Answer = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def result_from(sent: Sent, options: Mapping[str, Any], side: str, **facts: Any) -> PcAlgo:
    """The result whose arrays R has `sent`, and whose values are in `options`, with names that begin with `side`.

    `facts` are further arguments of `PcAlgo.from_arrays`. With the correlations `C` among them, all p-values but those
    of the edges are computed from these.
    """
    arrays = from_plain({name.removeprefix(side): array for name, array in sent.items() if name.startswith(side)})
    labels = options[side + "labels"]
    final, found = ({name: f"{sets}_{name}" for name in ("x", "y", "len", "members")} for sets in ("sepset", "found"))
    gaps = {"x": "gap_x", "y": "gap_y"}
    if options[side + "every_cell"]:
        arrays |= only_stored_cells(arrays, len(labels))
    if options[side + "found"] and options[side + "found_every_cell"]:
        as_final = {final[name]: arrays[found[name]] for name in final}
        stored = only_stored_cells({**arrays, **as_final}, len(labels))
        arrays |= {found[name]: stored[final[name]] for name in final}
        arrays |= {f"found_{gap}": stored[gap] for gap in gaps.values()}
    if (C := facts.pop("C", None)) is not None:
        facts["known"] = Correlations(C)
        graph = graph_from_arrays(arrays, len(labels))
        arrays["edge_p"] = arrays.pop("pMax").reshape(graph.p, graph.p)[graph.low, graph.high]
    return PcAlgo.from_arrays(arrays, labels=labels, max_ord=int(options[side + "max_ord"]), **facts)


def pag_from(sent: Sent, options: Mapping[str, Any], side: str) -> PagAlgo:
    """As `result_from`, of an fciAlgo."""
    arrays = from_plain({name.removeprefix(side): array for name, array in sent.items() if name.startswith(side)})
    labels = [str(label) for label in options[side + "labels"]]
    return PagAlgo.from_answer(
        only_stored_cells(arrays, len(labels)),
        labels=labels,
        max_ord=int(options[side + "max_ord"]),
        max_ord_pdsep=int(options[side + "max_ord_pdsep"]),
        call=options[side + "call"],
        engine="R",
    )


def compared(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """Compare the results "a." and "b.", as values and arrays.

    Parameters
    ----------
    sent : mapping of str to array
        The arrays that R has sent: of the two results and, if R gave the data, `C`.
    options : mapping
        The values of the results; `n`, with `C`; `alpha`, or None; `names` of the results.
    """
    a, b = (
        pag_from(sent, options, side) if f"{side}edge.low" in sent else result_from(sent, options, side)
        for side in ("a.", "b.")
    )
    found = compare(a, b, suffStat=_gaussian_data(sent, options), alpha=options["alpha"], names=options["names"])
    rows = found.differences
    integers = {
        "level": [row.level for row in rows],
        "x": [row.x + 1 for row in rows],
        "y": [row.y + 1 for row in rows],
    }
    integers["removed_by"] = [row.removed_by + 1 for row in rows]
    numbers = {"p_a": [row.p[0] for row in rows], "p_b": [row.p[1] for row in rows]}
    numbers["condition"] = [row.condition for row in rows]
    arrays: dict[str, NDArray[Any]] = {name: np.array(values, dtype=np.int32) for name, values in integers.items()}
    arrays |= {name: np.array(values, dtype=np.float64) for name, values in numbers.items()}
    return {"equal": found.equal, "parts": found.parts, "text": found.text}, arrays


def _gaussian_data(sent: Sent, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The data of a result, where R gave them."""
    return {"C": square(sent["C"]), "n": options["n"]} if "C" in sent else None


def explain(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """Answer a question about the result "a.", as values and arrays.

    Parameters
    ----------
    sent : mapping of str to array
        As of `compared`, for one result.
    options : mapping
        As of `compared`; `known`: whether the separating sets are known; `question`: "edges", or "why" with the
        positions `x` and `y`, from 1.
    """
    data = _gaussian_data(sent, options)
    facts = {"alpha": options["alpha"], **data} if data and options["alpha"] is not None else {}
    fit = result_from(sent, options, "a.", **facts)
    if options["known"]:
        fit = _with_reasons(fit, data)
    if options["question"] == "edges":
        tail, head, kind = fit.sparse_graph.edge_list()
        found = fit.edge_attributes()
        arrays = {"from": tail.astype(np.int32) + 1, "to": head.astype(np.int32) + 1, "pMax": found["pMax"]}
        return {"type": kind.tolist(), "set_by": found["set_by"].tolist()}, arrays
    why = fit.why(int(options["x"]) - 1, int(options["y"]) - 1)
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
        with warnings.catch_warnings():  # the run that made the result has warned of its data
            warnings.simplefilter("ignore")
            engine.take(test, fit.labels)
        for maj_rule in (False, True):
            check = check_triples(skeleton, fit.sepset, test, engine.count_separating, maj_rule=maj_rule)
            ambiguous = check.undecided
            for solve_confl in (False, True):
                yield orient(skeleton, fit.sepset, solve_confl=solve_confl, ambiguous=ambiguous)
