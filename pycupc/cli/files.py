"""The files that ``pycupc run`` writes: one row of `FILES` for each. The table of separating sets, with evidence."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycupc.data.text_layout import is_formula
from pycupc.graph import exports

if TYPE_CHECKING:
    from pycupc.graph.sparse import SparseGraph
    from pycupc.results.pcalgo import PcAlgo
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.gaussian import fisher_z, limits
from pycupc.independence.gaussian.p_values import GaussianPValues

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
    kept_r = np.clip(np.nan_to_num(r), -limits.R_MAX, limits.R_MAX)
    z, cutoff = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(length).tolist():
        at = length == level
        z[at] = np.copysign(fisher_z.z_score(kept_r[at], fit.n, level), kept_r[at])
        cutoff[at] = fisher_z.cutoff(fit.alpha, fit.n, level)
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoff - np.abs(kept_r)}


#: Largest number of variables for which the p x p matrix is written as text without --amat.
MAX_MATRIX = 1000
#: Largest number of separating sets written as text without --all-sepsets.
MAX_SEPSETS = 20_000

#: Called as start(function, *arguments); begins the call, and returns a function that waits for its value.
Start = Callable[..., Callable[[], Any]]


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
    name : str
    description : str
        What the manifest says of it.
    content : callable ``(fit, request)``
        What to write, made from the result: text, or whatever `write` takes.
    write : callable ``(content, path, start)``
        Writes it, or begins to and returns a function that finishes it. ``start(function, *arguments)`` lets a second
        process make a slow part: it begins this call there and returns a function that waits for its value. All of the
        call must be something that can be pickled. An error of the last step other than OSError costs only this file.
    wanted : callable ``(request) -> bool``
        Whether the file was requested or is written by default; known before the tests.
    left_out : callable ``(fit, request) -> str or None``
        Why this result has no such file; None to write it.
    prepare : callable ``(skeleton)``, optional
        What the second process calls while the edges of the skeleton are being oriented, a function of a module.
    rehearse : callable, optional
        What the second process calls before the tests are done, a function of a module: it imports what is slow to
        import, and does once what takes longer the first time.
    """

    name: str
    description: str
    content: Callable[[PcAlgo, Request], Any]
    write: Callable[[Any, Path, Start], Callable[[], object] | None]
    wanted: Callable[[Request], bool] = lambda request: True
    left_out: Callable[[PcAlgo, Request], str | None] = lambda fit, request: None
    prepare: Callable[[SparseGraph], None] | None = None
    rehearse: Callable[[], None] | None = None


def write_text(content: str, path: Path, _: object = None) -> None:
    """Write text as in every file of results."""
    path.write_text(content, encoding="utf-8", errors="replace", newline="\n")


def escape_formulas(path: Path) -> None:
    """Put an apostrophe before the texts in a CSV file that a spreadsheet would take for formulas."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [["'" + cell if is_formula(cell) else cell for cell in row] for row in csv.reader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _edges(fit: PcAlgo) -> str:
    return exports.csv(exports.edge_columns(fit.sparse_graph, fit.labels, fit.edge_attributes()))


def _write_picture(content: tuple[SparseGraph, Sequence[str]], path: Path, start: Start) -> Callable[[], object]:
    from pycupc.graph import drawing as plotting

    return start(plotting.save, *content, path)


def _rehearse_picture() -> None:
    from pycupc.graph import drawing as plotting

    plotting.rehearse()


def _page(fit: PcAlgo, request: Request) -> Any:
    from pycupc.results import explored

    return explored.content(fit)


def _write_page(content: Any, path: Path, start: Start) -> Callable[[], object]:
    from pycupc.graph.explorer import place_variables, unplaced_page

    positions = start(place_variables, content.graph, content.labels[: content.graph.p])
    beginning, rest = unplaced_page(content)
    write_text(beginning, path)

    def finish() -> None:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(rest(positions()))

    return finish


def _prepare_page(skeleton: SparseGraph) -> None:
    from pycupc.graph.explorer import place_early

    place_early(skeleton)


def _rehearse_page() -> None:
    import scipy.sparse.csgraph  # noqa: F401 - what takes time is this import, for the layout

    from pycupc.graph.explorer import place_variables  # noqa: F401


def _no_sepsets(fit: PcAlgo, request: Request) -> str | None:
    n = fit.found_sepset.n_stored
    return None if request.all_sepsets or n <= MAX_SEPSETS else f"{n:,} sets; --all-sepsets writes it"


def no_amat(p: int, *, requested: bool) -> str | None:
    """Why there is no amat.csv of p variables; None to write it."""
    return None if requested or p <= MAX_MATRIX else f"{p:,} variables; --amat writes it"


def _picture(ending: str) -> FileKind:
    return FileKind(
        f"graph.{ending}",
        "picture",
        content=lambda fit, _: (fit.sparse_graph, fit.labels),
        write=_write_picture,
        wanted=lambda request: ending in request.pictures,
        rehearse=_rehearse_picture,
    )


def _text(
    name: str,
    description: str,
    content: Callable[[PcAlgo], str],
    left_out: Callable[[PcAlgo, Request], str | None] = lambda fit, request: None,
) -> FileKind:
    return FileKind(name, description, lambda fit, _: content(fit), write_text, left_out=left_out)


#: Every file but manifest.json, in the order in which they are begun: first those that wait for the second process.
FILES = (
    *(_picture(ending) for ending in ("png", "svg", "pdf")),
    FileKind(
        "graph.html",
        "the graph and its evidence, to explore in a browser",
        content=_page,
        write=_write_page,
        prepare=_prepare_page,  # places the dots of a picture, too
        rehearse=_rehearse_page,
    ),
    FileKind(
        "result.npz",
        "the complete result; pycupc.PcAlgo.load reads it",
        content=lambda fit, request: (fit, request.evidence),
        write=lambda content, path, _: content[0].save(path, evidence=content[1] or None),
    ),
    _text("edges.csv", exports.EDGE_LIST, _edges),
    _text("sepsets.csv", SEPSETS, lambda fit: exports.csv(sepset_columns(fit)), _no_sepsets),
    _text(
        "amat.csv",
        exports.PCALG_AMAT,
        lambda fit: exports.amat_csv(fit.sparse_graph, fit.labels),
        lambda fit, request: no_amat(fit.p, requested=request.amat),
    ),
    _text("graph.graphml", exports.BOTH_WAYS, lambda fit: fit.to_graphml()),
    _text("graph.dot", exports.EDGE_LIST, lambda fit: fit.to_dot()),
    _text("graph.json", exports.EDGE_LIST, lambda fit: fit.to_json()),
    _text("summary.txt", "numbers of edges and tests, level by level", lambda fit: fit.summary() + "\n"),
)
