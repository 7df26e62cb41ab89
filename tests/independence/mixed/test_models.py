"""The log-likelihoods of models, which the tests of a mixed table share: the answer does not depend on how."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from micd import Problem
from mixed_problems import compiled_p, data_of, made, mixed_frame, tables

import pycupc
from pycupc import MixedImputation, MixedTable, mixCItest, mixMItest, pc
from pycupc.engines.cpu import setwise_levels, threads
from pycupc.independence.mixed import models
from pycupc.independence.mixed.test import ImputedMixedTest, MixedTest


def test_threads_and_few_or_many_tests_at_a_time_have_the_same_answer():
    rng = np.random.default_rng(4)
    table = MixedTable.of(pd.DataFrame(rng.normal(size=(300, 12)) @ rng.normal(size=(12, 12))).assign(
        **{name: rng.choice(["a", "b", "c"], 300) for name in "uv"}
    ).rename(columns=str))  # fmt: skip
    fits = [pc(table, mixCItest, alpha=0.1, m_max=3, numCores=cores) for cores in (1, 2)]
    assert pycupc.compare(*fits).equal
    test, V = made("mixCItest", table), np.array([rng.permutation(14)[:5] for _ in range(400)])
    together = test.single_tests(V[:, 0], V[:, 1], V[:, 2:])[1]
    np.testing.assert_allclose(together, [compiled_p(test, v) for v in V.tolist()], rtol=1e-12)


def test_models_are_kept_within_bounds_and_found_again(monkeypatch):
    """With little room the log-likelihoods are forgotten all the time, and the answer is the same."""
    D = mixed_frame(share=0.0)
    table = MixedTable.of(D.assign(**{f"{name}2": D[name] for name in "wy"}, k=D["w"] + np.arange(200) % 7))
    before = pc(table, mixCItest, alpha=0.2)
    monkeypatch.setattr(models, "KEPT_MODELS", 0)
    monkeypatch.setattr(models, "FIRST_SLOTS", 2)
    assert pycupc.compare(before, pc(table, mixCItest, alpha=0.2)).equal


@pytest.mark.parametrize("room", [1 << 26, 0])
def test_threads_look_models_up_together(monkeypatch, room):
    """Also where one of them begins to keep log-likelihoods anew while others compute some."""
    monkeypatch.setattr(models, "KEPT_MODELS", room)
    rng = np.random.default_rng(1)
    drawn, levels, _ = tables("imputed", 5, p=11, n=60)
    for test, values in (("mixCItest", drawn[:1]), ("mixMItest", drawn[:2])):
        data = data_of(test, Problem(values, levels))
        drawings = (np.array([rng.permutation(11)[:k] for _ in range(20)]) for k in rng.integers(2, 7, 60))
        asked = [(V[:, 0], V[:, 1], V[:, 2:]) for V in drawings]
        with ThreadPoolExecutor(8) as pool:
            together = [*pool.map(made(test, data).p_of_tests, *zip(*asked, strict=True))]
        for one, found in zip(asked, together, strict=True):
            np.testing.assert_array_equal(found, made(test, data).p_of_tests(*one))


@pytest.mark.parametrize("few", [24, 1])
@pytest.mark.parametrize("kept", [1 << 28, 1 << 14, 0])
def test_threads_share_sums(monkeypatch, few, kept):
    """Also where some fill them while others read them, and where there is room for few of them, or for none."""
    monkeypatch.setattr(models, "FEW", few)
    monkeypatch.setattr(models, "KEPT", kept)
    drawn, levels, rng = tables("imputed", 5, p=12, n=60)
    data = data_of("mixMItest", Problem(drawn[:2], levels))
    tests = [np.array([rng.permutation(12)[:k] for _ in range(3)]) for k in rng.integers(4, 7, 60)]
    asked = [(V[:, 0], V[:, 1], V[:, 2:]) for V in tests for _ in range(4)]
    apart = [made("mixMItest", data).p_of_tests(*one) for one in asked]
    test = made("mixMItest", data)
    for _ in range(10):
        with ThreadPoolExecutor(16) as pool:
            together = [*pool.map(test.p_of_tests, *zip(*asked, strict=True))]
        for one, found in zip(apart, together, strict=True):
            np.testing.assert_array_equal(one, found)
        shared = test.likelihoods._kept
        assert 8 * (len(shared.integers) + len(shared.floats)) <= kept + 16
        test.likelihoods._kept = None


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("kept", [1 << 28, 0])
@pytest.mark.parametrize("test", ["mixCItest", "mixMItest"])
def test_a_walk_has_the_answer_of_rounds(monkeypatch, test, kept, cores):
    """Bit for bit, also where nothing is kept for other tests, and with tests of one kind of variables."""
    drawn, levels, _ = tables("imputed", 5, p=9, n=150)
    one = test == "mixCItest"
    data, how = data_of(test, Problem(drawn[: 1 if one else 2], levels)), {"alpha": 0.2 if one else 0.8}
    monkeypatch.setattr(models, "KEPT", kept)
    for module in (setwise_levels, threads):
        monkeypatch.setattr(module, "INLINE_TESTS", 0)
    walked = pc(data, getattr(pycupc, test), numCores=cores, **how)
    for kind in (MixedTest, ImputedMixedTest):
        monkeypatch.setattr(kind, "walked", lambda *_: None)
    rounds = pc(data, getattr(pycupc, test), numCores=cores, **how)
    assert walked.max_ord > 1
    assert pycupc.compare(walked, rounds).equal
    assert walked.n_edgetests == rounds.n_edgetests
    np.testing.assert_array_equal(walked.pMax, rounds.pMax)


@pytest.mark.parametrize("p", [(0, 3), (1, 2), (3, 0), (2, 1)])
def test_tables_with_few_variables_of_a_kind(p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, sum(p))).cumsum(axis=1)
    frame = pd.DataFrame({f"v{j}": np.where(X[:, j] > 0, "a", "b") if j < p[0] else X[:, j] for j in range(sum(p))})
    table = MixedTable.of(frame)
    for data, test in ((table, mixCItest), (MixedImputation([table, MixedTable.of(frame[::-1])]), mixMItest)):
        fits = [pc(data, test, alpha=0.2, engine=engine) for engine in ("cpu", "reference")]
        assert pycupc.compare(*fits).equal


def test_more_categories_than_bits():
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.integers(0, 2, (80, 70)).astype(float), rng.normal(size=(80, 2))], axis=1)
    table = MixedTable(codes, (("a", "b"),) * 70 + (None,) * 2, (False,) * 72, checked=True)
    test = made("mixCItest", table)
    for V in ([70, 71, 3, 69], [0, 71, 65], [70, 3]):
        assert compiled_p(test, V) == pytest.approx(mixCItest(V[0], V[1], V[2:], table), rel=1e-9)
