"""Progress on a terminal: the correlations, one line per level, and notices."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pycupc.system.log import SHOWN, lines_to, unprinted

#: Called as hook(level, tests_done, tests_at_most, edges_left) during a level, and often, so it must be quick.
ProgressHook = Callable[[int, int, int, int], None]

#: Called as hook(done, total).
CountHook = Callable[[int, int], object]

_WIDTH = 24
_SECONDS_BETWEEN_DRAWINGS = 0.1


class _Line:
    """A line of a terminal that is redrawn in place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._length = 0

    def _end_line(self) -> None:
        self._stream.write("\n")
        self._stream.flush()
        self._length = 0

    def _draw(self, text: str) -> None:
        self._stream.write("\r" + text + " " * (self._length - len(text)))
        self._stream.flush()
        self._length = len(text)

    def close(self) -> None:
        """End the line, so that the output that follows begins on a line of its own."""
        if self._length:
            self._end_line()


class CountBar(_Line):
    """Progress of tasks of about equal size; call it with (done, total)."""

    def __init__(self, stream: TextIO, what: str) -> None:
        super().__init__(stream)
        self._what = what
        self._first: tuple[int, float] | None = None
        self._drawn = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = (done, now)
        if now - self._drawn < _SECONDS_BETWEEN_DRAWINGS and done < total:
            return
        self._drawn = now
        begun, start = self._first
        share = done / total if total else 1.0
        passed = now - start
        left = f"  {clock(passed * (total - done) / (done - begun))} left" if begun < done < total else ""
        bar = "#" * round(_WIDTH * share)
        ended = f"  {clock(passed)}" if done == total else ""
        self._draw(f"{self._what} [{bar:<{_WIDTH}}] {share:4.0%}  {done:,} of {total:,}{left}{ended}")


class LevelBar(_Line):
    """Progress of a run on a terminal; call it with (level, tests done, tests at most, edges left).

    The number of tests of a level is known only as an upper bound, since a removed edge makes its remaining tests
    unnecessary; so the time left is an upper bound too, and is shown as one. A level often ends well before its bar is
    full.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._began: dict[str, float] = {}
        self._level: int | None = None
        self._drawn = 0.0

    def __call__(self, level: int, done: int, at_most: int, edges_left: int) -> None:
        now = time.monotonic()
        if level != self._level:
            self._end_level()
            self._level, self._start = level, now
        self._edges = edges_left
        if now - self._drawn < _SECONDS_BETWEEN_DRAWINGS:
            return
        self._drawn = now
        share = min(1.0, done / at_most) if at_most else 1.0
        bar = "#" * round(_WIDTH * share)
        passed = now - self._start
        left = f"  at most {clock(passed * (1 - share) / share)} left" if share > 0 and passed > 1 else ""
        self._draw(f"level {level:>2} [{bar:<{_WIDTH}}] {share:4.0%}  {edges_left:,} edges left{left}")

    def notice(self, text: str) -> None:
        """End the line of the level and show `text` until the next level begins."""
        self._end_level()
        self._level = None
        self._draw(text)

    def correlations(self, done: int, total: int) -> None:
        """Progress of `SuffStat.from_data`, shown where it takes more than a second."""
        passed = self._seconds_of("correlations")
        if passed > 1:
            self.notice(f"correlations {done / total:4.0%}  {passed:.0f} s")

    def writing(self, begun: int, total: int, name: str) -> None:
        """Progress of writing the files, shown where it takes more than a second."""
        if self._seconds_of("writing") > 1:
            self.notice(f"writing {begun / total:4.0%}  {name}")

    def _seconds_of(self, work: str) -> float:
        """Seconds since the first call with this name."""
        now = time.monotonic()
        return now - self._began.setdefault(work, now)

    def close(self, *, finished: bool = True) -> None:
        """End the line of the level, which has `finished` or was stopped, or the line of a notice."""
        self._end_level("done" if finished else "stopped")
        self._level = None
        super().close()

    def _end_level(self, state: str = "done") -> None:
        if self._level is None:
            return
        passed = time.monotonic() - self._start
        self._draw(f"level {self._level:>2} {state}  {self._edges:,} edges left  {passed:.1f} s")
        self._end_line()


@contextmanager
def level_bar(*, wanted: bool = True, anywhere: bool = False) -> Iterator[LevelBar | None]:
    """Yield a bar on stderr; None if it is not `wanted`, or if stderr is not a terminal and `anywhere` is False."""
    # None: closed (2>&-), or no console on Windows
    if not wanted or sys.stderr is None or not (anywhere or sys.stderr.isatty()):
        with unprinted():
            yield None
        return
    bar = LevelBar(sys.stderr)

    def show(line: str) -> None:
        if line.startswith(SHOWN):
            bar.notice(line)

    finished = False
    try:
        with lines_to(show):
            yield bar
        finished = True
    finally:
        bar.close(finished=finished)


@contextmanager
def progress_hook(progress: ProgressHook | bool | None) -> Iterator[ProgressHook | None]:
    """Yield the hook for the argument `progress` of `pycupc.pc`: a bar for True, None for False and None.

    TypeError for anything else that is not callable.
    """
    if isinstance(progress, bool):
        with level_bar(wanted=progress, anywhere=True) as bar:
            yield bar
        return
    if progress is not None and not callable(progress):
        raise TypeError(
            "progress must be True, False, None, or callable (level, tests done, tests at most, edges left), got "
            f"{progress!r}"
        )
    yield progress


@contextmanager
def count_hook(progress: CountHook | bool | None, what: str) -> Iterator[CountHook | None]:
    """As `progress_hook`, for an argument that counts tasks."""
    if isinstance(progress, bool) or progress is None:
        bar = CountBar(sys.stderr, what) if progress and sys.stderr is not None else None
        try:
            yield bar
        finally:
            if bar is not None:
                bar.close()
        return
    if not callable(progress):
        raise TypeError(f"progress must be True, False, None, or callable ({what} done, {what}), got {progress!r}")
    yield progress


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:34, 3:25:00 or 12 days."""
    whole = round(seconds)
    if whole >= 48 * 3600:
        return f"{whole // 86400:,} days"
    hours, rest = divmod(whole, 3600)
    minutes, whole = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"
