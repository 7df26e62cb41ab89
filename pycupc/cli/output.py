"""Writing the folder of results: the files listed in `pycupc.cli.files`, and the manifest."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycupc.cli.command import DEVICE, OK
from pycupc.cli.files import FILES, FileKind, Request
from pycupc.cli.folder import MANIFEST, FolderError, OutputFolder, elsewhere
from pycupc.machine import available_cores, version_of
from pycupc.second_process import SecondProcess
from pycupc.version import __version__

if TYPE_CHECKING:
    from pycupc.results.pcalgo import PcAlgo

__all__ = ["MANIFEST", "Kept", "Run", "Writer", "Written", "keep", "picture_formats", "sizes", "writer"]

#: Called with files begun, files, name of the file.
Progress = Callable[[int, int, str], None]


def add_folder_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the arguments about the folder of results and about progress; returns their group."""
    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--out", type=Path, metavar="DIR", help="folder to write (default: named after DATA)")
    add("--force", action="store_true", help="replace the results of an earlier run; other files in DIR stay")
    add("--plot", action="append", choices=("png", "svg", "pdf", "none"), help="formats of the picture (default: png)")
    add("--amat", action="store_true", help="write amat.csv for more than 1,000 variables too")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")
    add("--no-progress", action="store_true", help="show no progress bars (there are none outside a terminal)")
    return group


def progress_wanted(args: argparse.Namespace) -> bool:
    """Whether progress is to be shown on a terminal."""
    return not args.quiet and not args.no_progress


def stem(path: Path) -> str:
    """File name without its endings: data for data.csv.gz, and for standard input."""
    return path.name.split(".")[0].strip("-") or "data"


def recorded(args: argparse.Namespace) -> dict[str, object]:
    """The arguments as the manifest holds them; infinity becomes a word, which JSON lacks."""
    values = {name: value for name, value in vars(args).items() if name not in ("main", "parser")}
    return {name: "inf" if value == float("inf") else value for name, value in values.items()}


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Record the seconds that the block takes, under `name`."""
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


def picture_formats(requested: Sequence[str] | None) -> tuple[str, ...]:
    """Formats to draw: those requested; by default png if matplotlib is installed.

    Raises
    ------
    ImportError
        A picture was requested and matplotlib is not installed.
    """
    installed = importlib.util.find_spec("matplotlib") is not None
    if requested is None:
        return ("png",) if installed else ()
    formats = tuple(dict.fromkeys(name for name in requested if name != "none"))
    if formats and not installed:
        raise ImportError(f"--plot {formats[0]} needs matplotlib: pip install 'pycupc[plot]' (or --plot none)")
    return formats


@dataclass
class Written:
    """The contents of a folder: a description of each file, and the reason for each file that is missing."""

    files: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


class Writer:
    """Writes results into a folder; begin it before the tests, so that its second process is ready after them.

    Parameters
    ----------
    request : Request
    process : SecondProcess or None
        Where the slow files are written; None to write them here.
    """

    def __init__(self, request: Request, process: SecondProcess | None = None) -> None:
        self._request, self._process = request, process

    def write(self, fit: PcAlgo, folder: Path, progress: Progress | None = None) -> Written:
        """Write the files of `fit`, and call ``progress(files begun, files, name)`` before each.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        out, waiting = Written(), []
        for number, kind in enumerate(FILES):
            if not kind.wanted(self._request):
                continue
            if (reason := kind.left_out(fit, self._request)) is not None:
                out.left_out[kind.name] = reason
                continue
            if progress is not None:
                progress(number, len(FILES), kind.name)
            wait = self._begin(kind, kind.content(fit, self._request), folder / kind.name)
            if wait is None:
                out.files[kind.name] = kind.description
            else:
                waiting.append((kind, wait))
        for kind, wait in waiting:
            if progress is not None:
                progress(len(FILES), len(FILES), kind.name)
            _finish(kind, wait, folder, out)
        return out

    def _begin(self, kind: FileKind, content: Any, path: Path) -> Callable[[], None] | None:
        """Write a file, or begin to; returns a function that waits for its end."""
        if kind.rehearse is None:
            kind.write(content, path)
            return None
        if self._process is None:
            return lambda: kind.write(content, path)
        return self._process.start(kind.write, content, path)


def _finish(kind: FileKind, wait: Callable[[], None], folder: Path, out: Written) -> None:
    """Wait for a file whose failure must not cost the others."""
    try:
        wait()
    except OSError:
        raise
    except Exception as error:
        (folder / kind.name).unlink(missing_ok=True)
        out.left_out[kind.name] = f"{type(error).__name__}: {error}"
        warnings.warn(f"{kind.name} could not be made ({out.left_out[kind.name]})", stacklevel=2)
    else:
        out.files[kind.name] = kind.description


@contextmanager
def writer(request: Request) -> Iterator[Writer]:
    """A `Writer`, with a second process where that saves time."""
    rehearsals = [kind.rehearse for kind in FILES if kind.rehearse is not None and kind.wanted(request)]
    if not rehearsals or available_cores() < 2:
        yield Writer(request)
        return
    with SecondProcess() as process:
        for rehearse in dict.fromkeys(rehearsals):
            process.start(rehearse)
        yield Writer(request, process)


@dataclass
class Run:
    """How a result was obtained: arguments of the command, warnings, facts of the input, seconds, start."""

    arguments: dict[str, object]
    messages: Sequence[str]
    source: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    began: datetime = field(default_factory=lambda: datetime.now(timezone.utc))


@dataclass(frozen=True)
class Kept:
    """Where the results are, what was written, and, if they are not in the requested folder, why not."""

    place: Path
    written: Written
    failure: str | None = None


def keep(write_files: Callable[[Path], Written], facts: Mapping[str, Any], folder: OutputFolder, run: Run) -> Kept:
    """Write all files and put the folder into place; if that fails, into another folder.

    Parameters
    ----------
    write_files : callable
        Writes all files but the manifest into a folder.
    facts : mapping
        The facts about the result for the manifest.
    folder : OutputFolder
    run : Run

    Raises
    ------
    OSError
        The results cannot be kept anywhere.
    """

    def write(target: OutputFolder) -> Kept:
        start = time.perf_counter()
        written = write_files(target.new)
        run.seconds["write"] = time.perf_counter() - start
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


def report(kept: Kept, summary: str | None) -> int:
    """Print the summary (unless None) and where the results are; returns the exit code."""
    place = f"{kept.place}{os.sep}"
    if kept.failure is not None:
        print(f"pycupc: {kept.failure}; the results are in {place} instead", file=sys.stderr)
    if summary is not None:
        print(summary)
        print(f"\nResults are in {place}")
        for name, reason in kept.written.left_out.items():
            print(f"without {name} ({reason})")
    return OK if kept.failure is None else DEVICE


def sizes(p: int, request: Request) -> tuple[float, float]:
    """Lower and upper estimates in bytes of the results for p variables; very dense graphs may need more."""
    least = 1e6 + 300.0 * p
    return least, 2 * least + p * p * (2.0 + 8.0 * request.evidence + 2.0 * request.amat + 50.0 * request.all_sepsets)


def facts_of(fit: PcAlgo) -> dict[str, Any]:
    """The facts about a result of `pc` for the manifest."""
    return {
        "engine": fit.engine,
        "alpha": fit.alpha,
        "edges": dict(zip(("directed", "undirected", "bidirected"), fit.edge_counts(), strict=True)),
        "levels": [asdict(level) for level in fit.levels],
        "notes": fit.notes,
    }


def write_manifest(folder: Path, facts: Mapping[str, Any], run: Run, written: Written) -> None:
    """Write manifest.json, the last file of a folder: what is needed to reproduce it, and which files are in it."""
    from pycupc.cli.doctor import PACKAGES

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
        "arguments": run.arguments,
        "input": run.source,
        "seconds": {name: round(seconds, 3) for name, seconds in run.seconds.items()},
        **facts,
        "warnings": list(run.messages),
        "files": written.files,
        "left_out": written.left_out,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", errors="replace", newline="\n")
