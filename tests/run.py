#!/usr/bin/env python3
"""Set everything up in a virtual environment and pass the tests: `python3 tests/run.py`.

Needs Python 3.10 to 3.13 and a way to reach PyPI, nothing else. Where it is root on a Debian system it installs R and
uses it; where it cannot, it says what it skips. Arguments after `--` go to pytest, say `-- tests/test_pc.py -x`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ((3, 10), (3, 13))  # first and last
#: Not README's .venv: where a pycupc that has run is replaced by the checkout, Numba's cache of it stays behind, and
#: the folder that holds it hides the checkout.
VENV = ROOT / ".venv-tests"


def main() -> int:
    """Set up, lint, test; returns 0 only if all of it went well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, default=VENV, help=f"virtual environment (default: {VENV.name})")
    parser.add_argument("--gpu", action="store_true", help="install CuPy too and run the tests that need a CUDA device")
    parser.add_argument("--slow", action="store_true", help="run the tests that take minutes as well")
    parser.add_argument("--no-r", action="store_true", help="leave R alone: install nothing for it")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    args = parser.parse_args()
    started = time.monotonic()

    python = virtual_environment(args.venv)
    extras = "test,gpu" if args.gpu else "test"
    say(f"installing pycupc[{extras}]")
    if code := run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f"{ROOT}[{extras}]"):
        return code
    environment = dict(os.environ, PYTHONUNBUFFERED="1", RETICULATE_PYTHON=str(python))
    if not args.no_r:
        set_up_r(python)

    say("ruff check")
    lint = run(python, "-m", "ruff", "check", ".")
    without = [word for word, wanted in (("slow", args.slow), ("gpu", args.gpu)) if not wanted]
    selected = " and ".join(f"not {word}" for word in without)
    say(f"pytest{f' -m {selected!r}' if selected else ''}")
    code = run(python, "-m", "pytest", *(["-m", selected] if selected else []), *args.pytest, env=environment)
    failed = [name for name, bad in (("ruff", lint), ("pytest", code)) if bad]
    say(f"{' and '.join(failed) + ' failed' if failed else 'passed'} after {time.monotonic() - started:.0f} s")
    return code or lint


def virtual_environment(folder: Path) -> Path:
    """Return the Python of the virtual environment in `folder`, made if it is not there."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        base = suitable_python()
        say(f"making {folder} with {base}")
        if run(base, "-m", "venv", folder):
            shutil.rmtree(folder, ignore_errors=True)
            sys.exit("run.py: the venv module does not work here; on Debian and Ubuntu: apt install python3-venv")
    return python


def suitable_python() -> str:
    """This Python if its version will do, else one on the PATH."""
    if VERSIONS[0] <= sys.version_info[:2] <= VERSIONS[1]:
        return sys.executable
    for minor in range(VERSIONS[1][1], VERSIONS[0][1] - 1, -1):
        if found := shutil.which(f"python3.{minor}"):
            return found
    sys.exit(f"run.py: needs Python 3.10 to 3.13, this is {sys.version.split()[0]} and no other is on the PATH")


def set_up_r(python: Path) -> None:
    """Install R and its packages where that is possible, then rpy2; failing to is no error."""
    script = ROOT / "tests" / "setup_r.sh"
    if script.exists() and shutil.which("bash"):
        say("setting up R (tests/setup_r.sh)")
        run("bash", script)
    if shutil.which("R") is None:
        say("skipped: no R here, so the tests that need it are skipped")
        return
    say("installing pycupc[r] (rpy2)")
    if run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f"{ROOT}[r]"):
        say("skipped: rpy2 could not be installed, so the tests that call R from Python are skipped")


def say(text: str) -> None:
    print(f"-- {text}", flush=True)


def run(*command: object, env: dict[str, str] | None = None) -> int:
    return subprocess.run([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
