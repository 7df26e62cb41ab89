"""Files of `Stability` results, and the checks of such a file before anything is computed from it.

meta      labels, alphas, n, scheme, fraction, random_state, n_pairs, n_fixed, arguments, notes, method
arrays    resamples, n_constant, n_copies (one number per resample), constant (one per variable),
          n_tests (float64: resample by resample, the alphas of each one after the other),
          and for the alpha with the number k: low_k, high_k, kinds_k (pair by pair, four numbers each, of a PAG six)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_labels
from pycupc.results.methods import ORIENTING
from pycupc.results.schema import indices, require
from pycupc.results.serialisation import pairs_in_order
from pycupc.stability.consensus import Counts, counting
from pycupc.stability.over_resamples import DRAWN
from pycupc.stability.rows import Resampling

#: The arrays of whole numbers in the file of a `Stability`, without its counts.
NUMBERS = ("resamples", "n_constant", "n_copies", "constant")


def stability_fields(about: Mapping[str, Any], values: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The attributes of a `Stability` from its file; ValueError if they are out of range."""
    require(isinstance(about["labels"], list) and len(about["labels"]) > 1, "labels", about["labels"])
    labels = check_labels(about["labels"], len(about["labels"]))
    for name in ("n", "n_pairs", "n_fixed", "random_state"):
        require(type(about[name]) is int and about[name] >= 0, name, about[name])
    require(isinstance(about["arguments"], dict), "arguments", about["arguments"])
    notes = about.get("notes", {})  # older files have none
    require(isinstance(notes, dict) and all(type(text) is str for text in notes.values()), "notes", notes)
    method = about.get("method", "pc")
    require(method in ORIENTING, "method", method)
    alphas = about["alphas"]
    require(isinstance(alphas, list) and len(alphas) > 0, "alphas", alphas)
    require(all(type(a) in (int, float) and 0 <= a <= 1 for a in alphas), "alphas", alphas)
    numbers = {name: indices(values, name) for name in NUMBERS}
    B, p, tests = len(numbers["resamples"]), len(labels), values["n_tests"]
    require(B > 0 and bool((np.diff(numbers["resamples"]) > 0).all()), "resamples", "none, or out of order")
    for name, size in zip(NUMBERS, (B, B, B, p), strict=True):
        require(len(numbers[name]) == size, name, f"{len(numbers[name])} numbers")
    require(tests.dtype.kind == "f" and tests.shape == (B * len(alphas),), "n_tests", tests.shape)
    require(bool(np.isfinite(tests).all() and (tests >= 0).all()), "n_tests", "negative or not finite")
    return {
        "labels": labels,
        "alphas": tuple(map(float, alphas)),
        "resampling": Resampling(*(about[name] for name in DRAWN)),
        "counts": tuple(_counts(values, k, p, B, len(counting(method).names)) for k in range(len(alphas))),
        "n_tests": tests.reshape(B, len(alphas)).astype(np.float64),
        **numbers,
        **{name: about[name] for name in ("n_pairs", "n_fixed", "arguments")},
        "method": method,
        "notes": notes,
    }


def _counts(values: Mapping[str, NDArray[Any]], k: int, p: int, n_resamples: int, n_columns: int) -> Counts:
    m, kinds = len(pairs_in_order(values, f"low_{k}", f"high_{k}", p, f"low_{k}")), indices(values, f"kinds_{k}")
    require(len(kinds) == n_columns * m, f"kinds_{k}", f"{len(kinds)} numbers")
    counts = Counts(values[f"low_{k}"], values[f"high_{k}"], kinds.reshape(-1, n_columns).astype(np.int32))
    ends = counts.kinds.reshape(m, counts.counting.columns.shape[1], -1).sum(axis=2)  # once for each mark
    right = bool((ends > 0).all() and (ends <= n_resamples).all() and (ends == ends[:, :1]).all())
    require(right, f"kinds_{k}", "out of range")
    return counts
