"""What all pictures share. They are readable in black and white: hatches, markers and line styles, no colours."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

GREYS = ("0.15", "0.55", "0.85", "1.0", "0.35", "0.7")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def figure(*shape: Any, **how: Any) -> tuple[Any, Any]:
    """`plt.subplots`, also on a machine without a display."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(*shape, **how)


def save(fig: Any, folder: Path, name: str, caption: str, top: float = 1.0) -> str:
    """Write NAME.png with a caption below it; the part above `top` is left to a legend of the whole figure."""
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


def log_axis(axis: Any) -> None:
    """A logarithmic axis with plain numbers; over a few decades only 2 and 5 are labelled, too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2.5 else (1.0, 2.0, 5.0), numticks=20))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(_plain_number))
    axis.axes.tick_params(labelsize=8)


def _plain_number(value: float, _: int) -> str:
    if not 1e-4 <= value < 1e6:
        return f"{value:.0e}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def patch(color: str, hatch: str, text: str) -> Any:
    """A legend entry of a bar or a box."""
    from matplotlib.patches import Patch

    return Patch(facecolor=color, hatch=hatch, edgecolor="0", label=text)
