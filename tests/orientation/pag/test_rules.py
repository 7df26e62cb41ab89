"""The ten rules of PAGs: compiled against the plain oracle, and the oracle against a running pcalg."""

import os
import re

import numpy as np
import pag_oracle
import pytest
from common import ROOT
from latent_cases import WEIGHTS, live, oriented, random_case, rule_10_case

from pycupc.orientation.pag import ALL_RULES, FCI_LOOPS, RFCI_LOOPS, local_rules
from pycupc.orientation.pag.mark_lists import TAIL_OF_RULE_1
from pycupc.orientation.trace import COLLIDER, FIRST_KNOWN, FURTHER, KNOWN

#: How many times as many random problems as usual.
MORE = int(os.environ.get("PYCUPC_LATENT_CASES", "1"))


def problems(seed: int, n: int) -> list[dict]:
    """Of every kind."""
    rng = np.random.default_rng(seed)
    share = lambda: float(rng.choice([0, rng.uniform(0.02, 0.4)]))  # noqa: E731
    cases = [random_case(rng, p_max=12, ambiguous=share()) for _ in range(n)]
    cases += [random_case(rng, jci=True, ambiguous=share()) for _ in range(n)]
    cases += [random_case(rng, (k,), WEIGHTS, ambiguous=share()) for k in range(1, 11) for _ in range(n // 5)]
    weights = ((20, 1, 1), (4, 2, 1), (1, 2, 2))
    cases += [random_case(rng, (k,), weights, p_max=13) for k in (5, 8, 9) for _ in range(n // 3)]
    return cases + [rule_10_case(rng, share=share()) for _ in range(n)]


def expected(case, quirks=True) -> pag_oracle.Pag:
    names = ("M", "cells", "rules", "ambiguous", "jci", "context")
    return pag_oracle.orient(*(case[name] for name in names), quirks=quirks, colliders=case["colliders"])


@pytest.mark.parametrize("quirks", [True, False])
def test_against_the_oracle(quirks):
    met = set()
    for case in problems(1 + quirks, 60 * MORE):
        want = expected(case, quirks)
        marks, trace = oriented(case, quirks)
        np.testing.assert_array_equal(marks, pag_oracle.as_array(want), err_msg=str(case))
        met |= {why[0] for why in trace.values()}
    assert met == {"collider", "JCI", *(f"R{k}" for k in range(1, 11))}


@pytest.mark.r
def test_oracle_against_pcalg(rscript, tmp_path):
    cases = problems(3, 60 * MORE)
    for case, want in zip(cases, live(rscript, tmp_path, cases), strict=True):
        np.testing.assert_array_equal(pag_oracle.as_array(expected(case)), want, err_msg=str(case))


def test_every_mark_has_a_reason():
    rng = np.random.default_rng(5)
    for _ in range(100 * MORE):
        case = random_case(rng, jci=rng.random() < 0.3)
        marks, trace = oriented(case)
        assert set(trace) == set(map(tuple, np.argwhere(marks > 1).tolist()))
        for (a, b), (rule, *variables) in trace.items():
            assert {a, b} <= set(variables), (a, b, rule, variables)


def test_a_large_sparse_graph_takes_no_matrix():
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import SparseGraph, pair_keys
    from pycupc.orientation.pag import orient_pag

    p, rng = 50_000, np.random.default_rng(6)
    ends = rng.integers(0, p, size=(2, 60_000))
    low, high = np.divmod(np.unique(pair_keys(*ends[:, ends[0] != ends[1]], p)), p)
    graph = SparseGraph.undirected(p, low, high)
    found = orient_pag(graph, SepSets(graph))  # a matrix of marks would take 2.5 GB
    assert found.graph.counts()["bidirected"] > 1_000


def test_every_rule_is_in_the_tables():
    """A rule is repeated in one loop, scans some entries, and says how its reasons read unless they are paths."""
    numbers = range(1, len(ALL_RULES) + 1)
    for loops in (FCI_LOOPS, RFCI_LOOPS):
        assert sorted(number for loop in loops for number in loop) == [*numbers]
    assert {*local_rules.SCANNED} == {*numbers}
    assert {f"R{number}" for number in local_rules.LOCAL_RULES} <= {name for name, _ in local_rules.FORMS.values()}
    taken = range(COLLIDER, FURTHER)  # by colliders, and by what was known
    assert FIRST_KNOWN + len(KNOWN) <= TAIL_OF_RULE_1 < FURTHER
    assert {*local_rules.FORMS} & {*taken} == {TAIL_OF_RULE_1}
    text = (ROOT / "r_wrapper" / "R" / "cu_fci.R").read_text(encoding="utf-8")
    assert set(re.findall(r"rules = rep\(TRUE, (\d+)\)", text)) == {str(len(ALL_RULES))}
    assert re.findall(r"length\(rules\) != (\d+)L", text) == [str(len(ALL_RULES))]
