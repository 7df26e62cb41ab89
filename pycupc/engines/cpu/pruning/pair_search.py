"""Questions about single pairs that the search answers: the sets of all sizes of a pair, a size after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.conditional_covariances import Sizes
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.branch import SEPARATED
from pycupc.engines.cpu.pruning.branch_and_bound import LEAST_DELTA, PairOutcomes, Search, search_items
from pycupc.engines.cpu.pruning.delta import Proofs, find_delta, prove, row_space
from pycupc.engines.cpu.pruning.minimum_search import Descent, search_smallest
from pycupc.engines.cpu.pruning.node import search_space
from pycupc.engines.cpu.pruning.plan import PruningMode
from pycupc.engines.cpu.row_items import NOTHING
from pycupc.engines.cpu.threads import State
from pycupc.engines.cpu.walk_arrays import Cutoff, Side
from pycupc.engines.protocol import Floats, Mask, Questions
from pycupc.engines.subsets import about, by_degree, exact_rank
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

    def __call__(self, i: int, first: int, z: float, spent: float, state: State) -> Outcome:
        """Search the sets of pair i with `first` members or more.

        z is the smallest |z| of its smaller sets, whose tests took `spent` seconds of the budget.
        """
        (variables, matrix), asked = self._matrix(i), self._asked_of(i)
        d, own = len(variables) - 1, row_space(len(variables) - 1)
        own.R[:], own.row[0] = matrix, 1
        prove(own, d + 1)
        if not own.delta.min() >= LEAST_DELTA:
            return Outcome(sound=False)
        size, positions = self._reached.get(i, (first, None))
        if positions is not None and not asked[positions].any():
            positions = None
        last = min(self._questions.largest, d - 1)
        if positions is not None or size > last:
            return _outcome(asked, range(first, size), last, positions, z)
        sizes, none = self._sizes_of(i, size), np.zeros(0)
        outcomes, neighbours = PairOutcomes.of(1, last, len(sizes.level)), np.array(variables[:-1], dtype=np.int32)
        side = Side(self._C, neighbours, *NOTHING[4:], np.zeros((0, 0), np.int64), Cutoff(0.0, 0.0, 0.0), 0)
        search = Search(np.array([d - 1]), none, np.full(1, self._allowance(spent)), none, NOTHING.left)
        item, following = np.array([[0, 0, d, variables[-1], 0, 0, 1, 1, 0]]), np.zeros(1, np.int64)
        proofs, space = Proofs(following, none, none), search_space(last, d, asked=np.append(asked, True))
        search_items(side, search, item, following, sizes, proofs, outcomes, NOTHING, own, *space, state)
        done = int(outcomes.n_sizes[0])
        positions = outcomes.members[0, : size + done].tolist() if outcomes.found[0] == SEPARATED else None
        met = zip(sizes.root.tolist(), outcomes.smallest[0].tolist(), strict=True)
        z = min([z, *(root * math.atanh(math.sqrt(r2)) for root, r2 in met if r2 < 1.0)])
        return _outcome(asked, range(first, size + done), last, positions, z)

    def smallest(self, i: int, first: int, n_tests: int, z: float, spent: float, state: State) -> tuple[float, bool]:
        """The smallest |z| of pair i, which no set of `first` members or more separates, and whether that is sure.

        z is the smallest known; `n_tests` of the tests were answered by the search, and `spent` as above.
        """
        variables, matrix = self._matrix(i)
        sizes, d, allowance = self._sizes_of(i, first), len(variables) - 2, self._allowance(spent)
        if tuning.TEST_SECONDS * n_tests >= tuning.ENDLESS:
            allowance = min(allowance, 1e9 * tuning.PATIENCE_FOR_MINIMUM)
        space = search_space(int(sizes.level[-1]), d + 1, asked=np.append(self._asked_of(i), True))
        met, descent = np.array([z]), Descent(matrix.copy(), np.zeros(d, dtype=np.int64), np.zeros(len(sizes.level)))
        sure = search_smallest(sizes, met, descent, allowance, matrix, find_delta(matrix), *space, state)
        return float(met[0]), bool(sure)

    def _allowance(self, spent: float) -> float:
        budget = self._questions.budget
        return math.inf if budget is None else 1e9 * (budget - spent)

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
