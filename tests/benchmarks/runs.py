"""Running and timing pycupc: a first run that is checked, warm repetitions, and the parts of the engine."""

import gc
import time
from contextlib import contextmanager

import numpy as np

import pycupc
from pycupc.engines.select import make_engine as choose_engine
from pycupc.orientation import orient

from .processes import peak_memory
from .record import statistics
from .workloads import Answer

GPU_ENGINES = ("gpu", "cupc-e", "cupc-s")
#: The engine "gpu" without pruning.
GPU_PLAIN = "gpu-plain"
#: The parts of a run, and the steps of an engine that belong to each.
PARTS = {"take": "transfer_in", "inspect": "transfer_in", "start": "transfer_in", "run_level": "levels"}
PARTS |= {"degrees": "transfer_out", "wait": "transfer_out", "edges": "transfer_out", "compile": "compile"}


class TooSlow(Exception):
    """A run exceeded its time limit; `reached` holds the level and the tests that it may need at most."""

    def __init__(self, limit, reached):
        super().__init__(f"more than {limit:g} s")
        self.columns = {"outcome": "stopped", "limit": limit, **reached}


def make_engine(name, threads=None, **options):
    """An engine by name, or `GPU_PLAIN`; EngineError if it cannot run on this machine."""
    if name == GPU_PLAIN:
        name, options = "gpu", {"pruning": False, **options}
    return choose_engine(name, 10**6, numCores=threads, options=options or None)[0]


@contextmanager
def watched(engine):
    """The seconds of every call of the steps of an engine, by part; of calls from within a step nothing is noted."""
    taken = {part: [] for part in PARTS.values()}
    inside = []

    def timed(step, method):
        def call(*args, **options):
            inside.append(step)
            began = time.perf_counter()
            try:
                return method(*args, **options)
            finally:
                inside.pop()
                if not inside:
                    taken[PARTS[step]].append(time.perf_counter() - began)

        return call

    steps = {step: getattr(engine, step) for step in PARTS if hasattr(engine, step)}
    for step, method in steps.items():
        setattr(engine, step, timed(step, method))
    try:
        yield taken
    finally:
        for step in steps:
            delattr(engine, step)


def stop_at(limit, spent):
    """A progress hook that raises TooSlow once `spent()` exceeds `limit` seconds (None: never)."""

    def progress(level, _, tests_at_most, edges_left):
        if limit is not None and spent() > limit:
            raise TooSlow(limit, {"stopped_at_level": level, "tests_at_most": tests_at_most})

    return progress


def once(w, engine, limit=None):
    """Run `pycupc.skeleton` once: the result, and the seconds of its parts (compiling not included).

    TooSlow if the run exceeded `limit` seconds.
    """
    with watched(engine) as taken:
        began = time.perf_counter()

        def spent():
            return time.perf_counter() - began - sum(taken["compile"])

        fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine=engine, progress=stop_at(limit, spent))
        total = spent()
    parts = {part: sum(taken[part]) for part in ("transfer_in", "transfer_out")}
    return fit, {
        "total": total,
        **parts,
        "levels": taken["levels"],
        "engine": sum(taken["levels"], sum(parts.values())),
    }


class Check:
    """The answer that all engines must give: the recorded one; without one, that of the first engine.

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
            self.answer, self.by = Answer.of(once(self.w, make_engine("cpu"))[0]), "cpu engine"
            differs = self.answer.differences(answer)
        return {"checked_by": self.by, "differs": ", ".join(differs)}


def repeat(w, engine, check, *, least=5, budget=10.0, limit=None):
    """Run once and check the answer, then repeat warm: `least` times, or for `budget` seconds if that comes first.

    Returns the columns of the run, its result and the median seconds of its levels; None and [] if it took too long.
    """
    try:
        fit, first = once(w, engine, limit)
        peak = peak_memory()  # before the answers are compared and the run is repeated: both hold more at a time
        answer = Answer.of(fit)
        times, same = [], True
        began = time.perf_counter()
        with quick_collection():
            while len(times) < least and (not times or time.perf_counter() - began <= budget):
                again, taken = once(w, engine, limit)
                same = same and (bool(times) or Answer.of(again).digest == answer.digest)
                times.append(taken)
                del again
                gc.collect()
    except TooSlow as stopped:
        return stopped.columns, None, []
    levels = np.median([t["levels"] for t in times], axis=0)
    medians = {
        f"{part}_seconds": np.median([t[part] for t in times]) for part in ("engine", "transfer_in", "transfer_out")
    }
    row = {
        "first": first["total"],
        **statistics([t["total"] for t in times]),
        **medians,
        "levels_seconds": levels.sum(),
    }
    row |= {"tests": sum(fit.n_edgetests), "edges": len(fit.sparse_graph), "last_level": len(fit.n_edgetests) - 1}
    row |= {"careful": sum(s.n_careful for s in fit.levels), "peak_bytes": peak, "answer": answer.digest}
    row |= check.columns(answer)
    return row | ({} if same else {"differs": "between runs"}), fit, levels.tolist()


@contextmanager
def quick_collection():
    """Let the garbage collector look only at what is made from here on: a full pass takes up to a fifth of a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def orientation(fit, least=5):
    """Median seconds of orienting a skeleton (u2pd = "relaxed"); the first of `least` + 1 runs loads the code."""
    out = []
    for _ in range(least + 1 if len(fit.sparse_graph) else 0):
        began = time.perf_counter()
        orient(fit.sparse_graph, fit.sepset, u2pd="relaxed", solve_confl=False, ambiguous=None, random_state=None)
        out.append(time.perf_counter() - began)
    return float(np.median(out[1:])) if out else 0.0


def brief(row):
    """A run in one line of progress."""
    if "seconds" in row:
        return f"{row['seconds']:.4g} s, differs: {row.get('differs') or 'no'}"
    return ", ".join(str(row[key]) for key in ("outcome", "limit", "estimate", "why") if key in row)
