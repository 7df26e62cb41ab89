"""The pictures of README.md, docs/contracts/pruning.md and docs/contracts/stability.md. They are readable in black and
white: no colours.
"""

import numpy as np

from . import generators, record
from .report import LABELS, read, whole_runs

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
        frames = [read(folder, experiment) for experiment in experiments.split()]
        if all(map(len, frames)):
            save(draw(plt, *frames), folder / f"{name}.png")
            plt.close("all")
            record.progress(f"drew {name}.png")


def save(fig, path):
    """Write a picture in sixteen shades of grey."""
    from PIL import Image

    fig.savefig(path, dpi=120, bbox_inches="tight")
    with Image.open(path) as image:
        image.convert("L").quantize(16).save(path, optimize=True)


def glance(plt, *frames):
    """Run times of all implementations: a line per data set, a marker per implementation, seconds on a log axis."""
    rows = whole_runs(*frames)
    sets = rows.drop_duplicates("set")
    rows = rows.assign(at=rows.set.map({name: i for i, name in enumerate(sets.set)}))
    fig, ax = plt.subplots(figsize=(8, 1.8 + 0.42 * len(sets)))
    for who, marker in MARKS.items():
        own = rows[(rows.engine == who) & rows.seconds.notna()]
        style = {"facecolors": FILLED[who], "edgecolors": "0"} if who in FILLED else {"c": "0"}
        style |= {"marker": marker, "s": 130 if who == "gpu" else 60, "zorder": 3, "linewidths": 1.2}
        ax.scatter(own.seconds.astype(float), own["at"].astype(int), label=LABELS[who][0], **style)
    late = rows[(rows.engine == "stable.fast") & rows.seconds.isna()]
    least = late.estimate.fillna(late.limit).astype(float)
    if len(late):
        ax.scatter(least, late["at"], marker="+", c="0.6", s=60, label="pcalg stable.fast: longer than this")
    for x, y in zip(least, late["at"], strict=True):
        ax.annotate("", (x * 1.9, y), (x * 1.1, y), arrowprops={"arrowstyle": "->", "color": "0.6"})
    ax.set(xscale="log", xlabel="seconds for the skeleton (logarithmic scale)", ylim=(len(sets) - 0.4, -0.6))
    names = [f"{r.set}, alpha {r.alpha:g}\n{r.p:,} x {r.n:,}" for r in sets.itertuples()]
    ax.set_yticks(range(len(sets)), names, fontsize=8)
    ax.grid(color="0.9")
    ax.legend(fontsize=8, ncol=4, loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return fig


def pruning(plt, frame):
    """Tests answered and tests made by level, a panel per data set."""
    groups = frame[frame.level.notna()].groupby("set", sort=False)
    fig, axes = plt.subplots(1, len(groups), figsize=(4.2 * len(groups), 3.4), squeeze=False, sharey=True)
    for ax, (name, own) in zip(axes[0], groups, strict=True):
        ax.plot(own.level, own.tests, "o-", color="0", markersize=4, label="tests answered")
        ax.plot(own.level, own.made, "s--", color="0.5", markersize=4, label="tests made")
        ax.set(yscale="log", xlabel="level", title=name, xticks=range(0, int(own.level.max()) + 1, 5))
    axes[0, 0].set_ylabel("tests")
    axes[0, -1].legend(frameon=False)
    return fig


def many(plt, frame):
    """Seconds and memory by the number of variables, with the growth between the smallest and the largest one."""
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    what = ("seconds", 1.0, "seconds of pc()"), ("peak_bytes", 1e-9, "memory of the process (GB)")
    for k, (engine, own) in enumerate(frame[frame.n == 200].sort_values("p").groupby("engine")):
        for ax, (column, factor, label) in zip(axes, what, strict=True):
            low, high = own.iloc[0], own.iloc[-1]
            growth = np.log(high[column] / low[column]) / max(np.log(high.p / low.p), 1e-9)
            ax.plot(
                own.p, own[column] * factor, MARKERS[k], ls="-", color=str(0.5 * k), label=f"{engine}, p^{growth:.2f}"
            )
            ax.set(xscale="log", yscale="log", xlabel="variables", ylabel=label)
    for ax in axes:
        ax.legend(frameon=False)
    return fig


def bounds(plt, frame):
    """Mean false edges over the bound "worst-case", a panel for the structures of either kind; a point is a setting."""
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 4.6), sharex=True, sharey=True, layout="constrained")
    kinds = (generators.EQUAL, generators.UNEQUAL), ("the assumptions hold", "they do not hold")
    for ax, group, title in zip(axes, *kinds, strict=True):
        for k, name in enumerate(group):
            own = frame[(frame.set == name) & frame["bound worst-case"].notna()]
            x, y = (np.maximum(own[column].astype(float), FLOOR) for column in ("bound worst-case", "false"))
            style = {"marker": MARKERS[k % len(MARKERS)], "markerfacecolor": ("1", "0.6")[k % 2], "color": "0"}
            ax.plot(x, y, ls="", ms=4, mew=0.6, label=name, **style)
        ax.plot((FLOOR, 100), (FLOOR, 100), color="0", lw=0.8)
        ax.set(title=title, xscale="log", yscale="log")
        ax.legend(frameon=False, fontsize=7, loc="upper left")
    fig.supxlabel('bound "worst-case" on the mean number of false edges')
    fig.supylabel(f"mean number of false edges (at least {FLOOR:g})")
    return fig


#: The function, the name of the file, and the experiments whose results it needs.
DRAWN = (
    (glance, "glance", "cpu gpu gpu-peers"),
    (pruning, "pruning", "pruning"),
    (many, "many", "many"),
    (bounds, "stability-bounds", "stability-bounds"),
)
