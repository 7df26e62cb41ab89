"""Levels and questions on workers of an executor: the answer is the one at home, for every family and method."""

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from kinds_of_data import graph

import pycupc
from pycupc.engines import divided
from pycupc.engines.cpu import level_pieces
from pycupc.engines.cpu.gaussian import GaussianTests
from pycupc.engines.elsewhere import WorkersOfEngine
from pycupc.independence.families import EVERY

KINDS = [pytest.param(kind, id=kind.title) for family in EVERY for kind in family.kinds]
TIERS = [1, 1, 2, 2, 3]
METHODS = {
    "pc": (pycupc.pc, {}),
    "majority": (pycupc.pc, {"maj_rule": True}),
    "fci": (pycupc.fci, {"conservative": True}),
    "rfci": (pycupc.rfci, {}),
    "tiers": (pycupc.pc, {"tiers": TIERS}),
}


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture
def sent(monkeypatch):
    """The names of the work that is sent; all of it is, however small."""
    monkeypatch.setattr(level_pieces, "PIECE_SECONDS", 1e-12)
    monkeypatch.setattr(level_pieces, "MOST_PIECES", 5)
    monkeypatch.setattr(divided, "PART_SECONDS", 1e-12)
    monkeypatch.setattr(divided, "MOST_PARTS", 5)
    monkeypatch.setattr(GaussianTests, "at_once", lambda *_: None)
    words, original = [], WorkersOfEngine.results_of_engines

    def noted(self, work, items, total, name, shared=None):
        words.append(name)
        return original(self, work, items, total, name, shared)

    monkeypatch.setattr(WorkersOfEngine, "results_of_engines", noted)
    return words


def table(p=40, n=500, share=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ ((rng.random(j) < share) * rng.uniform(0.3, 0.8, j))
    return X


def assert_same(found, expected, rtol=0.0):
    """The graph, the sets, the counts and pMax, to the last bit unless `rtol` is given."""
    assert found == expected
    assert found.n_edgetests == expected.n_edgetests
    np.testing.assert_allclose(found.pMax, expected.pMax, rtol=rtol, atol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_family_and_method(pool, sent, kind, method):
    function, options = METHODS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = graph(kind, function, **options)
        assert not sent
        found = graph(kind, function, executor=pool, **options)
    # the p-value of an RCoT depends in its last bits on the other tests of its batch, at home too
    assert_same(found, expected, rtol=1e-12 if "RCoT" in kind.python else 0.0)
    assert sent


@pytest.mark.parametrize("pruning", [True, False, "always"])
@pytest.mark.parametrize("correlations", ["dense", "rows"])
def test_deep_levels(pool, sent, pruning, correlations):
    X, options = table(), {"pruning": pruning, "correlations": correlations}
    expected = pycupc.pc(X, alpha=0.05, engine="cpu", engine_options=options)
    found = pycupc.pc(X, alpha=0.05, engine="cpu", engine_options=options, executor=pool, numCores=1)
    assert_same(found, expected)
    assert len(expected.n_edgetests) > 4
    assert {f"parts of level {level}" for level in (1, 2, 3)} <= {*sent}
