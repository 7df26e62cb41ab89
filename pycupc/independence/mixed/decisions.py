"""Tests of a complete table, or of several imputations, whichever kinds the variables are of, in compiled code.

`engines/cpu/turn_walk.py` walks over pairs with them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.deciding import Walked, decides
from pycupc.independence.discrete import contingency
from pycupc.independence.discrete.contingency import run_test_given
from pycupc.independence.gaussian.compiled_p_values import p_value
from pycupc.independence.gaussian.partial_correlation import canonical_space, given_set
from pycupc.independence.missing.imputed_tests import (
    Codes,
    DiscreteWork,
    ImputedWork,
    Stack,
    pooled_g2,
    test_codes,
    test_numbers,
    walked_codes,
    walked_numbers,
)
from pycupc.independence.mixed.cells import CONSTANT, PLACE, Space, Tables
from pycupc.independence.mixed.models import Kept, LogLikelihoods, statistics
from pycupc.independence.tails import tail_addresses
from pycupc.system.foreign_code import call_of_two
from pycupc.system.jit import frozen, jit_inlined, jit_part


class Complete(NamedTuple):
    """The data of tests, for all threads."""

    tables: Tables
    kept: Kept
    codes: contingency.Data  # the categories
    C: Floats  # (q, q): the correlations of the numbers
    n: float
    alpha: float
    chdtrc: int  # the address


class CompleteSpace(NamedTuple):
    """Work space of a thread."""

    likelihoods: Space
    counting: contingency.Counting
    elimination: Floats  # `canonical_space`
    nodes: Indices  # (l + 2,): for tests of numbers: S ascending, x and y
    S: Indices  # (l,): for tests of categories
    careful: Indices  # as of `deciding.Walked.work`


def complete_data(
    likelihoods: LogLikelihoods, codes: contingency.Data | None, C: Floats, n: int, alpha: float
) -> Complete:
    """The data of tests; without `codes` where there are no two categories."""
    if codes is None:
        none = np.zeros((1, n), dtype=np.uint8), np.full(1, 2), np.zeros(1, dtype=np.int64)
        codes = contingency.Data(*none, 1.0, 0.0, np.zeros(0), alpha, adapt=True, quirks=False, observed=False)
    return Complete(
        likelihoods.tables, likelihoods.kept(1, 2), codes, frozen(C), float(n), alpha, int(tail_addresses()[1])
    )


def walked(data: Complete, likelihoods: LogLikelihoods, tests: float, size: int) -> Walked:
    """See `SetwiseTest.walked`; `tests`: how many there may be."""

    def work(careful: Indices) -> CompleteSpace:
        none, S = np.zeros(0, dtype=np.int64), np.empty(size, dtype=np.int64)
        counting = contingency.work_space(data.codes, none, none, S[None])
        nodes = np.empty(size + 2, dtype=np.int64)
        return CompleteSpace(likelihoods.space(size + 2), counting, canonical_space(size), nodes, S, careful)

    return Walked(data._replace(kept=likelihoods.kept(tests, size + 2)), work)


@jit_inlined
def _of_categories(data, x, y, S, space):
    facts = data.tables.facts
    for t in range(len(S)):
        space.S[t] = facts[PLACE, S[t]]
    return run_test_given(data.codes, facts[PLACE, x], facts[PLACE, y], space.S, space.counting)[1]


@jit_inlined
def _of_numbers(data, x, y, S, space):
    """The p-value of numbers; asks for `careful_address` where it is needed."""
    nodes, facts, before, size = space.nodes, data.tables.facts, data.tables.n_categories, len(S)
    for t in range(size):
        at, k = facts[PLACE, S[t]] - before, t
        while k > 0 and nodes[k - 1] > at:
            nodes[k] = nodes[k - 1]
            k -= 1
        nodes[k] = at
    nodes[size], nodes[size + 1] = facts[PLACE, x] - before, facts[PLACE, y] - before
    r = given_set(data.C, nodes, size, space.elimination, space.careful[0])
    df = data.n - (size + 3)
    space.careful[1] |= r != r
    return p_value(abs(r), math.sqrt(df) if df > 0.0 else 0.0)


@jit_inlined
def _of_both(data, x, y, S, space):
    facts = data.tables.facts
    if facts[CONSTANT, x] or facts[CONSTANT, y]:
        return 1.0
    own, _, df = statistics(data.tables, data.kept, space.likelihoods, x, y, S)
    return call_of_two(data.chdtrc, df, own if own > 0.0 else 0.0) if own == own else 1.0


@decides(Complete)
@jit_part
def _test(data, x, y, S, space):
    """`mixCItest`, or `flexCItest`."""
    facts, c = data.tables.facts, data.tables.n_categories
    categories = (facts[PLACE, x] < c) + (facts[PLACE, y] < c)
    for t in range(len(S)):
        categories += facts[PLACE, S[t]] < c
    if categories == 0:
        p = _of_numbers(data, x, y, S, space)
    elif categories == len(S) + 2:
        p = _of_categories(data, x, y, S, space)
    else:
        p = _of_both(data, x, y, S, space)
    return p >= data.alpha, p


class Imputed(NamedTuple):
    """The data of tests of M imputations, for all threads."""

    tables: Tables
    kept: Kept
    codes: Codes  # the categories
    stack: Stack  # the numbers
    alpha: float
    na_p: float


class ImputedSpace(NamedTuple):
    """Work space of a thread."""

    likelihoods: Space
    counting: DiscreteWork
    conditioning: ImputedWork
    S: Indices  # (l,): the places of the set among the variables of its kind


def walked_imputed(data: Imputed, likelihoods: LogLikelihoods, tests: float, size: int) -> Walked | None:
    """See `SetwiseTest.walked`; `tests`: how many there may be."""
    widest = np.array([data.codes.levels.argmax()])
    counting = walked_codes(data.codes, widest, widest, widest.astype(np.int32), size)
    conditioning = walked_numbers(data.stack, size)
    if counting is None:
        return None
    make_counting = counting.work

    def work(careful: Indices) -> ImputedSpace:
        S = np.empty(size, dtype=np.int64)
        return ImputedSpace(likelihoods.space(size + 2), make_counting(careful), conditioning.work(careful), S)

    return Walked(data._replace(kept=likelihoods.kept(tests, size + 2)), work)


@decides(Imputed)
@jit_part
def _test_imputed(data, x, y, S, space):
    """`mixMItest`."""
    facts, c, size = data.tables.facts, data.tables.n_categories, len(S)
    before = c if facts[PLACE, x] >= c else 0
    categories = (facts[PLACE, x] < c) + (facts[PLACE, y] < c)
    for t in range(size):
        space.S[t] = facts[PLACE, S[t]] - before
        categories += facts[PLACE, S[t]] < c
    if categories == 0:
        return test_numbers(data.stack, facts[PLACE, x] - c, facts[PLACE, y] - c, space.S, space.conditioning)
    if categories == size + 2:
        return test_codes(data.codes, facts[PLACE, x], facts[PLACE, y], space.S, space.counting)
    if facts[CONSTANT, x] or facts[CONSTANT, y]:
        return True, 1.0
    of_full, of_mean, k = statistics(data.tables, data.kept, space.likelihoods, x, y, S)
    p = 0.0 if of_mean == math.inf else pooled_g2(of_full, of_mean, k, data.tables.M, space.counting.tails)
    p = p if p == p else 1.0
    return p >= data.alpha, p
