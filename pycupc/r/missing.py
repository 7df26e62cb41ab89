"""The data of tests for missing values from R's vectors; the other half is r_wrapper/R/missing.R."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.missing.data import IncompleteTable, MultipleImputation


def missing_data(
    options: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], labels: Sequence[str]
) -> dict[str, Any]:
    """The argument `suffStat` of the test that `options` name."""
    p, test = len(labels), options["test"]
    if test == "gaussMItest":
        matrices = arrays["C"].reshape(-1, p, p)
        return {"suffStat": MultipleImputation.from_correlations(list(matrices), options["n"], labels)}
    if test == "disMItest":
        codes = arrays["dm"].reshape(-1, p, int(options["n"]))
        return {"suffStat": MultipleImputation.from_codes(codes, options["nlev"], labels)}
    if test == "gaussCItwd":
        return {"suffStat": IncompleteTable(arrays["x"].reshape(p, -1).T, labels)}
    dm = arrays["dm"].reshape(p, -1).T.astype(np.float64)
    dm[dm < 0] = np.nan  # R's NA
    return {"suffStat": IncompleteTable(dm, labels, categories=True, adaptDF=options["adaptDF"])}
