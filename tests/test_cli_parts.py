"""Parts of the command line: progress bars, numbers of an estimate."""

from __future__ import annotations

import io
import logging
import sys

import numpy as np
import pytest

import pycupc
from pycupc.algorithm import estimate
from pycupc.system import progress


def test_bar_shows_one_line_per_level(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    bar = progress.LevelBar(out)
    for level, done, at_most, edges in [
        (0, 0, 10, 45),
        (0, 10, 10, 30),
        (1, 0, 200, 30),
        (1, 50, 200, 25),
        (1, 150, 200, 20),
    ]:
        now[0] += 2.0
        bar(level, done, at_most, edges)
    bar.close()
    lines = [line.split("\r")[-1].rstrip() for line in out.getvalue().split("\n")[:-1]]
    assert lines == ["level  0 done  30 edges left  4.0 s", "level  1 done  20 edges left  4.0 s"]
    assert "level  1 [######                  ]  25%  25 edges left  at most 0:06 left" in out.getvalue()


def test_bar_shows_correlations_that_take_long(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    bar = progress.LevelBar(out)
    bar.correlations(1, 8)
    assert out.getvalue() == ""  # nothing within the first second
    now[0] = 3.0
    bar.correlations(2, 8)
    bar.correlations(8, 8)
    bar.close()
    assert out.getvalue() == "\rcorrelations  25%  3 s\rcorrelations 100%  3 s\n"


def test_bar_shows_writing_that_takes_long(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    bar = progress.LevelBar(out)
    bar.writing(0, 4, "result.npz")
    assert out.getvalue() == ""  # nothing within the first second
    now[0] = 3.0
    bar.writing(2, 4, "edges.csv")
    bar.close()
    assert out.getvalue() == "\rwriting  50%  edges.csv\n"


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
            lines.append(shown.rstrip())
        return lines


def test_compiling_is_shown_between_the_lines_of_the_levels(monkeypatch):
    terminal, logger = Terminal(), logging.getLogger("pycupc")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress.time, "monotonic", iter(range(0, 100, 2)).__next__)
    before = logger.level, list(logger.handlers)
    with progress.level_bar() as bar:
        bar(0, 10, 10, 30)
        logger.info("compiling for level %d, once per machine", 1)
        assert terminal.screen()[-2:] == [
            "level  0 done  30 edges left  2.0 s",
            "compiling for level 1, once per machine",
        ]
        logger.info("level 0: 10 tests, 3 edges removed, 30 left, 2.000 s")
        bar(1, 50, 200, 25)
        assert terminal.screen()[-1].startswith("level  1 [######  ")
        assert "compiling" not in terminal.screen()[-1]
        logger.info("compiling for level 2, once per machine")
    assert terminal.screen() == [
        "level  0 done  30 edges left  2.0 s",
        "level  1 done  25 edges left  2.0 s",
        "compiling for level 2, once per machine",
        "",
    ]
    assert (logger.level, logger.handlers) == before


def test_bar_of_a_run_that_stops_says_so(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(KeyboardInterrupt), progress.level_bar() as bar:  # noqa: PT012
        bar(0, 5, 10, 30)
        raise KeyboardInterrupt
    assert terminal.screen() == ["level  0 stopped  30 edges left  0.0 s", ""]


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


def test_stage_counts_are_exact():
    """A star of 4 leaves: the centre tests 4 edges against C(3, l) sets, each leaf none at level 1."""
    degrees = np.array([4, 1, 1, 1, 1])
    stage = estimate._stage(0, degrees, degrees, list("cabde"), 10, 0.1, (0, 0))
    assert (stage.edges, stage.max_degree, stage.busiest) == (4, 4, "c")
    assert stage.most_tests == (4 * 3, 4 * 3, 4 * 1)
