"""Experiments on a GPU: the table of all algorithms, the paper's baselines and configurations, GPU peers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import pycupc

from .. import peers, record, runs, workloads

#: The paper's baselines: one thread per edge makes its tests in sequence, one block per edge makes them in parallel.
BASELINES = {
    "one thread per edge": ("cupc-e", {"beta": 64, "gamma": 1}),
    "one block per edge": ("cupc-e", {"beta": 1, "gamma": 256}),
    "cupc-e": ("cupc-e", {}),
    "cupc-s": ("cupc-s", {}),
}
BETA_GAMMA = [(b, t // b) for t in (32, 64, 128, 256) for b in (1, 2, 4, 8, 16, 32, 64, 128, 256) if b <= t]
THETA_DELTA = [(t, d) for t in (32, 64, 128, 256) for d in (1, 2, 4, 8)]
#: Data sets on which cupc-e and cupc-s take seconds.
HEAVY = ("stock_logret", "std_1000_100_2000")


class Deadline:
    """The time that is left for this call."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def left(self) -> float:
        return self._end - time.perf_counter()


def engines_of(args: Any) -> list[str]:
    """The engines that were asked for, of those that these experiments run; `GPU_PLAIN` only if it was asked for."""
    return [e for e in (args.engines or runs.GPU_ENGINES) if e in (*runs.GPU_ENGINES, runs.GPU_PLAIN, "cpu")]


def table(args: Any, deadline: Deadline) -> None:
    """Every engine on every data set, split into transfer, levels and orientation. --resume keeps the peers' runs."""
    result = record.new("gpu", args)
    names = list(args.sets or (workloads.QUICK if args.quick else workloads.SETS))
    for name in workloads.available(names, args.data):
        w = workloads.load(name, args.data)
        row = record.row_of(result, w)
        old = row.get("runs", {})
        row.update(source=w.source, runs={k: v for k, v in old.items() if k not in runs.GPU_ENGINES})
        check = w.expected
        for engine in engines_of(args):
            if name in HEAVY and engine not in ("gpu", "cpu"):
                continue
            least = 25 if engine == "gpu" else 9  # its runs are short, and vary
            out = measure(w, engine, check, least=least, budget=8.0, limit=min(30.0, deadline.left()))
            fit = out.pop("fit", None)
            if fit is not None:
                if engine == "gpu":
                    row["tests"], row["edges"], row["levels"] = out["tests"], out["edges"], len(fit.n_edgetests) - 1
                    row["orientation"] = runs.orientation(fit)
                if check is None:
                    check, out["checked_against"] = workloads.Answer.of(fit), "first engine"
                elif out["differs"] and check is w.expected:
                    check = _second_opinion(w, fit, out)
            row["runs"][engine] = out
            record.progress(f"{name} {engine}: {brief(out)}")
            record.write(result, args.out)
            del fit


def _second_opinion(w: workloads.Workload, fit: Any, out: dict[str, Any]) -> workloads.Answer:
    """The cpu engine's answer: it decides where NumPy rounds C otherwise than it did for the recorded answer."""
    cpu, _ = runs.once(w, runs.make_engine("cpu"))
    answer = workloads.Answer.of(cpu)
    out["differs_from_recorded"], out["differs"] = out["differs"], answer.differences(workloads.Answer.of(fit))
    out["checked_against"] = "cpu engine on this machine"
    return answer


def heavy(args: Any, deadline: Deadline) -> None:
    """Add cupc-e and cupc-s on the two data sets that take them seconds to the file of the table."""
    result = record.read(args.out, "gpu")
    if result is None:
        return
    for row in result["rows"]:
        for engine in ("cupc-s", "cupc-e"):
            if row["set"] not in HEAVY or engine not in engines_of(args) or deadline.left() < 30:
                continue
            w = workloads.load(row["set"], args.data)
            limit = min(60.0, deadline.left() / 2)
            out = measure(w, engine, w.expected, least=5, budget=min(25.0, deadline.left() / 5), limit=limit)
            out.pop("fit", None)
            row["runs"][engine] = out
            record.progress(f"{row['set']} {engine}: {brief(out)}")
            record.write(result, args.out)


def gpu_peers(args: Any, deadline: Deadline) -> None:
    """Experiment "gpu-peers": `peers_on_gpu` in a call of its own.

    Raises
    ------
    SystemExit
        If --out holds no GPU table to which the peers could be added.
    """
    if record.read(args.out, "gpu") is None:
        raise SystemExit(f"gpu-peers: {args.out} holds no gpu.json; run the experiment gpu first")
    record.write(record.new("gpu", args, resume=True), args.out)
    peers_on_gpu(args, deadline)


def peers_on_gpu(args: Any, deadline: Deadline) -> None:
    """Add gpucsl and a library with cuPC's entry point to the file of the table, slow data sets last."""
    result = record.read(args.out, "gpu")
    if result is None:
        return
    for row in sorted(result["rows"], key=lambda r: r["set"] in HEAVY):
        if (args.sets and row["set"] not in args.sets) or deadline.left() < 60:
            continue
        w = workloads.load(row["set"], args.data)
        fit, _ = runs.once(w, runs.make_engine("gpu"))
        limit = deadline.left() - 5
        if args.cupc_library is not None:
            out = peers.cupc_library(args.cupc_library, w, budget=20, limit=limit)
            row["runs"]["cuPC-library"] = peers.summary(out, fit.skeleton)
        if args.peer_path is not None:
            X, _ = workloads.observations(row["set"], args.data)
            out = peers.python_peer(
                "gpucsl",
                X,
                w.alpha,
                Path(sys.executable),
                peers.Effort(repeats=3, budget=20, limit=limit),
                warm_up=True,
                path=args.peer_path.resolve(),
            )
            row["runs"]["gpucsl"] = peers.summary(out, fit.skeleton)
        for who in ("gpucsl", "cuPC-library"):
            if who in row["runs"]:
                record.progress(f"{row['set']} {who}: {brief(row['runs'][who])}")
        record.write(result, args.out)


def baselines(args: Any, deadline: Deadline) -> None:
    """The paper's two baseline algorithms beside cupc-e and cupc-s."""
    result = record.new("baselines", args)
    for name in workloads.available(_sets(args, workloads.LIGHT), args.data):
        w = workloads.load(name, args.data)
        row = record.row_of(result, w)
        row["runs"] = {}
        check = w.expected
        for label, (engine, options) in BASELINES.items():
            if deadline.left() < 20:
                break
            out = measure(w, engine, check, least=5, budget=4.0, limit=20.0, **options)
            check = _keep_check(out, check, w)
            row["runs"][label] = {"engine": engine, **options, **out}
            record.progress(f"{name} {label}: {brief(out)}")
        record.write(result, args.out)


def configurations(args: Any, deadline: Deadline) -> None:
    """The configurations (beta, gamma) of cupc-e and (theta, delta) of cupc-s on the grids of the paper."""
    result = record.new("configurations", args)
    cells = [("cupc-e", {"beta": b, "gamma": g}) for b, g in BETA_GAMMA]
    cells += [("cupc-s", {"theta": t, "delta": d}) for t, d in THETA_DELTA]
    for name in workloads.available(_sets(args, workloads.CONFIGURED), args.data):
        w = workloads.load(name, args.data)
        row = record.row_of(result, w)
        row.setdefault("cells", [])
        check = w.expected
        for engine, options in [
            c for i, c in enumerate(cells) if not args.quick or i % 8 == 0 or c[1] == workloads.PAPER_CHOICE[c[0]]
        ]:
            if deadline.left() < 20:
                break
            if any({"engine": engine, **options}.items() <= c.items() for c in row["cells"]):
                continue
            out = measure(w, engine, check, least=3, budget=1.0, limit=5.0, **options)
            check = _keep_check(out, check, w)
            row["cells"].append(
                {
                    "engine": engine,
                    **options,
                    "differs": out.get("differs"),
                    "too_slow": out.get("too_slow"),
                    "seconds": [r["engine"] for r in out["repeats"]],
                }
            )
        record.progress(f"configurations {name}: {len(row['cells'])} cells, {deadline.left():.0f} s left")
        record.write(result, args.out)


def _sets(args: Any, default: tuple[str, ...]) -> list[str]:
    return list(args.sets or (workloads.QUICK if args.quick else default))


def measure(w: workloads.Workload, engine: str, check: Any, **how: Any) -> dict[str, Any]:
    """`runs.repeat`; the failure of an engine becomes a run with the reason as "failed"."""
    timing = {k: how.pop(k) for k in ("least", "budget", "limit")}
    try:
        return runs.repeat(w, runs.make_engine(engine, **how), check=check, **timing)
    except pycupc.EngineError as error:
        return {"failed": str(error), "repeats": []}


def _keep_check(out: dict[str, Any], check: Any, w: workloads.Workload) -> Any:
    """The answer with which the next runs are compared; takes the result out of `out`."""
    fit = out.pop("fit", None)
    if fit is None:
        return check
    if check is None:
        return workloads.Answer.of(fit)
    if out["differs"] and check is w.expected:
        return _second_opinion(w, fit, out)
    return check


def brief(out: dict[str, Any]) -> str:
    """A run in one line of progress."""
    if out.get("repeats"):
        e = runs.median(out["repeats"], "engine")
        return f"{runs.median(out['repeats']):.4f} s ({e:.4f} in the engine), differs: {out['differs']}"
    if out.get("seconds"):
        return f"{np.median(out['seconds']):.4f} s"
    return str({k: v for k, v in out.items() if k != "repeats"})
