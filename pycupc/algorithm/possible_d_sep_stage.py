"""The stage of `fci` after the skeleton: tests of the edges left given sets from Possible-D-SEP
(docs/contracts/latent.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import comb, inf, nan

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import Indices, Lists
from pycupc.graph.pairs import Pairs
from pycupc.graph.questions import Answers, Floats, LargestP, Questions
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.graph.tiers import Tiers
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.fisher_z import p_value
from pycupc.results.tests_after_levels import LaterTests, Raised

Ask = Callable[[Questions], Answers]
#: The largest size of sets whose number is given.
SHOWN_SIZES = 20


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How the stage is to run."""

    # m_max, pdsep_max: largest size of a set, and of a Possible-D-SEP set that is used.
    m_max: float
    pdsep_max: float
    # sequence of int arrays, or None: with ``biCC`` the biconnected components of the skeleton.
    components: Sequence[NDArray[np.int64]] | None = None
    fixed: Pairs | None = None  # edges that are not tested
    tiers: Tiers | None = None  # they limit the sets
    quirks: bool = False  # count and record as pcalg does
    budget: float | None = None  # see `Questions.budget`


@dataclass
class Edge:
    """The tests of one ordered pair of neighbours."""

    x: int
    y: int
    near: list[int]  # the neighbours of x when its row was made
    T: Ints  # the members of its sets
    further: Ints  # candidates that are no neighbours of x
    examined: bool
    S: list[int] | None = None  # the set that separates it
    value: float = nan  # r of the test given that set, or its p-value
    p: float = -inf  # the largest p-value of the tests made
    n_tests: list[list[int]] = field(default_factory=list)  # of each time that it was asked for, by the size of the set
    is_open: bool = False  # its sets were not all tested
    # `Answers.unfinished` of each time, and its number there.
    unfinished: list[tuple[Callable[[Indices], Floats], int]] = field(default_factory=list)


def run_stage(
    graph: SparseGraph, sepset: SepSets, pds: Sequence[Ints], test: IndependenceTest, ask: Ask, stage: Stage
) -> tuple[SparseGraph, SepSets, LaterTests]:
    """The graph without the edges that the tests removed, the separating sets with theirs, and the record of the tests.

    Rows depend on each other only by the neighbours that an earlier one has removed. So all are asked for at once, and
    those whose neighbours an earlier row has changed are asked for again; a user's test, which may count its calls, is
    asked row by row.

    Parameters
    ----------
    graph, sepset
        The skeleton and its sets.
    pds : sequence of p int arrays
        Possible-D-SEP of each variable, ascending.
    ask : function
        `Engine.first_separating` of an engine that has taken `test`.
    """
    near = list(map(graph.neighbour_lists().of_one, range(graph.p)))
    asked: dict[int, tuple[list[int], list[Edge]]] = {}  # the neighbours of x and its edges
    done: list[list[Edge]] = []
    for x in range(graph.p):
        if x not in asked or asked[x][0] != near[x]:
            stale = [v for v in range(x, graph.p) if v not in asked or asked[v][0] != near[v]]
            stale = stale[:1] if test.in_order else stale
            for v in stale:
                asked[v] = list(near[v]), _row(v, list(near[v]), pds[v], stage, graph.p)
            _ask([edge for v in stale for edge in asked[v][1]], test, ask, stage)
        done.append(asked.pop(x)[1])
        for edge in done[-1]:
            if edge.S is not None:
                near[x].remove(edge.y)
                near[edge.y].remove(x)
    return _recorded(graph, sepset, pds, test, done, stage)


@dataclass(frozen=True)
class SetsOfStage:
    """The sets that the stage may have to test."""

    pairs: int  # ordered pairs with such sets
    largest: int  # members of the largest set
    total: int  # all sets of all pairs
    by_size: tuple[int, ...]  # number of sets of 0, 1, 2, ... members, up to `SHOWN_SIZES`.


def count_sets(graph: SparseGraph, sepset: SepSets, stage: Stage) -> SetsOfStage:
    """The sets that the stage would test if no edge were removed; arguments as of `run_stage`."""
    from pycupc.orientation.pag.possible_d_sep import possible_d_sep  # loads Numba

    pds, lists = possible_d_sep(graph, sepset), graph.neighbour_lists()
    kinds: Counter[tuple[int, int]] = Counter()  # members, and among them neighbours
    for x in range(graph.p):
        row = _row(x, lists.of_one(x), pds[x], stage, graph.p)
        kinds.update((len(edge.T), len(edge.T) - len(edge.further)) for edge in row if edge.examined)
    sizes = range(min(max((t for t, _ in kinds), default=0), SHOWN_SIZES) + 1)
    by_size = tuple(sum(n * (comb(t, size) - comb(near, size)) for (t, near), n in kinds.items()) for size in sizes)
    total = sum(n * (2**t - 2**near) for (t, near), n in kinds.items())
    return SetsOfStage(kinds.total(), max((t for t, _ in kinds), default=0), total, by_size)


def _row(x: int, near: list[int], pds: Ints, stage: Stage, p: int) -> list[Edge]:
    """What is to be asked for about the edges of x."""
    edges, far, ends = [], np.ones(p, dtype=np.bool_), np.array(near, dtype=np.int32)
    far[ends] = False
    if stage.fixed is not None:
        ends = ends[~stage.fixed.holds(np.full_like(ends, x), ends)]
    for y in ends.tolist():
        members = pds[pds != y]
        if stage.tiers is not None:
            members = members[stage.tiers.may_be_given(np.array(x), np.array(y), members)]
        T = members
        if stage.components is not None:
            T = T[np.isin(T, _component(x, y, stage.components))]
        further = members if stage.quirks else T
        further = further[far[further]]
        edges.append(Edge(x, y, near, T, further, len(T) <= stage.pdsep_max and len(further) > 0))
    return edges


def _component(x: int, y: int, components: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The first component that holds x and y, else the last one."""
    return next((v for v in components if x in v and y in v), components[-1])


def _ask(edges: Sequence[Edge], test: IndependenceTest, ask: Ask, stage: Stage) -> None:
    """Make the tests of these edges."""
    edges = [edge for edge in edges if edge.examined and min(len(edge.T), stage.m_max) >= 1]
    apart = stage.quirks and stage.components is not None
    for part in [[edge] for edge in edges] if test.in_order else [edges] if edges else []:
        if apart:  # which does not cut the sets with one member, a fault of pcalg
            _ask_for(part, [edge.further for edge in part], 1, 1, ask, stage)
            part = [edge for edge in part if edge.S is None]
        if part:
            _ask_for(part, [edge.T for edge in part], 1 + apart, stage.m_max, ask, stage)


def _ask_for(
    edges: Sequence[Edge], candidates: Sequence[Ints], smallest: int, largest: float, ask: Ask, stage: Stage
) -> None:
    """Enter the answers about sets of these sizes, which do not lie among the neighbours of x alone."""
    most = int(min(largest, max(map(len, candidates))))
    x, y = np.array([(edge.x, edge.y) for edge in edges], dtype=np.int32).T
    skip, lists = Lists.of([edge.near for edge in edges]), Lists.of([T.tolist() for T in candidates])
    answers = ask(Questions(x, y, lists, smallest, most, skip, budget=stage.budget))
    facts = zip(*(values.tolist() for values in (answers.found, answers.value, answers.p, answers.open)), strict=True)
    for i, (edge, (found, value, p, is_open)) in enumerate(zip(edges, facts, strict=True)):
        edge.S, edge.value = (answers.S.of_one(i), value) if found else (None, nan)
        edge.p, edge.is_open = max(edge.p, p), edge.is_open or is_open
        edge.n_tests.append(answers.n_tests[i].tolist())
        if answers.unfinished is not None:
            edge.unfinished.append((answers.unfinished, i))


def _recorded(
    graph: SparseGraph,
    sepset: SepSets,
    pds: Sequence[Ints],
    test: IndependenceTest,
    rows: list[list[Edge]],
    stage: Stage,
) -> tuple[SparseGraph, SepSets, LaterTests]:
    examined = [edge for row in rows for edge in row if edge.examined]
    asked = [edge for edge in examined if edge.n_tests]
    gone = [(edge, edge.S) for edge in asked if edge.S is not None]
    # pcalg gets to sets of these sizes
    sizes = [int(min(len(edge.T), stage.m_max)) if edge.S is None else len(edge.S) for edge in examined]
    counts = [sum(n) for n in zip_longest(*(n for edge in asked for n in edge.n_tests), fillvalue=0)]
    counts = (counts + [0] * (max(sizes, default=0) + 1))[: max(sizes, default=0) + 1]
    last = sizes[-1] if stage.quirks and sizes else len(counts) - 1
    x, y = np.array([(edge.x, edge.y) for edge, _ in gone], dtype=np.int32).reshape(-1, 2).T
    S, value = Lists.of([S for _, S in gone]), np.array([edge.value for edge, _ in gone])
    later = LaterTests(
        x=x,
        y=y,
        S=S,
        value=value,
        p=p_value(value, test.n, S.sizes) if test.has_r and test.n is not None else value,
        n_tests=counts,
        all_pdsep=_all_pdsep(pds, rows, stage),
        n_edgetests_pdsep=counts[: last + 1],
        max_ord_pdsep=last,
        raised=_raised(asked, stage.quirks),
        open_pairs=np.array([(edge.x, edge.y) for edge in asked if edge.is_open], dtype=np.int32).reshape(-1, 2),
    )
    graph = graph.with_edges(np.setdiff1d(np.arange(len(graph)), graph.edge_number(x, y)))
    return graph, (sepset.changed(later.both_cells()) if len(x) else sepset).of_skeleton(graph), later


def _all_pdsep(pds: Sequence[Ints], rows: list[list[Edge]], stage: Stage) -> list[Ints]:
    """pcalg's slot: with its faults the set of the last pair of each row, cut as for that, and the neighbour."""
    if not stage.quirks:
        return list(pds)
    return [np.append(row[-1].T, np.int32(row[-1].y)) if row else np.zeros(0, np.int32) for row in rows]


def _raised(edges: Sequence[Edge], quirks: bool) -> Raised | RaisedLater:
    """`LaterTests.raised`: of each ordered pair that was tested or, without pcalg's fault, of both orders of it."""
    ends = np.array([(edge.x, edge.y) for edge in edges], dtype=np.int32).reshape(-1, 2).T
    asked: dict[Callable[[Indices], Floats], list[tuple[int, int]]] = {}
    for k, edge in enumerate(edges):
        for find, i in edge.unfinished:
            asked.setdefault(find, []).append((i, k))
    unfinished = [(find, *np.array(numbers, dtype=np.int64).T) for find, numbers in asked.items()]
    raised = RaisedLater(ends, LargestP(np.array([edge.p for edge in edges]), unfinished), quirks)
    return raised if asked else raised.met()


@dataclass(frozen=True)
class RaisedLater:
    """`LaterTests.raised`, where bounds have answered some of the tests."""

    ends: Ints  # (2, k)
    largest: LargestP  # of k pairs
    quirks: bool

    def met(self) -> Raised:
        """With the largest p-values of the tests made."""
        return self._cells(self.largest.met())

    def __call__(self) -> Raised:
        return self._cells(self.largest())

    def _cells(self, p: Floats) -> Raised:
        x, y = self.ends
        return (x, y, p) if self.quirks else (np.append(x, y), np.append(y, x), np.append(p, p))
