"""The files that ``pycupc run`` writes: one row of `FILES` for each. The table of separating sets, with evidence."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.cli.manifest import Written, write_text
from pycupc.data.text_layout import is_formula
from pycupc.graph import exports
from pycupc.independence.gaussian import fisher_z, limits
from pycupc.independence.gaussian.p_values import GaussianPValues

if TYPE_CHECKING:
    from pycupc.results.pcalgo import PcAlgo

#: Largest number of variables for which the p x p matrix is written as text without --amat.
MAX_MATRIX = 1000
#: Largest number of separating sets written as text without --all-sepsets.
MAX_SEPSETS = 20_000

SEPSETS = (
    "pairs separated by a non-empty set: x, y in pcalg's order, level, set (names delimited by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r| (for discrete data p, and a note: 'not enough data' where the test was "
    "not made); the sets are those of the tests, before --conservative or --maj-rule changed any. A pair that is "
    "neither here nor in edges.csv was separated by the empty set, or is a fixed gap"
)


@dataclass(frozen=True)
class Request:
    """The output that the user requested beyond the default.

    Attributes
    ----------
    pictures : sequence of str
        Formats of the picture.
    amat, all_sepsets, evidence : bool
        Write the adjacency matrix, the table of separating sets, all evidence into result.npz, however large they are.
    """

    pictures: Sequence[str] = ()
    amat: bool = False
    all_sepsets: bool = False
    evidence: bool = False


def sizes(p: int, request: Request) -> tuple[float, float]:
    """Lower and upper estimates in bytes of the results for p variables; very dense graphs may need more."""
    least = 1e6 + 300.0 * p
    return least, 2 * least + p * p * (2.0 + 8.0 * request.evidence + 2.0 * request.amat + 50.0 * request.all_sepsets)


@dataclass(frozen=True)
class FileKind:
    """One file of the folder of results.

    Attributes
    ----------
    name, description : str
        The manifest holds both.
    write : callable ``(fit, path, request)``
    wanted : callable ``(request) -> bool``
        Whether the file was requested or is written by default; known before the tests.
    left_out : callable ``(fit, request) -> str or None``
        Why this result has no such file; None to write it.
    drawn : bool
        Whether it shows what other files hold: an error other than OSError then costs only this file.
    """

    name: str
    description: str
    write: Callable[[PcAlgo, Path, Request], object]
    wanted: Callable[[Request], bool] = lambda request: True
    left_out: Callable[[PcAlgo, Request], str | None] = lambda fit, request: None
    drawn: bool = False


def write_files(
    fit: PcAlgo, request: Request, folder: Path, progress: Callable[[int, int, str], object] | None = None
) -> Written:
    """Write all files but the manifest, and call ``progress(files begun, files, name)`` before each.

    Raises
    ------
    OSError
        A file cannot be written.
    """
    written = Written()
    kinds = [kind for kind in FILES if kind.wanted(request)]
    for begun, kind in enumerate(kinds):
        if (reason := kind.left_out(fit, request)) is not None:
            written.left_out[kind.name] = reason
            continue
        if progress is not None:
            progress(begun, len(kinds), kind.name)
        try:
            kind.write(fit, folder / kind.name, request)
        except Exception as error:
            if isinstance(error, OSError) or not kind.drawn:
                raise
            (folder / kind.name).unlink(missing_ok=True)
            written.left_out[kind.name] = f"{type(error).__name__}: {error}"
            warnings.warn(f"{kind.name} could not be made ({written.left_out[kind.name]})", stacklevel=2)
        else:
            written.files[kind.name] = kind.description
    return written


def escape_formulas(path: Path) -> None:
    """Put an apostrophe before the texts in a CSV file that a spreadsheet would take for formulas."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [["'" + cell if is_formula(cell) else cell for cell in row] for row in csv.reader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


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
    kept_r = np.clip(np.nan_to_num(r), -limits.R_MAX, limits.R_MAX)
    z, cutoff = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(length).tolist():
        at = length == level
        z[at] = np.copysign(fisher_z.z_score(kept_r[at], fit.n, level), kept_r[at])
        cutoff[at] = fisher_z.cutoff(fit.alpha, fit.n, level)
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoff - np.abs(kept_r)}


def no_amat(p: int, *, requested: bool) -> str | None:
    """Why there is no amat.csv of p variables; None to write it."""
    return None if requested or p <= MAX_MATRIX else f"{p:,} variables; --amat writes it"


def _no_sepsets(fit: PcAlgo, request: Request) -> str | None:
    n = fit.found_sepset.n_stored
    return None if request.all_sepsets or n <= MAX_SEPSETS else f"{n:,} sets; --all-sepsets writes it"


def _edges(fit: PcAlgo) -> str:
    return exports.csv(exports.edge_columns(fit.sparse_graph, fit.labels, fit.edge_attributes()))


def _draw(fit: PcAlgo, path: Path, _: Request) -> None:
    from pycupc.graph import drawing

    drawing.save(fit.sparse_graph, fit.labels, path)


def _picture(ending: str) -> FileKind:
    return FileKind(f"graph.{ending}", "picture", _draw, wanted=lambda asked: ending in asked.pictures, drawn=True)


def _text(name: str, description: str, content: Callable[[PcAlgo], str], **options: Any) -> FileKind:
    return FileKind(name, description, lambda fit, path, _: write_text(content(fit), path), **options)


#: Every file but manifest.json, in the order in which they are written.
FILES = (
    *map(_picture, ("png", "svg", "pdf")),
    FileKind(
        "graph.html",
        "the graph and its evidence, to explore in a browser",
        lambda fit, path, _: fit.explore(path, show=False),
        drawn=True,
    ),
    FileKind(
        "result.npz",
        "the complete result; pycupc.PcAlgo.load reads it",
        lambda fit, path, request: fit.save(path, evidence=request.evidence or None),
    ),
    _text("edges.csv", exports.EDGE_LIST, _edges),
    _text("sepsets.csv", SEPSETS, lambda fit: exports.csv(sepset_columns(fit)), left_out=_no_sepsets),
    _text(
        "amat.csv",
        exports.PCALG_AMAT,
        lambda fit: exports.amat_csv(fit.sparse_graph, fit.labels),
        left_out=lambda fit, request: no_amat(fit.p, requested=request.amat),
    ),
    _text("graph.graphml", exports.BOTH_WAYS, lambda fit: fit.to_graphml()),
    _text("graph.dot", exports.EDGE_LIST, lambda fit: fit.to_dot()),
    _text("graph.json", exports.EDGE_LIST, lambda fit: fit.to_json()),
    _text("summary.txt", "numbers of edges and tests, level by level", lambda fit: fit.summary() + "\n"),
)
