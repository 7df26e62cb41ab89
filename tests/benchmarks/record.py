"""Results: one flat CSV file per experiment, a line per measurement; the commands that made them are in calls.csv.

An empty cell: not measured, or it does not apply. `seconds` is the median of `runs` runs, the smallest and largest time
beside it. Where there is no time, `outcome` says why: stopped (at `limit` seconds), estimated (to take `estimate`
seconds and therefore not started), not started, not installed, failed. `differs` names the parts of the answer that
differ from that of `checked_by`.
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results"
PACKAGES = ("numpy", "numba", "cupy-cuda12x", "cupy-cuda13x")
#: The columns that say which problem a line is about, those that say what ran on it, and those that say where it ran.
PROBLEM = ["set", "generator", "density", "p", "n", "seed", "alpha", "n_resamples", "scheme", "threshold"]
WHAT = ["call", "engine", "side", "beta", "gamma", "theta", "delta", "workers", "level"]
WHERE = ["machine", "commit"]


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


def commit(data):
    """The commit that `prepare` noted beside the data, else that of this checkout."""
    note = data / "commit"
    return note.read_text().strip() if note.exists() else commit_of(ROOT)


def commit_of(checkout):
    """The commit of a checkout, with "+" if its product files differ from it; "unknown" where git cannot say.

    In a copy without git a file `commit` may say it.
    """
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
    """The lines of an experiment. Each is written when it is added: an interrupted call loses little.

    With `args.resume` the recorded lines are kept, and a line that is added replaces the one about the same problem and
    the same program.

    SystemExit if the recorded lines come from another kind of machine: a table holds the times of one kind.
    """

    def __init__(self, experiment, args, resume=None):
        self.experiment, self.folder = experiment, args.out
        self.rows = read(args.out, experiment) if (args.resume if resume is None else resume) else []
        self.here = {"machine": machine(), "commit": commit(args.data)}
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        call = {"experiment": experiment, **self.here, "date": now, "versions": versions(), "cores": cores()}
        self.call = {**call, "threads": args.threads, "quick": "yes" if args.quick else "", "command": args.command}
        _same_machine(self.rows, self.here["machine"], f"{experiment}.csv")

    def add(self, **row):
        """Add a line, or several measurements of one (then the earlier ones are kept), and write the file."""
        put(self.rows, {**row, **self.here})
        if self.call is not None and self.folder is not None:
            write(self.folder, "calls", [*read(self.folder, "calls"), self.call])
            self.call = None
        if self.folder is not None:
            write(self.folder, self.experiment, self.rows)

    def find(self, **wanted):
        """The first line with these values, or None."""
        return next(iter(where(self.rows, **wanted)), None)


def where(rows, **wanted):
    """The lines with these values; None stands for an empty cell."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def key(row, columns=(*PROBLEM, *WHAT)):
    return tuple(row.get(name) for name in columns)


def put(rows, row):
    """Add a line to others; it replaces the one with the same problem and program."""
    row = {name: _plain(value) for name, value in row.items() if _plain(value) is not None}
    at = next((i for i, old in enumerate(rows) if key(old) == key(row)), None)
    if at is None:
        rows.append(row)
    else:
        rows[at] = row


def disagreements(rows):
    """The problems, as values of `PROBLEM`, to which the lines have more than one answer (column "answer")."""
    found = {}
    for row in rows:
        if "answer" in row:
            found.setdefault((*key(row, PROBLEM), row.get("data")), set()).add(row["answer"])
    return [problem for problem, answers in found.items() if len(answers) > 1]


def merge(out, folder):
    """Add the lines of the files in `folder` to those in `out`; a line that both have is taken from `folder`.

    SystemExit if `folder` holds no file, the two come from different kinds of machine, or their answers differ.
    """
    names = sorted(path.stem for path in folder.glob("*.csv"))
    if not names:
        raise SystemExit(f"merge: {folder} holds no results (*.csv)")
    for name in names:
        old, new = read(out, name), read(folder, name)
        if name == "calls":
            write(out, name, old + [call for call in new if call not in old])
            continue
        _same_machine([*old, *new], None, f"merge: {folder / name}.csv")
        for row in new:
            put(old, row)
        if wrong := disagreements(old):
            raise SystemExit(f"merge: {name}: two answers to the same problem: {wrong[0]}")
        write(out, name, old)


def _same_machine(rows, here, what):
    kinds = {row["machine"] for row in rows} | ({here} if here else set())
    if len(kinds) > 1:
        raise SystemExit(f"{what} would mix the times of {' and '.join(sorted(kinds))}")


def write(folder, name, rows):
    """Write a file, whole or not at all; the columns in the order in which they first occur, the machine last."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(column for row in rows for column in row if column not in WHERE))
    partial = folder / f"{name}.partial"
    with partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *WHERE], lineterminator="\n")
        writer.writeheader()
        writer.writerows({column: _text(value) for column, value in row.items()} for row in rows)
    partial.replace(folder / f"{name}.csv")


def read(folder, name):
    """The lines of a file, as dictionaries without the empty cells; numbers as int or float. No file: no lines."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{k: _value(v) if k not in TEXT else v for k, v in row.items() if v} for row in csv.DictReader(file)]


#: Columns whose text may look like a number.
TEXT = ("answer", "data", "commit")


def _plain(value):
    return value.item() if isinstance(value, np.generic) else None if value == "" else value


def _text(value):
    """Eight significant digits of a float."""
    return f"{value:.8g}" if isinstance(value, float) else "" if value is None else str(value)


def _value(text):
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def progress(text):
    """Report progress on stderr."""
    print(text, file=sys.stderr, flush=True)
