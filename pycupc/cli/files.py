"""The files that ``pycupc run`` writes: one row of `FILES` for each. The table of separating sets, with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.cli.writing import FileKind, Request, graph_files, pictures, text, too_large
from pycupc.graph import exports
from pycupc.graph.sepset import FlatCells
from pycupc.independence.gaussian import fisher_z, limits
from pycupc.independence.gaussian.p_values import GaussianPValues

if TYPE_CHECKING:
    from pycupc.results.pagalgo import PagAlgo
    from pycupc.results.pcalgo import PcAlgo

#: Largest number of separating sets written as text without --all-sepsets.
MAX_SEPSETS = 20_000
#: Neighbours of a variable before the tests given other variables: an estimate of the most, where there are many.
MAX_DEGREE = 10_000

SEPSETS = (
    "pairs separated by a non-empty set: x, y in pcalg's order, level, set (names delimited by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r| (for discrete data p, and a note: 'not enough data' where the test was "
    "not made; of fci and rfci the stage of the test); the sets are those of the tests, before --conservative or "
    "--maj-rule changed any. A pair that is neither here nor in edges.csv was separated by the empty set, or is a "
    "fixed gap"
)


def sizes(p: int, request: Request) -> tuple[float, float]:
    """Lower and upper estimates in bytes of the results for p variables; very dense graphs may need more."""
    least = 1e6 + 300.0 * p
    dense = p * min(p, MAX_DEGREE) * (2.0 + 50.0 * request.all_sepsets)
    return least, 2 * least + dense + p * p * (8.0 * request.evidence + 2.0 * request.amat)


def sepset_columns(fit: PcAlgo | PagAlgo) -> dict[str, NDArray[Any]]:
    """Columns of the table of the non-empty separating sets that the tests found: see `SEPSETS`.

    ValueError if the result of a Gaussian test was loaded without its partial correlations.
    """
    names = np.array(fit.labels, dtype=object)
    of_levels, later = fit.tests_of_levels(), fit.tests_after_levels()
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
        needed = of_levels.untested.needed_by(x, y).tolist()
        note = [f"not enough data: {k:,} observations needed, {fit.n:,} there" if k else "" for k in needed]
        columns["p"] = np.array(p, dtype=np.float64)
        return {**columns, "note": np.array(note, dtype=object)} if any(needed) else columns
    if fit.n is None or fit.alpha is None:
        raise ValueError("the table of separating sets needs n and alpha")
    r = np.append(of_levels.removals.r, later.value)[by_row]
    kept_r = np.clip(np.nan_to_num(r), -limits.R_MAX, limits.R_MAX)
    z, cutoff = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(length).tolist():
        at = length == level
        z[at] = np.copysign(fisher_z.z_score(kept_r[at], fit.n, level), kept_r[at])
        cutoff[at] = fisher_z.cutoff(fit.alpha, fit.n, level)
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoff - np.abs(kept_r)}


def _no_sepsets(fit: PcAlgo | PagAlgo, request: Request) -> str | None:
    n = fit.found_sepset.n_stored
    return None if request.all_sepsets or n <= MAX_SEPSETS else f"{n:,} sets; --all-sepsets writes it"


def _draw(fit: PcAlgo | PagAlgo, path: Path, request: Request) -> None:
    from pycupc.graph import drawing

    drawing.save(fit.sparse_graph, fit.labels, path, around=request.around or None, radius=request.distance)


def _edges_parquet(fit: PcAlgo | PagAlgo, path: Path, _: Request) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = fit.edge_columns()
    parquet.write_table(pyarrow.table(columns), path)


#: Every file but manifest.json, in the order in which they are written.
FILES = (
    *pictures("picture", _draw, left_out=too_large),
    FileKind(
        "graph.html",
        "the graph and its evidence, to explore in a browser",
        lambda fit, path, r: fit.explore(path, show=False, around=r.around or None, radius=r.distance),
        left_out=too_large,
        drawn=True,
    ),
    FileKind(
        "result.npz",
        lambda fit: f"the complete result; pycupc.{type(fit).__name__}.load reads it",
        lambda fit, path, request: fit.save(path, evidence=request.evidence or None),
    ),
    text("sepsets.csv", SEPSETS, lambda fit: exports.csv(sepset_columns(fit)), left_out=_no_sepsets),
    *graph_files("edges.csv", lambda fit: fit),
    FileKind("edges.parquet", "the table of edges.csv", _edges_parquet, form="parquet"),
    text("summary.txt", "numbers of edges and tests, level by level", lambda fit: fit.summary() + "\n"),
)
