"""Pictures with one group of bars or markers per data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..runs import level_times
from . import names
from .raw import first_and_later, machine, seconds
from .style import GREYS, HATCHES, figure, log_axis, patch, save
from .tables import digits, duration

#: The markers of the overview, and the grey that fills those which can be filled.
MARKS = {
    "stable": "x",
    "stable.fast": "+",
    "reference": "1",
    "cpu": "o",
    "cupc-e": "s",
    "cupc-s": "D",
    "gpu": "*",
    "gpucsl": "v",
    "cuPC-library": "P",
}
FILLED = {"cpu": "0.55", "gpu": "0", "cupc-e": "1", "cupc-s": "1", "gpucsl": "1", "cuPC-library": "0.8"}
#: Levels that have a pattern of their own in the bars of `levels`; the later ones share one.
SHOWN = 5
PATTERNS = [("0.1", ""), ("0.45", ""), ("0.7", "////"), ("0.85", ""), ("1", "...."), ("1", "xxxx")]


def glance(rows: list[dict[str, Any]], caption: str, folder: Path) -> str:
    """Run times of all implementations: one line per data set, one marker per implementation, seconds on a log axis."""
    who = [w for w in MARKS if any(seconds(r["runs"].get(w)) is not None for r in rows)]
    fig, ax = figure(figsize=(8, 1.8 + 0.42 * len(rows)))
    for w in who:
        xy = np.array([(s, i) for i, r in enumerate(rows) if (s := seconds(r["runs"].get(w))) is not None])
        style = {"facecolors": FILLED[w], "edgecolors": "0"} if w in FILLED else {"c": "0"}
        size = 130 if w == "gpu" else 60
        ax.scatter(*xy.T, marker=MARKS[w], s=size, label=names.label(w), zorder=3, linewidths=1.2, **style)
    _bounds(ax, rows)
    for i, r in enumerate(rows):
        found = [s for w in who if (s := seconds(r["runs"].get(w))) is not None]
        ax.plot([min(found), max(found)], [i, i], color="0.8", lw=1, zorder=1)
    log_axis(ax.xaxis)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    text = [f"{r['set']}, alpha {r['alpha']:g}\n{r['p']:,} x {r['n']:,}" for r in rows]
    ax.set_yticks(range(len(rows)), text, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("seconds for the skeleton (logarithmic scale)", fontsize=9)
    ax.grid(axis="x", color="0.9")
    ax.legend(fontsize=8, ncol=min(4, len(who)), loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return save(fig, folder, "glance", caption)


def _bounds(ax: Any, rows: list[dict[str, Any]]) -> None:
    """Grey markers with an arrow where pcalg's stable.fast was stopped or not started."""
    runs = ((i, r["runs"].get("stable.fast", {})) for i, r in enumerate(rows))
    bounds = [(b, i) for i, run in runs if (b := run.get("seconds_at_measured_rate") or run.get("too_slow"))]
    if not bounds:
        return
    label = "pcalg stable.fast: longer than this"
    ax.scatter(*zip(*bounds, strict=True), marker="+", c="0.6", s=60, zorder=3, label=label)
    for x, y in bounds:
        ax.annotate("", (x * 1.9, y), (x * 1.1, y), arrowprops={"arrowstyle": "->", "color": "0.6"})


def baselines(result: dict[str, Any], folder: Path) -> str:
    """Bars: the baseline algorithms of the cuPC paper, cupc-e, cupc-s."""
    rows = [r for r in result["rows"] if any(seconds(v, "engine") for v in r["runs"].values())]
    who = list(dict.fromkeys(k for r in rows for k in r["runs"]))
    series = {names.engine(k): [(seconds(r["runs"].get(k), "engine") or np.nan) * 1e3 for r in rows] for k in who}
    fig = _grouped([r["set"] for r in rows], series, "milliseconds")
    text = f"Skeleton, engine alone (section 2), median of warm runs, double precision. {machine(result, True)}."
    return save(fig, folder, "baselines", text)


def in_r(result: dict[str, Any], folder: Path) -> str:
    """Bars: pcalg::pc(), the first call of cu_pc() in an R session, later calls."""
    rows = result["rows"]
    first, later = zip(*(first_and_later(r["runs"]["cu_pc"]) for r in rows), strict=True)
    series = {
        "pcalg::pc(), stable.fast": [seconds(r["runs"].get("pc")) for r in rows],
        "cu_pc(), first call of the session": first,
        "cu_pc(), later calls": later,
    }
    numbers = {name: [np.nan if v is None else v for v in values] for name, values in series.items()}
    groups = []
    for r in rows:
        estimate = r["runs"].get("pc", {}).get("seconds_at_measured_rate")
        groups.append(r["set"] + (f"\n(pcalg: > {duration(estimate)},\nestimated)" if estimate else ""))
    fig = _grouped(groups, numbers, "seconds")
    return save(fig, folder, "r", f"Whole calls in R. {machine(result)}, {result['threads']} threads.")


def _grouped(groups: list[str], series: dict[str, list[float]], unit: str) -> Any:
    """One group of bars per data set, one bar per name, each with its value; logarithmic scale."""
    fig, ax = figure(figsize=(8, 3.9))
    width = 0.8 / len(series)
    for i, (name, values) in enumerate(series.items()):
        x = np.arange(len(groups)) + (i - (len(series) - 1) / 2) * width
        ax.bar(x, values, width * 0.92, label=name, color=GREYS[i], hatch=HATCHES[i], edgecolor="0", linewidth=0.7)
        for a, v in zip(x, values, strict=True):
            if np.isfinite(v):
                ax.text(a, v * 1.05, digits(v), ha="center", va="bottom", fontsize=7)
    found = np.array([v for values in series.values() for v in values])
    ax.set_ylim(np.nanmin(found) / 2, np.nanmax(found) * 3)
    log_axis(ax.yaxis)
    ax.set_xticks(range(len(groups)), groups, fontsize=8)
    ax.set_ylabel(f"{unit} (logarithmic scale)", fontsize=9)
    ax.legend(fontsize=8, ncol=len(series), frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return fig


def levels(result: dict[str, Any], folder: Path) -> str:
    """The share of each level in the time of all levels: one stacked bar per data set and engine."""
    engines = [e for e in ("cupc-e", "cupc-s", "gpu", "cpu") if any(e in r["runs"] for r in result["rows"])]
    places, texts = [], []
    fig, ax = figure(figsize=(8, 1.8 + 0.25 * sum(len(r["runs"].keys() & set(engines)) for r in result["rows"])))
    y = 0.0
    for r in result["rows"]:
        for e in engines:
            if r["runs"].get(e, {}).get("repeats"):
                _stacked(ax, y, level_times(r["runs"][e]))
                places.append(y)
                texts.append(f"{r['set']}, {names.engine(e)}")
                y += 1
        y += 0.5
    handles = [
        patch(color, hatch, f"level {k}" if k < SHOWN else f"levels {k} and higher")
        for k, (color, hatch) in enumerate(PATTERNS)
    ]
    ax.set_yticks(places, texts, fontsize=7)
    ax.set_ylim(-0.8, max(places) + 0.8)
    ax.invert_yaxis()
    ax.set_xlim(0, 112)
    ax.set_xticks(range(0, 101, 20))
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("share of the time of all levels (%)", fontsize=9)
    top = {"loc": "lower center", "bbox_to_anchor": (0.4, 1.0), "frameon": False}
    ax.legend(handles=handles, fontsize=8, ncol=6, columnspacing=1, handlelength=1.5, **top)
    text = f"Medians of warm runs; to the right of each bar the time of all levels. {machine(result, True)}."
    return save(fig, folder, "levels", text)


def _stacked(ax: Any, y: float, times: np.ndarray) -> None:
    """One bar of `levels`, with the total time to its right."""
    share = np.concatenate([times[:SHOWN], [times[SHOWN:].sum()]])
    share = np.pad(share, (0, max(0, SHOWN + 1 - len(share)))) / times.sum() * 100
    left = 0.0
    for (color, hatch), value in zip(PATTERNS, share, strict=False):
        ax.barh(y, value, left=left, color=color, hatch=hatch, edgecolor="0", linewidth=0.5)
        left += value
    total = times.sum()
    text = f"{digits(total)} s" if total >= 1 else f"{digits(total * 1e3)} ms"
    ax.text(101, y, text, va="center", fontsize=7)
