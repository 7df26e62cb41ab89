"""Running and timing pycupc: a first run that is checked, then warm repetitions. Only public names are used."""

import gc
import time
from contextlib import contextmanager

import numpy as np

import pycupc
from pycupc.orientation import orient

from .processes import peak_memory
from .record import statistics
from .workloads import Answer, Workload

GPU_ENGINES = ("gpu", "cupc-e", "cupc-s")
#: A run of all of its levels loads the code, or compiles it.
WARM_UP = Workload("warm-up", np.eye(16) * 0.7 + 0.3, 10**6, 0.05)


class TooSlow(Exception):
    """A run exceeded its time limit; the argument: its columns, with the level and the tests that it may need."""


def stop_at(limit):
    """A progress hook that raises TooSlow once more than `limit` seconds have passed (None: never)."""
    began = time.perf_counter()

    def progress(level, _, tests_at_most, edges_left):
        if limit is not None and time.perf_counter() - began > limit:
            reached = {"stopped_at_level": level, "tests_at_most": tests_at_most}
            raise TooSlow({"outcome": "stopped", "limit": limit, **reached})

    return progress


def timed(call, *arguments, **options):
    """The result of a call, and its seconds."""
    began = time.perf_counter()
    return call(*arguments, **options), time.perf_counter() - began


def warm(call, most, budget):
    """Results and seconds of up to `most` calls, of which only the first may begin after `budget` seconds."""
    ends, k = time.perf_counter() + budget, 0
    with quick_collection():
        while k < most and (k == 0 or time.perf_counter() < ends):
            yield timed(call)
            gc.collect()
            k += 1


def once(w, engine, threads=None, limit=None):
    """Run `pycupc.skeleton` once: the result, and its seconds; TooSlow if it exceeded `limit`."""
    how = {"alpha": w.alpha, "engine": engine, "numCores": threads, "progress": stop_at(limit)}
    return timed(pycupc.skeleton, {"C": w.C, "n": w.n}, **how)


class Check:
    """The answer that all engines must give: the recorded one; without one, the answer of the first engine.

    Where the recorded answer is not reproduced, NumPy may round C otherwise here, and the engine `cpu` decides.
    """

    def __init__(self, w, answer=None):
        self.w, self.answer, self.by = w, answer or w.expected, "recorded" if w.expected and not answer else "given"

    def columns(self, answer):
        """With which answer this one was compared, and the parts in which it differs."""
        if self.answer is None:
            self.answer, self.by = answer, "first engine"
            return {"checked_by": "nothing"}
        differs = self.answer.differences(answer)
        if differs and self.by == "recorded":
            self.answer, self.by = Answer.of(once(self.w, "cpu")[0]), "cpu engine"
            differs = self.answer.differences(answer)
        return {"checked_by": self.by, "differs": ", ".join(differs)}


def repeat(w, engine, check, *, threads=None, least=5, budget=10.0, limit=None):
    """Run once and check the answer; then, if it is right, repeat warm: `least` times, or for `budget` seconds if less.

    Returns the columns of the run, its result and the median seconds of its levels; None and [] if it took too long or
    the engine failed.
    """
    try:
        fit, first = once(w, engine, threads, limit)
        peak = peak_memory()  # before the answers are compared and the run is repeated: both hold more at a time
        answer = Answer.of(fit)
        row = {"tests": sum(fit.n_edgetests), "edges": len(fit.sparse_graph), "last_level": len(fit.n_edgetests) - 1}
        row |= {"careful": sum(s.n_careful for s in fit.levels), "peak_bytes": peak, "answer": answer.digest}
        row |= check.columns(answer)
        if row.get("differs"):
            return row, fit, []
        times, levels = [], []
        for again, taken in warm(lambda: once(w, engine, threads, limit)[0], least, budget):
            if not times and Answer.of(again).digest != answer.digest:
                return row | {"differs": "between runs"}, fit, []
            times.append(taken)
            levels.append([level.seconds for level in again.levels])
            del again
    except TooSlow as stopped:
        return stopped.args[0], None, []
    except pycupc.EngineError as error:
        return {"outcome": "failed", "why": str(error)}, None, []
    levels = np.median(levels, axis=0)
    return row | {"first": first, **statistics(times), "levels_seconds": levels.sum()}, fit, levels.tolist()


def repeat_cpu(w, threads, began, how):
    """Columns and answer of the engine `cpu` in a process of its own, which was asked for at `began` (time.time())."""
    once(WARM_UP, "cpu", threads)
    start_up = time.time() - began
    row, fit, _ = repeat(w, "cpu", Check(w), threads=threads, **how)
    if fit is None:
        return row, None
    return row | {"start_up": start_up, "orientation": orientation(fit, 3)}, Answer.of(fit)


@contextmanager
def quick_collection():
    """Let the garbage collector look only at objects made from here on: a full pass takes up to a fifth of a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def orientation(fit, least=5):
    """Median seconds of orienting a skeleton (u2pd = "relaxed"); the first of `least` + 1 runs loads the code."""
    how = {"u2pd": "relaxed", "solve_confl": False, "ambiguous": None, "random_state": None}
    taken = [timed(orient, fit.sparse_graph, fit.sepset, **how)[1] for _ in range(least + 1)]
    return float(np.median(taken[1:]))
