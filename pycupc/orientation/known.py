"""From a skeleton and decided triples to a graph that respects what was known before the tests (docs/TIERS.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.data.constraints import Constraints
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import Orientation
from pycupc.orientation.colliders import orient_colliders
from pycupc.orientation.conservative import COLLIDER, TripleCheck
from pycupc.orientation.meek import apply_rules
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    FIRST,
    IN,
    KIND,
    MIRROR,
    NEIGHBOUR,
    NO_COLLIDER,
    OUT,
    PAIRS,
    RULE,
    Indices,
    MixedGraph,
    directed_as,
    owners,
    to_sparse,
    trace,
    undirected,
)
from pycupc.orientation.trace import FIRST_KNOWN, KNOWN
from pycupc.system.compiled import announced, plain_if_small


def orient_known(skeleton: SparseGraph, check: TripleCheck, known: Constraints) -> Orientation:
    """Orient a skeleton: the colliders of `check`, what is known, then Meek's four rules, with conflicts solved.

    A collider of which an arrow is forbidden is left out. An edge of which both directions are impossible goes.
    """
    possible = [~known.is_impossible(*ends) for ends in ((skeleton.low, skeleton.high), (skeleton.high, skeleton.low))]
    skeleton = skeleton.with_edges(np.flatnonzero(possible[0] | possible[1]))
    degree = skeleton.degrees()
    with announced("compiling for the orientation, once per machine"), plain_if_small(int((degree * degree).sum())):
        graph = undirected(skeleton, degree)
        a, b, c = check.triples.T
        collider = (check.decision == COLLIDER) & ~known.is_forbidden(a, b) & ~known.is_forbidden(c, b)
        graph.triple[:] = NO_COLLIDER
        graph.triple[_numbers(graph, check.triples[collider])] = 0
        graph.triple[_numbers(graph, check.undecided)] |= AMBIGUOUS
        orient_colliders(graph, solve_confl=True)
        direct_known(graph, known)
        apply_rules(graph, solve_confl=True, rule_4=True)
        return Orientation(to_sparse(graph, skeleton), trace(graph))


def direct_known(graph: MixedGraph, known: Constraints) -> None:
    """Direct every edge of which one direction is impossible the other way."""
    entry = graph.entry
    tail, head = entry[NEIGHBOUR], owners(entry)
    into = np.flatnonzero(known.is_impossible(head, tail))
    entry[KIND, into], entry[KIND, entry[MIRROR, into]] = IN, OUT
    reasons = [KNOWN.index(known.reason(x, y)) for x, y in zip(tail[into].tolist(), head[into].tolist(), strict=True)]
    entry[RULE, into] = np.array(reasons, dtype=np.int64) + FIRST_KNOWN
    entry[FIRST, into] = 0


def is_closed(graph: SparseGraph) -> bool:
    """Whether Meek's four rules direct no further edge of a graph without circles."""
    degree = graph.degrees()
    with announced("compiling for the orientation, once per machine"), plain_if_small(int((degree * degree).sum())):
        mixed = directed_as(graph)
        before = mixed.entry[KIND].copy()
        apply_rules(mixed, rule_4=True)
        return bool((mixed.entry[KIND] == before).all())


def _numbers(graph: MixedGraph, triples: Indices) -> NDArray[np.int64]:
    """The positions in `MixedGraph.triple` of the triples (a, b, c) both of whose edges there are."""
    entry, p = graph.entry, max(len(graph.start) - 1, 1)
    keys = np.append(owners(entry) * p + entry[NEIGHBOUR], -1)
    a, b, c = triples.T
    wanted = np.array([b * p + a, b * p + c])
    at = keys[:-1].searchsorted(wanted)
    at = at[:, (keys[at] == wanted).all(axis=0)]
    return np.asarray(entry[PAIRS, at.max(axis=0)] + at.min(axis=0))
