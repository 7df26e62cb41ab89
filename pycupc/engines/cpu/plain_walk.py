"""The tests of a level >= 2 without bounds: items for the walk over the prefixes of rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pycupc.engines.cpu.graph import Findings, Graph, Indices, Targets
from pycupc.engines.cpu.row_items import Merged, RowWork, cuts, items_of, number_of_items, whole_rows
from pycupc.engines.cpu.set_walk import walk_items
from pycupc.engines.cpu.submatrices import CorrelationSource, MatrixSource
from pycupc.engines.cpu.threads import State
from pycupc.engines.cpu.tuning import BLOCK, GATHER_SHARE, PREFIX_SECONDS, TASK_TESTS, TEST_SECONDS, TESTS_PER_SECOND
from pycupc.engines.cpu.walk_arrays import (
    END,
    FIRST,
    NO_MIRROR,
    PIECES,
    ROW,
    WORK,
    Matrices,
    Outcomes,
    Part,
    Side,
    WalkWork,
    work_space,
)
from pycupc.independence.gaussian.partial_correlation import canonical_space

#: The arrays of a thread; without outcomes, these are the findings themselves.
Space = tuple[Outcomes | None, Matrices, WalkWork]


class PlainWalk(RowWork):
    """The walk over rows: the parts of a row are its prefixes."""

    def __init__(
        self, parts: Iterable[Part], side: Side, findings: Findings, unfinished: Indices, mirror: Indices = NO_MIRROR
    ) -> None:
        super().__init__(parts)
        self._side, self._mirror = side, mirror
        self._merged = Merged(*findings[:3], findings.done, np.zeros(len(side.chosen), dtype=np.bool_), unfinished)
        self._of_findings = Outcomes(*findings[:3]) if len(mirror) else None

    @classmethod
    def of_side(
        cls, source: CorrelationSource, graph: Graph, targets: Targets, side: Side, findings: Findings
    ) -> tuple[PlainWalk, int]:
        """The tests of one side, and their number, as they take time."""
        binomials, d, level = side.binomials, graph.degrees, side.level
        prefixes, sets = binomials[d - 1, level - 1], binomials[d - 1, level].astype(np.float64)
        seconds = PREFIX_SECONDS * prefixes * (targets.per_row > 0) + TEST_SECONDS * targets.per_row * sets
        least = np.maximum(TASK_TESTS, GATHER_SHARE * d * d)
        items, piece = items_of(graph, TESTS_PER_SECOND * seconds, least, prefixes)
        ends = prefixes[items[:, ROW]], items[:, PIECES]
        items[:, FIRST], items[:, END] = cuts(*ends, piece), cuts(*ends, piece + 1)
        walk = cls(source.parts(graph, items), side, findings, number_of_items(items, source.p))
        return walk, int(items[:, WORK].sum(dtype=np.float64))

    @classmethod
    def of_both_sides(
        cls, source: MatrixSource, graph: Graph, side: Side, rows: Indices, prefixes: Indices, findings: Findings,
        mirror: Indices,
    ) -> PlainWalk:  # fmt: skip
        """The tests of these rows, ascending and with these numbers of prefixes, for one thread."""
        items = whole_rows(graph, rows)
        items[:, END] = prefixes
        part = Part(source.C, graph.neighbours, items, np.zeros(1, dtype=np.int64), graph.widest)
        return cls([part], side, findings, part.following, mirror)

    def _make_space(self, d: int) -> Space:
        level = self._side.level
        lengths = {"t": level - 1, "d": d, "width": d + BLOCK}
        work = work_space(WalkWork, level=level, elimination=canonical_space(level), **lengths)
        return self._of_findings or Outcomes.of(d), work_space(Matrices, **lengths), work

    def _walk(self, part: Part, space: Space, state: State) -> None:
        side = self._side._replace(C=part.C, neighbours=part.neighbours)
        walk_items(side, part.items, part.following, self._mirror, self._merged, *space, state)
