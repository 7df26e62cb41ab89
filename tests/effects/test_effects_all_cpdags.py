"""Multisets of effects against all DAGs of a class: every CPDAG of up to 5 nodes, and of 6 nodes up to relabelling.

The DAGs are enumerated by markov_classes.py, and an effect is a regression on the parents in a DAG, or the product of
the paths of a DAG in which arrows were cut: nothing here is computed by pycupc.effects but the answers.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from markov_classes import classes_on, cpdag_of, labelled, unlabelled

import pycupc
from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Orientations
from pycupc.effects.parent_sets import joint_parent_sets, joint_parents_in_class, parent_sets

from effects_cases import named, random_covariance, random_dag  # isort: skip

#: Labelled CPDAGs of 0, 1, ... nodes.
NUMBERS = (1, 1, 2, 11, 185, 8_782, 1_067_825)


@pytest.mark.parametrize("p", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_all_labelled_cpdags(p):
    rng, found = np.random.default_rng(p), 0
    for dags in labelled(p):
        _check(dags, rng)
        found += 1
    assert found == NUMBERS[p]


@pytest.mark.slow
def test_all_cpdags_of_6_nodes_up_to_relabelling():
    rng, found = np.random.default_rng(6), 0
    for dags, times in unlabelled(6):
        found += times
        for _ in range(2):
            order = rng.permutation(6)
            _check(dags[:, order[:, None], order], rng)
    assert found == NUMBERS[6]


def test_some_cpdags_of_5_and_6_nodes():
    rng = np.random.default_rng(5)
    for k in range(8):
        _check(_random_class(rng, 5 + k % 2), rng)


def _random_class(rng, p: int):
    """The class of a random DAG."""
    m = random_dag(rng, p, rng.uniform(0.2, 0.8)).astype(np.int8)
    return next(dags for dags in classes_on(m | m.T) if (dags == m).all(axis=(1, 2)).any())


def _check(dags, rng) -> None:
    """Parent sets, DAGs and effects of the class with these DAGs."""
    graph, p = named(cpdag_of(dags)), dags.shape[1]
    known = Orientations.of(graph.sparse_graph)
    parents = [tuple(frozenset(np.flatnonzero(m[:, x]).tolist()) for x in range(p)) for m in dags]
    ours = all_dags(known)
    assert len(ours) == len(parents)
    assert set(ours) == set(parents)
    C = random_covariance(rng, p)
    E, of_each = pycupc.effects(graph, C), parent_sets(graph.sparse_graph, range(p))
    for x in range(p):
        sets = of_each.of_cause(x)
        assert len(set(sets)) == len(sets)
        assert set(sets) == {of_all[x] for of_all in parents}
        rows = [_regressed(C, x, given) for given in sets]
        np.testing.assert_allclose(E.values(x), rows, rtol=1e-8, atol=1e-10)
    x, y = rng.integers(p, size=2).tolist()
    every = np.array([_regressed(C, x, of_all[x])[y] for of_all in parents])
    each = [_regressed(C, x, given)[y] for given in of_each.of_cause(x)]
    if y in known.parents[x]:
        each = [0.0]  # one effect, whatever the parents
    np.testing.assert_allclose(pycupc.ida(x, y, C, graph), each, rtol=1e-8, atol=1e-10)
    _same(pycupc.ida(x, y, C, graph, method="global")[None], every[None])
    for xs in combinations(range(p), 2):
        chosen = Counter(tuple(of_all[x] for x in xs) for of_all in parents)
        pairs = [choice.parents for choice in joint_parent_sets(xs, graph.sparse_graph)]
        assert len(set(pairs)) == len(pairs)
        assert set(pairs) == set(chosen)
        times = Counter(map(tuple, joint_parents_in_class(xs, known)))
        assert {pair: n * len(dags) for pair, n in times.items()} == {
            pair: n * times.total() for pair, n in chosen.items()
        }
    if p > 2:
        _check_joint_effects(dags, graph, rng)


def _check_joint_effects(dags, graph, rng) -> None:
    """Of two causes, in a model of the class: arrows into the causes are cut, and the others add up along paths."""
    p = len(graph.labels)
    B = np.linalg.inv(np.eye(p) - dags[0] * rng.uniform(0.3, 1.5, (p, p)))
    C, (*xs, y) = B.T * rng.uniform(0.5, 2, p) @ B, rng.permutation(p)[:3].tolist()
    effects = {}
    for m in dags:
        cut = np.zeros((p, p))
        for v in set(range(p)) - set(xs):
            given = np.flatnonzero(m[:, v])
            cut[given, v] = np.linalg.solve(C[np.ix_(given, given)], C[given, v])
        of = np.linalg.inv(np.eye(p) - cut)[xs, y]
        effects.setdefault(tuple(m[:, x].tobytes() for x in xs), []).append(of)
    each, every = ([of for several in effects.values() for of in several[:k]] for k in (1, len(dags)))
    technique = ("RRC", "MCD")[rng.integers(2)]
    _same(pycupc.joint_ida(xs, y, C, graph, technique=technique), np.transpose(each))
    found = pycupc.joint_ida(xs, y, C, graph, technique=technique, type="cpdag")
    _same(np.repeat(found, len(dags) // found.shape[1], axis=1), np.transpose(every))


def _regressed(C, x: int, parents) -> np.ndarray:
    """The effects of x on all variables, given its parents."""
    given = [x, *sorted(parents)]
    found = np.linalg.solve(C[np.ix_(given, given)], C[given])[0]
    found[sorted(parents)] = 0.0
    return found


def _same(found, want) -> None:
    """Assert that two multisets of columns are equal up to rounding."""
    assert found.shape == want.shape
    by = np.sqrt(np.arange(2, 2 + len(found)))  # equal columns have equal sums, and others have others
    for one in (found, want):
        one[:] = one[:, np.argsort(by @ one)]
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9)
