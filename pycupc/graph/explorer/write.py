"""The content of an explorer page: a graph, the evidence for and against its edges; and the page, one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing import Variables, positions
from pycupc.graph.drawing.modules import modules_of
from pycupc.graph.drawing.network import place_dots
from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.system.files import whole_file
from pycupc.system.version import __version__

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_FOLDER = Path(__file__).parent / "page"
_PARTS = ("data", "place", "layers", "routes", "state", "colours", "view", "boxes", "save", "table", "panels", "main")
_SCRIPTS = tuple(f"{name}.js" for name in _PARTS)
#: Most variables and edges that a page holds.
MAX_NODES, MAX_EDGES = 5_000, 20_000


#: What a page asks to be cited, at its foot.
_CITATION = (
    "Please cite the algorithm, Spirtes, Glymour and Scheines (2000), Causation, Prediction, and Search, and Colombo "
    "and Maathuis (2014), J. Mach. Learn. Res. 15; and pycupc, https://github.com/pycupc/pycupc."
)
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RemovedPairs:
    """Pairs that a non-empty set separated."""

    # x, y, level: int (k,): the pair, in the order of its separating test, and the size of the set.
    x: NDArray[Any]
    y: NDArray[Any]
    level: NDArray[Any]
    # int (sum of level,): all sets, one after the other; they may name variables that the page does not draw.
    members: NDArray[Any]
    # r, p: float (k,) or None: partial correlation, or p-value if the correlation is not known.
    r: Floats | None
    p: Floats | None
    complete_from: int  # every pair of the page that was removed at this level or a later one is listed; 1: all are
    # How many of the pairs, the last ones, later tests removed, whose sets need not be neighbours.
    after_levels: int = 0


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a page. Variables are numbered 0, 1, ... in the order in which the page draws them."""

    # title, facts, note: headline; a line of figures; what the page leaves out, if anything.
    title: str
    facts: str
    note: str
    # The variables and edges that are drawn; `edges_left_out` is the number of others among these variables.
    graph: SparseGraph
    # labels of these variables, followed by the labels of variables that occur only in separating sets.
    labels: Sequence[str]
    degree: NDArray[np.int64]  # int (p,): number of neighbours in the whole result
    # edge_p, edge_r, edge_tests, edge_level: (m,) or None: for each edge, in the order of ``graph.edge_list()``: the
    # largest p-value of its tests, -1 if never tested; the correlation of its ends; the number of tests that it
    # survived, and their highest level. None for a consensus of resamples, which has `stability`, frequencies from 0 to
    # 1, and `shares`, the frequencies of each mark, in their place.
    edge_p: Floats | None = None
    edge_r: Floats | None = None
    edge_tests: Floats | None = None
    edge_level: NDArray[np.int64] | None = None
    # mapping of str to array (m,): further columns of the edges by title, numbers or texts.
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # sequence of m sequences: what set its marks: each [variable at whose end the mark is, rule, variable, ...]; `pag`:
    # the rules are FCI's, not Meek's.
    reasons: Sequence[Sequence[Sequence[str | int]]] = ()
    stability: Floats | None = None
    removed: RemovedPairs = field(default_factory=lambda: RemovedPairs(_NONE, _NONE, _NONE, _NONE, None, None, 1))
    # int (k, 4): removed pairs whose separating test was not made, the number of observations that the test would have
    # needed, and the number of observations that there were.
    untested: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    # int (k, 2): pairs that fixedGaps excludes.
    gaps: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    # float (p (p - 1) / 2,) or None: of all pairs i < j, by rows, if the graph is small.
    correlations: Floats | None = None
    cutoffs: Sequence[float | None] = ()  # largest |r| judged independent, for each level; None where every r is
    n: float | None = None
    alpha: float | None = None
    edges_left_out: int = 0
    start: int | None = None  # the variable whose neighbourhood is shown first
    shares: Mapping[str, Floats] = field(default_factory=dict)
    pag: bool = False
    # groups: their names; group: int (p,): the number of the group of each variable from 1, 0 without one.
    groups: Sequence[str] = ()
    # units of the drawn variables, or empty: effects in different units have axes of their own.
    units: Sequence[str] = ()
    name: str = ""  # of the data, the headline above the title if it is known
    group: NDArray[np.int64] | None = None
    # mapping of str to float (p, p): of rows on columns: `value`, the possible effect of smallest size, its interval
    # `low` to `high`, and the `agreement` of the signs of all possible effects.
    effects: Mapping[str, Floats] = field(default_factory=dict)


def part_of(
    graph: SparseGraph,
    labels: Sequence[str],
    edge_p: NDArray[np.float64],
    around: Variables | None,
    radius: int,
    first: str = "with the smallest p-values",
) -> tuple[Numbers, Numbers, dict[str, Any]]:
    """The variables and the edges of a page by their numbers in the whole graph, and fields of `Content` about them."""
    centres = None if around is None else positions(around, labels)
    nodes, edges, note = _chosen(graph, edge_p, centres, radius, first)
    shown = graph.with_edges(edges).subgraph(nodes)
    at = graph.edge_number(nodes[shown.low], nodes[shown.high])
    start = None if centres is None else int(np.searchsorted(nodes, centres[0]))
    part = {"note": note, "graph": shown, "labels": [labels[v] for v in nodes.tolist()], "start": start}
    return nodes, at, part | {"degree": graph.degrees()[nodes], "edges_left_out": len(graph) - len(edges)}


def _chosen(
    graph: SparseGraph, edge_p: NDArray[np.float64], around: list[int] | None, radius: int, first: str
) -> tuple[Numbers, Numbers, str]:
    """The variables and the edges that a page holds, ascending, and a sentence on what it leaves out.

    Of too many edges, the edges with the smallest `edge_p` stay; the sentence describes them by the words `first`.
    """
    notes = []
    nodes = np.arange(graph.p) if around is None else graph.around(around, radius)
    if len(nodes) > MAX_NODES:
        if around is None:
            nodes = np.argsort(-graph.degrees(), kind="stable")
        which = "with most neighbours" if around is None else "nearest to the requested ones"
        notes.append(f"the {MAX_NODES:,} variables {which}, of {len(nodes):,}")
        nodes = nodes[:MAX_NODES]
    nodes = np.sort(nodes)
    inside = np.zeros(graph.p, dtype=np.bool_)
    inside[nodes] = True
    edges = np.flatnonzero(inside[graph.low] & inside[graph.high])
    if len(edges) > MAX_EDGES:
        notes.append(f"the {MAX_EDGES:,} edges among its variables {first}, of {len(edges):,}")
        edges = np.sort(edges[np.argsort(edge_p[edges], kind="stable")[:MAX_EDGES]])
    if around is not None and len(nodes) < graph.p and not notes:
        return nodes, edges, f"This page holds the variables within {radius} edges of the requested ones."
    if not notes:
        return nodes, edges, ""
    more = "pycupc plot RESULTS --around NAME --out NAME.html, or fit.explore(around=NAME), shows another part"
    return nodes, edges, f"This page holds {' and '.join(notes)}: {more}."


def page(content: Content) -> str:
    """The page of `content`, HTML. The same content gives the same text.

    Labels reach the page in one block of JSON, in which no character can end the block, and the scripts set them as
    text only. The Content-Security-Policy names the script and the style by their hashes and allows nothing else: no
    other script runs, and no request leaves the page.
    """
    style = (_FOLDER / "explorer.css").read_text(encoding="utf-8")
    script = '"use strict";\n' + "\n".join(
        (_FOLDER / name).read_text(encoding="utf-8").removeprefix('"use strict";\n') for name in _SCRIPTS
    )
    parts = {"style": style, "script": script, "style_hash": _hash(style), "script_hash": _hash(script)}
    parts["data"] = _json(_data(content))
    frame = (_FOLDER / "explorer.html").read_text("utf-8")
    return re.sub("{(.*?)}", lambda found: parts[found[1]], frame)  # in one pass: what is put in is not searched again


class InlinePage:
    """A page for a notebook, which shows it as the output of a cell. `path` is its file, or None."""

    def __init__(self, content: Content, path: Path | None) -> None:
        self._text, self.path = page(content), path

    def _repr_html_(self) -> str:
        # without allow-same-origin, the page can neither read nor change the notebook
        text = html.escape(self._text)
        allowed = "allow-scripts allow-modals allow-downloads"
        return f'<iframe srcdoc="{text}" sandbox="{allowed}" width="100%" height="760"></iframe>'

    def __repr__(self) -> str:
        return f"<Explorer{'' if self.path is None else f': {self.path}'}>"


def show_page(content: Content, path: str | PathLike[str] | None = None, *, show: bool = True) -> Path | InlinePage:
    """Write a page to a file, by default in a new temporary folder, and show it.

    In a notebook, whose kernel may run on another machine than the browser, the page is returned to be shown there, and
    written only to a given `path`. Elsewhere the file is opened in the browser, and its path is returned.
    """
    file = None if path is None else Path(path)
    inline = show and _in_notebook()
    if file is None and not inline:
        file = Path(tempfile.mkdtemp(prefix="pycupc-")) / "graph.html"
    if file is not None:
        text = page(content).encode()
        with whole_file(file) as out:
            out.write(text)
    if file is None or inline:
        return InlinePage(content, file)
    if show:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())
    return file


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _hash(text: str) -> str:
    """The hash by which a Content-Security-Policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(value: dict[str, Any]) -> str:
    """JSON in ASCII that cannot end the HTML element that holds it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _packed(name: str, value: Any) -> Any:
    """A value for JSON: arrays by rows, whole numbers in the smallest type that holds them, others in single precision.

    p-values and numbers of tests stay in double precision.
    """
    if isinstance(value, Mapping):
        return {key: _packed(key, part) for key, part in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        return value.tolist()
    if value.dtype.kind in "iu":
        value = value.astype(np.min_scalar_type(int(value.max(initial=0))))
    elif name not in ("edge_p", "p", "edge_tests"):
        value = value.astype(np.float32)
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    return {"type": value.dtype.name, "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def _data(content: Content) -> dict[str, Any]:
    """The data that the scripts read: the entries of `Content`, and in place of the graph its edges and positions."""
    graph, removed = content.graph, content.removed
    xy = place_dots(graph, modules_of(graph))[0] if graph.p else np.zeros((0, 2))
    tail, head, _ = graph.edge_list()
    listed = f"all {len(removed.x):,} pairs that a non-empty set separated"
    if removed.complete_from > 1:
        listed = f"the {len(removed.x):,} pairs that came closest to staying: highest levels first, then smallest p"
    foot = f"pycupc {__version__}. {_CITATION}"
    drawn = {"foot": foot, "nodes": graph.p, "tail": tail, "head": head, "kind": graph.kind_numbers()}
    drawn |= {"x": xy[:, 0], "y": -xy[:, 1]}  # upward on paper, downward on a screen
    drawn["untested"] = content.untested.tolist()  # the observations may be more than 2^32
    drawn["removed"] = {**vars(removed), "note": f"listed: {listed}" if len(removed.x) else ""}
    others = {name: value for name, value in vars(content).items() if name not in ("graph", "removed")}
    packed: dict[str, Any] = _packed("", others | drawn)
    return packed
