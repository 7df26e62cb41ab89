"""Pictures of a graph: labelled boxes for up to sixty variables, an overview of larger graphs.

The kinds of edges differ in form, not only in colour, so that they remain distinct in black and white:

    directed      solid line, one arrowhead
    undirected    dashed line, no arrowhead
    bidirected    thick line, arrowheads at both ends
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pycupc.plotting.labelled import draw_labelled
from pycupc.plotting.overview import draw_overview
from pycupc.sparse_graph import BIDIRECTED, DIRECTED, UNDIRECTED, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most variables drawn with labels.
MAX_LABELLED = 60


def plot(
    graph: SparseGraph,
    labels: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    max_labelled: int = MAX_LABELLED,
) -> Axes:
    """Draw a graph.

    Parameters
    ----------
    graph : SparseGraph
    labels : sequence of p str
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of a suitable size.
    title : str, optional
        By default the numbers of variables and of edges of each kind.
    max_labelled : int
        Largest number of variables that are drawn with labels; larger graphs are drawn as an overview.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    _require_matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(facecolor="white").add_axes((0, 0, 1, 1))
    labels = [str(label) for label in labels]
    draw = draw_labelled if len(labels) <= max_labelled else draw_overview
    draw(graph, labels, ax, describe(graph) if title is None else title)
    return ax


def save(
    graph: SparseGraph, labels: Sequence[str], *paths: str | Path, title: str | None = None, dpi: int = 150
) -> None:
    """Draw a graph into files without a display; the same graph gives the same bytes.

    Parameters
    ----------
    graph : SparseGraph
    labels : sequence of p str
    *paths : str or Path
        Their endings determine the formats: .png, .svg or .pdf.
    title : str, optional
        As for `plot`.
    dpi : int
        Pixels per inch of a .png.
    """
    _require_matplotlib()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(facecolor="white")
    FigureCanvasAgg(figure)
    plot(graph, labels, ax=figure.add_axes((0, 0, 1, 1)), title=title)
    undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "pycupc", "svg.fonttype": "none"}):
        for path in map(Path, paths):
            metadata = undated.get(path.suffix.lower().lstrip("."))
            figure.savefig(path, dpi=dpi, metadata=metadata, bbox_inches="tight", pad_inches=0.1)


def small_picture(graph: SparseGraph, labels: Sequence[str], pixels: int = 900) -> str:
    """A picture for a notebook: PNG, at most `pixels` wide and high, in base64.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    _require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(facecolor="white")
    FigureCanvasAgg(figure)
    plot(graph, labels, ax=figure.add_axes((0, 0, 1, 1)))
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=min(100.0, pixels / max(figure.get_size_inches())))
    return base64.b64encode(data.getvalue()).decode("ascii")


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401 - only whether it can be imported
    except ImportError as error:
        raise ImportError("drawing requires matplotlib: pip install 'pycupc[plot]'") from error


def describe(graph: SparseGraph) -> str:
    """One line: the numbers of variables, of edges and of edges of each kind."""
    counts = dict(zip((DIRECTED, UNDIRECTED, BIDIRECTED), graph.counts(), strict=True))
    kinds = [kind for kind, n in counts.items() if n]
    text = f"{graph.p} variables, {len(graph)} edge{'s' * (len(graph) != 1)}"
    if len(kinds) == 1:
        return f"{text}, all {kinds[0]}"
    return f"{text}: {', '.join(f'{counts[kind]} {kind}' for kind in kinds)}" if kinds else text
