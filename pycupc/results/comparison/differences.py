"""Where two results differ: edges by level, the test of each, the first triple. `report.py` writes the report.

A result shows at which level each pair was removed (the size of its separating set), so nothing has to be recorded
during a run: the first difference is at the lowest level at which one result removed an edge that the other still had
afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.graph.sparse import SparseGraph, symbol

if TYPE_CHECKING:
    from pycupc.results.pagalgo import PagAlgo
    from pycupc.results.pcalgo import PcAlgo

#: A test is called singular when the condition number of the correlation matrix of its variables is above this.
SINGULAR = 1e12

#: Two columns are called collinear up to rounding, whether |r| is 1 or only nearly, when 1 - |r| is below this.
COLLINEAR = 1e-12

#: Values of `Compared.level` for pairs that no test removed.
KEPT, GAP = -1, -2


@dataclass(frozen=True)
class Difference:
    """One edge that one result removed and the other kept, or removed at a later level."""

    # x, y, S: int, int, tuple of int: the pair, in the order of the test that removed the edge, and the set that
    # separated it.
    x: int
    y: int
    # level, other_level: levels at which one result removed the edge and at which the other did, -1 if it kept it.
    level: int
    S: tuple[int, ...]
    removed_by: int  # which result removed it at `level`: 0 or 1
    other_level: int
    # tuple of two float: the p-value each result recorded in pMax: of the separating test, or the largest of all tests
    # of a kept edge.
    p: tuple[float, float]
    # recomputed_p, condition: the p-value of this test by pcalg's formula, and the condition number of its matrix; NaN
    # without the data.
    recomputed_p: float = np.nan
    condition: float = np.nan
    # tuple of (int, int): pairs among x, y, S that are collinear up to rounding.
    collinear: tuple[tuple[int, int], ...] = ()

    @property
    def singular(self) -> bool:
        """Is the matrix of this test singular, so that its outcome depends on the last digits?"""
        return self.condition > SINGULAR


class Compared:
    """One of the two results, in a form for comparison."""

    def __init__(self, fit: PcAlgo | PagAlgo, name: str) -> None:
        self.fit, self.name = fit, name
        self.graph, self.adjacent = fit.sparse_graph, fit.skeleton
        #: The sets as the tests found them, before the conservative or majority rule changed some.
        self.sepset = fit.found_sepset
        self.x, self.y, self.length, _ = self.sepset.flat()

    @cached_property
    def level(self) -> np.ndarray:
        """Level at which each pair was removed, int16 (p, p), symmetric; KEPT or GAP where no test removed it."""
        level = np.where(self.adjacent, KEPT, 0).astype(np.int16)
        gaps = self.sepset.gaps().T
        level[gaps[0], gaps[1]] = level[gaps[1], gaps[0]] = GAP
        order = np.argsort(-self.length, kind="stable")  # where both cells hold a set, the smaller one counts
        x, y = self.x[order], self.y[order]
        level[x, y] = level[y, x] = self.length[order]
        return level

    @cached_property
    def p_max(self) -> np.ndarray:
        """pMax, made symmetric, as pcalg's stable.fast fills only the upper triangle; NaN where it is not known."""
        p_max: np.ndarray
        if self.fit.p_values.complete:
            p_max = np.array(self.fit.pMax, dtype=np.float64)
        else:  # loaded from a file that knows only the edges
            edges = self.graph
            p_max = np.full((edges.p, edges.p), np.nan)
            p_max[edges.low, edges.high] = p_max[edges.high, edges.low] = self.fit.p_values.of_edges(edges)
        p_max = np.fmax(p_max, p_max.T)
        p_max[p_max < 0] = -np.inf
        np.fill_diagonal(p_max, 1.0)
        return p_max

    @property
    def pdsep_counts(self) -> list[int]:
        """pcalg's n.edgetestsPDSEP; empty for a result without such tests."""
        return getattr(self.fit, "n_edgetests_pdsep", [])

    def separating(self, x: int, y: int) -> tuple[int, int, tuple[int, ...]]:
        """The pair in the order of its separating test, and the set."""
        found = [(a, b, S) for a, b in ((x, y), (y, x)) if (S := self.sepset.get(a, b)) is not None]
        return min(found, key=lambda cell: len(cell[2]), default=(min(x, y), max(x, y), ()))

    @cached_property
    def sets(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The sets of pairs (smaller, larger), sorted, without the implied empty ones."""
        pairs = zip(self.x.tolist(), self.y.tolist(), strict=True)
        return {(min(x, y), max(x, y)): tuple(sorted(self.separating(x, y)[2])) for x, y in pairs}

    def explains(self, x: int, y: int, z: int) -> bool:
        """Is y in the set stored for x and z, so that x - y - z is no collider?"""
        return any(y in (self.fit.sepset.get(*ends) or ()) for ends in ((x, z), (z, x)))


#: The two ends of an edge, and its marks between them in the first graph and in the second, such as ``o->``.
OtherMarks = tuple[int, int, str, str]


def other_marks(one: SparseGraph, two: SparseGraph) -> tuple[OtherMarks, ...]:
    """The edges of both graphs that have other marks in the second."""
    there = two.edge_number(one.low, one.high)
    here = np.flatnonzero(there >= 0)
    first, second = one.with_edges(here), two.with_edges(there[here])
    differ = np.flatnonzero((first.low_mark != second.low_mark) | (first.high_mark != second.high_mark)).tolist()
    symbols = [[symbol(graph.low_mark[k], graph.high_mark[k]) for k in differ] for graph in (first, second)]
    return tuple(zip(first.low[differ].tolist(), first.high[differ].tolist(), *symbols, strict=True))


def same_p_values(one: Compared, two: Compared, rtol: float) -> bool:
    """Are the p-values that both results know equal up to a relative difference?"""
    known = ~(np.isnan(one.p_max) | np.isnan(two.p_max))
    return bool(np.allclose(one.p_max[known], two.p_max[known], rtol=rtol, atol=1e-300))


def find_differences(one: Compared, two: Compared, C: np.ndarray | None, n: float) -> tuple[Difference, ...]:
    """Pairs that the results removed at different levels, or only one of them removed; by level, then by variables."""
    differ = np.triu(one.level != two.level, 1)
    found = []
    for i, j in np.argwhere(differ):
        levels = int(one.level[i, j]), int(two.level[i, j])
        removers = [which for which in (0, 1) if levels[which] >= 0]
        if not removers:
            continue  # a gap in one, an edge in the other: no test decided that
        remover = min(removers, key=lambda which: levels[which])
        result = (one, two)[remover]
        x, y, S = result.separating(int(i), int(j))
        recorded = float(one.p_max[x, y]), float(two.p_max[x, y])
        found.append(
            Difference(x, y, levels[remover], S, remover, levels[1 - remover], recorded, **_recompute(x, y, S, C, n))
        )
    return tuple(sorted(found, key=lambda f: (f.level, min(f.x, f.y), max(f.x, f.y))))


def _recompute(x: int, y: int, S: tuple[int, ...], C: np.ndarray | None, n: float) -> dict[str, Any]:
    """Compute the test again, by pcalg's formula, and the matrix that it inverts."""
    if C is None:
        return {}
    from pycupc.independence.gaussian.gauss_ci_test import gaussCItest

    among = [x, y, *S]
    matrix = C[np.ix_(among, among)]
    condition = float(np.linalg.cond(matrix)) if np.isfinite(matrix).all() else np.inf
    recomputed_p = float(gaussCItest(x, y, list(S), {"C": C, "n": n}))
    return {"recomputed_p": recomputed_p, "condition": condition, "collinear": collinear_pairs(C, among)}


def collinear_pairs(C: np.ndarray, among: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Pairs of columns with |r| = 1 up to rounding."""
    columns = np.asarray(sorted(among))
    found = np.argwhere(np.triu(1.0 - np.abs(C[np.ix_(columns, columns)]) < COLLINEAR, 1))
    return tuple((int(columns[i]), int(columns[j])) for i, j in found)


def first_triple(one: Compared, two: Compared) -> tuple[int, int, int] | None:
    """The first unshielded triple x - y - z of an equal skeleton that is a collider by the sets of one only."""
    for y in range(len(one.adjacent)):
        neighbours = np.flatnonzero(one.adjacent[y]).tolist()
        for k, x in enumerate(neighbours):
            for z in neighbours[k + 1 :]:
                if not one.adjacent[x, z] and one.explains(x, y, z) != two.explains(x, y, z):
                    return x, y, z
    return None
