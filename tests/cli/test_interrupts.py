"""Ctrl-C, SIGTERM and kill -9 during a command: what is written, kept and said, and the exit code."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_runs import ENVIRONMENT, FILES, contents, is_whole, posix, printed
from common import run

import pycupc
from pycupc import cli
from pycupc.cli import interrupts
from pycupc.data import load_example
from pycupc.engines.cpu import CpuEngine


def start(*args, **options):
    """A run in a process of its own."""
    command = [sys.executable, "-m", "pycupc", "run", "--example=cell_nuclei", "--quiet", *args]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, **options)


def finish(job):
    """Wait for a run that succeeds."""
    _, err = job.communicate()
    assert job.returncode == cli.OK, err


@posix
@pytest.mark.parametrize("times", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(work, nuclei_fit, times):
    began = time.monotonic()
    finish(start("--out", "out"))
    takes = time.monotonic() - began
    (work / "out" / "mine.txt").write_text("mine")
    (work / "beside.txt").write_text("mine")
    rng = random.Random(times)
    moments = []
    for _ in range(times):
        job = start("--out", "out", "--force", "--alpha", rng.choice(["0.01", "0.02"]))
        time.sleep(rng.uniform(0, takes * 1.1) if moments else 0)  # the first one is killed for sure
        job.kill()
        moments.append(job.wait())
        job.stderr.close()
        listed = json.loads((work / "out" / "manifest.json").read_text(encoding="utf-8"))["files"]
        assert all((work / "out" / name).is_file() for name in listed)
        assert len(pycupc.PcAlgo.load(work / "out" / "result.npz").labels) == 30
        assert (work / "out" / "mine.txt").exists()
        assert (work / "beside.txt").read_text() == "mine"
    assert -signal.SIGKILL in moments
    for abandoned in work.glob(".out-*.part"):
        os.utime(abandoned, (0, 0))
    finish(start("--out", "out", "--force"))
    assert is_whole(work / "out", nuclei_fit)
    assert sorted(os.listdir(work)) == ["beside.txt", "out"]
    assert (work / "out" / "mine.txt").read_text() == "mine"


@posix
def test_ctrl_c_in_the_first_moments_is_silent(work):
    """From the first statement of the program on: before, the interpreter itself is being started."""
    program = "import os, sys; from pycupc.__main__ import main; os.write(1, b'x'); sys.exit(main())"
    for k in range(6):
        command = [sys.executable, "-c", program, "run", "--example=cell_nuclei", "--quiet"]
        job = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        job.stdout.read(1)
        time.sleep(0.03 * k)
        job.send_signal(signal.SIGINT)
        _, err = job.communicate()
        assert job.returncode in (-signal.SIGINT, cli.INTERRUPTED)
        assert err.decode() in ("", "pycupc: interrupted; nothing was written\n")
        assert [name for name in os.listdir(work) if not name.startswith(".")] == []


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_command_does_not_change_the_exit_code(number):
    program = f"""
import os, sys
from pycupc import __main__, cli
run = cli._run_command
cli._run_command = lambda args: [run(args), os.kill(os.getpid(), {int(number)})][0]
sys.exit(__main__.main())
"""
    command = [sys.executable, "-c", program, "doctor", "--no-r", "--no-engines"]
    assert subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL).returncode == cli.OK


#: Ends in a wait of the C library that no signal ends; Python's own lock is "free" meanwhile, or "held".
HANGING = """
import atexit, ctypes, importlib, os, sys
from pycupc import __main__, cli
from pycupc.cli import interrupts, writing
lock, moment = sys.argv.pop(1), sys.argv.pop(1)
def hang(*_, **__):
    library = (ctypes.CDLL if lock == "free" else ctypes.PyDLL)(None)
    mutex = ctypes.create_string_buffer(256)
    library.pthread_mutex_lock(mutex)
    os.write(1, b"waits")
    library.pthread_mutex_lock(mutex)
if moment == "work":
    importlib.import_module("pycupc.algorithm.pc").pc = hang
elif moment == "write":
    writing.write_manifest = hang
else:
    atexit.register(hang)
interrupts.PATIENCE = 1.0
sys.exit(__main__.main())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere only where Python's lock is free")
@pytest.mark.parametrize(
    ("lock", "moment", "codes"),
    [
        ("free", "work", [cli.INTERRUPTED]),
        ("free", "write", [cli.INTERRUPTED]),
        ("held", "work", [-signal.SIGALRM]),
        ("free", "end", [-signal.SIGALRM]),
    ],
)
def test_a_signal_ends_a_command_that_hangs_in_a_library(work, lock, moment, codes):
    """Nothing half-written is left, not even where --force was to replace results."""
    finish(start("--out", "out"))
    before = {path.name: path.read_bytes() for path in (work / "out").iterdir()}
    arguments = [
        "run",
        "--example=cell_nuclei",
        "--quiet",
        "--plot",
        "none",
        "--out",
        "out",
        "--force",
        "--checkpoint",
        "kept",
    ]
    command = [sys.executable, "-c", HANGING, lock, moment, *arguments]
    job = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert job.stdout.read(5) == b"waits"
    time.sleep(0.3)
    began = time.monotonic()
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate(timeout=100)
    assert job.returncode in codes
    assert time.monotonic() - began < 30
    assert not list(work.glob(".*.part"))
    if moment != "end":
        said = "pycupc: interrupted; what was running did not stop, so the process was ended\n"
        assert err.decode() == (said if lock == "free" else "")
        assert {path.name: path.read_bytes() for path in (work / "out").iterdir()} == before
    if moment == "write":
        assert (work / "kept" / "level-0000.npz").is_file()
        finish(start("--out", "other", "--checkpoint", "kept"))


class InterruptedWhenDeleted:
    """Presses Ctrl-C, and runs Python code, while Python deletes it, where it ignores an exception."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            time.sleep(0.001)


@posix
@pytest.mark.parametrize("answer", [None, "is being interrupted"])
def test_an_interrupt_that_python_ignores_is_sent_again(answer, monkeypatch, capfd):
    monkeypatch.setattr(interrupts, "PATIENCE", 600.0)

    def delete():
        InterruptedWhenDeleted()
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt), interrupts.interrupting(answer):
        delete()
    assert capfd.readouterr().err == ""


def handled_and_later(interrupted, no_more, error):
    """Handles an interrupt, and meets an error of another cause afterwards."""
    with suppress(type(error)):
        interrupted()
    no_more()
    raise error


@pytest.mark.parametrize("of_library", [ImportError, RuntimeError])
def test_what_a_library_makes_of_an_interrupt_is_an_interrupt(of_library):
    """Compiled modules turn one during their import into an ImportError, locks of Python one into a RuntimeError."""

    def interrupted():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise of_library("numpy._core.multiarray failed to import") from None

    with pytest.raises(KeyboardInterrupt), interrupts.interrupting():
        interrupted()
    with pytest.raises(of_library, match="later"), interrupts.interrupting("is being written") as no_more:
        handled_and_later(interrupted, no_more, of_library("later"))


def test_a_signal_while_a_line_is_printed_is_answered(monkeypatch, capfd):
    """Python refuses to print in the handler of a signal that arrives while it prints."""

    class Raw(io.RawIOBase):
        def writable(self):
            return True

        def write(self, text):
            signal.raise_signal(signal.SIGINT)
            return len(text)

    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(Raw()), line_buffering=True))
    with interrupts.interrupting("the results are being written") as no_more:
        no_more()
        print("level 3", file=sys.stderr)
    assert capfd.readouterr().err == "pycupc: the results are being written\n"


@pytest.fixture
def long_job(here, libraries_of_python):
    """Starts a run that would take hours, on a terminal; yields it and its first output once level 3 has begun."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    pycupc.skeleton(pycupc.SuffStat.from_data(load_example("cell_nuclei")))  # compiles, where that has not been done
    rng = np.random.default_rng(0)
    np.savetxt("d.csv", rng.standard_normal((200, 80)) + rng.standard_normal((200, 1)), delimiter=",")
    jobs = []

    def start(*args):
        terminal, end = pty.openpty()
        command = [sys.executable, "-m", "pycupc", "run", "d.csv", "--alpha", "0.9", "--plot", "none", *args]
        env = {**os.environ, "PYTHONPATH": str(Path(pycupc.__file__).parent.parent)}
        jobs.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True, env=env))
        os.close(end)
        seen = ""
        while "level  3" not in seen and "level  4" not in seen:  # the first that take long
            seen += os.read(terminal, 4096).decode()
        time.sleep(0.3)
        return jobs[-1], seen

    yield start
    for job in jobs:
        job.kill()
        job.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_run_and_leaves_nothing(here, long_job, number):
    job, seen = long_job()
    assert "edges left" in seen  # progress on a terminal
    job.send_signal(number)
    assert job.wait(600) == cli.INTERRUPTED  # in the middle of a level
    assert contents(here) == ["d.csv"]


def test_interrupted_run_keeps_finished_levels_when_asked(here, long_job):
    """However often Ctrl-C is pressed meanwhile."""
    job, _ = long_job("--keep-partial", "--out", "part")
    for k in range(21):
        if job.poll() is None:
            job.send_signal(signal.SIGINT if k % 3 else signal.SIGTERM)
            time.sleep(0.02)
    assert job.wait(600) == cli.INTERRUPTED
    fit = pycupc.PcAlgo.load("part/result.npz")
    assert fit.max_ord >= 1
    assert "interrupted" in fit.summary()
    same = pycupc.skeleton(pycupc.SuffStat.from_data(pd.read_csv("d.csv", header=None)), alpha=0.9, m_max=fit.max_ord)
    np.testing.assert_array_equal(fit.skeleton, same.skeleton)
    assert set(contents(here)) == {"d.csv", "part", *(f"part/{name}" for name in FILES)}


def test_interrupt_during_the_search_for_p_values_keeps_the_result(here, monkeypatch, capsys):
    """With the p-values of the tests that were made, here those up to some earlier level: twice as large z."""

    class Unfinished:
        def __init__(self, z):
            self.z = 2 * z

        def __call__(self):
            raise KeyboardInterrupt

    full = pycupc.pc(load_example("cell_nuclei"))
    state = CpuEngine.state
    unfinished = lambda engine: state(engine)._replace(unfinished=Unfinished(state(engine).z))  # noqa: E731
    monkeypatch.setattr(CpuEngine, "state", unfinished)
    assert run("run", "--example=cell_nuclei", "--out", "out", "--plot", "none") == cli.INTERRUPTED
    said = printed(capsys)[1]
    assert said.startswith(
        "pycupc: interrupted while the largest p-values were sought: some may be larger than written"
    )
    assert said.endswith("; the result is in out/")
    fit = pycupc.PcAlgo.load("out/result.npz")
    np.testing.assert_array_equal(fit.graph, full.graph)
    met, largest = (f.p_values.of_edges(f.sparse_graph) for f in (fit, full))
    assert (met < largest).all()
    assert "p values: of the tests that were made; the search" in fit.summary()
