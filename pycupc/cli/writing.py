"""Writing the files of `pycupc.cli.files`, the slow parts of some in a second process.

The folder of results is put into place, or another folder if that fails, and the user is told where they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pycupc.cli.files import FILES, FileKind, Request
from pycupc.cli.manifest import Written
from pycupc.cli.second_process import SecondProcess
from pycupc.system.machine import available_cores

if TYPE_CHECKING:
    from pycupc.graph.sparse import SparseGraph
    from pycupc.results.pcalgo import PcAlgo
import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pycupc.cli.files import escape_formulas
from pycupc.cli.folder import FolderError, OutputFolder, elsewhere
from pycupc.cli.manifest import Run, write_manifest
from pycupc.cli.output import DEVICE, OK, discard_output


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
                    escape_formulas(path)
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


#: Called with files begun, files, name of the file.
Progress = Callable[[int, int, str], None]


class Writer:
    """Writes results into a folder; begin it before the tests, so that its second process is ready after them.

    Parameters
    ----------
    request : Request
    process : SecondProcess
        Where the slow parts are made.
    """

    def __init__(self, request: Request, process: SecondProcess) -> None:
        self._request, self._process = request, process

    def prepare(self, skeleton: SparseGraph) -> None:
        """Let the second process begin, before the edges of the skeleton have directions."""
        for kind in FILES:
            if kind.prepare is not None and kind.wanted(self._request):
                self._process.start(kind.prepare, skeleton)

    def write(self, fit: PcAlgo, folder: Path, progress: Progress | None = None) -> Written:
        """Write the files of `fit`, and call ``progress(files begun, files, name)`` before each.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        out = Written()
        waiting: list[tuple[FileKind, Callable[[], object]]] = []
        for number, kind in enumerate(FILES):
            if not kind.wanted(self._request):
                continue
            if (reason := kind.left_out(fit, self._request)) is not None:
                out.left_out[kind.name] = reason
                continue
            if progress is not None:
                progress(number, len(FILES), kind.name)
            finish = kind.write(kind.content(fit, self._request), folder / kind.name, self._process.start)
            if finish is None:
                out.files[kind.name] = kind.description
            else:
                waiting.append((kind, finish))
        for kind, finish in waiting:
            if progress is not None:
                progress(len(FILES), len(FILES), kind.name)
            _finish(kind, finish, folder, out)
        return out


def _finish(kind: FileKind, finish: Callable[[], object], folder: Path, out: Written) -> None:
    """Finish a file whose failure must not cost the others."""
    try:
        finish()
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
    rehearsals = dict.fromkeys(kind.rehearse for kind in FILES if kind.rehearse is not None and kind.wanted(request))
    process = SecondProcess()
    with process if rehearsals and available_cores() > 1 else nullcontext():
        for rehearse in rehearsals:
            process.start(rehearse)
        yield Writer(request, process)
