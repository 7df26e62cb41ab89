"""Figures from the raw results, readable in black and white: hatches, markers and line styles, not colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .runs import median

GREYS = ("0.15", "0.55", "0.85", "1.0", "0.35", "0.7")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
NAMES = {"gpu": "schur", "cpu": "pycupc cpu", "stable": "pcalg stable", "stable.fast": "pcalg stable.fast"}


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
        return float(np.median(run["seconds"]))
    return median(run.get("repeats", []), key)


def _save(fig: Any, folder: Path, name: str, caption: str, top: float = 1.0) -> str:
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


def _figure(*shape: Any, **how: Any) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(*shape, **how)


def _log(axis: Any) -> None:
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
    fig, ax = _figure(figsize=(8, 1.6 + 0.42 * len(rows)))
    marks = dict(zip(order, ("x", "+", "1", "o", "s", "D", "*", "v", "P"), strict=True))
    filled = {"cpu": "0.55", "gpu": "0", "cupc-e": "1", "cupc-s": "1", "gpucsl": "1", "cuPC-library": "0.8"}
    for w in who:
        points = [(seconds(r["runs"].get(w)), i) for i, r in enumerate(rows)]
        xy = np.array([p for p in points if p[0] is not None])
        size = 130 if w == "gpu" else 60
        style = {"facecolors": filled[w], "edgecolors": "0"} if w in filled else {"c": "0"}
        ax.scatter(xy[:, 0], xy[:, 1], marker=marks[w], s=size, label=label(w), zorder=3, linewidths=1.2, **style)
    estimates = [
        (r["runs"][w]["seconds_at_measured_rate"], i, w)
        for i, r in enumerate(rows) for w in ("stable.fast",)
        if r["runs"].get(w, {}).get("seconds_at_measured_rate")
    ]  # fmt: skip
    if estimates:
        ax.scatter(
            [e[0] for e in estimates], [e[1] for e in estimates], marker="+", c="0.7", s=60, zorder=3,
            label="stable.fast, not run: at its rate a test",
        )  # fmt: skip
    for i, r in enumerate(rows):
        found = [s for w in who if (s := seconds(r["runs"].get(w))) is not None]
        ax.plot([min(found), max(found)], [i, i], color="0.8", lw=1, zorder=1)
    _log(ax.xaxis)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_yticks(range(len(rows)), [f"{r['set']}, {r['alpha']:g}\n{r['p']} x {r['n']}" for r in rows], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("seconds for the skeleton (log scale; left is better)")
    ax.grid(axis="x", color="0.9")
    ax.legend(fontsize=8, ncol=min(4, len(who)), loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    return _save(fig, folder, "glance", caption)


def baselines(result: dict[str, Any], folder: Path) -> str:
    """Bars: the paper's baselines, cupc-e, cupc-s."""
    rows = [r for r in result["rows"] if any(seconds(v, "engine") for v in r["runs"].values())]
    labels = list(dict.fromkeys(k for r in rows for k in r["runs"]))
    fig, ax = _figure(figsize=(8, 3.8))
    width = 0.8 / len(labels)
    for i, name in enumerate(labels):
        values = [(seconds(r["runs"].get(name), "engine") or np.nan) * 1e3 for r in rows]
        x = np.arange(len(rows)) + (i - (len(labels) - 1) / 2) * width
        ax.bar(x, values, width * 0.92, label=name, color=GREYS[i], hatch=HATCHES[i], edgecolor="0", linewidth=0.7)
        for a, v in zip(x, values, strict=True):
            if np.isfinite(v):
                ax.text(a, v * 1.05, f"{v:.3g}", ha="center", va="bottom", fontsize=6.5, rotation=90)
    top = max(seconds(v, "engine") or 0 for r in rows for v in r["runs"].values()) * 1e3
    bottom = min(seconds(v, "engine") or np.inf for r in rows for v in r["runs"].values()) * 1e3
    ax.set_ylim(bottom / 2, top * 3)
    _log(ax.yaxis)
    ax.set_xticks(range(len(rows)), [r["set"] for r in rows], fontsize=8)
    ax.set_ylabel("milliseconds (log scale)")
    ax.legend(fontsize=8, ncol=2, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    caption = f"Skeleton, median of warm runs, float64. {where(result, True)}."
    return _save(fig, folder, "baselines", caption)


def levels(result: dict[str, Any], folder: Path) -> str:
    """Share of the time of each level, one stacked bar a set and algorithm."""
    engines = [e for e in ("cupc-e", "cupc-s", "gpu", "cpu") if any(e in r["runs"] for r in result["rows"])]
    bars = [
        (f"{r['set']}  {label(e)}", np.median([x["levels"] for x in r["runs"][e]["repeats"]], axis=0))
        for r in result["rows"] for e in engines if r["runs"].get(e, {}).get("repeats")
    ]  # fmt: skip
    fig, ax = _figure(figsize=(8, 1.8 + 0.24 * len(bars)))
    shown = 5
    styles = [("0.1", ""), ("0.45", ""), ("0.7", "////"), ("0.85", ""), ("1", "...."), ("1", "xxxx")]
    for y, (_, times) in enumerate(bars):
        share = np.concatenate([times[:shown], [times[shown:].sum()]])
        share = np.pad(share, (0, max(0, shown + 1 - len(share)))) / times.sum() * 100
        left = 0.0
        for k, value in enumerate(share[: shown + 1]):
            ax.barh(y, value, left=left, color=styles[k][0], hatch=styles[k][1], edgecolor="0", linewidth=0.5)
            left += value
        ax.text(101, y, f"{times.sum() * 1e3:.3g} ms", va="center", fontsize=7)
    handles = [
        _patch(color, hatch, f"level {k}" if k < shown else f"levels {shown} and up")
        for k, (color, hatch) in enumerate(styles)
    ]
    ax.set_yticks(range(len(bars)), [b[0] for b in bars], fontsize=7)
    ax.invert_yaxis()
    ax.set_xlim(0, 112)
    ax.set_xticks(range(0, 101, 20))
    ax.set_xlabel("share of the time of all levels, %")
    ax.legend(handles=handles, fontsize=8, ncol=6, frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0),
              columnspacing=1, handlelength=1.5)  # fmt: skip
    caption = f"Median of warm runs; at the right the time of all levels. {where(result, True)}."
    return _save(fig, folder, "levels", caption)


def _patch(color: str, hatch: str, text: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=color, hatch=hatch, edgecolor="0", label=text)


def ratios(result: dict[str, Any], engine: str) -> dict[str, dict[tuple[int, int], float]]:
    """Time of each configuration over that of the default, by set; and their geometric mean as "geometric mean"."""
    a, b, default = ("beta", "gamma", (2, 32)) if engine == "cupc-e" else ("theta", "delta", (64, 2))
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
    names = ("beta", "gamma") if engine == "cupc-e" else ("theta", "delta")
    first = sorted({k[0] for t in tables.values() for k in t})
    second = sorted({k[1] for t in tables.values() for k in t})
    columns = 3
    lines = -(-len(tables) // columns)
    cell = 0.42
    size = (columns * (cell * len(second) + 0.9), lines * (cell * 0.8 * len(first) + 0.9) + 0.5)
    fig, axes = _figure(lines, columns, figsize=size, squeeze=False)
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
            ax.text(j, i, f"{value:.2f}" if value < 9.95 else f"{value:.0f}", ha="center", va="center", fontsize=6.5,
                    color="1" if dark else "0", fontweight="bold" if (x, y) == best else "normal")  # fmt: skip
            if (x, y) == best:
                ax.add_patch(_frame(j, i))
        ax.set_title(name, fontsize=9)
        ax.set_xticks(range(len(second)), second, fontsize=7)
        ax.set_yticks(range(len(first)), first, fontsize=7)
        ax.set_xlabel(names[1], fontsize=8)
        ax.set_ylabel(names[0], fontsize=8)
    default = "beta = 2, gamma = 32" if engine == "cupc-e" else "theta = 64, delta = 2"
    caption = (
        f"{engine}: time over that of the default ({default}); below 1 is faster; framed: fastest. "
        f"Median of warm runs. {where(result, True)}."
    )
    return _save(fig, folder, f"configurations-{engine}", caption)


def _frame(j: int, i: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, lw=1.6, ec="0")


def sharing(result: dict[str, Any], folder: Path) -> str:
    """Left: in how many rows a set of level 2 comes up; right: how many edges of a row it serves."""
    fig, axes = _figure(1, 2, figsize=(8.6, 3.6))
    for i, row in enumerate(result["rows"]):
        for ax, key, first in ((axes[0], "rows_sharing", 0), (axes[1], "edges_served", 0)):
            count = np.array(row[key], dtype=float)
            k = np.arange(first, first + len(count))
            at_least = count[::-1].cumsum()[::-1]
            good = (k >= 1) & (at_least > 0)
            ax.plot(k[good], at_least[good] / at_least[1] * 100, ls=LINES[i % len(LINES)], marker=MARKERS[i],
                    markevery=0.15, ms=4, lw=1.2, color="0", markerfacecolor="1", label=row["set"])  # fmt: skip
    axes[0].set_xlabel("global sharing: in at least so many rows", fontsize=9)
    axes[1].set_xlabel("local sharing: for at least so many edges of a row", fontsize=9)
    for ax in axes:
        ax.set_ylim(1e-3, 150)
        _log(ax.xaxis)
        _log(ax.yaxis)
        ax.grid(color="0.92")
    axes[0].set_ylabel("conditioning sets of level 2, %")
    axes[0].legend(fontsize=7, frameon=False)
    caption = (
        "Share of the sets {a, b} that come up in at least so many rows (left), of the pairs (row, set) that serve at "
        "least so many edges of the row (right). Counted, not timed: the same on every machine."
    )
    return _save(fig, folder, "sharing", caption)


def scaling(result: dict[str, Any], folder: Path) -> str:
    """Box plots over the graphs: three sweeps, two generators."""
    sweeps = [("p", "p", "variables"), ("n", "n", "observations"), ("d", "density", "density of the DAG")]
    kinds = ("paper", "standardised")
    engines = list(dict.fromkeys(e for r in result["rows"] for e in r["seconds"]))
    fig, axes = _figure(2, 3, figsize=(10, 6), squeeze=False)
    for ax_row, kind in zip(axes, kinds, strict=True):
        for ax, (sweep, key, text) in zip(ax_row, sweeps, strict=True):
            rows = [r for r in result["rows"] if r["sweep"] == sweep and r["kind"] == kind]
            values = sorted({r[key] for r in rows})
            width = 0.8 / len(engines)
            for i, e in enumerate(engines):
                data = [[r["seconds"][e] for r in rows if r[key] == v and r["seconds"].get(e)] for v in values]
                at = [j + (i - (len(engines) - 1) / 2) * width for j in range(len(values))]
                full = [(a, d) for a, d in zip(at, data, strict=True) if d]
                if not full:
                    continue
                parts = ax.boxplot([d for _, d in full], positions=[a for a, _ in full], widths=width * 0.85,
                                   patch_artist=True, medianprops={"color": "0", "lw": 1.2},
                                   flierprops={"marker": ".", "ms": 3}, manage_ticks=False)  # fmt: skip
                for box in parts["boxes"]:
                    box.set(facecolor=GREYS[(i + 1) % 4], hatch=HATCHES[i], linewidth=0.7)
                for a, d in zip(at, data, strict=True):
                    if not d:
                        ax.text(a, 0.98, "x", ha="center", va="top", fontsize=8, transform=ax.get_xaxis_transform())
            ax.set_xticks(range(len(values)), [f"{v:g}" for v in values], fontsize=8)
            _log(ax.yaxis)
            ax.grid(axis="y", color="0.92")
            ax.set_xlabel(text, fontsize=8)
            ax.set_title(f"{kind} generator", fontsize=9)
            ax.tick_params(labelsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds (log scale)", fontsize=8)
    handles = [_patch(GREYS[(i + 1) % 4], HATCHES[i], label(e)) for i, e in enumerate(engines)]
    fig.legend(handles=handles, loc="upper center", ncol=len(engines), fontsize=8, frameon=False)
    graphs = len({r["seed"] for r in result["rows"]})
    base = [r for r in result["rows"] if r["sweep"] == "p"]
    fixed = f"p sweep: density {base[0]['density']:g}, n = {base[0]['n']}" if base else ""
    if any(v is None for r in result["rows"] for v in r["seconds"].values()):
        fixed += "; x: no run within the time limit"
    caption = f"Skeleton, alpha .05, {graphs} graphs a box, one warm run each; {fixed}. {where(result, True)}."
    return _save(fig, folder, "scaling", caption, top=0.96)


def growth(x: list[float], y: list[float]) -> float:
    """Exponent of y ~ x^k, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def scaling_large(result: dict[str, Any], folder: Path) -> str:
    """Time, orientation and memory against p, with the fitted exponents."""
    rows = [r for r in result["rows"] if seconds(r["run"])]
    p = [r["p"] for r in rows]
    fig, ax = _figure(figsize=(6.6, 4))
    lines = [("skeleton, total", [seconds(r["run"]) for r in rows])]
    lines.append(("levels only", [sum(np.median([x["levels"] for x in r["run"]["repeats"]], axis=0)) for r in rows]))
    lines.append(("transfer to the device", [seconds(r["run"], "transfer_in") for r in rows]))
    if all(r.get("orientation") for r in rows):
        lines.append(("orientation", [r["orientation"][0] for r in rows]))
    for i, (name, values) in enumerate(lines):
        k = growth(p, values)
        ax.plot(p, values, color="0", ls=LINES[i], marker=MARKERS[i], mfc="1", label=f"{name}: p^{k:.2f}")
    _log(ax.yaxis)
    _log(ax.xaxis)
    ax.set_xticks(p, [f"{v:,}" for v in p])
    ax.minorticks_off()
    ax.set_xlabel("variables p (log scale)")
    ax.set_ylabel("seconds (log scale)")
    ax.grid(color="0.92")
    ax.legend(fontsize=8, frameon=False)
    caption = (
        f"{label(rows[0]['engine'])}, standardised generator, degree 10, n = 200, alpha .01; median of warm runs, "
        f"exponents fitted by least squares. {where(result, True)}."
    )
    return _save(fig, folder, "scaling-large", caption)


def common(result: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """Who answered, and the rows of those graphs that all of them answered: only these can be compared."""
    present = {r["who"] for r in result["rows"]}
    order = [w for w in ("pycupc", "pcalg", "causal-learn", "pgmpy") if w in present]
    counts: dict[tuple[int, int], int] = {}
    for r in result["rows"]:
        counts[r["n"], r["seed"]] = counts.get((r["n"], r["seed"]), 0) + 1
    return order, [r for r in result["rows"] if counts[r["n"], r["seed"]] == len(order)]


def accuracy(result: dict[str, Any], folder: Path) -> str:
    """TDR and SHD over the number of observations."""
    order, rows = common(result)
    fig, axes = _figure(1, 2, figsize=(8.6, 3.6))
    sizes = sorted({r["n"] for r in rows})
    for i, who in enumerate(order):
        for ax, key in zip(axes, ("tdr", "shd"), strict=True):
            own = [[r[key] for r in rows if r["who"] == who and r["n"] == n] for n in sizes]
            under = who == "pcalg"  # lies under pycupc's line: broad and grey
            ax.plot(sizes, [np.mean(v or [np.nan]) for v in own], color="0.6" if under else "0", ls=LINES[i],
                    marker=MARKERS[i], ms=11 - 2 * i, mfc="1" if i % 2 else "0.6", lw=4 if under else 1.2, label=who,
                    zorder=2 if under else 3)  # fmt: skip
    axes[0].set_ylabel("true discovery rate of the skeleton")
    axes[1].set_ylabel("SHD to the true CPDAG")
    for ax in axes:
        _log(ax.xaxis)
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=45)
        ax.minorticks_off()
        ax.set_xlabel("observations (log scale)")
        ax.grid(color="0.92")
    axes[0].legend(fontsize=8, frameon=False)
    same = [r["differs_from_pycupc"] for r in result["rows"] if r["who"] == "pcalg"]
    caption = (
        f"{result['p']} variables, degree {result['degree']}, alpha {result['alpha']:g}, mean of the random "
        f"graphs that all of them answered ({len({r['seed'] for r in rows})} at most). "
        + (f"pcalg's CPDAG and pycupc's differ in {sum(same)} of {len(same)} cases." if same else "")
        + (" Quick run." if result["quick"] else "")
    )
    return _save(fig, folder, "accuracy", caption)
