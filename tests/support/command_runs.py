"""Runs of the command line in this process and in others."""

import json
import os
import sys
from pathlib import Path

import pytest

import pycupc
from pycupc import cli

#: For a process that runs the command line of this checkout.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(pycupc.__file__).parent.parent)}
#: The files of a folder of `run --plot none`.
FILES = {f"graph.{form}" for form in ("dot", "graphml", "html", "json")}
FILES |= {"amat.csv", "edges.csv", "manifest.json", "result.npz", "sepsets.csv", "summary.txt"}
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and rights are those of POSIX")


def run_example(*args: object) -> int:
    """`pycupc run` on the cell nuclei with these options; returns the exit code."""
    return cli.main(["run", "--example=cell_nuclei", "--quiet", *map(str, args)])


def is_whole(folder: Path, fit: pycupc.PcAlgo) -> bool:
    """Whether a folder holds all that its manifest lists, and the result of the run."""
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    return all((folder / name).is_file() for name in listed) and pycupc.PcAlgo.load(folder / "result.npz") == fit


def contents(folder: Path) -> list[str]:
    """Everything in a folder, hidden files too: nothing half-written may remain."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The lines on standard output and on standard error."""
    out, err = capsys.readouterr()
    return out, err.strip()
