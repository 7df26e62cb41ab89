"""The Python side of a computation for R (pycupc/r/transport.py), without R."""

import ctypes
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from pycupc.engines.cpu import CpuEngine
from pycupc.r import transport, worker_thread
from pycupc.r.transport import Job
from pycupc.r.worker_thread import Background


@pytest.fixture(autouse=True)
def vectors(monkeypatch):
    """Arrays in place of R's vectors."""
    C = np.where(np.eye(6), 1.0, 0.4).ravel()
    monkeypatch.setattr(transport, "RVectors", lambda address: {"C": C})


def options(**changed):
    arguments = {"alpha": 0.05, "numCores": 1, "engine": "cpu"}
    given = {
        "labels": list("abcdef"),
        "progress": False,
        "pMax": True,
        "evidence": True,
        "test": "gaussCItest",
        "n": 100,
    }
    return given | {"arguments": arguments} | changed


@pytest.mark.parametrize("wanted", [True, False])
def test_p_values_are_sought_in_the_thread_that_r_can_interrupt(monkeypatch, wanted):
    sought = []

    class Unfinished:
        def __init__(self, z):
            self.z = z

        def __call__(self):
            sought.append(threading.current_thread())
            return self.z

    state = CpuEngine.state
    unfinished = lambda engine: state(engine)._replace(unfinished=Unfinished(state(engine).z))  # noqa: E731
    monkeypatch.setattr(CpuEngine, "state", unfinished)
    job = Job("skeleton", "address")
    try:
        job.start(options(pMax=wanted), ["C"])
        while (event := job.step()) is None or event["kind"] != "reply":
            pass
        assert event["error"] is None
        assert len(sought) == wanted
        assert threading.current_thread() not in sought
    finally:
        job.close()


def last_event(job):
    """The next event that is no line of the log."""
    while (event := job.step()) is None or event["kind"] == "line":
        pass
    return event


def compute(**changed):
    """The reply of a small computation, as R would get it."""
    job = Job("skeleton", "address")
    try:
        job.start(options(**changed), ["C"])
        return last_event(job)
    finally:
        assert job.close()


def test_the_status_of_the_orientation_is_a_field_of_the_reply(monkeypatch):
    """Beside the text, which is only shown."""
    seen = set()
    for seed in (0, 46, 54):  # whose colliders contradict each other in each way
        rng = np.random.default_rng(seed)
        C = np.corrcoef(rng.standard_normal((40, 18)) @ rng.standard_normal((18, 18)), rowvar=False)
        monkeypatch.setattr(transport, "RVectors", lambda address, C=C: {"C": C.ravel()})
        for u2pd in ("relaxed", "rand", "retry"):
            job = Job("pc", "address")
            arguments = {"alpha": 0.2, "numCores": 1, "engine": "cpu", "u2pd": u2pd}
            try:
                job.start(options(labels=list("abcdefghijklmnopqr"), arguments=arguments, n=40), ["C"])
                reply = last_event(job)
            finally:
                assert job.close()
            assert reply["orientation"] == ("" if u2pd == "relaxed" else f"{u2pd}: {reply['status']}")
            assert reply["status"] != "random" or reply["note"] == ""
            seen.add(reply["status"])
    assert seen == {"relaxed", "extendable", "reoriented", "forced", "random"}


def test_no_thread_is_left_after_a_computation():
    """A thread that waits for Python's lock when R forks would block the child."""
    before = threading.active_count()
    assert compute()["error"] is None
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_fork_in_c_computes(interrupted):
    """As parallel::mclapply forks: Python's own hooks do not run."""
    if interrupted:
        interrupt_one()
    else:
        compute()
    child = ctypes.PyDLL(None).fork()
    if child == 0:
        status = 1
        try:
            status = 0 if compute()["error"] is None else 2
        finally:
            os._exit(status)
    for _ in range(600):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0


def interrupt_one():
    running = threading.Event()

    def forever():
        running.set()
        while True:
            time.sleep(0.01)

    job = Background()
    job.begin(forever)
    assert running.wait(600)
    assert job.close()


def test_an_interrupted_thread_is_used_again():
    interrupt_one()
    (kept,) = worker_thread._Worker.kept
    assert compute()["error"] is None
    assert worker_thread._Worker.kept == [kept]


def test_a_computation_inside_a_test_of_another_one():
    outer = Job("skeleton", "address")
    try:
        outer.start(options(test="", arguments={"alpha": 0.05}, labels=list("abc")), [])
        event, n = last_event(outer), 0
        while event["kind"] == "tests":
            assert compute()["error"] is None
            made = [0 if reverse else 1 for reverse in event["reverse"]]  # every set separates
            event = outer.answer([*made, *made, *(0.5 for _ in made)])
            event, n = event if event and event["kind"] != "line" else last_event(outer), n + sum(made)
        assert event["error"] is None
        assert n == 3
    finally:
        assert outer.close()


def test_a_failure_outside_the_computation_is_a_reply():
    job = Background()
    job.begin(lambda: 1 / 0)
    event = last_event(job)
    assert (event["error"], event["message"]) == ("ZeroDivisionError", "division by zero")
    assert job.close()


def test_a_dead_thread_is_an_error_and_nobody_is_interrupted(monkeypatch):
    monkeypatch.setattr(Background, "_work", lambda *_: None)  # as if it had died: no event, no end
    interrupted = []
    monkeypatch.setattr(worker_thread, "_raise_interrupt", interrupted.append)
    job = Background()
    job.begin(dict)
    job._worker.tasks.put(None)
    event = last_event(job)
    assert event["kind"] == "reply"
    assert event["error"] == "RuntimeError"
    assert job.close()
    assert not interrupted


def test_close_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(worker_thread, "LONGEST", 0.2)
    go_on, running, ended = threading.Event(), threading.Event(), threading.Event()

    def stubborn():
        running.set()
        while not go_on.is_set():
            try:
                go_on.wait(0.01)
            except KeyboardInterrupt:
                continue
        ended.set()
        return {}

    job = Background()
    job.begin(stubborn)
    assert running.wait(600)
    assert not job.close()
    go_on.set()
    assert ended.wait(600)


class InterruptedWhenDeleted:
    """Runs Python code while Python deletes it, where it ignores an interrupt."""

    def __init__(self, runs):
        self.runs = runs

    def __del__(self):
        self.runs()


def test_an_interrupt_that_python_ignores_is_sent_again(monkeypatch, capsys):
    monkeypatch.setattr(worker_thread, "PATIENCE", 600.0)
    running, deleted = threading.Event(), []

    def in_delete():
        running.set()
        while True:
            time.sleep(0.001)

    def compute():
        for k in range(2):
            InterruptedWhenDeleted(in_delete)
            deleted.append(k)
        while True:
            time.sleep(0.001)

    job = Background()
    job.begin(compute)
    assert running.wait(600)
    began = time.monotonic()
    assert job.close()
    assert deleted == [0, 1]
    assert time.monotonic() - began < 300
    assert "ignored" not in capsys.readouterr().err


@pytest.fixture
def other_handler():
    """Python's usual handler of Ctrl-C, as before the first computation; in the end the one that was there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("other_handler")
def test_python_handles_ctrl_c_when_no_computation_is_open():
    outer, inner = Background(), Background()
    for job in (inner, outer):
        signal.raise_signal(signal.SIGINT)
        assert job.close()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    job = Background()
    del job  # R has forgotten it, after an error
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="there, reticulate does not use a signal handler")
@pytest.mark.usefixtures("other_handler")
def test_ctrl_c_while_the_handler_is_installed_is_sent_again(monkeypatch):
    """The handler in C, here one that counts, notifies R; it is not there for some microseconds, once."""
    notified, install = [], signal.signal
    in_c = ctypes.CFUNCTYPE(None, ctypes.c_int)(notified.append)
    ctypes.CDLL(None).signal(signal.SIGINT, in_c)

    def then_ctrl_c(*arguments):
        before = install(*arguments)
        signal.raise_signal(signal.SIGINT)
        return before

    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", then_ctrl_c)
        for times in (1, 2, 3):
            job = Background()
            assert len(notified) == times
            assert job.close()
            assert len(notified) == times
            signal.raise_signal(signal.SIGINT)
