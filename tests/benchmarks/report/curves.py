"""Pictures of the sweeps: sharing, scaling, accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..runs import level_times
from ..workloads import of_sweep
from . import names
from .raw import machine, seconds
from .style import GREYS, HATCHES, LINES, MARKERS, figure, log_axis, patch, save

GENERATORS = ("paper", "standardised")


def sharing(result: dict[str, Any], folder: Path) -> str:
    """Left: in how many rows a set of level 2 occurs. Right: how many edges of a row it serves."""
    fig, axes = figure(1, 2, figsize=(8.6, 3.8), sharey=True)
    for i, row in enumerate(result["rows"]):
        for ax, key in zip(axes, ("rows_sharing", "edges_served"), strict=True):
            count = np.array(row[key], dtype=float)
            at_least = count[::-1].cumsum()[::-1]
            k = np.arange(len(count))
            good = (k >= 1) & (at_least > 0)
            style = {"ls": LINES[i % len(LINES)], "marker": MARKERS[i], "color": "0", "markerfacecolor": "1"}
            share = at_least[good] / at_least[1] * 100
            ax.plot(k[good], share, markevery=0.15, ms=4, lw=1.2, label=row["set"], **style)
    axes[0].set_title("sharing between rows", fontsize=9)
    axes[0].set_xlabel("used by at least this number of rows", fontsize=9)
    axes[0].set_ylabel("share of the sets (%)", fontsize=9)
    axes[1].set_title("sharing within a row", fontsize=9)
    axes[1].set_xlabel("for at least this number of edges of the row", fontsize=9)
    axes[1].set_ylabel("share of the uses (%)", fontsize=9)
    for ax in axes:
        ax.set_ylim(1e-3, 150)
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.grid(color="0.92")
    axes[0].legend(fontsize=8, frameon=False, loc="lower left")
    caption = (
        "Conditioning sets {a, b} of level 2. A use is one row together with one of its sets. Both axes are "
        "logarithmic. These are counts, not times: they are the same on every machine."
    )
    return save(fig, folder, "sharing", caption)


def scaling(result: dict[str, Any], folder: Path) -> str:
    """Box plots over the random graphs: three sweeps, two generators."""
    sweeps = [("p", "p", "variables"), ("n", "n", "samples"), ("d", "density", "density of the DAG")]
    engines = names.engines_in(result["rows"])
    few = len({r["seed"] for r in result["rows"]}) < 3  # a box would be a line
    fig, axes = figure(2, 3, figsize=(10, 6.2), squeeze=False)
    for ax_row, kind in zip(axes, GENERATORS, strict=True):
        for ax, (sweep, key, text) in zip(ax_row, sweeps, strict=True):
            rows = [r for r in of_sweep(result["rows"], sweep, result["quick"]) if r["kind"] == kind]
            _boxes(ax, rows, key, engines, few)
            ax.set_xlabel(text, fontsize=8)
            ax.set_title(f"generator: {kind}", fontsize=9)
            ax.tick_params(labelsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds (logarithmic scale)", fontsize=8)
    handles = [_handle(axes[0, 0], i, names.engine(e), few) for i, e in enumerate(engines)]
    fig.legend(handles=handles, loc="upper center", ncol=len(engines), fontsize=8, frameon=False)
    return save(fig, folder, "scaling", _scaling_caption(result), top=0.96)


def _boxes(ax: Any, rows: list[dict[str, Any]], key: str, engines: list[str], few: bool) -> None:
    """One panel of `scaling`: for each value of `key` one box per engine, or "x" if it finished no graph."""
    values = sorted({r[key] for r in rows})
    width = 0.8 / len(engines)
    for i, e in enumerate(engines):
        data = [[r["seconds"][e] for r in rows if r[key] == v and r["seconds"].get(e)] for v in values]
        at = [j + (i - (len(engines) - 1) / 2) * width for j in range(len(values))]
        full = [(a, d) for a, d in zip(at, data, strict=True) if d]
        if full and few:
            ax.plot([a for a, _ in full], [np.median(d) for _, d in full], **_marker(i))
        elif full:
            parts = ax.boxplot(
                [d for _, d in full],
                positions=[a for a, _ in full],
                widths=width * 0.85,
                patch_artist=True,
                medianprops={"color": "0", "lw": 1.2},
                flierprops={"marker": ".", "ms": 3},
                manage_ticks=False,
            )
            for box in parts["boxes"]:
                box.set(facecolor=GREYS[(i + 1) % 4], hatch=HATCHES[i], linewidth=0.7)
        for a, v in zip(at, values, strict=True):
            tried = [r for r in rows if r[key] == v and e in r["seconds"]]
            if tried and not any(r["seconds"][e] for r in tried):
                ax.text(a, 0.985, "x", ha="center", va="top", fontsize=8, transform=ax.get_xaxis_transform())
    ax.set_xticks(range(len(values)), [f"{v:,}" if v >= 1 else f"{v:g}" for v in values], fontsize=8)
    ax.set_xlim(-0.6, max(len(values), 1) - 0.4)
    log_axis(ax.yaxis)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.1)  # room for the "x"
    ax.grid(axis="y", color="0.92")


def _marker(i: int) -> dict[str, Any]:
    return {"color": "0", "ls": "", "marker": MARKERS[i], "mfc": "1" if i else "0"}


def _handle(ax: Any, i: int, text: str, few: bool) -> Any:
    """The legend entry of one engine."""
    return ax.plot([], [], label=text, **_marker(i))[0] if few else patch(GREYS[(i + 1) % 4], HATCHES[i], text)


def _scaling_caption(result: dict[str, Any]) -> str:
    base = of_sweep(result["rows"], "p", result["quick"])
    fixed = f" p is varied at density {base[0]['density']:g} and n = {base[0]['n']:,}." if base else ""
    stopped = any(v is None for r in result["rows"] for v in r["seconds"].values())
    graphs = len({r["seed"] for r in result["rows"]})
    return (
        f"Skeleton, engine alone, alpha 0.05, up to {graphs} random graphs per point (only those that finished within "
        f"the time limit: see the table).{' x: no graph finished.' if stopped else ''}{fixed} {machine(result, True)}."
    )


def growth(x: list[float], y: list[float]) -> float:
    """Exponent of y ~ x^k, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def scaling_large(result: dict[str, Any], folder: Path) -> str:
    """Time of the skeleton, of its parts and of the orientation against p, with the fitted exponents."""
    rows = [r for r in result["rows"] if seconds(r["run"])]
    p = [r["p"] for r in rows]
    transfer = [seconds(r["run"], "transfer_in") or 0.0 for r in rows]
    fig, ax = figure(figsize=(6.6, 4))
    lines = [("skeleton, whole call", p, [seconds(r["run"]) or 0.0 for r in rows])]
    lines.append(("skeleton, levels only", p, [level_times(r["run"]).sum() for r in rows]))
    lines.append(("copy to the device", p, transfer))
    if oriented := [r for r in rows if r.get("orientation")]:
        times = [float(np.median(r["orientation"])) for r in oriented]
        lines.append(("orientation", [r["p"] for r in oriented], times))
    for i, (name, at, values) in enumerate(lines):
        k = growth(at, values)
        ax.plot(at, values, color="0", ls=LINES[i], marker=MARKERS[i], mfc="1", label=f"{name}: about p^{k:.2f}")
    log_axis(ax.yaxis)
    log_axis(ax.xaxis)
    ax.set_xticks(p, [f"{v:,}" for v in p])
    ax.minorticks_off()
    ax.set_xlabel("variables p (logarithmic scale)", fontsize=9)
    ax.set_ylabel("seconds (logarithmic scale)", fontsize=9)
    ax.grid(color="0.92")
    ax.legend(fontsize=8, frameon=False)
    caption = (
        f"Engine {names.engine(rows[0]['engine'])}, standardised generator, degree 10, n = 200, alpha 0.01; medians of "
        f"warm runs, exponents fitted by least squares. {machine(result, True)}."
    )
    return save(fig, folder, "scaling-large", caption)


def common(result: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """The programs, and the rows of those graphs that every program answered: only these are comparable."""
    present = {r["who"] for r in result["rows"]}
    order = [w for w in ("pycupc", "pcalg", "causal-learn", "pgmpy", "causal-learn, its default") if w in present]
    counts: dict[tuple[int, int], int] = {}
    for r in result["rows"]:
        counts[r["n"], r["seed"]] = counts.get((r["n"], r["seed"]), 0) + 1
    return order, [r for r in result["rows"] if counts[r["n"], r["seed"]] == len(order)]


def accuracy(result: dict[str, Any], folder: Path) -> str:
    """True discovery rate and structural Hamming distance against the number of samples."""
    order, rows = common(result)
    fig, axes = figure(1, 2, figsize=(8.6, 4))
    sizes = sorted({r["n"] for r in rows})
    for i, who in enumerate(order):
        for ax, key in zip(axes, ("tdr", "shd"), strict=True):
            own = [[r[key] for r in rows if r["who"] == who and r["n"] == n] for n in sizes]
            mean = [np.mean(v or [np.nan]) for v in own]
            style = {"color": "0", "ls": LINES[i], "lw": 1.2, "ms": 11 - 2 * i, "zorder": 3}
            if who == "pcalg":  # lies under the line of pycupc
                style = {"color": "0.6", "ls": "-", "lw": 5, "ms": 11, "zorder": 2}
            ax.plot(sizes, mean, marker=MARKERS[i], mfc="1" if i % 2 else "0.6", label=names.label(who), **style)
    axes[0].set_ylabel("true discovery rate of the skeleton", fontsize=9)
    axes[1].set_ylabel("SHD to the true CPDAG (pairs)", fontsize=9)
    for ax in axes:
        log_axis(ax.xaxis)
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=45)
        ax.minorticks_off()
        ax.set_xlabel("samples n (logarithmic scale)", fontsize=9)
        ax.grid(color="0.92")
    fig.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncol=len(order), frameon=False, loc="upper center")
    same = [r["differs_from_pycupc"] for r in result["rows"] if r["who"] == "pcalg"]
    caption = (
        f"{result['p']} variables, degree {result['degree']}, alpha {result['alpha']:g}; means over the random graphs "
        f"that every program answered (at most {len({r['seed'] for r in rows})} per n)."
        + (f" The CPDAGs of pcalg and pycupc differ on {sum(map(bool, same))} of {len(same)} graphs." if same else "")
    )
    return save(fig, folder, "accuracy", caption, top=0.93)
