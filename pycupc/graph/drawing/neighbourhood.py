"""The part of a graph that is drawn around some variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import position
from pycupc.graph.sparse import SparseGraph

#: A variable or several, each given by its label or its position.
Variables: TypeAlias = str | int | Sequence[str | int]


def positions(variables: Variables, labels: Sequence[str]) -> list[int]:
    """Positions of variables named by labels or positions; ValueError without one, or if there is none of a name."""
    wanted = [variables] if isinstance(variables, (str, int, np.integer)) else list(variables)
    if not wanted:
        raise ValueError("around must name a variable, got an empty list")
    try:
        return [position(variable, labels) for variable in wanted]
    except (ValueError, IndexError) as error:
        raise ValueError(f"around: {error}") from None


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
    names = ", ".join(labels[v] for v in centres[:3]) + (", ..." if len(centres) > 3 else "")
    title = f"{names} and what is within {radius} edge{'s' * (radius != 1)}"
    if len(nodes) > most:
        title += f": the nearest {most} of {len(nodes):,} variables"
        nodes = nodes[: max(most, len(set(centres)))]
    place = {v: i for i, v in enumerate(nodes.tolist())}
    return graph.subgraph(nodes), nodes, [place[v] for v in centres], title
