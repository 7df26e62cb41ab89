"""Writing a folder of results: its files, one after the other; its place, or another one if that fails."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pycupc.cli.folder import OutputFolder, elsewhere
from pycupc.cli.manifest import Run, Written, write_manifest, write_text
from pycupc.cli.output import DEVICE, OK, FolderError, discard_output
from pycupc.data.text_layout import is_formula
from pycupc.graph import exports
from pycupc.graph.drawing import positions
from pycupc.graph.named import NamedGraph
from pycupc.results.causal_graph import CausalGraph

#: Largest number of variables for which the p x p matrix is written as text without --amat.
MAX_MATRIX = 1000
#: Most variables and edges together that files for other programs, pages and pictures hold.
MAX_DRAWN = 300_000


@dataclass(frozen=True)
class Request:
    """The output that the user requested beyond the default.

    `forms` are formats of the picture, and "parquet". `amat`, `all_sepsets` and `evidence` ask for the adjacency
    matrix, the table of separating sets and all evidence in result.npz, however large they are. Files for other
    programs, the page and the picture hold the variables `around` and what is at most `distance` edges away from them.
    """

    forms: Sequence[str] = ()
    amat: bool = False
    all_sepsets: bool = False
    evidence: bool = False
    around: Sequence[str] = ()
    distance: int = 2


@dataclass(frozen=True)
class FileKind:
    """One file of the folder of results.

    The manifest holds `name` and `description`, a text or ``(result) -> text``. ``write(result, path, request)`` writes
    it; ``left_out(result, request)`` says why this result has no such file, None to write it. A file that is `drawn`
    shows what other files hold: an error other than OSError then costs only this file. One with a `form` is only
    written if that format is requested.
    """

    name: str
    description: str | Callable[[Any], str]
    write: Callable[[Any, Path, Request], object]
    left_out: Callable[[Any, Request], str | None] = lambda result, request: None
    drawn: bool = False
    form: str = ""

    def wanted(self, request: Request) -> bool:
        """Whether the file was requested or is written by default."""
        return not self.form or self.form in request.forms


def text(name: str, description: str | Callable[[Any], str], content: Callable[[Any], str], **options: Any) -> FileKind:
    """A file of the text ``content(result)``."""
    return FileKind(name, description, lambda result, path, _: write_text(content(result), path), **options)


def too_large(graph: NamedGraph, request: Request) -> str | None:
    """Why a graph is too large for programs that show graphs; None if it is not, or a part of it is requested."""
    p, m = len(graph.labels), len(graph.sparse_graph)
    if request.around or p + m <= MAX_DRAWN:
        return None
    return f"{p:,} variables and {m:,} edges; pycupc plot RESULTS --around NAME shows a part"


def pictures(
    description: str, draw: Callable[[Any, Path, Request], object], name: str = "graph", **options: Any
) -> tuple[FileKind, ...]:
    """The pictures, which ``draw(result, path, request)`` draws."""
    return tuple(
        FileKind(f"{name}.{form}", description, draw, drawn=True, form=form, **options)
        for form in ("png", "svg", "pdf")
    )


def graph_files(edges: str, graph: Callable[[Any], NamedGraph]) -> tuple[FileKind, ...]:
    """``graph(result)`` for other programs: its list of edges, in the file of the name `edges`, its matrix, formats."""

    def edge_list(result: Any) -> str:
        return exports.csv(graph(result).edge_columns())

    def no_amat(result: Any, request: Request) -> str | None:
        p = len(graph(result).labels)
        return None if request.amat or p <= MAX_MATRIX else f"{p:,} variables; --amat writes it"

    def is_pag(result: Any) -> bool:
        return not isinstance(graph(result), CausalGraph)

    def amat(result: Any) -> str:
        return graph(result).amat_csv(pag=is_pag(result))

    def edges_in(convention: str) -> Callable[[Any], str]:
        return lambda result: graph(result).convention(convention)

    def left_out(result: Any, request: Request) -> str | None:
        return too_large(graph(result), request)

    def in_format(name: str) -> Callable[[Any, Path, Request], None]:
        """Write the graph, or the part requested, by the method of this name."""

        def write(result: Any, path: Path, request: Request) -> None:
            named = graph(result)
            if request.around:
                centres = positions(request.around, named.labels)
                named = named.subgraph(named.sparse_graph.around(centres, request.distance).tolist())
            write_text(getattr(named, name)(), path)

        return write

    def cells(result: Any) -> str:
        return exports.PAG_AMAT if is_pag(result) else exports.PCALG_AMAT

    return (
        text(edges, edges_in(exports.EDGE_LIST), edge_list),
        text("amat.csv", cells, amat, left_out=no_amat),
        FileKind("graph.graphml", edges_in(exports.BOTH_WAYS), in_format("to_graphml"), left_out),
        FileKind("graph.dot", edges_in(exports.EDGE_LIST), in_format("to_dot"), left_out),
        FileKind("graph.json", edges_in(exports.EDGE_LIST), in_format("to_json"), left_out),
    )


def write_files(
    kinds: Sequence[FileKind],
    result: Any,
    request: Request,
    folder: Path,
    progress: Callable[[int, int, str], object] | None = None,
) -> Written:
    """Write the files, which are all but the manifest, and call ``progress(files begun, files, name)`` before each."""
    written = Written()
    kinds = [kind for kind in kinds if kind.wanted(request)]
    for begun, kind in enumerate(kinds):
        if (reason := kind.left_out(result, request)) is not None:
            written.left_out[kind.name] = reason
            continue
        if progress is not None:
            progress(begun, len(kinds), kind.name)
        try:
            kind.write(result, folder / kind.name, request)
        except Exception as error:
            if isinstance(error, OSError) or not kind.drawn:
                raise
            (folder / kind.name).unlink(missing_ok=True)
            written.left_out[kind.name] = f"{type(error).__name__}: {error}"
            warnings.warn(f"{kind.name} could not be made ({written.left_out[kind.name]})", stacklevel=2)
        else:
            about = kind.description
            written.files[kind.name] = about if isinstance(about, str) else about(result)
    return written


@dataclass(frozen=True)
class Kept:
    """Where the results are, what was written, and, if they are not in the requested folder, why not."""

    place: Path
    written: Written
    failure: str | None = None


def keep(write_files: Callable[[Path], Written], facts: Mapping[str, Any], folder: OutputFolder, run: Run) -> Kept:
    """Write all files and put the folder into place; if that fails, into another folder.

    `write_files` writes all files but the manifest into a folder, and `facts` are those about the result for the
    manifest. OSError if the results cannot be kept anywhere.
    """

    def write(target: OutputFolder) -> Kept:
        with run.timed("write"):
            written = write_files(target.new)
            if run.arguments.get("spreadsheet"):
                for path in target.new.glob("*.csv"):
                    _escape_formulas(path)
        write_manifest(target.new, facts, run, written)
        place = target.finish()
        failure = None if place == target.shown else f"{target.shown} has been taken by another run meanwhile"
        return Kept(place, written, failure)

    try:
        return write(folder)
    except OSError as error:
        shutil.rmtree(folder.new, ignore_errors=True)  # makes room, where the other folders are on the same disk
        for place in elsewhere(folder.target):
            with contextlib.suppress(OSError, FolderError), OutputFolder(place) as other:
                kept = write(other)
                return replace(kept, failure=f"writing {folder.shown} failed ({error.strerror or error})")
        raise


def _escape_formulas(path: Path) -> None:
    """Put an apostrophe before the texts in a CSV file that a spreadsheet would take for formulas."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [["'" + cell if is_formula(cell) else cell for cell in row] for row in csv.reader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def report(kept: Kept, summary: str | None) -> int:
    """Print the summary (unless None) and where the results are; returns the exit code."""
    place = f"{kept.place}{os.sep}"
    if kept.failure is not None:
        print(f"pycupc: {kept.failure}; the results are in {place} instead", file=sys.stderr)
    if summary is not None:
        left_out = [f"without {name} ({reason})" for name, reason in kept.written.left_out.items()]
        try:
            print(summary, f"\nResults are in {place}", *left_out, sep="\n", flush=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output()
            reason = error.strerror or error
            print(f"pycupc: the results are in {place}; their summary cannot be printed ({reason})", file=sys.stderr)
            return DEVICE
    return OK if kept.failure is None else DEVICE
