"""Tables with a line for each measurement or for each problem, and the text of their cells."""

import math

import numpy as np

from . import record
from .record import where
from .runs import GPU_PLAIN

#: Names of implementations in tables, and the unit of their times, in the order of the columns.
LABELS = {
    "stable": ("pcalg stable", "s"),
    "stable.fast": ("pcalg stable.fast", "s"),
    "stable.fast, OpenMP": ("pcalg stable.fast, OpenMP build", "s"),
    "ParallelPC": ("ParallelPC", "s"),
    "reference": ("pycupc reference", "s"),
    "pycupc": ("pycupc", "s"),
    "cpu": ("pycupc cpu", "s"),
    "cpu, quirks": ("pycupc cpu, quirks", "s"),
    "gpucsl": ("gpucsl", "ms"),
    "cuPC-library": ("original cuPC", "ms"),
    "cupc-e": ("pycupc cupc-e", "ms"),
    "cupc-s": ("pycupc cupc-s", "ms"),
    "gpu": ("pycupc gpu", "ms"),
    GPU_PLAIN: ("pycupc gpu, no pruning", "ms"),
    "pcalg": ("pcalg", "s"),
    "bnlearn": ("bnlearn", "s"),
    "pgmpy": ("pgmpy", "s"),
    "causal-learn": ("causal-learn", "s"),
    "causal-learn, its default": ("causal-learn, default collider rule", "s"),
}


def digits(value):
    """A number in three significant digits, from 1,000 on with separators of thousands; nothing for None."""
    if value is None:
        return ""
    text = f"{value:.3g}"
    return f"{float(text):,.0f}" if abs(float(text)) >= 1000 else text


def duration(value):
    """Seconds in a unit that suits them, rounded down so that "more than" stays true."""
    for size, most, name in ((1, 120, "s"), (60, 7200, "min")):
        if value < most:
            return f"{math.floor(value / size)} {name}"
    size, name = (3600, "h") if value < 48 * 3600 else (86400, "days")
    return f"{math.floor(10 * value / size) / 10:g} {name}"


def cell(row, unit=None):
    """The time of a line, with how far its answer differs; or why it has none. Nothing for None."""
    if row is None:
        return ""
    scale = 1e3 if (unit or LABELS[row["engine"]][1]) == "ms" else 1
    if "seconds" not in row:
        if row.get("outcome") == "stopped":
            return f"> {digits(scale * row['limit'])} (stopped)"
        return f"> {duration(row['estimate'])} (estimated)" if "estimate" in row else row.get("outcome", "")
    other = row.get("edges_only_there", 0) + row.get("edges_only_here", 0)
    text = digits(scale * row["seconds"])
    if "differs" in row:
        return f"{text} (**another answer**)"
    return text + (f" ({other:,} edge{'s differ' if other > 1 else ' differs'})" if other else "")


def show(row, what):
    """A value of a row as text; `what` is an expression, with a format after " : ", or a function of the row."""
    if callable(what):
        return what(row)
    expression, _, form = what.partition(" : ")
    try:
        value = eval(expression, {}, row)
    except NameError:
        return ""
    if form or isinstance(value, str):
        return format(value, form)
    return digits(value) if isinstance(value, float) else f"{value:,}"


def answers(row):
    """Whether the answer of a line was the one that it was compared with."""
    return "" if "checked_by" not in row else "differs: " + row["differs"] if "differs" in row else "equal"


def in_seconds(row):
    return cell(row, "s")


SIZE = {"variables x samples": "f'{p:,} x {n:,}'"}
FACTS = {"data set": "set", "alpha": "alpha", **SIZE}
TESTS = {"tests": "tests : .3g"}


def markdown(heads, body):
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *body))


def plain(columns, has="seconds", **wanted):
    """A table with a line for each row that has a value: {head: text, see `show`}."""

    def table(data):
        rows = [row for row in where([row for rows in data.values() for row in rows], **wanted) if has in row]
        return list(columns), [[show(row, what) for what in columns.values()] for row in rows]

    return table


def pivot(rows, index, by, make):
    """A table with a line for each combination of the index, {head: text}, and a column for each value of `by`.

    `by` is a function of a row that gives the head of the column; `make` gives the text of the rows of one cell.
    """
    groups = {}
    for row in rows:
        line = groups.setdefault(tuple(show(row, value) for value in index.values()), {})
        line.setdefault(by(row), []).append(row)
    order = [f"{name} ({unit})" for name, unit in LABELS.values()] + [name for name, _ in LABELS.values()]
    heads = list(dict.fromkeys(head for line in groups.values() for head in line))
    heads.sort(key=lambda head: order.index(head) if head in order else 0)
    body = [[*facts, *(make(line[head]) if head in line else "" for head in heads)] for facts, line in groups.items()]
    return [*index, *heads], body


def timed(rows, index, make=lambda found: cell(found[0])):
    """A pivot of times by implementation."""
    return pivot(rows, index, lambda row: "{} ({})".format(*LABELS[row["engine"]]), make)


def ratios(rows, index, names, pair):
    """For each problem and each name the time of one implementation divided by that of another; geometric means.

    `pair` of a name gives both. A run that was stopped, or estimated to take too long, gives a bound, which is not in
    the mean.
    """
    body, found = [], {name: [] for name in names}
    for problem in dict.fromkeys(record.key(row, record.PROBLEM) for row in rows):
        mine = {row["engine"]: row for row in rows if record.key(row, record.PROBLEM) == problem}
        cells = []
        for name in names:
            above, below = (mine.get(who, {}) for who in pair(name))
            least = above.get("seconds", above.get("estimate", above.get("limit")))
            if least is None or "seconds" not in below:
                cells.append("")
                continue
            k = least / below["seconds"]
            found[name] += [k] if "seconds" in above else []
            cells.append(digits(k) if "seconds" in above else f"> {digits(k)}")
        if any(cells):
            body.append([show(next(iter(mine.values())), value) for value in index.values()] + cells)
    means = [digits(mean(found[name])) if found[name] else "" for name in names]
    return [*index, *(LABELS[name][0] for name in names)], [*body, ["geometric mean", *[""] * (len(index) - 1), *means]]


def mean(ratios):
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))
