"""Progress of a run, shown by tqdm on a terminal or in a notebook; the hooks that users give instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, cast

from pycupc.system.logging import SHOWN, level_log, lines_to, unprinted

#: Called as hook(level, tests_done, tests_at_most, edges_left) during a level, and often, so it must be quick.
ProgressHook = Callable[[int, int, int, int], None]

#: Called as hook(done, total).
CountHook = Callable[[int, int], object]


class LevelBar:
    """Bars of tqdm on stderr, one after the other, mostly one per level.

    As a `ProgressHook`, it shows the level. The number of tests of a level is known only as an upper bound, since a
    removed edge makes its remaining tests unnecessary: a level often ends well before its bar is full.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._bar: Any = None

    def __call__(self, level: int, done: int, at_most: int, edges_left: int) -> None:
        self._show(f"level {level:>2}", done, at_most, f"{edges_left:,} edges left")

    def resamples(self, done: int, total: int) -> None:
        """Progress of `pycupc.stability`."""
        self._show("resamples", done, total, f"{done:,} of {total:,}")

    def correlations(self, done: int, total: int) -> None:
        """Progress of `SuffStat.from_data`, shown where it takes more than a second."""
        self._show("correlations", done, total, delay=1)

    def writing(self, begun: int, total: int, name: str) -> None:
        """Progress of writing the files, shown where it takes more than a second."""
        self._show("writing", begun, total, name, delay=1)

    def notice(self, text: str) -> None:
        """Show `text` until the next bar begins."""
        self._begin(text, bar_format="{desc}", leave=False)

    def close(self, *, finished: bool = True) -> None:
        """End the bar, which is full if its work has `finished`."""
        if self._bar is not None:
            self._bar.n = 1 if finished else self._bar.n
            self._bar.close()
        self._name = self._bar = None

    def _begin(self, name: str, **options: Any) -> None:
        from tqdm.auto import tqdm

        self.close()
        self._name, self._bar = name, tqdm(total=1, desc=name, file=sys.stderr, miniters=0, nrows=20, **options)
        if (getattr(self._bar, "ncols", None) or 0) < 1:  # a terminal that does not tell its width
            self._bar.ncols = None

    def _show(self, name: str, done: int, total: int, text: str = "", delay: float = 0) -> None:
        share = min(1.0, done / total) if total else 1.0  # numbers of tests may be too large for tqdm
        if name != self._name:
            form = "{l_bar}{bar:24}| [{elapsed}<{remaining}{postfix}]"
            self._begin(name, bar_format=form, initial=share, delay=delay, postfix=text)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(share - self._bar.n)


@contextmanager
def level_bar(*, wanted: bool = True, anywhere: bool = False) -> Iterator[LevelBar | None]:
    """Yield a bar; None if it is not `wanted`, or if stderr is not a terminal and `anywhere` is False."""
    # None: closed (2>&-), or no console on Windows
    if not wanted or sys.stderr is None or not (anywhere or sys.stderr.isatty()):
        with unprinted():
            yield None
        return
    bar = LevelBar()
    finished = False
    try:
        with lines_to(lambda line: bar.notice(line) if line.startswith(SHOWN) else None):
            yield bar
        finished = True
    finally:
        bar.close(finished=finished)


@contextmanager
def progress_hook(
    progress: Any, arguments: str = "level, tests done, tests at most, edges left"
) -> Iterator[ProgressHook | None]:
    """Yield the hook of `pycupc.pc`'s `progress`: a bar for True, None for False, None; TypeError if not callable."""
    if isinstance(progress, bool):
        with level_bar(wanted=progress, anywhere=True) as bar:
            yield bar
        return
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be True, False, None, or callable ({arguments}), got {progress!r}")
    yield progress


@contextmanager
def shown(progress: Any, *, verbose: bool) -> Iterator[ProgressHook | None]:
    """As `progress_hook`; meanwhile the package's log lines are shown if `verbose`."""
    with progress_hook(progress) as hook, level_log() if verbose else nullcontext():
        yield hook


@contextmanager
def count_hook(progress: CountHook | bool | None, what: str) -> Iterator[CountHook | None]:
    """As `progress_hook`, for an argument that counts tasks, which are `what`: a method of `LevelBar`."""
    with progress_hook(progress, f"{what} done, {what}") as hook:
        yield getattr(hook, what) if isinstance(hook, LevelBar) else cast("CountHook | None", hook)


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:34, 3:25:00 or 12 days."""
    whole = round(seconds)
    if whole >= 48 * 3600:
        return f"{whole // 86400:,} days"
    hours, rest = divmod(whole, 3600)
    minutes, whole = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"
