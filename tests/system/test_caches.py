"""A user who can write neither the package nor a home directory: a container, a service account."""

import errno
import gc
import importlib.util
import logging
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import numba
import pytest
from common import ROOT
from users import such_a_user

from pycupc.system import caches, code_cache, jit, limits

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
#: A statement that imports Numba, or the LLVM that comes with it.
IMPORTS_NUMBA = r"(?m)^\s*(?:import|from) (?:numba|llvmlite)\b"
PROGRAM = """\
import logging, sys, numpy as np, pycupc
x = np.random.default_rng(0).standard_normal((200, 150))  # so much that functions are compiled for it
fit = pycupc.pc(pycupc.SuffStat.from_data(x), alpha=0.01, m_max=0)
print(len(fit.sparse_graph), pycupc.__file__)
"""


@pytest.fixture
def read_only(tmp_path):
    """A copy of the package that cannot be written, an empty folder for temporary files, and an environment."""
    package = tmp_path / "site"
    shutil.copytree(ROOT / "pycupc", package / "pycupc", ignore=shutil.ignore_patterns("__pycache__"))
    temporary = tmp_path / "temporary"
    temporary.mkdir(mode=0o777)
    temporary.chmod(0o777)
    folders = [package, *(f for f in package.rglob("*") if f.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LD_LIBRARY_PATH")}
    yield {**kept, "PYTHONPATH": str(package), "HOME": "/proc/nowhere", "TMPDIR": str(temporary)}
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of POSIX")
def test_read_only_package_and_no_home(read_only):
    """It works, the cache is this user's alone, and what is done is said in the first process only."""

    def run(*arguments):
        command = [*such_a_user(), sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=read_only, cwd=read_only["TMPDIR"])

    done = run("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert read_only["PYTHONPATH"] in done.stdout
    assert "neither the package nor the home directory can be written: compiled code is kept in" in done.stderr
    (folder,) = Path(read_only["TMPDIR"]).glob("pycupc-cache-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbi"))
    done = run("-m", "pycupc", "run", "--example=cell_nuclei", "--quiet", "--m-max", "0")
    assert (done.returncode, done.stderr) == (0, "")
    results = Path(read_only["TMPDIR"]) / "example-pycupc"
    assert (results / "graph.png").is_file()
    assert not list(Path(read_only["PYTHONPATH"]).rglob("__pycache__"))


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A user without a place for caches."""
    monkeypatch.setattr(caches, "_can_make", lambda folder: False)  # root can
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "CUPY_CACHE_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    monkeypatch.setattr(caches.tempfile, "tempdir", str(tmp_path))
    caches._temporary.cache_clear()
    yield tmp_path
    caches._temporary.cache_clear()


posix = pytest.mark.skipif(sys.platform == "win32", reason="rights are those of POSIX")


@posix
@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_somebody_else_is_not_used_and_a_link_not_followed(nowhere, linked):
    planted = nowhere / f"pycupc-cache-{os.getuid()}"
    if linked:
        (nowhere / "target").mkdir(mode=0o700)
        planted.symlink_to(nowhere / "target")
    else:
        planted.mkdir()
        planted.chmod(0o777)
    with pytest.warns(UserWarning, match="compiled code is kept in"):
        folder = caches.numba_cache()
    assert folder.parent.parent == nowhere
    assert folder.parent != planted
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert caches.numba_cache() == folder  # it is said once: warnings are errors
    caches.set_environment()
    for variable in ("CUPY_CACHE_DIR", "MPLCONFIGDIR"):  # other programs are told
        assert Path(os.environ[variable]).parent == folder.parent


def test_the_usual_user_keeps_the_usual_places(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    assert caches.numba_cache() is None
    caches.set_environment()
    assert "MPLCONFIGDIR" not in os.environ


@pytest.fixture
def doubled(tmp_path, monkeypatch):
    """A function that calls a compiled function of a new process, as it were; its folder of machine code."""
    (tmp_path / "source.py").write_text(
        "from pycupc.system.jit import compiled\n\n\n@compiled\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    code_cache._say_unstored.cache_clear()

    def call():
        spec = importlib.util.spec_from_file_location("source", tmp_path / "source.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.double(21) == 42
        return bool(sum(module.double.stats.cache_hits.values()))

    return call, tmp_path / "cache"


#: What becomes of a file's content: empty, half, cut, overwritten, of another module.
DAMAGE = {"empty": lambda c: b"", "half": lambda c: c[: len(c) // 2], "cut": lambda c: c[:-1]}
DAMAGE |= {"overwritten": lambda c: b"\xff" * len(c), "another module": lambda c: b"clumba\n" + c}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_code_is_compiled_again(doubled, ending, damage):
    call, folder = doubled
    assert [call(), call()] == [False, True]
    (file,) = folder.rglob(f"*.{ending}")
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    with pytest.warns(
        UserWarning, match=r"source.double-.*\.nbi or the code beside it is damaged .*compiled anew$"
    ) as said:
        assert not call()
    assert len(said) == 1
    assert call()  # healed, without a word


def test_code_that_finds_no_room_in_memory_is_not_taken_for_damaged(doubled, monkeypatch):
    call, folder = doubled
    assert not call()
    files = sorted(folder.rglob("*.nb?"))
    with monkeypatch.context() as patch:
        patch.setattr("numba.core.caching.IndexDataCacheFile.load", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            call()
    with monkeypatch.context() as patch:
        patch.setattr(jit, "left_of_address_space", lambda: 40 << 20)
        with pytest.raises(MemoryError, match="42 MB are left of the limit on memory .ulimit -v., too little to load"):
            call()
    assert sorted(folder.rglob("*.nb?")) == files
    assert call()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_without_room_for_the_code_it_is_used_all_the_same(doubled, monkeypatch, number):
    call, folder = doubled

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", refuse)
    with pytest.warns(UserWarning, match=rf"cannot be stored in {folder}.* \({os.strerror(number)}\), so each process"):
        assert not call()
    assert not call()  # it is said once


def test_an_interrupt_does_not_wait_for_the_compiler():
    """The work goes on in the background, and whoever needs it next waits for it."""
    began, ends, done = threading.Event(), threading.Event(), threading.Event()

    def work():
        began.set()
        assert ends.wait(600)
        done.set()

    def interrupt():
        began.wait(600)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        jit._in_a_thread(work)
    assert not done.is_set()
    ends.set()
    assert done.wait(600)


def test_a_process_does_not_end_while_a_thread_compiles():
    """LLVM would find its data destroyed in the middle of its work: it aborts, or ends the process with exit code 1."""
    program = """
import os, threading, time
from pycupc.system import jit
began = threading.Event()
def work():
    began.set()
    time.sleep(0.5)
    os.write(1, b"compiled")
threading.Thread(target=jit._in_a_thread, args=(work,), daemon=True).start()
began.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("module", ["numba.core", "numba.core.types", "numba.np", "numba.extending"])
def test_an_interrupt_of_the_import_of_numba_leaves_it_whole(module):
    program = f"""
import os, signal, sys, threading, time
import numpy as np, pycupc
def press():
    while {module!r} not in sys.modules:
        time.sleep(0.0005)
    os.kill(os.getpid(), signal.SIGINT)
pressing = threading.Thread(target=press)
pressing.start()
data = np.random.default_rng(0).standard_normal((50, 4))
try:
    pycupc.pc(data)
    pressing.join()
except KeyboardInterrupt:
    print("interrupted,", len(pycupc.pc(data).labels), "variables")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (0, "interrupted, 4 variables\n"), done.stderr


def test_numba_is_imported_in_one_place():
    files = {path.name for path in (ROOT / "pycupc").rglob("*.py") if re.search(IMPORTS_NUMBA, path.read_text("utf-8"))}
    assert files == {"numba_names.py"}


def test_the_collector_rests_until_the_last_of_two_threads_has_compiled():
    one_began, other_began, one_ended, collecting = (*(threading.Event() for _ in range(3)), [])

    def one():
        jit._in_a_thread(lambda: one_began.set() or other_began.wait(1))  # in vain, if they take turns
        one_ended.set()

    def other():
        other_began.set()
        assert one_ended.wait(600)
        collecting.append(gc.isenabled())

    threading.Thread(target=one).start()
    assert one_began.wait(600)
    jit._in_a_thread(other)
    assert collecting == [False]
    assert gc.isenabled()


def test_what_fails_while_compiling_fails_here():
    with pytest.raises(ZeroDivisionError):
        jit._in_a_thread(lambda: 1 / 0)
    assert jit._in_a_thread(lambda: jit._in_a_thread(threading.current_thread)).name == "pycupc compiles"


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
def test_a_line_tells_of_long_compiling_once(monkeypatch, caplog, level):
    caplog.set_level(level, "pycupc")
    monkeypatch.setattr(jit, "_seconds_compiling", 0.0)
    monkeypatch.setattr(limits, "TICK", 0.01)
    monkeypatch.setattr(jit, "WORTH_A_LINE", 0.02)
    for _ in range(2):
        jit._in_a_thread(lambda: time.sleep(0.5))
    said = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert said == [(level, "compiling pycupc, once per machine; this can take half a minute")]


def test_the_line_is_not_printed_where_no_progress_is_wanted():
    program = """
import sys, pycupc.system.jit
from pycupc.system.logging import FIRST_USE, logger
from pycupc.system.progress import progress_hook
with progress_hook({"None": None, "False": False}[sys.argv[1]]):
    logger.warning(FIRST_USE)
"""
    for wanted, lines in (("None", 1), ("False", 0)):
        done = subprocess.run([sys.executable, "-c", program, wanted], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert len(done.stderr.splitlines()) == lines


@posix
def test_a_private_folder_is_this_users(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    assert caches._private(tmp_path)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)  # the folder is somebody else's, who may well have mode 0700
    assert not caches._private(tmp_path)
