"""Fixtures of all tests, the order of the files, and which tests are skipped. Helpers are in tests/support."""

from __future__ import annotations

import shutil
import signal
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest
from common import GOLDEN, TESTS, Case, no_gpu
from record_golden import has_pcalg
from run import FIRST

import pycupc
from pycupc import SuffStat
from pycupc.data import load_example

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it; some tests send it


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Case:
    """Every recorded case in turn."""
    return Case(request.param)


@pytest.fixture(scope="module")
def nuclei() -> SuffStat:
    """The measurements of cell nuclei, 569 observations of 30 variables."""
    return SuffStat.from_data(load_example("cell_nuclei"))


@pytest.fixture(scope="module")
def nuclei_fit(nuclei: SuffStat) -> pycupc.PcAlgo:
    """`pc` of the measurements of cell nuclei."""
    return pycupc.pc(nuclei, alpha=0.01)


@pytest.fixture(scope="session")
def rscript() -> str:
    """The program Rscript of an R with pcalg; skips where there is none."""
    program = shutil.which("Rscript")
    if program is None or not has_pcalg(program):
        pytest.skip("no Rscript with pcalg")
    return program


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: Files of which the time is printed at the end, the slowest first.
SLOWEST = 15


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The seconds of the slowest files, with the modules that they import compiled."""
    seconds: dict[str, float] = defaultdict(float)
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.partition("::")[0]] += report.duration
    slowest = sorted(seconds, key=seconds.__getitem__, reverse=True)[:SLOWEST]
    if len(seconds) > 1:
        terminalreporter.section(f"seconds of the {len(slowest)} slowest of {len(seconds)} files")
        for path in slowest:
            terminalreporter.line(f"{seconds[path]:7.1f} {path}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {TESTS / file: k for k, file in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and (why := no_gpu()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"no CUDA device: {why}"))


@pytest.fixture
def libraries_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """R, loaded by another test, lets children of this process look for libraries in its own folders first."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
