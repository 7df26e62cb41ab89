"""Directed cycles of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def directed_cycle(tail: NDArray[np.integer], head: NDArray[np.integer], p: int) -> tuple[int, ...] | None:
    """A directed cycle of these arrows, from its lowest variable on, or None.

    Of the cycles through its first variable it is a shortest one.
    """
    if not len(tail):
        return None
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    arrows = csr_array((np.ones(len(tail)), (tail, head)), shape=(p, p))
    _, component = connected_components(arrows, connection="strong")
    inside = component[tail] == component[head]
    if not inside.any():
        return None
    first = min(tail[inside].min(), head[inside].min())
    order, before = breadth_first_order(arrows, first)
    found = [int(order[np.isin(order, tail[head == first])][0])]
    while found[0] != first:
        found.insert(0, int(before[found[0]]))
    return tuple(found)
