"""A result as flat arrays, and back: the form in which results cross to R.

    graph_from, _to, _mark          nonzero cells of the graph, row to column             int32
    sepset_x, _y, _len, _members    cells in row order, members one after the other       int32
    gap_x, _y                       pairs x < y without an edge and without a set         int32
    n_edgetests                     tests of each level (R has no 64-bit integer)         float64
    pMax                            p x p; which index comes first only matters for       float64
                                    pcalg's "stable.fast", which fills one triangle

All indices from 0. A pair x < y that is neither adjacent nor a gap and has no cell of its own has the empty set in cell
(x, y): there may be millions of those, so they are implied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pycupc.results.pcalgo import PcAlgo

#: The int32 arrays that a result is rebuilt from.
CELLS = ("graph_from", "graph_to", "graph_mark", "sepset_x", "sepset_y", "sepset_len", "sepset_members")


def to_arrays(fit: PcAlgo, *, p_max: bool = True) -> dict[str, np.ndarray]:
    """Lay a result out flat; `p_max` False leaves the p x p matrix of p-values out."""
    start, end = np.nonzero(fit.graph)
    x, y, length, members = _cells(fit)
    gaps = fit.sepset.gaps()
    values = (start, end, fit.graph[start, end], x, y, length, members, gaps[:, 0], gaps[:, 1])
    arrays = {
        name: np.ascontiguousarray(value, dtype=np.int32)
        for name, value in zip((*CELLS, "gap_x", "gap_y"), values, strict=True)
    }
    arrays["n_edgetests"] = np.array(fit.n_edgetests, dtype=np.float64)
    if p_max:
        arrays["pMax"] = np.ascontiguousarray(fit.pMax, dtype=np.float64)
    return arrays


def _cells(fit: PcAlgo) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The cells that are not implied, and the implied ones that lie across the diagonal from one of them."""
    x, y, length, members = fit.sepset.arrays()
    implied = fit.sepset.empty_pairs()
    if not implied[y, x].any():
        return x, y, length, members
    # Only a changed cell (conservative or majority rule) can lie across from an implied one.
    stored = set(zip(x.tolist(), y.tolist(), strict=True))
    extra = [(b, a) for a, b in stored if implied[b, a] and (b, a) not in stored]
    sets = np.split(members, np.cumsum(length)[:-1]) + [members[:0]] * len(extra)
    x, y = np.append(x, [a for a, _ in extra]), np.append(y, [b for _, b in extra])
    order = np.lexsort((y, x))
    sets = [sets[i] for i in order]
    return x[order], y[order], np.array([len(s) for s in sets], dtype=np.int32), np.concatenate(sets)


def same_sets(a: PcAlgo, b: PcAlgo) -> bool:
    """Do both results hold the same separating sets in the same cells, and the same gaps?"""
    sides = []
    for fit in (a, b):
        x, y, length, members = _cells(fit)
        named = (length > 0) | (x > y) | _marked(x, y, fit.p)[y, x]  # an empty set need not be implied, but may be
        sides.append((x[named], y[named], length[named], members, fit.sepset.gaps(), fit.skeleton))
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(*sides, strict=True))


def _marked(x: np.ndarray, y: np.ndarray, p: int) -> np.ndarray:
    marked = np.zeros((p, p), dtype=bool)
    marked[x, y] = True
    return marked


def from_arrays(arrays: Mapping[str, np.ndarray], *, labels: Sequence[str], max_ord: int, **facts: Any) -> PcAlgo:
    """Rebuild a result from flat arrays that name every cell that holds a set, also the implied ones.

    Parameters
    ----------
    arrays : mapping of str to array
        As at the head of this module; gaps are found and need not be given.
    labels : sequence of p str
    max_ord : int
    **facts
        Further arguments of `PcAlgo`.

    Returns
    -------
    PcAlgo
    """
    from pycupc.results.pcalgo import PcAlgo
    from pycupc.results.sepset import SepSets

    p = len(labels)
    graph = np.zeros((p, p), dtype=np.int8)
    graph[arrays["graph_from"], arrays["graph_to"]] = arrays["graph_mark"]
    skeleton = (graph != 0) | (graph != 0).T
    x, y, length = (np.asarray(arrays[f"sepset_{name}"], dtype=np.int64) for name in ("x", "y", "len"))
    stored = _marked(x, y, p)
    gaps = ~(skeleton | stored | stored.T)
    np.fill_diagonal(gaps, False)
    named = (length > 0) | (x > y) | stored[y, x]
    sepset = SepSets(
        skeleton, x[named], y[named], length[named], arrays["sepset_members"], gaps if gaps.any() else None
    )
    return PcAlgo(
        labels=labels,
        graph=graph,
        sepset=sepset,
        n_edgetests=arrays["n_edgetests"],
        max_ord=max_ord,
        pMax=np.asarray(arrays["pMax"], dtype=np.float64).reshape(p, p, order="F"),
        **facts,
    )
