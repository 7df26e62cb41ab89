"""Calls in a second process: done there, here if it dies, and errors come back."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pycupc.cli.second_process import SecondProcess


def note_process(path):
    """Write down which process this is, and return it."""
    Path(path).write_text(str(os.getpid()))
    return os.getpid()


def divide(path, number):
    Path(path).write_text(str(1 / number))


def wait_for(path, _):
    """Return when the file is there; if it never comes, nothing in these tests waits for ever."""
    end = time.monotonic() + 60
    while not Path(path).exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def sleep_and_note(path, _):
    time.sleep(30)
    note_process(path)


def noisy():
    print("not a reply")


@pytest.fixture
def second():
    with SecondProcess() as process:
        yield process


def test_calls_are_made_in_the_other_process(second, tmp_path):
    waits = [second.start(note_process, tmp_path / str(k)) for k in range(3)]
    waits.append(second.start(noisy))
    *values, nothing = [wait() for wait in waits]
    made_by = [int((tmp_path / str(k)).read_text()) for k in range(3)]
    assert len(set(made_by)) == 1
    assert os.getpid() not in made_by
    assert values == made_by
    assert nothing is None


def test_errors_come_back(second, tmp_path):
    wrong, right = second.start(divide, tmp_path / "a", 0), second.start(divide, tmp_path / "b", 2)
    with pytest.raises(ZeroDivisionError):
        wrong()
    right()
    assert (tmp_path / "b").read_text() == "0.5"


def test_a_call_that_nobody_awaits_does_not_answer_for_the_next(second, tmp_path):
    second.start(divide, tmp_path / "a", 0)
    second.start(divide, tmp_path / "b", 2)()
    assert (tmp_path / "b").read_text() == "0.5"


def test_a_large_call_is_handed_over_while_another_is_made(second, tmp_path):
    there = tmp_path / "there"
    wait = second.start(wait_for, there, None), second.start(wait_for, there, bytes(10_000_000))
    there.touch()  # the first call ends only now: the second was handed over before
    wait[0]()
    wait[1]()


def test_the_end_does_not_wait_for_calls_that_are_not_sent(capfd, tmp_path):
    with SecondProcess() as process:
        for k in range(3):
            process.start(sleep_and_note, tmp_path / str(k), bytes(10_000_000))
    assert list(tmp_path.iterdir()) == []  # no call came to its end
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_if_it_dies_the_calls_are_made_here(second, tmp_path):
    second.start(noisy)()
    os.kill(second._process.pid, signal.SIGKILL)
    second._process.wait()
    assert second.start(note_process, tmp_path / "a")() == os.getpid()
    assert int((tmp_path / "a").read_text()) == os.getpid()


def test_without_a_second_process_the_calls_are_made_here(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with SecondProcess() as process:
        assert process.start(note_process, tmp_path / "a")() == os.getpid()
    assert SecondProcess().start(note_process, tmp_path / "a")() == os.getpid()  # which was not entered
