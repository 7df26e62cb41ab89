"""Section 12: discrete data, the engines beside other implementations and beside published times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import names
from .raw import caption, seconds, versions_of
from .tables import Table, cell, digits, time

#: Seconds that a call was to take at most on 2 cores, by network.
GOALS = {"alarm": 0.03, "hepar2": 0.4, "munin1": 4.0}
#: Published seconds (Jiang, Wen and Mian 2022, Table III; alpha 0.05): pcalg on one core, bnlearn in parallel, Fast-BNS
#: on one core and in parallel. None: more than two days.
PUBLISHED: dict[str, tuple[float | None, float, float, float]] = {
    "alarm": (53.8, 0.42, 0.12, 0.017),
    "hepar2": (209, 2.8, 1.57, 0.19),
    "munin1": (2160, 16.5, 15.5, 1.78),
    "munin2": (None, 2734, 3496, 293),
    "munin3": (None, 3621, 8081, 751),
    "link": (None, 49400, 62900, 4349),
}
PEERS = ("pcalg", "bnlearn", "pgmpy", "causal-learn")
#: Our run of which each peer's answer and time is a multiple.
OURS = {"pcalg": "cpu, quirks"}
TEXT = """\
Tables of {n:,} observations, sampled with seed 1 from the Bayesian networks that pgmpy ships; the levels of a variable
are those of the network, whether or not they occur in the sample. A time is that of a whole call of `pc()`, from codes
in memory to the CPDAG. All implementations were given the same codes and alpha, run PC-stable with the G^2 test, and
have no limit on the level; their runs were stopped at {limit}. "pycupc cpu" is the default. With `quirks`, pycupc
answers as pcalg does, whose `disCItest` calls all variables independent given five or more others; pcalg's time and
answer (CPDAG, separating sets cell by cell, numbers of tests) are compared with this run. `not started`: the
implementation had been stopped on another problem of this table with at most as many tests (for pcalg, whose number of
tests is known, an estimate is given instead).

The other implementations follow different rules, so their graphs differ. pcalg and pycupc call two variables
independent if there are fewer than ten observations per degree of freedom, and keep the first set that separates them.
*bnlearn* (`pc.stable`, test "mi") has the same degrees of freedom without that rule; it is run with one process per
core and with a single one, and the smaller time is reported. *pgmpy* (`g_sq`) and *causal-learn* (`gsq`) have no such
rule either, subtract the empty rows and columns of each configuration from the degrees of freedom, test all sets of a
level even after one of them has separated the pair, and keep the union of those that did; pgmpy applies Yates'
correction to 2 x 2 tables. Variables that are constant in the sample are left out for these two, because pgmpy
connects them with all others.
"""
PUBLISHED_TEXT = """\
**Published times from a different machine**: seconds from Table III of Jiang, Wen and Mian (2022), *Fast parallel
Bayesian network structure learning*, IPDPS 2022, doi:10.1109/IPDPS53621.2022.00066; 5,000 samples (not these), alpha
0.05, two processors with 26 cores each; "parallel" is the best time with up to 32 threads. It is not known whether
Fast-BNS leaves out tests with few observations, so the amount of work may differ.
"""


def section(raw: dict[str, Any], folder: Path) -> str:
    """Section 12."""
    result = raw.get("discrete")
    if result is None:
        return ""
    gpu = raw.get("discrete-gpu")
    rows = joined(result, gpu)
    where = [f"CPU columns: {caption(result)} {result['threads']} threads. {versions_of(result)}."]
    if gpu is not None:
        where.append(f"GPU column: {caption(gpu, True)}")
    limits = sorted({run["too_slow"] for r in rows for run in r["runs"].values() if "too_slow" in run})
    limit = "its time limit" if not limits else " or ".join(f"{v:g} s" for v in limits)
    parts = ["## 12. Discrete data\n", "\n".join(where), "", TEXT.format(n=rows[0]["n"], limit=limit)]
    parts += [_times(rows).write(folder, "discrete"), ""]
    parts += ["Time of the other implementations divided by that of pycupc on the CPU (above 1: pycupc is faster):", ""]
    parts += [_ratios(rows).write(folder, "discrete-ratios"), ""]
    parts += [PUBLISHED_TEXT, _published(rows).write(folder, "discrete-published"), ""]
    return "\n".join(parts)


def joined(result: dict[str, Any], gpu: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The rows of the CPU file, with the runs of the engine `gpu` from the other one, checked by the CPU's answer."""
    others = {(r["set"], r["alpha"]): r["runs"].get("gpu") for r in (gpu or {"rows": []})["rows"]}
    rows = []
    for r in result["rows"]:
        runs = dict(r["runs"])
        run = others.get((r["set"], r["alpha"]))
        if run is not None:
            same = run.get("answer") == runs["cpu"].get("answer") or not {"answer"} <= run.keys() & runs["cpu"].keys()
            runs["gpu"] = run if same else {**run, "differs": {"between_machines": True}}
        rows.append({**r, "runs": runs})
    return rows


def _times(rows: list[dict[str, Any]]) -> Table:
    ours = ["cpu", "cpu, quirks", *(["gpu"] if any("gpu" in r["runs"] for r in rows) else [])]
    who = [*ours, *(w for w in PEERS if any(w in r["runs"] for r in rows))]
    heads = ["network", "alpha", "variables", "tests", "last level", "edges", "goal of cpu (s)", *map(names.head, who)]
    heads.append("pcalg's answer")
    body = []
    for r in rows:
        tests, edges = (f"{r[key]:,}" if key in r else "" for key in ("tests", "edges"))
        facts = [r["set"], f"{r['alpha']:g}", f"{r['p']:,}", tests, str(r.get("last_level", "")), edges]
        goal = f"{GOALS[r['set']]:g}" if r["set"] in GOALS else ""
        times = [cell(r["runs"].get(w), names.unit(w)) for w in who]
        body.append([*facts, goal, *times, _verdict(r["runs"].get("pcalg"))])
    return Table(heads, body)


def _verdict(run: dict[str, Any] | None) -> str:
    """Whether pcalg's answer is ours."""
    if not run or "differs" not in run:
        return ""
    return "differs: " + ", ".join(run["differs"]) if run["differs"] else "identical"


def _ratios(rows: list[dict[str, Any]]) -> Table:
    """The time of each peer over ours; a lower bound where it was stopped or estimated."""
    who = [w for w in PEERS if any(w in r["runs"] for r in rows)]
    body, found = [], {w: [] for w in who}
    for r in rows:
        cells = []
        for w in who:
            run, ours = r["runs"].get(w, {}), seconds(r["runs"].get(OURS.get(w, "cpu")))
            theirs = seconds(run)
            least = run.get("too_slow", run.get("seconds_at_measured_rate"))
            if ours is None or (theirs is None and least is None):
                cells.append("")
            elif theirs is None:
                cells.append(f"> {digits(least / ours)}")
            else:
                found[w].append(theirs / ours)
                cells.append(digits(theirs / ours))
        body.append([r["set"], f"{r['alpha']:g}", *cells])
    means = [digits(float(np.exp(np.mean(np.log(v))))) if v else "" for v in found.values()]
    return Table(["network", "alpha", *map(names.label, who)], [*body, ["geometric mean", "", *means]])


def _published(rows: list[dict[str, Any]]) -> Table:
    measured = {r["set"]: r["runs"] for r in rows if r["alpha"] == 0.05}
    ours = [w for w in ("cpu", "gpu") if any(w in runs for runs in measured.values())]
    heads = ["network", *(f"{names.label(w)}, here ({names.unit(w)})" for w in ours)]
    heads += [f"published: {w} (s)" for w in ("pcalg, one core", "bnlearn, parallel", "Fast-BNS, one core")]
    heads.append("published: Fast-BNS, parallel (s)")
    body = []
    for name, published in PUBLISHED.items():
        if name in measured:
            times = [time(seconds(measured[name].get(w)), names.unit(w)) for w in ours]
            body.append([name, *times, *("> 2 days" if v is None else digits(v) for v in published)])
    return Table(heads, body)
