#!/usr/bin/env python3
"""Build the source distribution and the wheel of pycupc, and test the wheel: `python3 tests/release.py`.

The archives are written to `dist/`. The wheel is built from the source distribution, compared with one that is built
from the checkout, and installed into an empty environment, where it has to pass a small test outside the checkout.
Needs access to PyPI. See .github/CONTRIBUTING.md, "Releasing".
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
#: Files and folders that a build needs; building from a copy leaves nothing behind in the checkout.
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "pycupc", "kernels", "r_wrapper")
#: Run in the empty environment: an answer, the kernels, the example data, and the command line.
TRIAL = """
import pathlib, pycupc, pycupc.kernels
from pycupc.data import EXAMPLE
fit = pycupc.pc(pycupc.SuffStat.from_data(EXAMPLE), alpha=0.01)
assert fit.edge_counts() == (33, 7, 0), fit.edge_counts()
assert list(pathlib.Path(pycupc.kernels.__path__[0]).rglob("*.cu")), "no kernels"
print("pycupc", pycupc.__version__, "from", pathlib.Path(pycupc.__file__).parent)
"""


def main() -> int:
    """Build, compare, test; returns 0 if the archives in `dist/` may be published."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", help="tag of the release; must be v and the version of the package")
    args = parser.parse_args()
    text = (ROOT / "pycupc" / "system" / "version.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', text, re.M)[1]
    if args.tag not in (None, f"v{version}"):
        sys.exit(f"release.py: the tag {args.tag} is not v{version}, the version in pycupc/system/version.py")
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tools = environment(folder / "tools", "build")
        source = copy_of_sources(folder / "source")
        run(tools, "-m", "build", "--outdir", DIST, source)  # the sdist, and from it the wheel
        run(tools, "-m", "build", "--wheel", "--outdir", folder / "direct", source)
        (wheel,), (direct,) = DIST.glob("*.whl"), (folder / "direct").glob("*.whl")
        compare(wheel, direct)
        empty = environment(folder / "empty", wheel)
        run(empty, "-I", "-c", TRIAL, cwd=folder)
        run(empty.with_name("pycupc"), "run", "--example", "--plot", "none", cwd=folder)
    print(f"release.py: {', '.join(sorted(path.name for path in DIST.iterdir()))} in {DIST}")
    return 0


def environment(folder: Path, *packages: object) -> Path:
    """The Python of a new virtual environment with these packages and their dependencies."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return python


def copy_of_sources(folder: Path) -> Path:
    """A copy of the files that a build needs."""
    folder.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)
    return folder


def compare(wheel: Path, other: Path) -> None:
    """Stop if the two wheels differ in more than their list of checksums."""
    with zipfile.ZipFile(wheel) as a, zipfile.ZipFile(other) as b:
        names = set(a.namelist()) ^ set(b.namelist())
        names |= {name for name in set(a.namelist()) & set(b.namelist()) if a.read(name) != b.read(name)}
    if names:
        sys.exit(f"release.py: the wheels of the source distribution and of the checkout differ in {sorted(names)}")


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a program; stop if it fails."""
    if status := subprocess.run([str(part) for part in command], cwd=cwd, check=False).returncode:
        sys.exit(f"release.py: {' '.join(map(str, command[:4]))} ... failed with status {status}")


if __name__ == "__main__":
    sys.exit(main())
