"""The mode "checked": which of the pairs that bounds have decided are tested, and random tests where they are many."""

from __future__ import annotations

import random
from math import comb

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.base import Floats, Mask
from pycupc.engines.cpu.graph import Findings, Graph, Indices
from pycupc.gaussian.partial_correlation import canonical_space, partial_correlation

#: Pairs that are checked per level, at most, of either kind: all tests are made up to this many conditioning sets, else
#: some of them. Conditioning sets drawn for a pair.
PAIRS, ALL_SETS, SETS = 500, 1_000_000, 20


def sample(graph: Graph, decided: Mask, level: int) -> tuple[Indices, Indices]:
    """Entries that were decided, all or some of them: of rows with few conditioning sets, and of the others."""
    few = [subsets.about(d - 1, level) <= ALL_SETS and not subsets.is_wide(d, level) for d in graph.degrees().tolist()]
    in_few = np.array(few)[graph.rows()]
    few_sets, many_sets = np.flatnonzero(decided & in_few), np.flatnonzero(decided & ~in_few)
    return few_sets[:: max(1, len(few_sets) // PAIRS)], many_sets[:: max(1, len(many_sets) // PAIRS)]


def contradicted(C: Floats, graph: Graph, entries: Indices, findings: Findings, level: int, cutoff: float) -> list[int]:
    """The entries about which tests say something else than the findings.

    No set before the first separating set, or no set at all, may separate x and y; that set must.
    """
    draw, work, rows = random.Random(level), canonical_space(level), graph.rows()

    def separates(e: int, rank: int) -> bool:
        x, y = rows[e], graph.neighbours[e]
        candidates = graph.neighbours[graph.offsets[x] : graph.offsets[x + 1]]
        members = candidates[candidates != y][subsets.exact_members(rank, len(candidates) - 1, level)]
        return bool(abs(partial_correlation(C, np.array([*members, x, y], dtype=np.int64), level, work)) <= cutoff)

    wrong = []
    for e in entries.tolist():
        first = findings.first(e)
        before = first if first >= 0 else comb(int(graph.degrees()[rows[e]]) - 1, level)
        ranks = [draw.randrange(before) for _ in range(SETS if before else 0)]
        if any(separates(e, rank) for rank in ranks) or (first >= 0 and not separates(e, first)):
            wrong.append(e)
    return wrong
