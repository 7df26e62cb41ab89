"""The R package in `r_wrapper/`: its own testthat tests, one by one, and what only a fresh R process can show.

R always runs as a process of its own: rpy2 and reticulate in one process end in a crash.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import SHARED

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "r_wrapper"
TESTTHAT = PACKAGE / "tests" / "testthat"
BLOCK = re.compile(r"^test_that\((\"(?:[^\"\\]|\\.)*\")", re.MULTILINE)


def blocks() -> list[tuple[str, str]]:
    """File and name of every test_that() block."""
    return [
        (path.name, name[1:-1].replace('\\"', '"'))
        for path in sorted(TESTTHAT.glob("test-*.R"))
        for name in BLOCK.findall(path.read_text(encoding="utf-8"))
    ]


def run_r(*arguments: object, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Rscript with the Python of these tests; its output is one text."""
    settings = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run(
        ["Rscript", *map(str, arguments)],
        cwd=tempfile.gettempdir(),  # in the checkout, Python would find the package by itself
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )


def has(package: str) -> bool:
    """Whether R has the package; no R at all counts as no."""
    if shutil.which("Rscript") is None:
        return False
    return run_r("-e", f'quit(status = !requireNamespace("{package}", quietly = TRUE))').returncode == 0


@pytest.fixture(scope="session")
def r_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh R library with the package in it."""
    if shutil.which("Rscript") is None:
        pytest.skip("no Rscript on the PATH")
    if not has("reticulate"):
        pytest.skip("R has no package reticulate")
    if run_r("-e", "quit(status = !reticulate::py_available(initialize = TRUE))").returncode:
        pytest.skip("this R's reticulate cannot use this Python (Debian 12's needs Python up to 3.11)")
    library = tmp_path_factory.mktemp("rlib")
    command = ["R", "CMD", "INSTALL", "--no-test-load", f"--library={library}", str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def libraries(r_library: Path) -> str:
    return os.pathsep.join(filter(None, (str(r_library), os.environ.get("R_LIBS", ""))))


@pytest.fixture(scope="session")
def testthat(r_library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[str, str]]:
    """Outcome and text of every test_that() block."""
    if not has("testthat"):
        pytest.skip("R has no package testthat")
    results = tmp_path_factory.mktemp("testthat") / "results"
    environment = {"R_LIBS": libraries(r_library), "PYCUPC_GOLDEN": str(ROOT / "tests" / "golden"), "NOT_CRAN": "true"}
    done = run_r(ROOT / "tests" / "R" / "run_testthat.R", TESTTHAT, results, timeout=1800, **environment)
    assert done.returncode == 0, done.stdout
    print(done.stdout)
    lines = [line.split("\t") for line in results.read_text(encoding="utf-8").splitlines()]
    return {(file, name): (outcome, text) for file, name, outcome, text in lines}


@pytest.mark.parametrize(("file", "name"), blocks(), ids=lambda value: value.removesuffix(".R"))
def test_testthat(file: str, name: str, testthat: dict[tuple[str, str], tuple[str, str]]) -> None:
    outcome, text = testthat[file, name]
    if outcome == "skipped":
        pytest.skip(text)
    assert outcome == "passed", text


SMALL = """
C <- matrix(c(1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1), 3)
answer <- tryCatch(cu_plain("pc", list(C = C, n = 100), alpha = 0.05, p = 3), error = conditionMessage)
if (is.character(answer)) cat("R error:", answer, "\\n") else cat("edges:", answer$graph$from, answer$graph$to, "\\n")
cat("alive\\n")
"""


def test_the_script_works_by_source(r_library: Path) -> None:
    done = run_r("-e", f'source("{PACKAGE / "R" / "cu_pc.R"}"); {SMALL}', PYTHONPATH="")
    assert "edges: 1 2 2 3 2 1 3 2" in done.stdout, done.stdout
    assert "alive" in done.stdout


def test_nothing_happens_when_the_package_is_loaded(r_library: Path) -> None:
    code = 'library(pycupc); cat("reticulate loaded:", "reticulate" %in% loadedNamespaces(), "\\n"); '
    code += 'cat("Python started:", reticulate::py_available(), "\\n")'
    done = run_r("-e", code, R_LIBS=libraries(r_library))
    assert "Python started: FALSE" in done.stdout, done.stdout


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def test_a_python_without_pycupc_is_an_error_that_says_what_to_do(r_library: Path, bare_python: Path) -> None:
    environment = {"R_LIBS": libraries(r_library), "RETICULATE_PYTHON": str(bare_python), "PYTHONPATH": ""}
    done = run_r("-e", f"library(pycupc); {SMALL}", **environment)
    assert f"({bare_python}) has no package pycupc" in done.stdout, done.stdout
    assert "-m pip install" in done.stdout
    assert "alive" in done.stdout
    report = run_r("-e", "library(pycupc); cu_sitrep()", **environment)
    assert "not usable" in report.stdout
    assert "has no package pycupc" in report.stdout


def test_a_python_without_numpy_is_an_error_that_names_it(r_library: Path, bare_python: Path) -> None:
    environment = {"R_LIBS": libraries(r_library), "RETICULATE_PYTHON": str(bare_python), "PYTHONPATH": str(ROOT)}
    done = run_r("-e", f"library(pycupc); {SMALL}", **environment)
    assert "lacks the Python package numpy" in done.stdout, done.stdout
    assert "alive" in done.stdout


def test_no_python_at_all_is_an_error(r_library: Path) -> None:
    environment = {"R_LIBS": libraries(r_library), "RETICULATE_PYTHON": "/nowhere/python"}
    done = run_r("-e", f"library(pycupc); {SMALL}", **environment)
    assert "R error:" in done.stdout, done.stdout
    assert "alive" in done.stdout


def test_sitrep_names_what_is_there(r_library: Path) -> None:
    done = run_r("-e", "library(pycupc); invisible(cu_sitrep())", R_LIBS=libraries(r_library))
    for name in ("R version", "pcalg", "reticulate", "Python", "pycupc", "engine cpu", "engine gpu"):
        assert name in done.stdout, done.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_interrupting_is_an_r_error_and_r_goes_on(r_library: Path) -> None:
    settings = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "R_LIBS": libraries(r_library)}
    process = subprocess.Popen(
        ["Rscript", str(ROOT / "tests" / "R" / "interrupt.R")],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if line.startswith("started"):
                break
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)  # it must be at work, else nothing would be interrupted
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    text = "".join(seen) + rest
    assert "R error: interrupted" in text, text
    assert "alive: 20 variables" in text, text


@pytest.mark.slow
def test_the_whole_call_on_saureus_is_fast(r_library: Path) -> None:
    data = SHARED / "data" / "saureus.csv.gz"
    if not data.exists():
        pytest.skip("the data set saureus is not here")
    if not has("pcalg"):
        pytest.skip("R has no package pcalg")
    done = run_r(ROOT / "tests" / "R" / "saureus.R", data, R_LIBS=libraries(r_library))
    seconds = dict(re.findall(r"^(edges|wall|cpu) ([\d.]+)", done.stdout, re.MULTILINE))
    assert float(seconds["edges"]) == 2966, done.stdout
    # 12 s of the wall clock with two cores to itself; CPU time says so on a machine that others use as well
    assert min(float(seconds["wall"]), float(seconds["cpu"]) / 2) < 12, done.stdout


@pytest.mark.slow
def test_r_cmd_check_finds_no_errors_and_no_warnings(tmp_path: Path) -> None:
    for package in ("reticulate", "testthat", "knitr", "rmarkdown", "pcalg"):
        if not has(package):
            pytest.skip(f"R has no package {package}")
    environment = {
        **os.environ,
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "PYCUPC_GOLDEN": str(ROOT / "tests" / "golden"),
        "_R_CHECK_FORCE_SUGGESTS_": "false",
    }
    subprocess.run(["R", "CMD", "build", str(PACKAGE)], cwd=tmp_path, env=environment, check=True, capture_output=True)
    archive = next(tmp_path.glob("pycupc_*.tar.gz"))
    command = ["R", "CMD", "check", "--no-manual", archive.name]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    assert not re.search(r"\.\.\. (WARNING|ERROR)", done.stdout), done.stdout[-6000:]
