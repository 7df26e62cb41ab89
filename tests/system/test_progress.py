"""Progress of a run: bars on a terminal, and nothing where there is none."""

import io
import itertools
import logging
import re
import sys

import numpy as np
import pytest
from common import assert_same
from small_tables import chain_table

import pycupc
from pycupc import pc, skeleton
from pycupc.system import progress


def test_progress_true_is_the_bar(capsys):
    assert_same(pc(chain_table(), progress=True, engine="reference"), pc(chain_table()))
    shown = capsys.readouterr().err
    assert "level  0: 100%" in shown
    assert shown.endswith("\n")
    assert_same(skeleton(chain_table(), progress=False), skeleton(chain_table()))
    assert capsys.readouterr().err == ""
    with pytest.raises(TypeError, match="progress must be True, False, None, or callable .*, got 'yes'"):
        pc(chain_table(), progress="yes")


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
