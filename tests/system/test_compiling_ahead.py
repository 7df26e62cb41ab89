"""Processes that compile beside a run, and the loaders that they are given."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pycupc.system import code_cache, compiling_ahead
from pycupc.system.turns import HAVE_TURNS

pytestmark = pytest.mark.skipif(not HAVE_TURNS, reason="no locks of files here")


def process(script: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs a script of Python, with a folder of its own for compiled code."""
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(
        command, env={**os.environ, **own}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def output(script: str, folder: Path, *arguments: str) -> str:
    with process(script, folder, *arguments) as running:
        text = running.communicate(timeout=200)[0]
    assert running.returncode == 0
    return text


#: Runs FCI on 60 variables, and prints which of the functions that loaders load were loaded and compiled.
RUN = """
import json, warnings
import numpy as np
import pycupc
from pycupc.engines.cpu import loaders
from pycupc.orientation.meek import _apply_rules
from pycupc.orientation.pag import local_rules, path_rules
from pycupc.system import compiling_ahead, jit
warnings.simplefilter("ignore")
compiling_ahead.available_cores = lambda: 1
jit.MOST_PLAIN_STEPS = 0
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 60))
for j in range(1, 60):
    X[:, j] += 0.6 * X[:, rng.choice(j, min(j, 1 + int(rng.random() < 0.3)), replace=False)].sum(axis=1)
for run in (pycupc.pc, pycupc.fci):
    run(X, alpha=0.01, engine="cpu")
rules = [getattr(local_rules, f"rule_{number}") for number in local_rules.LOCAL_RULES]
functions = [loaders.walk_items, loaders.walk_pairs, local_rules.colliders, path_rules.next_path, _apply_rules, *rules]
made = {}
for function in functions:
    closure = getattr(function, "__closure__", None) or ()
    code = next((c.cell_contents for c in closure if hasattr(c.cell_contents, "stats")), function)
    made[function.__name__] = len(code.stats.cache_hits), len(code.stats.cache_misses)
print(json.dumps(made))
"""


def test_loaders_compile_exactly_the_code_that_a_run_loads(tmp_path):
    loaders = ["pycupc.engines.cpu.loaders:load_walk", "pycupc.engines.cpu.loaders:load_questions"]
    loaders += ["pycupc.orientation.meek:load_rules", "pycupc.orientation.pag.orienting:load_rules"]
    script = "import sys; from pycupc.system.compiling_ahead import compile_here; compile_here(sys.argv[1:])"
    with process(script, tmp_path, *loaders) as compiling:
        assert compiling.wait(timeout=200) == 0
    made = json.loads(output(RUN, tmp_path))
    assert all(misses == 0 for _, misses in made.values()), made
    assert {"walk_items", "walk_pairs", "_apply_rules", "colliders", "next_path", "rule_1"} <= {
        n for n, (hits, _) in made.items() if hits
    }


#: Starts to compile ahead, and stays for some seconds, or until it is killed.
AHEAD = """
import sys, time
from pycupc.engines.cpu.loaders import load_questions
from pycupc.system import compiling_ahead
compiling_ahead.available_cores = lambda: 2
compiling_ahead.compile_elsewhere([load_questions])
compiling_ahead.compile_elsewhere([load_questions])  # which is under way
print(*[process.pid for process in compiling_ahead._processes], flush=True)
time.sleep(float(sys.argv[1]))
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no list of processes here")
@pytest.mark.parametrize("killed", [True, False])
def test_what_compiles_ahead_ends_after_the_process_that_started_it(tmp_path, killed):
    with process(AHEAD, tmp_path, "60" if killed else "0") as running:
        (pid,) = map(int, running.stdout.readline().split())
        if killed:
            running.send_signal(signal.SIGKILL)
        assert running.wait(timeout=30) == (-signal.SIGKILL if killed else 0)
    end = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_running(pid)
    assert not [*tmp_path.rglob("*.tmp.*")]


def test_it_ends_when_all_is_compiled(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit")  # of the user, in the working directory
    monkeypatch.chdir(tmp_path)
    with process(f"import sys; sys.path.remove(''){AHEAD}", tmp_path, "60") as running:
        (pid,) = map(int, running.stdout.readline().split())
        end = time.monotonic() + 60
        while is_running(pid) and time.monotonic() < end:
            time.sleep(0.1)
        assert not is_running(pid)
        running.kill()
    assert [*tmp_path.rglob("gaussian_questions.walk_pairs-*.nbc")]


@pytest.fixture
def started(monkeypatch):
    """The loaders that processes would have been started for, by process, where none of the code is stored."""
    calls = []
    monkeypatch.setattr(compiling_ahead, "_start", calls.append)
    monkeypatch.setattr(compiling_ahead, "_known", set())
    monkeypatch.setattr(compiling_ahead, "is_stored", lambda loader: loader is stored)
    monkeypatch.setattr(compiling_ahead, "free_memory", lambda: 1 << 40)
    return calls


def first() -> None: ...


def second() -> None: ...


def third() -> None: ...


def stored() -> None: ...


@pytest.mark.parametrize(
    ("cores", "numCores", "wanted"),
    [
        (1, None, []),
        (2, None, [[first, second, third]]),
        (3, None, [[first, third], [second]]),
        (16, None, [[first], [second], [third]]),
        (16, 1, []),
        (16, 2, [[first, second, third]]),
    ],
)
def test_cores_are_shared_with_the_run(started, monkeypatch, cores, numCores, wanted):
    monkeypatch.setattr(compiling_ahead, "available_cores", lambda: cores)
    compiling_ahead.compile_elsewhere([stored, first, second, third], numCores)
    assert started == wanted
    compiling_ahead.compile_elsewhere([stored], numCores)
    assert started == wanted


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (compiling_ahead, "left_of_address_space", lambda: 1 << 34),
        (compiling_ahead, "free_memory", lambda: 1 << 30),
        (compiling_ahead, "can_cache", lambda: False),
        (compiling_ahead, "HAVE_TURNS", False),
        (multiprocessing.process, "parent_process", lambda: "another"),
        (sys, "executable", "/usr/lib/R/bin/exec/R"),
        (sys, "executable", ""),
        (sys, "executable", None),
        (sys, "executable", "/usr/bin/python3"),
    ],
)
def test_where_it_may_do_harm_no_process_is_started(started, monkeypatch, owner, name, value):
    monkeypatch.setattr(compiling_ahead, "available_cores", lambda: 2)
    monkeypatch.setattr(owner, name, value)
    compiling_ahead.compile_elsewhere([first])
    assert started == ([[first]] if value == "/usr/bin/python3" else [])


def test_a_process_that_cannot_be_started_is_no_error(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(compiling_ahead, "_known", set())
    monkeypatch.setattr(compiling_ahead, "is_stored", lambda loader: False)
    monkeypatch.setattr(compiling_ahead, "available_cores", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    compiling_ahead.compile_elsewhere([first])
    assert not code_cache.is_awaited(first)
