"""The content of an explorer page: a graph, or a part of it, and the evidence for and against its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import Ints, SparseGraph

Floats = NDArray[np.float64]

#: Most variables and edges that a page holds.
MAX_NODES, MAX_EDGES = 5_000, 20_000
#: Most removed pairs of level 1 and above that a page lists.
MAX_REMOVED = 100_000
#: Most tests that are repeated for a page, to find the weakest test of each edge; they take a few tenths of a second.
MAX_TESTS = 40_000
#: Most variables for which a page holds the effects of all pairs.
MAX_EFFECTS = 200
#: Most variables for which a page holds the correlations of all pairs.
MAX_CORRELATIONS = 800


_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RemovedPairs:
    """Pairs that a non-empty set separated."""

    # x, y, level: int (k,): the pair, in the order of its separating test, and the size of the set.
    x: NDArray[Any]
    y: NDArray[Any]
    level: NDArray[Any]
    # int (sum of level,): all sets, one after the other; they may name variables that the page does not draw.
    members: NDArray[Any]
    # r, p: float (k,) or None: partial correlation, or p-value if the correlation is not known.
    r: Floats | None
    p: Floats | None
    complete_from: int  # every pair of the page that was removed at this level or a later one is listed; 1: all are
    # How many of the pairs, the last ones, later tests removed, whose sets need not be neighbours.
    after_levels: int = 0


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a page. Variables are numbered 0, 1, ... in the order in which the page draws them."""

    # title, facts, note: headline; a line of figures; what the page leaves out, if anything.
    title: str
    facts: str
    note: str
    # The variables and edges that are drawn; `edges_left_out` is the number of others among these variables.
    graph: SparseGraph
    # labels of these variables, followed by the labels of variables that occur only in separating sets.
    labels: Sequence[str]
    degree: NDArray[np.int64]  # int (p,): number of neighbours in the whole result
    # edge_p, edge_r, edge_tests, edge_level: (m,) or None: for each edge, in the order of ``graph.edge_list()``: the
    # largest p-value of its tests, -1 if never tested; the correlation of its ends; the number of tests that it
    # survived, and their highest level. None for a consensus of resamples, which has `stability`, frequencies from 0 to
    # 1, and `shares`, those of each mark, in their place.
    edge_p: Floats | None = None
    edge_r: Floats | None = None
    edge_tests: Floats | None = None
    edge_level: NDArray[np.int64] | None = None
    # sequence of m (sequence, float) or None: the set and the partial correlation of the test with the largest p-value;
    # None or empty if not determined.
    weakest: Sequence[tuple[Sequence[str | int], float] | None] = ()
    # sequence of m sequences: what set its marks: each [variable at whose end the mark is, rule, variable, ...]; `pag`:
    # the rules are those of FCI, not Meek's.
    reasons: Sequence[Sequence[Sequence[str | int]]] = ()
    stability: Floats | None = None
    removed: RemovedPairs = field(default_factory=lambda: RemovedPairs(_NONE, _NONE, _NONE, _NONE, None, None, 1))
    # int (k, 3): removed pairs whose separating test was not made, and the observations that it would have needed.
    untested: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    # int (k, 2): pairs that fixedGaps excludes.
    gaps: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    # float (p (p - 1) / 2,) or None: of all pairs i < j, by rows, if the graph is small.
    correlations: Floats | None = None
    cutoffs: Sequence[float | None] = ()  # largest |r| judged independent, for each level; None where every r is
    n: float | None = None
    alpha: float | None = None
    edges_left_out: int = 0
    start: int | None = None  # the variable whose neighbourhood is shown first
    shares: Mapping[str, Floats] = field(default_factory=dict)
    pag: bool = False
    # mapping of str to float (p, p): of rows on columns: `value`, the possible effect of smallest size, its interval
    # `low` to `high`, and the `agreement` of the signs of all possible effects.
    effects: Mapping[str, Floats] = field(default_factory=dict)
