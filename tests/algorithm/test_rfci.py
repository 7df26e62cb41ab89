"""rfci against its oracle: the tests of triples and of paths; interrupts, errors."""

import os

import numpy as np
import pytest
import rfci_oracle
from common import refused
from latent_cases import WEIGHTS, discriminating_case, live, random_case, rule_10_case
from orientation_cases import noise_test
from rfci_problems import oracle_of, random_problem, rules_of_rfci, skeleton_of

import pycupc

MORE = int(os.environ.get("PYCUPC_LATENT_CASES", "1"))


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": [True] * 11}, "rules must be 10 values"),
        ({"rules": [2] * 10}, "rules must be 10 values"),
        ({"conservative": True, "maj_rule": True}, "conservative=True and maj_rule=True"),
        ({"alpha": 2}, "alpha must be"),
        ({"m_max": -1}, "m_max must be"),
        ({"fixedGaps": np.zeros((2, 2))}, "fixedGaps"),
        ({"skel_method": "slow"}, "method"),
        ({"labels": ["a"]}, "labels"),
    ],
)
def test_errors_of_rfci(options, message):
    refused(message, pycupc.rfci, {"C": np.eye(3), "n": 10}, **options)
