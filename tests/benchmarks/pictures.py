"""The pictures of README.md, PRUNING.md and STABILITY.md. They are readable in black and white: no colours."""

import numpy as np

from . import structures
from .cells import LABELS
from .record import progress, read, where
from .report import METHODS, whole_runs

MARKS = {"stable": "x", "stable.fast": "+", "reference": "1", "cpu": "o", "gpucsl": "v", "cuPC-library": "P"}
MARKS |= {"cupc-e": "s", "cupc-s": "D", "gpu": "*"}
FILLED = {"cpu": "0.55", "gpu": "0", "cupc-e": "1", "cupc-s": "1", "gpucsl": "1", "cuPC-library": "0.8"}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Numbers of false edges and bounds below this one are drawn at it: the axes are logarithmic.
FLOOR = 0.02


def draw_all(folder):
    """Draw each picture whose results are in the folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    for draw, name, experiments in DRAWN:
        data = {experiment: read(folder, experiment) for experiment in experiments.split()}
        if all(data.values()):
            save(draw(plt, data), folder / f"{name}.png")
            plt.close("all")
            progress(f"drew {name}.png")


def save(fig, path):
    """Write a picture in sixteen shades of grey."""
    from PIL import Image

    fig.savefig(path, dpi=120, bbox_inches="tight")
    with Image.open(path) as image:
        image.convert("L").quantize(16).save(path, optimize=True)


def glance(plt, data):
    """Run times of all implementations: a line per data set, a marker per implementation, seconds on a log axis."""
    rows = whole_runs(data)
    names = list(dict.fromkeys(row["set"] for row in rows))
    fig, ax = plt.subplots(figsize=(8, 1.8 + 0.42 * len(names)))
    for who, marker in MARKS.items():
        own = [row for row in where(rows, engine=who) if "seconds" in row]
        style = {"facecolors": FILLED[who], "edgecolors": "0"} if who in FILLED else {"c": "0"}
        style |= {"marker": marker, "s": 130 if who == "gpu" else 60, "zorder": 3, "linewidths": 1.2}
        ax.scatter([r["seconds"] for r in own], [names.index(r["set"]) for r in own], label=LABELS[who][0], **style)
    late = [(r.get("estimate", r.get("limit")), names.index(r["set"])) for r in where(rows, engine="stable.fast")]
    late = [at for at, r in zip(late, where(rows, engine="stable.fast"), strict=True) if "seconds" not in r]
    if late:
        ax.scatter(*zip(*late, strict=True), marker="+", c="0.6", s=60, label="pcalg stable.fast: longer than this")
    for x, y in late:
        ax.annotate("", (x * 1.9, y), (x * 1.1, y), arrowprops={"arrowstyle": "->", "color": "0.6"})
    ax.set(xscale="log", xlabel="seconds for the skeleton (logarithmic scale)", ylim=(len(names) - 0.4, -0.6))
    facts = [where(rows, set=name)[0] for name in names]
    text = [f"{r['set']}, alpha {r['alpha']:g}\n{r['p']:,} x {r['n']:,}" for r in facts]
    ax.set_yticks(range(len(names)), text, fontsize=8)
    ax.grid(color="0.9")
    ax.legend(fontsize=8, ncol=4, loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return fig


def pruning(plt, data):
    """Tests answered and tests made by level, a panel per data set."""
    rows = [row for row in data["pruning"] if "level" in row]
    names = list(dict.fromkeys(row["set"] for row in rows))
    fig, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.4), squeeze=False, sharey=True)
    for ax, name in zip(axes[0], names, strict=True):
        own = where(rows, set=name)
        at = [row["level"] for row in own]
        ax.plot(at, [row["tests"] for row in own], "o-", color="0", markersize=4, label="tests answered")
        ax.plot(at, [row["made"] for row in own], "s--", color="0.5", markersize=4, label="tests made")
        ax.set(yscale="log", xlabel="level", title=name)
    axes[0, 0].set_ylabel("tests")
    axes[0, -1].legend(frameon=False)
    return fig


def bounds(plt, data):
    """Mean false edges over the bound "worst-case", a panel for the structures of either kind; a point is a setting."""
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 4.6), sharex=True, sharey=True)
    kinds = (structures.EQUAL, structures.UNEQUAL), ("the assumptions hold", "they do not hold")
    for ax, group, title in zip(axes, *kinds, strict=True):
        for k, name in enumerate(group):
            own = [row for row in where(data["stability-bounds"], set=name) if "bound worst-case" in row]
            x, y = (np.maximum([row[key] for row in own], FLOOR) for key in ("bound worst-case", "false"))
            style = {"marker": MARKERS[k % len(MARKERS)], "markerfacecolor": ("1", "0.6")[k % 2], "color": "0"}
            ax.plot(x, y, ls="", ms=4, mew=0.6, label=name, **style)
        ax.plot((FLOOR, 100), (FLOOR, 100), color="0", lw=0.8)
        ax.set(title=title, xlabel='bound "worst-case" on the mean number of false edges', xscale="log", yscale="log")
        ax.legend(frameon=False, fontsize=7, loc="upper left")
    axes[0].set_ylabel(f"mean number of false edges (at least {FLOOR:g})")
    return fig


def examples(plt, data):
    """Selected edges and the bounds over the threshold, a panel per data set."""
    rows = where(data["stability-examples"], scheme="complementary")
    names, method = list(dict.fromkeys(row["set"] for row in rows)), list(METHODS)[-1]
    fig, axes = plt.subplots(1, len(names), figsize=(4.6 * len(names), 4.2), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for alpha, marker in zip(dict.fromkeys(row["alpha"] for row in rows), MARKERS, strict=False):
            own = where(rows, set=name, alpha=alpha)
            known = [row for row in own if f"bound {method}" in row]
            style = {"marker": marker, "color": "0", "ms": 4}
            at, edges = [row["threshold"] for row in own], [row["edges"] for row in own]
            ax.plot(at, edges, label=f"edges, alpha {alpha:g}", **style)
            at, bound = (
                [row["threshold"] for row in known],
                np.maximum([row[f"bound {method}"] for row in known], FLOOR),
            )
            ax.plot(at, bound, ls=":", markerfacecolor="1", label=f"bound, alpha {alpha:g}", **style)
        ax.set(title=name, xlabel="threshold: share of the resamples", yscale="log")
    axes[0, 0].set_ylabel(f'edges, and bound "{method}" on the false ones')
    axes[0, 0].legend(frameon=False, fontsize=7)
    return fig


#: The function, the name of the file, and the experiments whose results it needs.
DRAWN = (
    (glance, "glance", "cpu gpu"),
    (pruning, "pruning", "pruning"),
    (bounds, "stability-bounds", "stability-bounds"),
    (examples, "stability-examples", "stability-examples"),
)
