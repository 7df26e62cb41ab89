"""Sections 2 to 5: the GPU engines step by step, the paper's baselines, levels, configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pycupc.engines.gpu.cupc import Geometry

from .. import workloads
from ..runs import level_times
from . import bars, heat_maps, names, prose
from .raw import caption, seconds
from .tables import Table, cell, time

#: Seconds that the engine gpu was to reach on one H200.
GOALS = {
    "stock_logret": 0.10,
    "std_1000_100_2000": 0.15,
    "std_1000_20_1000": 0.010,
    "tcga_brca_jive": 0.012,
    "saureus": 0.018,
    "mcc": 0.006,
    "nci60": 0.004,
}
#: Double-precision units of one multiprocessor, by compute capability.
FP64_UNITS = {"7.0": 32, "8.0": 32, "9.0": 64, "10.0": 64}
OPERATIONS_PER_TEST = 10


def section(raw: dict[str, Any], folder: Path) -> str:
    """Section 2: every GPU implementation on every data set, and the steps of pycupc's engines."""
    result = raw.get("gpu")
    if result is None:
        return ""
    parts = ["## 2. The GPU engines step by step\n", caption(result, True), "", prose.GPU]
    parts += [_whole(result).write(folder, "gpu"), ""]
    for r in result["rows"]:
        for why in ("absent", "failed"):
            if why in r["runs"].get("gpucsl", {}):
                parts.append(f"gpucsl on {r['set']}: {why}, `{r['runs']['gpucsl'][why].splitlines()[-1]}`\n")
    peak = _peak(result)
    known = prose.NO_PEAK if peak is None else prose.PEAK.format(tflops=f"{peak / 1e12:.3g}")
    parts += [prose.SPLIT.format(peak=known), _steps(result, peak).write(folder, "gpu-split"), ""]
    return "\n".join(parts)


def _peak(result: dict[str, Any]) -> float | None:
    """Peak of double-precision operations per second, None if it is not known."""
    gpu = result["machine"].get("gpu")
    units = FP64_UNITS.get(gpu["capability"]) if gpu else None
    return None if units is None or not gpu.get("clock_khz") else gpu["processors"] * gpu["clock_khz"] * 1e3 * units * 2


def _whole(result: dict[str, Any]) -> Table:
    """Times of whole calls, with the goal of the engine gpu."""
    order = ("gpu", "cupc-s", "cupc-e", "gpucsl", "cuPC-library")
    engines = [e for e in order if any(e in r["runs"] for r in result["rows"])]
    heads = ["data set", "alpha", "tests", "last level", "goal of gpu (ms)", "goal met"]
    body = []
    for r in result["rows"]:
        goal = None if result["quick"] else GOALS.get(r["set"])
        run = r["runs"].get("gpu")
        whole, engine, met = seconds(run), seconds(run, "engine"), ""
        if goal is not None and whole is not None and engine is not None:
            met = "yes" if whole <= goal else "by the engine" if engine <= goal else "no"
        facts = [
            r["set"],
            f"{r['alpha']:g}",
            f"{r.get('tests', 0):.3g}",
            str(r.get("levels", "")),
            time(goal, "ms"),
            met,
        ]
        body.append([*facts, *(cell(r["runs"].get(e), "ms") for e in engines)])
    return Table([*heads, *(f"{names.engine(e)} (ms)" for e in engines)], body)


def _steps(result: dict[str, Any], peak: float | None) -> Table:
    """The steps of a call, tests per second and share of the peak."""
    steps = ["first call", "whole call, median", "engine", "copy to the device", "levels", "copy back", "orientation"]
    heads = ["data set", "engine", *(f"{step} (ms)" for step in steps), "tests per second", "share of the peak (%)"]
    body = []
    for r in result["rows"]:
        for e in ("gpu", "cupc-s", "cupc-e"):
            run = r["runs"].get(e, {})
            if not run.get("repeats"):
                continue
            levels = float(level_times(run).sum())
            rate = run["tests"] / levels
            keys = ("total", "engine", "transfer_in")
            times = [run["first"], *(seconds(run, key) for key in keys), levels, seconds(run, "transfer_out")]
            times.append(float(np.median(r["orientation"])) if r.get("orientation") else None)
            share = "" if peak is None else f"{100 * rate * OPERATIONS_PER_TEST / peak:.2g}"
            body.append([r["set"], names.engine(e), *(time(v, "ms") for v in times), f"{rate:.3g}", share])
    return Table(heads, body)


def baselines(raw: dict[str, Any], folder: Path) -> str:
    """Section 3."""
    result = raw.get("baselines")
    if result is None:
        return ""
    picture = bars.baselines(result, folder)
    heads = ["## 3. The baseline algorithms of the cuPC paper\n", prose.BASELINES]
    return "\n".join([*heads, f"![baselines](results/{picture})\n"])


def levels(raw: dict[str, Any], folder: Path) -> str:
    """Section 4."""
    result = raw.get("gpu") or raw.get("cpu")
    if result is None or not any(
        x.get("levels") for r in result["rows"] for v in r["runs"].values() for x in v.get("repeats", [])
    ):
        return ""
    picture = bars.levels(result, folder)
    return f"## 4. Time per level\n\n{prose.LEVELS}\n![levels](results/{picture})\n"


def configurations(raw: dict[str, Any], folder: Path) -> str:
    """Section 5."""
    result = raw.get("configurations")
    if result is None:
        return ""
    parts = ["## 5. Configurations of cupc-e and cupc-s\n", prose.CONFIGURATIONS]
    for engine, paper in workloads.PAPER_CHOICE.items():
        picture = heat_maps.configurations(result, engine, folder)
        if picture is None:
            continue
        tables = heat_maps.ratios(result, engine)
        mean = tables.pop(heat_maps.MEAN)
        best = min(mean, key=lambda cell: mean[cell])
        by_set = [t[best] for t in tables.values()]
        text = prose.CONFIGURATION.format(
            engine=engine,
            names=", ".join(paper),
            paper=tuple(paper.values()),
            default=tuple(getattr(Geometry, name) for name in paper),
            best=best,
            mean=mean[best],
            least=min(by_set),
            most=max(by_set),
            verdict="faster on every data set" if max(by_set) < 1 else "not faster on every data set",
        )
        parts.append(f"{text}\n![{engine}](results/{picture})\n")
    wrong = sum(bool(c["differs"]) for r in result["rows"] for c in r["cells"])
    same = "All configurations gave the same answer.\n"
    parts.append(f"**{wrong} configurations gave another answer.**\n" if wrong else same)
    return "\n".join(parts)
