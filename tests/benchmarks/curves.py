"""Figures of the sweeps: sharing, scaling, accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .figures import GREYS, HATCHES, LINES, MARKERS, figure, label, log_axis, patch, save, seconds, where
from .runs import level_times
from .workloads import of_sweep


def sharing(result: dict[str, Any], folder: Path) -> str:
    """Left: in how many rows a set of level 2 comes up; right: how many edges of a row it serves."""
    fig, axes = figure(1, 2, figsize=(8.6, 3.6))
    for i, row in enumerate(result["rows"]):
        for ax, key, first in ((axes[0], "rows_sharing", 0), (axes[1], "edges_served", 0)):
            count = np.array(row[key], dtype=float)
            k = np.arange(first, first + len(count))
            at_least = count[::-1].cumsum()[::-1]
            good = (k >= 1) & (at_least > 0)
            ax.plot(
                k[good],
                at_least[good] / at_least[1] * 100,
                ls=LINES[i % len(LINES)],
                marker=MARKERS[i],
                markevery=0.15,
                ms=4,
                lw=1.2,
                color="0",
                markerfacecolor="1",
                label=row["set"],
            )
    axes[0].set_xlabel("global sharing: in at least so many rows", fontsize=9)
    axes[1].set_xlabel("local sharing: for at least so many edges of a row", fontsize=9)
    for ax in axes:
        ax.set_ylim(1e-3, 150)
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.grid(color="0.92")
    axes[0].set_ylabel("conditioning sets of level 2, %")
    axes[0].legend(fontsize=7, frameon=False)
    caption = (
        "Share of the sets {a, b} that come up in at least so many rows (left), of the pairs (row, set) that serve at "
        "least so many edges of the row (right). Counted, not timed: the same on every machine."
    )
    return save(fig, folder, "sharing", caption)


def scaling(result: dict[str, Any], folder: Path) -> str:
    """Box plots over the graphs: three sweeps, two generators."""
    sweeps = [("p", "p", "variables"), ("n", "n", "observations"), ("d", "density", "density of the DAG")]
    kinds = ("paper", "standardised")
    engines = list(dict.fromkeys(e for r in result["rows"] for e in r["seconds"]))
    graphs = len({r["seed"] for r in result["rows"]})
    fig, axes = figure(2, 3, figsize=(10, 6), squeeze=False)
    for ax_row, kind in zip(axes, kinds, strict=True):
        for ax, (sweep, key, text) in zip(ax_row, sweeps, strict=True):
            rows = [r for r in of_sweep(result["rows"], sweep, result["quick"]) if r["kind"] == kind]
            values = sorted({r[key] for r in rows})
            width = 0.8 / len(engines)
            for i, e in enumerate(engines):
                data = [[r["seconds"][e] for r in rows if r[key] == v and r["seconds"].get(e)] for v in values]
                at = [j + (i - (len(engines) - 1) / 2) * width for j in range(len(values))]
                full = [(a, d) for a, d in zip(at, data, strict=True) if d]
                if not full:
                    continue
                if graphs < 3:  # a box would be a line
                    places, middles = zip(*((a, np.median(d)) for a, d in full), strict=True)
                    ax.plot(places, middles, color="0", ls="", marker=MARKERS[i], mfc="1" if i else "0")
                else:
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
                for a, d in zip(at, data, strict=True):
                    if not d:
                        ax.text(a, 0.98, "x", ha="center", va="top", fontsize=8, transform=ax.get_xaxis_transform())
            ax.set_xticks(range(len(values)), [f"{v:g}" for v in values], fontsize=8)
            ax.set_xlim(-0.6, max(len(values), 1) - 0.4)
            log_axis(ax.yaxis)
            ax.grid(axis="y", color="0.92")
            ax.set_xlabel(text, fontsize=8)
            ax.set_title(f"{kind} generator", fontsize=9)
            ax.tick_params(labelsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds (log scale)", fontsize=8)
    if graphs < 3:
        handles = [
            axes[0, 0].plot([], [], color="0", ls="", marker=MARKERS[i], mfc="1" if i else "0", label=label(e))[0]
            for i, e in enumerate(engines)
        ]
    else:
        handles = [patch(GREYS[(i + 1) % 4], HATCHES[i], label(e)) for i, e in enumerate(engines)]
    fig.legend(handles=handles, loc="upper center", ncol=len(engines), fontsize=8, frameon=False)
    base = of_sweep(result["rows"], "p", result["quick"])
    fixed = f"p sweep: density {base[0]['density']:g}, n = {base[0]['n']}" if base else ""
    if any(v is None for r in result["rows"] for v in r["seconds"].values()):
        fixed += "; x: no run within the time limit"
    seeds = {kind: {r["seed"] for r in result["rows"] if r["kind"] == kind} for kind in kinds}
    counts = ", ".join(f"{kind}: {len(found)}" for kind, found in seeds.items())
    caption = (
        f"Skeleton, alpha .05; at most so many graphs, fewer where one passed the limit ({counts}); "
        f"kernels compiled before; {fixed}. {where(result, True)}."
    )
    return save(fig, folder, "scaling", caption, top=0.96)


def growth(x: list[float], y: list[float]) -> float:
    """Exponent of y ~ x^k, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def scaling_large(result: dict[str, Any], folder: Path) -> str:
    """Time, orientation and memory against p, with the fitted exponents."""
    rows = [r for r in result["rows"] if seconds(r["run"])]
    p = [r["p"] for r in rows]
    fig, ax = figure(figsize=(6.6, 4))
    lines = [("skeleton, total", [seconds(r["run"]) for r in rows])]
    lines.append(("levels only", [level_times(r["run"]).sum() for r in rows]))
    lines.append(("transfer to the device", [seconds(r["run"], "transfer_in") for r in rows]))
    if all(r.get("orientation") for r in rows):
        lines.append(("orientation", [r["orientation"][0] for r in rows]))
    for i, (name, values) in enumerate(lines):
        k = growth(p, values)
        ax.plot(p, values, color="0", ls=LINES[i], marker=MARKERS[i], mfc="1", label=f"{name}: p^{k:.2f}")
    log_axis(ax.yaxis)
    log_axis(ax.xaxis)
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
    return save(fig, folder, "scaling-large", caption)


def common(result: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """Who answered, and the rows of those graphs that all of them answered: only these can be compared."""
    present = {r["who"] for r in result["rows"]}
    order = [w for w in ("pycupc", "pcalg", "causal-learn", "pgmpy", "causal-learn, its default") if w in present]
    counts: dict[tuple[int, int], int] = {}
    for r in result["rows"]:
        counts[r["n"], r["seed"]] = counts.get((r["n"], r["seed"]), 0) + 1
    return order, [r for r in result["rows"] if counts[r["n"], r["seed"]] == len(order)]


def accuracy(result: dict[str, Any], folder: Path) -> str:
    """TDR and SHD over the number of observations."""
    order, rows = common(result)
    fig, axes = figure(1, 2, figsize=(8.6, 3.6))
    sizes = sorted({r["n"] for r in rows})
    for i, who in enumerate(order):
        for ax, key in zip(axes, ("tdr", "shd"), strict=True):
            own = [[r[key] for r in rows if r["who"] == who and r["n"] == n] for n in sizes]
            under = who == "pcalg"  # lies under pycupc's line: broad and grey
            ax.plot(
                sizes,
                [np.mean(v or [np.nan]) for v in own],
                color="0.6" if under else "0",
                ls=LINES[i],
                marker=MARKERS[i],
                ms=11 - 2 * i,
                mfc="1" if i % 2 else "0.6",
                lw=4 if under else 1.2,
                label=who,
                zorder=2 if under else 3,
            )
    axes[0].set_ylabel("true discovery rate of the skeleton")
    axes[1].set_ylabel("SHD to the true CPDAG")
    for ax in axes:
        log_axis(ax.xaxis)
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
        + f" Not timed; {where(result, False)}."
    )
    return save(fig, folder, "accuracy", caption)
