"""Parts of the command line: progress bars, numbers of an estimate, formats of pictures."""

import io
import itertools
import logging
import re
import sys

import numpy as np
import pytest

import pycupc
from pycupc.algorithm import estimate
from pycupc.cli.output import with_each_format
from pycupc.system import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def screen(self):
        """The lines as a terminal shows them at the end: text after a carriage return overwrites the line."""
        lines = []
        for line in self.getvalue().split("\n"):
            shown = ""
            for part in line.split("\r"):
                shown = part + shown[len(part) :]
            lines.append(re.sub(r" *\[\d.*(<[\d:?]+)", "", shown).rstrip())  # without the times
        return lines


def on_a_terminal(monkeypatch, seconds=2):
    """Let stderr be a terminal, and these seconds pass between looks at the clock."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    clock = itertools.count(0, seconds)
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    return sys.stderr


def test_one_line_per_level(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    seen = [(0, 0, 10, 45), (0, 10, 10, 30), (1, 0, 200, 30), (1, 50, 200, 25)]
    with progress.level_bar() as bar:
        for level, done, at_most, edges in [*seen, (1, 150, 10**400, 20)]:  # more than a float holds
            bar(level, done, at_most, edges)
    full = "#" * 24
    assert terminal.screen() == [
        f"level  0: 100%|{full}|, 30 edges left]",
        f"level  1: 100%|{full}|, 20 edges left]",
        "",
    ]
    assert re.search(r"\rlevel  1:  25%\|#{6} {18}\| \[00:\d\d<00:\d\d, 25 edges left\]", terminal.getvalue())


@pytest.mark.parametrize("seconds", [0.1, 3])
def test_work_beside_the_tests_is_shown_where_it_takes_long(monkeypatch, seconds):
    terminal = on_a_terminal(monkeypatch, seconds)
    bar = progress.LevelBar()
    for show, text in ((bar.correlations, ()), (bar.writing, ("edges.csv",))):
        show(1, 8, *text)
        show(2, 8, *text)
        bar.close()
    bars = ["correlations: 100%|########################|]", "writing: 100%|########################|, edges.csv]"]
    assert terminal.screen() == [*(bars if seconds > 1 else []), ""]


def test_compiling_is_shown_between_the_lines_of_the_levels(monkeypatch):
    terminal, logger = on_a_terminal(monkeypatch), logging.getLogger("pycupc")
    before = logger.level, list(logger.handlers)
    with progress.level_bar() as bar:
        bar(0, 10, 10, 30)
        logger.info("compiling for level %d, once per machine", 1)
        level_0 = "level  0: 100%|########################|, 30 edges left]"
        assert terminal.screen() == [level_0, "compiling for level 1, once per machine"]
        logger.info("level 0: 10 tests, 3 edges removed, 30 left, 2.000 s")
        bar(1, 50, 200, 25)
        assert terminal.screen()[-1].startswith("level  1:  25%|######  ")
        assert "compiling" not in terminal.screen()[-1]
        logger.info("compiling for level 2, once per machine")
    level_1 = "level  1: 100%|########################|, 25 edges left]"
    assert terminal.screen() == [level_0, level_1, ""]
    assert (logger.level, logger.handlers) == before


def test_the_bar_of_a_run_that_stops_stays_where_it_is(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), progress.level_bar() as bar:  # noqa: PT012
        bar(0, 5, 10, 30)
        raise KeyboardInterrupt
    assert terminal.screen() == ["level  0:  50%|############            |, 30 edges left]", ""]


def test_bar_of_resamples(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with progress.count_hook(True, "resamples") as count:
        count(5, 20)  # those before an interrupt
        count(20, 20)
    assert terminal.screen() == ["resamples: 100%|########################|, 20 of 20]", ""]


@pytest.mark.parametrize("terminal", [True, False])
def test_without_a_bar_nothing_is_shown(monkeypatch, terminal):
    stream, logger = Terminal() if terminal else io.StringIO(), logging.getLogger("pycupc")
    monkeypatch.setattr(sys, "stderr", stream)
    before = logger.level, list(logger.handlers)
    with progress.level_bar(wanted=not terminal) as bar:
        assert bar is None
        assert logger.level == before[0]
        logger.info("compiling for level 1, once per machine")
        logger.warning("compiling, once per machine")  # which would go to stderr without handlers
    assert (logger.level, logger.handlers) == before
    assert stream.getvalue() == ""


@pytest.mark.parametrize("wanted", [True, False])
def test_no_bar_without_stderr(monkeypatch, wanted):
    monkeypatch.setattr(sys, "stderr", None)
    with progress.progress_hook(wanted) as hook, progress.count_hook(wanted, "resamples") as count:
        assert hook is count is None
    fit = pycupc.pc({"C": np.eye(3), "n": 50}, engine="cpu", progress=wanted, verbose=True)
    assert fit.max_ord == 0


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (75, "1:15"), (7265, "2:01:05"), (1e7, "115 days")])
def test_clock(seconds, text):
    assert progress.clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999_999_999, "999,999,999"), (10**9, "1.00e09"), (12345 * 10**40, "1.23e44")]
)
def test_counts_are_short(value, text):
    assert estimate.count(value) == text


def test_sizes_are_short():
    assert estimate.size(5_000_000) == "5 MiB"
    assert estimate.size(3 * 2**30 + 2**29) == "3.5 GiB"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("run d.csv --plot png svg", "run d.csv --plot png --plot svg"),
        ("run --plot pdf png svg d.csv", "run --plot pdf --plot png --plot svg d.csv"),
        ("run --plot none d.csv --plot png", "run --plot none d.csv --plot png"),
        ("run png svg --plot", "run png svg --plot"),
        ("png", "png"),
    ],
)
def test_several_formats_may_follow_one_another(given, meant):
    assert with_each_format(given.split()) == meant.split()
