"""The same answer for every executor, number of workers, order and restart; what is finished is kept."""

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from checkpoint_runs import ROWS, assert_same, in_parts
from checkpoint_runs import run as run_to_the_end
from common import ROOT, SUPPORT, refused
from damaged_files import corrupted
from elsewhere import Elsewhere
from stability_data import dask_cluster, discrete, gaussian

import pycupc
from pycupc.algorithm.level_checkpoint import Checkpoint
from pycupc.discrete import disCItest
from pycupc.engines.protocol import EngineError
from pycupc.results.npz import StudyFile
from pycupc.stability import StabilityError, StabilityInterrupted, processes
from pycupc.stability.stability_arguments import Plan, checked_study
from pycupc.stability.study import Study
from pycupc.system import executors

pytestmark = pytest.mark.usefixtures("libraries_of_python")
CALL = {"n_resamples": 12, "alpha": (0.01, 0.1), "scheme": "complementary", "random_state": 9}


@pytest.fixture(scope="module")
def data():
    return gaussian(n=60, p=6)


@pytest.fixture(scope="module")
def expected(data):
    return pycupc.stability(data, **CALL)


def files(folder):
    return sorted(path.name for path in folder.glob("resample-*.npz"))


def test_threads(data, expected):
    with ThreadPoolExecutor(3) as executor:
        assert pycupc.stability(data, executor=executor, **CALL) == expected


def test_side_by_side_in_this_process(data):
    """Two resamples at a time, as an engine with a device may want them."""
    study = checked_study(data, Plan(8, "bootstrap", 0.5, 1, None), 0.05, {})
    one_by_one = {o.index: o for o in processes.outcomes_here(study, range(8))}
    both = {o.index: o for o in processes.outcomes_here(study, range(8), at_once=2)}
    assert both.keys() == one_by_one.keys()
    for i, outcome in both.items():
        assert outcome.arrays.keys() == one_by_one[i].arrays.keys()
        assert all(np.array_equal(values, one_by_one[i].arrays[name]) for name, values in outcome.arrays.items())


def test_data_are_sent_once_per_worker(data, expected):
    for n_resamples in (12, 60):
        executor = Elsewhere()
        found = pycupc.stability(data, executor=executor, **{**CALL, "n_resamples": n_resamples})
        assert executor.sent == 1
        assert executor.tasks <= n_resamples
        assert n_resamples == 60 or found == expected


def test_data_reach_workers_that_any_task_may_reach(data, monkeypatch):
    """Some tasks that bring the data go to workers that have them; the others get them soon all the same."""
    monkeypatch.setattr(executors, "available_cores", lambda: 4)
    call = {**CALL, "n_resamples": 100}
    executor = Elsewhere(names=("one", "two", "three", "four"))
    assert pycupc.stability(data, executor=executor, **call) == pycupc.stability(data, **call)
    assert 4 <= executor.sent < 20
    assert len(executor._replies) == executor.tasks  # no two calls were equal
    assert all(executor.kept[name] for name in executor.names)


def test_each_core_gets_a_slow_resample(data, monkeypatch):
    """Before the first is done: all six are waiting for each other."""
    plain, together = Study.outcome, threading.Barrier(6, timeout=600)

    def outcome(self, i):
        together.wait()
        return plain(self, i)

    monkeypatch.setattr(Study, "outcome", outcome)
    monkeypatch.setattr(executors, "available_cores", lambda: 6)
    with ThreadPoolExecutor(6) as executor:
        assert pycupc.stability(data, n_resamples=6, random_state=1, executor=executor).n_resamples == 6


def test_restarted_workers_are_sent_the_data_again(data, expected):
    assert pycupc.stability(data, executor=Elsewhere(lifetime=5), **CALL) == expected


def test_one_thread_per_task(data, monkeypatch):
    """With an executor the cpu engine gets one thread, unless the caller says otherwise."""
    seen = []
    plain = processes.outcome_of

    def work(study, i):
        seen.append(study.arguments["numCores"])
        return plain(study, i)

    monkeypatch.setattr(processes, "outcome_of", work)
    with ThreadPoolExecutor(1) as executor:
        pycupc.stability(data, n_resamples=1, random_state=0, executor=executor)
        pycupc.stability(data, n_resamples=1, random_state=0, executor=executor, numCores=2)
    assert seen == [1, 2]


def test_a_task_that_fails_once_is_sent_again(data):
    class Flaky(ThreadPoolExecutor):
        sent = 0

        def submit(self, *args):
            self.sent += 1
            return super().submit(*args) if self.sent != 3 else super().submit(int, "no number")

    with Flaky(2) as executor:
        assert pycupc.stability(data, executor=executor, **CALL) == pycupc.stability(data, **CALL)


def test_dask_with_killed_workers(data, tmp_path, monkeypatch):
    """Of two workers one is killed in the middle: its work is done again, and the answer is the same.

    Resamples, and level 0 of a run, by one cluster, which starts the killed worker again.
    """
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    call, killed = {**CALL, "n_resamples": 80}, []
    with dask_cluster(n_workers=2, processes=True) as cluster, distributed.Client(cluster) as client:

        def kill(done, total=None):
            if done >= 20 and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        assert pycupc.stability(data, executor=client.get_executor(), progress=kill, **call) == pycupc.stability(
            data, **call
        )
        assert killed
        killed.clear()
        client.wait_for_workers(2)
        in_parts(monkeypatch)
        done, add = [], Checkpoint.add

        def add_and_kill(self, cut, number, found):
            add(self, cut, number, found)
            done.append(number)
            kill(len(done))

        monkeypatch.setattr(Checkpoint, "add", add_and_kill)
        fit = run_to_the_end(tmp_path, executor=client.get_executor(), **ROWS)
    assert killed
    assert sorted(done) == list(range(28))
    assert_same(fit, run_to_the_end())


_MPI = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
import pycupc
from stability_data import gaussian

if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    call = {{"n_resamples": 12, "scheme": "complementary", "random_state": 9}}
    data = gaussian(n=60, p=6)
    with MPIPoolExecutor() as executor:
        found = pycupc.stability(data, executor=executor, **call)
        print(executor.num_workers, found == pycupc.stability(data, **call))
"""


def test_mpi_pool(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
    if mpiexec is None:
        pytest.skip("mpich is not installed")
    script = tmp_path / "run.py"
    script.write_text(_MPI.format(root=str(ROOT), here=str(SUPPORT)))
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout.split() == ["2", "True"], run.stderr


_RUN = """
import os, signal, sys
sys.path[:0] = [{root!r}, {here!r}]
import pycupc
from stability_data import gaussian

def progress(done, total):
    if done == {stop}:
        {action}

pycupc.stability(gaussian(n=60, p=6), checkpoint={folder!r}, progress=progress, **{call!r})
"""


def _stopped_run(folder, action, stop=5):
    code = _RUN.format(root=str(ROOT), here=str(SUPPORT), folder=str(folder), stop=stop, action=action, call=CALL)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_stopped_run_goes_on(data, expected, tmp_path, name):
    """After kill -9 of the whole process, or Ctrl-C, the finished resamples are there, and the rest is computed."""
    folder = tmp_path / "checkpoint"
    run = _stopped_run(folder, f"os.kill(os.getpid(), signal.{name})")
    assert files(folder) == [f"resample-{i:06}.npz" for i in range(5)], run.stderr
    assert name == "SIGKILL" or "StabilityInterrupted: interrupted after 5 of 12 resamples" in run.stderr
    seen = []
    resumed = pycupc.stability(data, checkpoint=folder, progress=lambda *a: seen.append(a), **CALL)
    assert resumed == expected
    assert seen[:2] == [(5, 12), (6, 12)]
    assert len(files(folder)) == 12
    assert pycupc.stability(data, checkpoint=folder, progress=lambda *a: seen.append(a), **CALL) == expected
    assert seen[-1] == (12, 12)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("times", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(data, tmp_path, times):
    """Wherever the process dies, the next one goes on; after many deaths the answer is that of one run."""
    call = {**CALL, "n_resamples": 2000}
    code = _RUN.format(root=str(ROOT), here=str(SUPPORT), folder=str(tmp_path / "c"), stop=-1, action="", call=call)
    code = code.replace("    if done == -1:\n        \n", "    pass\n")
    moments, kept = np.random.default_rng(0).uniform(0, 1.5, size=times), 0
    for moment in moments:
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(files(tmp_path / "c")) <= kept and process.poll() is None:
            time.sleep(0.01)
        time.sleep(moment / 3)
        process.kill()
        process.wait()
        assert len(files(tmp_path / "c")) > kept
        kept = len(files(tmp_path / "c"))
    call["n_resamples"] = 2 * (kept // 2) + 10  # an even number
    assert pycupc.stability(data, checkpoint=tmp_path / "c", **call) == pycupc.stability(data, **call)


def assert_pickles(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.partial == error.partial


def test_interrupt_keeps_what_is_finished(data, expected, tmp_path):
    def interrupt(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(StabilityInterrupted, match="interrupted after 3 of 12 resamples; they are kept in") as caught:
        pycupc.stability(data, checkpoint=tmp_path / "c", progress=interrupt, **CALL)
    assert caught.value.partial.n_resamples == 3
    refused("needs both halves of every pair", caught.value.partial.bound, 0.9)
    assert pycupc.stability(data, checkpoint=tmp_path / "c", **CALL) == expected
    assert_pickles(caught.value)
    with pytest.raises(KeyboardInterrupt, match="with a checkpoint they would be kept"):
        pycupc.stability(data, progress=interrupt, **CALL)


def test_two_processes_until_they_are_killed(data, expected, tmp_path):
    """For each study the answer of one process. A killed process breaks the pool for good: the error says so and what
    is kept.
    """
    table, how = discrete(n=100, p=4), {"indepTest": disCItest, "n_resamples": 4, "random_state": 1}
    of_cstar, folder = {"n_resamples": 12, "alpha": 0.1, "random_state": 9, "q": (3, 5, 8, 10)}, tmp_path / "c"

    def kill(done, _):
        if done == 2:
            for child in multiprocessing.active_children():
                child.kill()

    call = {**CALL, "n_resamples": 150}
    words = r"BrokenProcessPool.*they are kept in .*resumes from there"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert pycupc.stability(data, executor=executor, **CALL) == expected
        assert pycupc.stability(table, executor=executor, **how) == pycupc.stability(table, **how)
        assert pycupc.cstar(data, executor=executor, **of_cstar) == pycupc.cstar(data, **of_cstar)
        with pytest.raises(StabilityError, match=words) as caught:
            pycupc.stability(data, executor=executor, checkpoint=folder, progress=kill, **call)
    assert 2 <= caught.value.partial.n_resamples == len(files(folder)) < 150
    assert pycupc.stability(data, checkpoint=folder, **call) == pycupc.stability(data, **call)


@pytest.mark.parametrize(("failing", "n_resamples", "elsewhere"), [(4, 12, False), (150, 300, True)])
def test_a_resample_that_fails(data, monkeypatch, failing, n_resamples, elsewhere):
    """The error names the resample, and has all that had finished before; it is an EngineError, as pc's own are."""
    plain = Study.outcome

    def outcome(self, i):
        if i == failing:
            raise MemoryError("no room")
        return plain(self, i)

    monkeypatch.setattr(Study, "outcome", outcome)
    words = rf"resample {failing} failed \(MemoryError: no room\) after \d+ of {n_resamples}"
    call = {**CALL, "n_resamples": n_resamples}
    with ThreadPoolExecutor(1) as executor, pytest.raises(EngineError, match=words) as caught:
        pycupc.stability(data, executor=executor if elsewhere else None, **call)
    assert isinstance(caught.value, StabilityError)
    done = caught.value.partial.resamples.tolist()
    assert set(done) >= set(range(failing)) if elsewhere else done == list(range(failing))
    assert f"after {len(done)} of" in str(caught.value)
    assert_pickles(caught.value)


# -- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(data, tmp_path):
    pycupc.stability(data, checkpoint=tmp_path / "kept", **{**CALL, "n_resamples": 4})
    return tmp_path / "kept"


def test_more_resamples_later(data, expected, kept):
    assert pycupc.stability(data, checkpoint=kept, **CALL) == expected
    fewer = pycupc.stability(data, checkpoint=kept, **{**CALL, "n_resamples": 2})
    assert fewer == pycupc.stability(data, **{**CALL, "n_resamples": 2})


OTHER_TYPES = {"n_resamples": np.int64(12), "alpha": np.array([0.01, 0.1]), "random_state": np.int32(9)}
OTHER_TYPES |= {"solve_confl": np.False_, "m_max": np.inf, "fraction": np.float32(0.5)}


@pytest.mark.parametrize("same", [OTHER_TYPES, {"random_state": None}, {"engine": "reference", "numCores": 1}])
def test_other_forms_of_the_same_arguments(data, expected, kept, same):
    """An argument in another type, the seed of the checkpoint, another engine with one thread."""
    assert pycupc.stability(data, checkpoint=kept, **CALL | same) == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": 0.05}, r"alpha was \[0.01, 0.1\], now \[0.05\]"),
        ({"scheme": "subsample"}, "scheme was 'complementary', now 'subsample'"),
        ({"random_state": 10}, "random_state was 9, now 10"),
        ({"m_max": 2}, "m_max was 'inf', now 2.0"),
        ({"solve_confl": True}, "solve_confl was False, now True"),
        ({"fixedGaps": [("v0", "v1")]}, "fixedGaps differ"),
        ({"labels": list("abcdef")}, "labels differ"),
        ({"data": gaussian(n=60, p=6) + 1e-9}, "data differ; name another folder, or delete it"),
    ],
)
def test_another_study_is_refused(data, kept, change, words):
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    with pytest.raises(ValueError, match=f"checkpoint .* is of another study: {words}"):
        pycupc.stability(**{"data": data, "checkpoint": kept, **CALL, **change})
    assert before == {path.name: path.read_bytes() for path in kept.iterdir()}


def test_folders_of_others_are_refused(data, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    refused(r"holds other files and no study.json", pycupc.stability, data, checkpoint=tmp_path, **CALL)
    refused("is not a folder", pycupc.stability, data, checkpoint=tmp_path / "note.txt", **CALL)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": "pycupc-checkpoint-1"}', '{"format": "x", "study": {}}']
)
def test_damaged_study_file(data, kept, content):
    (kept / "study.json").write_text(content)
    with pytest.raises(ValueError, match="study.json is not a checkpoint of pycupc.stability, or is damaged"):
        pycupc.stability(data, checkpoint=kept, **CALL)


def damage(path, times, read, expected):
    """Errors of `read` for a damaged file; without one it reads what is `expected`."""
    good, rng, refused = path.read_bytes(), np.random.default_rng(0), []
    for _ in range(times):
        path.write_bytes(corrupted(good, rng))
        try:
            assert read() == expected
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > times / 2
    return refused


def test_damaged_resample(data, kept):
    """Whatever happens to a file: the documented error, with the remedy; or the file is as good as before."""
    path, call = kept / "resample-000002.npz", {**CALL, "n_resamples": 4}
    expected = pycupc.stability(data, **call)
    refused = damage(path, 60, lambda: pycupc.stability(data, checkpoint=kept, **call), expected)
    assert all("delete the file, and the resample is computed again" in text for text in refused)
    path.unlink()
    assert pycupc.stability(data, checkpoint=kept, **call) == expected


def test_exchanged_resamples_are_refused(data, kept):
    (kept / "resample-000001.npz").write_bytes((kept / "resample-000002.npz").read_bytes())
    refused("another resample; delete the file", pycupc.stability, data, checkpoint=kept, **CALL)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_checkpoint_that_could_not_be_begun(data, expected, tmp_path, monkeypatch, error):
    def fails(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", fails)
        patch.setattr(os, "replace", fails)
        with pytest.raises(type(error)):
            pycupc.stability(data, checkpoint=tmp_path / "kept", **CALL)
    assert list((tmp_path / "kept").iterdir()) == []
    assert pycupc.stability(data, checkpoint=tmp_path / "kept", **CALL) == expected


@pytest.mark.parametrize("links", [True, False])
def test_two_runs_that_begin_a_checkpoint_at_the_same_time(data, expected, tmp_path, monkeypatch, links):
    """The second has read that there is no study before the first wrote its own, which stays."""
    folder, read, seen = tmp_path / "kept", StudyFile.read, []

    def reads(study, path):
        found = read(study, path)
        if not seen:
            seen.append(path)
            pycupc.stability(data, checkpoint=folder, **CALL)
        return found

    def without_links(*_):
        raise OSError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(StudyFile, "read", reads)
    with pytest.raises(ValueError, match="is of another study: random_state was"):
        pycupc.stability(data, checkpoint=folder, **{**CALL, "random_state": 77})
    assert pycupc.stability(data, checkpoint=folder, **CALL) == expected


def test_the_unfinished_file_of_a_run_that_begins(data, expected, tmp_path):
    (tmp_path / ".study.json-0a1b2c3d.part").touch()
    assert pycupc.stability(data, checkpoint=tmp_path, **CALL) == expected


# -- saved results ----------------------------------------------------------------------------------------------------


def test_save_and_load(expected, data, tmp_path):
    expected.save(tmp_path / "s.npz")
    loaded = pycupc.Stability.load(tmp_path / "s.npz")
    assert loaded == expected
    assert loaded.to_pandas().equals(expected.to_pandas())
    assert loaded.bound(0.9, 0.1) == expected.bound(0.9, 0.1)
    assert np.array_equal(loaded.indices(3), expected.indices(3))
    fit = pycupc.pc(data)
    fit.save(tmp_path / "fit.npz")
    with pytest.raises(ValueError, match=r"fit.npz is not a result that Stability.save wrote.*pycupc-stability-1"):
        pycupc.Stability.load(tmp_path / "fit.npz")
    refused(r"s.npz is not a result that PcAlgo.save wrote", pycupc.PcAlgo.load, tmp_path / "s.npz")
    with pytest.raises(FileNotFoundError):
        pycupc.Stability.load(tmp_path / "none.npz")


def test_damaged_results(expected, tmp_path):
    path = tmp_path / "s.npz"
    expected.save(path)
    refused = damage(path, 200, lambda: pycupc.Stability.load(path), expected)
    assert all("is not a result that Stability.save wrote, or is damaged" in text for text in refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", ["a", "a"]), ("labels", []), ("alphas", []), ("alphas", ["x"]), ("alphas", [2.0]), ("n", -1),
        ("n", "x"), ("scheme", "none"), ("fraction", 0), ("random_state", -1), ("n_pairs", None), ("arguments", []),
        ("resamples", [1, 1]), ("resamples", []), ("low_0", [5, 4]), ("high_0", [99] * 50), ("kinds_0", [1, 2, 3]),
        ("n_tests", [1.0]), ("constant", [1]), ("n_copies", []),
    ],
)  # fmt: skip
def test_files_that_lie(expected, tmp_path, name, value):
    """Files with valid checksums and wrong content."""
    from pycupc.results import npz

    meta, arrays = expected.meta(), expected.to_arrays()
    if name in meta:
        meta[name] = value
    else:
        kind = arrays[name].dtype
        arrays[name] = np.array(value, dtype=kind)
    npz.write(tmp_path / "s.npz", json.loads(json.dumps(meta)), arrays, pycupc.Stability.KIND)
    refused("is not a result that Stability.save wrote, or is damaged", pycupc.Stability.load, tmp_path / "s.npz")
