"""A user who can write neither the package nor a home directory: a container, a service account."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from pycupc import caches

ROOT = Path(__file__).resolve().parent.parent

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


def such_a_user() -> list[str]:
    """What runs a command without the right to write everywhere, which root has."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("run by root, and there is no setpriv to give its rights away")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of POSIX")
def test_read_only_package_and_no_home(read_only):
    """It works, the cache is this user's alone, and what is done is said in the first process only."""

    def run(*arguments):
        command = [*such_a_user(), sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=read_only, cwd=read_only["TMPDIR"])

    first, second = run("-c", PROGRAM), run("-c", PROGRAM)
    for done in (first, second):
        assert done.returncode == 0, done.stderr
        assert read_only["PYTHONPATH"] in done.stdout
    assert "neither the package nor the home directory can be written: compiled code is kept in" in first.stderr
    assert second.stderr == ""
    (folder,) = Path(read_only["TMPDIR"]).glob("pycupc-cache-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbi"))
    done = run("-m", "pycupc", "run", "--example", "--quiet", "--m-max", "0")
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


kept_elsewhere = pytest.mark.filterwarnings("ignore:neither the package nor the home directory")
posix = pytest.mark.skipif(sys.platform == "win32", reason="rights are those of POSIX")


@posix
def test_a_folder_of_somebody_else_is_not_used(nowhere):
    planted = nowhere / f"pycupc-cache-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    with pytest.warns(UserWarning, match="compiled code is kept in"):
        folder = caches.numba_cache()
    assert folder.parent != planted
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        assert caches.numba_cache() == folder


@posix
@kept_elsewhere
def test_a_link_is_not_followed(nowhere):
    (nowhere / "target").mkdir(mode=0o700)
    (nowhere / f"pycupc-cache-{os.getuid()}").symlink_to(nowhere / "target")
    assert caches.numba_cache().parent.parent == nowhere
    assert caches.numba_cache().parent.name != f"pycupc-cache-{os.getuid()}"


@posix
@kept_elsewhere
def test_other_programs_are_told(nowhere, monkeypatch):
    caches.set_environment()
    for variable in ("CUPY_CACHE_DIR", "MPLCONFIGDIR"):
        assert Path(os.environ[variable]).parent.parent == nowhere


def test_the_usual_user_keeps_the_usual_places(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    assert caches.numba_cache() is None
    caches.set_environment()
    assert "MPLCONFIGDIR" not in os.environ
