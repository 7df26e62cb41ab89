"""Noncolliders that the GPU engine finds on the device (kernels/graph/final.cu), here on the host."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_on_host import FILES, HostEngine, build
from test_kernel_walk import FILES as GAUSSIAN_FILES
from test_kernel_walk import observations

import pycupc
from pycupc.discrete import disCItest
from pycupc.engines.gpu import records
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.orientation.colliders import mark_triples
from pycupc.orientation.mixed_graph import undirected

NONE_AMBIGUOUS = np.zeros((0, 3), dtype=np.int64)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("noncolliders"), 256, {**FILES, **GAUSSIAN_FILES})


@pytest.fixture
def engine(library):
    return HostEngine(library, prune=False)


def correlations(seed: int, p: int = 18) -> dict:
    return {"C": np.corrcoef(observations(seed, p, 200, 0.3), rowvar=False), "n": 200}


def marked(fit: pycupc.PcAlgo, sepset: SepSets) -> np.ndarray:
    graph = undirected(fit.sparse_graph)
    mark_triples(graph, sepset, NONE_AMBIGUOUS)
    return graph.triple


def check(fit: pycupc.PcAlgo, expected: pycupc.PcAlgo, least: int = 1) -> None:
    """The engine found the noncolliders, at least so many, that follow from the sets; the answer is `expected`."""
    found = fit.sepset.noncolliders
    assert found is not None
    assert len(found) >= least
    assert len(np.unique(found, axis=0)) == len(found)
    by_sets = SepSets.from_flat(fit.sparse_graph, fit.sepset.flat(), fit.sepset._gaps)
    assert by_sets.noncolliders is None
    np.testing.assert_array_equal(marked(fit, fit.sepset), marked(fit, by_sets))
    np.testing.assert_array_equal(fit.graph, expected.graph)
    assert dict(fit.trace) == dict(expected.trace)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("solve_confl", [False, True])
def test_the_orientation_is_that_of_the_sets(engine, seed, solve_confl):
    given = {"suffStat": correlations(seed), "alpha": 0.1, "solve_confl": solve_confl}
    check(pycupc.pc(**given, engine=engine), pycupc.pc(**given, engine="cpu"), 5)


def test_gaps_fixed_edges_and_retry(engine):
    rng = np.random.default_rng(0)
    gaps, fixed = (np.triu(rng.random((18, 18)) < 0.1, 1) for _ in range(2))
    fixed &= ~gaps
    given = {"suffStat": correlations(5), "alpha": 0.1, "fixedGaps": gaps | gaps.T, "fixedEdges": fixed | fixed.T}
    check(pycupc.pc(**given, engine=engine), pycupc.pc(**given, engine="cpu"), 5)
    given |= {"u2pd": "retry", "random_state": 1}
    check(pycupc.pc(**given, engine=engine), pycupc.pc(**given, engine="cpu"), 5)


def test_discrete_data(engine):
    codes = (observations(1, 14, 400, 0.5) > 0).astype(int)
    given = {"suffStat": {"dm": codes, "adaptDF": False}, "indepTest": disCItest, "alpha": 0.05}
    check(pycupc.pc(**given, engine=engine), pycupc.pc(**given, engine="cpu"))


def test_no_sets(engine):
    given = {"suffStat": correlations(2), "alpha": 0.1, "m_max": 0}
    fit = pycupc.pc(**given, engine=engine)
    assert len(fit.sepset.noncolliders) == 0
    check(fit, pycupc.pc(**given, engine="cpu"), 0)


@pytest.mark.parametrize(("module", "limit"), [(records, "MOST_KEPT"), (records, "MOST_PATHS")])
def test_beyond_the_limits_the_sets_decide(engine, monkeypatch, module, limit):
    monkeypatch.setattr(module, limit, 2)
    given = {"suffStat": correlations(3), "alpha": 0.1}
    fit = pycupc.pc(**given, engine=engine)
    assert fit.sepset.noncolliders is None
    np.testing.assert_array_equal(fit.graph, pycupc.pc(**given, engine="cpu").graph)


def test_paths_beyond_those_that_are_copied_at_once(engine, monkeypatch):
    given = {"suffStat": correlations(3), "alpha": 0.1}
    at_once = pycupc.pc(**given, engine=engine).sepset.noncolliders
    monkeypatch.setattr(records, "AT_ONCE", len(at_once) - 1)
    fit = pycupc.pc(**given, engine=engine)
    paths = fit.sepset.noncolliders  # in any order
    np.testing.assert_array_equal(np.unique(paths, axis=0), np.unique(at_once, axis=0))
    assert len(paths) == len(at_once)
    check(fit, pycupc.pc(**given, engine="cpu"))


def test_only_an_orientation_by_these_sets_asks_for_them(engine, monkeypatch):
    monkeypatch.setattr(engine, "noncolliders", lambda: pytest.fail("nobody needs them"))
    suffStat = correlations(4)
    pycupc.skeleton(suffStat, alpha=0.1, engine=engine)
    fit = pycupc.pc(suffStat, alpha=0.1, engine=engine, maj_rule=True)
    np.testing.assert_array_equal(fit.graph, pycupc.pc(suffStat, alpha=0.1, engine="cpu", maj_rule=True).graph)


def test_sets_that_change_forget_them(engine):
    fit = pycupc.pc(correlations(4), alpha=0.1, engine=engine)
    x, y = fit.sepset.blocks[-1].x[:1], fit.sepset.blocks[-1].y[:1]
    empty = FlatCells(x, y, np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32))
    assert fit.sepset.changed(empty).noncolliders is None
