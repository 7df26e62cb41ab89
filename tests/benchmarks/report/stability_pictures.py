"""The pictures of section 13."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import structures
from .style import LINES, MARKERS, figure, log_axis, save

#: Numbers below this are drawn as if they were this: 0 has no place on a logarithmic axis.
FLOOR = 0.02
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NAMES = {"cell_nuclei": "cell nuclei (the example data)"}


def accuracy(rows: list[dict[str, Any]], pooled: Callable[..., tuple[float, float]], folder: Path) -> str:
    """Precision over recall: single runs over alpha, selected edges over the threshold."""
    sizes = sorted({row["n"] for row in rows})
    alphas = sorted({v["alpha"] for v in rows[0]["values"]})
    fig, axes = figure(1, len(sizes), figsize=(4.6 * len(sizes), 4.2), squeeze=False, sharey=True)
    for ax, n in zip(axes[0], sizes, strict=True):
        single = np.array([pooled(rows, n, "single run", alpha, None) for alpha in alphas])
        ax.plot(single[:, 1], single[:, 0], "*", color="0", ms=11, ls="-", lw=1, label="single runs, alpha rising")
        for who, line, face in (("bootstrap", LINES[1], "1"), ("complementary", LINES[3], "0.6")):
            for alpha, marker in zip(alphas, MARKERS, strict=False):
                at = np.array([pooled(rows, n, who, alpha, share) for share in SHARES])
                style = {"ls": line, "marker": marker, "color": "0", "markerfacecolor": face}
                ax.plot(at[:, 1], at[:, 0], ms=5, lw=0.9, label=f"{who}, alpha {alpha:g}", **style)
        ax.set(title=f"n = {n}", xlabel="recall: share of the true edges that is found")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.92")
    axes[0, 0].set_ylabel("precision: share of the found edges that is true")
    axes[0, 0].legend(frameon=False, fontsize=7, loc="lower left")
    shares = ", ".join(f"{share:g}" for share in SHARES)
    caption = (
        f"Each line goes through the thresholds {shares}, from right to left. Adjacencies, pooled over the graphs."
    )
    return save(fig, folder, "stability-accuracy", caption)


def bounds(settings: list[Any], folder: Path) -> str:
    """Mean false edges over the bound, a panel for the structures of either kind."""
    fig, axes = figure(1, 2, figsize=(9.6, 4.6), sharex=True, sharey=True)
    for ax, group, title in zip(
        axes, (structures.EQUAL, structures.UNEQUAL), ("the assumptions hold", "they do not hold"), strict=True
    ):
        for k, name in enumerate(group):
            own = [s for s in settings if s.structure == name and s.method == "worst-case"]
            style = {
                "marker": MARKERS[k % len(MARKERS)],
                "ls": "",
                "color": "0",
                "markerfacecolor": ("1", "0.6")[k % 2],
            }
            ax.plot(
                [max(s.bound, FLOOR) for s in own],
                [max(s.false, FLOOR) for s in own],
                ms=4,
                mew=0.6,
                label=name,
                **style,
            )
        ax.plot((FLOOR, 100), (FLOOR, 100), color="0", lw=0.8)
        ax.set(title=title, xlabel="bound on the mean number of false edges")
        ax.spines[["top", "right"]].set_visible(False)
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.legend(frameon=False, fontsize=7, loc="upper left")
    axes[0].set_ylabel("mean number of false edges")
    caption = (
        'Bound "worst-case" of Shah and Samworth. A point is a setting: structure, p, n, alpha, threshold. Above the '
        f"line the bound was exceeded. Numbers below {FLOOR:g} are drawn at {FLOOR:g}."
    )
    return save(fig, folder, "stability-bounds", caption)


def examples(rows: list[dict[str, Any]], folder: Path) -> str:
    """Selected edges and the bounds over the threshold, a panel per data set."""
    fig, axes = figure(1, len(rows), figsize=(4.6 * len(rows), 4.2), squeeze=False)
    for ax, row in zip(axes[0], rows, strict=True):
        for v, marker in zip(row["values"], MARKERS, strict=False):
            style = {"marker": marker, "color": "0", "ms": 4}
            ax.plot(SHARES, list(v["edges"].values()), ls="-", label=f"edges, alpha {v['alpha']:g}", **style)
            bound = np.maximum(v["bounds"]["unimodal"], FLOOR)
            style["markerfacecolor"] = "1"
            ax.plot(SHARES[1:], bound, ls=":", label=f"bound, alpha {v['alpha']:g}", **style)
        ax.set(title=NAMES.get(row["set"], row["set"]), xlabel="threshold: share of the resamples")
        log_axis(ax.yaxis)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("edges")
    axes[0, 0].legend(frameon=False, fontsize=7)
    caption = (
        "Solid: edges that are found in at least this share of 100 complementary halves of the rows. Dotted: bound "
        f'"unimodal" on how many of them are expected to be false (below {FLOOR:g} drawn at {FLOOR:g}).'
    )
    return save(fig, folder, "stability-examples", caption)
