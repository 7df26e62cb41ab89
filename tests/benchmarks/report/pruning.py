"""Section 10: tests made against tests answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .raw import caption, machine
from .style import figure, save


def section(raw: dict[str, Any], folder: Path) -> str:
    """Section 10."""
    result = raw.get("pruning")
    if result is None:
        return ""
    where = machine(result)
    picture(result["rows"], where, folder)
    text = (
        "## 10. Pruning\n\nThe cpu engine with and without pruning, alternating; medians. The answers were compared "
        "cell by cell first. [PRUNING.md](../PRUNING.md) explains the idea. " + where + ".\n"
    )
    parts = [text, table(result["rows"]), "\n![tests made and answered](results/pruning.png)\n"]
    on_gpu = raw.get("pruning-gpu")
    if on_gpu is not None:
        about = (
            "The gpu engine on denser and larger graphs of the standardised generator, with 10,000 observations. The "
            "answers were compared cell by cell with the plain engine's where that was run, and 4,000 partial "
            f"correlations of removed and of kept edges recomputed with NumPy. {caption(on_gpu, gpu=True)}\n"
        )
        parts += [about, table(on_gpu["rows"]), ""]
    return "\n".join(parts)


def picture(rows: list[dict[str, Any]], where: str, folder: Path) -> str:
    """Tests answered and tests made by level, one panel per data set, on a log axis."""
    fig, axes = figure(1, len(rows), figsize=(4.2 * len(rows), 3.4), squeeze=False, sharey=True)
    for ax, row in zip(axes[0], rows, strict=True):
        level = [v["level"] for v in row["levels"]]
        ax.plot(level, [v["tests"] for v in row["levels"]], "o-", color="0", markersize=4, label="tests answered")
        ax.plot(level, [v["made"] for v in row["levels"]], "s--", color="0.5", markersize=4, label="tests made")
        ax.set(yscale="log", xlabel="level", title=row["set"])
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("tests")
    axes[0, -1].legend(frameon=False)
    caption = f"Tests per level that the CPU engine answers, and those among them that it makes. {where}."
    return save(fig, folder, "pruning", caption)


def table(rows: list[dict[str, Any]]) -> str:
    """Whole runs, as Markdown."""
    lines = [
        "| data | tests | tests made | bounds | plain (s) | pruned (s) | ratio | finding pMax (s) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        tests, made, bounds = (sum(v[key] for v in row["levels"]) for key in ("tests", "made", "bounds"))
        plain, pruned = (float(np.median(row[key])) if row[key] else None for key in ("plain", "pruned"))
        ratio = "" if plain is None else f"{plain / pruned:.1f}"
        finding_p = "" if row["p_values"] is None else f"{row['p_values']:.2f}"
        cells = [row["set"], f"{tests:.3g}", f"{made:.3g}", f"{bounds:.3g}", _seconds(plain), _seconds(pruned)]
        lines.append("| " + " | ".join([*cells, ratio, finding_p]) + " |")
    return "\n".join(lines)


def _seconds(value: float | None) -> str:
    return "not run" if value is None else f"{value:.2f}"
