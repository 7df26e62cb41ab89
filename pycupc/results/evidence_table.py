"""The separating sets of a result as a table, with the evidence for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.gaussian import fisher_z

if TYPE_CHECKING:
    from pycupc.results.pcalgo import PcAlgo

SEPSETS = (
    "pairs separated by a non-empty set: x, y in pcalg's order, level, set (names delimited by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r|; the sets are those of the tests, before --conservative or --maj-rule "
    "changed any. A pair that is neither here nor in edges.csv was separated by the empty set, or is a fixed gap"
)


def sepset_columns(fit: PcAlgo) -> dict[str, NDArray[Any]]:
    """Columns of the table of the separating sets found at level 1 and above by the Gaussian test: see `SEPSETS`.

    Raises
    ------
    ValueError
        If the result is not of the Gaussian test, or was loaded without its partial correlations.
    """
    if fit.n is None or fit.alpha is None:
        raise ValueError("the table of separating sets needs a result of the Gaussian test, with n and alpha")
    removals, names = fit.removals, np.array(fit.labels, dtype=object)
    x, y, length, members = fit.found_sepset.flat()
    r = removals.r[np.lexsort((removals.y, removals.x))]  # by row, as the cells are ordered
    kept_r = np.clip(np.nan_to_num(r), -fisher_z.R_MAX, fisher_z.R_MAX)
    z, cutoff = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(length).tolist():
        at = length == level
        z[at] = np.copysign(fisher_z.z_score(kept_r[at], fit.n, level), kept_r[at])
        cutoff[at] = fisher_z.cutoff(fit.alpha, fit.n, level)
    flat, ends = names[members].tolist(), np.cumsum(length, dtype=np.int64).tolist()
    sets = [" | ".join(flat[end - size : end]) for size, end in zip(length.tolist(), ends, strict=True)]
    columns = {"x": names[x], "y": names[y], "level": length, "set": np.array(sets, dtype=object)}
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoff - np.abs(kept_r)}
