"""The stage of `fci` after the skeleton: tests of the edges left given sets from Possible-D-SEP (docs/LATENT.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import comb

import numpy as np
from numpy.typing import NDArray

from pycupc.data.pairs import Pairs
from pycupc.graph.questions import Answers, Floats, Indices, Lists, Questions
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.graph.tiers import Tiers
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.fisher_z import p_value
from pycupc.results.later_tests import LaterTests, Raised

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


@dataclass(frozen=True)
class Answer:
    """`Answers` of one pair."""

    found: bool
    S: tuple[int, ...]
    value: float
    p: float
    n_tests: list[int]
    open: bool
    unfinished: tuple[tuple[Callable[[Indices], Floats], int], ...] = ()  # `Answers.unfinished`, number of the pair

    def after(self, earlier: Answer | None) -> Answer:
        """This answer, and that of tests made before."""
        if earlier is None:
            return self
        counts = [sum(n) for n in zip_longest(earlier.n_tests, self.n_tests, fillvalue=0)]
        return replace(
            self,
            p=max(earlier.p, self.p),
            n_tests=counts,
            open=earlier.open or self.open,
            unfinished=earlier.unfinished + self.unfinished,
        )


@dataclass
class Row:
    """The tests of the edges of x."""

    x: int
    near: list[int]  # the neighbours of x when the row was asked for
    # T, further: int arrays by neighbour y: the members of the sets of x, y, and those that are no neighbours of x.
    T: dict[int, Ints] = field(default_factory=dict)
    further: dict[int, Ints] = field(default_factory=dict)
    examined: list[int] = field(default_factory=list)  # the neighbours whose edge is tested
    answers: dict[int, Answer] = field(default_factory=dict)


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
    start, neighbours = graph.neighbour_lists()
    near = [neighbours[a:b].tolist() for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]
    asked: dict[int, Row] = {}
    done: list[Row] = []
    for x in range(graph.p):
        if x not in asked or asked[x].near != near[x]:
            stale = [v for v in range(x, graph.p) if v not in asked or asked[v].near != near[v]]
            rows = [_row(v, near[v], pds[v], stage) for v in (stale[:1] if test.in_order else stale)]
            _ask(rows, test, ask, stage)
            asked |= {row.x: row for row in rows}
        row = asked.pop(x)
        for y, answer in row.answers.items():
            if answer.found:
                near[x].remove(y)
                near[y].remove(x)
        done.append(row)
    return _recorded(graph, sepset, pds, test, done, stage)


@dataclass(frozen=True)
class SetsOfStage:
    """The sets that the stage may have to test."""

    pairs: int  # ordered pairs with such sets
    largest: int  # members of the largest set
    total: int  # all sets of all pairs
    by_size: tuple[int, ...]  # of them, those of 0, 1, 2, ... members, up to `SHOWN_SIZES`.


def count_sets(graph: SparseGraph, sepset: SepSets, stage: Stage) -> SetsOfStage:
    """The sets that the stage would test if no edge were removed; arguments as of `run_stage`."""
    from pycupc.orientation.pag.possible_d_sep import possible_d_sep  # loads Numba

    pds, (start, neighbours) = possible_d_sep(graph, sepset), graph.neighbour_lists()
    kinds: Counter[tuple[int, int]] = Counter()  # members, and among them neighbours
    for x in range(graph.p):
        row = _row(x, neighbours[start[x] : start[x + 1]].tolist(), pds[x], stage)
        kinds.update((len(row.T[y]), len(row.T[y]) - len(row.further[y])) for y in row.examined)
    sizes = range(min(max((t for t, _ in kinds), default=0), SHOWN_SIZES) + 1)
    by_size = tuple(sum(n * (comb(t, size) - comb(near, size)) for (t, near), n in kinds.items()) for size in sizes)
    total = sum(n * (2**t - 2**near) for (t, near), n in kinds.items())
    return SetsOfStage(kinds.total(), max((t for t, _ in kinds), default=0), total, by_size)


def _row(x: int, near: list[int], pds: Ints, stage: Stage) -> Row:
    """What is to be asked for about the edges of x."""
    row = Row(x, list(near))
    for y in near:
        if stage.fixed is not None and bool(stage.fixed.holds(np.array([x]), np.array([y]))[0]):
            continue
        T = pds[pds != y]
        if stage.tiers is not None:
            T = stage.tiers.limited(x, y, T)
        further = np.setdiff1d(T, near)
        if stage.components is not None:
            T = np.intersect1d(T, _component(x, y, stage.components)).astype(np.int32)
        row.further[y] = further if stage.quirks else np.setdiff1d(T, near)
        row.T[y] = T
        if len(T) <= stage.pdsep_max and len(row.further[y]):
            row.examined.append(y)
    return row


def _component(x: int, y: int, components: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The first component that holds x and y, else the last one."""
    return next((v for v in components if x in v and y in v), components[-1])


def _ask(rows: Sequence[Row], test: IndependenceTest, ask: Ask, stage: Stage) -> None:
    """Make the tests of these rows."""
    pairs = [(row, y) for row in rows for y in row.examined if min(len(row.T[y]), stage.m_max) >= 1]
    apart = stage.quirks and stage.components is not None
    for part in [[pair] for pair in pairs] if test.in_order else [pairs] if pairs else []:
        if apart:  # which does not cut the sets with one member, a fault of pcalg
            _ask_for(part, [row.further[y] for row, y in part], 1, 1, ask, stage)
            part = [(row, y) for row, y in part if not row.answers[y].found]
        if part:
            _ask_for(part, [row.T[y] for row, y in part], 1 + apart, stage.m_max, ask, stage)


def _ask_for(
    pairs: Sequence[tuple[Row, int]], candidates: Sequence[Ints], smallest: int, largest: float, ask: Ask, stage: Stage
) -> None:
    """Enter the answers about sets of these sizes, which do not lie among the neighbours of x alone."""
    most = int(min(largest, max(map(len, candidates))))
    x, y = (np.array(ends, dtype=np.int32) for ends in zip(*((row.x, y) for row, y in pairs), strict=True))
    skip = Lists.of([row.near for row, _ in pairs])
    answers = ask(Questions(x, y, Lists.of(map(list, candidates)), smallest, most, skip, budget=stage.budget))
    for i, (row, neighbour) in enumerate(pairs):
        new = Answer(
            found=bool(answers.found[i]),
            S=tuple(answers.S.of_question(i)),
            value=float(answers.value[i]),
            p=float(answers.p[i]),
            n_tests=answers.n_tests[i].tolist(),
            open=bool(answers.open[i]),
            unfinished=() if answers.unfinished is None else ((answers.unfinished, i),),
        )
        row.answers[neighbour] = new.after(row.answers.get(neighbour))


def _recorded(
    graph: SparseGraph, sepset: SepSets, pds: Sequence[Ints], test: IndependenceTest, rows: list[Row], stage: Stage
) -> tuple[SparseGraph, SepSets, LaterTests]:
    asked = [(row.x, y, row.answers.get(y)) for row in rows for y in row.examined]
    answers = [(x, y, answer) for x, y, answer in asked if answer is not None]
    gone = [(x, y, answer) for x, y, answer in answers if answer.found]
    sizes = [_size_reached(row, y, stage) for row in rows for y in row.examined]
    counts = [sum(n) for n in zip_longest(*(answer.n_tests for _, _, answer in answers), fillvalue=0)] or [0]
    counts = (counts + [0] * (max(sizes, default=0) + 1))[: max(sizes, default=0) + 1]
    last = sizes[-1] if stage.quirks and sizes else len(counts) - 1
    x, y = (np.array([pair[end] for pair in gone], dtype=np.int32) for end in range(2))
    S = Lists.of([answer.S for _, _, answer in gone])
    value = np.array([answer.value for _, _, answer in gone])
    p = p_value(value, test.n, np.diff(S.offsets)) if test.has_r and test.n is not None else value
    largest = LargestP(answers, stage.quirks)
    later = LaterTests(
        x=x,
        y=y,
        S=S,
        value=value,
        p=p,
        n_tests=counts,
        all_pdsep=_all_pdsep(pds, rows, stage),
        n_edgetests_pdsep=counts[: last + 1],
        max_ord_pdsep=last,
        raised=largest if largest.searches else largest.met(),
        open_pairs=np.array([(x, y) for x, y, answer in answers if answer.open], dtype=np.int32).reshape(-1, 2),
    )
    left = np.setdiff1d(np.arange(len(graph)), graph.edge_number(x, y))
    graph = graph.with_edges(left)
    return graph, (sepset.changed(later.both_cells()) if len(x) else sepset).of_skeleton(graph), later


def _size_reached(row: Row, y: int, stage: Stage) -> int:
    """The size of the last sets that pcalg gets to."""
    answer = row.answers.get(y)
    return len(answer.S) if answer is not None and answer.found else int(min(len(row.T[y]), stage.m_max))


def _all_pdsep(pds: Sequence[Ints], rows: list[Row], stage: Stage) -> list[Ints]:
    """pcalg's slot: with its faults the set of the last pair of each row, cut as for that, and the neighbour."""
    found = list(pds)
    for row in rows:
        if stage.quirks:
            cut = [np.append(T, y) for y, T in row.T.items()]
            found[row.x] = np.array(cut[-1] if cut else [], dtype=np.int32)
    return found


@dataclass(frozen=True)
class LargestP:
    """`LaterTests.raised`: of each ordered pair that was tested or, without pcalg's fault, of both orders of it."""

    answers: Sequence[tuple[int, int, Answer]]
    quirks: bool

    @property
    def searches(self) -> bool:
        """Whether bounds have answered some of the tests."""
        return any(answer.unfinished for _, _, answer in self.answers)

    def met(self) -> Raised:
        """With the largest p-values of the tests made."""
        return self._cells(np.array([answer.p for _, _, answer in self.answers]))

    def __call__(self) -> Raised:
        p = np.array([answer.p for _, _, answer in self.answers])
        asked: dict[Callable[[Indices], Floats], list[tuple[int, int]]] = {}
        for k, (_, _, answer) in enumerate(self.answers):
            for finish, i in answer.unfinished:
                asked.setdefault(finish, []).append((k, i))
        for finish, numbers in asked.items():
            at, of = np.array(numbers, dtype=np.int64).T
            p[at] = np.maximum(p[at], finish(of))
        return self._cells(p)

    def _cells(self, p: Floats) -> Raised:
        x, y = (np.array([pair[end] for pair in self.answers], dtype=np.int32) for end in range(2))
        return (x, y, p) if self.quirks else (np.append(x, y), np.append(y, x), np.append(p, p))
