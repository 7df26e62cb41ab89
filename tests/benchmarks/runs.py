"""Running and timing pycupc: in this process (GPU, sweeps) and in one of its own (peak memory, compilation)."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .workloads import Answer, Workload

GPU_ENGINES = ("gpu", "cupc-e", "cupc-s")


class TooSlow(Exception):
    """A run passed its time limit; `reached` says where it was: level, tests it may need there, edges left."""

    def __init__(self, limit: float, reached: dict[str, int]) -> None:
        super().__init__(f"more than {limit:g} s")
        self.reached = reached


def make_engine(name: str, threads: int | None = None, **options: Any) -> Any:
    """An engine by name; EngineError if it cannot run here."""
    from pycupc.engines.select import make_engine as choose

    return choose(name, 10**6, numCores=threads, options=options or None)[0]


class Stopwatch:
    """An engine that notes how long each call of another one takes."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.name = engine.name
        self.seconds: dict[str, float] = {}
        self.levels: list[float] = []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._engine, name)
        if name not in ("inspect", "start", "run_level", "degrees", "adjacency", "kept", "memory", "close"):
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


def _stopwatch_is_an_engine() -> None:
    from pycupc.engines.base import Engine

    Engine.register(Stopwatch)


def once(w: Workload, engine: Any, limit: float | None = None) -> tuple[Any, dict[str, Any]]:
    """One skeleton, host arrays in, host arrays out: the result, and its times.

    Raises
    ------
    TooSlow
        If it passed `limit` seconds.
    """
    import pycupc

    _stopwatch_is_an_engine()
    watch = Stopwatch(engine)
    began = time.perf_counter()

    def progress(level: int, _: int, tests_at_most: int, edges_left: int) -> None:
        if limit is not None and time.perf_counter() - began > limit:
            raise TooSlow(limit, {"level": level, "tests_at_most": tests_at_most, "edges_left": edges_left})

    fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine=watch, progress=progress)
    total = time.perf_counter() - began
    s = watch.seconds
    return fit, {
        "total": total,
        "engine": sum(s.values()),
        "transfer_in": s.get("inspect", 0) + s.get("start", 0),
        "levels": watch.levels,
        "transfer_out": s.get("degrees", 0) + s.get("adjacency", 0) + s.get("kept", 0),
    }


def repeat(
    w: Workload, engine: Any, *, least: int = 5, budget: float = 10.0, limit: float | None = None, check: Any = None
) -> dict[str, Any]:
    """First run (answer checked, first-use costs apart), then warm repeats until `least` are done or time is up.

    Parameters
    ----------
    check : Answer, optional
        What it must equal; `w.expected` by default.

    Returns
    -------
    dict
        "first" seconds, "answer" digest, "differs" (empty if equal, None if there was nothing to compare with), tests,
        "repeats"; or "too_slow" seconds.
    """
    reference = check if check is not None else w.expected
    try:
        fit, first = once(w, engine, limit)
        peak = _peak()  # of one run; comparing and repeating hold more at a time
        answer = Answer.of(fit)
        out: dict[str, Any] = {
            "peak_bytes": peak,
            "first": first["total"],
            "answer": answer.digest,
            "differs": None if reference is None else reference.differences(answer),
            "edges": int(np.triu(fit.skeleton).sum()),
            "tests": sum(fit.n_edgetests),
            "tests_by_level": fit.n_edgetests,
            "careful": sum(s.n_careful for s in fit.levels),
            "repeats": [],
        }
        out["fit"] = fit
        began = time.perf_counter()
        while len(out["repeats"]) < least:
            fit, times = once(w, engine, limit)
            if len(out["repeats"]) == 0 and Answer.of(fit).digest != answer.digest:
                out["differs"] = {"between_runs": True}
            out["repeats"].append(times)
            del fit
            gc.collect()
            if time.perf_counter() - began > budget:
                break
    except TooSlow:
        return {"too_slow": limit, "repeats": []}
    return out


def median(repeats: list[dict[str, Any]], key: str = "total") -> float | None:
    """Median of one time over the repeats."""
    return float(np.median([r[key] for r in repeats])) if repeats else None


def level_times(run: dict[str, Any]) -> np.ndarray:
    """Median seconds of each level over the repeats of a run."""
    return np.median([r["levels"] for r in run["repeats"]], axis=0)


def orientation(fit: Any, least: int = 5) -> list[float]:
    """Seconds of orienting a skeleton (relaxed)."""
    from pycupc.orientation import orient

    if not fit.skeleton.any():
        return [0.0]
    out = []
    for _ in range(least):
        began = time.perf_counter()
        orient(fit.skeleton, fit.sepset, u2pd="relaxed", solve_confl=False, ambiguous=None, random_state=None)
        out.append(time.perf_counter() - began)
    return out


# -- a process of its own ------------------------------------------------------------------------------------------


def apart(w: Workload, engine: str, threads: int, *, least: int, budget: float, limit: float) -> dict[str, Any]:
    """`repeat` in a fresh process: with compilation (or loading what was compiled before) and peak memory apart."""
    job = {"engine": engine, "threads": threads, "least": least, "budget": budget, "alpha": w.alpha, "n": w.n}
    from .record import ROOT

    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    return in_process(["-m", "benchmarks.runs"], w, job, limit, environment={"PYTHONPATH": path})


def in_process(
    command: list[str],
    w: Workload,
    job: dict[str, Any],
    limit: float,
    python: str = sys.executable,
    environment: dict[str, str] | None = None,
    before: Callable[[Path], None] | None = None,
) -> dict[str, Any]:
    """Run a Python worker on a workload: it gets a folder with C.npy and job.json and leaves out.json and out.npz."""
    from .record import ROOT

    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        np.save(folder / "C.npy", w.C)
        (folder / "job.json").write_text(json.dumps(job))
        if before is not None:
            before(folder)
        try:
            done = subprocess.run(
                [python, *command, str(folder)],
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                capture_output=True,
                text=True,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return {"too_slow": limit, "repeats": []}
        if done.returncode or not (folder / "out.json").exists():
            why = (done.stderr or done.stdout).strip()[-600:] or f"exit code {done.returncode}"
            return {"failed": why, "repeats": []}
        out = json.loads((folder / "out.json").read_text())
        if (folder / "out.npz").exists():
            with np.load(folder / "out.npz") as z:
                out["arrays"] = {k: z[k] for k in z}
        return out


def _worker(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    C = np.load(folder / "C.npy")
    began = time.perf_counter()
    tiny = Workload("warm-up", np.eye(24) * 0.7 + 0.3, 100, 0.05, "")
    engine = make_engine(job["engine"], job["threads"])
    once(tiny, engine)
    start_up = time.perf_counter() - began
    w = Workload("job", C, job["n"], job["alpha"], "")
    before = _peak()
    out = repeat(w, engine, least=job["least"], budget=job["budget"])
    fit = out.pop("fit")
    out["start_up"], out["peak_before_bytes"] = start_up, before
    out["orientation"] = orientation(fit, 3)
    answer = Answer.of(fit)
    np.savez(
        folder / "out.npz",
        skeleton=answer.skeleton,
        n_edgetests=answer.n_edgetests,
        **{f"sepset{i}": part for i, part in enumerate(answer.sepset)},
    )
    (folder / "out.json").write_text(json.dumps(out))


def answer_of(arrays: dict[str, np.ndarray]) -> Answer:
    """What `_worker` stored."""
    sets = tuple(arrays[f"sepset{i}"] for i in range(4))
    return Answer(arrays["skeleton"], sets, tuple(int(v) for v in arrays["n_edgetests"]))


def _peak() -> int:
    """Largest resident memory of this process so far, in bytes."""
    try:  # Linux: getrusage would count what the process that started this one held, too
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    _worker(Path(sys.argv[1]))
