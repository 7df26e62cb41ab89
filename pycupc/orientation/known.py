"""From a skeleton and decided triples to a graph that respects what was known before the tests
(docs/contracts/tiers.md).
"""

from __future__ import annotations

import numpy as np

from pycupc.graph.constraints import Constraints
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import Orientation
from pycupc.orientation import mixed_graph as mg
from pycupc.orientation.colliders import orient_colliders
from pycupc.orientation.conservative import COLLIDER, TripleCheck
from pycupc.orientation.meek import apply_rules
from pycupc.orientation.trace import FIRST_KNOWN
from pycupc.system.jit import plain_if_small


def orient_known(skeleton: SparseGraph, check: TripleCheck, known: Constraints) -> Orientation:
    """Orient a skeleton: the colliders of `check`, what is known, then Meek's four rules, with conflicts solved.

    A collider of which an arrow is forbidden is left out. An edge of which both directions are impossible goes.
    """
    possible = [~known.is_impossible(*ends) for ends in ((skeleton.low, skeleton.high), (skeleton.high, skeleton.low))]
    skeleton = skeleton.with_edges(np.flatnonzero(possible[0] | possible[1]))
    with plain_if_small(mg.steps_of(skeleton), "orientation"):
        graph = mg.undirected(skeleton)
        a, b, c = check.triples.T
        collider = (check.decision == COLLIDER) & ~known.is_forbidden(a, b) & ~known.is_forbidden(c, b)
        graph.triple[:] = mg.NO_COLLIDER
        graph.triple[mg.triple_numbers(graph, check.triples[collider])] = 0
        graph.triple[mg.triple_numbers(graph, check.undecided)] |= mg.AMBIGUOUS
        orient_colliders(graph, solve_confl=True)
        direct_known(graph, known)
        apply_rules(graph, solve_confl=True, rule_4=True)
        return Orientation(mg.to_sparse(graph, skeleton), mg.trace(graph))


def direct_known(graph: mg.MixedGraph, known: Constraints) -> None:
    """Direct every edge of which one direction is impossible the other way."""
    entry = graph.entry
    tail, head = entry[mg.NEIGHBOUR], mg.owners(entry)
    into = np.flatnonzero(known.is_impossible(head, tail))
    entry[mg.KIND, into], entry[mg.KIND, entry[mg.MIRROR, into]] = mg.IN, mg.OUT
    entry[mg.RULE, into] = known.reasons(tail[into], head[into]) + FIRST_KNOWN
    entry[mg.FIRST, into] = 0


def is_closed(graph: SparseGraph) -> bool:
    """Whether Meek's four rules direct no further edge of a graph without circles."""
    with plain_if_small(mg.steps_of(graph), "orientation"):
        mixed = mg.directed_as(graph)
        before = mixed.entry[mg.KIND].copy()
        apply_rules(mixed, rule_4=True)
        return bool((mixed.entry[mg.KIND] == before).all())
