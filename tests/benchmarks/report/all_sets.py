"""Section 1, and the table in README.md: every implementation on every data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import record, workloads
from ..experiments.cpu import CALIBRATION, IN_R
from . import bars, names, prose
from .raw import caption, captions, machine, merged, seconds, versions_of
from .tables import Table, cell, digits, time

#: Columns of the first table: peers on a CPU, ours, peers on a GPU, ours.
WHO = (
    "stable",
    "stable.fast",
    "stable.fast, OpenMP",
    "ParallelPC",
    "reference",
    "cpu",
    "gpucsl",
    "cuPC-library",
    "cupc-e",
    "cupc-s",
    "gpu",
)
#: By the implementation with which a table of speed-ups compares: its CSV file, and the columns that are left out.
SPEEDUPS = {
    "stable": ("speedups-stable", ("stable",)),
    "stable.fast": ("speedups", ("stable", "stable.fast")),
    "cuPC-library": ("speedups-cupc", (*IN_R, "reference", "cuPC-library")),
}


def section(raw: dict[str, Any], folder: Path) -> str:
    """Times, speed-ups and details of the cpu engine."""
    rows = merged(raw)
    if not rows:
        return ""
    rows = [r for r in rows if r["set"] != CALIBRATION] or rows
    who = [w for w in WHO if any(w in r["runs"] for r in rows)]
    heads = ["data set", "alpha", "variables x samples", "tests", *map(names.head, who)]
    body = []
    for r in rows:
        tests = f"{r['tests']:.3g}" if r.get("tests") else ""
        facts = [r["set"], f"{r['alpha']:g}", f"{r['p']:,} x {r['n']:,}", tests]
        body.append([*facts, *(cell(r["runs"].get(w), names.unit(w)) for w in who)])
    parts = ["## 1. All implementations on all data sets (Table 2 of the cuPC paper)\n", captions(raw), "", prose.PEERS]
    parts += ["Time of the skeleton:", "", Table(heads, body).write(folder, "table2"), ""]
    for base, (name, left_out) in SPEEDUPS.items():
        table = _speedups(rows, [w for w in who if w not in left_out], base)
        if table.rows:
            text = f"Time of {names.label(base)} divided by the time of each implementation (above 1: faster than it):"
            parts += [text, "", table.write(folder, name), ""]
    words = "Skeleton, medians. " + captions(raw).replace("*", "").replace("\n", " ")
    parts += [f"![run times](results/{bars.glance(rows, words, folder)})\n"]
    if "cpu" in raw:
        parts.append(_cpu_engine(raw["cpu"], folder))
    if "python-peers" in raw:
        parts.append(_python_peers(raw["python-peers"], folder))
    return "\n".join(parts)


def _speedups(rows: list[dict[str, Any]], who: list[str], against: str) -> Table:
    """Ratios of times on the data sets that both ran, and their geometric means."""
    timed = [(r, base) for r in rows if (base := seconds(r["runs"].get(against))) is not None]
    who = [w for w in who if any(seconds(r["runs"].get(w)) is not None for r, _ in timed)]
    body: list[list[str]] = []
    columns: dict[str, list[float]] = {w: [] for w in who}
    for r, base in timed:
        cells = []
        for w in who:
            own = seconds(r["runs"].get(w))
            if own is not None:
                columns[w].append(base / own)
            cells.append("" if own is None else digits(base / own))
        body.append([r["set"], f"{r['alpha']:g}", *cells])
    if body:
        means = [digits(float(np.exp(np.mean(np.log(columns[w]))))) for w in who]
        body.append(["geometric mean", "", *means])
    return Table(["data set", "alpha", *map(names.label, who)], body)


def _cpu_engine(result: dict[str, Any], folder: Path) -> str:
    """Start-up, orientation and memory of the cpu engine."""
    heads = ["data set", "first run (s)", "later runs, median (s)", "start-up (s)", "orientation (ms)"]
    heads += ["peak memory (MB)", "allowed memory (MB)"]
    body = []
    for r in result["rows"]:
        run = r["runs"].get("cpu", {})
        if run.get("repeats"):
            times = [time(v, "s") for v in (run["first"], seconds(run), run["start_up"])]
            memory = [f"{run[key] / 1e6:.0f}" for key in ("peak_bytes", "memory_allowed_bytes")]
            body.append([r["set"], *times, time(float(np.median(run["orientation"])), "ms"), *memory])
    parts = [prose.CPU, Table(heads, body).write(folder, "cpu"), ""]
    return "\n".join(parts)


def _python_peers(result: dict[str, Any], folder: Path) -> str:
    peers = [w for w in ("causal-learn", "pgmpy") if any(w in r["runs"] for r in result["rows"])]
    body = [
        [r["set"], f"{r['tests']:,}", cell(r["runs"]["cpu"], "ms"), *(cell(r["runs"].get(w), "s") for w in peers)]
        for r in result["rows"]
    ]
    heads = ["data set", "tests", f"{names.label('cpu')} (ms)", *map(names.head, peers)]
    facts = f"{caption(result)} {versions_of(result)}."
    return "\n".join([prose.PYTHON_PEERS, facts, "", Table(heads, body).write(folder, "python-peers"), ""])


def write_readme(raw: dict[str, Any]) -> None:
    """Write the table between the markers of README.md, if the raw files come from full runs."""
    path = record.ROOT / "README.md"
    text = path.read_text() if path.exists() else ""
    begin, end = "<!-- results: begin", "<!-- results: end -->"
    full = {k: v for k, v in raw.items() if not v["quick"]}
    if begin not in text or not ({"cpu", "gpu"} & set(full)):
        return
    who = ("stable.fast", "cuPC-library", "cpu", "gpu")
    body = [
        [r["set"], f"{r['alpha']:g}", f"{r['p']:,} x {r['n']:,}", *(cell(r["runs"].get(w), names.unit(w)) for w in who)]
        for r in merged(full)
        if r["set"] in workloads.SETS
    ]
    if not body:
        return
    heads = ["data set", "alpha", "variables x samples", "pcalg `stable.fast` (s)", "original cuPC, GPU (ms)"]
    table = Table([*heads, "pycupc, CPU (s)", "pycupc, GPU (ms)"], body)
    machines = [f"{kind.upper()}: {machine(full[kind], kind == 'gpu')}" for kind in ("cpu", "gpu") if kind in full]
    first = text.index("\n", text.index(begin)) + 1
    facts = f"Times of the skeleton, medians. {'. '.join(machines)}."
    block = f"{table.markdown()}\n\n![run times](tests/benchmarks/results/glance.png)\n\n{facts}\n{prose.LEGEND}"
    path.write_text(text[:first] + block + text[text.index(end) :])
