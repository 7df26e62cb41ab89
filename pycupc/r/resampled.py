"""A `Stability` as plain values, and back. R keeps the values, and sends them with each question about the result.

    pair_from, pair_to                              pairs ever adjacent, alpha by alpha, as `Stability.edges`    int32
    pair_directed, _reversed, _undirected,
    _bidirected                                     resamples with each mark of such a pair                      int32
    n_constant, n_copies                            one number for each resample                                 int32
    constant                                        one number for each variable                                 int32
    n_tests                                         (number of alphas, n_resamples)                              float64

Indices count from 0. The other values are single numbers and strings, and `n_pairs_ever`, the number of pairs for each
alpha. `quirks`, a warning, is not sent back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.results.arrays import graph_arrays
from pycupc.stability import Stability
from pycupc.stability.consensus import FREQUENCIES, Counts
from pycupc.stability.rows import Resampling

__all__ = ["answer", "from_values", "to_values"]

Arrays = dict[str, NDArray[Any]]
Values = dict[str, Any]

_MARKS = FREQUENCIES[1:]
_NUMBERS = ("n_constant", "n_copies", "constant")


def to_values(result: Stability) -> tuple[Values, Arrays]:
    """The result as single values and arrays."""
    resampling, place = result.resampling, {label: i for i, label in enumerate(result.labels)}
    columns = result.columns()
    arrays: Arrays = {
        f"pair_{end}": np.array([place[label] for label in columns[end]], dtype=np.int32) for end in ("from", "to")
    }
    for mark in _MARKS:
        arrays[f"pair_{mark}"] = np.rint(columns[mark] * result.n_resamples).astype(np.int32)
    arrays |= {name: getattr(result, name).astype(np.int32) for name in _NUMBERS}
    arrays["n_tests"] = np.ascontiguousarray(result.n_tests.T, dtype=np.float64)
    values = {
        "alphas": list(result.alphas),
        "n": float(resampling.n),
        "scheme": resampling.scheme,
        "fraction": resampling.fraction,
        "seed": float(resampling.seed),
        "n_resamples": float(result.n_resamples),
        "n_pairs": float(result.n_pairs),
        "n_fixed": float(result.n_fixed),
        "n_pairs_ever": [float(len(counts.low)) for counts in result.counts],
        "quirks": result.notes.get("quirks", ""),
    }
    return values, arrays


def from_values(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Stability:
    """The reverse of `to_values`; `arrays` as bytes."""
    labels = tuple(map(str, values["labels"]))
    ints = {name: np.frombuffer(arrays[name], dtype=np.int32) for name in arrays if name != "n_tests"}
    ends = np.cumsum([int(size) for size in values["n_pairs_ever"]])
    starts = np.concatenate([[0], ends[:-1]])
    resampling = Resampling(int(values["n"]), values["scheme"], values["fraction"], int(values["seed"]))
    tests = np.frombuffer(arrays["n_tests"], dtype=np.float64).reshape(len(ends), -1)
    numbers: dict[str, Any] = {name: ints[name].astype(np.int64) for name in _NUMBERS}
    return Stability(
        labels=labels,
        alphas=tuple(map(float, values["alphas"])),
        resampling=resampling,
        resamples=np.arange(int(values["n_resamples"]), dtype=np.int64),
        counts=tuple(
            _counts({name: ints[f"pair_{name}"][start:end] for name in ("from", "to", *_MARKS)}, len(labels))
            for start, end in zip(starts, ends, strict=True)
        ),
        n_tests=tests.T,
        n_pairs=int(values["n_pairs"]),
        n_fixed=int(values["n_fixed"]),
        arguments={},
        **numbers,
    )


def _counts(listed: Mapping[str, NDArray[np.int32]], p: int) -> Counts:
    """The counts of pairs, which may be listed in any order and direction."""
    turned = listed["from"] > listed["to"]
    low, high = np.minimum(listed["from"], listed["to"]), np.maximum(listed["from"], listed["to"])
    kinds = np.stack([listed[mark] for mark in _MARKS], axis=1)
    kinds[turned, :2] = kinds[turned, 1::-1]
    order = np.argsort(low.astype(np.int64) * p + high)
    return Counts(low[order], high[order], kinds[order])


def answer(question: str, result: Stability, given: Mapping[str, Any]) -> tuple[Values, Arrays]:
    """Answer a question from R: call a method of a result with the given arguments."""
    methods: dict[str, Callable[..., Any]] = {
        "consensus": result.consensus,
        "bound": result.bound,
        "threshold_for": result.threshold_for,
        "indices": result.indices,
    }
    found = methods[question](**given)
    if question == "consensus":
        return {}, graph_arrays(found.sparse_graph)
    if question == "indices":
        return {}, {"indices": found.astype(np.int32)}
    return {"value": found}, {}
