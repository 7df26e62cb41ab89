"""The kernel-based test: causal-learn's p-values, recorded and live; shared work; corner cases; the command line."""

import json
import math
import pickle
import threading

import numpy as np
import pytest
from common import refused
from kernel_cases import KINDS, made, of_causal_learn, read, recorded, smooth, table

import pycupc
from pycupc import KCI, cli, fci, pc, rfci, stability
from pycupc.independence.kernel import factors
from pycupc.independence.kernel import test as module
from pycupc.independence.kernel.kci import KernelData
from pycupc.independence.kernel.test import KernelTest

pytestmark = pytest.mark.filterwarnings("ignore:constant columns", "ignore:identical columns", "ignore:column")

X = smooth(np.random.default_rng(4), 150)


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
def test_p_values_are_those_recorded_of_causal_learn(path):
    data, keys, p = read(path)
    np.testing.assert_allclose(made(data, keys), p, atol=1e-8, rtol=0)


def test_there_are_enough_recorded_tables():
    assert len(recorded()) >= 20


@pytest.mark.parametrize("kind", KINDS)
def test_p_values_are_those_of_a_live_causal_learn(kind):
    pytest.importorskip("causallearn")
    for seed, n in enumerate((30, 61, 199, 310), start=1):
        data, keys = table(kind, n, seed)
        keys = keys[:: 1 if n < 100 else 4]
        np.testing.assert_allclose(made(data, keys), of_causal_learn(data, keys), atol=1e-8, rtol=0, err_msg=str(n))


@pytest.mark.parametrize("kind", KINDS)
def test_all_p_values_of_whole_runs_are_those_of_a_live_causal_learn(kind, monkeypatch):
    pytest.importorskip("causallearn")
    asked, plain = {}, KernelTest.p_of_tests

    def p_of_tests(test, x, y, S):
        out = plain(test, x, y, S)
        V = np.column_stack([np.minimum(x, y), np.maximum(x, y), np.sort(S, axis=1)])
        asked.update({(v[0], v[1], tuple(v[2:])): p for v, p in zip(V.tolist(), out.tolist(), strict=True)})
        return out

    monkeypatch.setattr(KernelTest, "p_of_tests", p_of_tests)
    for seed, n in enumerate((30, 61, 130, 199, 260), start=20):
        asked.clear()
        data, _ = table(kind, n, seed)
        fit = pc(data, KCI(), alpha=0.2, NAdelete=False)
        keys = list(asked)[:: 1 if n < 100 else 3]
        assert len(asked) >= sum(fit.n_edgetests) // 3
        np.testing.assert_allclose(
            [asked[key] for key in keys], of_causal_learn(data, keys), atol=1e-8, rtol=0, err_msg=str(n)
        )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n"), [("smooth", 2000), ("copies", 1500), ("ties", 1300), ("binary", 2000)])
def test_large_tables_against_a_live_causal_learn(kind, n):
    pytest.importorskip("causallearn")
    data, keys = table(kind, n, 1)
    np.testing.assert_allclose(made(data, keys), of_causal_learn(data, keys), atol=1e-8, rtol=0)


def test_the_answer_does_not_depend_on_the_other_tests_of_a_call_or_its_threads(monkeypatch):
    _, keys = table("smooth", 150)
    together, backwards = made(X, keys), made(X, keys[::-1])[::-1]
    monkeypatch.setattr(module, "KEPT", 0)
    monkeypatch.setattr(module, "TOGETHER", 1)
    alone = [made(X, [key])[0] for key in keys]
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(together, backwards, rtol=1e-9, atol=1e-12)
    swapped = [(y, x, S[::-1]) for x, y, S in keys]
    np.testing.assert_allclose(made(X, swapped), together, rtol=1e-9, atol=1e-12)


def test_sets_and_ends_are_made_once(monkeypatch):
    calls, lock = {"sets": 0, "ends": 0}, threading.Lock()

    def counted(name, function):
        def call(*args):
            with lock:
                calls[name] += 1
            return function(*args)

        return call

    monkeypatch.setattr(factors, "GivenSet", counted("sets", factors.GivenSet))
    monkeypatch.setattr(KernelTest, "_end_x", counted("ends", KernelTest._end_x))
    keys = [(0, y, (s,)) for y in (1, 2, 3) for s in (4, 5)]
    made(X, keys * 2)
    assert calls == {"sets": 2, "ends": 2}


def test_a_side_of_a_level_is_one_round_where_it_has_few_tests(monkeypatch):
    rounds, plain = [], KernelTest._given

    def given(test, V):
        rounds.append(len(V))
        return plain(test, V)

    monkeypatch.setattr(KernelTest, "_given", given)
    fit = pc(np.random.default_rng(0).normal(size=(60, 6)) + X[:60, :1], KCI(), alpha=0.2)
    assert len(fit.n_edgetests) >= 4
    assert len(rounds) <= 2 * (len(fit.n_edgetests) - 1)


def test_runs_are_those_of_the_reference_engine():
    for how in ({}, {"conservative": True}, {"m_max": 1}, {"tiers": [1, 1, 1, 2, 2, 2]}):
        a, b = (pc(X, KCI(), alpha=0.2, engine=engine, **how) for engine in ("cpu", "reference"))
        assert (a.graph == b.graph).all()
        assert a.n_edgetests == b.n_edgetests
        assert a.sepset.cells() == b.sepset.cells()
        np.testing.assert_allclose(a.pMax, b.pMax, atol=1e-9)
    for function in (fci, rfci):
        a, b = (function(X, KCI(), alpha=0.2, engine=engine) for engine in ("cpu", "reference"))
        assert np.array_equal(a.amat_pag(), b.amat_pag())


def test_the_other_doors(tmp_path):
    fit = pc(X, KCI(), alpha=0.1, checkpoint=tmp_path / "run")
    again = pc(X, KCI(), alpha=0.1, checkpoint=tmp_path / "run")
    assert (fit.graph == again.graph).all()
    refused("width was None, now 0.5", pc, X, KCI(width=0.5), alpha=0.1, checkpoint=tmp_path / "run")
    kept = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(kept.pMax, fit.pMax)
    found = stability(X, indepTest=KCI(), n_resamples=2, alpha=0.1, random_state=1, scheme="subsample", fraction=0.5)
    assert found.n_resamples == 2
    assert "kernel" in fit.engine


def test_nonlinear_dependence_is_found_and_conditional_independence_kept():
    rng = np.random.default_rng(1)
    z = rng.normal(size=400)
    x, y = np.cos(2 * z) + 0.3 * rng.normal(size=400), z**2 + 0.3 * rng.normal(size=400)
    p = made(np.column_stack([x, y, z]), [(0, 1, ()), (0, 1, (2,)), (0, 2, ()), (0, 2, (1,))])
    assert p[0] < 1e-6
    assert p[1] > 0.05
    assert (p[2:] < 1e-3).all()


def test_constant_columns_have_no_p_values_but_by_quirks():
    data = X.copy()
    data[:, 3] = 0.1
    keys = [(0, 3, ()), (3, 5, (1,)), (0, 3, (1,)), (0, 1, (3,)), (0, 1, (2, 3))]
    p, quirks = made(data, keys), made(data, keys, quirks=True)
    assert np.isnan(p).tolist() == [True, True, True, False, False]
    assert np.isnan(quirks).tolist() == [True, False, True, False, False]
    kept, removed = (pc(data, KCI(), alpha=0.05, NAdelete=delete).skeleton[3].sum() for delete in (False, True))
    assert (kept, removed) == (5, 0)


def test_quirks_round_small_p_values_to_0():
    data = np.column_stack([X[:, 0], X[:, 0] + 0.01 * X[:, 1]])
    assert 0 < made(data, [(0, 1, ())])[0] < 1e-17
    assert made(data, [(0, 1, ())], quirks=True)[0] == 0.0


def test_few_observations():
    assert math.isclose(made(X[:2], [(0, 1, ())])[0], 0.15729920705028513, rel_tol=1e-9)
    assert all(np.isfinite(made(X[:n], [(0, 1, ()), (0, 1, (2,)), (0, 1, (2, 3))])).all() for n in range(3, 10))


def test_the_bytes_of_a_run_are_known_before_it():
    test = KernelTest(KernelData.of(X), 0.05, KCI())
    given_nothing = test.nbytes
    test.check_room_for_sets()
    assert given_nothing < test.nbytes - module.bytes_of_thread(150) < given_nothing + 2**30


def test_the_command_line(tmp_path):
    np.savetxt(tmp_path / "data.csv", X, delimiter=",", header=",".join("abcdef"), comments="")
    command = (
        "run",
        tmp_path / "data.csv",
        "--test",
        "kci",
        "--alpha",
        "0.1",
        "--plot",
        "none",
        "--out",
        tmp_path / "out",
    )
    assert cli.main([str(word) for word in command]) == 0
    facts = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "--test kci" in json.dumps(facts)
    assert pycupc.PcAlgo.load(tmp_path / "out" / "result.npz").n_edgetests == pc(X, KCI(), alpha=0.1).n_edgetests
