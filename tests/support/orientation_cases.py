"""Inputs for the orientation tests: separating sets in a dict, random skeletons that contradict themselves."""

from __future__ import annotations

import warnings
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import orientation_oracle as oracle
from common import take

from pycupc.engines.cpu import CpuEngine
from pycupc.engines.protocol import Engine
from pycupc.engines.reference import ReferenceEngine
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.custom import CustomTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.orientation import check_triples, orient
from pycupc.orientation.mixed_graph import MixedGraph, find, put_arrowhead, to_sparse, undirected
from pycupc.orientation.trace import COLLIDER

#: The decisions on a triple, in the order of their codes.
DECISIONS = ("collider", "non-collider", "ambiguous", "unseparated")


def flat_cells(cells: dict[tuple[int, int], tuple[int, ...]]) -> FlatCells:
    """The cells of a dict as the package passes them on."""
    x, y = np.array(list(cells), dtype=np.int32).reshape(-1, 2).T
    length = np.array([len(S) for S in cells.values()], dtype=np.int32)
    return FlatCells(x, y, length, np.array([s for S in cells.values() for s in S], dtype=np.int32))


def sets_of(cells: FlatCells) -> list[tuple[int, ...]]:
    """The sets of flat cells, one after the other."""
    ends = np.cumsum(cells.length).tolist()
    return [tuple(cells.members[end - n : end].tolist()) for n, end in zip(cells.length.tolist(), ends, strict=True)]


class Cells:
    """Separating sets as a plain dict {(x, y): members}."""

    def __init__(self, cells: dict[tuple[int, int], tuple[int, ...]]) -> None:
        self.cells = cells

    def get_many(self, cells) -> list[tuple[int, ...] | None]:
        return [self.cells.get(cell) for cell in cells]

    def of_cells(self, x, y) -> tuple[np.ndarray, FlatCells]:
        held = self.get_many(list(zip(x.tolist(), y.tolist(), strict=True)))
        length = np.array([len(S or ()) for S in held], dtype=np.int32)
        members = np.array([s for S in held for s in S or ()], dtype=np.int32)
        return np.array([S is not None for S in held], dtype=bool), FlatCells(x, y, length, members)

    def contains(self, x: int, z: int, b: int) -> bool:
        return b in self.cells.get((x, z), ())

    def sepsets(self, skeleton: SparseGraph) -> SepSets:
        """As the package stores them."""
        return SepSets.from_flat(skeleton, flat_cells(self.cells))

    def changed(self, cells: dict[tuple[int, int], tuple[int, ...]]) -> Cells:
        return Cells(self.cells | cells)


def sparse(skeleton) -> SparseGraph:
    """A dense skeleton as the orientation takes it."""
    return SparseGraph.from_dense(np.asarray(skeleton) != 0)


def orient_dense(skeleton, sepset, ambiguous=None, **options) -> SimpleNamespace:
    """`orient` on a dense skeleton, with a set of ambiguous triples, and a dense graph in the answer."""
    graph = sparse(skeleton)
    triples = None if ambiguous is None else np.array(list(ambiguous), dtype=np.int64).reshape(-1, 3)
    got = orient(graph, sepset.sepsets(graph), ambiguous=triples, **options)
    return SimpleNamespace(graph=got.graph.dense(), trace=got.trace, status=got.status, n_tries=got.n_tries)


def partly_oriented(skeleton, arrows) -> MixedGraph:
    """A graph with these arrows (a, b), to be oriented further."""
    graph = undirected(sparse(skeleton))
    for a, b in arrows:
        put_arrowhead(graph.entry, find(graph.start, graph.entry, b, a), COLLIDER, 0, 0, False)
    return graph


def dense(graph: MixedGraph, skeleton) -> np.ndarray:
    return to_sparse(graph, sparse(skeleton)).dense()


def check_dense(skeleton, sepset, C, n, alpha, *, maj_rule, indep_test=None, suff_stat=None, n_threads=None):
    """`check_triples` on a dense skeleton, with the built-in test or with `indep_test`: decisions, changes of sets."""
    engine: Engine = ReferenceEngine()
    if indep_test is None:
        engine, test = CpuEngine(n_threads), GaussianTest(SuffStat(C, n), alpha)
    else:
        test = CustomTest(indep_test, suff_stat, alpha, len(skeleton))
    with warnings.catch_warnings(action="ignore"):  # NaN in C
        take(engine, test)
    check = check_triples(sparse(skeleton), sepset, test, engine.count_separating, maj_rule=maj_rule)
    cells = zip(check.cells.x.tolist(), check.cells.y.tolist(), strict=True)
    words = (DECISIONS[d] for d in check.decision)
    return SimpleNamespace(
        decisions=dict(zip(map(tuple, check.triples.tolist()), words, strict=True)),
        ambiguous=frozenset(map(tuple, check.undecided.tolist())),
        sepset_changes=dict(zip(cells, sets_of(check.cells), strict=True)),
    )


def random_case(rng: np.random.Generator, p_max: int = 12):
    """Skeleton, separating sets and ambiguous triples drawn at random: nothing makes them fit together.

    Some gaps have no set at all, some have it in the mirror cell, some in both cells.
    """
    p = int(rng.integers(3, p_max))
    upper = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.9), 1)
    skeleton = upper | upper.T
    share, empty_cells = rng.uniform(0.1, 0.9), rng.choice([0, 0.1])
    cells = {}
    for x, y in combinations(range(p), 2):
        if skeleton[x, y] or rng.random() < empty_cells:
            continue
        S = tuple(int(v) for v in rng.permutation(p) if v not in (x, y) and rng.random() < share)
        where = rng.integers(0, 6)
        if where != 1:
            cells[x, y] = S
        if where in (1, 2):
            cells[y, x] = S if rng.random() < 0.5 else ()
    triples = set()
    if rng.random() < 0.5:
        for b in range(p):
            for a, c in combinations(np.flatnonzero(skeleton[b]).tolist(), 2):
                if not skeleton[a, c] and rng.random() < 0.3:
                    triples.add((a, b, c))
    return skeleton, cells, triples


def noise_test(x: int, y: int, S, seed: int) -> float:
    """A p-value that is a hash of the question."""
    return ((sum(2**s for s in S) * 7919 + x * 104729 + y * 1299709 + seed * 15485863) % 997) / 997


def check_against_contract(skeleton, cells, err_msg, want=None, **options):
    """The graph, what set each arrowhead, the way and the tries, as the contract written out has them: in `want`."""
    graph, reasons, *way = want or oracle.orient(skeleton, Cells(cells), **options)
    got = orient_dense(skeleton, Cells(cells), **options)
    np.testing.assert_array_equal(got.graph, graph, err_msg=err_msg)
    assert dict(got.trace) == reasons, err_msg
    assert [got.status, got.n_tries] == way, err_msg
    return {got.status, *(why[0] for why in reasons.values())}


def graph_of(text, p):
    """ "0-1 0>2" as a matrix."""
    graph = np.zeros((p, p), dtype=int)
    for edge in text.split():
        a, b = int(edge[0]), int(edge[2])
        graph[a, b] = 1
        graph[b, a] = edge[1] == "-"
    return graph


def one_triple(cells, p_empty, p_b, maj_rule=False):
    """0 - 1 - 2 with p-values given for the empty set and for {1}."""
    skeleton = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    test = {"indep_test": lambda x, y, S, stat: p_b if S else p_empty}
    return check_dense(skeleton, Cells(cells), None, None, 0.5, maj_rule=maj_rule, **test)
