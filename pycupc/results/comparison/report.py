"""The report of a comparison, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pycupc.data.names import listed
from pycupc.graph.sparse import SparseGraph, symbol
from pycupc.results.comparison.differences import COLLINEAR, GAP, KEPT, Compared, Difference, OtherMarks, other_marks
from pycupc.system.log import counted

#: How many pairs a report lists.
LISTED = 20

Pair = tuple[int, int]


def headline(parts: dict[str, bool], one: str, two: str) -> str:
    """Which parts of two results are equal."""
    if all(parts.values()):
        return f"{one} and {two} are equal: {', '.join(parts)}."
    differ = [part for part, same in parts.items() if not same]
    agree = [part for part, same in parts.items() if same]
    text = f"{one} and {two} differ in: {', '.join(differ)}."
    return text + (f" Equal: {', '.join(agree)}." if agree else "")


def marks_line(marks: OtherMarks, labels: Sequence[str], names: Sequence[str]) -> str:
    """An edge in both graphs."""
    x, y, *symbols = marks
    edges = zip(symbols, names, strict=True)
    return ", ".join(f"{labels[x]} {symbol} {labels[y]} in {name}" for symbol, name in edges)


def marks_lines(marks: Sequence[OtherMarks], labels: Sequence[str], names: Sequence[str]) -> list[str]:
    """The edges that have other marks, a line for each."""
    limited = f" (the first {LISTED} of {len(marks)})" if len(marks) > LISTED else ""
    lines = [f"  {marks_line(edge, labels, names)}" for edge in marks[:LISTED]]
    return [f"The edges with other marks{limited}:", *lines] if marks else []


def graphs_report(
    one: SparseGraph, two: SparseGraph, labels: Sequence[str], names: Sequence[str], parts: dict[str, bool]
) -> str:
    """The report on two graphs of which the tests are not known, or not comparable."""
    lines = [headline(parts, *names)]
    for graph, other, name in ((one, two, names[0]), (two, one, names[1])):
        only = graph.with_edges(np.flatnonzero(other.edge_number(graph.low, graph.high) < 0))
        ends = zip(only.low.tolist(), only.high.tolist(), only.low_mark, only.high_mark, strict=True)
        edges = [f"{labels[x]} {symbol(*marks)} {labels[y]}" for x, y, *marks in ends]
        if edges:
            lines.append(f"{counted(len(edges), 'edge')} only in {name}: {listed(edges, most=LISTED)}.")
    return "\n".join([*lines, *marks_lines(other_marks(one, two), labels, names)]) + "\n"


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
        marks: Sequence[OtherMarks],
        collinear: Sequence[Pair],
    ) -> str:
        """Headline, then the differences: of the skeleton, else of the directions, else of the bookkeeping."""
        lines = [headline(parts, self.one.name, self.two.name)]
        if not parts["skeleton"]:
            lines += self._skeleton(differences, collinear)
        else:
            if marks:
                lines += self._orientation(triple, marks)
            lines += self._bookkeeping(parts)
        return "\n".join(lines) + "\n"

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
            pairs = listed([f"{self.labels[i]} with {self.labels[j]}" for i, j in collinear], most=LISTED)
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
            f"  level {f.level}, edge {self.labels[f.x]} - {self.labels[f.y]}",
            f"  {remover.name} removed it given {self._set(f.S)}: p = {removed:.6g}{alpha}",
            f"  {other.name} {fate}: largest p of its tests {kept:.6g}",
        ]
        if np.isfinite(f.recomputed_p):
            lines.append(f"  the same test by pcalg's formula: p = {f.recomputed_p:.6g}")
            lines.append(f"  condition number of its correlation matrix: {f.condition:.3g}")
        for i, j in f.collinear:
            pair = f"{self.labels[i]} and {self.labels[j]}"
            lines.append(f"  {pair} are collinear up to rounding (1 - |r| < {COLLINEAR:g})")
        return lines

    def _row(self, f: Difference) -> str:
        remover = (self.one, self.two)[f.removed_by]
        mark = ", singular" if f.singular else ""
        return (
            f"  level {f.level}: {self.labels[f.x]} - {self.labels[f.y]}, removed by {remover.name} "
            f"given {self._set(f.S)}{mark}"
        )

    def _orientation(self, triple: tuple[int, int, int] | None, marks: Sequence[OtherMarks]) -> list[str]:
        one, two = self.one, self.two
        lines = [f"The skeletons are equal; {len(marks)} edges are directed differently."]
        if triple is not None:
            x, y, z = triple
            collider, plain = (two, one) if one.explains(x, y, z) else (one, two)
            lines.append(
                f"The first difference is at the triple {self.labels[x]} - {self.labels[y]} - {self.labels[z]}: "
                f"{self.labels[y]} is in the set that separates {self.labels[x]} and {self.labels[z]} in {plain.name} "
                f"({self._separating(plain, x, z)}), not in {collider.name} ({self._separating(collider, x, z)}), "
                "which therefore calls it a collider."
            )
        else:
            lines.append(
                "Every unshielded triple is decided alike, so the difference comes from an orientation rule or option."
            )
        if not (one.fit.is_pag or two.fit.is_pag):
            return [*lines, f"First edge: {marks_line(marks[0], self.labels, (one.name, two.name))}."]
        return lines + marks_lines(marks, self.labels, (one.name, two.name))

    def _bookkeeping(self, parts: dict[str, bool]) -> list[str]:
        one, two = self.one, self.two
        lines = []
        if not parts["separating sets"]:
            either = one.sets.keys() | two.sets.keys()
            pairs = sorted(pair for pair in either if one.sets.get(pair, ()) != two.sets.get(pair, ()))
            if pairs:
                x, y = pairs[0]
                lines.append(
                    f"{len(pairs)} pairs have other separating sets; first {self.labels[x]}, {self.labels[y]}: "
                    f"{self._separating(one, x, y)} in {one.name}, {self._separating(two, x, y)} in {two.name}."
                )
            else:
                lines.append("The separating sets are equal, but stored in other cells ([x][y] for [y][x]).")
        if not parts["numbers of tests"]:
            for result in (one, two):
                counts = " ".join(map(str, result.fit.n_edgetests))
                later = f"; of Possible-D-SEP: {' '.join(map(str, result.pdsep_counts))}" if result.fit.is_pag else ""
                lines.append(f"Tests per level in {result.name}: {counts}{later}")
        if not parts["last level"]:
            lines.append(f"Last level: {one.fit.max_ord} in {one.name}, {two.fit.max_ord} in {two.name}.")
        if not parts["p-values"]:
            with np.errstate(invalid="ignore"):
                gap = np.nan_to_num(np.abs(one.p_max - two.p_max), nan=0.0, posinf=np.inf)
            x, y = (int(v) for v in np.unravel_index(np.argmax(gap), gap.shape))
            lines.append(
                f"Largest difference of pMax: {self.labels[x]}, {self.labels[y]}: {one.p_max[x, y]:.6g} in {one.name}, "
                f"{two.p_max[x, y]:.6g} in {two.name}."
            )
        return lines

    def _set(self, S: Sequence[int]) -> str:
        return "{" + ", ".join(self.labels[s] for s in S) + "}"

    def _separating(self, result: Compared, x: int, y: int) -> str:
        return "an edge" if result.adjacent[x, y] else self._set(result.separating(x, y)[2])
