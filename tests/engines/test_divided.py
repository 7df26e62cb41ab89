"""Levels and questions on workers of an executor: the answer is the one at home, for every family and method."""

import os
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from checkpoint_runs import run
from common import ROOT, SUPPORT
from elsewhere import Elsewhere, note_sent_work, printed_with_mpi, two_processes
from kinds_of_data import graph
from stability_data import dask_cluster

import pycupc
from pycupc.engines.cpu import cpu_engine, level_pieces
from pycupc.engines.cpu.gaussian import GaussianTests
from pycupc.engines.cpu.graph import Targets
from pycupc.engines.elsewhere import WorkersOfEngine
from pycupc.engines.protocol import EngineError
from pycupc.independence.families import EVERY

#: R, loaded by another test, lets child processes look for libraries in its own folders first.
pytestmark = pytest.mark.usefixtures("libraries_of_python")
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
    with two_processes() as executor:
        yield executor


@pytest.fixture
def sent(monkeypatch):
    """The names of the work that is sent; all of it is, however small."""
    monkeypatch.setattr(level_pieces, "PIECE_SECONDS", 1e-12)
    monkeypatch.setattr(level_pieces, "PIECE_SHARES", (((2, 1), 1),))
    monkeypatch.setattr(GaussianTests, "at_once", lambda *_: None)
    return note_sent_work(monkeypatch)


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


def one_by_one(x, y, S, data):
    """A test of a user, which another process can import."""
    kept = [x, y, *S]
    inverse = np.linalg.inv(data["C"][np.ix_(kept, kept)])
    r = -inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
    return float(np.clip(1.2 - abs(np.arctanh(r)) * np.sqrt(data["n"]) / 3, 0.0, 1.0))


def failing(x, y, S, data):
    if len(S) == 1:
        raise ZeroDivisionError("the test of the user")
    return 0.0


@pytest.mark.parametrize("options", [{}, {"tiers": [1] * 6 + [2] * 6}, {"m_max": 1}])
def test_a_function_of_the_user(pool, sent, options):
    X = table(p=12)
    given = {"suffStat": {"C": np.corrcoef(X, rowvar=False), "n": len(X)}, "indepTest": one_by_one, "p": 12}
    expected = pycupc.pc(**given, alpha=0.05, **options)
    assert len(expected.n_edgetests) > 1
    assert_same(pycupc.pc(**given, alpha=0.05, executor=pool, **options), expected)
    assert sent


def test_the_reference_engine_and_fixed_edges(pool, sent):
    X, fixed, gaps = table(p=12), np.zeros((12, 12), bool), np.zeros((12, 12), bool)
    fixed[0, 5] = fixed[5, 0] = gaps[1, 2] = gaps[2, 1] = True
    options = {"alpha": 0.1, "fixedEdges": fixed, "fixedGaps": gaps}
    for engine in ("cpu", "reference"):
        expected = pycupc.pc(X, engine=engine, **options)
        assert_same(pycupc.pc(X, engine=engine, executor=pool, **options), expected)
    assert sent


def test_an_error_of_the_tests_is_the_one_at_home(sent):
    """And an executor that fails says so in a sentence."""
    given = {"suffStat": {}, "indepTest": failing, "p": 6}
    with ThreadPoolExecutor(2) as executor, pytest.raises(ZeroDivisionError, match="the test of the user"):
        pycupc.pc(**given, executor=executor)
    with ThreadPoolExecutor(2) as executor:
        pass  # it takes no work any more
    with pytest.raises(EngineError, match=r"executor failed with 0 of \d+ parts of level 1 done \(RuntimeError: "):
        pycupc.pc(table(), executor=executor, engine="cpu")
    for wrong, error in ((0, ValueError), (1.5, ValueError), (True, TypeError), ([2], TypeError)):
        with pytest.raises(error, match="executor must be a concurrent.futures.Executor, a number of processes or"):
            pycupc.pc(table(), executor=wrong)


@pytest.mark.parametrize("lifetime", [3, 1000])
def test_lost_workers(sent, lifetime):
    """Workers that are restarted in the middle of a level, and so have lost the problem and the graph."""
    X, executor = table(p=20), Elsewhere(lifetime=lifetime, names=("one", "two"))
    assert_same(pycupc.pc(X, alpha=0.05, engine="cpu", executor=executor), pycupc.pc(X, alpha=0.05, engine="cpu"))
    assert "parts of level 3" in sent


def test_pieces_are_all_targets_once(monkeypatch):
    monkeypatch.setattr(level_pieces, "PIECE_SECONDS", 1.0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = int(rng.integers(1, 12))
        degrees = rng.integers(0, 9, p)
        chosen = rng.random(int(degrees.sum())) < rng.random()
        rows = np.repeat(np.arange(p), degrees)
        per_row = np.bincount(rows[chosen], minlength=p)
        seconds = rng.exponential(10.0, p) * (per_row > 0)
        pieces = level_pieces.pieces_of(Targets(chosen, per_row), seconds, rows, 1)
        np.testing.assert_array_equal(np.sort(np.concatenate(pieces)), np.flatnonzero(chosen))


def test_the_first_pieces_are_larger_where_there_is_work_for_all():
    seconds, per_row = np.full(400, 0.01), np.full(400, 3)
    targets, rows = Targets(np.ones(1200, dtype=bool), per_row), np.repeat(np.arange(400), 3)
    sizes = [len(piece) for piece in level_pieces.pieces_of(targets, seconds, rows, 1, n_workers=2)]
    np.testing.assert_allclose(sizes, [300, 300, 150, 150, 75, 75, 75, 75], atol=20)
    for work, number in ((0.009, 1), (0.011, 2), (0.079, 2), (0.081, 4), (0.319, 4), (0.321, 8)):
        few = level_pieces.pieces_of(targets, seconds * work / seconds.sum(), rows, 1, n_workers=2)
        assert len(few) == number
        np.testing.assert_array_equal(np.sort(np.concatenate(few)), np.arange(1200))
    assert len(level_pieces.pieces_of(targets, seconds * 0.019 / seconds.sum(), rows, 1, n_workers=5)) == 3


def test_estimates_follow_the_time_of_the_side_before(pool, monkeypatch):
    """Sides that take much longer than estimated are sent, but for the first."""
    monkeypatch.setattr(GaussianTests, "at_once", lambda *_: None)
    estimate, words, original = GaussianTests.seconds, [], WorkersOfEngine.results_of_engines

    def noted(self, work, items, total, name, shared=None):
        words.append(name)
        return original(self, work, items, total, name, shared)

    monkeypatch.setattr(WorkersOfEngine, "results_of_engines", noted)
    monkeypatch.setattr(GaussianTests, "seconds", lambda *how: 1e-9 * estimate(*how))
    monkeypatch.setattr(level_pieces, "PIECE_SECONDS", 1e-9)
    X = table()
    expected = pycupc.pc(X, alpha=0.05, engine="cpu")
    assert_same(pycupc.pc(X, alpha=0.05, engine="cpu", executor=pool, numCores=1), expected)
    assert not words
    monkeypatch.setattr(cpu_engine, "MOST_PACE", 1e12)
    assert_same(pycupc.pc(X, alpha=0.05, engine="cpu", executor=pool, numCores=1), expected)
    assert "parts of level 3" in words


def test_dask_replaces_a_worker_killed_in_the_middle_of_level_3(sent, monkeypatch):
    pytest.importorskip("distributed", reason="distributed is not installed")
    X, killed, original = table(p=20), [], level_pieces.test_elsewhere
    expected = pycupc.pc(X, alpha=0.05, engine="cpu")
    with dask_cluster(n_workers=2) as cluster, cluster.get_client() as client:
        pids = client.run(os.getpid)

        def kill_one(elsewhere, graph, level, pieces, findings, take):
            def take_and_kill(*tested):
                if level == 3 and not killed:
                    killed.append(next(iter(pids.values())))
                    os.kill(killed[0], signal.SIGKILL)
                take(*tested)

            original(elsewhere, graph, level, pieces, findings, take_and_kill)

        monkeypatch.setattr(cpu_engine, "test_elsewhere", kill_one)
        assert_same(pycupc.pc(X, alpha=0.05, engine="cpu", executor=client.get_executor(), numCores=1), expected)
    assert killed


_KILLED = """
import os, signal, sys
sys.path[:0] = {path!r}
from checkpoint_runs import run, X
from pycupc.algorithm import level_checkpoint
from pycupc.engines.cpu import cpu_engine, level_pieces

level_pieces.PIECE_SECONDS, level_checkpoint._PATIENCE = 1e-12, 0.0
write = level_checkpoint.npz.write

def write_and_die(path, *args):
    write(path, *args)
    if path.name == {last!r}:
        os.kill(os.getpid(), signal.SIGKILL)

level_checkpoint.npz.write = write_and_die
if __name__ == "__main__":
    run({folder!r}, executor=2, numCores=1)
"""


@pytest.mark.parametrize("last", ["level-0001-part.npz", "level-0002-part.npz", "level-0002.npz"])
def test_survives_kill_9_with_workers(tmp_path, last):
    """The run is killed after it has written a file; its processes end, and the next run goes on."""
    folder, script = tmp_path / "kept", tmp_path / "killed.py"
    script.write_text(_KILLED.format(path=[str(SUPPORT), str(ROOT)], folder=str(folder), last=last))
    assert subprocess.run([sys.executable, script], check=False, timeout=300).returncode == -signal.SIGKILL
    assert (folder / last).exists()
    assert_same(run(folder), run())


_MPI = """
import sys
sys.path[:0] = {path!r}
import pycupc
from pycupc.engines.cpu import level_pieces
from {module} import table

if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    level_pieces.PIECE_SECONDS = 1e-9
    X, given = table(p=60), {{"alpha": 0.05, "engine": "cpu", "numCores": 1}}
    with MPIPoolExecutor() as executor:
        found = pycupc.pc(X, executor=executor, **given)
        expected = pycupc.pc(X, **given)
        print(executor.num_workers, found == expected, found.n_edgetests == expected.n_edgetests, found.max_ord > 2)
"""


def test_workers_of_mpi(tmp_path):
    path = [str(ROOT), str(SUPPORT), os.path.dirname(__file__)]
    words, errors = printed_with_mpi(tmp_path / "run.py", _MPI.format(path=path, module=Path(__file__).stem))
    assert words == ["2", "True", "True", "True"], errors
