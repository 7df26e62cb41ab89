"""Section 11: whole calls from data and from C, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .raw import caption
from .tables import Table, digits

#: Milliseconds that a call was to take at most on one H200, by data set, form of the data and function.
GOALS = {
    ("nci60", "C", "skeleton"): 2.0,
    ("mcc", "C", "skeleton"): 3.5,
    ("saureus", "C", "skeleton"): 8.0,
    ("tcga_brca_jive", "C", "skeleton"): 7.0,
    ("hubs_4919_30_295", "data", "pc"): 75.0,
    ("hubs_3833_35_414", "data", "pc"): 70.0,
    ("hubs_3923_20_278", "data", "pc"): 45.0,
    ("std_2598_40_520", "data", "pc"): 40.0,
}
TEXT = """\
Medians of warm calls of `pycupc.skeleton` and `pycupc.pc` by this checkout (new) and another one (old). The two
alternate, after a check that their answers are equal. "From C": the correlation matrix is in host memory; "from data":
the observations are, and the call begins with `SuffStat.from_data`. The sets `hubs_P_PERCENT_N` are generated: each
variable depends on two of 40 causes, which share PERCENT of their variance, so that the graph is dense after level 0
and sparse after level 1, as that of expression data. The goals of calls from data were set for p, n and numbers of
tests: 1.66e9 (p = 4,919), 2.57e9 (3,833), 4.3e8 (3,923) and 1.15e9 (2,598), to which `std_2598_40_520` comes closer
than `hubs_2598_30_520` with its fivefold number. Old: {old}; new: {new}; engine `{engine}`.
"""


def section(raw: dict[str, Any], folder: Path) -> str:
    """Section 11."""
    result = raw.get("call")
    if result is None:
        return ""
    text = TEXT.format(**result["checkouts"], engine=result["engine"])
    table = _table(result["rows"]).write(folder, "call")
    return "\n".join(["## 11. Whole calls\n", caption(result, True), "", text, table, ""])


def brief(row: dict[str, Any]) -> str:
    """A row in a few words."""
    if row["differs"]:
        return f"the answers differ: {', '.join(row['differs'])}"
    return f"equal answers, {milliseconds(row, 'old'):.2f} -> {milliseconds(row, 'new'):.2f} ms"


def milliseconds(row: dict[str, Any], side: str) -> float:
    """Median time of a side."""
    return 1e3 * float(np.median(row["elapsed"][side]))


def _table(rows: list[dict[str, Any]]) -> Table:
    heads = ["data set", "alpha", "variables x samples", "tests"]
    calls = list(dict.fromkeys((row["source"], row["call"]) for row in rows))
    for source, call in calls:
        heads += [f"{call} from {source}, {side} (ms)" for side in ("old", "new")]
    heads += ["goal (ms)", "pc / skeleton from C"]
    body = []
    for name in dict.fromkeys(row["set"] for row in rows):
        mine = {(row["source"], row["call"]): row for row in rows if row["set"] == name}
        first = next(iter(mine.values()))
        cells = [name, f"{first['alpha']:g}", f"{first['p']:,} x {first['n']:,}", f"{first['tests']:.3g}"]
        for key in calls:
            cells += _times(mine.get(key))
        goals = [f"{call} from {source}: {goal:g}" for (of, source, call), goal in GOALS.items() if of == name]
        body.append([*cells, "; ".join(goals), _orientation(mine)])
    return Table(heads, body)


def _times(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return ["", ""]
    if row["differs"]:
        return [f"**the answers differ**: {', '.join(row['differs'])}", ""]
    return [digits(milliseconds(row, side)) for side in ("old", "new")]


def _orientation(rows: dict[tuple[str, str], dict[str, Any]]) -> str:
    """What the orientation adds to the skeleton: a factor, and milliseconds."""
    both = [rows.get(("C", call)) for call in ("pc", "skeleton")]
    times = [milliseconds(row, "new") for row in both if row is not None and not row["differs"]]
    return f"{times[0] / times[1]:.2f} ({times[0] - times[1]:+.1f} ms)" if len(times) == 2 else ""
