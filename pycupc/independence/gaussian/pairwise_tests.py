"""Tests of partial correlations with an n for each pair of variables, compiled: `n_by_pair.LocalGaussianTest`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.deciding import Walked, decides, p_of_tests
from pycupc.independence.gaussian.compiled_p_values import p_value
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set, put_nodes
from pycupc.system.jit import frozen, jit_inlined, jit_part


class Pairwise(NamedTuple):
    """The data of a run."""

    C: Floats  # (p, p), the correlations
    n: Floats  # (p, p), the n of each pair
    rule: int  # place in `measures.RULES`
    alpha: float


class PairwiseWork(NamedTuple):
    """Work space of a thread."""

    nodes: Indices  # (l + 2,)
    known: Indices  # (l + 1,): of `put_nodes`
    space: Floats  # `canonical_space`
    careful: Indices  # as of `deciding.Walked.work`


@jit_inlined
def _degrees_of_freedom(data, nodes):
    """n - l - 3 of a test, n by the rule from the n of all pairs of these variables."""
    least, total, inverse, width = math.inf, 0.0, 0.0, len(nodes)
    for a in range(width):
        for b in range(a):
            number = data.n[nodes[a], nodes[b]]
            total += number
            least = number if number < least else least
            if data.rule == 2:
                inverse += 1.0 / number
    pairs = width * (width - 1) / 2.0
    return (total / pairs if data.rule == 0 else least if data.rule == 1 else pairs / inverse) - (width + 1)


@decides(Pairwise)
@jit_part
def _test(data, x, y, S, work):
    """Fisher's z; asks for `careful_address` where it is needed."""
    put_nodes(work.nodes, work.known, x, y, S)
    r = given_set(data.C, work.nodes, len(S), work.space, work.careful[0])
    p, df = math.nan, _degrees_of_freedom(data, work.nodes)
    if r == r:
        p = p_value(abs(r), math.sqrt(df) if df > 0.0 else 0.0)
    else:
        work.careful[1] = 1
    return p >= data.alpha, p


def walked(data: Pairwise, size: int) -> Walked:
    """See `SetwiseTest.walked`."""

    def work(careful: Indices) -> PairwiseWork:
        integers = np.zeros(size + 2, dtype=np.int64), np.full(size + 1, -1, dtype=np.int64)
        return PairwiseWork(*integers, canonical_space(size), careful)

    return Walked(data, work)


def p_values_of_tests(C: Floats, n: Floats, rule: int, x: Indices, y: Indices, S: Indices) -> Floats:
    """The p-values of x[i] and y[i] given S[i], float64 (m,); `n` of each pair, `rule`: place in `measures.RULES`."""
    return p_of_tests(walked(Pairwise(frozen(C), frozen(n), rule, 0.0), S.shape[1]), x, y, S, careful_address)
