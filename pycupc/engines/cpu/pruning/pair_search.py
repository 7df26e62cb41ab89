"""Questions about single pairs that the search answers: the sets of all sizes of a pair, a size after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np

from pycupc.engines.cpu import threads, tuning
from pycupc.engines.cpu.conditional_covariances import Sizes
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.bounded_walk_arrays import UNSOUND
from pycupc.engines.cpu.pruning.branch import NONE, SEPARATED
from pycupc.engines.cpu.pruning.branch_and_bound import PairOutcomes, Search, search_items
from pycupc.engines.cpu.pruning.delta import Proofs, find_delta, row_space
from pycupc.engines.cpu.pruning.minimum_search import Descent, search_smallest
from pycupc.engines.cpu.pruning.node import search_space
from pycupc.engines.cpu.pruning.plan import PruningMode
from pycupc.engines.cpu.row_items import NOTHING, RowWork, cuts
from pycupc.engines.cpu.submatrices import by_width
from pycupc.engines.cpu.threads import State
from pycupc.engines.cpu.tuning import INLINE_TESTS, SEARCHED_MEMBERS
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, END, FIRST, ROW, START, WORK, Cutoff, Part, Side, X
from pycupc.engines.protocol import Floats, Ints, Mask, Questions
from pycupc.engines.subsets import about, by_degree, exact_rank
from pycupc.graph.lists import spans, starts
from pycupc.graph.questions import TEST_SECONDS
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.system.jit import frozen

#: A search is about sets of at least two members: smaller ones have formulas of their own.
SMALLEST = 2
#: Whether this process has loaded the code of a search.
_loaded = False


def first_searched(questions: Questions, pruning: PruningMode) -> Indices:
    """For each pair the size of the smallest sets that are to be searched, int64 (m,); `sizes().stop`: none."""
    global _loaded
    sizes, degree = questions.sizes(), questions.candidates.sizes
    few = 0 if pruning == "always" else tuning.FEW_SETS

    def first_of(d: int) -> int:
        return next((size for size in sizes if size >= SMALLEST and about(d, size) > few), sizes.stop)

    def tests(d: int) -> float:
        return sum(about(d, size) for size in range(first_of(d), sizes.stop))

    if first_of(int(degree.max(initial=0))) == sizes.stop:  # the quick way of small questions
        return np.full(len(degree), sizes.stop)
    first = np.where(degree <= tuning.MOST_SEARCHED, by_degree(first_of, degree), sizes.stop).astype(np.int64)
    # what is loaded must not matter to a budget, which leaves the same pairs in every process
    least = tuning.WORTH_LOADING if questions.budget is None and not _loaded else tuning.WORTH
    if few and TEST_SECONDS * by_degree(tests, degree[first < sizes.stop]).sum() < least:
        first[:] = sizes.stop
    _loaded = _loaded or bool((first < sizes.stop).any())
    return first


#: A size of sets that a pair has got to, which no smaller set separates, and the positions among the candidates of the
#: first set of this size that does; None: not known.
Reached = tuple[int, list[int] | None]


class Outcome(NamedTuple):
    """The outcome of the search about a pair."""

    sound: bool  # whether the matrix of the pair allows a search; nothing else is valid if not
    n_tests: Sequence[int] = ()  # tests answered, by size: complete sizes, and the one with the separating set
    positions: list[int] | None = None  # of the first separating set among the candidates, ascending
    open: bool = False  # the sizes after those counted are not decided
    z: float = math.inf  # smallest |z| of the tests made, if no set separates the pair


class PairSearch:
    """The search about pairs of one `Questions`."""

    def __init__(
        self, test: GaussianTest, questions: Questions, asked: Mask, reached: dict[int, Reached] | None = None
    ) -> None:
        """`asked`, bool: for each candidate whether it lets a set count: it is not in the list of `skip`.

        `reached`: what is known of some pairs from a search on a device.
        """
        self._C, self._questions, self._asked = frozen(test.data.C), questions, asked
        self._reached = reached or {}
        self._sizes = Sizes.of(test, range(SMALLEST, max(questions.sizes().stop, SMALLEST)))

    def decide(
        self, pairs: Indices, first: Indices, z: Floats, spent: Floats, n_threads: int, progress: threads.Progress
    ) -> dict[int, Outcome]:
        """Search the sets of these pairs with first[k] members or more.

        z is the smallest |z| of the smaller sets of each pair, whose tests took `spent` seconds of the budget.
        """
        reached = [self._reached_of(i, size) for i, size in zip(pairs.tolist(), first.tolist(), strict=True)]
        facts = pairs, reached, self._sizes, self._allowance(spent)
        work = _SearchedPairs(self._C, self._questions, self._asked, *facts, n_threads)
        threads.run(work, n_threads, INLINE_TESTS, progress)
        found = work.outcomes()
        each = enumerate(zip(pairs.tolist(), first.tolist(), z.tolist(), reached, strict=True))
        return {i: self._outcome(found, k, i, size, least, known) for k, (i, size, least, known) in each}

    def _reached_of(self, i: int, first: int) -> Reached:
        size, positions = self._reached.get(i, (first, None))
        return size, positions if positions is not None and self._asked_of(i)[positions].any() else None

    def _outcome(self, found: PairOutcomes, k: int, i: int, first: int, z: float, reached: Reached) -> Outcome:
        """The outcome of pair i, which was number k of the search."""
        asked, (size, positions) = self._asked_of(i), reached
        if found.found[k] == UNSOUND:
            return Outcome(sound=False)
        last = min(self._questions.largest, len(asked))
        if positions is not None:
            return _outcome(asked, range(first, size), last, positions, z)
        size += int(found.n_sizes[k])
        positions = found.members[k, :size].tolist() if found.found[k] == SEPARATED else None
        met = zip(self._sizes.root.tolist(), found.smallest[k].tolist(), strict=True)
        z = min([z, *(root * math.atanh(math.sqrt(r2)) for root, r2 in met if r2 < 1.0)])
        return _outcome(asked, range(first, size), last, positions, z)

    def smallest(self, i: int, first: int, n_tests: int, z: float, spent: float, state: State) -> tuple[float, bool]:
        """The smallest |z| of pair i, which no set of `first` members or more separates, and whether that is sure.

        z is the smallest known; `n_tests` of the tests were answered by the search, and `spent` as above.
        """
        variables, matrix = self._matrix(i)
        sizes, d, allowance = self._sizes_of(i, first), len(variables) - 2, float(self._allowance(spent))
        if tuning.TEST_SECONDS * n_tests >= tuning.ENDLESS:
            allowance = min(allowance, 1e9 * tuning.PATIENCE_FOR_MINIMUM)
        space = search_space(int(sizes.level[-1]), d + 1, asked=np.append(self._asked_of(i), True))
        met, descent = np.array([z]), Descent(matrix.copy(), np.zeros(d, dtype=np.int64), np.zeros(len(sizes.level)))
        sure = search_smallest(sizes, met, descent, allowance, matrix, find_delta(matrix), *space, state)
        return float(met[0]), bool(sure)

    def _allowance(self, spent: Floats | float) -> Floats:
        budget = self._questions.budget
        return 1e9 * ((math.inf if budget is None else budget) - np.asarray(spent, dtype=np.float64))

    def _matrix(self, i: int) -> tuple[list[int], Floats]:
        """The candidates, y and x of pair i, and their correlations."""
        question = self._questions
        variables = [*question.candidates.of_one(i), int(question.y[i]), int(question.x[i])]
        matrix = self._C[np.ix_(variables, variables)]
        np.fill_diagonal(matrix, 1.0)
        return variables, matrix

    def _sizes_of(self, i: int, first: int) -> Sizes:
        """The sizes from `first` on that pair i has candidates for."""
        offsets = self._questions.candidates.offsets
        last = min(self._questions.largest, int(offsets[i + 1] - offsets[i]))
        part = slice(first - SMALLEST, last + 1 - SMALLEST)
        return Sizes(*(values[part] for values in self._sizes))  # type: ignore[arg-type]

    def _asked_of(self, i: int) -> Mask:
        offsets = self._questions.candidates.offsets
        return self._asked[offsets[i] : offsets[i + 1]]


class _SearchedPairs(RowWork):
    """The search about pairs, each of which is a row of its own, with the candidates and, last, y.

    An item is some of the sizes of a pair, one after the other: one item for all of them with one thread, or if there
    is a budget, which all sizes of a pair share. Small sizes and pairs with many candidates come first.
    """

    def __init__(
        self, C: Floats, questions: Questions, asked: Mask, pairs: Indices, reached: list[Reached], sizes: Sizes,
        allowance: Floats, n_threads: int,
    ) -> None:  # fmt: skip
        offsets, k = questions.candidates.offsets, len(pairs)
        number = offsets[pairs + 1] - offsets[pairs]
        of_row, neighbours, own_asked = _rows_of(questions, asked, pairs)
        self._sizes, self._largest = sizes, int(min(questions.largest, number.max(initial=0)))
        begin, end = _sizes_of_pairs(questions, number, reached)
        most = SEARCHED_MEMBERS // (k * max(self._largest, 1)) if n_threads > 1 else 1
        pieces = np.where(np.isinf(allowance), np.clip(end - begin, 1, max(most, 1)), 1)
        self._first, row = starts(pieces)[:-1], np.repeat(np.arange(k), pieces)
        piece = np.arange(len(row)) - self._first[row]
        begin, end = (begin[row] + cuts((end - begin)[row], pieces[row], at) for at in (piece, piece + 1))
        items = np.zeros((len(row), 9), dtype=np.int64)
        items[:, ROW], items[:, FIRST], items[:, END] = row, np.arange(len(row)), np.arange(len(row)) + 1
        items[:, START] = items[:, AT] = of_row[row]
        items[:, DEGREE], items[:, X] = number[row] + 1, questions.x[pairs][row]
        items[:, WORK] = piece == pieces[row] - 1  # a pair is counted with its largest sizes
        items = items[np.lexsort((-number[row], piece))]
        super().__init__([
            Part(C, neighbours, items[some], np.zeros(1, dtype=np.int64), int(items[some, DEGREE].max()))
            for some in by_width(items[:, DEGREE])
        ])  # fmt: skip
        none, no, last = np.zeros(0), np.zeros(k, dtype=np.bool_), of_row[row + 1] - 1
        separated = np.full(k, -1)
        self._search = Search(last, none, allowance, np.zeros(k), no, begin, end, own_asked, separated)
        self._proofs = Proofs(np.zeros(k, dtype=np.int64), np.empty(of_row[-1]), np.empty(k))
        self._outcomes = PairOutcomes.of(len(row), self._largest, (k, len(sizes.level)))

    def outcomes(self) -> PairOutcomes:
        """The outcome of each pair: the first of its pieces with another outcome than NONE decides."""
        found, n_sizes, members, smallest = self._outcomes
        begin, decided = self._search.begin, np.where(found != NONE, np.arange(len(found)), len(found))
        by = np.minimum(np.minimum.reduceat(decided, self._first), np.append(self._first[1:], len(found)) - 1)
        last = begin[by] + n_sizes[by]
        smallest[np.arange(smallest.shape[1]) > last[:, None]] = np.inf  # of pieces behind it
        return PairOutcomes(found[by], last - begin[self._first], members[by], smallest)

    def _make_space(self, d: int) -> Any:
        return row_space(d), *search_space(min(self._largest, d), d)

    def _walk(self, part: Part, space: Any, state: State) -> None:
        own, nodes, sets, w = space
        own.row[0] = 0
        table, cutoff = np.zeros((0, 0), dtype=np.int64), Cutoff(0.0, 0.0, 0.0)
        side = Side(part.C, part.neighbours, NOTHING.left, NOTHING.unfinished, table, cutoff, 0)
        shared = self._sizes, self._proofs, self._outcomes, NOTHING
        search_items(side, self._search, part.items, part.following, *shared, own, nodes, sets, w, state)


def _rows_of(questions: Questions, asked: Mask, pairs: Indices) -> tuple[Indices, Ints, Mask]:
    """The rows of these pairs: where each begins, int64 (k + 1,), its members, and whether they are asked."""
    offsets = questions.candidates.offsets
    number = offsets[pairs + 1] - offsets[pairs]
    of_row, at = starts(number + 1), spans(offsets[pairs], number)
    neighbours, own_asked = np.empty(of_row[-1], dtype=np.int32), np.ones(of_row[-1], dtype=np.bool_)
    last = of_row[1:] - 1
    of_candidate = np.delete(np.arange(of_row[-1]), last)
    neighbours[of_candidate], own_asked[of_candidate] = questions.candidates.members[at], asked[at]
    neighbours[last] = questions.y[pairs]
    return of_row, neighbours, own_asked


def _sizes_of_pairs(questions: Questions, number: Indices, reached: list[Reached]) -> tuple[Indices, Indices]:
    """The first size of each pair that is searched, and the one after the last, among `Sizes`."""
    end = np.minimum(questions.largest, number) + 1 - SMALLEST
    begin = np.array([size - SMALLEST for size, _ in reached], dtype=np.int64)
    known = np.array([positions is not None for _, positions in reached], dtype=np.bool_)
    return begin, np.where(known, begin, np.maximum(begin, end))


def _outcome(asked: Mask, sizes: range, last: int, positions: list[int] | None, z: float) -> Outcome:
    """No set of these sizes, of which `last` is the largest, separates the pair; the first that does is `positions`."""
    n_tests = [number_of_sets(asked, size) for size in sizes]
    if positions is not None:
        return Outcome(True, [*n_tests, rank(asked, positions) + 1], positions)
    return Outcome(True, n_tests, None, sizes.stop <= last, z)


def number_of_sets(asked: Mask, size: int) -> int:
    """How many sets of this size have a candidate that is `asked`, bool (number of candidates,)."""
    return comb(len(asked), size) - comb(int(len(asked) - asked.sum()), size)


def rank(asked: Mask, positions: list[int]) -> int:
    """How many sets with a candidate that is `asked` come before this one, in lexicographic order of the positions."""
    others, size = np.flatnonzero(~asked).tolist(), len(positions)
    before, following = exact_rank(positions, len(asked)), 0
    for i, v in enumerate(positions):
        # the sets of others alone that have the first i members of this one, and then an earlier one
        earlier = [k for k, other in enumerate(others) if following <= other < v]
        before -= sum(comb(len(others) - 1 - k, size - i - 1) for k in earlier)
        if asked[v]:
            break
        following = v + 1
    return before
