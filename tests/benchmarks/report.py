"""Tables, figures and BENCHMARKS.md, from the raw files and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pycupc.engines.gpu.cupc import Geometry

from . import curves, figures, prose, record, workloads
from .experiments import cpu
from .figures import label, seconds
from .runs import level_times
from .tables import Table, caption, captions, cell, clock, markdown, merged, versions_of, write

#: Seconds that `schur` must not pass on one H200.
GOALS = {
    "stock_logret": 0.10,
    "std_1000_100_2000": 0.15,
    "std_1000_20_1000": 0.010,
    "tcga_brca_jive": 0.012,
    "saureus": 0.018,
    "mcc": 0.006,
    "nci60": 0.004,
}
#: float64 units of one multiprocessor, by compute capability.
FP64_UNITS = {"7.0": 32, "8.0": 32, "9.0": 64, "10.0": 64}
FLOPS_A_TEST = 10
#: Who is not compared with whom in the tables of speedups.
LEFT_OUT = {
    "stable": ("stable",),
    "stable.fast": ("stable", "stable.fast"),
    "cuPC-library": ("stable", "stable.fast", "stable.fast, OpenMP", "reference", "cuPC-library"),
}
#: Columns of the first table: peers on the CPU, ours, peers on the GPU, ours.
WHO = (
    "stable",
    "stable.fast",
    "stable.fast, OpenMP",
    "reference",
    "cpu",
    "gpucsl",
    "cuPC-library",
    "cupc-e",
    "cupc-s",
    "gpu",
)


def write_all(folder: Path) -> None:
    """Everything that the raw files in `folder` allow; README too where they are the committed ones."""
    raw = {name: r for name in RAW if (r := record.read(folder, name)) is not None}
    sections = [
        section
        for build in (
            _table2,
            _gpu,
            _baselines,
            _levels,
            _configurations,
            _sharing,
            _scaling,
            _scaling_large,
            _accuracy,
            _in_r,
        )
        if (section := build(raw, folder))
    ]
    text = "\n".join([prose.HEAD, *sections, _provenance(raw), ""])
    target = record.HERE / "BENCHMARKS.md" if folder.resolve() == record.RESULTS else folder / "BENCHMARKS.md"
    if target.parent == folder:
        text = text.replace("](results/", "](")
    target.write_text(text)
    if folder.resolve() == record.RESULTS:
        _readme(raw)
    record.say(f"wrote {target.name} from {', '.join(raw)}")


RAW = (
    "cpu",
    "gpu",
    "gpu-other-host",
    "baselines",
    "configurations",
    "sharing",
    "scaling",
    "scaling-large",
    "accuracy",
    "r",
)


def _table2(raw: dict[str, Any], folder: Path) -> str:
    rows = merged(raw)
    if not rows:
        return ""
    rows = [r for r in rows if r["set"] != cpu.CALIBRATION] or rows
    who = [w for w in WHO if any(w in r["runs"] for r in rows)]
    heads = ["set, alpha", "p x n", "CI tests", *map(label, who)]
    body = []
    for r in rows:
        tests = f"{r['tests']:.3g}" if r.get("tests") else ""
        body.append(
            [f"{r['set']}, {r['alpha']:g}", f"{r['p']} x {r['n']}", tests, *(cell(r["runs"].get(w)) for w in who)]
        )
    parts = ["## 1. Every algorithm on every set (Table 2 of the cuPC paper)\n"]
    parts += [captions(raw), "", prose.PEERS, write((heads, body), folder, "table2"), ""]
    for base, name in (("stable", "speedups-stable"), ("stable.fast", "speedups"), ("cuPC-library", "speedups-cupc")):
        speedups = _speedups(rows, who, base)
        if speedups[1]:
            text = f"How many times faster than {label(base)} (below 1: slower), where both ran:"
            parts += [text, "", write(speedups, folder, name), ""]
    words = "Skeleton, medians. " + captions(raw).replace("*", "").replace("\n", " ")
    parts += [f"![run times](results/{figures.glance(rows, words, folder)})\n"]
    if "cpu" in raw:
        parts.append(_cpu_extras(raw["cpu"], folder))
    return "\n".join(parts)


def _speedups(rows: list[dict[str, Any]], who: list[str], against: str) -> Table:
    both = [[w for w in who if seconds(r["runs"].get(w))] for r in rows if seconds(r["runs"].get(against))]
    ours = [w for w in who if w not in LEFT_OUT[against] and any(w in ran for ran in both)]
    body, columns = [], {w: [] for w in ours}
    for r in rows:
        base = seconds(r["runs"].get(against))
        if base is None:
            continue
        cells = []
        for w in ours:
            own = seconds(r["runs"].get(w))
            cells.append("" if own is None else f"{base / own:,.3g}")
            if own is not None:
                columns[w].append(base / own)
        body.append([f"{r['set']}, {r['alpha']:g}", *cells])
    if body:
        means = [f"{np.exp(np.mean(np.log(columns[w]))):,.3g}" if columns[w] else "" for w in ours]
        body.append(["geometric mean", *means])
    return ["set, alpha", *map(label, ours)], body


def _cpu_extras(result: dict[str, Any], folder: Path) -> str:
    heads = ["set", "first run", "warm median", "start and compiled code", "orientation", "peak memory", "allowed"]
    body = []
    for r in result["rows"]:
        run = r["runs"].get("cpu", {})
        if run.get("repeats"):
            body.append(
                [
                    r["set"],
                    clock(run["first"]),
                    clock(seconds(run)),
                    clock(run["start_up"]),
                    clock(float(np.median(run["orientation"]))),
                    f"{run['peak_bytes'] / 1e6:.0f} MB",
                    f"{run['memory_allowed_bytes'] / 1e6:.0f} MB",
                ]
            )
    parts = [prose.CPU, write((heads, body), folder, "cpu"), ""]
    if result.get("python_peers"):
        peers = [w for w in ("causal-learn", "pgmpy") if any(w in r["runs"] for r in result["python_peers"])]
        body = [
            [r["set"], f"{r['tests']:,}", cell(r["runs"]["cpu"]), *(cell(r["runs"].get(w)) for w in peers)]
            for r in result["python_peers"]
        ]
        heads = ["set", "CI tests", "pycupc cpu", *peers]
        parts += [prose.PYTHON_PEERS, write((heads, body), folder, "python-peers"), ""]
    return "\n".join(parts)


def _peak(result: dict[str, Any]) -> float | None:
    gpu = result["machine"].get("gpu")
    units = FP64_UNITS.get(gpu["capability"]) if gpu else None
    return None if units is None or not gpu.get("clock_khz") else gpu["processors"] * gpu["clock_khz"] * 1e3 * units * 2


def _gpu(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("gpu")
    if result is None:
        return ""
    engines = [
        e for e in ("gpu", "cupc-s", "cupc-e", "gpucsl", "cuPC-library") if any(e in r["runs"] for r in result["rows"])
    ]
    heads = ["set, alpha", "tests", "levels", "goal", *map(label, engines)]
    body = []
    for r in result["rows"]:
        goal = np.inf if result["quick"] else GOALS.get(r["set"], np.inf)
        own = seconds(r["runs"].get("gpu"))
        alone = seconds(r["runs"].get("gpu"), "engine")
        mark = "" if own is None else " (met)" if own <= goal else " (engine alone)" if alone <= goal else " (missed)"
        cells = ["" if goal == np.inf else clock(goal) + mark, *(cell(r["runs"].get(e)) for e in engines)]
        body.append([f"{r['set']}, {r['alpha']:g}", f"{r.get('tests', 0):.3g}", str(r.get("levels", "")), *cells])
    parts = ["## 2. The GPU, split up\n", caption(result, True), "", write((heads, body), folder, "gpu"), ""]
    for r in result["rows"]:
        for why in ("absent", "failed"):
            if why in r["runs"].get("gpucsl", {}):
                parts.append(f"gpucsl on {r['set']}: {why}, `{r['runs']['gpucsl'][why].splitlines()[-1]}`\n")
    peak = _peak(result)
    heads = ["set", "engine", "first", "total", "engine alone", "to the device", "levels", "back", "orientation"]
    heads += ["tests/s", "share of float64 peak"]
    body = []
    for r in result["rows"]:
        for e in ("gpu", "cupc-s", "cupc-e"):
            run = r["runs"].get(e, {})
            if not run.get("repeats"):
                continue
            times = level_times(run).sum()
            rate = run["tests"] / times
            body.append(
                [
                    r["set"],
                    label(e),
                    clock(run["first"]),
                    clock(seconds(run)),
                    clock(seconds(run, "engine")),
                    clock(seconds(run, "transfer_in")),
                    clock(times),
                    clock(seconds(run, "transfer_out")),
                    clock(float(np.median(r["orientation"]))) if r.get("orientation") else "",
                    f"{rate:.3g}",
                    "" if peak is None else f"{100 * rate * FLOPS_A_TEST / peak:.2g} %",
                ]
            )
    known = "a peak not known for this card" if peak is None else f"{peak / 1e12:.3g} TFLOP/s ({prose.PEAK})"
    parts += [prose.SPLIT.format(peak=known), write((heads, body), folder, "gpu-split"), ""]
    if "gpu-other-host" in raw:
        parts.append(_other_host(result, raw["gpu-other-host"], folder))
    return "\n".join(parts)


def _other_host(result: dict[str, Any], other: dict[str, Any], folder: Path) -> str:
    """schur on a card of the same kind in another computer."""
    heads = ["set, alpha", "goal", "schur", "there", "levels", "there", "to the device", "there"]
    body = []
    for r in result["rows"]:
        both = [x["runs"].get("gpu", {}) for x in (*result["rows"], *other["rows"]) if x["set"] == r["set"]]
        if len(both) < 2 or not all(run.get("repeats") for run in both):
            continue
        body.append(
            [
                f"{r['set']}, {r['alpha']:g}",
                clock(GOALS.get(r["set"])),
                *(clock(seconds(run)) for run in both),
                *(clock(level_times(run).sum()) for run in both),
                *(clock(seconds(run, "transfer_in")) for run in both),
            ]
        )
    return "\n".join([prose.OTHER_HOST, caption(other, True), "", write((heads, body), folder, "gpu-other-host"), ""])


def _baselines(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("baselines")
    if result is None:
        return ""
    name = figures.baselines(result, folder)
    return "\n".join(["## 3. The paper's baselines\n", prose.BASELINES, f"![baselines](results/{name})\n"])


def _levels(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("gpu") or raw.get("cpu")
    if result is None or not any(
        x.get("levels") for r in result["rows"] for v in r["runs"].values() for x in v.get("repeats", [])
    ):
        return ""
    return f"## 4. Where the time goes: levels\n\n![levels](results/{figures.levels(result, folder)})\n"


def _configurations(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("configurations")
    if result is None:
        return ""
    parts = ["## 5. Configurations\n"]
    for engine, paper in workloads.PAPER_CHOICE.items():
        picture = figures.configurations(result, engine, folder)
        if picture is None:
            continue
        tables = figures.ratios(result, engine)
        mean = tables.pop("geometric mean")
        best = min(mean, key=mean.get)
        worst = max(t[best] for t in tables.values())
        ours = tuple(getattr(Geometry, n) for n in paper)
        parts.append(
            f"`{engine}`, ({', '.join(paper)}): the paper chose {tuple(paper.values())}; the default here is "
            f"{ours}. Best on average is {best}: {mean[best]:.2f} of the time of the paper's choice, "
            f"{min(t[best] for t in tables.values()):.2f} to {worst:.2f} by set"
            + (", so faster on every set" if worst < 1 else ", so not faster on every set")
            + f".\n\n![{engine}](results/{picture})\n"
        )
    wrong = [c for r in result["rows"] for c in r["cells"] if c["differs"]]
    parts.append(prose.CONFIGURATIONS)
    parts.append("All cells gave the same answer.\n" if not wrong else f"**{len(wrong)} cells gave another answer.**\n")
    return "\n".join(parts)


def _sharing(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("sharing")
    if result is None:
        return ""
    heads = ["set", "sets at level 2", "in 1 row", "in 2 to 9", "in 10 and more", "mean edges a (row, set) serves"]
    body = []
    for r in result["rows"]:
        h, local = np.array(r["rows_sharing"]), np.array(r["edges_served"])
        total = max(1, h.sum())
        served = (local * np.arange(len(local))).sum() / max(1, local.sum())
        body.append(
            [
                r["set"],
                f"{h.sum():,}",
                f"{h[1:2].sum() / total:.1%}",
                f"{h[2:10].sum() / total:.1%}",
                f"{h[10:].sum() / total:.1%}",
                f"{served:.1f}",
            ]
        )
    return "\n".join(
        [
            "## 6. Who shares a conditioning set\n",
            prose.SHARING,
            write((heads, body), folder, "sharing"),
            "",
            f"![sharing](results/{curves.sharing(result, folder)})\n",
        ]
    )


def _scaling(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("scaling")
    if result is None:
        return ""
    rows = result["rows"]
    engines = list(dict.fromkeys(e for r in rows for e in r["seconds"]))
    heads = [
        "generator",
        "sweep",
        "p",
        "density",
        "n",
        "graphs",
        "largest r",
        "pairs within 1e-12 of 1",
        "levels",
        f"careful tests ({label(engines[0])})",
        *map(label, engines),
    ]
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for sweep in "pnd":
        for r in workloads.of_sweep(rows, sweep, result["quick"]):
            groups.setdefault((r["kind"], sweep, r["p"], r["density"], r["n"]), []).append(r)
    body = []
    for (kind, sweep, p, density, n), group in sorted(groups.items()):
        cells = [_sweep_cell(group, e) for e in engines]
        careful = [r["careful"][engines[0]] for r in group if engines[0] in r["careful"]]
        body.append(
            [
                kind,
                sweep,
                str(p),
                f"{density:g}",
                str(n),
                str(len(group)),
                f"1 - {1 - max(r['largest_r'] for r in group):.1g}",
                f"{np.mean([r['near_one'] for r in group]):.1%}",
                "-".join(sorted({str(f(r["levels"] for r in group if "levels" in r)) for f in (min, max)}, key=int))
                if careful
                else "",
                f"{np.mean(careful):.3g}" if careful else "",
                *cells,
            ]
        )
    answers = [set(r["answers"].values()) for r in rows if len(r["answers"]) > 1]
    agree, disagree = sum(len(a) == 1 for a in answers), sum(len(a) > 1 for a in answers)
    exponents = []
    for kind in ("paper", "standardised"):
        for e in engines:
            found = {}
            for r in workloads.of_sweep(rows, "p", result["quick"]):
                if r["kind"] == kind and r["seconds"].get(e):
                    found.setdefault(r["p"], []).append(r["seconds"][e])
            if len(found) > 1:
                k = curves.growth(list(found), [float(np.median(v)) for v in found.values()])
                exponents.append(f"{label(e)} on {kind} p^{k:.2f}")
    return "\n".join(
        [
            "## 7. Scaling\n",
            prose.SCALING,
            "",
            caption(result, True),
            "",
            write((heads, body), folder, "scaling"),
            "",
            f"Fitted growth with p: {'; '.join(exponents)}. " if exponents else "",
            f"**The engines disagree on {disagree} graphs.**\n"
            if disagree
            else f"On all {agree} graphs that more than one engine finished the answers are the same.\n"
            if agree
            else "",
            f"![scaling](results/{curves.scaling(result, folder)})\n",
        ]
    )


def _sweep_cell(group: list[dict[str, Any]], engine: str) -> str:
    """Median of the runs that finished; how many did of how many tried, unless all; where it stopped, if none did."""
    tried = [r for r in group if engine in r["seconds"]]
    found = [v for r in tried if (v := r["seconds"][engine]) is not None]
    if found:
        count = "" if len(found) == len(group) else f" ({len(found)} of {len(tried)})"
        return clock(float(np.median(found))) + count
    if not tried:
        return ""
    at = tried[0]["stopped_at"][engine]
    return (
        f"(0 of {len(tried)}) > {at['limit']:g} s: level {at['level']}, {at['tests_at_most']:.1g} tests there at most"
    )


def _scaling_large(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("scaling-large")
    if result is None or len([r for r in result["rows"] if seconds(r["run"])]) < 2:
        return ""
    heads = ["p", "engine", "tests", "edges", "skeleton", "orientation", "device memory", "estimate said", "ratio"]
    body = []
    for r in result["rows"]:
        took, said = r.get("memory_bytes"), r.get("memory_bytes_estimate")
        body.append(
            [
                f"{r['p']:,}",
                label(r["engine"]),
                f"{r['run'].get('tests', 0):.3g}",
                f"{r.get('edges') or 0:,}",
                cell(r["run"]),
                clock(r["orientation"][0]) if r.get("orientation") else "",
                f"{took / 2**20:,.0f} MiB" if took else "",
                f"{said / 2**20:,.0f} MiB" if said else "",
                f"{said / took:.2f}" if took and said else "",
            ]
        )
    return "\n".join(
        [
            "### Up to 20,000 variables\n",
            caption(result, True),
            "",
            write((heads, body), folder, "scaling-large"),
            "",
            f"![large](results/{curves.scaling_large(result, folder)})\n",
        ]
    )


def _accuracy(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("accuracy")
    if result is None:
        return ""
    who, rows = curves.common(result)
    heads = ["n", "graphs", *(f"{w}: TDR / SHD" for w in who), "pcalg other than pycupc"]
    body = []
    for n in sorted({r["n"] for r in rows}):
        cells = []
        for w in who:
            own = [r for r in rows if r["who"] == w and r["n"] == n]
            cells.append(f"{np.mean([r['tdr'] for r in own]):.3f} / {np.mean([r['shd'] for r in own]):.1f}")
        same = [r["differs_from_pycupc"] for r in result["rows"] if r["who"] == "pcalg" and r["n"] == n]
        differ = f"{sum(v > 0 for v in same)} of {len(same)} graphs" if same else ""
        body.append([str(n), str(len({r["seed"] for r in rows if r["n"] == n})), *cells, differ])
    return "\n".join(
        [
            "## 8. How right are the answers\n",
            prose.ACCURACY,
            ", ".join(f"{k} {v.removeprefix('R version ')}" for k, v in result.get("versions", {}).items()) + ".\n",
            write((heads, body), folder, "accuracy"),
            "",
            f"![accuracy](results/{curves.accuracy(result, folder)})\n",
        ]
    )


def _in_r(raw: dict[str, Any], folder: Path) -> str:
    result = raw.get("r")
    if result is None or not any(seconds(run) for r in result["rows"] for run in r["runs"].values()):
        return ""
    heads = [
        "set, alpha",
        "p x n",
        "pcalg::pc(), stable.fast",
        "cu_pc(), first call",
        "cu_pc(), later calls",
        "marks of the CPDAG other than pycupc's in Python: pcalg",
        "cu_pc()",
    ]
    body = []
    for r in result["rows"]:
        theirs, ours = r["runs"].get("pc", {}), r["runs"]["cu_pc"]
        first, later = figures.first_and_later(ours)
        body.append(
            [
                f"{r['set']}, {r['alpha']:g}",
                f"{r['p']} x {r['n']}",
                cell({k: v for k, v in theirs.items() if "edges" not in k}),  # they have a column of their own
                cell(ours) if first is None else clock(first),
                clock(later),
                str(theirs.get("cpdag_differs", "")),
                str(ours.get("cpdag_differs", "")),
            ]
        )
    return "\n".join(
        [
            "## 9. The whole call in R\n",
            prose.IN_R,
            f"{caption(result)} {result['threads']} threads. {versions_of(result)}.\n",
            write((heads, body), folder, "r"),
            "",
            f"![whole calls in R](results/{figures.in_r(result, folder)})\n",
        ]
    )


def _provenance(raw: dict[str, Any]) -> str:
    lines = ["## Commands and raw files\n", "| raw file | recorded | commit | command |", "|---|---|---|---|"]
    for name, r in raw.items():
        for c in r["calls"]:
            lines.append(f"| [{name}.json](results/{name}.json) | {c['date']} | {c['commit']} | `{c['command']}` |")
    lines.append(prose.COMMANDS)
    return "\n".join(lines)


def _readme(raw: dict[str, Any]) -> None:
    """The table between the markers of README.md: only from full runs."""
    path = record.ROOT / "README.md"
    text = path.read_text() if path.exists() else ""
    begin, end = "<!-- results: begin", "<!-- results: end -->"
    full = {k: v for k, v in raw.items() if not v["quick"]}
    if begin not in text or not ({"cpu", "gpu"} & set(full)):
        return
    body = []
    for r in merged(full):
        if r["set"] in workloads.SETS:
            cells = [cell(r["runs"].get(w)) for w in ("stable.fast", "cuPC-library", "cpu", "gpu")]
            body.append([f"{r['set']}, alpha {r['alpha']:g}", f"{r['p']} x {r['n']}", *cells])
    if not body:
        return
    heads = ["data", "variables x samples", "pcalg `stable.fast`", "cuPC, GPU", "pycupc, CPU", "pycupc, GPU"]
    machines = captions(full).replace("\n", " ")
    first = text.index("\n", text.index(begin)) + 1
    block = (
        f"{markdown((heads, body))}\n\n![run times](tests/benchmarks/results/glance.png)\n\n{machines}\n"
        "pcalg as CRAN ships it (one core on Linux); the original cuPC on the same GPU, to its last level, 14.\n"
        "All tables, pictures and raw files: [tests/benchmarks/BENCHMARKS.md](tests/benchmarks/BENCHMARKS.md).\n"
    )
    path.write_text(text[:first] + block + text[text.index(end) :])


__all__ = ["GOALS", "write_all"]
