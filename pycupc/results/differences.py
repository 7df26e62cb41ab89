"""Where two results differ: edges by level, the test of each, the first triple; and what a report says about them.

A result shows at which level each pair was removed, by the size of its separating set. Two results begin to differ at
the first level at which one removed an edge that the other kept. Later differences may merely follow from that one, so
it is explained in full: the test, both p-values, the condition number of its matrix, and the collinear columns among
its variables, which are the usual reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pycupc.data.names import listed
from pycupc.graph.sparse import pair_keys
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

#: A test is called singular when the condition number of the correlation matrix of its variables is above this.
SINGULAR = 1e12
#: Two columns are called collinear up to rounding, whether |r| is 1 or only nearly, when 1 - |r| is below this.
COLLINEAR = 1e-12
#: How many pairs a report lists.
LISTED = 20
#: In place of a level: no test removed the pair.
KEPT, GAP = -1, -2

Pair = tuple[int, int]
Triple = tuple[int, int, int]


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
    collinear: tuple[Pair, ...] = ()

    @property
    def singular(self) -> bool:
        """Is the matrix of this test singular, so that its outcome depends on the last digits?"""
        return self.condition > SINGULAR


class Side:
    """One of two results, in a form for comparison."""

    def __init__(self, fit: PcAlgo | PagAlgo, name: str) -> None:
        self.fit, self.name = fit, name
        #: The sets as the tests found them, before the conservative or majority rule changed some.
        self.found = fit.found_sepset
        self.x, self.y, self.length, _ = self.found.flat()

    @cached_property
    def level(self) -> np.ndarray:
        """Level at which each pair was removed, int16 (p, p), symmetric; KEPT or GAP where no test removed it."""
        level = np.where(self.fit.skeleton, KEPT, 0).astype(np.int16)
        gaps = self.found.gaps().T
        level[gaps[0], gaps[1]] = level[gaps[1], gaps[0]] = GAP
        order = np.argsort(-self.length, kind="stable")  # where both cells hold a set, the smaller one counts
        low, high = np.minimum(self.x, self.y)[order], np.maximum(self.x, self.y)[order]
        level[low, high] = level[high, low] = self.length[order]
        return level

    @cached_property
    def p_max(self) -> np.ndarray:
        """pMax, made symmetric, as pcalg's stable.fast fills only the upper triangle; NaN where it is not known."""
        p_max: np.ndarray
        if self.fit.p_values.complete:
            p_max = np.array(self.fit.pMax, dtype=np.float64)
        else:  # loaded from a file that knows only the edges
            edges = self.fit.sparse_graph
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
        found = [(a, b, S) for a, b in ((x, y), (y, x)) if (S := self.found.get(a, b)) is not None]
        return min(found, key=lambda cell: len(cell[2]), default=(min(x, y), max(x, y), ()))

    def explains(self, x: int, y: int, z: int) -> bool:
        """Is y in the set stored for x and z, so that x - y - z is no collider?"""
        return any(y in (self.fit.sepset.get(*ends) or ()) for ends in ((x, z), (z, x)))

    def set_text(self, S: Iterable[int]) -> str:
        return "{" + ", ".join(self.fit.labels[s] for s in S) + "}"

    def separating_text(self, x: int, y: int) -> str:
        return "an edge" if self.fit.skeleton[x, y] else self.set_text(self.separating(x, y)[2])


@dataclass(frozen=True)
class TwoSides:
    """Two results of the same kind, on the same variables."""

    one: Side
    two: Side

    def parts(self, rtol: float) -> dict[str, bool]:
        """Which parts are equal, but for the graph."""
        a, b = self.one.fit, self.two.fit
        counts = [[*map(float, side.fit.n_edgetests), -1, *map(float, side.pdsep_counts)] for side in self._sides]
        known = ~(np.isnan(self.one.p_max) | np.isnan(self.two.p_max))
        parts = {
            "separating sets": a.sepset == b.sepset,
            "numbers of tests": counts[0] == counts[1],
            "last level": int(a.max_ord) == int(b.max_ord),
            "p-values": np.allclose(self.one.p_max[known], self.two.p_max[known], rtol=rtol, atol=1e-300),
        }
        if isinstance(a, PagAlgo) and isinstance(b, PagAlgo):
            parts["last level"] &= a.max_ord_pdsep == b.max_ord_pdsep
            sets = [[members.tolist() for members in fit.all_pdsep or ()] for fit in (a, b)]
            parts["Possible-D-SEP"] = sets[0] == sets[1]
        return parts

    def differences(self, C: np.ndarray | None, n: float) -> tuple[Difference, ...]:
        """Pairs removed at different levels, or by one result only; by level, then by variables."""
        found = []
        for i, j in np.argwhere(np.triu(self.one.level != self.two.level, 1)).tolist():
            levels = [int(side.level[i, j]) for side in self._sides]
            if max(levels) < 0:
                continue  # a gap in one, an edge in the other: no test decided that
            remover = min((0, 1), key=lambda which: levels[which] if levels[which] >= 0 else np.inf)
            x, y, S = self._sides[remover].separating(i, j)
            recorded = float(self.one.p_max[x, y]), float(self.two.p_max[x, y])
            again = {} if C is None else _recomputed(x, y, S, C, n)
            found.append(Difference(x, y, levels[remover], S, remover, levels[1 - remover], recorded, **again))
        return tuple(sorted(found, key=lambda f: (f.level, min(f.x, f.y), max(f.x, f.y))))

    def triple(self) -> Triple | None:
        """The first unshielded triple x - y - z of an equal skeleton that is a collider by the sets of one only."""
        adjacent = self.one.fit.skeleton
        for y in range(len(adjacent)):
            neighbours = np.flatnonzero(adjacent[y]).tolist()
            for x, z in combinations(neighbours, 2):
                if not adjacent[x, z] and self.one.explains(x, y, z) != self.two.explains(x, y, z):
                    return x, y, z
        return None

    # -- lines of a report --------------------------------------------------------------------------------------------

    def lines_of_skeletons(
        self, differences: Sequence[Difference], collinear: Sequence[Pair], alpha: float | None
    ) -> list[str]:
        """How many edges differ, the first of them in full, then a line for each."""
        graphs = [side.fit.sparse_graph for side in self._sides]
        only = [len(np.setdiff1d(a.keys, b.keys)) for a, b in (graphs, graphs[::-1])]
        differ = "1 edge differs" if sum(only) == 1 else f"{sum(only)} edges differ"
        of_each = [f"{only[k]} only in {side.name} (of {len(graphs[k])})" for k, side in enumerate(self._sides)]
        lines = [f"{differ}: {', '.join(of_each)}."]
        if not np.array_equal(self.one.level == GAP, self.two.level == GAP):
            lines.append("Their fixedGaps differ: they do not answer the same question.")
        if not differences:
            return lines
        lines += ["", "The first difference:", *self._lines_of_first(differences[0], alpha)]
        if singular := sum(f.singular for f in differences):
            lines += [
                "",
                f"{singular} of the {len(differences)} pairs differ at a test whose correlation matrix is singular:",
                "its outcome depends on how a program inverts such a matrix, not on the data.",
            ]
        if collinear:
            names = self.one.fit.labels
            pairs = listed([f"{names[i]} with {names[j]}" for i, j in collinear], most=LISTED)
            lines.append(f"Columns collinear up to rounding: {pairs}. Leave out one of each pair.")
        final = [f for f in differences if f.other_level == KEPT]
        lines += ["", f"The edges that differ, by the level at which they were removed{limited(final)}:"]
        for f in final[:LISTED]:
            side, singular_test = self._sides[f.removed_by], ", singular" if f.singular else ""
            given = f"removed by {side.name} given {side.set_text(f.S)}{singular_test}"
            lines.append(f"  level {f.level}: {self._names(f.x, f.y)}, {given}")
        if len(final) < len(differences):
            lines.append(f"{len(differences) - len(final)} more pairs were removed by both, at different levels.")
        return lines

    def _lines_of_first(self, f: Difference, alpha: float | None) -> list[str]:
        remover, other = self._sides[f.removed_by], self._sides[1 - f.removed_by]
        removed, kept = f.p[f.removed_by], f.p[1 - f.removed_by]
        level = f" (alpha {alpha:g})" if alpha is not None else ""
        fate = "kept it" if f.other_level == KEPT else f"removed it at level {f.other_level}"
        lines = [
            f"  level {f.level}, edge {self._names(f.x, f.y)}",
            f"  {remover.name} removed it given {remover.set_text(f.S)}: p = {removed:.6g}{level}",
            f"  {other.name} {fate}: largest p of its tests {kept:.6g}",
        ]
        if np.isfinite(f.recomputed_p):
            lines.append(f"  the same test by pcalg's formula: p = {f.recomputed_p:.6g}")
            lines.append(f"  condition number of its correlation matrix: {f.condition:.3g}")
        for pair in f.collinear:
            names = self._names(*pair, separator=" and ")
            lines.append(f"  {names} are collinear up to rounding (1 - |r| < {COLLINEAR:g})")
        return lines

    def lines_of_triple(self, triple: Triple | None, n_marks: int) -> list[str]:
        """Of results with equal skeletons and `n_marks` edges with other marks: the triple that is the reason."""
        lines = [f"The skeletons are equal; {n_marks} edges are directed differently."]
        if triple is None:
            text = (
                "Every unshielded triple is decided alike, so the difference comes from an orientation rule or option."
            )
            return [*lines, text]
        x, y, z = triple
        plain, collider = self._sides if self.one.explains(x, y, z) else self._sides[::-1]
        text = (
            f"The first difference is at the triple {self._names(x, y, z)}: {self._names(y)} is in the set that "
            f"separates {self._names(x, z, separator=' and ')} in {plain.name} ({plain.separating_text(x, z)}), not in "
            f"{collider.name} ({collider.separating_text(x, z)}), which therefore calls it a collider."
        )
        return [*lines, text]

    def lines_of_bookkeeping(self, parts: Mapping[str, bool]) -> list[str]:
        """Of results with equal skeletons: the first separating set, number and p-value that differ."""
        one, two = self._sides
        lines = []
        if not parts["separating sets"]:
            either = np.unique(np.concatenate([pair_keys(side.x, side.y, one.found.p) for side in self._sides]))
            pairs = [divmod(key, one.found.p) for key in either.tolist()]
            pairs = [pair for pair in pairs if set(one.separating(*pair)[2]) != set(two.separating(*pair)[2])]
            if pairs:
                texts = [f"{side.separating_text(*pairs[0])} in {side.name}" for side in self._sides]
                first = f"first {self._names(*pairs[0], separator=', ')}: {', '.join(texts)}"
                lines.append(f"{len(pairs)} pairs have other separating sets; {first}.")
            else:
                lines.append("The separating sets are equal, but stored in other cells ([x][y] for [y][x]).")
        if not parts["numbers of tests"]:
            for side in self._sides:
                counts = " ".join(map(str, side.fit.n_edgetests))
                later = f"; of Possible-D-SEP: {' '.join(map(str, side.pdsep_counts))}" if side.fit.is_pag else ""
                lines.append(f"Tests per level in {side.name}: {counts}{later}")
        if not parts["last level"]:
            lines.append(f"Last level: {one.fit.max_ord} in {one.name}, {two.fit.max_ord} in {two.name}.")
        if not parts["p-values"]:
            with np.errstate(invalid="ignore"):
                gap = np.nan_to_num(np.abs(one.p_max - two.p_max), nan=0.0, posinf=np.inf)
            x, y = (int(v) for v in np.unravel_index(np.argmax(gap), gap.shape))
            texts = [f"{side.p_max[x, y]:.6g} in {side.name}" for side in self._sides]
            lines.append(f"Largest difference of pMax: {self._names(x, y, separator=', ')}: {', '.join(texts)}.")
        return lines

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.one, self.two

    def _names(self, *variables: int, separator: str = " - ") -> str:
        return separator.join(self.one.fit.labels[v] for v in variables)


def _recomputed(x: int, y: int, S: tuple[int, ...], C: np.ndarray, n: float) -> dict[str, Any]:
    """The test again, by pcalg's formula, and the matrix that it inverts."""
    from pycupc.independence.gaussian.gauss_ci_test import gaussCItest

    among = [x, y, *S]
    matrix = C[np.ix_(among, among)]
    condition = float(np.linalg.cond(matrix)) if np.isfinite(matrix).all() else np.inf
    recomputed_p = float(gaussCItest(x, y, list(S), {"C": C, "n": n}))
    return {"recomputed_p": recomputed_p, "condition": condition, "collinear": collinear_pairs(C, among)}


def collinear_pairs(C: np.ndarray, among: Iterable[int]) -> tuple[Pair, ...]:
    """Pairs of columns with |r| = 1 up to rounding."""
    columns = np.asarray(sorted(among))
    found = np.argwhere(np.triu(1.0 - np.abs(C[np.ix_(columns, columns)]) < COLLINEAR, 1))
    return tuple((int(columns[i]), int(columns[j])) for i, j in found)


def limited(pairs: Sequence[Any]) -> str:
    """A remark where a report does not list all pairs."""
    return f" (the first {LISTED} of {len(pairs)})" if len(pairs) > LISTED else ""
