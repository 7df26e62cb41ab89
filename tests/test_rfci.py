"""rfci against its oracle: the tests of triples and of paths."""

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import rfci_oracle
from conftest import take
from latent_cases import WEIGHTS, discriminating_case, live, random_case, rule_10_case
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

MORE = int(os.environ.get("PYCUPC_LATENT_CASES", "1"))


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


def marked_cases(seed: int, n: int) -> list[dict]:
    """For the rules of rfci."""
    rng = np.random.default_rng(seed)
    cases = [discriminating_case(rng, share=0.2 * (k % 2)) for k in range(4 * n)]
    cases += [rule_10_case(rng, 4, 8, share=0.3 * (k % 2)) for k in range(2 * n)]
    cases += [random_case(rng, weights=WEIGHTS, ambiguous=0.2 * (k % 2)) for k in range(2 * n)]
    return [{"test": (int(rng.integers(1000)), 0.95)} | case for case in cases]


def test_rules_as_the_oracle():
    n_cut, differing = 0, 0
    for case in marked_cases(21, 20 * MORE):
        answers = []
        for quirks in (True, False):
            got, want, cut = rules_of_rfci(case, quirks)
            np.testing.assert_array_equal(got, want, err_msg=str((quirks, case)))
            answers.append(got)
            n_cut += cut
        differing += (answers[0] != answers[1]).any()
    assert n_cut > 50
    assert differing > 10


@pytest.mark.r
def test_rules_as_pcalg(rscript, tmp_path):
    cases, n = marked_cases(22, 10 * MORE), 0
    for case, want in zip(cases, live(rscript, tmp_path, cases), strict=True):
        if want.size:  # else pcalg did not come to an end
            np.testing.assert_array_equal(rules_of_rfci(case, True)[0], want, err_msg=str(case))
            n += 1
    assert n > 70 * MORE


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


@pytest.mark.parametrize("quirks", [False, True])
@pytest.mark.parametrize("rule", ["", "conservative", "majority"])
def test_whole_rfci_as_the_oracle(quirks, rule):
    """From random skeletons with random sets, so that paths are found and lose edges."""
    rng = np.random.default_rng(100 + quirks)
    options = {"conservative": rule == "conservative", "maj_rule": rule == "majority", "quirks": quirks, "m_max": 0}
    seen = np.zeros(3, dtype=int)
    for seed in range(80 * MORE):
        A, cells = random_problem(rng, 9 if rule else 11)
        p, alpha = len(A), float(rng.choice([0.7, 0.85, 0.95]))
        kept = (np.triu(A) > 0) & (rng.random((p, p)) < 0.1)
        made_up = skeleton_of(A, cells, seed, alpha)
        fit = pycupc.rfci(seed, noise_test, alpha, p=p, fixedEdges=kept | kept.T, skeleton=made_up, **options)
        oracle = oracle_of(A, cells, seed, alpha, rule=rule, quirks=quirks)
        oracle.kept = set() if quirks else {tuple(pair) for pair in np.argwhere(kept).tolist()}
        rfci_oracle.orient_triples(oracle, rfci_oracle.unshielded(A))
        edges = np.count_nonzero(A), np.count_nonzero(oracle.A)
        rfci_oracle.RfciPag(oracle).run()
        np.testing.assert_array_equal(fit.sparse_graph.amat_pag(), oracle.A, err_msg=f"seed {seed}")
        assert fit.sepset.cells() == oracle.cells, seed
        seen += [edges[0] > edges[1], edges[1] > np.count_nonzero(oracle.A), len(oracle.ambiguous) > 0]
    assert seen[:2].all()
    assert seen[2] or not rule


def test_an_interrupt_keeps_the_skeleton():
    calls = []

    def test(x, y, S, seed):
        calls.append(S)
        if len(calls) > n_tests:
            raise KeyboardInterrupt
        return noise_test(x, y, S, seed)

    fits = {seed: pycupc.rfci(seed, noise_test, 0.8, p=7) for seed in range(20)}
    seed, fit = next((seed, fit) for seed, fit in fits.items() if fit.later.n_tests)
    n_tests = sum(fit.n_edgetests)
    with pytest.raises(pycupc.Interrupted, match="tests after the skeleton") as caught:
        pycupc.rfci(seed, test, 0.8, p=7)
    assert caught.value.partial == fit.skeleton_fit
