"""Questions about pairs of variables, which an engine answers: the sets of other variables that separate them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import Indices, Lists

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Seconds of a `Questions.budget` that a Gaussian test counts where tests are made one by one.
TEST_SECONDS = 1e-6


class Questions(NamedTuple):
    """Pairs of variables, and the sets given which each of them is to be tested.

    Pair i is tested given the subsets of its candidates with `smallest` to `largest` members, except those that lie
    wholly in its list of `skip`. A set keeps the order of the candidates.
    """

    # x, y: int (m,): each test is called with x first.
    x: NDArray[np.integer]
    y: NDArray[np.integer]
    candidates: Lists  # different variables, in any order, x and y not among them
    smallest: int
    largest: int
    skip: Lists | None = None
    largest_p: bool = True  # whether the largest p-value of the tests of each pair is wanted
    # Work about a pair after which it is left open. Of Gaussian tests in seconds, counted by the steps made, at times
    # measured once, so that every machine leaves the same pairs; of other tests it is their number. None: no limit.
    budget: float | None = None

    def sizes(self) -> range:
        """The sizes of sets that some pair has enough candidates for."""
        widest = int(self.candidates.sizes.max(initial=0))
        return range(self.smallest, min(self.largest, widest) + 1)

    def most_tests(self, has_r: bool) -> int:
        """The number of tests that the budget allows, made one by one; `has_r`: of Gaussian tests."""
        tests = math.inf if self.budget is None else self.budget / TEST_SECONDS if has_r else self.budget
        return int(min(tests, 2**62))


class Answers(NamedTuple):
    """The first separating set of each of m pairs; a NaN p-value counts as the test's `na_p`."""

    found: Mask  # (m,): whether a set separates the pair
    S: Lists  # the set, in the order of the candidates; empty where none was found
    value: Floats  # (m,): r of the test that separated the pair, or p if the test has no r; NaN where none did
    # (m,): largest p-value of the tests of the pair; -inf if there were none. Without `Questions.largest_p` the p-value
    # of the test that separated the pair, or NaN.
    p: Floats
    # int64 (m, k), or Python integers where some exceed 2^62: number of tests of the pair, by the size of the set from
    # 0 on; the one that separated it is the last counted.
    n_tests: NDArray[Any]
    # (m,): pairs that were left after the `Questions.budget`, with tests neither made nor answered; none of theirs was
    # found to separate them, and `p` and `n_tests` tell of the others.
    open: Mask
    # Function or None: if not None, bounds have answered tests, and p is the largest p-value of the tests made. The
    # function takes the numbers of some pairs, int64 (k,), and gives the largest p-values of all their tests, float64
    # (k,); that takes longer than the answers.
    unfinished: Callable[[Indices], Floats] | None = None

    def finished(self) -> Answers:
        """The answers with the largest p-values of all tests."""
        p = self.p if self.unfinished is None else self.unfinished(np.arange(len(self.p)))
        return self._replace(p=p, unfinished=None)


@dataclass(frozen=True)
class LargestP:
    """The largest p-values of m pairs, float64 (m,), where bounds have answered some tests: found at a call."""

    p: Floats  # (m,): of the tests made
    # Tuples of an `Answers.unfinished`, the numbers of some pairs there, and their numbers here.
    unfinished: Sequence[tuple[Callable[[Indices], Floats], Indices, Indices]]

    def __call__(self) -> Floats:
        out = self.p.copy()
        for find, there, here in self.unfinished:
            np.maximum.at(out, here, find(there))
        return out

    def met(self) -> Floats:
        """Of the tests made, without searching for the largest of all."""
        return self.p

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (self(),)  # the searches need the engine's data


class Counts(NamedTuple):
    """The number of sets that separate each of m pairs."""

    found: Indices  # (m,)
    # (number of all candidates,): for each entry of the candidates' `members` the number of separating sets that
    # contain it.
    containing: Indices
