"""Adjustment sets: pcalg's recorded answers, regressions, and DoWhy."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from common import GOLDEN_FOLDER, refused

import pycupc
from pycupc.effects.causal_paths import may_cause
from pycupc.effects.orientations import Orientations
from pycupc.graph.sparse import SparseGraph

from effects_cases import compare_adjustment, cpdag, named, random_dag  # isort: skip

GOLDEN = GOLDEN_FOLDER / "effects" / "adjustment.json.gz"


def test_recorded_answers_of_pcalg():
    cases = json.loads(gzip.decompress(GOLDEN.read_bytes()))
    for m, x, y, z, answers in cases:
        compare_adjustment(np.array(m), x, y, z, answers)
    assert {"error", "TRUE", "FALSE", "none"} < {line for *_, answers in cases for line in answers}


@pytest.mark.parametrize("kind", ["optimal", "canonical", "parents"])
def test_adjustment_gives_the_effect(kind):
    rng, checked = np.random.default_rng(1), 0
    for _ in range(30):
        dag = random_dag(rng, 6, 0.5)
        B = dag * rng.uniform(0.5, 1.5, dag.shape)
        total = np.linalg.inv(np.eye(6) - B)  # [x, y]: the effect of x on y
        C = total.T @ total
        try:
            members = [0, *map(int, pycupc.adjustment_set(named(cpdag(dag)), "0", "5", kind))]
        except ValueError:
            continue
        found = np.linalg.solve(C[np.ix_(members, members)], C[members, 5])[0]
        np.testing.assert_allclose(found, total[0, 5], atol=1e-9)
        checked += total[0, 5] != 0
    assert checked > 3


def test_no_causal_path_leads_around_a_known_arrow_back_to_its_tail():
    """0 -> 1 is known, 1 - 2 and 2 - 0 are not: as 1 -> 2 -> 0 would be a cycle, 1 is a cause of 2 at most."""
    graph = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 0]])
    refused("no variable of y is a descendant of x", pycupc.adjustment_set, graph, 1, 0)
    known = Orientations.of(SparseGraph.from_dense(graph.astype(np.int8)))
    assert may_cause([1], 2, known)
    assert not may_cause([1], 0, known)


def test_errors():
    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="no adjustment set of kind 'optimal' is valid for the effect of 1 on 3"):
        pycupc.adjustment_set(chain, "1", "3")
    arrow = np.array([[0, 1], [0, 0]])
    refused("no variable of y is a descendant of x", pycupc.adjustment_set, arrow, 1, 0)
    with pytest.raises(ValueError, match="kind must be one of 'optimal', 'canonical', 'parents', got 'all'"):
        pycupc.adjustment_set(arrow, 0, 1, "all")
    refused("x and y must be different variables, at least one each, got .'1'. and", pycupc.adjustment_set, arrow, 0, 0)
    refused("given must have no variable of x or y", pycupc.is_adjustment_set, arrow, 0, 1, [1])
    refused("no DAG extends this graph", pycupc.adjustment_set, [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0, 1)


def test_one_dag_of_the_class_for_dowhy():
    pytest.importorskip("networkx")
    m = cpdag(random_dag(np.random.default_rng(3), 7, 0.4))
    dag = named(m).to_dowhy()
    assert dag.is_directed()
    assert {(str(a), str(b)) for a, b in dag.edges} == {
        (str(a), str(b)) for a, b in np.argwhere(named(m).to_dag().graph == 1).tolist()
    }


@pytest.mark.filterwarnings("ignore")
def test_dowhy_finds_one_of_our_values():
    dowhy = pytest.importorskip("dowhy")
    rng = np.random.default_rng(5)
    dag = random_dag(rng, 6, 0.5)
    X = rng.standard_normal((400, 6)) @ np.linalg.inv(np.eye(6) - dag * rng.uniform(0.5, 1.5, dag.shape))
    fit, table = named(cpdag(dag)), pd.DataFrame(X, columns=list("012345"))
    E, checked = pycupc.effects(fit, table), 0
    for x, y in np.argwhere(named(cpdag(dag)).to_dag().graph == 1).tolist():
        model = dowhy.CausalModel(table, treatment=str(x), outcome=str(y), graph=fit.to_dowhy())
        found = model.identify_effect(proceed_when_unidentifiable=True)
        value = model.estimate_effect(found, method_name="backdoor.linear_regression").value
        by_hand = [*map(int, found.get_backdoor_variables()), x]
        A = np.cov(X.T)
        np.testing.assert_allclose(value, np.linalg.solve(A[np.ix_(by_hand, by_hand)], A[by_hand, y])[-1], rtol=1e-6)
        assert np.abs(E[x, y] - value).min() < 0.3
        checked += 1
    assert checked > 3
