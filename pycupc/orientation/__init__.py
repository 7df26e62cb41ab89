"""From a skeleton and its separating sets to a CPDAG, exactly as pcalg does it.

    mixed_graph.py    the graph being oriented: neighbour lists with a state for each edge
    colliders.py      unshielded colliders, from the separating sets
    meek.py           rules 1, 2, 3
    dag_extension.py  a DAG that extends a graph, and its CPDAG; u2pd "rand" and "retry": a substitute if none does
    known.py          the same with what was known before
    pag/              from a skeleton to a PAG
    trace.py          the reason of every arrow
    lines.py          the same, and the decisions on triples, as lines of the log
    conservative.py   conservative and majority rule: which triples are decided

Time and memory are proportional to the number of edges and stored separating sets, not to p^2. What is compiled (all
but trace.py, lines.py and conservative.py) is imported when it is needed, because Numba takes a while to load.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.conservative import TripleCheck, check_triples
from pycupc.orientation.trace import OrientationStatus, Reason
from pycupc.system.limits import NoThreadError, start

__all__ = ["Orientation", "OrientationStatus", "TripleCheck", "U2pd", "check_triples", "orient"]

U2pd = Literal["relaxed", "rand", "retry"]


@dataclass(frozen=True)
class Orientation:
    """An oriented skeleton, and the reasons for its marks."""

    graph: SparseGraph
    # mapping of (int, int) to tuple: for the mark at b of the edge a, b, unless it is a circle or was not set, key
    # (a, b): the last thing that set it. In a CPDAG ``("collider", x, y, z)`` (x -> y <- z), ``("R1", a, b, c)`` (a ->
    # b - c), ``("R2", a, c, b)`` (a -> c -> b), ``("R3", a, c1, c2, b)`` (a - c1 -> b, a - c2 -> b); in a PAG the same
    # names with the variables as in docs/contracts/latent.md, rules 4, 5 and 9 with their path, ``("JCI", a, b)``, or
    # ``("tier", a, b)``. A bidirected edge has an entry for each end.
    trace: Mapping[tuple[int, int], Reason]
    status: OrientationStatus = "relaxed"
    n_tries: int = 0  # how many other directions "retry" tried
    n_contradicting: int = 0  # of "relaxed": edges that colliders or rules directed both ways


@functools.cache
def compile_ahead() -> None:
    """Begin to compile the code of `orient`, in a thread, by a graph of four variables; once per process.

    Whoever orients meanwhile waits for what is not ready, as does the end of the program.
    """

    def run() -> None:
        from pycupc.orientation import colliders, meek, mixed_graph

        chain = SparseGraph.undirected(4, np.array([0, 1]), np.array([1, 2]))
        x, y, size, members = ([0, 0, 1, 2, 3], [2, 3, 3, 3, 0], [1, 1, 1, 1, 2], [1, 1, 0, 1, 1, 2])
        sets = SepSets.from_flat(chain, FlatCells(*(np.array(v, dtype=np.int32) for v in (x, y, size, members))))
        graph = mixed_graph.undirected(chain)
        colliders.mark_triples(graph, sets, np.array([[0, 1, 2]]))
        colliders.orient_colliders(graph, solve_confl=False)
        meek.apply_rules(graph, solve_confl=False)

    with contextlib.suppress(NoThreadError):  # then it is compiled when it is needed
        start(threading.Thread(target=run))


def orient(
    skeleton: SparseGraph,
    sepset: SepSets,
    *,
    u2pd: U2pd = "relaxed",
    solve_confl: bool = False,
    ambiguous: NDArray[np.int64] | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Orientation:
    """Orient the edges of a skeleton: colliders, then the rules that follow from them.

    `skeleton`: the edges; their marks do not matter. `u2pd`, `solve_confl`, `random_state`: as of `pycupc.pc`. "rand"
    and "retry" exclude `solve_confl` and ambiguous triples, as `pc` has checked. `ambiguous`, int64 (k, 3): triples (a,
    b, c) that must not be oriented: `TripleCheck.undecided`.

    References
    ----------
    Meek (1995), Causal inference and causal explanation with background knowledge, UAI. Colombo and Maathuis (2014),
    Order-independent constraint-based causal structure learning, JMLR 15, 3741-3782. Dor and Tarsi (1992), A simple
    algorithm to construct a consistent extension of a partially oriented graph, UCLA R-185.
    """
    from pycupc.orientation import colliders, dag_extension, meek, mixed_graph  # loads Numba
    from pycupc.system.jit import plain_if_small

    status: OrientationStatus = "relaxed"
    n_tries, n_contradicting = 0, 0
    with plain_if_small(mixed_graph.steps_of(skeleton) + sepset.n_stored // 5, "orientation"):
        graph = mixed_graph.undirected(skeleton)
        colliders.mark_triples(graph, sepset, ambiguous)
        if u2pd == "relaxed":
            colliders.orient_colliders(graph, solve_confl)
            meek.apply_rules(graph, solve_confl=solve_confl)
            n_contradicting = mixed_graph.directed_both_ways(graph)
        else:
            graph, status, n_tries = dag_extension.orient_extendable(graph, u2pd, random_state)
        reasons = mixed_graph.trace(graph)
        return Orientation(mixed_graph.to_sparse(graph, skeleton), reasons, status, n_tries, n_contradicting)
