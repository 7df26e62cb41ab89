"""Results: one flat CSV file per experiment, a line per measurement; the commands that made them are in calls.csv.

An empty cell: not measured, or it does not apply. `seconds` is the median of `runs` runs, the smallest and largest time
beside it. Where there is no time, `outcome` says why: stopped (at `limit` seconds), estimated (to take `estimate`
seconds and therefore not started), not started, not installed, failed. `differs` names the parts of the answer that
differ from the answer of `checked_by`.
"""

import contextlib
import csv
import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results"
PACKAGES = ("numpy", "numba", "cupy-cuda12x", "cupy-cuda13x")
#: The columns that say which problem a line is about, which program ran, and which call made it (in calls.csv).
PROBLEM = ("set", "generator", "density", "p", "n", "seed", "alpha", "n_resamples", "scheme", "threshold")
PROGRAM = ("call", "engine", "side", "level")
KEY = (*PROBLEM, *PROGRAM, "experiment", "date", "command")
#: The columns that say where it ran, and those whose text may look like a number.
WHERE, TEXT = ("machine", "commit"), ("answer", "data", "commit")


def machine():
    """Processor and cores; with a GPU its name and the processor: then other cores of the host only wait."""
    cpu = platform.processor() or "unknown"
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    with contextlib.suppress(Exception):
        import cupy

        return f"{cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}, host: {cpu}"
    return f"{cpu}, {cores()} cores"


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def versions():
    """Python and the packages on which times depend."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found)


def commit(checkout=ROOT):
    """The commit of a checkout, with "+" if its product files differ; in a copy without git, its file `commit`."""
    if not (checkout / ".git").exists():
        note = checkout / "commit"
        return note.read_text().strip() if note.exists() else "unknown"

    def git(*words):
        command = ["git", "-C", str(checkout), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "pycupc", "kernels")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    return "unknown"


def statistics(seconds, name="seconds"):
    """The columns of some repetitions: their number, and the median, smallest and largest time."""
    if not len(seconds):
        return {}
    values = float(np.median(seconds)), float(min(seconds)), float(max(seconds))
    return {"runs": len(seconds), **dict(zip((name, f"{name}_min", f"{name}_max"), values, strict=True))}


class Results:
    """The lines of an experiment, written each time that one is added: an interrupted call loses little.

    With `resume` the recorded lines are kept. A line replaces the one about the same problem and the same program.

    SystemExit if the recorded lines come from another kind of machine: a file holds the times of one kind.
    """

    def __init__(self, experiment, folder, command, resume=False):
        self.experiment, self.folder = experiment, folder
        self._lines = {key(line): line for line in lines(read(folder, experiment))} if resume else {}
        self.here = {"machine": machine(), "commit": commit()}
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        self._call = {"experiment": experiment, **self.here, "date": now, "versions": versions(), "cores": cores()}
        self._call["command"] = command
        machines = {line["machine"] for line in (*self._lines.values(), self.here)}
        if len(machines) > 1:
            raise SystemExit(f"{experiment} would mix the times of {' and '.join(sorted(machines))}")

    def add(self, line):
        line = {name: value.item() if isinstance(value, np.generic) else value for name, value in line.items()}
        line = {name: value for name, value in line.items() if value is not None and value != ""} | self.here
        self._lines[key(line)] = line
        if self.folder is not None:
            write(self.folder, self.experiment, self._lines.values())
        if self.folder is not None and self._call is not None:
            write(self.folder, "calls", [*lines(read(self.folder, "calls")), self._call])
            self._call = None

    def where(self, **wanted):
        """The lines with these values; None stands for an empty cell."""
        found = self._lines.values()
        return [line for line in found if all(line.get(name) == value for name, value in wanted.items())]


def key(line, columns=KEY):
    return tuple(line.get(name) for name in columns)


def write(folder, name, found):
    """Write a file, whole or not at all; floats in eight significant digits; the machine last."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(column for line in found for column in line if column not in WHERE))
    partial = folder / f"{name}.partial"
    with partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *WHERE], lineterminator="\n")
        writer.writeheader()
        for line in found:
            writer.writerow({k: f"{v:.8g}" if isinstance(v, float) else v for k, v in line.items()})
    partial.replace(folder / f"{name}.csv")


def read(folder, name):
    """The table of a file, missing cells <NA>; without a file (or folder) it is empty."""
    path = folder and folder / f"{name}.csv"
    if path is None or not path.exists():
        return pd.DataFrame()
    return pd.read_csv(
        path, dtype=dict.fromkeys(TEXT, "string"), dtype_backend="numpy_nullable", keep_default_na=False, na_values=[""]
    )


def lines(frame):
    """The lines of a table as dictionaries without the empty cells."""
    return [
        {name: value for name, value in zip(frame, values, strict=True) if not pd.isna(value)}
        for values in frame.itertuples(index=False, name=None)
    ]


def progress(text):
    """Report progress on stderr."""
    print(text, file=sys.stderr, flush=True)
