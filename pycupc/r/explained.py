"""Results that R holds: rebuilt from their arrays, compared, and why their edges are there, or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import symbol
from pycupc.independence.gaussian.correlations import Correlations
from pycupc.r.conversions import from_plain
from pycupc.r.r_memory import square
from pycupc.r.reasons import with_known, with_reasons, with_reasons_of_marks
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
    arrays = _arrays(sent, options, side)
    labels = options[side + "labels"]
    if "C" in facts:
        facts["known"] = Correlations(facts.pop("C"))
        graph = graph_from_arrays(arrays, len(labels))
        arrays["edge_p"] = arrays.pop("pMax").reshape(graph.p, graph.p)[graph.low, graph.high]
    return PcAlgo.from_arrays(arrays, labels=labels, max_ord=int(options[side + "max_ord"]), **facts)


def pag_from(sent: Sent, options: Mapping[str, Any], side: str, **facts: Any) -> PagAlgo:
    """As `result_from`, of an fciAlgo; `facts` as of `PagAlgo.from_answer`."""
    if "C" in facts:
        facts["known"] = Correlations(facts.pop("C"))
    arrays, labels = _arrays(sent, options, side), [str(label) for label in options[side + "labels"]]
    return PagAlgo.from_answer(
        arrays,
        labels=labels,
        max_ord=int(options[side + "max_ord"]),
        max_ord_pdsep=int(options[side + "max_ord_pdsep"]),
        call=options[side + "call"],
        engine="R",
        **facts,
    )


def _arrays(sent: Sent, options: Mapping[str, Any], side: str) -> dict[str, NDArray[Any]]:
    """The arrays of a result, without the cells that `SepSets` implies."""
    arrays = from_plain({name.removeprefix(side): array for name, array in sent.items() if name.startswith(side)})
    p = len(options[side + "labels"])
    final, found = ({name: f"{sets}_{name}" for name in ("x", "y", "len", "members")} for sets in ("sepset", "found"))
    if options[side + "every_cell"]:
        arrays |= only_stored_cells(arrays, p)
    if options[side + "found"] and options[side + "found_every_cell"]:
        as_final = {final[name]: arrays[found[name]] for name in final}
        stored = only_stored_cells({**arrays, **as_final}, p)
        arrays |= {found[name]: stored[final[name]] for name in final}
        arrays |= {f"found_{gap}": stored[gap] for gap in ("gap_x", "gap_y")}
    return arrays


def compared(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """Compare the results "a." and "b.", as values and arrays.

    R has sent the arrays of the two results, and `C` if it gave the data. `options` are the values of the results; `n`,
    with `C`; `alpha`, or None; `names` of the results.
    """
    a, b = (
        pag_from(sent, options, side) if f"{side}edge.low" in sent else result_from(sent, options, side)
        for side in ("a.", "b.")
    )
    found = compare(a, b, suffStat=_gaussian_data(sent, options), alpha=options["alpha"], names=options["names"])
    rows = found.differences
    integers = np.array([(row.level, row.x + 1, row.y + 1, row.removed_by + 1) for row in rows], dtype=np.int32)
    numbers = np.array([(*row.p, row.condition) for row in rows], dtype=np.float64)
    arrays: dict[str, NDArray[Any]] = dict(
        zip(("level", "x", "y", "removed_by"), integers.reshape(-1, 4).T, strict=True)
    )
    arrays |= dict(zip(("p_a", "p_b", "condition"), numbers.reshape(-1, 3).T, strict=True))
    return {"equal": found.equal, "parts": found.parts, "text": found.text}, arrays


def _gaussian_data(sent: Sent, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The data of a result, where R gave them."""
    return {"C": square(sent["C"]), "n": options["n"]} if "C" in sent else None


def explain(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """Answer a question about the result "a.", as values and arrays; `sent` is as of `compared`, for one result.

    `options` are as of `compared`, and `known`: whether the separating sets are known, of an fciAlgo whether they are
    those of the tests; `before`, what was known before the tests, or None; of an fciAlgo `rules`, `jci`, `context`;
    `question`: "edges", or "why" with the positions `x` and `y`, from 1.
    """
    data = _gaussian_data(sent, options)
    facts = {"alpha": options["alpha"], **data} if data and options["alpha"] is not None else {}
    if "a.edge.low" in sent:
        return _explained_pag(sent, options, facts)
    fit = result_from(sent, options, "a.", **facts)
    if options["before"] is not None:
        fit = with_known(fit, options["before"], sent, data)
    elif options["known"]:
        fit = with_reasons(fit, data)
    return _edges(fit) if options["question"] == "edges" else _why(fit, options)


def _explained_pag(sent: Sent, options: Mapping[str, Any], facts: Mapping[str, Any]) -> Answer:
    """As `explain`, of an fciAlgo."""
    edges = options["question"] == "edges"  # which has the p-values of the object
    known = {"alpha": options["alpha"]} if edges else facts
    fit = pag_from(sent, options, "a.", as_found=options["known"], **known)
    fit = with_reasons_of_marks(fit, options, facts)
    if not edges:
        return _why(fit, options)
    marks, ends = fit.sparse_graph.amat_pag(), zip(*fit.sparse_graph.edge_list()[:2], strict=True)
    values, arrays = _edges(fit)
    more = {"edge": [symbol(marks[b, a], marks[a, b]) for a, b in ends]}
    return values | more | {"from_set_by": fit.edge_attributes()["from_set_by"].tolist()}, arrays


def _edges(fit: PcAlgo | PagAlgo) -> Answer:
    tail, head, kind = fit.sparse_graph.edge_list()
    found = fit.edge_attributes()
    arrays = {"from": tail.astype(np.int32) + 1, "to": head.astype(np.int32) + 1, "pMax": found["pMax"]}
    return {"type": kind.tolist(), "set_by": found["set_by"].tolist()}, arrays


def _why(fit: PcAlgo | PagAlgo, options: Mapping[str, Any]) -> Answer:
    why = fit.why(int(options["x"]) - 1, int(options["y"]) - 1)
    if isinstance(fit, PagAlgo) and why.status == "kept" and why.r is None:
        why = replace(why, n_tests=None)  # the p-value may be that of a test after the levels
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(why).items()}
    values["n_tests"] = None if why.n_tests is None else float(why.n_tests)  # R has no integers beyond 32 bits
    if why.set_by is not None:
        values["set_by"] = [list(reason or ()) for reason in why.set_by]
    return {"why": values, "text": str(why)}, {}
