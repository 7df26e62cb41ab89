"""One line a level on a terminal: how much of the level is done, edges left, time left at most."""

from __future__ import annotations

import time
from typing import TextIO

_WIDTH = 24
_EVERY = 0.1


class LevelBar:
    """Progress of a run for a terminal; call it with (level, tests dealt with, tests at most, edges left).

    The tests of a level are known only as an upper bound, since an edge that goes takes its remaining tests with it; so
    the time left is an upper bound too, and is shown as one. A level often ends well before its bar is full.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._level: int | None = None
        self._drawn = 0.0
        self._length = 0

    def __call__(self, level: int, done: int, at_most: int, edges_left: int) -> None:
        now = time.monotonic()
        if level != self._level:
            self._end_line()
            self._level, self._start = level, now
        self._edges = edges_left
        if now - self._drawn < _EVERY:
            return
        self._drawn = now
        share = min(1.0, done / at_most) if at_most else 1.0
        bar = "#" * round(_WIDTH * share)
        passed = now - self._start
        left = f"  at most {clock(passed * (1 - share) / share)} left" if share > 0 and passed > 1 else ""
        self._write(f"level {level:>2} [{bar:<{_WIDTH}}] {share:4.0%}  {edges_left:,} edges left{left}")

    def close(self, *, finished: bool = True) -> None:
        """End the last line, so that what follows starts on its own."""
        self._end_line("done" if finished else "stopped")
        self._level = None

    def _end_line(self, how: str = "done") -> None:
        if self._level is None:
            return
        passed = time.monotonic() - self._start
        self._write(f"level {self._level:>2} {how}  {self._edges:,} edges left  {passed:.1f} s")
        self._stream.write("\n")
        self._stream.flush()
        self._length = 0

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text + " " * (self._length - len(text)))
        self._stream.flush()
        self._length = len(text)


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:34, 3:25:00 or 12 days."""
    whole = round(seconds)
    if whole >= 48 * 3600:
        return f"{whole // 86400:,} days"
    hours, rest = divmod(whole, 3600)
    minutes, whole = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"
