"""Section 10: tests made against tests answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .raw import machine
from .style import figure, save


def section(raw: dict[str, Any], folder: Path) -> str:
    """Section 10."""
    result = raw.get("pruning")
    if result is None:
        return ""
    where = machine(result)
    picture(result["rows"], where, folder)
    text = (
        "## 10. Pruning\n\nThe cpu engine with pruning and without it, in turns; medians. The answers were compared "
        "cell by cell first. [PRUNING.md](../PRUNING.md) explains the idea. " + where + ".\n"
    )
    return "\n".join([text, table(result["rows"]), "\n![tests made and answered](results/pruning.png)\n"])


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
        plain, pruned = float(np.median(row["plain"])), float(np.median(row["pruned"]))
        lines.append(
            f"| {row['set']} | {tests:.3g} | {made:.3g} | {bounds:.3g} | {plain:.2f} | {pruned:.2f} | "
            f"{plain / pruned:.1f} | {row['p_values']:.2f} |"
        )
    return "\n".join(lines)
