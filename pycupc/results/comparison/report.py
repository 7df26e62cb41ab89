"""The report of a comparison, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pycupc.data.names import listed
from pycupc.graph.sparse import symbol
from pycupc.results.comparison.differences import COLLINEAR, GAP, KEPT, Compared, Difference

#: How many pairs a report lists.
LISTED = 20

Pair = tuple[int, int]


@dataclass(frozen=True)
class Report:
    """The two results, the labels of their variables, and alpha; `text` writes the report."""

    one: Compared
    two: Compared
    labels: Sequence[str]
    alpha: float | None

    def text(
        self,
        parts: dict[str, bool],
        differences: Sequence[Difference],
        triple: tuple[int, int, int] | None,
        edge: Pair | None,
        collinear: Sequence[Pair],
    ) -> str:
        """Headline, then the differences: of the skeleton, else of the directions, else of the bookkeeping."""
        lines = [self._headline(parts)]
        if not parts["skeleton"]:
            lines += self._skeleton(differences, collinear)
        else:
            if edge is not None:
                lines += self._orientation(triple, edge)
            lines += self._bookkeeping(parts)
        return "\n".join(lines) + "\n"

    def _headline(self, parts: dict[str, bool]) -> str:
        if all(parts.values()):
            return f"{self.one.name} and {self.two.name} are equal: {', '.join(parts)}."
        differ = [part for part, same in parts.items() if not same]
        agree = [part for part, same in parts.items() if same]
        text = f"{self.one.name} and {self.two.name} differ in: {', '.join(differ)}."
        return text + (f" Equal: {', '.join(agree)}." if agree else "")

    def _skeleton(self, differences: Sequence[Difference], collinear: Sequence[Pair]) -> list[str]:
        one, two = self.one, self.two
        only = [int(np.triu(a.adjacent & ~b.adjacent).sum()) for a, b in ((one, two), (two, one))]
        edges = [int(np.triu(result.adjacent).sum()) for result in (one, two)]
        differ = "1 edge differs" if sum(only) == 1 else f"{sum(only)} edges differ"
        lines = [
            f"{differ}: {only[0]} only in {one.name} (of {edges[0]}), {only[1]} only in {two.name} (of {edges[1]})."
        ]
        if not np.array_equal(one.level == GAP, two.level == GAP):
            lines.append("Their fixedGaps differ: they do not answer the same question.")
        if not differences:
            return lines
        lines += ["", "The first difference:", *self._first(differences[0])]
        singular = sum(f.singular for f in differences)
        if singular:
            lines += [
                "",
                f"{singular} of the {len(differences)} pairs differ at a test whose correlation matrix is singular:",
                "its outcome depends on how a program inverts such a matrix, not on the data.",
            ]
        if collinear:
            pairs = listed([f"{self._name(i)} with {self._name(j)}" for i, j in collinear], most=LISTED)
            lines.append(f"Columns collinear up to rounding: {pairs}. Leave out one of each pair.")
        final = [f for f in differences if f.other_level == KEPT]
        limited = f" (the first {LISTED} of {len(final)})" if len(final) > LISTED else ""
        lines += ["", f"The edges that differ, by the level at which they were removed{limited}:"]
        lines += [self._row(f) for f in final[:LISTED]]
        if len(final) < len(differences):
            lines.append(f"{len(differences) - len(final)} more pairs were removed by both, at different levels.")
        return lines

    def _first(self, f: Difference) -> list[str]:
        remover, other = (self.one, self.two) if f.removed_by == 0 else (self.two, self.one)
        removed, kept = f.p if f.removed_by == 0 else f.p[::-1]
        alpha = f" (alpha {self.alpha:g})" if self.alpha is not None else ""
        fate = "kept it" if f.other_level == KEPT else f"removed it at level {f.other_level}"
        lines = [
            f"  level {f.level}, edge {self._name(f.x)} - {self._name(f.y)}",
            f"  {remover.name} removed it given {self._set(f.S)}: p = {removed:.6g}{alpha}",
            f"  {other.name} {fate}: largest p of its tests {kept:.6g}",
        ]
        if np.isfinite(f.recomputed_p):
            lines.append(f"  the same test by pcalg's formula: p = {f.recomputed_p:.6g}")
            lines.append(f"  condition number of its correlation matrix: {f.condition:.3g}")
        for i, j in f.collinear:
            pair = f"{self._name(i)} and {self._name(j)}"
            lines.append(f"  {pair} are collinear up to rounding (1 - |r| < {COLLINEAR:g})")
        return lines

    def _row(self, f: Difference) -> str:
        remover = (self.one, self.two)[f.removed_by]
        mark = ", singular" if f.singular else ""
        return (
            f"  level {f.level}: {self._name(f.x)} - {self._name(f.y)}, removed by {remover.name} "
            f"given {self._set(f.S)}{mark}"
        )

    def _orientation(self, triple: tuple[int, int, int] | None, edge: Pair) -> list[str]:
        one, two = self.one, self.two
        lines = [f"The skeletons are equal; {int(one.other_marks(two).sum())} edges are directed differently."]
        if triple is not None:
            x, y, z = triple
            collider, plain = (two, one) if one.explains(x, y, z) else (one, two)
            lines.append(
                f"The first difference is at the triple {self._name(x)} - {self._name(y)} - {self._name(z)}: "
                f"{self._name(y)} is in the set that separates {self._name(x)} and {self._name(z)} in {plain.name} "
                f"({self._separating(plain, x, z)}), not in {collider.name} ({self._separating(collider, x, z)}), "
                "which therefore calls it a collider."
            )
        else:
            lines.append(
                "Every unshielded triple is decided alike, so the difference comes from an orientation rule or option."
            )
        x, y = edge
        lines.append(f"First edge: {self._arrow(one, x, y)}, {self._arrow(two, x, y)}.")
        return lines

    def _arrow(self, result: Compared, x: int, y: int) -> str:
        k = int(result.graph.edge_number(x, y))
        marks = symbol(result.graph.low_mark[k], result.graph.high_mark[k])
        return f"{self._name(x)} {marks} {self._name(y)} in {result.name}"

    def _bookkeeping(self, parts: dict[str, bool]) -> list[str]:
        one, two = self.one, self.two
        lines = []
        if not parts["separating sets"]:
            either = one.sets.keys() | two.sets.keys()
            pairs = sorted(pair for pair in either if one.sets.get(pair, ()) != two.sets.get(pair, ()))
            if pairs:
                x, y = pairs[0]
                lines.append(
                    f"{len(pairs)} pairs have other separating sets; first {self._name(x)}, {self._name(y)}: "
                    f"{self._separating(one, x, y)} in {one.name}, {self._separating(two, x, y)} in {two.name}."
                )
            else:
                lines.append("The separating sets are equal, but stored in other cells ([x][y] for [y][x]).")
        if not parts["numbers of tests"]:
            for result in (one, two):
                counts = " ".join(map(str, result.fit.n_edgetests))
                lines.append(f"Tests per level in {result.name}: {counts}")
        if not parts["last level"]:
            lines.append(f"Last level: {one.fit.max_ord} in {one.name}, {two.fit.max_ord} in {two.name}.")
        if not parts["p-values"]:
            with np.errstate(invalid="ignore"):
                gap = np.nan_to_num(np.abs(one.p_max - two.p_max), nan=0.0, posinf=np.inf)
            x, y = (int(v) for v in np.unravel_index(np.argmax(gap), gap.shape))
            lines.append(
                f"Largest difference of pMax: {self._name(x)}, {self._name(y)}: {one.p_max[x, y]:.6g} in {one.name}, "
                f"{two.p_max[x, y]:.6g} in {two.name}."
            )
        return lines

    def _name(self, v: int) -> str:
        return str(self.labels[v])

    def _set(self, S: Sequence[int]) -> str:
        return "{" + ", ".join(self._name(s) for s in S) + "}"

    def _separating(self, result: Compared, x: int, y: int) -> str:
        return "an edge" if result.adjacent[x, y] else self._set(result.separating(x, y)[2])
