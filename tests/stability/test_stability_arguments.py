"""Each wrong argument of `pycupc.stability` has its own error, before anything is computed."""

import inspect
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from common import refused
from small_tables import chain_table
from stability_data import discrete, gaussian

import pycupc
from pycupc.discrete import disCItest
from pycupc.engines.protocol import EngineError
from pycupc.engines.reference import ReferenceEngine
from pycupc.stability.stability_arguments import OWN
from pycupc.system.machine import gpu_works

DATA = gaussian(n=20, p=4)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1, got 0"),
        ({"n_resamples": 10.0}, TypeError, "n_resamples must be a whole number, got 10.0"),
        ({"n_resamples": True}, TypeError, "n_resamples must be a whole number, got True"),
        ({"n_resamples": 3, "scheme": "complementary"}, ValueError, "n_resamples must be even for scheme='complem"),
        ({"scheme": "jackknife"}, ValueError, "scheme must be one of 'bootstrap', 'subsample', 'complementary', got"),
        ({"fraction": "half"}, TypeError, "fraction must be a number between 0 and 1, got 'half'"),
        ({"fraction": 1.5, "scheme": "subsample"}, ValueError, "fraction must be a number between 0 and 1, got 1.5"),
        ({"fraction": math.nan, "scheme": "subsample"}, ValueError, "fraction must be a number .*, got nan"),
        ({"fraction": 0.3}, ValueError, "fraction=0.3 needs scheme='subsample': with 'bootstrap' a resample has as"),
        ({"fraction": 0.3, "scheme": "complementary"}, ValueError, "with 'complementary' a resample has half of the"),
        ({"fraction": 0.05, "scheme": "subsample"}, ValueError, "fraction=0.05 of 20 rows leaves 1; at least 2 are"),
        ({"alpha": "a"}, TypeError, r"alpha must be a number in \[0, 1\] or a sequence of them, got 'a'"),
        ({"alpha": None}, TypeError, r"alpha must be a number in \[0, 1\] or a sequence of them, got None"),
        ({"alpha": np.array(0.1)}, TypeError, r"sequence of them, got array\(0.1\)"),
        ({"alpha": []}, ValueError, r"alpha must be .*, got \[\]"),
        ({"alpha": [0.1, "b"]}, TypeError, "alpha must be .* sequence of them"),
        ({"alpha": [0.1, 1.5]}, ValueError, r"alpha must be a number in \[0, 1\], got 1.5"),
        ({"alpha": [0.1, 0.1]}, ValueError, "alpha must not name a level twice"),
        ({"random_state": "a"}, TypeError, "random_state must be a whole number, a numpy.random.Generator or None"),
        ({"random_state": -1}, ValueError, "random_state must be 0 or more, got -1"),
        ({"executor": 2}, TypeError, "executor must be a concurrent.futures.Executor.* got int"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be the path of a folder, got 3"),
        ({"progress": 3}, TypeError, r"progress must be True, False, None, or callable \(resamples done, resamples\)"),
        ({"engine": "abacus"}, ValueError, "engine must be one of"),
        ({"engine": ReferenceEngine()}, TypeError, "engine must be the name of an engine"),
        ({"engine_options": {"beta": 1}}, ValueError, "engine='auto' does not take this one"),
        ({"numCores": 0}, ValueError, "numCores must be a whole number of at least 1"),
        ({"conservative": True, "maj_rule": True}, ValueError, "choose one of conservative=True and maj_rule=True"),
        ({"labels": ["a"]}, ValueError, "labels"),
        ({"p": 7}, ValueError, "p must equal the number of labels, 4, got 7"),
        ({"fixedGaps": [("v0", "x")]}, ValueError, "fixedGaps: .*x"),
        ({"quirks": True}, ValueError, "quirks=True reproduces faults of disCItest, .* must be False with gaussCItest"),
        (
            {"indepTest": lambda x, y, S, suffStat: 1.0},
            ValueError,
            "indepTest must be a test of pycupc, or a batch test with a method of.data. and a __name__",
        ),
        ({"indepTest": disCItest}, TypeError, "data must be a DiscreteSuffStat"),
        ({"n_resample": 5}, TypeError, "n_resample is no argument of stability or pc: did you mean n_resamples[?]$"),
        ({"zzz": 5}, TypeError, "zzz is no argument of stability or pc; pc has indepTest, labels"),
        ({"suffStat": 5}, TypeError, "suffStat is no argument of stability or pc: did you mean data[?]$"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_arguments(arguments, error, words):
    calls = []
    refused(words, pycupc.stability, DATA, **{"progress": lambda *a: calls.append(a), **arguments}, error=error)
    assert not calls


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"C": np.eye(3), "n": 50}, ValueError, "data must be a table of observations: .* a mapping with 'C', 'n'"),
        (pycupc.SuffStat(np.eye(3), 50), ValueError, "resampling draws rows.*got a SuffStat without rows"),
        (np.eye(3), ValueError, "correlation matrix C of n observations"),
        (pd.DataFrame({"a": [1.0, np.nan, 2], "b": [1.0, 2, 3]}), ValueError, "missing or infinite values in a"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2]}), TypeError, "data must be numeric.*: a"),
        (None, TypeError, "data must be a table of observations"),
        ("no-such-file.csv", ValueError, "no-such-file.csv: no such file"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_data(data, error, words):
    refused(words, pycupc.stability, data, n_resamples=2, error=error)


def test_methods_of_the_result():
    result = pycupc.stability(DATA, n_resamples=2, alpha=[0.01, 0.1], scheme="subsample", random_state=0)
    for method in (result.edges, result.consensus, result.path, result.to_networkx, result.bound):
        refused(r"threshold must be a number from 0 to 1, got 1.5", method, 1.5)
        refused(r"threshold must be a number from 0 to 1, got 'x'", method, "x", error=TypeError)
    refused(r"alpha must be one of 0.01, 0.1, got 0.05", result.edges, alpha=0.05)
    for i in (-1, 2, 0.5):
        refused(f"i must be the number of a resample, 0 to 1, got {i}", result.indices, i)
    refused("n_false must be a number of edges, got 'few'", result.threshold_for, "few", error=TypeError)
    refused("n_false must be a number of edges above 0, got 0", result.threshold_for, 0)


@pytest.mark.skipif(gpu_works()[0], reason="this machine has a GPU")
def test_the_engine_of_the_workers_need_not_be_here():
    """Without an executor a GPU is needed here; with one only the workers need it, and they say so."""
    from concurrent.futures import ThreadPoolExecutor

    refused("engine='gpu' cannot run", pycupc.stability, DATA, engine="gpu", error=EngineError)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(EngineError, match=r"resample . failed .*engine='gpu' cannot"),
    ):
        pycupc.stability(DATA, engine="gpu", executor=executor, n_resamples=2)


@pytest.mark.parametrize("method", ["pc", "fci"])
def test_resamples_of_few_rows_are_named_once(method):
    options = {"n_resamples": 6, "scheme": "subsample", "fraction": 0.15, "method": method}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pycupc.stability(DATA, **options)
        pycupc.stability(discrete(20, 4), indepTest=disCItest, **options)  # without degrees of freedom
    assert [str(one.message) for one in found] == ["no test of fewer than 4 observations finds a dependence, got n = 3"]
    assert found[0].filename == __file__


def test_columns_that_are_constant_in_resamples_only_are_not_named():
    X = np.array(gaussian(20, 3))
    X[:, 2] = np.arange(20) == 4
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "k": np.where(X[:, 2] > 0, "u", "v")})
    for data, test in ((X, None), (X, pycupc.RCoT()), (table, pycupc.mixCItest)):
        study = pycupc.stability(data, indepTest=test, n_resamples=4, scheme="complementary", random_state=1)
        assert study.constant[2] == 2


def test_a_checkpoint_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="checkpoint .* cannot be written to: Not a directory"):
        pycupc.stability(DATA, n_resamples=2, checkpoint=tmp_path / "file" / "kept")


def test_the_arguments_of_stability_and_cstar_are_known():
    for name, own in OWN.items():
        assert {*own, "arguments"} == {*inspect.signature(getattr(pycupc, name)).parameters}
    refused(
        "^standardise is .*: did you mean standardize[?]$",
        pycupc.cstar,
        chain_table(),
        standardise=True,
        error=TypeError,
    )
    refused(
        "^indep_test is .*: did you mean indepTest[?]$",
        pycupc.stability,
        chain_table(),
        indep_test=None,
        error=TypeError,
    )


TIERS = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "ges"}, "method must be one of 'pc', 'fci', 'rfci', got 'ges'"),
        ({"method": "rfci", "u2pd": "rand"}, "u2pd is no argument of stability or rfci"),
        ({"method": "fci", "budget": 1.0}, "budget is no argument of stability or fci"),
        ({"method": "fci", "tiers": TIERS}, "tiers need selectionBias=False"),
        ({"method": "fci", "type": "anytime"}, "needs a finite m_max"),
        ({"method": "rfci", "rules": [True]}, "rules must be 10 values"),
        ({"u2pd": "rand", "tiers": TIERS}, "need u2pd='relaxed'"),
        ({"method": "rfci", "forbidden": [("v0", "v1")]}, "forbidden is no argument of stability or rfci"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        pycupc.stability(gaussian(), n_resamples=2, random_state=1, **arguments)
