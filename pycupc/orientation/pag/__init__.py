"""From a skeleton and its separating sets to a PAG, by the rules of Zhang (2008) in pcalg's order (docs/LATENT.md).

lists.py         the graph being oriented
local_rules.py   colliders, and rules 1, 2, 3, 6, 7, 8
paths.py         rules 4, 5, 9, 10: searches for paths
dependence.py    the tests of rfci that remove edges
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import Orientation

__all__ = ["ALL_RULES", "FCI_LOOPS", "RFCI_LOOPS", "JointCausalInference", "orient_pag", "without_selection"]

#: The rules 1 to 10.
ALL_RULES = (True,) * 10
#: The rules that are repeated together until none of them changes a mark: of fci, and of rfci.
FCI_LOOPS = (range(1, 5), range(5, 8), range(8, 11))
RFCI_LOOPS = (range(1, 11),)

#: What becomes of a discriminating path (d, ..., a, b, c): True, b --> c; False, a <-> b <-> c; None, nothing.
Decide = Callable[[tuple[int, ...]], bool | None]


@dataclass(frozen=True)
class JointCausalInference:
    """What is assumed of context variables (Mooij et al. 2020): pcalg's ``jci`` "1", "12" or "123"."""

    assumptions: str
    context: Sequence[int]


def without_selection(rules: Sequence[bool]) -> list[bool]:
    """The rules without 5 to 7, which are for selection bias."""
    return [bool(rule) and number not in (5, 6, 7) for number, rule in enumerate(rules, 1)]


def orient_pag(
    skeleton: SparseGraph,
    sepset: SepSets,
    *,
    rules: Sequence[bool] = ALL_RULES,
    ambiguous: NDArray[np.int64] | None = None,
    jci: JointCausalInference | None = None,
    arrowheads: Iterable[tuple[int, int]] = (),
    quirks: bool = False,
    of_rfci: bool = False,
) -> Orientation:
    """Orient the edges of a skeleton as ``pcalg::fci`` does, or as rfci where its tests remove no edge.

    `skeleton`: the edges; their marks do not matter. `rules`, sequence of 10 bool: which of the rules to use.
    `ambiguous`, int64 (k, 3): triples (a, b, c) that must not be oriented: `TripleCheck.undecided`. `arrowheads`, pairs
    (a, b): edges a *-> b whose arrowhead at b is known beforehand. `quirks`: check the triples of paths as pcalg does,
    see docs/LATENT.md. `of_rfci`: repeat all rules in one loop.
    """
    from pycupc.orientation.pag.orienting import Orienting, in_sets  # loads Numba

    work = Orienting(skeleton, quirks, of_rfci=of_rfci)
    with work.compiling():
        work.mark_triples(sepset, ambiguous)
        work.assume(jci, arrowheads)
        work.orient_colliders(jci)
        work.apply_rules(rules, RFCI_LOOPS if of_rfci else FCI_LOOPS, in_sets(sepset), jci is not None)
        return work.oriented()
