"""Raw results: one JSON file per experiment, with the machine, the versions and the commit."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results"
PACKAGES = ("pycupc", "numpy", "scipy", "numba", "pandas", "cupy-cuda12x", "cupy-cuda13x", "cupy")


def machine() -> dict[str, Any]:
    """The facts without which a time means nothing: processor, memory, GPU, operating system, versions."""
    facts: dict[str, Any] = {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {},
    }
    if hasattr(os, "sysconf"):
        facts["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            facts["versions"][name] = importlib.metadata.version(name)
    with contextlib.suppress(Exception):
        facts["gpu"] = _gpu()
    return facts


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _gpu() -> dict[str, Any]:
    import cupy as cp

    facts = cp.cuda.runtime.getDeviceProperties(0)
    out: dict[str, Any] = {
        "name": facts["name"].decode(),
        "memory_bytes": int(facts["totalGlobalMem"]),
        "processors": int(facts["multiProcessorCount"]),
        "capability": f"{facts['major']}.{facts['minor']}",
        "cuda_driver": cp.cuda.runtime.driverGetVersion(),
        "cuda_runtime": cp.cuda.runtime.runtimeGetVersion(),
    }
    with contextlib.suppress(Exception):
        words = ["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm", "--format=csv,noheader,nounits", "--id=0"]
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=30)
        out["driver"], clock = (v.strip() for v in done.stdout.split(","))
        out["clock_khz"] = int(clock) * 1000
    return out


def commit(data: Path) -> str:
    """The commit that `prepare` noted beside the data, else that of this checkout."""
    note = data / "commit"
    return note.read_text().strip() if note.exists() else commit_of(ROOT)


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, with "+" if its product files differ from it; "unknown" where git cannot say.

    In a copy without git a file `commit` may say it.
    """
    if not (checkout / ".git").exists():
        note = checkout / "commit"
        return note.read_text().strip() if note.exists() else "unknown"
    with contextlib.suppress(OSError, subprocess.CalledProcessError):

        def git(*words: str) -> str:
            return subprocess.run(
                ["git", "-C", str(checkout), *words], check=True, capture_output=True, text=True
            ).stdout.strip()

        changed = git("status", "--porcelain", "--untracked-files=no", "--", "pycupc", "kernels")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    return "unknown"


def new(experiment: str, args: Any, resume: bool | None = None) -> dict[str, Any]:
    """Start a result; with `resume` (default: `args.resume`) continue the recorded one, to which this call adds rows.

    Raises
    ------
    SystemExit
        If the recorded result comes from another kind of machine: one table holds the times of one kind of machine.
    """
    call = {
        "command": args.command,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(args.data),
    }
    here = machine()
    old = read(args.out, experiment) if (args.resume if resume is None else resume) else None
    if old is None:
        return {"experiment": experiment, "quick": bool(args.quick), "calls": [call], "machine": here, "rows": []}
    if _kind(old["machine"]) != _kind(here):
        raise SystemExit(f"--resume: {experiment}.json was recorded on {_kind(old['machine'])}, this is {_kind(here)}")
    old["calls"].append(call)
    return old


def row_of(result: dict[str, Any], w: Any) -> dict[str, Any]:
    """The row of a data set, appended if the result has none yet."""
    row = next((r for r in result["rows"] if r["set"] == w.name), None)
    if row is None:
        row = {"set": w.name, "p": w.p, "n": w.n, "alpha": w.alpha}
        result["rows"].append(row)
    return row


def merge(out: Path, folder: Path) -> None:
    """Add the rows of the raw files in `folder` to those in `out`; a row that both have is taken from `folder`.

    Raises
    ------
    SystemExit
        If `folder` holds no raw file, or the two folders come from different kinds of machine.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise SystemExit(f"merge: {folder} holds no raw file (*.json)")
    for path in paths:
        new = json.loads(path.read_text())
        old = read(out, new["experiment"])
        if old is None:
            write(new, out)
            continue
        if _kind(old["machine"]) != _kind(new["machine"]):
            raise SystemExit(f"merge: {path} was recorded on {_kind(new['machine'])}, not on {_kind(old['machine'])}")
        old["calls"] += [call for call in new["calls"] if call not in old["calls"]]
        before = {_identity(row): row for row in old["rows"]}
        for row in new["rows"]:
            before[_identity(row)] = _with_other_engines(row, before.get(_identity(row)))
        old["rows"] = list(before.values())
        write(old, out)


def _with_other_engines(row: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """A row of the experiment "scaling" keeps the engines of the old row that did not run again; others are replaced.

    Raises
    ------
    SystemExit
        If an engine gives another answer to the same problem than before: one of the two is wrong.
    """
    if old is None or "stopped_at" not in row:
        return row
    for engine, answer in row["answers"].items():
        if (others := {*old["answers"].values()} - {answer}) and old["largest_r"] == row["largest_r"]:
            where = {key: row[key] for key in ("kind", "p", "density", "n", "seed")}
            raise SystemExit(f"merge: on {where} {engine} gives the answer {answer}, not {others.pop()} as before")
    kept = {key: {e: v for e, v in old[key].items() if e not in row["seconds"]} for key in _PER_ENGINE}
    return {**old, **row, **{key: {**kept[key], **row[key]} for key in _PER_ENGINE}}


#: The fields of a row of the experiment "scaling" that have an entry per engine.
_PER_ENGINE = ("seconds", "stopped_at", "careful", "answers")


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """The fields that distinguish a row from the other rows of its experiment."""
    return tuple(row.get(key) for key in ("set", "alpha", "kind", "who", "p", "density", "n", "seed", "source", "call"))


def _kind(facts: dict[str, Any]) -> tuple[Any, ...]:
    """The facts that must agree for times to be comparable. With a GPU, other cores of the host wait."""
    gpu = facts.get("gpu", {}).get("name")
    return facts["cpu"], None if gpu else facts["cores"], gpu


def write(result: dict[str, Any], out: Path) -> Path:
    """Write the file, whole or not at all. Called after every row, so that an interrupted call loses little."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{result['experiment']}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=1, default=_plain) + "\n")
    partial.replace(path)
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__}")


def read(folder: Path, experiment: str) -> dict[str, Any] | None:
    """A recorded result, or None if there is none."""
    path = folder / f"{experiment}.json"
    return json.loads(path.read_text()) if path.exists() else None


def progress(text: str) -> None:
    """Report progress on stderr."""
    print(text, file=sys.stderr, flush=True)
