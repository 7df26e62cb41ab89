"""The separating sets of a result as a table, with the evidence for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.gaussian import fisher_z
from pycupc.results.evidence import GaussianPValues

if TYPE_CHECKING:
    from pycupc.results.pcalgo import PcAlgo

SEPSETS = (
    "pairs separated by a non-empty set: x, y in pcalg's order, level, set (names delimited by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r| (for discrete data p, and a note: 'not enough data' where the test was "
    "not made); the sets are those of the tests, before --conservative or --maj-rule changed any. A pair that is "
    "neither here nor in edges.csv was separated by the empty set, or is a fixed gap"
)


def sepset_columns(fit: PcAlgo) -> dict[str, NDArray[Any]]:
    """Columns of the table of the separating sets found at level 1 and above: see `SEPSETS`.

    Raises
    ------
    ValueError
        If the result of a Gaussian test was loaded without its partial correlations.
    """
    names = np.array(fit.labels, dtype=object)
    x, y, length, members = fit.found_sepset.flat()
    flat, ends = names[members].tolist(), np.cumsum(length, dtype=np.int64).tolist()
    sets = [" | ".join(flat[end - size : end]) for size, end in zip(length.tolist(), ends, strict=True)]
    columns = {"x": names[x], "y": names[y], "level": length, "set": np.array(sets, dtype=object)}
    if not isinstance(fit.p_values, GaussianPValues):
        p = [fit.p_values.at(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        needed = fit.untested.needed_by(x, y).tolist()
        note = [f"not enough data: {k:,} observations needed, {fit.n:,} there" if k else "" for k in needed]
        columns["p"] = np.array(p, dtype=np.float64)
        return {**columns, "note": np.array(note, dtype=object)} if any(needed) else columns
    if fit.n is None or fit.alpha is None:
        raise ValueError("the table of separating sets needs n and alpha")
    removals = fit.removals
    r = removals.r[np.lexsort((removals.y, removals.x))]  # by row, as the cells are ordered
    kept_r = np.clip(np.nan_to_num(r), -fisher_z.R_MAX, fisher_z.R_MAX)
    z, cutoff = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(length).tolist():
        at = length == level
        z[at] = np.copysign(fisher_z.z_score(kept_r[at], fit.n, level), kept_r[at])
        cutoff[at] = fisher_z.cutoff(fit.alpha, fit.n, level)
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoff - np.abs(kept_r)}
