"""Figures from the raw results, readable in black and white: hatches, markers and line styles, not colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .runs import level_times, median
from .workloads import PAPER_CHOICE

GREYS = ("0.15", "0.55", "0.85", "1.0", "0.35", "0.7")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
NAMES = {
    "gpu": "schur",
    "cpu": "pycupc cpu",
    "stable": "pcalg stable",
    "stable.fast": "pcalg stable.fast",
    "stable.fast, OpenMP": "stable.fast, OpenMP build",
    "cuPC-library": "cuPC (the original)",
}


def label(who: str) -> str:
    """Name in a picture."""
    return NAMES.get(who, who)


def where(result: dict[str, Any], gpu: bool) -> str:
    """The machine, for a caption."""
    m = result["machine"]
    text = f"{m['cpu']}, {m['cores']} cores"
    if gpu and m.get("gpu"):
        text = f"{m['gpu']['name']}, host {text}"
    return text + (" (quick run)" if result["quick"] else "")


def seconds(run: dict[str, Any] | None, key: str = "total") -> float | None:
    """Median time of a run of ours or of a peer; None if it has none."""
    if not run:
        return None
    if run.get("seconds"):
        return float(np.median(run.get("skeleton_seconds", run["seconds"])))
    return median(run.get("repeats", []), key)


def save(fig: Any, folder: Path, name: str, caption: str, top: float = 1.0) -> str:
    """Write NAME.png with a caption below; `top` leaves room for a legend of the whole figure."""
    import textwrap

    import matplotlib.pyplot as plt

    width = int(fig.get_size_inches()[0] * 17)
    text = "\n".join(textwrap.wrap(caption, width))
    fig.text(0.01, 0.01, text, fontsize=7, va="bottom", ha="left")
    lines = text.count("\n") + 1
    fig.tight_layout(rect=(0, 0.02 + lines * 0.13 / fig.get_size_inches()[1], 1, top))
    path = folder / f"{name}.png"
    fig.savefig(path, dpi=130)
    plt.close(fig)
    return path.name


def figure(*shape: Any, **how: Any) -> tuple[Any, Any]:
    """`plt.subplots` without a display."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(*shape, **how)


def log_axis(axis: Any) -> None:
    """A log axis with plain numbers; with few decades 1, 2 and 5 are written too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2.5 else (1.0, 2.0, 5.0), numticks=20))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}" if 1e-4 <= v < 1e5 else f"{v:.0e}"))
    axis.axes.tick_params(labelsize=8)


def glance(rows: list[dict[str, Any]], caption: str, folder: Path) -> str:
    """Run time of everything on every set: one row a set, one marker an implementation, seconds on a log axis."""
    order = ["stable", "stable.fast", "reference", "cpu", "cupc-e", "cupc-s", "gpu", "gpucsl", "cuPC-library"]
    who = [w for w in order if any(seconds(r["runs"].get(w)) is not None for r in rows)]
    fig, ax = figure(figsize=(8, 1.6 + 0.42 * len(rows)))
    marks = dict(zip(order, ("x", "+", "1", "o", "s", "D", "*", "v", "P"), strict=True))
    filled = {"cpu": "0.55", "gpu": "0", "cupc-e": "1", "cupc-s": "1", "gpucsl": "1", "cuPC-library": "0.8"}
    for w in who:
        points = [(seconds(r["runs"].get(w)), i) for i, r in enumerate(rows)]
        xy = np.array([p for p in points if p[0] is not None])
        size = 130 if w == "gpu" else 60
        style = {"facecolors": filled[w], "edgecolors": "0"} if w in filled else {"c": "0"}
        ax.scatter(xy[:, 0], xy[:, 1], marker=marks[w], s=size, label=label(w), zorder=3, linewidths=1.2, **style)
    bounds = []
    for i, r in enumerate(rows):
        run = r["runs"].get("stable.fast", {})
        if bound := run.get("seconds_at_measured_rate") or run.get("too_slow"):
            bounds.append((bound, i))
    if bounds:
        ax.scatter(
            *zip(*bounds, strict=True),
            marker="+",
            c="0.7",
            s=60,
            zorder=3,
            label="stable.fast, stopped or not run: so long or more",
        )
    for i, r in enumerate(rows):
        found = [s for w in who if (s := seconds(r["runs"].get(w))) is not None]
        ax.plot([min(found), max(found)], [i, i], color="0.8", lw=1, zorder=1)
    log_axis(ax.xaxis)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_yticks(range(len(rows)), [f"{r['set']}, {r['alpha']:g}\n{r['p']} x {r['n']}" for r in rows], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("seconds for the skeleton (log scale; left is better)")
    ax.grid(axis="x", color="0.9")
    ax.legend(fontsize=8, ncol=min(4, len(who)), loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    return save(fig, folder, "glance", caption)


def baselines(result: dict[str, Any], folder: Path) -> str:
    """Bars: the paper's baselines, cupc-e, cupc-s."""
    rows = [r for r in result["rows"] if any(seconds(v, "engine") for v in r["runs"].values())]
    names = list(dict.fromkeys(k for r in rows for k in r["runs"]))
    series = {k: [(seconds(r["runs"].get(k), "engine") or np.nan) * 1e3 for r in rows] for k in names}
    fig = _bars([r["set"] for r in rows], series, "milliseconds")
    return save(fig, folder, "baselines", f"Skeleton, median of warm runs, float64. {where(result, True)}.")


def in_r(result: dict[str, Any], folder: Path) -> str:
    """Bars: pcalg::pc(), the first call of cu_pc() in a session, later ones."""
    rows = result["rows"]
    first, later = zip(*(first_and_later(r["runs"]["cu_pc"]) for r in rows), strict=True)
    series = {
        "pcalg::pc(), stable.fast": [seconds(r["runs"].get("pc")) for r in rows],
        "cu_pc(), first call": first,
        "cu_pc(), later calls": later,
    }
    series = {name: [np.nan if v is None else v for v in values] for name, values in series.items()}
    fig = _bars([r["set"] for r in rows], series, "seconds")
    text = f"Whole calls in R; no bar: not run, it would pass the limit. {where(result, False)}."
    return save(fig, folder, "r", text)


def first_and_later(run: dict[str, Any]) -> tuple[float | None, float | None]:
    """Seconds of the first call, and the median of those after it; None where there are none."""
    found = run.get("seconds", [])
    return (found[0] if found else None), (float(np.median(found[1:])) if len(found) > 1 else None)


def _bars(groups: list[str], series: dict[str, list[float]], unit: str) -> Any:
    """A group a set, a bar a name, with its value; log scale."""
    fig, ax = figure(figsize=(8, 3.8))
    width = 0.8 / len(series)
    for i, (name, values) in enumerate(series.items()):
        x = np.arange(len(groups)) + (i - (len(series) - 1) / 2) * width
        ax.bar(x, values, width * 0.92, label=name, color=GREYS[i], hatch=HATCHES[i], edgecolor="0", linewidth=0.7)
        for a, v in zip(x, values, strict=True):
            if np.isfinite(v):
                text = f"{v:.3g}" if v < 1000 else f"{v:,.0f}"
                ax.text(a, v * 1.05, text, ha="center", va="bottom", fontsize=6.5, rotation=90)
    found = np.array([v for values in series.values() for v in values])
    ax.set_ylim(np.nanmin(found) / 2, np.nanmax(found) * 4)
    log_axis(ax.yaxis)
    ax.set_xticks(range(len(groups)), groups, fontsize=8)
    ax.set_ylabel(f"{unit} (log scale)")
    ax.legend(fontsize=8, ncol=2, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return fig


def levels(result: dict[str, Any], folder: Path) -> str:
    """Share of the time of each level, one stacked bar a set and algorithm."""
    engines = [e for e in ("cupc-e", "cupc-s", "gpu", "cpu") if any(e in r["runs"] for r in result["rows"])]
    bars = [
        (f"{r['set']}  {label(e)}", level_times(r["runs"][e]))
        for r in result["rows"]
        for e in engines
        if r["runs"].get(e, {}).get("repeats")
    ]
    fig, ax = figure(figsize=(8, 1.8 + 0.24 * len(bars)))
    shown = 5
    styles = [("0.1", ""), ("0.45", ""), ("0.7", "////"), ("0.85", ""), ("1", "...."), ("1", "xxxx")]
    for y, (_, times) in enumerate(bars):
        share = np.concatenate([times[:shown], [times[shown:].sum()]])
        share = np.pad(share, (0, max(0, shown + 1 - len(share)))) / times.sum() * 100
        left = 0.0
        for k, value in enumerate(share[: shown + 1]):
            ax.barh(y, value, left=left, color=styles[k][0], hatch=styles[k][1], edgecolor="0", linewidth=0.5)
            left += value
        total = times.sum()
        ax.text(101, y, f"{total:.3g} s" if total >= 1 else f"{total * 1e3:.3g} ms", va="center", fontsize=7)
    handles = [
        patch(color, hatch, f"level {k}" if k < shown else f"levels {shown} and up")
        for k, (color, hatch) in enumerate(styles)
    ]
    ax.set_yticks(range(len(bars)), [b[0] for b in bars], fontsize=7)
    ax.set_ylim(-0.8, len(bars) - 0.2)
    ax.invert_yaxis()
    ax.set_xlim(0, 112)
    ax.set_xticks(range(0, 101, 20))
    ax.set_xlabel("share of the time of all levels, %")
    ax.legend(
        handles=handles,
        fontsize=8,
        ncol=6,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.4, 1.0),
        columnspacing=1,
        handlelength=1.5,
    )
    caption = f"Median of warm runs; at the right the time of all levels. {where(result, True)}."
    return save(fig, folder, "levels", caption)


def patch(color: str, hatch: str, text: str) -> Any:
    """A legend entry."""
    from matplotlib.patches import Patch

    return Patch(facecolor=color, hatch=hatch, edgecolor="0", label=text)


def ratios(result: dict[str, Any], engine: str) -> dict[str, dict[tuple[int, int], float]]:
    """Time of each configuration over that of the paper's, by set; and their geometric mean as "geometric mean"."""
    a, b = PAPER_CHOICE[engine]
    default = tuple(PAPER_CHOICE[engine].values())
    out: dict[str, dict[tuple[int, int], float]] = {}
    for row in result["rows"]:
        times = {
            (c[a], c[b]): float(np.median(c["seconds"])) for c in row["cells"] if c["engine"] == engine and c["seconds"]
        }
        if default in times:
            out[row["set"]] = {k: v / times[default] for k, v in times.items()}
    if out:
        common = set.intersection(*(set(v) for v in out.values()))
        out["geometric mean"] = {k: float(np.exp(np.mean([np.log(v[k]) for v in out.values()]))) for k in common}
    return out


def configurations(result: dict[str, Any], engine: str, folder: Path) -> str | None:
    """Heat maps of `ratios`, one panel a set and one for their mean."""
    tables = ratios(result, engine)
    if not tables:
        return None
    names = tuple(PAPER_CHOICE[engine])
    first = sorted({k[0] for t in tables.values() for k in t})
    second = sorted({k[1] for t in tables.values() for k in t})
    columns = 3
    lines = -(-len(tables) // columns)
    cell = 0.42
    size = (columns * (cell * len(second) + 0.9), lines * (cell * 0.8 * len(first) + 0.9) + 0.5)
    fig, axes = figure(lines, columns, figsize=size, squeeze=False)
    for ax in axes.flat[len(tables) :]:
        ax.axis("off")
    for ax, (name, table) in zip(axes.flat, tables.items(), strict=False):
        grid = np.full((len(first), len(second)), np.nan)
        for (x, y), value in table.items():
            grid[first.index(x), second.index(y)] = value
        ax.imshow(np.log2(grid), cmap="Greys", vmin=-1, vmax=2.5, aspect="auto")
        best = min(table, key=table.get)
        for (x, y), value in table.items():
            i, j = first.index(x), second.index(y)
            dark = np.log2(value) > 1.0
            ax.text(
                j,
                i,
                f"{value:.2f}" if value < 9.95 else f"{value:.0f}",
                ha="center",
                va="center",
                fontsize=6.5,
                color="1" if dark else "0",
                fontweight="bold" if (x, y) == best else "normal",
            )
            if (x, y) == best:
                ax.add_patch(_frame(j, i))
        ax.set_title(name, fontsize=9)
        ax.set_xticks(range(len(second)), second, fontsize=7)
        ax.set_yticks(range(len(first)), first, fontsize=7)
        ax.set_xlabel(names[1], fontsize=8)
        ax.set_ylabel(names[0], fontsize=8)
    chosen = ", ".join(f"{k} = {v}" for k, v in PAPER_CHOICE[engine].items())
    caption = (
        f"{engine}: time over that of the paper's choice ({chosen}); below 1 is faster; "
        "framed: fastest. "
        f"Median of warm runs. {where(result, True)}."
    )
    return save(fig, folder, f"configurations-{engine}", caption)


def _frame(j: int, i: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, lw=1.6, ec="0")
