"""The generalised adjustment criterion where variables may be hidden: in a MAG or a PAG (Perkovic et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pycupc.effects.orientations import Nodes
from pycupc.graph.sparse import ARROW, CIRCLE, TAIL, Marks, SparseGraph
from pycupc.results.causal_graph import CausalGraph

# A and M are matrices as amat.pag: [i, j] is the mark at j.


def is_adjusted(graph: SparseGraph, xs: Sequence[int], ys: Sequence[int], given: Nodes, *, quirks: bool) -> bool:
    """Whether adjusting for `given` gives the effects of `xs` on `ys` in every MAG of the graph, a MAG or a PAG.

    `quirks`: an edge x o-> y passes for one that no hidden variable can be behind, as in pcalg.
    ValueError if no MAG has these marks, or some edge has a tail where selection must have happened.
    """
    A, causes = graph.amat_pag(), frozenset(xs)
    onward = _lists((A != 0) & (A.T != ARROW))
    back = [w - causes for w in _lists((A != 0).T & (A != ARROW))]
    beyond = _reached((c for x in xs for c in onward[x] - causes), [w - causes for w in onward])
    between = beyond & _reached(ys, back)
    first = [(x, c) for x in xs for c in onward[x] & between]
    M = _mag(A)
    return (
        not _reached(between, onward) & given
        and all(A[x, c] == ARROW for x, c in first)
        and all(quirks if A[c, x] == CIRCLE else _is_visible(A, x, c) for x, c in first)
        and _separates(M, causes, frozenset(ys), given, between)
    )


def _is_visible(A: Marks, x: int, y: int) -> bool:
    """Whether no hidden variable can be a cause of both x and y, where x has an arrow to y."""
    line, seen = [x], {x}
    while line:
        v = line.pop()
        for w in np.flatnonzero(A[:, v] == ARROW).tolist():  # collider paths into x, over parents of y
            if w != y and not A[w, y]:
                return True
            if w not in seen and A[v, w] == ARROW and A[w, y] == ARROW and A[y, w] == TAIL:
                seen.add(w)
                line.append(w)
    return False


def _mag(A: Marks) -> Marks:
    """One MAG of the class (Zhang 2008): circles at arrows become tails, and o-o edges a DAG without new colliders."""
    if ((A == TAIL) & ((A.T == TAIL) | (A.T == CIRCLE))).any():
        raise ValueError("the graph must have an arrowhead or two circles at each edge: selection is not supported")
    open_ends = (A == CIRCLE) & (A.T == CIRCLE)
    labels = tuple(map(str, range(len(A))))
    part = CausalGraph(labels=labels, sparse_graph=SparseGraph.from_dense(open_ends.astype(np.int8)))
    arrows, M = part.to_dag().graph == 1, A.copy()
    M[M == CIRCLE] = TAIL
    M[open_ends & arrows] = ARROW
    return M


def _separates(M: Marks, causes: Nodes, ys: Nodes, given: Nodes, between: Nodes) -> bool:
    """Whether `given` separates `ys` from the causes without their arrows to `between`, by walks."""
    parents, near = _lists(((M == ARROW) & (M.T == TAIL)).T), _lists(M != 0)
    ancestors = _reached(given, parents)
    line = [(w, M[x, w] == ARROW) for x in causes for w in near[x] - causes - (between - parents[x])]
    seen = set(line)
    while line:
        v, into = line.pop()
        if v in ys:
            return False
        for w in near[v] - causes:
            passes = v in ancestors if into and M[w, v] == ARROW else v not in given
            if passes and (state := (w, M[v, w] == ARROW)) not in seen:
                seen.add(state)
                line.append(state)
    return True


def _lists(matrix: NDArray[np.bool_]) -> list[Nodes]:
    """The columns that are true in each row."""
    return [frozenset(np.flatnonzero(row).tolist()) for row in matrix]


def _reached(start: Iterable[int], steps: Sequence[Nodes]) -> Nodes:
    """The variables of `start` and all that lie some steps further."""
    found = set(start)
    line = list(found)
    while line:
        new = steps[line.pop()] - found
        found |= new
        line += new
    return frozenset(found)
