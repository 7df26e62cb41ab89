"""The cache of compiled code on disk, and the turns of processes to compile."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from pycupc.system.turns import HAVE_TURNS

needs_turns = pytest.mark.skipif(not HAVE_TURNS, reason="no locks of files here")

#: Holds a turn for a while.
HOLDER = """
import sys, time
from pathlib import Path
from pycupc.system.turns import end_turn, take_turn
index = Path(sys.argv[1])
take_turn(index)
print("taken", flush=True)
time.sleep(float(sys.argv[2]))
end_turn(index)
time.sleep(20)
"""


def test_compiled_code_of_other_sources_is_thrown_away(tmp_path):
    from pycupc.system.code_cache import forget_stale_code

    cache, source = tmp_path / "cache", tmp_path / "source.py"
    cache.mkdir()
    source.write_text("1")
    for name in ("a.nbi", "a.1.nbc"):
        (cache / name).write_bytes(b"")
    assert forget_stale_code(cache, [source])  # compiled from who knows what
    assert not (cache / "a.nbi").exists()
    assert not (cache / "a.1.nbc").exists()  # a new index could lead to it
    (cache / "b.nbi").write_bytes(b"")
    assert not forget_stale_code(cache, [source])
    assert (cache / "b.nbi").exists()
    source.write_text("2")
    assert forget_stale_code(cache, [source])
    assert not (cache / "b.nbi").exists()
    (cache / "pycupc-sources.sha256").write_bytes(b"\xff\xfe")  # a damaged stamp
    (cache / "b.nbi").write_bytes(b"")
    assert forget_stale_code(cache, [source])
    assert not (cache / "b.nbi").exists()
    assert not forget_stale_code(tmp_path / "missing", [source])


@pytest.fixture
def holder(tmp_path):
    """Starts a process that holds the turn for a file of `tmp_path` for some seconds; it is killed at the end."""
    held = []

    def start(seconds: float):
        command = [sys.executable, "-c", HOLDER, str(tmp_path / "a.nbi"), str(seconds)]
        held.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        assert held[-1].stdout.readline() == b"taken\n"
        return held[-1]

    yield start
    for process in held:
        process.kill()
        process.wait()
        process.stdout.close()


def seconds_to_take(index) -> float:
    from pycupc.system.turns import end_turn, take_turn

    begin = time.perf_counter()
    take_turn(index)
    took = time.perf_counter() - begin
    end_turn(index)
    return took


@needs_turns
def test_a_turn_is_waited_for_by_file_and_ends_with_its_process(tmp_path, holder):
    process = holder(1.0)
    assert seconds_to_take(tmp_path / "b.nbi") < 0.3  # another file
    assert 0.3 < seconds_to_take(tmp_path / "a.nbi") < 5
    process = holder(60.0)
    process.kill()
    assert seconds_to_take(tmp_path / "a.nbi") < 5


@needs_turns
def test_a_turn_of_a_halted_process_is_not_waited_for_for_ever(tmp_path, holder, monkeypatch):
    monkeypatch.setattr("pycupc.system.turns.PATIENCE", 0.2)
    holder(60.0)
    assert 0.2 <= seconds_to_take(tmp_path / "a.nbi") < 5


def test_without_a_folder_that_can_be_written_there_are_no_turns(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert seconds_to_take(tmp_path / "file" / "a.nbi") < 1


@needs_turns
def test_of_several_processes_one_compiles_a_function(tmp_path):
    (tmp_path / "source.py").write_text(
        "from pycupc.system.jit import compiled\n\n\n@compiled\ndef add(x, y):\n"
        "    for i in range(10):\n        x += y * i\n    return x\n\n\n"
        "print('ready', flush=True)\ninput()\nassert add(1.0, 2.0) == 91.0\n"
        "print(sum(add.stats.cache_misses.values()) - len(add.stats.cache_hits))\n"
    )
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "source.py")],
            env={**os.environ, **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    compiled = [process.communicate("\n", timeout=120)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(compiled) == ["-1", "-1", "1"]  # one compiled it, two loaded its code
