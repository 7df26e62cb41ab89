"""A run that is cut off resumes from its checkpoint and gives the result of an uninterrupted one; level 0 in parts."""

import math
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from checkpoint_runs import ROWS, X, assert_same, cut_off, in_parts, run
from common import ROOT, SUPPORT, refused
from one_item import one_at_a_time
from stability_data import discrete

import pycupc
from pycupc.algorithm import level_checkpoint as kept
from pycupc.algorithm.level_checkpoint import Checkpoint
from pycupc.discrete import disCItest
from pycupc.engines.cpu import gaussian, level0_sieve, threads, tuning, turn_walk
from pycupc.engines.protocol import EngineError
from pycupc.independence.gaussian.correlation import correlation

CASES = {
    "dense": {},
    "rows": ROWS,
    "pruned": {"engine_options": {"correlations": "rows", "pruning": "always"}},
    "conservative, fixed": {"conservative": True, "fixedEdges": [("1", "2"), ("3", "30")], "fixedGaps": [("4", "5")]},
    "tiers": {"tiers": [k // 10 for k in range(40)]},
    "discrete": {"data": discrete(n=300, p=8), "indepTest": disCItest},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_resumes_after_every_level(options, tmp_path, monkeypatch):
    want = run(**options)
    assert want.max_ord >= 2
    for after in range(1, want.max_ord + 2):
        cut_off(monkeypatch, "keep", after, tmp_path / str(after), **options)
        assert_same(run(tmp_path / str(after), **options), want)
    assert_same(run(tmp_path / "1", **options), want)  # nothing is left to run


def one_item_after_the_other(patch):
    """One thread for all work; progress is reported after every item."""
    progress = []

    def run_alone(work, n_threads, tests, own=None):
        state = threads.new_state()[0]
        progress.append(own)
        try:
            work(state)
        finally:
            progress.pop()
        return int(state[threads.DOUBTFUL])

    def report():
        if progress[-1:] not in ([], [None]):
            progress[-1].report(0)

    patch.setattr(threads, "run", run_alone)
    one_at_a_time(patch, report)


@pytest.mark.parametrize("case", ["dense", "rows", "pruned", "discrete"])
def test_tests_of_a_level_are_not_made_again(case, tmp_path, monkeypatch):
    """Rows are cut into many pieces. One after the other, all parts of a run are kept; then it resumes after some."""
    options, want = CASES[case], run(**CASES[case])
    for module, name, few in ((gaussian, "TASK_TESTS", 20), (turn_walk, "OPEN_PAIRS", 2), (tuning, "WALKED_TESTS", 20)):
        monkeypatch.setattr(module, name, few)
    monkeypatch.setattr(kept, "_PATIENCE", 0.0)
    calls, begun = [], []
    begin, keep_some = Checkpoint.begin, Checkpoint.keep_some
    with monkeypatch.context() as patch:
        one_item_after_the_other(patch)
        patch.setattr(Checkpoint, "keep_some", lambda self, *args: (calls.append(args[0]), keep_some(self, *args)))
        assert_same(run(tmp_path / "all", **options), want)

    def begin_and_count(self, level, take, *names):
        begin(self, level, lambda found: begun.append(found["entries"]) or take(found), *names)

    monkeypatch.setattr(Checkpoint, "begin", begin_and_count)
    assert len(calls) > 15
    n_kept = 0
    for after in range(2, len(calls), len(calls) // 6):
        folder = tmp_path / str(after)
        with monkeypatch.context() as patch:
            one_item_after_the_other(patch)
            cut_off(monkeypatch, "keep_some", after, folder, **options)
        assert len(list(folder.glob("level-*-part.npz"))) == 1
        begun.clear()
        assert_same(run(folder, **options), want)
        n_kept += len(begun[0])
        assert not list(folder.glob("*part*"))
    assert n_kept > 0


def test_another_engine_option_resumes(tmp_path, monkeypatch):
    cut_off(monkeypatch, "keep", 3, tmp_path, **ROWS)
    assert_same(run(tmp_path, numCores=1, engine_options={"pruning": False}), run(engine_options={"pruning": False}))


def test_parts_of_level_0_are_not_computed_again(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    cut_off(monkeypatch, "add", 11, tmp_path, **ROWS)
    assert len(list(tmp_path.glob("level-0-parts-*"))) == 11
    looked, look = [], level0_sieve.Search.look
    monkeypatch.setattr(level0_sieve.Search, "look", lambda self, a, b, at: looked.append(at) or look(self, a, b, at))
    fit = run(tmp_path, **ROWS)
    assert len(looked) == 28 - 11
    assert not list(tmp_path.glob("level-0-parts-*"))
    assert_same(fit, run())


def test_parts_that_find_too_much_are_refused_when_resumed(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    cut_off(monkeypatch, "add", 11, tmp_path, **ROWS)
    monkeypatch.setattr(level0_sieve, "free_memory", lambda: 20 * level0_sieve.SIEVED_BYTES)
    refused(r"level 0 leaves about \d\d\d edges among 40 variables", run, tmp_path, **ROWS, error=EngineError)


def test_refuses_another_run_by_name(tmp_path, monkeypatch):
    cut_off(monkeypatch, "keep", 1, tmp_path)
    other = X + np.eye(200, 40)
    for name, options in {
        "data differ": {"data": other},
        "alpha was 0.05, now 0.01": {"alpha": 0.01},
        "m_max was 'inf', now 2": {"m_max": 2},
        "fixedGaps differ": {"fixedGaps": [("1", "2")]},
        "labels differ": {"labels": [f"v{k}" for k in range(40)]},
    }.items():
        refused(f"is of another run: {name}", run, tmp_path, **options)
    ranks = pycupc.SuffStat.from_data(X, correlation="kendall")
    refused("correlation was 'pearson', now 'kendall'", pycupc.pc, ranks, alpha=0.05, engine="cpu", checkpoint=tmp_path)
    monkeypatch.setattr(kept, "__version__", "9.9")
    refused("version was .*, now '9.9'", run, tmp_path)


def test_refuses_what_it_cannot_keep(tmp_path):
    data = {"C": correlation(X), "n": 200}
    refused(
        "a checkpoint of this test needs engine='cpu' or engine='gpu'", run, tmp_path / "a", data, engine="reference"
    )
    (tmp_path / "note.txt").write_text("")
    refused("holds other files and no run.json", run, tmp_path)
    refused("checkpoint must be the path of a folder, got 3", run, 3, error=TypeError)


def with_gaps(share=0.08):
    return np.where(np.random.default_rng(4).random(X[:, :8].shape) < share, np.nan, X[:, :8])


def imputed(k):
    return np.where(np.isnan(with_gaps()), np.random.default_rng(k).standard_normal(X[:, :8].shape), with_gaps())


CODES = np.digitize(X[:, :8], [-0.7, 0.7])
OF_EVERY_FAMILY = {
    "mixed": lambda: pycupc.MixedTable.of(
        pd.DataFrame(X[:, :8], columns=list("abcdefgh")).assign(c=np.where(X[:, 2] > 0, "u", "v"))
    ),
    "test-wise": lambda: pycupc.IncompleteTable(with_gaps()),
    "test-wise categories": lambda: pycupc.IncompleteTable(
        np.where(np.isnan(with_gaps()), np.nan, CODES), categories=True
    ),
    "imputed": lambda: pycupc.MultipleImputation([imputed(k) for k in range(3)]),
    "imputed categories": lambda: pycupc.MultipleImputation(
        [np.digitize(imputed(k), [-0.7, 0.7]) for k in range(3)], categories=True
    ),
    "n by pair": lambda: pycupc.SuffStat.from_data(with_gaps(), missing="pairwise"),
    "categories": lambda: pycupc.discrete.DiscreteSuffStat.from_data(CODES),
}


@pytest.mark.parametrize("family", OF_EVERY_FAMILY)
def test_every_family_goes_on_after_the_levels_that_are_kept(tmp_path, family):
    data, how = OF_EVERY_FAMILY[family](), {"alpha": 0.3, "engine": "cpu"}
    whole = pycupc.pc(data, **how)
    assert pycupc.pc(data, checkpoint=tmp_path / "a", **how) == whole
    levels = sorted((tmp_path / "a").glob("level-*.npz"))
    assert len(levels) > 2
    for path in levels[2:]:
        path.unlink()
    again = pycupc.pc(data, checkpoint=tmp_path / "a", **how)
    assert again == whole
    np.testing.assert_array_equal(again.pMax, whole.pMax)
    levels[1].write_bytes(b"nothing")  # so it had been read
    refused("level-0001.npz is not a level", pycupc.pc, data, checkpoint=tmp_path / "a", **how)
    refused(
        "is of another run: alpha was 0.3, now 0.2", pycupc.pc, data, checkpoint=tmp_path / "a", **how | {"alpha": 0.2}
    )


def fisher(x, y, S, data):
    """A user's own test, without pycupc."""
    W = [x, y, *S]
    P = np.linalg.inv(data["C"][np.ix_(W, W)])
    r = -P[0, 1] / np.sqrt(P[0, 0] * P[1, 1])
    return math.erfc(abs(math.atanh(r)) * math.sqrt((data["n"] - len(S) - 3) / 2))


def fisher_of_side_b(x, y, S, data):
    """A test that is not symmetric, and has no p-value for some sets."""
    return math.nan if len(S) == 2 and min(S) > max(x, y) else fisher(x, y, S, data) ** (0.5 if x > y else 1.0)


class Batches:
    """`fisher` of many tests at a time."""

    def __init__(self, C, n, single=fisher):
        self.data, self.single, self.p = {"C": C, "n": n}, single, len(C)

    def batch(self, x, y, S):
        tests = zip(x.tolist(), y.tolist(), S.tolist(), strict=True)
        return [self.single(*test, self.data) for test in tests]


C = {"C": np.corrcoef(X[:, :8], rowvar=False), "n": len(X)}
OF_USERS = {
    "function": lambda: (C, fisher, {"p": 8}),
    "not symmetric": lambda: (C, fisher_of_side_b, {"p": 8, "fixedGaps": [("1", "5")], "fixedEdges": [("2", "3")]}),
    "tiers": lambda: (C, fisher, {"p": 8, "tiers": [k // 3 for k in range(8)]}),
    "batches": lambda: (None, Batches(C["C"], C["n"], fisher_of_side_b), {"fixedGaps": [("1", "5")]}),
    "RCoT": lambda: (X[:, :8], pycupc.RCoT(features=20), {"alpha": 0.05}),
}


@pytest.mark.parametrize("case", OF_USERS)
def test_a_test_of_the_users_goes_on_after_the_levels_that_are_kept(tmp_path, case):
    data, test, options = OF_USERS[case]()
    how = {"alpha": 0.3, "labels": None, **options}
    whole = pycupc.pc(data, test, **how)
    assert pycupc.pc(data, test, checkpoint=tmp_path, **how) == whole
    levels = sorted(tmp_path.glob("level-*.npz"))
    assert len(levels) > 2
    for first in range(len(levels)):
        for path in levels[first:]:
            path.unlink()
        again = pycupc.pc(data, test, checkpoint=tmp_path, **how)
        assert again == whole
        np.testing.assert_array_equal(again.pMax, whole.pMax)
    levels[-1].write_bytes(b"nothing")  # so it is read
    refused("is not a level", pycupc.pc, data, test, checkpoint=tmp_path, **how)


def test_two_tests_of_the_users_are_never_mixed(tmp_path):
    def one(x, y, S, data):
        return fisher(x, y, S, data)

    def kept(test, data=C, **how):
        return pycupc.pc(data, test, p=8, alpha=0.3, checkpoint=tmp_path, **how)

    first, code = kept(one), one.__code__
    assert kept(one) == first
    one.__code__ = (lambda x, y, S, data: fisher(x, y, S, data) / 2).__code__  # the same name
    refused("of another run: indepTest differ", kept, one)
    one.__code__ = code
    refused("of another run: suffStat differ", kept, one, C | {"n": 100})
    refused("of another run: NAdelete was True, now False", kept, one, NAdelete=False)
    refused("of another run: .*indepTest differ", kept, fisher)
    refused("of another run: .*indepTest differ", kept, Batches(C["C"], C["n"]), None)
    lock = threading.Lock()
    one.lock = lock
    refused("checkpoint needs a test that can be recognised, .*attribute identity", kept, one)
    one.identity = "fisher, without a lock"
    refused("of another run: indepTest differ", kept, one)


def test_a_damaged_level_is_named(tmp_path):
    run(tmp_path)
    (tmp_path / "level-0001.npz").write_bytes(b"nothing")
    refused(r"level-0001.npz is not a level that pycupc.pc kept", run, tmp_path)


_RUN = """
import sys
sys.path[:0] = {path!r}
import numpy as np
from checkpoint_runs import in_parts, run, X, ROWS
import pytest
in_parts(pytest.MonkeyPatch())
fit = run(sys.argv[1], **ROWS)
np.save(sys.argv[1] + ".npy", fit.matrix().to_numpy())
"""


def test_survives_kill_9(tmp_path):
    command = [sys.executable, "-c", _RUN.format(path=[str(SUPPORT), str(ROOT)]), str(tmp_path / "kept")]
    process = subprocess.Popen(command)
    while not (tmp_path / "kept" / "level-0-parts-000004.npz").exists() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    subprocess.run(command, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "kept.npy"), run().matrix().to_numpy())


def test_threads_compute_level_0(tmp_path, monkeypatch):
    in_parts(monkeypatch)
    with ThreadPoolExecutor(3) as executor:
        assert_same(run(executor=executor, **ROWS), run())
        assert_same(run(executor=executor), run())
        monkeypatch.setattr(level0_sieve, "find_in_part", lambda *args: 1 / 0)
        with pytest.raises(EngineError, match=r"executor failed with 0 of 28 parts .*ZeroDivisionError"):
            run(executor=executor, **ROWS)
    refused("executor must be a concurrent.futures.Executor, a number", run, executor=[2], error=TypeError)
