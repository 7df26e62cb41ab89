"""Writing a folder of results: its files, one after the other, and its manifest; another folder if that fails."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycupc.cli import output
from pycupc.cli.folder import MANIFEST, OutputFolder, elsewhere
from pycupc.cli.interrupts import shown_warnings
from pycupc.cli.output import DEVICE, OK, discard_output
from pycupc.data.text_layout import is_formula
from pycupc.graph import exports
from pycupc.graph.drawing import positions
from pycupc.graph.named import NamedGraph
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.machine import version_of
from pycupc.system.version import __version__

if TYPE_CHECKING:
    from pycupc.results.pagalgo import PagAlgo
    from pycupc.results.pcalgo import PcAlgo

#: Largest number of variables for which the p x p matrix is written as text without --amat.
MAX_MATRIX = 1000
#: The formats of graphs for other programs, each a method to_NAME of `Exported`, and how to read their edges.
FORMATS = {"graphml": exports.BOTH_WAYS, "dot": exports.EDGE_LIST, "json": exports.EDGE_LIST}
#: Their files, for the descriptions of the commands.
GRAPH_FILES = ", ".join(f"graph.{name}" for name in FORMATS)
#: Most variables and edges together that files for other programs, pages and pictures hold.
MAX_DRAWN = 300_000


@dataclass
class Run:
    """One run of a command: how its result is obtained, and what is written.

    `args` are the arguments of the command, `kinds` the files that it writes into `folder`, but for the manifest. That
    has the warnings (`messages`), facts about the input (`source`), `seconds` and start; the descriptions of the
    `files`, and the reasons for those that are `left_out`. In the end the results are in `place`; `failure` says why,
    unless that is the folder.
    """

    args: argparse.Namespace
    kinds: Sequence[FileKind]
    folder: OutputFolder
    messages: Sequence[str]
    source: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    began: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    files: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    place: Path = field(default_factory=Path)
    failure: str | None = None

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Record the seconds that the block takes, under `name`."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


@contextmanager
def begun(args: argparse.Namespace, command: str, kinds: Sequence[FileKind]) -> Iterator[Run]:
    """A run that will write these files, into a folder that is checked now; warnings are printed and recorded."""
    target, force = output.target(args, command)
    forms = {"", *output.picture_formats(args.plot), *(["parquet"] if getattr(args, "parquet", False) else [])}
    folder = OutputFolder(target, frozenset((*(kind.name for kind in kinds), MANIFEST)), force)
    folder.check()
    with shown_warnings() as messages:
        yield Run(args, [kind for kind in kinds if kind.form in forms], folder, messages)


@dataclass(frozen=True)
class FileKind:
    """One file of the folder of results.

    The manifest holds `name` and `description`, a text or ``(result) -> text``. ``write(result, path, args)`` writes
    it, for the arguments of the command; ``left_out(result, args)`` says why this result has no such file, None to
    write it. All three take ``part(result)`` in place of the result. A file that is `drawn` shows what other files
    hold: an error other than OSError then costs only this file. One with a `form` is only written if that format is
    requested.
    """

    name: str
    description: str | Callable[[Any], str]
    write: Callable[[Any, Path, argparse.Namespace], object]
    left_out: Callable[[Any, argparse.Namespace], str | None] = lambda result, args: None
    drawn: bool = False
    form: str = ""
    part: Callable[[Any], Any] = lambda result: result


def write_text(content: str, path: Path) -> None:
    path.write_text(content, encoding="utf-8", errors="replace", newline="\n")


def text(name: str, description: str | Callable[[Any], str], content: Callable[[Any], str], **options: Any) -> FileKind:
    """A file of the text ``content(result)``."""
    return FileKind(name, description, lambda result, path, _: write_text(content(result), path), **options)


def too_large(graph: NamedGraph, args: argparse.Namespace) -> str | None:
    """Why a graph is too large for programs that show graphs; None if it is not, or a part of it is requested."""
    p, m = len(graph.labels), len(graph.sparse_graph)
    if args.around or p + m <= MAX_DRAWN:
        return None
    return f"{p:,} variables and {m:,} edges; pycupc plot RESULTS --around NAME shows a part"


def pictures(
    description: str, draw: Callable[[Any, Path, argparse.Namespace], object], name: str = "graph", **options: Any
) -> tuple[FileKind, ...]:
    """The pictures, which ``draw(result, path, args)`` draws."""
    return tuple(
        FileKind(f"{name}.{form}", description, draw, drawn=True, form=form, **options)
        for form in ("png", "svg", "pdf", "tikz")
    )


def graph_files(edges: str, graph: Callable[[Any], NamedGraph] = lambda result: result) -> tuple[FileKind, ...]:
    """``graph(result)`` for other programs: its list of edges, in the file of the name `edges`, its matrix, formats."""

    def edges_in(convention: str) -> Callable[[NamedGraph], str]:
        return lambda named: named.convention(convention)

    def in_format(name: str, convention: str) -> FileKind:
        """The file of the graph, or of the part requested, that the method to_NAME writes."""

        def write(named: NamedGraph, path: Path, args: argparse.Namespace) -> None:
            if args.around:
                centres = positions(args.around, named.labels)
                named = named.subgraph(named.sparse_graph.around(centres, args.distance).tolist())
            write_text(getattr(named, f"to_{name}")(), path)

        return FileKind(f"graph.{name}", edges_in(convention), write, too_large, part=graph)

    return (
        text(edges, edges_in(exports.EDGE_LIST), lambda named: exports.csv(named._edge_columns()), part=graph),
        text(
            "amat.csv",
            lambda named: exports.PCALG_AMAT if isinstance(named, CausalGraph) else exports.PAG_AMAT,
            lambda named: named._amat_csv(pag=not isinstance(named, CausalGraph)),
            left_out=_no_amat,
            part=graph,
        ),
        *(in_format(name, convention) for name, convention in FORMATS.items()),
    )


def _no_amat(named: NamedGraph, args: argparse.Namespace) -> str | None:
    return None if args.amat or named.p <= MAX_MATRIX else f"{named.p:,} variables; --amat writes it"


def write_files(run: Run, result: Any, folder: Path, progress: Callable[[int, int, str], object] | None = None) -> None:
    """Write the files, which are all but the manifest, and call ``progress(files begun, files, name)`` before each."""
    run.files, run.left_out = {}, {}
    for begun, kind in enumerate(run.kinds):
        shown = kind.part(result)
        if (reason := kind.left_out(shown, run.args)) is not None:
            run.left_out[kind.name] = reason
            continue
        if progress is not None:
            progress(begun, len(run.kinds), kind.name)
        try:
            kind.write(shown, folder / kind.name, run.args)
        except Exception as error:
            if isinstance(error, OSError) or not kind.drawn:
                raise
            (folder / kind.name).unlink(missing_ok=True)
            run.left_out[kind.name] = f"{type(error).__name__}: {error}"
            warnings.warn(f"{kind.name} could not be made ({run.left_out[kind.name]})", stacklevel=2)
        else:
            about = kind.description
            run.files[kind.name] = about if isinstance(about, str) else about(shown)


def facts_of(fit: PcAlgo | PagAlgo) -> dict[str, Any]:
    """The facts about a result of `pc`, `fci` or `rfci` for the manifest."""
    facts: dict[str, Any] = {"engine": fit.engine, "alpha": fit.alpha, "edges": fit.sparse_graph.counts()}
    if isinstance(fit, CausalGraph):
        cycle = None if fit.is_cpdag else fit.cycle()
        facts |= {"is_cpdag": fit.is_cpdag, "cycle": None if cycle is None else [fit.labels[v] for v in cycle]}
        notes = fit.notes
    else:
        later = fit.later
        counts = {"removed": len(later), "not_searched_to_the_end": len(later.open_pairs)}
        facts |= {"method": fit.method, "after_the_levels": {"tests_by_size": later.n_tests} | counts}
        notes = fit.skeleton_fit.notes | fit.notes
    return {**facts, "levels": [asdict(level) for level in fit.levels], "notes": notes}


def write_manifest(folder: Path, facts: Mapping[str, Any], run: Run) -> None:
    """Write manifest.json, the last file of a folder: what is needed to reproduce it, and which files are in it."""
    from pycupc.cli.doctor_command import PACKAGES

    arguments = {name: value for name, value in vars(run.args).items() if name not in ("main", "parser")}
    versions = {name: version_of(name) for names in PACKAGES.values() for name in names}
    manifest = {
        "program": "pycupc",
        "versions": {
            "pycupc": __version__,
            "python": platform.python_version(),
            **{name: version for name, version in versions.items() if version},
        },
        "platform": platform.platform(),
        "started": run.began.isoformat(timespec="seconds"),
        # JSON lacks infinity
        "arguments": {name: "inf" if value == math.inf else value for name, value in arguments.items()},
        "input": run.source,
        "seconds": {name: round(seconds, 3) for name, seconds in run.seconds.items()},
        **facts,
        "warnings": list(run.messages),
        "files": run.files,
        "left_out": run.left_out,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n"
    write_text(text, folder / MANIFEST)


def keep(
    run: Run, result: Any, facts: Mapping[str, Any], progress: Callable[[int, int, str], object] | None = None
) -> None:
    """Write all files into the folder of the run or, if that fails, into another folder.

    The manifest holds the `facts` about the result. OSError if the results cannot be kept anywhere.
    """

    def fill(folder: Path) -> None:
        with run.timed("write"):
            write_files(run, result, folder, progress)
            if run.args.spreadsheet:
                for path in folder.glob("*.csv"):
                    _escape_formulas(path)
        write_manifest(folder, facts, run)

    shown = run.folder.shown
    try:
        run.place = run.folder.write(fill)
        if run.place != shown:
            run.failure = f"{shown} has been taken by another run meanwhile"
    except OSError as error:
        run.failure = f"writing {shown} failed ({error.strerror or error})"
        for other in elsewhere(run.folder):
            with contextlib.suppress(OSError):
                run.place = other.write(fill)
                return
        raise


def _escape_formulas(path: Path) -> None:
    """Put an apostrophe before the texts in a CSV file that a spreadsheet would take for formulas."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [["'" + cell if is_formula(cell) else cell for cell in row] for row in csv.reader(file)]
    write_text(exports.csv_text(rows), path)


def report(run: Run, summary: str | None) -> int:
    """Print the summary (unless None) and where the results are; returns the exit code."""
    place = f"{run.place}{os.sep}"
    if run.failure is not None:
        print(f"pycupc: {run.failure}; the results are in {place} instead", file=sys.stderr)
    if summary is not None:
        left_out = [f"without {name} ({reason})" for name, reason in run.left_out.items()]
        try:
            print(summary, f"\nResults are in {place}", *left_out, sep="\n", flush=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output()
            reason = error.strerror or error
            print(f"pycupc: the results are in {place}; their summary cannot be printed ({reason})", file=sys.stderr)
            return DEVICE
    return OK if run.failure is None else DEVICE
