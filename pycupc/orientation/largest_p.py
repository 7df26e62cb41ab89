"""The decision on each unshielded triple by the largest p-value (Ramsey 2016), for `pycupc.pc_max`.

For a - b - c with a, c not adjacent, every subset of adj(a) and every subset of adj(c) is a set given which a and c are
tested. The triple is a collider if the set with the largest p-value does not hold b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.constraints import Constraints
from pycupc.graph.lists import Lists
from pycupc.graph.questions import Answers, Questions
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.conservative import (
    AMBIGUOUS,
    COLLIDER,
    NON_COLLIDER,
    TripleCheck,
    Triples,
    changed_cells,
    refuse_endless,
)
from pycupc.system.localised_message import Message

#: p-values whose relative difference is not larger count as equal: engines agree to this many digits.
SAME = 1e-9


def decide_by_largest_p(
    skeleton: SparseGraph,
    sepset: SepSets,
    test: Any,
    first_separating: Callable[[Questions], Answers],
    known: Constraints | None = None,
) -> TripleCheck:
    """Decide every unshielded triple of a skeleton; ambiguous if the largest p-values with and without b are equal.

    `sepset`: the skeleton's own separating sets. `test`: an `IndependenceTest`. `first_separating`: of an engine that
    has taken this test with alpha 1, so that no set but one of p-value 1 ends a search. `known`: tiers and context
    variables: only triples that these leave open are decided, from the neighbours in tiers not after the variable's.

    Raises ValueError if a triple has too many subsets to finish.
    """
    triples = Triples.of(skeleton)
    triples = triples if known is None else triples.under(known)
    refuse_endless(triples, test, Message("pc_max tests"), "a smaller alpha, or pc")
    without, with_b = _largest(triples, first_separating)
    near = np.abs(without - with_b) <= SAME * np.maximum(without, with_b)
    decision = np.where(near, AMBIGUOUS, np.where(without > with_b, COLLIDER, NON_COLLIDER))
    none = FlatCells(*np.zeros((4, 0), dtype=np.int32))
    cells = none if known is not None else changed_cells(triples, decision, sepset, skeleton.p)
    return TripleCheck(np.column_stack([triples.a[triples.pair], triples.b, triples.c[triples.pair]]), decision, cells)


def _largest(
    triples: Triples, first_separating: Callable[[Questions], Answers]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each triple the largest p-values of its ends given sets without b, and with b; 0 where there is none."""
    k = len(triples.b)
    if not k:
        return np.zeros(0), np.zeros(0)
    a, b, c = triples.a[triples.pair], triples.b, triples.c[triples.pair]
    owner = np.concatenate([a, c])  # subsets of adj(a) for all triples, then of adj(c)
    row, member = triples.near.of_each(owner)
    other = member != np.tile(b, 2)[row]
    everything = Lists.by_owner(row, member, 2 * k)
    rest = Lists.by_owner(row[other], member[other], 2 * k)
    x, y, largest = np.tile(a, 2), np.tile(c, 2), int(everything.sizes.max(initial=0))
    asked = (Questions(x, y, rest, 0, largest), Questions(x, y, everything, 0, largest, skip=rest))
    without, with_b = (np.maximum(first_separating(one).finished().p, 0.0).reshape(2, k).max(axis=0) for one in asked)
    return without, with_b
