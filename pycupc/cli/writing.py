"""Writing a folder of results: into its place, or into another folder if that fails; and telling the user where."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pycupc.cli.files import escape_formulas
from pycupc.cli.folder import OutputFolder, elsewhere
from pycupc.cli.manifest import Run, Written, write_manifest
from pycupc.cli.output import DEVICE, OK, FolderError, discard_output


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
