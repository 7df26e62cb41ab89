"""A `Stability` as plain values, and back. R keeps the values, and sends them with each question about the result.

    pair.from, pair.to                              pairs ever adjacent, alpha by alpha, as `Stability.edges`    int32
    pair.directed, .reversed, .undirected,
    .bidirected; of a PAG .from_circle, ...         resamples with each kind of such a pair, or each mark        int32
    n_constant, n_copies                            one number for each resample                                 int32
    constant                                        one number for each variable                                 int32
    n_tests                                         (number of alphas, n_resamples)                              float64

Indices count from 1. The other values are single numbers and strings, and `n_pairs_ever`, the number of pairs for each
alpha. `quirks`, a warning, is not sent back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.r.conversions import to_plain
from pycupc.r.messages import in_r
from pycupc.results.serialisation import cell_arrays, edge_arrays
from pycupc.stability import CStaR, Stability
from pycupc.stability.consensus import Counting, Counts, counting
from pycupc.stability.rows import Resampling

Arrays = dict[str, NDArray[Any]]
Values = dict[str, Any]

_NUMBERS = ("n_constant", "n_copies", "constant")


def to_values(result: Stability) -> tuple[Values, Arrays]:
    """The result as single values and arrays."""
    place = {label: i for i, label in enumerate(result.labels, 1)}
    columns = result.columns()
    arrays: Arrays = {f"pair.{end}": np.array([place[label] for label in columns[end]]) for end in ("from", "to")}
    arrays |= {f"pair.{mark}": np.rint(columns[mark] * result.n_resamples) for mark in counting(result.method).names}
    arrays |= {name: getattr(result, name) for name in _NUMBERS}
    arrays = {name: values.astype(np.int32) for name, values in arrays.items()} | {"n_tests": result.n_tests.T}
    values = _drawn(result) | {name: float(getattr(result, name)) for name in ("n_pairs", "n_fixed")}
    values |= {"quirks": in_r(result.notes.get("quirks", ""), result.labels)}
    values |= {
        "method": result.method,
        "alphas": list(result.alphas),
        "n_pairs_ever": [float(len(counts.low)) for counts in result.counts],
    }
    return values, arrays


def ranking_values(result: CStaR) -> tuple[Values, Arrays]:
    """The ranking of `cstar`: positions of the variables from 1, the other columns, and single values."""
    place = {label: i for i, label in enumerate(result.labels, 1)}
    arrays: Arrays = dict(result.columns())
    for end in ("cause", "effect"):
        arrays[end] = np.array([place[label] for label in arrays[end]], dtype=np.int32)
    return _drawn(result) | {"n_pairs": float(result.n_pairs)}, {**arrays, "q": result.q.astype(np.int32)}


def _drawn(result: Stability | CStaR) -> Values:
    drawn, n_resamples = result.resampling, float(result.n_resamples)
    values: Values = {"n": float(drawn.n), "n_resamples": n_resamples, "seed": float(drawn.seed)}
    return values | {"scheme": drawn.scheme, "fraction": drawn.fraction}


def from_values(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Stability:
    """The reverse of `to_values`."""
    labels, method = tuple(map(str, values["labels"])), values["method"]
    kinds = counting(method)
    ends = np.cumsum([int(size) for size in values["n_pairs_ever"]])
    pairs = np.stack([arrays[f"pair.{name}"] for name in ("from", "to", *kinds.names)], axis=1)
    numbers: dict[str, Any] = {name: arrays[name].astype(np.int64) for name in _NUMBERS}
    numbers |= {name: int(values[name]) for name in ("n_pairs", "n_fixed")}
    return Stability(
        labels=labels,
        alphas=tuple(map(float, values["alphas"])),
        resampling=Resampling(int(values["n"]), values["scheme"], values["fraction"], int(values["seed"])),
        resamples=np.arange(int(values["n_resamples"]), dtype=np.int64),
        counts=tuple(_counts(of_alpha, len(labels), kinds) for of_alpha in np.split(pairs, ends[:-1])),
        n_tests=arrays["n_tests"].reshape(len(ends), -1).T,
        arguments={},
        method=method,
        **numbers,
    )


def _counts(pairs: NDArray[np.int32], p: int, counted: Counting) -> Counts:
    """The counts of pairs, which may be listed in any order and direction."""
    ends, kinds = pairs[:, :2] - 1, pairs[:, 2:].copy()
    turned = ends[:, 0] > ends[:, 1]
    kinds[turned] = kinds[turned][:, counted.turned]
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.argsort(low.astype(np.int64) * p + high)
    return Counts(low[order], high[order], kinds[order])


def answer(arrays: Mapping[str, NDArray[Any]], options: Mapping[str, Any]) -> tuple[Values, Arrays]:
    """Answer the `question` "consensus", "bound", "threshold_for" or "indices": call this method of a result.

    The result is in `arrays` and `options`, as `from_values` takes it; the arguments are in the option `given`.
    """
    question, given = options["question"], dict(options["given"])
    if question == "indices":
        given["i"] = int(given["i"]) - 1
    found = getattr(from_values(options, arrays), question)(**given)
    if question == "consensus":
        graph = found.sparse_graph
        return {}, to_plain(edge_arrays(graph) | (cell_arrays(graph) if options["method"] == "pc" else {}))
    if question == "indices":
        return {}, {"indices": (found + 1).astype(np.int32)}
    return {"value": found}, {}
