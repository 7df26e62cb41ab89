"""Tables and the text of their cells."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any, NamedTuple

from .raw import seconds

SCALE = {"s": 1.0, "ms": 1e3}


class Table(NamedTuple):
    """Heads and rows, all of them text."""

    heads: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [self.heads, ["---"] * len(self.heads), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def write(self, folder: Path, name: str) -> str:
        """Write the table as NAME.csv; returns it in Markdown."""
        with (folder / f"{name}.csv").open("w", newline="") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerow(self.heads)
            writer.writerows(self.rows)
        return self.markdown()


def digits(value: float) -> str:
    """A number in three significant digits, from 1,000 on with separators of thousands."""
    text = f"{value:.3g}"
    return f"{float(text):,.0f}" if abs(float(text)) >= 1000 else text


def time(value: float | None, unit: str) -> str:
    """A time, given in seconds, as a number in `unit`; empty for None."""
    return "" if value is None else digits(value * SCALE[unit])


def duration(value: float) -> str:
    """Seconds in a unit that suits them, rounded down so that "more than" stays true."""
    for size, most, name in ((1, 120, "s"), (60, 7200, "min")):
        if value < most:
            return f"{math.floor(value / size)} {name}"
    size, name = (3600, "h") if value < 48 * 3600 else (86400, "days")
    return f"{math.floor(10 * value / size) / 10:g} {name}"


def cell(run: dict[str, Any] | None, unit: str) -> str:
    """The median time of a run, with how far its answer differs; or why it has no time."""
    if not run:
        return ""
    value = seconds(run)
    if value is None:
        if "too_slow" in run:
            return f"> {time(run['too_slow'], unit)} (stopped)"
        if "not_started" in run:
            return f"> {duration(run['seconds_at_measured_rate'])} (estimated)"
        if "given_up" in run:
            return "not started"
        return "not installed" if "absent" in run else "failed"
    other = run.get("edges_only_there", 0) + run.get("edges_only_here", 0)
    if run.get("differs"):
        return f"{time(value, unit)} (**another answer**)"
    return time(value, unit) + (f" ({other:,} edge{'s differ' if other > 1 else ' differs'})" if other else "")
