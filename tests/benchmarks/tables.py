"""Pieces of the report: cells, tables, captions."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from . import figures
from .figures import seconds

Table = tuple[list[str], list[list[str]]]


def markdown(table: Table) -> str:
    """As a Markdown table."""
    heads, rows = table
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(r) + " |" for r in rows)])


def write(table: Table, folder: Path, name: str) -> str:
    """Write NAME.csv; the same as Markdown."""
    with (folder / f"{name}.csv").open("w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(table[0])
        writer.writerows(table[1])
    return markdown(table)


def clock(value: float | None) -> str:
    """Seconds in three digits."""
    if value is None:
        return ""
    return f"{value * 1e3:.3g} ms" if value < 0.1 else f"{value:.3g} s" if value < 1000 else f"{value:,.0f} s"


def cell(run: dict[str, Any] | None, key: str = "total") -> str:
    """A run in one cell: its time, or why there is none, and whether its graph differs."""
    if not run:
        return ""
    value = seconds(run, key)
    if value is None:
        if "too_slow" in run:
            return f"> {run['too_slow']:g} s"
        if "not_started" in run:
            return f"not run ({clock(run['seconds_at_measured_rate'])} or more at its best rate a test)"
        return "absent" if "absent" in run else "failed"
    other = run.get("edges_only_there", 0) + run.get("edges_only_here", 0)
    wrong = " (**differs**)" if run.get("differs") else f" ({other} edges differ)" if other else ""
    return clock(value) + wrong


def caption(result: dict[str, Any], gpu: bool = False) -> str:
    """Machine, versions and commits of a result."""
    v = result["machine"]["versions"]
    versions = ", ".join(f"{k} {v[k]}" for k in ("numpy", "numba", "cupy-cuda13x", "cupy-cuda12x") if k in v)
    commits = list(dict.fromkeys(call["commit"] for call in result["calls"]))
    text = f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}"
    return f"*{figures.where(result, gpu)}; Python {result['machine']['python']}, {versions}; {text}.*"


def versions_of(result: dict[str, Any]) -> str:
    """Versions of the peers."""
    found: dict[str, str] = {}
    for row in [*result["rows"], *result.get("python_peers", [])]:
        for run in row["runs"].values():
            found.update(run.get("versions", {}))
    return ", ".join(f"{k} {v.removeprefix('R version ')}" for k, v in found.items())


def merged(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a set: runs of the CPU file and of the GPU file."""
    rows: dict[str, dict[str, Any]] = {}
    for name in ("gpu", "cpu"):
        for r in raw.get(name, {"rows": []})["rows"]:
            row = rows.setdefault(r["set"], {**r, "runs": {}})
            own = {("cpu on the GPU's host" if name == "gpu" and k == "cpu" else k): v for k, v in r["runs"].items()}
            row["runs"].update(own)
            row.setdefault("tests", r.get("tests"))
    return [r for r in rows.values() if r["runs"]]


def captions(raw: dict[str, Any]) -> str:
    """Machines and versions of both files."""
    parts = []
    if "cpu" in raw:
        threads = f"{raw['cpu']['threads']} threads"
        columns = "pcalg, reference, pycupc cpu"
        parts.append(f"CPU columns ({columns}): {caption(raw['cpu'])} {threads}. {versions_of(raw['cpu'])}.")
    if "gpu" in raw:
        parts.append(f"GPU columns: {caption(raw['gpu'], True)}")
    return "\n".join(parts)
