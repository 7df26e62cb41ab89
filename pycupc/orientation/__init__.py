"""From a skeleton and its separating sets to a CPDAG, exactly as pcalg does it.

    graph.py       the graph being oriented, and the reason of every arrow
    colliders.py   unshielded colliders
    meek.py        rules 1, 2, 3
    extension.py   u2pd "rand" and "retry": is there a DAG, and if not, what then
    triples.py     conservative and majority rule: which triples are decided
    walk.py        all subsets of a neighbourhood, one O(1) test each (Numba, loaded when needed)

Everything here works on neighbour sets; only the skeleton that comes in and the graph that goes out are p x p.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pycupc.orientation.colliders import orient_colliders
from pycupc.orientation.conservative import TripleCheck, check_triples
from pycupc.orientation.dag_extension import orient_extendable
from pycupc.orientation.meek import MeekRules
from pycupc.orientation.mixed_graph import MixedGraph, neighbour_sets

__all__ = ["Orientation", "TripleCheck", "check_triples", "orient"]

_U2PD = ("relaxed", "rand", "retry")


@dataclass(frozen=True)
class Orientation:
    """An oriented skeleton and how it came about.

    Attributes
    ----------
    graph : int8 (p, p)
        [a, b] = 1 and [b, a] = 0 is a -> b; 1/1 undirected, 2/2 bidirected (a conflict), 0/0 no edge.
    trace : dict of (int, int) to tuple
        For an arrowhead at b on the edge a, b, key (a, b): the last thing that set it, one of ``("collider", x, y, z)``
        (x -> y <- z), ``("R1", a, b, c)`` (a -> b - c), ``("R2", a, c, b)`` (a -> c -> b), ``("R3", a, c1, c2, b)``
        (a - c1 -> b, a - c2 -> b). A bidirected edge has an entry for each end.
    n_ambiguous : int
        Triples that were left out because they are ambiguous.
    status : str
        "relaxed"; for "rand" and "retry" which way they took: "extendable" (the colliders as they were found),
        "reoriented" (other directions of the edges that colliders want both ways), "forced" (the CPDAG of a DAG that
        keeps the colliders' arrows and adds colliders), "random" (the CPDAG of a random DAG on the skeleton).
    n_tries : int
        How many other directions "retry" tried.
    """

    graph: np.ndarray
    trace: dict[tuple[int, int], tuple]
    n_ambiguous: int = 0
    status: Literal["relaxed", "extendable", "reoriented", "forced", "random"] = "relaxed"
    n_tries: int = 0


def orient(
    skeleton: np.ndarray,
    sepset: Any,
    *,
    u2pd: Literal["relaxed", "rand", "retry"] = "relaxed",
    solve_confl: bool = False,
    ambiguous: Collection[tuple[int, int, int]] | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Orientation:
    """Orient the edges of a skeleton: colliders, then the rules that follow from them.

    Parameters
    ----------
    skeleton : bool (p, p)
        Symmetric, empty diagonal.
    sepset : object with ``contains(x, z, b) -> bool``
        Is b in the separating set stored in cell (x, z)? False where nothing is stored.
    u2pd : {"relaxed", "rand", "retry"}, default "relaxed"
        "relaxed" takes the result as it is. The others ask for a graph that some DAG extends: if the colliders do not
        give one, "rand" draws a DAG on the skeleton, "retry" first turns edges that colliders want both ways, then
        adds colliders, and draws a DAG only if the arrows still run in a circle.
    solve_confl : bool, default False
        Edges on which colliders or rules disagree become bidirected instead of following the last one.
    ambiguous : collection of (a, b, c), optional
        Triples that may not be oriented, from `check_triples`.
    random_state : int, numpy.random.Generator or None
        For the random DAG of "rand" and "retry"; an int makes it reproducible. pcalg draws it with R's generator, so
        there the same skeleton gives another graph.

    Returns
    -------
    Orientation

    Raises
    ------
    TypeError, ValueError
        If the skeleton is not a symmetric bool matrix with an empty diagonal, `u2pd` is unknown, or `solve_confl` or
        `ambiguous` come with a `u2pd` other than "relaxed".

    Notes
    -----
    A pair that fixedGaps took out has no separating set, so x - y - z over a gap x, z becomes a collider at y: pcalg
    does this, and so do we.

    References
    ----------
    Meek (1995), Causal inference and causal explanation with background knowledge, UAI. Colombo and Maathuis (2014),
    Order-independent constraint-based causal structure learning, JMLR 15. Dor and Tarsi (1992), A simple algorithm to
    construct a consistent extension of a partially oriented graph, UCLA R-185.
    """
    if u2pd not in _U2PD:
        raise ValueError(f"u2pd must be one of {', '.join(map(repr, _U2PD))}, got {u2pd!r}")
    if u2pd != "relaxed" and solve_confl:
        raise ValueError(f"solve_confl=True needs u2pd='relaxed', got u2pd={u2pd!r}")
    if u2pd != "relaxed" and ambiguous:
        raise ValueError(f"ambiguous triples need u2pd='relaxed', got u2pd={u2pd!r}")
    adjacent = neighbour_sets(skeleton)
    if u2pd != "relaxed":
        graph, status, n_tries = orient_extendable(adjacent, sepset, u2pd, random_state)
        return Orientation(graph.to_array(), graph.trace, 0, status, n_tries)
    triples = frozenset(ambiguous) if ambiguous else frozenset()
    graph = MixedGraph(len(adjacent), adjacent)
    orient_colliders(graph, sepset, triples, solve_confl)
    MeekRules(graph, triples, solve_confl).run()
    return Orientation(graph.to_array(), graph.trace, len(triples))
