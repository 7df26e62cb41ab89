"""Sections 8 and 9: accuracy, and whole calls in R."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import bars, curves, names, prose
from .raw import caption, first_and_later, seconds, versions, versions_of
from .tables import Table, cell, time


def accuracy(raw: dict[str, Any], folder: Path) -> str:
    """Section 8."""
    result = raw.get("accuracy")
    if result is None:
        return ""
    who, rows = curves.common(result)
    heads = ["samples n", "graphs", *(f"{names.label(w)}: TDR / SHD" for w in who)]
    heads.append("graphs whose CPDAG by pcalg differs from pycupc's")
    body = []
    for n in sorted({r["n"] for r in rows}):
        cells = []
        for w in who:
            own = [r for r in rows if r["who"] == w and r["n"] == n]
            cells.append(f"{np.mean([r['tdr'] for r in own]):.3f} / {np.mean([r['shd'] for r in own]):.1f}")
        same = [r["differs_from_pycupc"] for r in result["rows"] if r["who"] == "pcalg" and r["n"] == n]
        differ = f"{sum(v > 0 for v in same)} of {len(same)}" if same else ""
        body.append([f"{n:,}", str(len({r["seed"] for r in rows if r["n"] == n})), *cells, differ])
    parts = ["## 8. Accuracy\n", prose.ACCURACY, versions(result.get("versions", {})) + ".\n"]
    parts += [Table(heads, body).write(folder, "accuracy"), ""]
    return "\n".join([*parts, f"![accuracy](results/{curves.accuracy(result, folder)})\n"])


def in_r(raw: dict[str, Any], folder: Path) -> str:
    """Section 9."""
    result = raw.get("r")
    if result is None or not any(seconds(run) for r in result["rows"] for run in r["runs"].values()):
        return ""
    heads = ["data set", "alpha", "variables x samples", "pcalg::pc(), stable.fast (s)", "cu_pc(), first call (s)"]
    heads += ["cu_pc(), later calls (s)", "pairs that differ from pycupc in Python: pcalg::pc()", "cu_pc()"]
    body = []
    for r in result["rows"]:
        theirs, ours = r["runs"].get("pc", {}), r["runs"]["cu_pc"]
        first, later = first_and_later(ours)
        body.append(
            [
                r["set"],
                f"{r['alpha']:g}",
                f"{r['p']:,} x {r['n']:,}",
                cell({k: v for k, v in theirs.items() if "edges" not in k}, "s"),  # they have a column of their own
                cell(ours, "s") if first is None else time(first, "s"),
                time(later, "s"),
                str(theirs.get("cpdag_differs", "")),
                str(ours.get("cpdag_differs", "")),
            ]
        )
    parts = ["## 9. Whole calls in R\n", prose.IN_R]
    parts.append(f"{caption(result)} {result['threads']} threads. {versions_of(result)}.\n")
    parts += [Table(heads, body).write(folder, "r"), ""]
    return "\n".join([*parts, f"![whole calls in R](results/{bars.in_r(result, folder)})\n"])
