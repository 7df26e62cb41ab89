"""The package as a whole: what importing it costs, and what a wheel of it holds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pycupc.cli.doctor import version_of

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("cupy", "rpy2", "numba", "scipy", "matplotlib", "networkx", "pandas", "pyarrow")


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", ["pycupc", "pycupc.cli"])
def test_import_loads_nothing_heavy(module):
    loaded = python(f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))")
    assert [name for name in HEAVY if name in loaded] == []


def test_import_takes_less_than_300_ms():
    code = "import json, time; t = time.perf_counter(); import pycupc; print(json.dumps(time.perf_counter() - t))"
    assert any(python(code) < 0.3 for _ in range(10))  # several tries: the machine may be busy


def test_public_names():
    names = python("import json, pycupc; print(json.dumps(sorted(pycupc.__all__)))")
    assert {"pc", "skeleton", "SuffStat", "PcAlgo", "gaussCItest"} <= set(names)
    assert python("import json, pycupc; print(json.dumps([n for n in pycupc.__all__ if not hasattr(pycupc, n)]))") == []


def test_wheel_holds_every_file(tmp_path):
    """Built without isolation from a copy: the build must not need a network nor write into the checkout."""
    pytest.importorskip("build", reason="the package `build` is not installed")
    if int((version_of("setuptools") or "0").split(".")[0]) < 77:
        pytest.skip("no setuptools from 77 on, which pyproject.toml asks for")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("pycupc", "kernels", "r_wrapper"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
    endings = {".py", ".typed", ".csv", ".md", ".cu", ".cuh", ".R"}
    wanted = {
        str(f.relative_to(source))
        for f in (source / "pycupc").rglob("*")
        if f.suffix in endings or f.name == "py.typed"
    }
    wanted |= {f"pycupc/{f.relative_to(source)}" for f in (source / "kernels").rglob("*") if f.suffix in endings}
    wanted.add("pycupc/r/shared/pcalgo.R")
    assert sorted(wanted - held) == []
    assert any(name.startswith("pycupc/kernels/") and name.endswith(".cu") for name in held)
    assert not [name for name in held if name.startswith(("tests/", "kernels/", "r_wrapper/"))]
