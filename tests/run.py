#!/usr/bin/env python3
"""Set everything up in a virtual environment and run all checks: `python3 tests/run.py`.

The tests, and beside them linters, formatters, type checker, layers, lintr and `R CMD check` of the R package.
Needs a Python that `requires-python` of pyproject.toml admits, and access to PyPI; nothing else. On Debian and Ubuntu,
as root, it installs R and a browser as well, and says so before; where it cannot, it reports the skipped parts.
Arguments after `--` go to pytest, for example `-- tests/algorithm/test_pc.py -x -n 0`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Not the README's .venv: Numba's cache of an installed pycupc would stay behind there when the checkout replaces it,
#: and the folder that holds the cache would hide the checkout.
VENV = ROOT / ".venv-tests"
#: Test processes that run side by side, at most; some tests measure time.
MAX_WORKERS = 4
#: The tests of `--quick`: recorded answers of pcalg, properties, and of every room the files that take few seconds.
#: Together they need 40 s of one processor, compiled code being there; the checks, 30 s.
QUICK = (
    "algorithm/test_arguments.py",
    "algorithm/test_background.py",
    "algorithm/test_golden.py",
    "algorithm/test_parameters.py",
    "algorithm/test_pc.py",
    "algorithm/test_properties.py",
    "algorithm/test_rfci.py",
    "cli/test_output.py",
    "data/test_categories.py",
    "data/test_csv_cells.py",
    "data/test_readers.py",
    "data/test_source.py",
    "data/test_text_layout.py",
    "effects/test_effects.py",
    "effects/test_ida.py",
    "effects/test_parent_sets.py",
    "engines/test_select.py",
    "graph/test_exports.py",
    "graph/test_knowledge.py",
    "graph/test_named.py",
    "graph/test_sepset.py",
    "graph/test_sparse.py",
    "independence/gaussian/test_correlation.py",
    "independence/gaussian/test_fisher_z.py",
    "independence/test_content_digest.py",
    "independence/test_custom.py",
    "independence/test_rcot.py",
    "orientation/pag/test_rules.py",
    "project/test_places.py",
    "results/test_causal_graph.py",
    "results/test_explanation.py",
    "results/test_facts_in_texts.py",
    "results/test_pagalgo.py",
    "results/test_pcalgo.py",
    "results/test_serialisation.py",
    "results/test_stored.py",
    "stability/test_bounds.py",
    "stability/test_consensus.py",
    "stability/test_rows.py",
    "stability/test_stability_result.py",
    "stability/test_stability_run.py",
    "system/test_progress.py",
)
#: Files that take long come first, so that the processes end together. They alternate between files that use much of
#: the compiled code and files that compile kernels: two processes would compile the same functions twice.
FIRST = (
    "independence/kernel/test_test.py",
    "kernels/test_kernels_compile.py",
    "engines/test_divided.py",
    "kernels/test_kernel_sieve.py",
    "effects/test_adjustment.py",
    "kernels/test_kernel_pruning.py",
    "cli/test_interrupts.py",
    "kernels/test_kernel_walk.py",
    "stability/test_resample_checkpoint.py",
    "r/test_r_package.py",
    "engines/cpu/test_pruning.py",
    "graph/explorer/test_page.py",
    "cli/test_run_command.py",
    "project/test_benchmarks.py",
    "orientation/test_orientation.py",
    "stability/test_processes.py",
    "algorithm/test_golden.py",
    "independence/discrete/test_test.py",
)


def main() -> int:
    """Set up, check, test; returns 0 only if everything passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, default=VENV, help=f"virtual environment (default: {VENV.name})")
    parser.add_argument("--gpu", action="store_true", help="install CuPy too and run the tests that need a CUDA device")
    parser.add_argument("--slow", action="store_true", help="run the tests that take minutes as well")
    parser.add_argument("--quick", action="store_true", help="the checks of the Python side and the quick tests only")
    parser.add_argument("--checks", action="store_true", help="the checks of the Python side only, nothing installed")
    parser.add_argument("--no-r", action="store_true", help="install nothing for R, do not check the R package")
    parser.add_argument("--no-browser", action="store_true", help="install no browser")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    args = parser.parse_args()
    if args.checks:
        return run_checks(args.venv.absolute())
    with_r, with_browser = not (args.no_r or args.quick), not (args.no_browser or args.quick)
    started = time.monotonic()
    # Without its files of byte code, each of more than a hundred processes would compile NumPy, SciPy and Numba again:
    # pip has not done it, see `install`.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    announce(with_r, with_browser)
    python = virtual_environment(args.venv.absolute())
    extras = "test,gpu" if args.gpu else "test"
    failed = []
    with ThreadPoolExecutor(1) as beside:
        of_system = beside.submit(set_up_system, with_r, with_browser)
        report(f"installing pycupc[{extras}]")
        code = install(python, extras)
        of_system.result()
        if code:
            return code
        if with_r:  # the other core compiles the tests and the modules that they import, once for all processes
            collected = beside.submit(check, "collecting", [python, "-m", "pytest", "--collect-only", "-q"])
        jobs = [beside.submit(check, *job) for job in checks(python.parent)]
        if with_r:
            install_rpy2(python)
            if shutil.which("bash"):
                jobs.append(beside.submit(check, "the R package", ["bash", "tests/check_r.sh"], python))
            collected.result()
        if run_pytest(python, args):
            failed.append("pytest")
        failed += [name for name, done in (job.result() for job in jobs) if not passed(name, done)]
    result = f"failed: {', '.join(failed)}" if failed else "passed"
    report(f"{result}, after {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def run_checks(venv: Path) -> int:
    """Run the checks of the source text with the programs of an environment that is there; 0 if they passed."""
    python = python_of(venv)
    if not python.exists():
        sys.exit(f"run.py: --checks needs the environment {venv}, which `python3 tests/run.py --quick` makes")
    with ThreadPoolExecutor(2) as beside:
        done = beside.map(lambda job: check(*job), checks(python.parent))
        failed = [name for name, of_check in done if not passed(name, of_check)]
    return 1 if failed else 0


def passed(name: str, done: subprocess.CompletedProcess[str]) -> bool:
    """Print the output of a check that failed, or the results in it; returns whether it passed."""
    shown = [line for line in done.stdout.splitlines() if done.returncode or line.startswith(("-- ", "Status: "))]
    print(f"-- {name}", *shown, sep="\n", flush=True)
    return done.returncode == 0


def checks(scripts: Path) -> list[tuple[str, list[object]]]:
    """Name and command of each check of the source text; `scripts` is the folder of the environment's programs."""
    kernels = sorted(path.relative_to(ROOT) for path in (ROOT / "kernels").rglob("*.cu*"))
    return [
        ("ruff check", [scripts / "ruff", "check", "."]),
        ("ruff format", [scripts / "ruff", "format", "--check", "."]),
        ("mypy", [scripts / "mypy"]),
        ("import-linter", [scripts / "lint-imports"]),
        ("clang-format", [scripts / "clang-format", "--dry-run", "--Werror", *kernels]),
    ]


def check(name: str, command: list[object], python: Path | None = None) -> tuple[str, subprocess.CompletedProcess[str]]:
    """Run one check; its output goes with the result, as pytest prints meanwhile. `python` is the one for R to use."""
    environment = dict(os.environ, **({"RETICULATE_PYTHON": str(python)} if python else {}))
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    words = [str(part) for part in command]
    return name, subprocess.run(words, cwd=ROOT, env=environment, text=True, errors="replace", check=False, **streams)


def run_pytest(python: Path, args: argparse.Namespace) -> int:
    """Run the selected tests, on several processes unless `args.pytest` decides otherwise; 0 if they passed."""
    without = [word for word, wanted in (("slow", args.slow), ("gpu", args.gpu)) if not wanted]
    selection = ["-m", " and ".join(f"not {word}" for word in without)] if without else []
    if args.quick:
        selection += [f"tests/{file}" for file in QUICK]
    workers = 1 if args.gpu else min(os.cpu_count() or 1, MAX_WORKERS)  # one GPU, one process
    # a file in one process: its tests share what is expensive, such as an R session or kernels compiled for the host;
    # in the order of `FIRST`
    parallel = ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"] if workers > 1 else []
    report(f"pytest {' '.join((*selection, *parallel))}")
    environment = dict(os.environ, PYTHONUNBUFFERED="1", RETICULATE_PYTHON=str(python))
    return run(python, "-m", "pytest", *selection, *parallel, *args.pytest, env=environment)


def announce(with_r: bool, with_browser: bool) -> None:
    """Announce the packages that will be installed on the system, outside the checkout, before anything is."""
    scripts = [("setup_r.sh", "--no-r", with_r), ("setup_browser.sh", "--no-browser", with_browser)]
    for script, option, wanted in scripts:
        if wanted and shutil.which("bash"):
            command = ["bash", str(ROOT / "tests" / script), "--dry-run"]
            if packages := subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip():
                report(f"going to install on this system, with apt-get: {packages} ({option} leaves it out)")


def virtual_environment(folder: Path) -> Path:
    """Return the Python of the virtual environment in `folder`, which is made if it is not there."""
    python = python_of(folder)
    if not python.exists():
        base = suitable_python()
        report(f"making {folder} with {base}")
        if run(base, "-m", "venv", folder):
            shutil.rmtree(folder, ignore_errors=True)
            sys.exit("run.py: the venv module does not work here; on Debian and Ubuntu: apt install python3-venv")
    return python


def python_of(folder: Path) -> Path:
    """The Python of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def suitable_python() -> str:
    """This Python if `requires-python` of pyproject.toml admits it, else the newest on the PATH that it admits."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"$', text, re.MULTILINE)
    assert found, "pyproject.toml has no requires-python of the form >=3.x,<3.y"
    minors = range(int(found[1]), int(found[2]))
    if sys.version_info[0] == 3 and sys.version_info[1] in minors:
        return sys.executable
    for minor in reversed(minors):
        if python := shutil.which(f"python3.{minor}"):
            return python
    sys.exit(
        f"run.py: needs Python 3.{minors[0]} to 3.{minors[-1]}; this is {sys.version.split()[0]}, and no other is on "
        "the PATH"
    )


def install(python: Path, extras: str) -> int:
    """Install the checkout with these extras; 0 if that worked. A module is compiled when it is imported, if ever."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    return run(*pip, "-e", f"{ROOT}[{extras}]")


def set_up_system(with_r: bool, with_browser: bool) -> None:
    """Install R with its packages, and a browser, where that is possible; it is no error if this fails."""
    for wanted, script in ((with_r, "setup_r.sh"), (with_browser, "setup_browser.sh")):
        if wanted and shutil.which("bash"):
            report(f"tests/{script}")
            run("bash", ROOT / "tests" / script)


def install_rpy2(python: Path) -> None:
    """Install rpy2 if there is an R; it is no error if this fails."""
    if shutil.which("R") is None:
        report("no R found: the tests that need it will be skipped")
        return
    report("installing pycupc[r] (rpy2)")
    if install(python, "r"):
        report("rpy2 could not be installed: the tests that call R from Python will be skipped")


def report(text: str) -> None:
    """Print the next step, apart from the output of the programs."""
    print(f"-- {text}", flush=True)


def run(*command: object, env: dict[str, str] | None = None) -> int:
    """Run a program in the root of the checkout, without standard input; its exit status."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
