"""Random skeletons for rfci, and what the package and the oracle say of them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import rfci_oracle
from common import take
from orientation_cases import flat_cells, noise_test

import pycupc
from pycupc.algorithm.rfci import _Run
from pycupc.engines.reference import ReferenceEngine
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.custom import CustomTest
from pycupc.orientation import check_triples
from pycupc.orientation.mixed_graph import KIND, NEIGHBOUR
from pycupc.orientation.pag import RFCI_LOOPS


def random_problem(rng, p_max: int = 10):
    """A random skeleton and random separating sets: amat.pag with circles only, cells."""
    p = int(rng.integers(3, p_max))
    A = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.8), 1).astype(int)
    cells = {}
    for x, y in np.argwhere(np.triu(A == 0, 1)).tolist():
        others = [v for v in range(p) if v not in (x, y)]
        for cell in ((x, y), (y, x)):
            if rng.random() < 0.6:
                cells[cell] = tuple(rng.permutation(others)[: rng.integers(0, 4)].tolist())
    return A + A.T, cells


def sets_of(A, cells) -> SepSets:
    return SepSets.from_named_cells(SparseGraph.from_dense(A != 0), flat_cells(cells))


def rules_of_rfci(case, quirks, function=noise_test):
    """The marks that the package and the oracle find, and how many paths the oracle has cut."""
    graph, (seed, alpha) = SparseGraph.from_amat_pag(case["M"]), case["test"]
    sepset, engine = SepSets.from_flat(graph, flat_cells(case["cells"])), ReferenceEngine()
    test = CustomTest(function, seed, alpha, graph.p)
    take(engine, test)
    count = engine.count_separating
    rule = lambda *given, **how: check_triples(*given, test, count, **how)  # noqa: E731
    problem = SimpleNamespace(engine=engine, test=test, fixed=None, tiers=None, check_triples=rule)
    run = _Run(problem, SimpleNamespace(sparse_graph=graph, sepset=sepset), "", quirks)
    run._ambiguous = np.array(sorted(case["ambiguous"]), dtype=np.int64).reshape(-1, 3)
    work = run._work
    with work.compiling():
        work.mark_triples(sepset, run._ambiguous)
        neighbour, owner = work.graph.entry[NEIGHBOUR], np.repeat(np.arange(graph.p), graph.degrees())
        work.graph.entry[KIND] = case["M"][neighbour, owner]
        work.apply_rules(case["rules"], RFCI_LOOPS, run._member)
        found = work.oriented()
    oracle = rfci_oracle.Problem(case["M"], case["cells"], test.p_value, alpha, quirks=quirks)
    oracle.ambiguous |= case["ambiguous"]
    pag = rfci_oracle.RfciPag(oracle)
    pag.run(case["rules"])
    return found.graph.amat_pag(), oracle.A, pag.n_cut


def skeleton_of(A, cells, seed, alpha):
    """A made-up skeleton of the variables of `noise_test`."""
    return replace(
        pycupc.skeleton(seed, noise_test, alpha, p=len(A), m_max=0),
        sparse_graph=SparseGraph.undirected(len(A), *np.nonzero(np.triu(A))),
        sepset=sets_of(A, cells),
        found_sepset=None,
    )


def oracle_of(A, cells, seed, alpha, **how):
    """The oracle before its first test."""
    return rfci_oracle.Problem(A, cells, CustomTest(noise_test, seed, alpha, len(A)).p_value, alpha, **how)
