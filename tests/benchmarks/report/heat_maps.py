"""Heat maps of the configurations of cupc-e and cupc-s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..workloads import PAPER_CHOICE
from .raw import machine
from .style import figure, save

MEAN = "geometric mean"
Ratios = dict[tuple[int, int], float]


def ratios(result: dict[str, Any], engine: str) -> dict[str, Ratios]:
    """By data set, the time of each configuration over that of the paper's; their geometric mean as the last entry."""
    a, b = PAPER_CHOICE[engine]
    default = tuple(PAPER_CHOICE[engine].values())
    out: dict[str, Ratios] = {}
    for row in result["rows"]:
        times = {
            (c[a], c[b]): float(np.median(c["seconds"])) for c in row["cells"] if c["engine"] == engine and c["seconds"]
        }
        if default in times:
            out[row["set"]] = {k: v / times[default] for k, v in times.items()}
    if out:
        common = set.intersection(*(set(v) for v in out.values()))
        out[MEAN] = {k: float(np.exp(np.mean([np.log(v[k]) for v in out.values()]))) for k in common}
    return out


def configurations(result: dict[str, Any], engine: str, folder: Path) -> str | None:
    """Heat maps of `ratios`: one panel per data set and one for their mean."""
    tables = ratios(result, engine)
    if not tables:
        return None
    first, second = (sorted({k[i] for t in tables.values() for k in t}) for i in (0, 1))
    names = tuple(PAPER_CHOICE[engine])
    columns = 4
    lines = -(-len(tables) // columns)
    size = (columns * (0.36 * len(second) + 0.8), lines * (0.3 * len(first) + 0.9) + 0.6)
    fig, axes = figure(lines, columns, figsize=size, squeeze=False)
    for ax in axes.flat[len(tables) :]:
        ax.axis("off")
    for ax, (name, table) in zip(axes.flat, tables.items(), strict=False):
        _panel(ax, table, first, second)
        ax.set_title(name, fontsize=9)
        ax.set_xticks(range(len(second)), second, fontsize=7)
        ax.set_yticks(range(len(first)), first, fontsize=7)
        ax.set_ylabel(names[0], fontsize=8)
        ax.set_xlabel(names[1], fontsize=8)
    chosen = ", ".join(f"{k} = {v}" for k, v in PAPER_CHOICE[engine].items())
    hatched = " Hatched: not run." if any(len(t) < len(first) * len(second) for t in tables.values()) else ""
    caption = (
        f"{engine}: time relative to the paper's configuration ({chosen}); below 1 is faster. Framed: the fastest "
        f"configuration.{hatched} Medians of warm runs. {machine(result, True)}."
    )
    return save(fig, folder, f"configurations-{engine}", caption)


def _panel(ax: Any, table: Ratios, first: list[int], second: list[int]) -> None:
    """One heat map: light is fast, the fastest cell is framed, cells that were not run are hatched."""
    from matplotlib.patches import Rectangle

    grid = np.full((len(first), len(second)), np.nan)
    for (x, y), value in table.items():
        grid[first.index(x), second.index(y)] = value
    ax.imshow(np.log2(grid), cmap="Greys", vmin=-1, vmax=2.5, aspect="auto")
    ax.patch.set(hatch="///", edgecolor="0.85", facecolor="1")
    best = min(table, key=lambda cell: table[cell])
    for (x, y), value in table.items():
        j, i = second.index(y), first.index(x)
        ax.text(
            j,
            i,
            f"{value:.2f}" if value < 9.95 else f"{value:.0f}",
            ha="center",
            va="center",
            fontsize=7,
            color="1" if np.log2(value) > 1.0 else "0",
            fontweight="bold" if (x, y) == best else "normal",
        )
    corner = (second.index(best[1]) - 0.5, first.index(best[0]) - 0.5)
    ax.add_patch(Rectangle(corner, 1, 1, fill=False, lw=1.6, ec="0"))
