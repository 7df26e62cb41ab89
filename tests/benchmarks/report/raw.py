"""Reading the raw files: medians of a run, the rows of several files together, the machine in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runs import median


def seconds(run: dict[str, Any] | None, key: str = "total") -> float | None:
    """The median time of a run of pycupc or of a peer, None if it has no time."""
    if not run:
        return None
    if run.get("seconds"):
        return float(np.median(run.get("skeleton_seconds", run["seconds"])))
    return median(run.get("repeats", []), key)


def first_and_later(run: dict[str, Any]) -> tuple[float | None, float | None]:
    """Seconds of the first call and the median of the later ones, None where there are none."""
    found = run.get("seconds", [])
    return (found[0] if found else None), (float(np.median(found[1:])) if len(found) > 1 else None)


def merged(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per data set, with the runs of the CPU file and of the GPU file."""
    rows: dict[str, dict[str, Any]] = {}
    for name in ("gpu", "cpu"):
        for r in raw.get(name, {"rows": []})["rows"]:
            row = rows.setdefault(r["set"], {**r, "runs": {}})
            own = {("cpu on the GPU's host" if name == "gpu" and k == "cpu" else k): v for k, v in r["runs"].items()}
            row["runs"].update(own)
            row.setdefault("tests", r.get("tests"))
    return [r for r in rows.values() if r["runs"]]


def machine(result: dict[str, Any], gpu: bool = False) -> str:
    """The machine of a result; with `gpu` its GPU and the host of the GPU."""
    m = result["machine"]
    text = f"{m['cpu']}, {m['cores']} cores"
    if gpu and m.get("gpu"):
        text = f"{m['gpu']['name']}, host: {text}"
    return text + (" (quick run)" if result["quick"] else "")


def caption(result: dict[str, Any], gpu: bool = False) -> str:
    """Machine, versions and commits of a result."""
    v = result["machine"]["versions"]
    versions = ", ".join(f"{k} {v[k]}" for k in ("numpy", "numba", "cupy-cuda13x", "cupy-cuda12x") if k in v)
    commits = list(dict.fromkeys(call["commit"] for call in result["calls"]))
    text = f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}"
    return f"*{machine(result, gpu)}; Python {result['machine']['python']}, {versions}; {text}.*"


def captions(raw: dict[str, Any]) -> str:
    """Machines and versions of the CPU file and of the GPU file."""
    parts = []
    if "cpu" in raw:
        threads = f"{raw['cpu']['threads']} threads"
        who = "pcalg, pycupc reference, pycupc cpu"
        parts.append(f"CPU columns ({who}): {caption(raw['cpu'])} {threads}. {versions_of(raw['cpu'])}.")
    if "gpu" in raw:
        parts.append(f"GPU columns: {caption(raw['gpu'], True)}")
    return "\n".join(parts)


def versions_of(result: dict[str, Any]) -> str:
    """Versions of the peers in a result."""
    found: dict[str, str] = {}
    for row in result["rows"]:
        for run in row["runs"].values():
            found.update(run.get("versions", {}))
    return versions(found)


def versions(found: dict[str, str]) -> str:
    """Names and versions of the peers as text."""
    return ", ".join(f"{k} {v.removeprefix('R version ')}" for k, v in found.items())
