"""The same answer for every executor, number of workers and order; what is finished is kept."""

import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from checkpoint_runs import ROWS, assert_same, in_parts
from checkpoint_runs import run as run_to_the_end
from common import ROOT, SUPPORT, refused
from elsewhere import Elsewhere, printed_with_mpi
from stability_data import dask_cluster, discrete
from stability_runs import CALL, files

import pycupc
from pycupc.algorithm.level_checkpoint import Checkpoint
from pycupc.discrete import disCItest
from pycupc.engines.protocol import EngineError
from pycupc.stability import StabilityError, StabilityInterrupted, processes
from pycupc.stability.stability_arguments import Plan, checked_study
from pycupc.stability.study import Study
from pycupc.system import executors

pytestmark = pytest.mark.usefixtures("libraries_of_python")


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
    words, errors = printed_with_mpi(tmp_path / "run.py", _MPI.format(root=str(ROOT), here=str(SUPPORT)))
    assert words == ["2", "True"], errors


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
