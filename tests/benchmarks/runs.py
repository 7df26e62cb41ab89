"""Running and timing pycupc in this process: checked first run, warm repeats, what each step of the engine takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import pycupc
from pycupc.engines.base import Engine
from pycupc.engines.select import make_engine as choose_engine
from pycupc.orientation import orient

from .processes import peak_memory
from .workloads import Answer, Workload

GPU_ENGINES = ("gpu", "cupc-e", "cupc-s")
#: Steps of an engine before and between its levels; every other step returns results to the host.
STEPS_IN = ("inspect", "start")
UNTIMED = ("compile", "memory", "close")


class TooSlow(Exception):
    """A run exceeded its time limit; `reached` holds the level, the tests that it may need, and the edges left."""

    def __init__(self, limit: float, reached: dict[str, int]) -> None:
        super().__init__(f"more than {limit:g} s")
        self.reached = reached


def make_engine(name: str, threads: int | None = None, **options: Any) -> Any:
    """An engine by name; EngineError if it cannot run on this machine."""
    return choose_engine(name, 10**6, numCores=threads, options=options or None)[0]


class Stopwatch:
    """An engine that passes every call on to another one and notes how long the call takes."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.name = engine.name
        self.seconds: dict[str, float] = {}
        self.levels: list[float] = []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._engine, name)
        if not callable(value):
            return value

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            out = value(*args, **kwargs)
            took = time.perf_counter() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + took
            if name == "run_level":
                self.levels.append(took)
            return out

        return timed

    def total(self, *, exclude: tuple[str, ...] = ()) -> float:
        """Seconds of all steps together, without those in `exclude` and without the untimed ones."""
        return sum(took for name, took in self.seconds.items() if name not in (*exclude, *UNTIMED))


Engine.register(Stopwatch)


def once(w: Workload, engine: Any, limit: float | None = None) -> tuple[Any, dict[str, Any]]:
    """Run `pycupc.skeleton` once: the result, and the seconds of its steps (compiling not included).

    Raises
    ------
    TooSlow
        If the run exceeded `limit` seconds.
    """
    watch = Stopwatch(engine)
    began = time.perf_counter()

    def elapsed() -> float:
        return time.perf_counter() - began - watch.seconds.get("compile", 0.0)

    def progress(level: int, _: int, tests_at_most: int, edges_left: int) -> None:
        if limit is not None and elapsed() > limit:
            raise TooSlow(limit, {"level": level, "tests_at_most": tests_at_most, "edges_left": edges_left})

    fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine=watch, progress=progress)
    total = elapsed()
    return fit, {
        "total": total,
        "engine": watch.total(),
        "transfer_in": sum(watch.seconds.get(name, 0.0) for name in STEPS_IN),
        "levels": watch.levels,
        "transfer_out": watch.total(exclude=(*STEPS_IN, "run_level")),
    }


def repeat(
    w: Workload, engine: Any, *, least: int = 5, budget: float = 10.0, limit: float | None = None, check: Any = None
) -> dict[str, Any]:
    """Run once and check the answer, then repeat warm: `least` times, or for `budget` seconds if that comes first.

    Parameters
    ----------
    check : Answer, optional
        The answer to compare with; `w.expected` by default.

    Returns
    -------
    dict
        "first" (seconds), "answer" (hash), "differs" (empty if equal, None if there was nothing to compare with),
        numbers of tests and edges, "repeats" (seconds of each step), "fit"; or "too_slow" (the limit in seconds).
    """
    reference = check if check is not None else w.expected
    try:
        fit, first = once(w, engine, limit)
        peak = peak_memory()  # before the answers are compared and the run is repeated: both hold more at a time
        answer = Answer.of(fit)
        repeats, same = _warm(w, engine, answer, least, budget, limit)
    except TooSlow:
        return {"too_slow": limit, "repeats": []}
    differs = None if reference is None else reference.differences(answer)
    return {
        "peak_bytes": peak,
        "first": first["total"],
        "answer": answer.digest,
        "differs": differs if same else {"between_runs": True},
        "edges": int(np.triu(fit.skeleton).sum()),
        "tests": sum(fit.n_edgetests),
        "tests_by_level": fit.n_edgetests,
        "careful": sum(s.n_careful for s in fit.levels),
        "repeats": repeats,
        "fit": fit,
    }


def _warm(
    w: Workload, engine: Any, answer: Answer, least: int, budget: float, limit: float | None
) -> tuple[list[dict[str, Any]], bool]:
    """The times of warm runs, and whether the first of them gave `answer`."""
    repeats: list[dict[str, Any]] = []
    same = True
    began = time.perf_counter()
    with quick_collection():
        while len(repeats) < least and (not repeats or time.perf_counter() - began <= budget):
            fit, times = once(w, engine, limit)
            same = same and (bool(repeats) or Answer.of(fit).digest == answer.digest)
            repeats.append(times)
            del fit
            gc.collect()
    return repeats, same


@contextmanager
def quick_collection() -> Iterator[None]:
    """Let the garbage collector look only at what is made from here on: a full pass takes up to a fifth of a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def median(repeats: list[dict[str, Any]], key: str = "total") -> float | None:
    """The median of one time over the repeats, None without repeats."""
    return float(np.median([r[key] for r in repeats])) if repeats else None


def level_times(run: dict[str, Any]) -> np.ndarray:
    """Seconds of each level, medians over the repeats of a run."""
    return np.median([r["levels"] for r in run["repeats"]], axis=0)


def orientation(fit: Any, least: int = 5) -> list[float]:
    """Seconds of orienting a skeleton (u2pd = "relaxed"), `least` times."""
    if not fit.skeleton.any():
        return [0.0]
    out = []
    for _ in range(least):
        began = time.perf_counter()
        orient(fit.skeleton, fit.sepset, u2pd="relaxed", solve_confl=False, ambiguous=None, random_state=None)
        out.append(time.perf_counter() - began)
    return out
