"""The tables of BENCHMARKS.md and README.md: made from the CSV files, between markers; the rest is written by hand."""

import math
import re

import numpy as np
import pandas as pd

from . import generators, record, workloads

METHODS = {"meinshausen-buehlmann": "Meinshausen and Buehlmann", "worst-case": "worst case", "unimodal": "unimodal"}
#: Names of implementations in tables, and the unit of their times, in the order of the columns.
LABELS = {
    "stable": ("pcalg stable", "s"),
    "stable.fast": ("pcalg stable.fast", "s"),
    "stable.fast, OpenMP": ("pcalg stable.fast, OpenMP build", "s"),
    "ParallelPC": ("ParallelPC", "s"),
    "reference": ("pycupc reference", "s"),
    "cpu": ("pycupc cpu", "s"),
    "cpu, quirks": ("pycupc cpu, quirks", "s"),
    "gpucsl": ("gpucsl", "ms"),
    "cuPC-library": ("original cuPC", "ms"),
    "cupc-e": ("pycupc cupc-e", "ms"),
    "cupc-s": ("pycupc cupc-s", "ms"),
    "gpu": ("pycupc gpu", "ms"),
    "gpu-plain": ("pycupc gpu, no pruning", "ms"),
    "pcalg": ("pcalg", "s"),
    "bnlearn": ("bnlearn", "s"),
    "pgmpy": ("pgmpy", "s"),
    "causal-learn": ("causal-learn", "s"),
}
#: Columns of several tables: the expression of a column, with a format after " : ".
SIZE = {"variables x samples": "size"}
FACTS = {"data set": "set", "alpha": "alpha", **SIZE}
TESTS = {"tests": "tests : .3g"}


def digits(value):
    """A number in three significant digits, from 1,000 on with separators of thousands; nothing for a missing one."""
    if pd.isna(value):
        return ""
    text = f"{value:.3g}"
    return f"{float(text):,.0f}" if abs(float(text)) >= 1000 else text


def duration(seconds):
    """Minutes or hours, rounded down so that "more than" stays true."""
    return f"{seconds // 60:.0f} min" if seconds < 7200 else f"{seconds // 360 / 10:g} h"


def at_least(seconds):
    """A number rounded down to two significant digits."""
    step = 10 ** max(0, math.floor(math.log10(seconds)) - 1)
    return f"{seconds // step * step:,.0f}"


def cell(line, unit=None):
    """The time of a line, with how far its answer differs; or why it has none."""
    scale = 1e3 if (unit or LABELS[line["engine"]][1]) == "ms" else 1
    if "differs" in line:
        return f"**another answer**: {line['differs']}"
    if "seconds" not in line:
        if line.get("outcome") == "stopped":
            return f"> {digits(scale * line['limit'])} (stopped)"
        return f"> {duration(line['estimate'])} (estimated)" if "estimate" in line else line.get("outcome", "")
    other = line.get("edges_only_there", 0) + line.get("edges_only_here", 0)
    text = digits(scale * line["seconds"])
    return text + (f" ({other:,} edge{'s differ' if other > 1 else ' differs'})" if other else "")


def texts(frame, expression):
    """The cells of a column, see `SIZE`; empty where a value, or the whole column, is missing."""
    expression, _, form = expression.partition(" : ")
    try:
        values = frame.eval(expression, engine="python")
    except NameError:
        return pd.Series("", index=frame.index)

    def text(value):
        if isinstance(value, float) and not form:
            return digits(value)
        return "" if pd.isna(value) else format(value, form or ("" if isinstance(value, str) else ","))

    return pd.Series([text(value) for value in values], index=frame.index, dtype=object)


def table_of(frame, columns):
    """A table with a line per measurement: {head: expression}."""
    return pd.DataFrame({head: texts(frame, expression) for head, expression in columns.items()})


def with_cells(frame, unit=None):
    """The lines with "cell", see `cell`, and "head", the name and unit of the implementation."""
    heads = frame.engine.map(lambda name: "{} ({})".format(*LABELS.get(name, (name, "s"))))
    return frame.assign(cell=[cell(line, unit) for line in record.lines(frame)], head=heads)


def pivot(frame, index, how="first"):
    """A table with a line for each combination of the index, {head: expression}, and a column for each "head"."""
    facts = table_of(frame, index)
    wide = facts.join(frame[["head", "cell"]]).groupby([*index, "head"], sort=False).cell.agg(how).unstack()
    order = [text for name, unit in LABELS.values() for text in (name, f"{name} ({unit})")]
    heads = sorted(frame["head"].unique(), key=lambda head: order.index(head) if head in order else 0)
    return wide.reindex(pd.MultiIndex.from_frame(facts.drop_duplicates()))[heads].fillna("").reset_index()


def times(frame, index):
    return pivot(with_cells(frame), index)


def ratios(frame, index, names, pair):
    """For each problem and each name the time of one implementation divided by the time of another; geometric means.

    `pair` of a name gives both. A run that was stopped, or estimated to take too long, gives a bound, which is not in
    the mean.
    """
    facts, known = table_of(frame, index), frame.reindex(columns=["engine", "seconds", "estimate", "limit"])
    known["least"] = known.seconds.fillna(known.estimate).fillna(known.limit)
    wide = facts.join(known.astype({"seconds": float, "least": float})).set_index([*index, "engine"])
    wide = wide[["seconds", "least"]].unstack().reindex(pd.MultiIndex.from_frame(facts.drop_duplicates()))
    out, means = pd.DataFrame(index=wide.index), []
    for name in names:
        above, below = pair(name)
        k, exact = wide["least", above] / wide["seconds", below], wide["seconds", above].notna()
        bound = exact.map({True: "", False: "> "})
        out[LABELS[name][0]] = (bound + k.map(digits)).where(k.notna(), "")
        means.append(digits(mean(k[exact & k.notna()])))
    out = out[(out != "").any(axis=1)].reset_index()
    out.loc[len(out)] = ["geometric mean", *[""] * (len(index) - 1), *means]
    return out


def mean(ratios):
    """Geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def whole_runs(cpu, gpu, gpu_peers):
    """The whole runs on the data sets of the tables, with the tests and the last level of pycupc on the CPU."""
    rows = pd.concat([cpu, gpu[gpu.level.isna()] if len(gpu) else gpu, gpu_peers], ignore_index=True)
    rows = rows[rows.set != workloads.CALIBRATION]
    own = rows[rows.engine == "cpu"].set_index("set")
    return rows.assign(tests=rows.set.map(own.tests), last_level=rows.set.map(own.last_level))


def faster_than(base, *others):
    """How many times as fast as `base` the others are."""
    index = {"data set": "set", "alpha": "alpha"}
    return lambda *frames: ratios(whole_runs(*frames), index, others, lambda name: (base, name))


def levels(gpu):
    """Milliseconds of the levels on a GPU; the later ones together."""
    rows = gpu[gpu.level.notna()]
    heads = rows.level.map(lambda level: str(level) if level < 8 else "8 and more")
    rows = rows.assign(head=heads, cell=1e3 * rows.seconds)
    return pivot(rows, {"data set": "set", "engine": "engine"}, how=lambda ms: digits(ms.sum()))


def sweep(frame):
    """A line per point of the sweeps; the median over the graphs that an engine finished, with their number."""
    index = {"generator": "generator", "variables p": "p", "density": "density", "samples n": "n"}
    body = []
    for _, rows in frame.groupby([*index.values()]):
        graphs, last = rows.seed.nunique(), rows.last_level.dropna()
        careful = rows[rows.engine == "gpu"].careful.dropna()
        line = table_of(rows[:1], index).iloc[0].to_dict()
        line |= {"graphs": str(graphs), "1 - largest abs(r)": f"{rows.below_one.min():.1g}"}
        near = rows.drop_duplicates("seed").near_one.mean()
        line["pairs with abs(r) within 1e-12 of 1 (%)"] = f"{100 * near:.1f}"
        line["last level"] = " to ".join(map(str, dict.fromkeys((last.min(), last.max())))) if len(last) else ""
        mean_careful = f"{careful.mean():.3g}" if len(careful) else ""
        line["tests of gpu decided by the canonical formula, mean per graph"] = mean_careful
        for engine in [name for name in LABELS if name in set(frame.engine)]:
            line["{} ({})".format(*LABELS[engine])] = _finished(rows[rows.engine == engine], graphs)
        body.append(line)
    return pd.DataFrame(body)


def _finished(own, graphs):
    """The median of an engine at one point in ms, or where it was stopped; nothing if it was not tried."""
    if own.empty:
        return ""
    done, of = own.seconds.dropna(), f"of {len(own)}"
    if len(done):
        return digits(1e3 * done.median()) + f" ({len(done)} {of})" * (len(done) < graphs)
    first = own.iloc[0]
    where = f"stopped at level {first.stopped_at_level}, which may need {first.tests_at_most:.0e} tests"
    return f"> {digits(1e3 * first.limit)} (0 {of}; {where})"


def calls(frame):
    """Whole calls of two checkouts, and the share of the orientation."""
    at = ["set", "engine"]
    rows = with_cells(frame, "ms").assign(head=frame.call + ", " + frame.side + " (ms)")
    rows["tests"] = frame.groupby(at).tests.transform("first")
    out = pivot(rows, {"data set": "set", "engine": "engine", **FACTS, **TESTS})
    new = frame[frame.side == "new"].pivot(index=at, columns="call", values="seconds")
    new = new.reindex(pd.MultiIndex.from_frame(out[["data set", "engine"]]), columns=["pc from C", "skeleton from C"])
    both = zip(*(new[call].astype(float) for call in new), strict=True)
    share = [f"{pc / skeleton:.2f} ({1e3 * (pc - skeleton):+.1f} ms)" for pc, skeleton in both]
    return out.assign(**{"pc / skeleton from C": [text if "nan" not in text else "" for text in share]})


def discrete(frame, gpu):
    """All implementations on the sampled networks; a GPU's answer is compared with the one of the CPU."""
    at = ["set", "alpha"]
    own = frame[frame.engine == "cpu"].set_index(at)[["tests", "last_level", "edges", "answer"]]
    rows = pd.concat([frame, gpu], ignore_index=True)
    rows = rows.drop(columns=["tests", "last_level", "edges"]).join(own.rename(columns={"answer": "known"}), on=at)
    differs = rows.get("differs", pd.Series(pd.NA, rows.index, dtype="string"))
    rows["differs"] = differs.mask(rows.answer.fillna(rows.known) != rows.known, "between machines")
    index = {"network": "set", "alpha": "alpha", "variables": "p", "tests": "tests", "last level": "last_level"}
    rows.loc[rows.engine == "pcalg", ["edges_only_there", "edges_only_here"]] = None  # compared with "cpu, quirks"
    return times(rows, {**index, "edges": "edges"})


def discrete_ratios(frame):
    names = ("pcalg", "bnlearn", "pgmpy", "causal-learn")
    pair = {name: (name, "cpu, quirks" if name == "pcalg" else "cpu") for name in names}
    return ratios(frame, {"network": "set", "alpha": "alpha"}, names, pair.get)


def bounds(frame):
    """How often each bound held, by structure."""
    words, body = {**generators.EQUAL, **generators.UNEQUAL}, []
    for name in ("**all whose assumptions hold**", *words):
        own = frame[frame.set == name if name in words else frame.set.isin([*generators.EQUAL])]
        if own.empty:
            continue
        line = {"structure": name, "in words": words[name][1] if name in words else ""}
        line["assumptions"] = "hold" if own.set.iloc[0] in generators.EQUAL else "do not hold"
        for method, label in METHODS.items():
            known = own[own[f"bound {method}"].notna()]
            held = (known["false"] <= known[f"bound {method}"]).sum()
            line[f"{label}: held in"] = f"{held} of {len(known)} ({100 * held / len(known):.1f} %)"
        recall = own[own.threshold == 0.6].recall.dropna()
        line["recall at threshold 0.6 (%)"] = f"{100 * recall.mean():.0f}" if len(recall) and name in words else ""
        body.append({**line, "least favourable setting": _worst(own)})
    return pd.DataFrame(body)


def _worst(rows):
    """The setting in which false edges exceed the bound most, or come nearest to it."""
    long = rows.melt([*SETTING, "false"], [f"bound {m}" for m in METHODS], "method", "bound").dropna(subset="bound")
    excess, share = long["false"] - long.bound, (long["false"] / long.bound.replace(0, math.nan)).fillna(0)
    r = long.assign(excess=excess.where(excess > 0, -1), share=share).nlargest(1, ["excess", "share"]).iloc[0]
    at = ", ".join(f"{name} = {r[name]}" if name in ("p", "n") else f"{name} {r[name]:g}" for name in SETTING)
    method = METHODS[r.method.removeprefix("bound ")]
    return f"{digits(r['false'])} false edges, bound {digits(r.bound)} ({method}; {at})"


SETTING = ("p", "n", "alpha", "threshold")


def ranked(frame):
    """Means over the data sets for each way of ranking."""
    means = frame.groupby(["set", "engine"], sort=False).mean(numeric_only=True).reset_index()
    for at in (60, 75):
        counts = means[[f"{name}_{at}" for name in ("selected", "false", "bound")]].to_numpy()
        means[f"text_{at}"] = ["" if pd.isna(row).any() else " / ".join(f"{x:.1f}" for x in row) for row in counts]
    return table_of(means, RANKED)


def plain(columns, has="seconds"):
    """A table with a line per whole run that has a value in column `has`: {head: expression}."""

    def table(*frames):
        rows = with_cells(pd.concat(frames, ignore_index=True), "s")
        rows = rows[rows[has].notna() & (rows.level.isna() if "level" in rows else True)]
        known = rows.checked_by.notna() if "checked_by" in rows else rows[has].isna()
        return table_of(rows.assign(answers=known.map({True: "equal", False: ""})), columns)

    return table


PARTS = {"data set": "set", "engine": "engine", "first call (ms)": "1e3 * first", "whole call (ms)": "1e3 * seconds"}
PARTS |= {"levels (ms)": "1e3 * levels_seconds", "orientation (ms)": "1e3 * orientation"}
PARTS["tests per second"] = "tests / levels_seconds : .3g"
#: At ten operations per test, of an H200 in double precision: multiprocessors x clock x units x 2 per second.
PARTS["share of the peak (%)"] = "1e3 * tests / levels_seconds / (132 * 1.98e9 * 64 * 2) : .2g"
CPU_ENGINE = {"data set": "set", "first run (s)": "first", "later runs (s)": "cell", "start-up (s)": "start_up"}
CPU_ENGINE |= {"orientation (ms)": "1e3 * orientation", "peak memory (MB)": "peak_bytes / 1e6 : .0f"}
CPU_ENGINE["allowed memory (MB)"] = "memory_allowed_bytes / 1e6 : .0f"
LARGE = {"variables p": "p", "engine": "engine", **TESTS, "edges": "edges", "skeleton (ms)": "1e3 * seconds"}
LARGE |= {"orientation (ms)": "1e3 * orientation", "device memory (MiB)": "memory_bytes / 2**20 : ,.0f"}
MANY = {"variables p": "p", "n": "n", "alpha": "alpha", "engine": "engine", **TESTS, "edges": "edges"}
MANY |= {"whole call (s)": "seconds : .3g", "levels (s)": "levels_seconds : .3g"}
MANY |= {"estimated (s)": "estimated_seconds : .3g", "device memory (GB)": "memory_bytes / 1e9 : .2f"}
MANY |= {"memory of the process (GB)": "peak_bytes / 1e9 : .2f", "estimated memory (GB)": "estimated_bytes / 1e9 : .2f"}
PRUNED = {"data set": "set", **TESTS, "tests made": "made : .3g", "bounds": "bounds : .3g", "plain (s)": "plain : .2f"}
PRUNED |= {"pruned (s)": "pruned : .2f", "ratio": "plain / pruned : .1f", "finding pMax (s)": "p_values : .2f"}
STUDY = {"data set": "set", "engine": "engine", "alpha": "alpha", **SIZE}
LOOPS = {**STUDY, "resamples": "n_resamples", **TESTS, "stability (s)": "cell", "loop of pc() (s)": "loop"}
LOOPS |= {"stability / loop": "seconds / loop : .2f", "answers": "answers"}
RANKED = {"candidates": "set", "ranking by": "engine", "found among the first": "found_first : .2f"}
RANKED |= {"found among ten times (five times) as many": "found_more : .2f", "time (s)": "seconds : .1f"}
RANKED |= {f"pi >= 0.{at}: selected / false / bound": f"text_{at}" for at in (60, 75)}
OF_GPU = ("gpucsl", "cuPC-library", "cupc-e", "cupc-s", "gpu")
ALL = {**FACTS, **TESTS, "last level": "last_level"}
#: The implementations of the table of README.md, and its data sets.
IN_README = ("stable.fast", "cuPC-library", "cpu", "gpu")
SETS_IN_README = ("nci60", "mcc", "riboflavin", "stock_logret", "std_1000_100_2000")


def glance(*frames):
    """The table of README.md, all in seconds: estimates, too, rounded down to two digits."""
    rows = whole_runs(*frames).query("engine in @IN_README and set in @SETS_IN_README")
    cells = [
        cell(line, "s")
        if "seconds" in line or "estimate" not in line
        else f"> {at_least(line['estimate'])} (estimated)"
        for line in record.lines(rows)
    ]
    named = rows.assign(cell=cells, head=[LABELS[engine][0] for engine in rows.engine])
    return pivot(named, {"data set": "set", **SIZE}).rename(
        columns={name: f"{name} (s)" for name, _ in LABELS.values()}
    )


#: The tables: the experiments whose results each needs, and the function that makes it of them.
TABLES = {
    "all": ("cpu gpu gpu-peers", lambda *frames: times(whole_runs(*frames), ALL)),
    "faster-than-pcalg": ("cpu gpu gpu-peers", faster_than("stable.fast", "reference", "cpu", *OF_GPU)),
    "faster-than-cupc": ("cpu gpu gpu-peers", faster_than("cuPC-library", "cpu", "gpucsl", *OF_GPU[2:])),
    "cpu-engine": ("cpu", lambda cpu: plain(CPU_ENGINE)(cpu[cpu.engine == "cpu"])),
    "python-peers": ("python-peers", lambda frame: times(frame, {"data set": "set", "tests": "tests"})),
    "parts": ("gpu", plain(PARTS, has="levels_seconds")),
    "levels": ("gpu", levels),
    "sweep": ("scaling", sweep),
    "large": ("scaling-large", plain(LARGE)),
    "many": ("many", plain(MANY)),
    "pruning": ("pruning", plain(PRUNED, has="pruned")),
    "pruning-gpu": ("pruning-gpu", plain(PRUNED, has="pruned")),
    "calls": ("paired", calls),
    "discrete": ("discrete discrete-gpu", discrete),
    "discrete-ratios": ("discrete", discrete_ratios),
    "bounds": ("stability-bounds", bounds),
    "loops": ("stability-times stability-gpu", plain(LOOPS)),
    "rankings": ("cstar-ranking", ranked),
    "readme": ("cpu gpu gpu-peers", glance),
}


def read(folder, experiment):
    """The results of an experiment, with the size of each problem in words."""
    frame = record.read(folder, experiment)
    if {"p", "n"} <= set(frame):
        frame["size"] = [f"{p:,} x {n:,}" for p, n in zip(frame.p, frame.n, strict=True)]
    return frame


def markdown(frame):
    return "\n".join("| " + " | ".join(line) + " |" for line in (frame, ["---"] * frame.shape[1], *frame.to_numpy()))


def table(name, folder):
    """A table in Markdown, and where and with which versions its results were measured, but for the one of README.md,
    which BENCHMARKS.md says.
    """
    experiments, build = TABLES[name]
    frames = {experiment: read(folder, experiment) for experiment in experiments.split()}
    if name == "readme":
        return markdown(build(*frames.values()))
    about = " ".join(_about(folder, name, frame) for name, frame in frames.items() if len(frame))
    return f"{markdown(build(*frames.values()))}\n\n*{about}*"


def _about(folder, experiment, frame):
    """Machine, versions and commits of an experiment."""
    made = record.read(folder, "calls").query("experiment == @experiment")
    peers = [v for versions in frame.get("version", pd.Series()).dropna() for v in versions.split(", ")]
    words = dict.fromkeys([frame.machine.iloc[0], *made.versions, *peers])
    return f"{experiment}: {', '.join(words)}; commit {', '.join(dict.fromkeys(made.commit))}."


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
