"""Modules of a large component, sets of variables with many edges among them, and a layout that keeps them apart.

The modules are found by moving variables between modules while that increases the modularity, then modules as wholes
(Blondel et al., 2008, J. Stat. Mech. P10008), in the order of the variables, so that they are the same each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.stress import stress_layout
from pycupc.graph.sparse import SparseGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Fewest and most variables of a picture that shows modules, and fewest of a component that is divided into them.
FROM, MOST, LEAST = 600, 3_000, 100
#: How often all variables are moved before modules are.
PASSES = 12
#: Smallest modularity of a division that is shown.
CLEAR = 0.4


def modules_of(graph: SparseGraph) -> Numbers | None:
    """The module of each variable, int64 (p,), -1 in components without modules; None of a picture without any."""
    from scipy.sparse.csgraph import connected_components

    if not FROM <= graph.p <= MOST:
        return None
    pattern, found, count = graph.adjacency(), np.full(graph.p, -1, dtype=np.int64), 0
    _, component = connected_components(pattern, directed=False)
    for k in np.flatnonzero(np.bincount(component) >= LEAST).tolist():
        part = np.flatnonzero(component == k)
        if (own := modules(graph.subgraph(part).adjacency())) is not None:
            found[part] = own + count
            count += int(own.max()) + 1
    return found if count else None


def modules(pattern: csr_array) -> Numbers | None:
    """The module of each variable of a connected graph, int64 (k,), the largest first; None without clear modules."""
    weight, module = _rows(pattern), np.arange(pattern.shape[0])
    while True:
        found, moved = _moved(weight)
        module = found[module]
        if not moved:
            break
        weight = _merged(weight, found)
    total = float(pattern.nnz)
    inside = float((module[pattern.nonzero()[0]] == module[pattern.nonzero()[1]]).sum()) / total
    share = np.bincount(module, np.diff(pattern.indptr)) / total
    if inside - float(share @ share) < CLEAR:
        return None
    order = np.argsort(-np.bincount(module), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[module]


def _rows(pattern: csr_array) -> list[dict[int, float]]:
    """The neighbours of each node with the weights of its edges."""
    ends = np.split(pattern.indices, pattern.indptr[1:-1])
    return [dict.fromkeys(near.tolist(), 1.0) for near in ends]


def _moved(weight: list[dict[int, float]]) -> tuple[Numbers, bool]:
    """The module of each node after moving one after the other, and whether any has moved."""
    degree = [sum(near.values()) for near in weight]
    total, module, size = sum(degree), list(range(len(weight))), degree.copy()
    any_moved = False
    for _ in range(PASSES):
        moved = False
        for v, near in enumerate(weight):
            own, links = module[v], {module[v]: 0.0}
            for u, w in near.items():
                if u != v:
                    links[module[u]] = links.get(module[u], 0.0) + w
            size[own] -= degree[v]
            best, most = own, links[own] - size[own] * degree[v] / total
            for other, w in links.items():
                if (gain := w - size[other] * degree[v] / total) > most + 1e-9:
                    best, most = other, gain
            size[best] += degree[v]
            module[v] = best
            moved |= best != own
        any_moved |= moved
        if not moved:
            break
    return np.unique(module, return_inverse=True)[1].ravel().astype(np.int64), any_moved


def _merged(weight: list[dict[int, float]], module: Numbers) -> list[dict[int, float]]:
    """The graph whose nodes are the modules."""
    merged: list[dict[int, float]] = [{} for _ in range(int(module.max()) + 1)]
    for v, near in enumerate(weight):
        row = merged[module[v]]
        for u, w in near.items():
            to = int(module[u])
            row[to] = row.get(to, 0.0) + w
    return merged


def modular_layout(pattern: csr_array, module: Numbers, spacing: float) -> Floats:
    """Positions, float64 (k, 2): each module in a circle of its own, its neighbours near it; `spacing` of the dots."""
    from scipy.sparse import csr_array

    count = np.bincount(module)
    radius = 0.55 * spacing * np.sqrt(count) + 0.3 * spacing
    ends = module[pattern.nonzero()[0]], module[pattern.nonzero()[1]]
    between = csr_array((np.ones(pattern.nnz), ends), shape=(len(count), len(count))).tolil()
    between.setdiag(0)
    links = between.tocsr()
    links.eliminate_zeros()
    links.data[:] = 1
    centre = stress_layout(links) if len(count) > 2 else np.array([[-0.5, 0.0], [0.5, 0.0]])[: len(count)]
    centre = _apart(centre * 1.6 * float(radius.mean()), radius + 0.5 * spacing)
    xy = np.zeros((len(module), 2))
    for k in range(len(count)):
        own = np.flatnonzero(module == k)
        xy[own] = centre[k] + _disc(pattern[own][:, own].tocsr(), float(radius[k]))
    return xy


def _disc(pattern: csr_array, radius: float) -> Floats:
    """Positions of the variables of a module within a circle; the distances from its centre are evened out."""
    k = pattern.shape[0]
    if k == 1:
        return np.zeros((1, 2))
    xy = stress_layout(pattern)
    far = np.hypot(*xy.T)
    even = np.empty(k)
    even[np.argsort(far, kind="stable")] = np.sqrt((np.arange(k) + 0.5) / k)
    wanted: Floats = xy / np.maximum(far, 1e-9)[:, None] * (0.5 * even + 0.5 * far / far.max())[:, None] * radius
    return wanted


def _apart(centre: Floats, radius: Floats) -> Floats:
    """Centres of circles moved until no two overlap, and then towards their middle while there is room."""
    reach = radius[:, None] + radius
    np.fill_diagonal(reach, 0.0)
    for step in range(300):
        away = centre[:, None] - centre
        distance = np.maximum(np.linalg.norm(away, axis=2), 1e-6)
        push = np.maximum(reach / distance - 1, 0)
        centre = centre + 0.35 * (away * push[..., None]).sum(axis=1)
        if step < 200:
            centre = centre - 0.05 * (centre - centre.mean(axis=0))
        elif push.max() < 0.01:
            break
    return centre
