"""Workers with a GPU: two processes, which share the card here, give the answer of one."""

import numpy as np
import pytest
from elsewhere import Elsewhere, note_sent_work, two_processes

import pycupc

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def pool():
    with two_processes() as executor:
        yield executor


@pytest.fixture
def sent(monkeypatch):
    return note_sent_work(monkeypatch)


def numbers(p=60, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ ((rng.random(j) < 0.1) * rng.uniform(0.3, 0.8, j))
    return X


def codes(p=20):
    return np.digitize(numbers(p, 3000), [-0.7, 0.7])


def cases():
    X = numbers()
    discrete = pycupc.discrete.DiscreteSuffStat(codes())
    gaps = X.copy()
    gaps[np.random.default_rng(1).random(X.shape) < 0.02] = np.nan
    yield "pc", pycupc.pc, {"suffStat": X, "alpha": 0.05}
    yield "majority", pycupc.pc, {"suffStat": X, "alpha": 0.05, "maj_rule": True}
    yield "tiers", pycupc.pc, {"suffStat": X, "alpha": 0.05, "tiers": [1] * 30 + [2] * 30}
    yield "fci", pycupc.fci, {"suffStat": X[:, :30], "alpha": 0.05}
    yield "discrete", pycupc.pc, {"suffStat": discrete, "indepTest": pycupc.discrete.disCItest, "alpha": 0.05}
    table = pycupc.IncompleteTable(gaps[:, :20])
    yield "gaps", pycupc.pc, {"suffStat": table, "indepTest": pycupc.gaussCItwd, "alpha": 0.05}


CASES = list(cases())


@pytest.mark.parametrize(("function", "given"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_workers_give_the_answer_of_one_card(pool, sent, function, given):
    expected = function(**given, engine="gpu")
    assert not sent
    found = function(**given, engine="gpu", executor=pool)
    assert sent
    assert found == expected == function(**given, engine="cpu")
    assert found.n_edgetests == expected.n_edgetests
    np.testing.assert_allclose(found.pMax, expected.pMax, rtol=1e-12)


def test_a_lost_worker_with_a_card(sent):
    """It is lost in the middle of the levels; another one makes its parts again."""
    X = numbers()
    executor = Elsewhere(lifetime=7, names=("one", "two"))
    found = pycupc.pc(X, alpha=0.05, engine="gpu", executor=executor)
    assert found == pycupc.pc(X, alpha=0.05, engine="gpu")
    assert {"parts of the questions"} <= {*sent}
