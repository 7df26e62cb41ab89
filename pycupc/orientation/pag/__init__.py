"""From a skeleton and its separating sets to a PAG, by the rules of Zhang (2008) in pcalg's order
(docs/contracts/latent.md).

mark_lists.py   the graph being oriented
rules.py        which rules are used, and how they are repeated
local_rules.py  colliders, and rules 1, 2, 3, 6, 7, 8
path_rules.py   rules 4, 5, 9, 10: searches for paths
dependence.py   the tests of rfci that remove edges
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import Orientation
from pycupc.orientation.pag.rules import ALL_RULES, FCI_LOOPS, RFCI_LOOPS, JointCausalInference, without_selection

__all__ = ["ALL_RULES", "FCI_LOOPS", "RFCI_LOOPS", "JointCausalInference", "orient_pag", "without_selection"]


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
    see docs/contracts/latent.md. `of_rfci`: repeat all rules in one loop.
    """
    from pycupc.orientation.pag.orienting import Orienting, in_sets  # loads Numba

    work = Orienting(skeleton, quirks, of_rfci=of_rfci)
    with work.compiling():
        work.mark_triples(sepset, ambiguous)
        work.assume(jci, arrowheads)
        work.orient_colliders(jci)
        work.apply_rules(rules, RFCI_LOOPS if of_rfci else FCI_LOOPS, in_sets(sepset), jci is not None)
        return work.oriented()
