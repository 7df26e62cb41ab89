"""Tables of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import FlatCells
from pycupc.independence.gaussian import fisher_z, tolerances
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo


def sepset_columns(fit: PcAlgo | PagAlgo) -> dict[str, NDArray[Any]]:
    """Columns of the table of the non-empty separating sets that the tests found, as in sepsets.csv.

    ValueError if the result of a Gaussian test was loaded without its partial correlations.
    """
    names = np.array(fit.labels, dtype=object)
    of_levels, later = fit.tests_of_levels(), fit.later
    cells = FlatCells(*map(np.concatenate, zip(of_levels.found_sepset.flat(by_row=False), later.cells(), strict=True)))
    by_row = np.lexsort((cells.y, cells.x))
    x, y, length, members = cells.take(by_row)
    flat, ends = names[members].tolist(), np.cumsum(length, dtype=np.int64).tolist()
    sets = [" | ".join(flat[end - size : end]) for size, end in zip(length.tolist(), ends, strict=True)]
    columns = {"x": names[x], "y": names[y], "level": length, "set": np.array(sets, dtype=object)}
    if fit.is_pag:
        stages = np.repeat(np.array(["levels", later.stage], dtype=object), [len(x) - len(later), len(later)])
        columns["stage"] = stages[by_row]
    if not isinstance(of_levels.p_values, GaussianPValues):
        p = [fit.p_values.at(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        few = [values.tolist() for values in of_levels.untested.needed_by(x, y)]
        told = "not enough data: {:,} observations needed, {:,.10g} there"
        note = [told.format(needed, there) if needed else "" for needed, there in zip(*few, strict=True)]
        columns["p"] = np.array(p, dtype=np.float64)
        return {**columns, "note": np.array(note, dtype=object)} if any(note) else columns
    if fit.n is None or fit.alpha is None:
        raise ValueError("the table of separating sets needs n and alpha")
    r = np.append(of_levels.removals.r, later.value)[by_row]
    kept_r = np.clip(np.nan_to_num(r), -tolerances.R_MAX, tolerances.R_MAX)
    z = np.copysign(fisher_z.z_score(kept_r, fit.n, length), kept_r)
    cutoffs = np.array([fisher_z.cutoff(fit.alpha, fit.n, level) for level in range(int(length.max(initial=0)) + 1)])
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoffs[length] - np.abs(kept_r)}
