"""The tables of BENCHMARKS.md and README.md: made from the CSV files, between markers; the rest is written by hand."""

# ruff: noqa: E731
from __future__ import annotations

import math
import re

import numpy as np

from . import record, structures
from .cells import (
    FACTS,
    LABELS,
    SIZE,
    TESTS,
    answers,
    cell,
    digits,
    in_seconds,
    markdown,
    mean,
    pivot,
    plain,
    ratios,
    show,
    timed,
)
from .record import where

METHODS = {"meinshausen-buehlmann": "Meinshausen and Buehlmann", "worst-case": "worst case", "unimodal": "unimodal"}


def whole_runs(data):
    """The lines of the experiments "cpu" and "gpu" on the data sets of the tables, each data set in one line."""
    rows = [row for row in data["cpu"] + where(data["gpu"], level=None) if row["set"] != "std_100_5_500"]
    tests = {row["set"]: row["tests"] for row in rows if row["engine"] == "cpu"}
    last = {row["set"]: row["last_level"] for row in rows if row["engine"] == "cpu"}
    return [{**row, "tests": tests.get(row["set"], 0), "last_level": last.get(row["set"], "")} for row in rows]


def faster_than(base, *others):
    """How many times as fast as `base` the others are."""
    index = {"data set": "set", "alpha": "alpha"}
    return lambda data: ratios(whole_runs(data), index, others, lambda name: (base, name))


def levels(data):
    """Milliseconds of the levels on a GPU; the later ones together."""
    rows = [row for row in data["gpu"] if "level" in row]
    head = lambda row: str(row["level"]) if row["level"] < 8 else "8 and more"
    make = lambda found: digits(1e3 * sum(row["seconds"] for row in found))
    return pivot(rows, {"data set": "set", "engine": "engine"}, head, make)


def configuration(engine, chosen):
    """Geometric mean over the data sets of the time relative to the configuration of the paper."""

    def table(data):
        a, b = chosen
        rows = [row for row in where(data["configurations"], engine=engine) if "engine_seconds" in row]
        base = {row["set"]: row["engine_seconds"] for row in where(rows, **chosen)}
        rows = [row for row in rows if len(where(rows, **{a: row[a], b: row[b]})) == len(base)]
        rows.sort(key=lambda row: row[b])
        make = lambda found: f"{mean([row['engine_seconds'] / base[row['set']] for row in found]):.2f}"
        heads, body = pivot(rows, {a: a}, lambda row: f"{b} = {row[b]}", make)
        return heads, sorted(body, key=lambda line: int(line[0]))

    return table


def sweep(data):
    """A line per point of the sweeps; the median over the graphs that an engine finished, with their number."""
    rows = sorted(data["scaling"], key=lambda r: tuple(r[k] for k in ("generator", "p", "density", "n")))
    index = {"generator": "generator", "variables p": "p", "density": "density", "samples n": "n"}

    def make(found):
        done = [row["seconds"] for row in found if "seconds" in row]
        row = found[0]
        if done:
            graphs = {other["seed"] for other in where(rows, **{k: row[k] for k in ("generator", "p", "density", "n")})}
            return digits(1e3 * np.median(done)) + f" ({len(done)} of {len(found)})" * (len(done) < len(graphs))
        where_to = f"stopped at level {row['stopped_at_level']}, which may need {row['tests_at_most']:.0e} tests"
        return f"> {digits(1e3 * row['limit'])} (0 of {len(found)}; {where_to})"

    heads, body = timed(rows, index, make)
    for line in body:  # what is known of the graphs of the point
        own = [row for row in rows if [show(row, value) for value in index.values()] == line[:4]]
        careful = [row["careful"] for row in where(own, engine="gpu") if "careful" in row]
        last = [row["last_level"] for row in own if "last_level" in row]
        more = [str(len({row["seed"] for row in own})), f"{min(row['below_one'] for row in own):.1g}"]
        more += [f"{100 * np.mean(list({row['seed']: row['near_one'] for row in own}.values())):.1f}"]
        more += [" to ".join(map(str, sorted({min(last), max(last)}))) if last else ""]
        line[4:4] = [*more, f"{np.mean(careful):.3g}" if careful else ""]
    heads[4:4] = ["graphs", "1 - largest abs(r)", "pairs with abs(r) within 1e-12 of 1 (%)", "last level"]
    heads.insert(8, "tests of gpu decided by the canonical formula, mean per graph")
    return heads, body


def accuracy(data):
    """Means over the graphs that every program answered."""
    rows, names = [row for row in data["accuracy"] if "shd" in row], {row["engine"] for row in data["accuracy"]}
    common = [row for row in rows if len(where(rows, n=row["n"], seed=row["seed"])) == len(names)]
    mean = lambda found, column: np.mean([row[column] for row in found])
    make = lambda found: f"{mean(found, 'tdr'):.3f} / {mean(found, 'shd'):.1f}"
    index = {"samples n": "n", "graphs": lambda r: str(len(where(common, n=r["n"], engine="pycupc")))}
    heads, body = pivot(common, index, lambda row: LABELS[row["engine"]][0], make)
    for line, n in zip(body, dict.fromkeys(row["n"] for row in common), strict=True):
        differ = [row["cpdag_differs"] > 0 for row in where(rows, n=n, engine="pcalg")]
        line.append(f"{sum(differ)} of {len(differ)}")
    return [*heads, "graphs whose CPDAG by pcalg differs from pycupc's"], body


def in_r(data):
    """The first and the later calls of both functions."""
    columns = {"pc": "pcalg::pc(), stable.fast (s)", "cu_pc": "cu_pc(), later calls (s)"}
    rows = sorted(data["r"], key=lambda row: row["engine"] == "cu_pc")
    make = lambda found: cell(_without_edges(found[0]), "s")
    heads, body = pivot(rows, FACTS, lambda row: columns[row["engine"]], make)
    for line in body:
        own = {row["engine"]: row for row in where(rows, set=line[0])}
        line.append(digits(own["cu_pc"]["first"]) if "first" in own["cu_pc"] else "")
        line += [str(own.get(who, {}).get("cpdag_differs", "")) for who in columns]
    return [*heads, "cu_pc(), first call (s)", "pairs that differ: pcalg::pc()", "pairs that differ: cu_pc()"], body


def _without_edges(row):
    return {key: value for key, value in row.items() if not key.startswith("edges_only")}


def calls(data):
    """Whole calls of two checkouts, and the share of the orientation."""
    head = lambda row: f"{row['call']}, {row['side']} (ms)"
    first = {row["set"]: row for row in reversed(data["call"])}
    index = {**FACTS, "tests": lambda row: show(first[row["set"]], TESTS["tests"])}
    heads, body = pivot(data["call"], index, head, lambda found: cell(found[0], "ms"))
    for line in body:
        own = {row["call"]: row["seconds"] for row in where(data["call"], set=line[0], side="new") if "seconds" in row}
        pc, skeleton = own.get("pc from C"), own.get("skeleton from C")
        line.append(f"{pc / skeleton:.2f} ({1e3 * (pc - skeleton):+.1f} ms)" if pc and skeleton else "")
    return [*heads, "pc / skeleton from C"], body


def discrete(data):
    """All implementations on the sampled networks, and whether pcalg's answer is ours."""
    rows = data["discrete"] + data["discrete-gpu"]
    facts = {(r["set"], r["alpha"]): r for r in where(rows, engine="cpu")}
    for row in data["discrete-gpu"]:
        same = row.get("answer") == facts[row["set"], row["alpha"]].get("answer")
        row |= {} if same else {"differs": "between machines"}
    index = {"network": "set", "alpha": "alpha", "variables": "p"}
    for name, column in (("tests", "tests"), ("last level", "last_level"), ("edges", "edges")):
        index[name] = lambda r, c=column: show(facts[r["set"], r["alpha"]], c)
    rows = [_without_edges(row) if row["engine"] == "pcalg" else row for row in rows]
    heads, body = timed(rows, index)
    pcalg = {(r["set"], f"{r['alpha']:g}"): answers(r) for r in where(rows, engine="pcalg")}
    return [*heads, "pcalg's answer"], [[*line, pcalg.get(tuple(line[:2]), "")] for line in body]


def discrete_ratios(data):
    pair = lambda name: (name, "cpu, quirks" if name == "pcalg" else "cpu")
    names = ("pcalg", "bnlearn", "pgmpy", "causal-learn")
    return ratios(data["discrete"], {"network": "set", "alpha": "alpha"}, names, pair)


def selected_edges(data):
    """Precision and recall of single runs and of selected edges, pooled over the graphs."""
    rows = [row for row in data["stability-accuracy"] if row.get("threshold") in (None, 0.5, 0.7, 0.9)]

    def make(found):
        edges, hits, true = (sum(row[key] for row in found) for key in ("edges", "hits", "true_edges"))
        return f"{hits / edges if edges else math.nan:.3f} / {hits / true:.3f}"

    head = lambda row: row["scheme"] + (f", {row['threshold']:g}" if "threshold" in row else "")
    rows.sort(key=lambda r: (r["n"], r["alpha"], r["scheme"] != "single run", r["scheme"], r.get("threshold", 0)))
    return pivot(rows, {"samples n": "n", "alpha": "alpha"}, head, make)


def bounds(data):
    """How often each bound held, by structure."""
    rows, words = data["stability-bounds"], {**structures.EQUAL, **structures.UNEQUAL}
    body = []
    for name in ("**all whose assumptions hold**", *words):
        own = where(rows, set=name) if name in words else [row for row in rows if row["set"] in structures.EQUAL]
        if own:
            holds = "hold" if own[0]["set"] in structures.EQUAL else "do not hold"
            recall = [row["recall"] for row in where(own, threshold=0.6) if "recall" in row]
            line = [name, words[name].words if name in words else "", holds, *(_held(own, m) for m in METHODS)]
            body.append([*line, f"{100 * np.mean(recall):.0f}" if recall and name in words else "", _worst(own)])
    heads = ["structure", "in words", "assumptions", *(f"{label}: held in" for label in METHODS.values())]
    return [*heads, "recall at threshold 0.6 (%)", "least favourable setting"], body


def _held(rows, method):
    own = [row["false"] <= row[f"bound {method}"] for row in rows if f"bound {method}" in row]
    return f"{sum(own)} of {len(own)} ({100 * sum(own) / max(1, len(own)):.1f} %)"


def _worst(rows):
    """The setting in which false edges exceed the bound most, or come nearest to it."""
    settings = [(r["false"], r[f"bound {m}"], m, r) for r in rows for m in METHODS if f"bound {m}" in r]
    excess = lambda s: s[0] - s[1] if s[0] > s[1] else -1
    false, bound, method, r = max(settings, key=lambda s: (excess(s), s[0] / s[1] if s[1] else 0))
    at = f"p = {r['p']}, n = {r['n']}, alpha {r['alpha']:g}, threshold {r['threshold']:g}"
    return f"{digits(false)} false edges, bound {digits(bound)} ({METHODS[method]}; {at})"


def examples(data):
    """Numbers of selected edges of real data."""
    index = {"data": "set", **SIZE, "scheme": "scheme", "alpha": "alpha", "single run": "single_run"}
    index["per resample"] = "float(per_resample)"
    shown = {0.5: "in >= 50 %", 0.9: "in >= 90 %", 1: "in all"}
    rows = [row for row in data["stability-examples"] if row["threshold"] in shown]
    heads, body = pivot(rows, index, lambda row: shown[row["threshold"]], lambda found: f"{found[0]['edges']:,}")
    for line, row in zip(body, where(rows, threshold=0.9), strict=True):
        line += [digits(row.get(f"bound {method}")) for method in ("worst-case", "unimodal")]
        line.append(" / ".join(str(row[f"of_single_{k}"]) for k in ("90", "50_to_90", "below_50")))
    heads += ["bound at 90 %: worst case", "bound at 90 %: unimodal"]
    return [*heads, "edges of the single run: >= 90 % / 50 to 90 % / fewer"], body


def relative(columns, **one):
    """`plain`, with "base" in each line: the seconds of the line of its data set that has these values."""

    def table(data):
        rows = [row for rows in data.values() for row in rows]
        base = {row["set"]: row["seconds"] for row in where(rows, **one)}
        return plain(columns, has="set")({"": [{**row, "base": base[row["set"]]} for row in rows]})

    return table


def readme(data):
    """The table of README.md."""
    rows = [row for row in whole_runs(data) if row["engine"] in ("stable.fast", "cuPC-library", "cpu", "gpu")]
    return timed(rows, FACTS)


PARTS = {"data set": "set", "engine": "engine", "first call (ms)": "1e3 * first", "whole call (ms)": "1e3 * seconds"}
PARTS |= {"engine (ms)": "1e3 * engine_seconds", "copy to the device (ms)": "1e3 * transfer_in_seconds"}
PARTS |= {"levels (ms)": "1e3 * levels_seconds", "copy back (ms)": "1e3 * transfer_out_seconds"}
PARTS |= {"orientation (ms)": "1e3 * orientation", "tests per second": "tests / levels_seconds : .3g"}
#: At ten operations per test, of an H200 in double precision: multiprocessors x clock x units x 2 per second.
PARTS["share of the peak (%)"] = "1e3 * tests / levels_seconds / (132 * 1.98e9 * 64 * 2) : .2g"
CPU_ENGINE = {"data set": "set", "first run (s)": "float(first)", "later runs (s)": in_seconds}
CPU_ENGINE |= {"start-up (s)": "start_up", "orientation (ms)": "1e3 * orientation"}
CPU_ENGINE |= {"peak memory (MB)": "peak_bytes / 1e6 : .0f"}
CPU_ENGINE["allowed memory (MB)"] = "memory_allowed_bytes / 1e6 : .0f"
SHARING = {"data set": "set", "sets of level 2": "sets", "used by 1 row (%)": "100 * used_by_1 / sets : .1f"}
SHARING["by 2 to 9 rows (%)"] = "100 * used_by_2_to_9 / sets : .1f"
SHARING["by 10 or more rows (%)"] = "100 * used_by_10_or_more / sets : .1f"
SHARING["edges of a row that one set serves, mean"] = "edges_served : .1f"
LARGE = {"variables p": "p", "engine": "engine", **TESTS, "edges": "edges", "skeleton (ms)": "1e3 * seconds"}
LARGE |= {"orientation (ms)": "1e3 * orientation", "device memory (MiB)": "memory_bytes / 2**20 : ,.0f"}
LARGE |= {"predicted (MiB)": "memory_bytes_estimate / 2**20 : ,.0f"}
LARGE["predicted / measured"] = "memory_bytes_estimate / memory_bytes : .2f"
PRUNED = {"data set": "set", **TESTS, "tests made": "made : .3g", "bounds": "bounds : .3g"}
PRUNED |= {"plain (s)": lambda row: show(row, "plain : .2f") or "not run", "pruned (s)": "pruned : .2f"}
PRUNED |= {"ratio": "plain / pruned : .1f", "finding pMax (s)": "p_values : .2f"}
STUDY = {"data set": "set", "engine": "engine", "alpha": "alpha", **SIZE}
LOOPS = {**STUDY, "resamples": "n_resamples", **TESTS, "stability (s)": in_seconds, "loop of pc() (s)": "float(loop)"}
LOOPS |= {"stability / loop": "seconds / loop : .2f", "answers": answers}
CLUSTER = {**STUDY, "Dask workers": "workers", "time (s)": in_seconds}
CLUSTER |= {"times one worker": lambda row: show(row, "base / seconds : .2f") if row["workers"] else ""}
CLUSTER["answers"] = answers
OTHERS = {"implementation": lambda row: LABELS[row["engine"]][0], "all resamples (s)": in_seconds}
OTHERS |= {"divided by that of stability()": "seconds / base"}
OTHERS |= {"graphs that differ": "graphs_differ", "edges that differ": "edges_differ"}
OF_GPU = ("gpucsl", "cuPC-library", "cupc-e", "cupc-s", "gpu")
#: The tables: the experiments whose results each needs, and the function that makes it.
TABLES = {
    "all": ("cpu gpu", lambda data: timed(whole_runs(data), {**FACTS, **TESTS, "last level": "last_level"})),
    "faster-than-pcalg": ("cpu gpu", faster_than("stable.fast", "reference", "cpu", *OF_GPU)),
    "faster-than-cupc": ("cpu gpu", faster_than("cuPC-library", "cpu", "gpucsl", *OF_GPU[2:])),
    "cpu-engine": ("cpu", plain(CPU_ENGINE, engine="cpu")),
    "python-peers": ("python-peers", lambda data: timed(data["python-peers"], {"data set": "set", "tests": "tests"})),
    "parts": ("gpu", plain(PARTS, has="levels_seconds")),
    "levels": ("gpu", levels),
    "cupc-e": ("configurations", configuration("cupc-e", {"beta": 2, "gamma": 32})),
    "cupc-s": ("configurations", configuration("cupc-s", {"theta": 64, "delta": 2})),
    "sharing": ("sharing", plain(SHARING, has="sets")),
    "sweep": ("scaling", sweep),
    "large": ("scaling-large", plain(LARGE)),
    "accuracy": ("accuracy", accuracy),
    "in-r": ("r", in_r),
    "pruning": ("pruning", plain(PRUNED, has="pruned", level=None)),
    "pruning-gpu": ("pruning-gpu", plain(PRUNED, has="pruned", level=None)),
    "calls": ("call", calls),
    "discrete": ("discrete discrete-gpu", discrete),
    "discrete-ratios": ("discrete", discrete_ratios),
    "selected-edges": ("stability-accuracy", selected_edges),
    "bounds": ("stability-bounds", bounds),
    "examples": ("stability-examples", examples),
    "loops": ("stability-times stability-gpu", plain(LOOPS)),
    "cluster": ("stability-cluster", relative(CLUSTER, workers=1)),
    "other-loops": ("stability-peers", relative(OTHERS, engine="cpu")),
    "readme": ("cpu gpu", readme),
}


def table(name, folder):
    """A table in Markdown, and where and with which versions its results were measured."""
    experiments, build = TABLES[name]
    data = {experiment: record.read(folder, experiment) for experiment in experiments.split()}
    about = " ".join(_about(folder, name, rows) for name, rows in data.items() if rows)
    return f"{markdown(*build(data))}\n\n*{about}*"


def _about(folder, experiment, rows):
    """Machine, versions and commits of an experiment."""
    made = where(record.read(folder, "calls"), experiment=experiment)
    peers = dict.fromkeys(v for row in rows if "version" in row for v in row["version"].split(", "))
    commits = dict.fromkeys(call["commit"] for call in made)
    words = ", ".join([rows[0]["machine"], *dict.fromkeys(call["versions"] for call in made), *peers])
    quick = " (quick run)" if any("quick" in call for call in made) else ""
    return f"{experiment}{quick}: {words}; commit {', '.join(commits)}."


MARKED = r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)"


def filled(text, folder):
    """A page with the tables between its markers made anew."""
    return re.sub(MARKED, lambda m: f"{m[1]}{table(m[2], folder)}\n{m[3]}", text, flags=re.DOTALL)


def write_all(folder):
    """Fill the pages from the committed results, and draw the pictures; of other results, print the tables."""
    if folder.resolve() != record.RESULTS:
        have = {path.stem for path in folder.glob("*.csv")}
        for name, (experiments, _) in TABLES.items():
            if have >= set(experiments.split()):
                print(f"{name}\n\n{table(name, folder)}\n")
        return
    from . import pictures

    for page in (record.HERE / "BENCHMARKS.md", record.ROOT / "README.md"):
        page.write_text(filled(page.read_text(), folder))
    pictures.draw_all(folder)
