"""The time of a run, from its first levels after level 1, which run for a few seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pycupc.engines.protocol import EngineError
from pycupc.engines.subsets import Counts, level_tests
from pycupc.system.progress import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from pycupc.algorithm.arguments import Problem
    from pycupc.engines.protocol import LevelResult, Pairs, ProgressHook, State

#: Seconds that nobody waits for: a month.
HOPELESS = 30 * 86400


@dataclass(frozen=True)
class Trial:
    """How far a run comes in a few seconds, and what that says about the rest."""

    level: int  # last level that was begun
    finished: bool  # whether no level is left, so that `seconds` is the time of a run
    seconds: float  # time of all levels so far, without compiling
    # Upper bound on the time of `level` at the speed measured; None if it has finished or cannot be run at all.
    level_seconds: float | None = None
    most_seconds: float | None = None  # the same for all levels, if no further edge were removed; at most 1e300
    slow_level: int | None = None  # first level that may take longer than `HOPELESS`
    busiest: str = ""  # the variable with the most neighbours, if the levels do not end
    degree: int = 0  # their number
    refusal: str = ""  # why the engine refused `level`, "" if it did not


def degrees_at_first(problem: Problem) -> tuple[Counts, Counts]:
    """`degrees_of` before any test."""
    p, gaps, fixed = problem.test.p, problem.gaps, problem.fixed
    degrees = np.full(p, p - 1) if gaps is None else p - 1 - gaps.degrees()
    return degrees, degrees if fixed is None else degrees - (fixed - gaps).degrees()


def degrees_of(state: State, p: int, fixed: Pairs | None) -> tuple[Counts, Counts]:
    """Number of neighbours of each variable, and of the neighbours that are tested."""
    x, y = state.x, state.y
    degrees = np.bincount(np.concatenate((x, y)), minlength=p)
    if fixed is None:
        return degrees, degrees
    tested = ~fixed.holds(x, y)
    return degrees, np.bincount(np.concatenate((x[tested], y[tested])), minlength=p)


class _Enough(Exception):
    """The time of the trial is over."""


class Watch:
    """A progress hook that stops the level that runs when the time of the trial is over.

    `left`: seconds that are left; inf before the trial. `took`: seconds from the first report of the level to the last
    one: it comes when everything is compiled. `done`, `at_most`: tests of the level.
    """

    def __init__(self, progress: ProgressHook | None) -> None:
        self._progress = progress
        self.left = math.inf
        self.begin_level()

    def begin_level(self) -> None:
        """Forget the level before."""
        self._begun, self.took, self.done, self.at_most = math.inf, 0.0, 0, 1

    def __call__(self, level: int, done: int, at_most: int, edges: int) -> None:
        if self._progress is not None:
            self._progress(level, done, at_most, edges)
        now = time.monotonic()
        self._begun = min(self._begun, now)
        self.took, self.done, self.at_most = now - self._begun, done, at_most
        if done and self.took > self.left:
            raise _Enough


def try_levels(
    problem: Problem,
    run_level: Callable[[int], LevelResult],
    state: Callable[[], State],
    watch: Watch,
    budget: float,
    begun: tuple[int, float],
) -> Trial:
    """Run further levels for about `budget` seconds; `begun`: the next level, and the time of the levels before it."""
    labels = problem.labels
    level, passed = begun
    watch.left = budget
    while True:
        degrees, targets = degrees_of(state(), problem.test.p, problem.fixed)
        if not (bound := level_tests(degrees, targets, level)):
            return Trial(level - 1, True, passed)
        busiest = int(np.argmax(degrees))
        row = str(labels[busiest]), int(degrees[busiest])
        watch.begin_level()
        try:
            took = run_level(level).seconds
        except EngineError as error:
            return Trial(level, False, passed, None, None, level, *row, str(error))
        except _Enough:
            whole = watch.took * watch.at_most / watch.done
            bounds = [level_tests(degrees, targets, k) for k in range(level, int(degrees[busiest]))]
            seconds = [whole * (min(tests, 10**300 * bound) / bound) for tests in bounds]  # floats end beyond 1e308
            slow = next((level + k for k, most in enumerate(seconds) if most > HOPELESS), None)
            most = min(passed + sum(seconds), 1e300)
            return Trial(level, False, passed + watch.took, whole, most, slow, *row)
        passed, watch.left, level = passed + took, watch.left - took, level + 1


def time_of(trial: Trial) -> str:
    """How long a run takes, in sentences."""
    low, level, slow = _seconds(trial.seconds), trial.level, trial.slow_level
    if trial.finished:
        return f"Time: the tests take about {low}."
    tried = "" if trial.level_seconds is None else f"level {level} takes at most {_seconds(trial.level_seconds)}"
    if slow is None and trial.most_seconds is not None:
        return f"Time: {tried}, all levels between {low} and {_seconds(trial.most_seconds)}."
    if slow == level:
        text = f"This will not finish: {trial.refusal or f'at the speed measured here, {tried}'}."
    else:
        text = (
            f"Time: {tried}, all levels more than {low}.\n"
            f"This may not finish: level {slow} would take longer than a month, unless earlier ones remove edges."
        )
    return (
        f"{text}\n{trial.busiest} has the most neighbours, {trial.degree:,}.\n"
        f"Take a smaller alpha, limit the sets to {(slow or 1) - 1} (--m-max, m_max), or leave out such variables."
    )


def _seconds(seconds: float) -> str:
    """A time: 0.03 s, 12:34, 3:25:00, 12 days, or 4.05e+05 years."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    return clock(seconds) if seconds < 1000 * 86400 else f"{seconds / 86400 / 365.25:.3g} years"
