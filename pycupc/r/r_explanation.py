"""Results that R holds: rebuilt from their arrays, compared, and why their edges are there, or not.

An object that pycupc made keeps its evidence (`kept_evidence`). An object of pcalg does not hold the reasons of its
marks, which are found by `pycupc.algorithm.reasons`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.reasons import with_reasons, with_reasons_of_marks
from pycupc.effects.effects import effects
from pycupc.effects.effects_result import Effects
from pycupc.graph.sparse import symbol
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.fisher_z import p_value
from pycupc.independence.gaussian.partial_correlation import canonical_r
from pycupc.r.conversions import from_plain, result_of, to_plain
from pycupc.r.kept_evidence import found_sets, kept_result
from pycupc.r.r_memory import square
from pycupc.r.sent_data import Sent, data_of, tests_of
from pycupc.results.causal_graph import CausalGraph
from pycupc.results.comparison import compare
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.serialisation import cell_arrays, graph_from_arrays

Answer = tuple[dict[str, Any], dict[str, NDArray[Any]]]
#: C and n, if R gave them.
Data = Mapping[str, Any]
#: The test of a result with its data, in each form that the answer may have; empty if R gave no data.
Tests = list[IndependenceTest]


def result_from(
    sent: Sent, options: Mapping[str, Any], side: str, found: Mapping[str, Any] | None = None, **facts: Any
) -> Any:
    """The result whose arrays R has `sent`, and whose values are in `options`, with names that begin with `side`.

    `found`: further arrays, as of `found_sets`.
    """
    arrays, values = (
        {name.removeprefix(side): value for name, value in given.items() if name.startswith(side)}
        for given in (sent, options)
    )
    return result_of(arrays, values, found, **facts)


def compared(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """Compare the results "a." and "b.", as values and arrays.

    R has sent the arrays of the two results, and `C` if it gave the data. `options` are the values of the results; `n`,
    with `C`; `alpha`, or None; `names` of the results. Of an object with evidence, the sets are compared as the tests
    found them.
    """
    a, b = (result_from(sent, options, side, found_sets(sent, options, side)) for side in ("a.", "b."))
    found = compare(a, b, suffStat=_gaussian_data(sent, options), alpha=options["alpha"], names=options["names"])
    rows = found.differences
    integers = np.array([(row.level, row.x + 1, row.y + 1, row.removed_by + 1) for row in rows], dtype=np.int32)
    numbers = np.array([(*row.p, row.condition) for row in rows], dtype=np.float64)
    arrays: dict[str, NDArray[Any]] = dict(
        zip(("level", "x", "y", "removed_by"), integers.reshape(-1, 4).T, strict=True)
    )
    arrays |= dict(zip(("p_a", "p_b", "condition"), numbers.reshape(-1, 3).T, strict=True))
    return {"equal": found.equal, "parts": found.parts, "text": found.text}, arrays


def cpdag_of(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """The CPDAG of the DAGs that extend the graph of `sent`; both as cells. `options` has its `labels`."""
    labels = tuple(map(str, options["labels"]))
    graph = CausalGraph(labels=labels, sparse_graph=graph_from_arrays(from_plain(sent), len(labels)))
    return {}, to_plain(cell_arrays(graph.to_cpdag().sparse_graph))


def _gaussian_data(sent: Sent, options: Mapping[str, Any]) -> Data | None:
    return {"C": square(sent["C"]), "n": options["n"]} if "C" in sent else None


def explain(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """Answer a question about the result "a.", as values and arrays; `sent` is as of `compared`, for one result.

    `options` are as of `compared`; `alpha_given`: whether the user gave it; `known`: whether the separating sets are
    known, of an fciAlgo whether the tests found them; of an fciAlgo `rules`, `jci`, `context`; `question`: "edges", or
    "why" with the positions `x` and `y`, from 1, or "page" with the `file` of the explorer, `around`, `radius` and
    `groups` as of `pycupc.r.pictures.picture`, the `name` of the data, `units` of all variables or none, whether
    the page shows `effects`, and the standard deviations (`spread`) of data of which R sends the correlations, or
    none. If R gave the data, also the options of `data_of`, and `test`."""
    alpha, data = options["alpha"], None
    if options.get("test") == "gaussCItest" and "pair_n" not in sent and alpha is not None:
        data = _gaussian_data(sent, options)
    known = {"known": Correlations(data["C"])} if data else {}
    fit = kept_result(sent, options, "a.", **known)
    if fit is None:
        fit = _rebuilt(sent, options, data, known)
    elif options["alpha_given"]:
        fit = _with_alpha(fit, alpha)
    if options["question"] == "edges":
        return _edges(fit, data)
    if options["question"] == "why":
        return _why(fit, options)
    around = [int(v) - 1 for v in options["around"]] or None
    groups = [str(name) or None for name in options["groups"]] or None
    moved = _effects(fit, sent, options) if options["effects"] else None
    units = {label: str(unit) for label, unit in zip(fit.labels, options["units"], strict=False) if unit}
    page = {"name": str(options["name"]), "units": units, "effects": moved, "groups": groups}
    fit.explore(options["file"], show=False, around=around, radius=int(options["radius"]), **page)
    return {}, {}


def _effects(fit: PcAlgo, sent: Sent, options: Mapping[str, Any]) -> Effects:
    """The possible effects; in the units of the data if R has sent their standard deviations."""
    found = effects(fit, data_of(sent, options, fit.labels)[0])
    spread = np.array(options["spread"], dtype=np.float64)
    return replace(found, C=found.C * np.outer(spread, spread)) if len(spread) else found


def _with_alpha(fit: PcAlgo | PagAlgo, alpha: float) -> PcAlgo | PagAlgo:
    if isinstance(fit, PagAlgo):
        return replace(fit, skeleton_fit=replace(fit.skeleton_fit, alpha=alpha))
    return replace(fit, alpha=alpha)


def _rebuilt(sent: Sent, options: Mapping[str, Any], data: Data | None, known: dict[str, Any]) -> Any:
    """The result of an object without evidence, with the reasons of its marks, if they can be found."""
    alpha, tests = options["alpha"], Tests()
    if options.get("test"):
        with warnings.catch_warnings():  # the run that made the result has warned of its data
            warnings.simplefilter("ignore")
            tests = tests_of(sent, options, options["a.labels"], math.nan if alpha is None else alpha)
    facts: dict[str, Any] = ({"alpha": alpha} if tests else {}) | ({"n": data["n"], **known} if data else {})
    fit: Any
    if "a.edge.low" in sent:
        # the edges have the p-values of the object
        given = {"alpha": alpha} if options["question"] == "edges" else facts
        fit = result_from(sent, options, "a.", as_found=options["known"], **given)
        context = [int(v) for v in options["context"]] if options["jci"] else []
        how = {"rules": options["rules"], "jci": options["jci"], "context": context}
        fit = with_reasons_of_marks(fit if data is None else _with_later_r(fit, data), tests, **how)
    else:
        fit = result_from(sent, options, "a.", **facts)
        if options["known"]:
            fit = with_reasons(fit, tests)
    if tests and options["question"] != "edges":
        of_levels = fit._tests_of_levels()
        of_levels.find_untested = tests[0].find_untested(of_levels.found_sepset, of_levels.p_values)
    return fit


def _edges(fit: PcAlgo | PagAlgo, data: Data | None) -> Answer:
    """The list of edges: `columns` has the names of all, in order; numbers are arrays, texts values."""
    tail, head, kind = fit.sparse_graph.edge_list()
    names = np.array(fit.labels, dtype=object)
    columns: dict[str, NDArray[Any]] = {"from": names[tail], "to": names[head], "type": kind, **fit.edge_attributes()}
    if data and np.isnan(columns["r"]).all():  # of an object without evidence
        columns["r"] = data["C"][tail, head]
    if isinstance(fit, PagAlgo):
        marks = fit.sparse_graph.amat_pag()
        drawn = [symbol(marks[b, a], marks[a, b]) for a, b in zip(tail, head, strict=True)]
        columns = {"from": columns.pop("from"), "edge": np.array(drawn, dtype=object), **columns}
    numbers = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    texts = {name: values.tolist() for name, values in columns.items() if name not in numbers}
    return {"columns": list(columns), **texts}, numbers


def _why(fit: PcAlgo | PagAlgo, options: Mapping[str, Any]) -> Answer:
    why = fit.why(int(options["x"]) - 1, int(options["y"]) - 1)
    if isinstance(fit, PagAlgo) and why.status == "kept" and why.r is None:
        why = replace(why, n_tests=None)  # the p-value may come from a test after the levels
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(why).items()}
    values["n_tests"] = None if why.n_tests is None else float(why.n_tests)  # R has no integers beyond 32 bits
    if why.set_by is not None:
        values["set_by"] = [list(reason or ()) for reason in why.set_by]
    return {"why": values, "text": str(why)}, {}


def _with_later_r(fit: PagAlgo, data: Data) -> PagAlgo:
    """`fit`, whose tests after the levels get the r and the p-values that follow from the data."""
    later = fit.later
    for k, (x, y) in enumerate(zip(later.x.tolist(), later.y.tolist(), strict=True)):
        S = sorted(later.S.of_one(k))
        later.value[k] = canonical_r(data["C"], x, y, S)
        later.p[k] = p_value(later.value[k], data["n"], len(S))
    return fit
