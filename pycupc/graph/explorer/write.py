"""Turn a `Content` into one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.layout import layout
from pycupc.graph.drawing.network import place_dots
from pycupc.graph.explorer.content import Content
from pycupc.graph.sparse import DIRECTED, SparseGraph

Floats = NDArray[np.float64]

_FOLDER = Path(__file__).parent / "page"
_SCRIPTS = ("data.js", "place.js", "state.js", "view.js", "table.js", "panels.js", "main.js")
#: Most variables that are placed so that all of their labels have room.
MAX_ROOMY = 80


def write_page(content: Content, path: str | PathLike[str]) -> None:
    Path(path).write_text(page(content), encoding="utf-8", newline="\n")


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
    if value.dtype.kind in "iu":
        value = value.astype(np.min_scalar_type(int(value.max(initial=0))))
    elif name not in ("edge_p", "p", "edge_tests"):
        value = value.astype(np.float32)
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    return {"type": value.dtype.name, "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def _positions(graph: SparseGraph, labels: Sequence[str]) -> Floats:
    """Positions of the variables in the picture of the whole graph, float64 (p, 2)."""
    if not graph.p:
        return np.zeros((0, 2))
    if graph.p > MAX_ROOMY:
        return place_dots(graph)[0]
    tail, head, kind = graph.edge_list()
    sizes = np.repeat(0.1 + 0.02 * np.sqrt(graph.degrees())[:, None], 2, axis=1)
    sizes[:, 0] += [0.07 * min(28, len(label)) for label in labels[: graph.p]]  # for labels beside the dots
    sizes[:, 1] += 0.15
    return layout(tail, head, kind == DIRECTED, sizes, spacing=0.8)


def _data(content: Content) -> dict[str, Any]:
    """The data that the scripts read: the entries of `Content`, and in place of the graph its edges and positions."""
    graph, removed = content.graph, content.removed
    xy = _positions(graph, content.labels)
    tail, head, _ = graph.edge_list()
    listed = f"all {len(removed.x):,} pairs that a non-empty set separated"
    if removed.complete_from > 1:
        listed = f"the {len(removed.x):,} pairs that came closest to staying: highest levels first, then smallest p"
    drawn = {"nodes": graph.p, "tail": tail, "head": head, "kind": graph.kind_numbers()}
    drawn |= {"x": xy[:, 0], "y": -xy[:, 1]}  # upward on paper, downward on a screen
    drawn["untested"] = content.untested.tolist()  # the observations may be more than 2^32
    drawn["removed"] = {**vars(removed), "note": f"listed: {listed}" if len(removed.x) else ""}
    others = {name: value for name, value in vars(content).items() if name not in ("graph", "removed")}
    packed: dict[str, Any] = _packed("", others | drawn)
    return packed
