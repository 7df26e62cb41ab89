"""Pairs decided by bounds whose tests are too many to be made: some random tests instead, in the mode "checked"."""

from __future__ import annotations

import random
from math import comb

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.base import Floats
from pycupc.engines.cpu.graph import Findings, Graph, Indices
from pycupc.gaussian.partial_correlation import canonical_space, partial_correlation

#: Conditioning sets drawn for a pair.
SETS = 20


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
