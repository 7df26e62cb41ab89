"""Section 13: edges that are stable over resamples; how many of them are false, and what resampling costs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import structures
from . import names, stability_pictures
from .raw import caption, versions
from .tables import Table, cell, digits

#: Seconds that 100 resamples were to take at most on one H200.
GOALS = {"riboflavin": 3.0, "tcga_brca_jive": 2.0}
METHODS = {"meinshausen-buehlmann": "Meinshausen and Buehlmann", "worst-case": "worst case", "unimodal": "unimodal"}
SHOWN = (0.5, 0.7, 0.9)
TEXT = """\
`pycupc.stability` runs `pc` on resamples of the rows; an edge is *selected* if its variables are adjacent in at least
a share of the graphs (the threshold). [STABILITY.md](../STABILITY.md) explains how to read the result.
"""
ACCURACY = """\
**Selected edges against single runs.** {graphs} random graphs (standardised generator, p = {p}, 3 neighbours on
average) for each n, {resamples} resamples; precision / recall of the adjacencies, pooled over the graphs. A single run
is one run of `pc` on all rows.
"""
BOUNDS = """\
**The bounds on false edges.** A setting is a structure with p, n, alpha and threshold; the bound held in it if the
mean number of false edges over {repetitions} data sets is not above the mean bound. Each data set has {n_resamples}
resamples; p = {p}; n = {n}; alpha = {alpha}; thresholds {share}. Settings with an infinite bound are left out. An edge
is false if its variables are not adjacent in the causal graph. The bound of Meinshausen and Buehlmann is for scheme
"subsample"; the others, by Shah and Samworth, are for "complementary". Their assumptions *hold* if the rows are
independent and every pair without an edge is found with the same probability: in the first {equal} structures any such
pair can be mapped to any other by a permutation of the variables that leaves the distribution unchanged. ("unimodal"
assumes more, which cannot be verified from a structure.) In the other structures some pairs without an edge are found
more often than others, or the rows are not independent. The goal was that each bound holds in at least 95 % of the
settings whose assumptions hold. Recall is the share of the true edges that are selected, averaged over the settings.
All settings are in [stability-settings.csv](results/stability-settings.csv).
"""
EXAMPLES = """\
**Real data.** Numbers of edges of a single run, and of edges selected over 100 resamples; the last column says how
many edges of the single run are found in at least 90 % of the resamples, in 50 to 90 %, and in fewer.
"""
LOOPS = """\
**Time of resampling.** Bootstrap, from the data in memory to the frequencies at one alpha, compared with a plain loop
of `pc` over the same resamples in the same process; the two alternate, and medians are shown. The counts of all edges
with their marks were found equal; on a GPU, the answer on two resamples was first compared with that of the engine
`cpu`.
"""
CLUSTER = """\
**Several GPUs.** {n_resamples} bootstrap resamples on Dask workers of one machine, one worker per GPU, from the data
in the memory of this process to the frequencies; medians. Every study is sent to the workers anew. Every answer was
compared with that of this process alone (no executor). The goal was that four GPUs are at least 3.5 times as fast as
one.
"""
PEERS = """\
**Other implementations**: a loop over their `pc` on {resamples} bootstrap resamples of {set} (alpha {alpha:g});
seconds for all resamples together, without loading the packages. pcalg runs with `skel.method = "stable.fast"`.
"""


class Setting(NamedTuple):
    """One point at which a bound is compared with what was found."""

    structure: str
    p: int
    n: int
    alpha: float
    share: float
    method: str
    false: float
    error: float
    bound: float
    recall: float

    @property
    def held(self) -> bool:
        return self.false <= self.bound


def section(raw: dict[str, Any], folder: Path) -> str:
    """Section 13."""
    result, gpu, cluster = (raw.get(name) for name in ("stability", "stability-gpu", "stability-cluster"))
    if result is None and gpu is None and cluster is None:
        return ""
    where = [caption(result) + f" {result['threads']} threads."] if result is not None else []
    where += [f"GPU: {caption(gpu, True)}"] if gpu is not None else []
    parts = ["## 13. Stability\n", "\n".join(where), "", TEXT]
    rows = result["rows"] if result is not None else []
    for kind, build in (("accuracy", _accuracy), ("bounds", _bounds), ("examples", _examples)):
        own = [row for row in rows if row["kind"] == kind]
        if own:
            parts.append(build(own, folder))
    times = [row for row in [*rows, *(gpu["rows"] if gpu is not None else [])] if row["kind"] == "times"]
    loops, peers = ([row for row in times if (row["who"] == "peers") == is_peers] for is_peers in (False, True))
    parts += [LOOPS, _loops(loops).write(folder, "stability-times"), ""] if loops else []
    if cluster is not None:
        parts += [CLUSTER.format(**cluster["rows"][0]), f"{caption(cluster, True)}\n"]
        parts += [_cluster(cluster["rows"]).write(folder, "stability-cluster"), ""]
    for row in peers:
        parts += [PEERS.format(**row, resamples=row["n_resamples"]), _peers(row).write(folder, "stability-peers"), ""]
        parts.append(
            versions({k: v for run in row["runs"].values() for k, v in run.get("versions", {}).items()}) + ".\n"
        )
    return "\n".join(parts)


# -- accuracy ---------------------------------------------------------------------------------------------------------


def pooled(rows: list[dict[str, Any]], n: int, who: str, alpha: float, share: float | None) -> tuple[float, float]:
    """Precision and recall over all graphs with n samples; of no edges at all the precision is not a number."""
    own = [row for row in rows if row["n"] == n]
    wanted = {"who": who, "alpha": alpha, "share": share}
    values = [v for row in own for v in row["values"] if wanted.items() <= v.items()]
    edges, hits = sum(v["edges"] for v in values), sum(v["hits"] for v in values)
    return hits / edges if edges else float("nan"), hits / sum(row["true_edges"] for row in own)


def _accuracy(rows: list[dict[str, Any]], folder: Path) -> str:
    points = [("single run", None), *((who, share) for who in ("bootstrap", "complementary") for share in SHOWN)]
    heads = ["samples n", "alpha", *(who if share is None else f"{who}, {share:g}" for who, share in points)]
    body = []
    for n in sorted({row["n"] for row in rows}):
        for alpha in sorted({v["alpha"] for v in rows[0]["values"]}):
            cells = ["{:.3f} / {:.3f}".format(*pooled(rows, n, who, alpha, share)) for who, share in points]
            body.append([str(n), f"{alpha:g}", *cells])
    graphs = len({row["seed"] for row in rows})
    text = ACCURACY.format(graphs=graphs, p=rows[0]["p"], resamples=rows[0]["n_resamples"])
    picture = stability_pictures.accuracy(rows, pooled, folder)
    table = Table(heads, body).write(folder, "stability-accuracy")
    return "\n".join([text, table, "", f"![precision and recall](results/{picture})\n"])


# -- bounds -----------------------------------------------------------------------------------------------------------


def settings(rows: list[dict[str, Any]]) -> Iterator[Setting]:
    """Every setting with a finite bound."""
    for row in rows:
        for v in row["values"]:
            for method, bound in v["bounds"].items():
                if np.isfinite(bound):
                    at = row["set"], row["p"], row["n"], v["alpha"], v["share"]
                    recall = v["true"] / row["true_edges"] if row["true_edges"] else float("nan")
                    yield Setting(*at, method, v["false"], v["false_error"], bound, recall)


def _bounds(rows: list[dict[str, Any]], folder: Path) -> str:
    found = list(settings(rows))
    with (folder / "stability-settings.csv").open("w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(
            ["structure", "p", "n", "alpha", "threshold", "bound of", "false edges", "standard error", "bound"]
        )
        writer.writerows([*s[:6], f"{s.false:.4g}", f"{s.error:.3g}", f"{s.bound:.4g}"] for s in found)
    text = BOUNDS.format(**_about(rows), equal=len(structures.EQUAL))
    picture = stability_pictures.bounds(found, folder)
    table = _by_structure(found).write(folder, "stability-bounds")
    return "\n".join([text, table, "", _broken(found), f"![bounds](results/{picture})\n"])


def _about(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The values of p, n, alpha and the threshold, the repetitions, and the resamples."""
    values = {key: {row[key] for row in rows} for key in ("p", "n", "repetitions", "n_resamples")}
    values |= {key: {v[key] for v in rows[0]["values"]} for key in ("alpha", "share")}
    return {key: ", ".join(f"{v:g}" for v in sorted(found)) for key, found in values.items()}


def _by_structure(found: list[Setting]) -> Table:
    """How often each bound held."""
    known = {**structures.EQUAL, **structures.UNEQUAL}
    groups = {
        "**all whose assumptions hold**": [s for s in found if s.structure in structures.EQUAL],
        **{name: [s for s in found if s.structure == name] for name in known},
    }
    heads = ["structure", "in words", "assumptions", *(f"{label}: held in" for label in METHODS.values())]
    heads += ["recall at threshold 0.6 (%)", "least favourable setting"]
    body = []
    for name, own in groups.items():
        if own:
            words = known[name].words if name in known else ""
            holds = "hold" if own[0].structure in structures.EQUAL else "do not hold"
            held = [_share_held(own, method) for method in METHODS]
            body.append([name, words, holds, *held, _recall(own) if words else "", _worst(own)])
    return Table(heads, body)


def _share_held(found: list[Setting], method: str) -> str:
    own = [s for s in found if s.method == method]
    return f"{sum(s.held for s in own)} of {len(own)} ({100 * sum(s.held for s in own) / max(1, len(own)):.1f} %)"


def _recall(found: list[Setting]) -> str:
    """The share of the true edges that is found, a mean over the settings; empty if there are none."""
    recall = np.mean([s.recall for s in found if s.share == 0.6])
    return f"{100 * recall:.0f}" if np.isfinite(recall) else ""


def _worst(found: list[Setting]) -> str:
    """The setting in which false edges exceed the bound most, or come nearest to it."""
    s = max(found, key=lambda s: (s.false - s.bound if not s.held else -1, s.false / s.bound if s.bound else 0))
    return (
        f"{digits(s.false)} false edges, bound {digits(s.bound)} ({METHODS[s.method]}; p = {s.p}, n = {s.n}, "
        f"alpha {s.alpha:g}, threshold {s.share:g})"
    )


def _broken(found: list[Setting]) -> str:
    """The settings whose assumptions hold and in which the bound did not."""
    own = [s for s in found if s.structure in structures.EQUAL and not s.held]
    if not own:
        return "In every setting whose assumptions hold, the bound held.\n"
    heads = ["structure", "p", "n", "alpha", "threshold", "bound of", "false edges", "standard error", "bound"]
    body = [[*map(str, s[:5]), METHODS[s.method], digits(s.false), digits(s.error), digits(s.bound)] for s in own]
    return f"The settings whose assumptions hold and in which the bound did not:\n\n{Table(heads, body).markdown()}\n"


# -- real data and times ----------------------------------------------------------------------------------------------


def _examples(rows: list[dict[str, Any]], folder: Path) -> str:
    heads = ["data", "variables x samples", "scheme", "alpha", "single run", "per resample", "in >= 50 %", "in >= 90 %"]
    heads += [
        "in all",
        "bound at 90 %: worst case",
        "bound at 90 %: unimodal",
        "edges of the single run: >= 90 % / 50 to 90 % / fewer",
    ]
    body = []
    for row in rows:
        facts = [row["set"], f"{row['p']:,} x {row['n']:,}", row["who"]]
        for v in row["values"]:
            counts = [digits(v["edges_per_graph"]), *(f"{v['edges'][key]:,}" for key in ("0.5", "0.9", "1"))]
            bounds = [digits(v["bounds"][m][3]) if m in v["bounds"] else "" for m in list(METHODS)[1:]]
            of = " / ".join(str(k) for k in reversed(v["of_single_run"]))
            body.append([*facts, f"{v['alpha']:g}", f"{v['single_run']:,}", *counts, *bounds, of])
    picture = stability_pictures.examples([row for row in rows if row["who"] == "complementary"], folder)
    table = Table(heads, body).write(folder, "stability-examples")
    return "\n".join([EXAMPLES, table, "", f"![stable edges](results/{picture})\n"])


def _loops(rows: list[dict[str, Any]]) -> Table:
    heads = ["data set", "engine", "alpha", "variables x samples", "resamples", "tests", "stability (s)", "goal (s)"]
    heads += ["loop of pc() (s)", "stability / loop", "answers"]
    body = []
    for row in rows:
        ours, loop = (float(np.median(row[key])) for key in ("stability", "loop"))
        goal = GOALS.get(row["set"]) if row["who"] == "gpu" else None
        facts = [row["set"], row["who"], f"{row['alpha']:g}", f"{row['p']:,} x {row['n']:,}", str(row["n_resamples"])]
        times = [digits(ours), "" if goal is None else f"{goal:g}", digits(loop), f"{ours / loop:.2f}"]
        equal = "**differ**" if row["differs"] else "equal"
        body.append([*facts, f"{row['tests']:.3g}", *times, equal])
    return Table(heads, body)


def _cluster(rows: list[dict[str, Any]]) -> Table:
    heads = [
        "data set",
        "engine",
        "alpha",
        "variables x samples",
        "executor",
        "time (s)",
        "times one worker",
        "answers",
    ]
    body = []
    for row in rows:
        times = {run["workers"]: float(np.median(run["seconds"])) for run in row["runs"]}
        for run in row["runs"]:
            k = run["workers"]
            facts = [row["set"], row["engine"], f"{row['alpha']:g}", f"{row['p']:,} x {row['n']:,}"]
            facts.append("none" if k == 0 else f"{k} Dask worker{'s'[: k > 1]}")
            ratio = f"{times[1] / times[k]:.2f}" if k and 1 in times else ""
            body.append([*facts, digits(times[k]), ratio, "equal" if run["equal"] else "**differ**"])
    return Table(heads, body)


def _peers(row: dict[str, Any]) -> Table:
    heads = [
        "implementation",
        "all resamples (s)",
        "divided by that of stability()",
        "graphs that differ",
        "edges that differ",
    ]
    ours = sum(row["runs"]["cpu"]["seconds"])
    body = []
    for who, run in row["runs"].items():
        total = sum(run["seconds"]) if "seconds" in run else None
        time = digits(total) if total is not None else cell(run, "s")
        differ = [str(run.get(key, "")) for key in ("graphs_differ", "edges_differ")]
        body.append([names.label(who), time, digits(total / ours) if total is not None else "", *differ])
    return Table(heads, body)
