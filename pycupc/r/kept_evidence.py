"""The evidence that R's object of a result keeps: the bytes of the complete result, but for the p-values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.r.conversions import from_plain
from pycupc.r.sent_data import Sent
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.serialisation import graph_from_arrays, sepset_arrays


def kept_result(sent: Sent, options: Mapping[str, Any], side: str, known: Correlations | None = None) -> Any:
    """The result whose object R has `sent`, from its evidence; None if it has none, or its skeleton is another.

    `sent` and `options` are as of `r_explanation.result_from`; `known`: the correlations, if R gave the data.

    If the marks of the object are others than those of the evidence, as after cu_to_cpdag(), the reasons of those in
    which the two agree are known; none where R's generator has drawn the graph.
    """
    if f"{side}evidence" not in sent:
        return None
    arrays = from_plain({name.removeprefix(side): values for name, values in sent.items() if name.startswith(side)})
    labels = tuple(map(str, options[f"{side}labels"]))
    graph = graph_from_arrays(arrays, p := len(labels))
    fit: PcAlgo | PagAlgo
    try:
        fit = (PagAlgo if "edge_low" in arrays else PcAlgo).from_bytes(
            sent[f"{side}evidence"].tobytes(), arrays["pMax"].reshape(p, p, order="F"), known
        )
    except ValueError as error:
        warnings.warn(f"the evidence that the object keeps is not used, since {error}", stacklevel=2)
        return None
    if fit.labels != labels or not _same_pairs(graph, fit.sparse_graph):
        return None
    if graph == fit.sparse_graph and fit._tests_of_levels().orientation != "random":
        return fit
    drawn = fit._tests_of_levels().orientation == "random"
    return replace(fit, sparse_graph=graph, trace={} if drawn else _of_common_marks(fit, graph))


def _same_pairs(a: SparseGraph, b: SparseGraph) -> bool:
    return np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)


def _of_common_marks(fit: PcAlgo | PagAlgo, graph: SparseGraph) -> dict[tuple[int, int], tuple[Any, ...]]:
    """The reasons of the marks that `graph` has as well."""
    own = fit.sparse_graph
    ends = [*zip(own.low.tolist(), own.high.tolist(), strict=True)]
    same = np.concatenate([own.high_mark == graph.high_mark, own.low_mark == graph.low_mark]).tolist()
    pairs = {end for end, kept in zip([*ends, *((b, a) for a, b in ends)], same, strict=True) if kept}
    return {pair: reason for pair, reason in fit.trace.items() if pair in pairs}


def found_sets(sent: Sent, options: Mapping[str, Any], side: str) -> dict[str, Any]:
    """The arrays "found_..." of the sets as the tests found them, if the evidence says that a rule changed some."""
    fit = kept_result(sent, options, side)
    if fit is None or fit.found_sepset is fit.sepset:
        return {}
    return sepset_arrays(fit.found_sepset, "found_")
