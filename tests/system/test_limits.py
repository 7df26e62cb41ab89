"""What the machine refuses: address space beyond a limit, further threads; and what a command says then."""

import _thread
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from common import ROOT

from pycupc import cli
from pycupc.engines.cpu.threads import drawing, run
from pycupc.system import limits, machine
from pycupc.system.limits import NoThreadError

ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_limit_on_the_address_space_is_seen():
    program = """
import resource, numpy as np, pycupc
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
from pycupc.system import machine
assert machine.free_memory() < 6 << 30, machine.free_memory()
pycupc.pc(np.broadcast_to(np.random.default_rng(0).standard_normal((3, 1)), (3, 40_000)) + np.eye(3, 40_000), m_max=0,
        engine_options={"correlations": "dense"})
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert "EngineError: 40,000 variables need about 12.8 GB on engine 'cpu' and" in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit the address space")
@pytest.mark.parametrize("megabytes", [100, 290, 320, 380, 440, 500, 560, 620, 800])
def test_no_limit_on_memory_ends_in_a_traceback(tmp_path, megabytes):
    """Where the libraries, their threads or the data find no room: OpenBLAS would hang, LLVM end the process."""
    command = f"ulimit -v {megabytes * 1000}; exec {sys.executable} -m pycupc run --example --plot none --quiet --out o"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENV)
    assert (done.returncode, done.stderr) == (0, "") or done.returncode == cli.DEVICE, done.stderr
    assert "Traceback" not in done.stderr
    assert megabytes > 350 or done.stderr.endswith("left of the limit on memory (ulimit -v); the libraries need 350\n")
    assert (done.returncode == 0) == (tmp_path / "o").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit the address space")
def test_plot_needs_room_for_the_libraries_of_pictures(tmp_path):
    """Between 400 and 450 MB OpenBLAS waits for ever, or ends the process itself."""
    command = f"ulimit -v 450000; exec {sys.executable} -m pycupc plot results"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENV)
    assert done.returncode == cli.DEVICE
    assert done.stderr.endswith("left of the limit on memory (ulimit -v); the libraries need 650\n")


@pytest.fixture
def threads_at_most(monkeypatch):
    """Lets the system refuse every thread after this number of them."""

    def limit(most):
        started = []

        def start(*arguments, **options):
            if len(started) == most:
                raise RuntimeError("can't start new thread")
            started.append(real(*arguments, **options))
            return started[-1]

        monkeypatch.setattr(threading, name, start)
        monkeypatch.setattr(_thread, "start_new_thread", start)
        return started

    name = "_start_new_thread" if hasattr(threading, "_start_new_thread") else "_start_joinable_thread"
    real = getattr(threading, name)
    monkeypatch.setattr(limits, "_waiting", [])  # a thread that waits needs no start
    return limit


@pytest.mark.parametrize("most", [1, 2, 3])
def test_refused_threads_leave_their_tasks_to_the_others(threads_at_most, most):
    started = threads_at_most(most)
    assert list(machine.in_threads(lambda k: k * k, range(20), 4)) == [k * k for k in range(20)]
    assert len(started) == most
    states, done = set(), []
    threads_at_most(most)
    tasks = [lambda state, k=k: states.add(id(state)) or done.append(k) or 1 for k in range(50)]
    run(drawing(tasks), 4, tests=10**9)
    assert sorted(done) == list(range(50))
    assert len(states) <= most


def test_without_any_thread_the_error_names_the_limits(threads_at_most):
    threads_at_most(0)
    for work in (lambda: list(machine.in_threads(str, range(9), 4)), lambda: run(drawing([]), 4, tests=10**9)):
        with pytest.raises(NoThreadError, match=r"starts no further thread; raise the limit on memory \(ulimit -v\)"):
            work()


def threads_of_a_round():
    """The threads that do a round of work, each a task that waits for the others."""
    found, all_there = [], threading.Barrier(3)

    def task(_):
        found.append(threading.get_ident())
        all_there.wait()
        return 1

    run(drawing([task] * 3), 3, tests=10**9)
    return set(found)


def test_threads_wait_for_the_next_round_and_end_where_none_comes(monkeypatch):
    monkeypatch.setattr(limits, "_waiting", [])
    monkeypatch.setattr(limits, "WAITING", 0.2)
    first = threads_of_a_round()
    deadline = time.monotonic() + 10
    while len(limits._waiting) < 3:
        assert time.monotonic() < deadline
    assert threads_of_a_round() == first
    while limits._waiting:
        assert time.monotonic() < deadline
    assert len(threads_of_a_round()) == 3


def test_a_waiting_thread_holds_nothing_of_its_last_round(monkeypatch):
    monkeypatch.setattr(limits, "_waiting", [])
    held = np.zeros(10)
    gone = weakref.ref(held)
    run(lambda state, held=held: held.sum(), 1, tests=10**9)
    del held
    deadline = time.monotonic() + 10
    while gone() is not None:
        assert time.monotonic() < deadline


@pytest.mark.skipif(not hasattr(os, "fork"), reason="other systems do not fork")
@pytest.mark.parametrize("fork", ["os.fork()", "ctypes.PyDLL(None).fork()"], ids=["of Python", "of another language"])
def test_a_fork_starts_its_own_threads(fork):
    code = """
import ctypes, os, sys, time
from pycupc.engines.cpu.threads import drawing, run
from pycupc.system import limits

run(drawing([lambda state: 1] * 9), 2, tests=10**9)
while not limits._waiting:
    time.sleep(0.01)
if not (child := FORK):
    run(drawing([lambda state: 1] * 9), 2, tests=10**9)
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore", "-c", code.replace("FORK", fork)]
    assert subprocess.run(command, timeout=60, check=False).returncode == 7


def test_an_error_in_a_thread_is_raised_here():
    done = []
    with pytest.raises(ZeroDivisionError):
        for _ in machine.in_threads(lambda k: done.append(k) or 1 / (k - 3), range(1000), 4):
            pass
    assert len(done) < 20  # no thread goes on
