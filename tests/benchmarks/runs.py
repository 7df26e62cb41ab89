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
#: The engine "gpu" without pruning.
GPU_PLAIN = "gpu-plain"
#: Steps of an engine that take the problem, and those that return results to the host.
STEPS_IN, STEPS_OUT = ("take", "inspect", "start"), ("degrees", "wait", "edges")


class TooSlow(Exception):
    """A run exceeded its time limit; `reached` holds the level, the tests that it may need, and the edges left."""

    def __init__(self, limit: float, reached: dict[str, int]) -> None:
        super().__init__(f"more than {limit:g} s")
        self.reached = reached


def make_engine(name: str, threads: int | None = None, **options: Any) -> Any:
    """An engine by name, or `GPU_PLAIN`; EngineError if it cannot run on this machine."""
    if name == GPU_PLAIN:
        name, options = "gpu", {"pruning": False, **options}
    return choose_engine(name, 10**6, numCores=threads, options=options or None)[0]


class Stopwatch(Engine):
    """An engine that passes every step on to another one and notes how long the step takes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = engine.name
        self.seconds: dict[str, float] = {}
        self.levels: list[float] = []

    def _timed(self, step: str, *args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        out = getattr(self._engine, step)(*args, **options)
        took = time.perf_counter() - began
        self.seconds[step] = self.seconds.get(step, 0.0) + took
        if step == "run_level":
            self.levels.append(took)
        return out

    def take(self, data: Any, names: Any, **options: Any) -> None:
        self._timed("take", data, names, **options)

    def expect(self, cutoffs: Any) -> None:
        self._engine.expect(cutoffs)

    def wait(self) -> None:
        self._timed("wait")

    def inspect(self, C: Any) -> Any:
        return self._timed("inspect", C)

    def start(self, C: Any, n: float, **options: Any) -> None:
        self._timed("start", C, n, **options)

    def compile(self, level: int) -> None:
        self._timed("compile", level)

    def run_level(self, level: int, cutoff: float) -> Any:
        return self._timed("run_level", level, cutoff)

    def degrees(self) -> Any:
        return self._timed("degrees")

    def edges(self) -> Any:
        return self._timed("edges")

    def memory(self, p: int) -> tuple[int, int]:
        return self._engine.memory(p)

    def close(self) -> None:
        self._engine.close()

    def of(self, *steps: str) -> float:
        """Seconds of these steps together."""
        return sum(self.seconds.get(step, 0.0) for step in steps)


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
        return time.perf_counter() - began - watch.of("compile")

    def progress(level: int, _: int, tests_at_most: int, edges_left: int) -> None:
        if limit is not None and elapsed() > limit:
            raise TooSlow(limit, {"level": level, "tests_at_most": tests_at_most, "edges_left": edges_left})

    fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine=watch, progress=progress)
    total = elapsed()
    return fit, {
        "total": total,
        "engine": watch.of(*STEPS_IN, "run_level", *STEPS_OUT),
        "transfer_in": watch.of(*STEPS_IN),
        "levels": watch.levels,
        "transfer_out": watch.of(*STEPS_OUT),
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
    if not len(fit.sparse_graph.low):
        return [0.0]
    out = []
    for _ in range(least):
        began = time.perf_counter()
        orient(fit.sparse_graph, fit.sepset, u2pd="relaxed", solve_confl=False, ambiguous=None, random_state=None)
        out.append(time.perf_counter() - began)
    return out
