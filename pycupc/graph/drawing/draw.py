"""Pictures of a graph: boxes with labels, dots with labels, an overview of dots, or the pattern of the matrix.

What is drawn depends on the variables that have edges and on the number of edges:

    up to 60              every variable is a box with its label; arrows point down, layer by layer
    up to 300             every variable is a dot; labels where there is room, those with most neighbours first
    up to 3,000           dots, of which those with most neighbours are named; not drawn with more than 9,000 edges;
                          from 600 on, the modules of a component lie apart, if there are clear ones
    beyond                the pattern of the adjacency matrix

The kinds of edges differ in form, not only in colour, so that they remain distinct in black and white:

    directed      solid line, one arrowhead
    undirected    dashed line, no arrowhead
    bidirected    thick line, arrowheads at both ends

Edges with circles are solid lines with a small circle at such an end, and nothing or an arrowhead at the other.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycupc.data import names
from pycupc.graph.drawing.canvas import EDGE_STYLES, GREY, filled_figure
from pycupc.graph.drawing.labelled import draw_labelled
from pycupc.graph.drawing.look import Look
from pycupc.graph.drawing.network import draw_network
from pycupc.graph.drawing.tikz import tikz
from pycupc.graph.sparse import KINDS, SparseGraph
from pycupc.system.caches import set_environment
from pycupc.system.extras import needed
from pycupc.system.files import whole_file
from pycupc.system.text import counted, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Most variables drawn as boxes with labels, and most edges between them.
MAX_LABELLED, MAX_LABELLED_EDGES = 60, 180
#: Most variables with edges, and most edges, that are drawn as a network of dots.
MAX_NETWORK, MAX_NETWORK_EDGES = 3_000, 9_000


def plot(
    graph: SparseGraph,
    labels: Sequence[str],
    *,
    ax: Axes | None = None,
    max_labelled: int = MAX_LABELLED,
    around: Variables | None = None,
    radius: int = 2,
    **options: Any,
) -> Axes:
    """Draw a graph; arguments and errors as of `pycupc.graph.named.NamedGraph.plot`."""
    _require_matplotlib()
    graph, labels, look, heading = look_of(graph, labels, around, radius, max_labelled, options)
    title = look.title
    if title is None:
        title = "\n".join([heading] * bool(heading) + textwrap.wrap(describe(graph), 90))
    title = "\n".join(map(printable, str(title or "").split("\n")))
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(facecolor="white").add_axes((0, 0, 1, 1))
    if is_labelled(graph, len(labels), max_labelled):
        draw_labelled(graph, labels, ax, title, look)
        return ax
    if look.tier is not None:
        raise ValueError(
            f"tiers are drawn as rows of at most {max_labelled} variables, got {len(labels):,}: choose some with around"
        )
    connected = np.flatnonzero(graph.degrees())
    if isolated := graph.p - len(connected):
        title += f"\n{isolated:,} variables without an edge are not drawn" if title else ""
        graph, labels = graph.subgraph(connected), [labels[v] for v in connected.tolist()]
        look = look.part(connected, np.arange(len(graph)))
    if 0 < graph.p <= MAX_NETWORK and len(graph) <= MAX_NETWORK_EDGES:
        draw_network(graph, labels, ax, title, look)
    elif look.group is not None or look.on_path is not None:
        raise ValueError(
            f"groups and paths are drawn of at most {MAX_NETWORK:,} variables and {MAX_NETWORK_EDGES:,} edges, got "
            f"{graph.p:,} and {len(graph):,}: choose some with around"
        )
    else:
        draw_matrix(graph, ax, title, look)
    return ax


def look_of(
    graph: SparseGraph,
    labels: Sequence[str],
    around: Variables | None,
    radius: int,
    max_labelled: int,
    options: Mapping[str, Any],
) -> tuple[SparseGraph, list[str], Look, str]:
    """The graph or neighbourhood that is drawn, its labels, what is shown beside it, and a heading."""
    labels, heading = [str(label) for label in labels], ""
    look = Look.of(graph, labels, **options)
    if around is not None:
        part, nodes, centres, heading = neighbourhood(graph, labels, around, radius, max_labelled)
        look = replace(look.part(nodes, graph.edge_number(nodes[part.low], nodes[part.high])), centres=tuple(centres))
        graph, labels = part, [labels[v] for v in nodes.tolist()]
    return graph, labels, look, heading


def is_labelled(graph: SparseGraph, variables: int, most: int = MAX_LABELLED) -> bool:
    """Whether a graph is drawn as boxes with labels: few enough variables, and edges."""
    return variables <= most and len(graph) <= max(MAX_LABELLED_EDGES, 3 * variables)


def save(graph: SparseGraph, labels: Sequence[str], *paths: str | Path, dpi: int = 150, **options: Any) -> None:
    """Draw a graph into files without a display; the same graph gives the same bytes.

    The endings of `paths` determine the formats: .png (of `dpi` pixels per inch), .svg, .pdf or .tikz. `options` as of
    `plot`.
    """
    texts = [path for path in paths if Path(path).suffix.lower() == ".tikz"]
    for path in texts:
        with whole_file(Path(path)) as file:
            file.write(tikz_of(graph, labels, **options).encode())
    if len(texts) < len(paths):
        figure, ax = _new_axes()
        plot(graph, labels, ax=ax, **options)
        save_figure(figure, *[path for path in paths if path not in texts], dpi=dpi)


def tikz_of(
    graph: SparseGraph, labels: Sequence[str], *, around: Variables | None = None, radius: int = 2, **options: Any
) -> str:
    """A graph as TikZ; the arguments of `plot` but for the axes. ValueError if it is too large, or as of `plot`."""
    graph, labels, look, _ = look_of(graph, labels, around, radius, MAX_LABELLED, options)
    return tikz(graph, labels, look)


def save_figure(figure: Figure, *paths: str | Path, dpi: int = 150) -> None:
    """Write a figure into files, as `save` does; text stays text, in a PDF with TrueType fonts, as journals ask for."""
    import matplotlib

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    fonts: dict[Any, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}
    # unhinted letters look the same at this resolution, and take half the time
    with matplotlib.rc_context({"svg.hashsalt": "pycupc", "text.hinting": "none", **fonts}):
        for path in map(Path, paths):
            form = path.suffix.lower().lstrip(".")
            with whole_file(path) as file:
                figure.savefig(file, format=form, dpi=dpi, metadata=undated.get(form))


def small_picture(graph: SparseGraph, labels: Sequence[str], **options: Any) -> Figure:
    """A figure for a notebook, with the options of `plot`. ImportError without matplotlib."""
    figure, ax = _new_axes()
    plot(graph, labels, ax=ax, **options)
    return figure


def _new_axes() -> tuple[Figure, Axes]:
    """Axes that fill a new figure, which needs no display."""
    _require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(facecolor="white")
    FigureCanvasAgg(figure)
    return figure, figure.add_axes((0, 0, 1, 1))


def _require_matplotlib() -> None:
    set_environment()
    needed("matplotlib", "drawing", "plot")


def describe(graph: SparseGraph) -> str:
    """One line: the numbers of variables, of edges and of edges of each kind."""
    counts = {kind: n for kind, n in graph.counts().items() if n}
    text = f"{counted(graph.p, 'variable')}, {counted(len(graph), 'edge')}"
    if len(counts) == 1:
        return f"{text}, all {next(iter(counts))}"
    return text + (": " + ", ".join(f"{n:,} {kind}" for kind, n in counts.items()) if counts else "")


#: A variable or several, each given by its label or its position.
Variables: TypeAlias = str | int | Sequence[str | int]


def positions(variables: Variables, labels: Sequence[str]) -> list[int]:
    """Positions of variables given by labels or positions; ValueError if none is given, or one does not exist."""
    try:
        found = names.positions(variables, labels)
    except (ValueError, IndexError) as error:
        raise ValueError(f"around: {error}") from None
    if not found:
        raise ValueError("around must name a variable, got an empty list")
    return found


def neighbourhood(
    graph: SparseGraph, labels: Sequence[str], around: Variables, radius: int, most: int
) -> tuple[SparseGraph, NDArray[np.int64], list[int], str]:
    """The part of a graph that is drawn around some variables.

    Returns the graph, its variables by their positions in the whole graph, the positions of the variables of `around`
    in it, and a title. ValueError if `radius` is negative, or a variable does not exist.
    """
    if radius < 0:
        raise ValueError(f"radius must be a number of edges, 0 or more, got {radius}")
    centres = positions(around, labels)
    nodes = graph.around(centres, radius)
    named = ", ".join(labels[v] for v in centres[:3]) + (", ..." if len(centres) > 3 else "")
    title = f"{named} and what is within {radius} edge{'s' * (radius != 1)}"
    if len(nodes) > most:
        title += f": the nearest {most} of {len(nodes):,} variables"
        nodes = nodes[: max(most, len(set(centres)))]
    place = {v: i for i, v in enumerate(nodes.tolist())}
    return graph.subgraph(nodes), nodes, [place[v] for v in centres], title


#: Most cells of the picture along each side; a larger matrix shares them.
CELLS = 500


def draw_matrix(graph: SparseGraph, ax: Axes, title: str, look: Look) -> None:
    """Draw the pattern of the matrix, its variables in an order that puts neighbours near the diagonal.

    It is drawn as an image, so that the time does not depend on the number of edges.
    """
    from matplotlib.patches import Patch
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    figure = filled_figure(ax)
    if figure is not None:
        figure.set_size_inches(*(look.figsize or (8, 8.6)))
        ax.set_position((0.09, 0.08, 0.87, 0.82))
    p, place = max(graph.p, 1), np.empty(graph.p, dtype=np.int64)
    if graph.p:
        place[reverse_cuthill_mckee(graph.adjacency(), symmetric_mode=True)] = np.arange(p)
    ax.imshow(matrix_image(graph, place), extent=(0.5, p + 0.5, p + 0.5, 0.5), interpolation="nearest")
    order = "neighbours near each other: reverse Cuthill-McKee order"
    ax.set_xlabel(f"position of the variable an edge goes to (column), 1 to {p:,}\n{order}", fontsize=9)
    ax.set_ylabel(f"position of the variable an edge comes from (row), 1 to {p:,}", fontsize=9)
    ax.tick_params(labelsize=7)
    ax.set_title(title, fontsize=10, loc="left", y=1.005)  # matplotlib takes long to find a place itself
    forms = {kind: "in both cells" if one == two else "from row to column" for kind, (one, two) in KINDS.items()}
    kinds = [kind for kind, n in graph.counts().items() if n]
    patches = [Patch(color=EDGE_STYLES[kind].color, label=f"{kind} ({forms[kind]})") for kind in kinds]
    if patches and look.legend:
        ax.legend(handles=patches, loc="upper right", fontsize=8, framealpha=0.9, edgecolor=GREY)


def matrix_image(graph: SparseGraph, place: NDArray[np.int64]) -> NDArray[np.float64]:
    """Red, green and blue of each cell, float64 (side, side, 3): the colour of its commonest kind of edge or white."""
    from matplotlib.colors import to_rgb

    side = min(max(graph.p, 1), CELLS)
    tail, head, _ = graph.edge_list()
    row, column = (place[end] * side // max(graph.p, 1) for end in (tail, head))
    kind, both = graph.kind_numbers(), graph.low_mark == graph.high_mark
    counts = np.zeros((len(KINDS), side, side), dtype=np.int64)
    np.add.at(counts, (kind, row, column), 1)
    np.add.at(counts, (kind[both], column[both], row[both]), 1)
    colours = np.array([to_rgb(style.color) for style in EDGE_STYLES.values()])
    image: NDArray[np.float64] = colours[counts.argmax(axis=0)]
    image[counts.sum(axis=0) == 0] = 1.0
    return image
