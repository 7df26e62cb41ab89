"""Pictures of graphs that R holds, as shapes that R draws on its own devices; and the explorer's file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pycupc.graph.drawing import shapes
from pycupc.graph.named import NamedGraph
from pycupc.r.conversions import from_plain
from pycupc.r.r_explanation import Answer
from pycupc.r.sent_data import Sent
from pycupc.results.serialisation import graph_from_arrays


def picture(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """The shapes of a picture of the graph of `sent`, as of `pycupc.graph.drawing.shapes`.

    `options` has its `labels`; `around`, positions from 1, or empty, and `radius`; `groups`, the group of each variable
    or "", or empty; `tiers`, a number for each variable, or empty; `paths`, a list of positions from 1 for each path.
    """
    labels = [str(label) for label in options["labels"]]
    graph = NamedGraph(labels=tuple(labels), sparse_graph=graph_from_arrays(from_plain(sent), len(labels)))
    look = {
        "groups": [str(name) or None for name in options["groups"]] or None,
        "tiers": [float(tier) for tier in options["tiers"]] or None,
        "paths": [[int(v) - 1 for v in path] for path in options["paths"]],
    }
    around = [int(v) - 1 for v in options["around"]] or None
    found = shapes(graph.sparse_graph, labels, around=around, radius=int(options["radius"]), **look)
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in found.numbers.items()}
    return found.texts, arrays
