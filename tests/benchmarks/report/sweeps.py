"""Sections 6 and 7: how often conditioning sets are shared, scaling with p, n and density."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import workloads
from . import curves, names, prose
from .raw import caption, seconds
from .tables import Table, cell, time


def sharing(raw: dict[str, Any], folder: Path) -> str:
    """Section 6."""
    result = raw.get("sharing")
    if result is None:
        return ""
    heads = ["data set", "sets of level 2", "used by 1 row (%)", "by 2 to 9 rows (%)", "by 10 or more rows (%)"]
    heads.append("edges of a row that one set serves, mean")
    body = []
    for r in result["rows"]:
        h, local = np.array(r["rows_sharing"]), np.array(r["edges_served"])
        total = max(1, h.sum())
        served = (local * np.arange(len(local))).sum() / max(1, local.sum())
        shares = [f"{100 * part.sum() / total:.1f}" for part in (h[1:2], h[2:10], h[10:])]
        body.append([r["set"], f"{h.sum():,}", *shares, f"{served:.1f}"])
    parts = ["## 6. How often a conditioning set is shared\n", prose.SHARING]
    parts += [Table(heads, body).write(folder, "sharing"), ""]
    return "\n".join([*parts, f"![sharing](results/{curves.sharing(result, folder)})\n"])


def scaling(raw: dict[str, Any], folder: Path) -> str:
    """Section 7."""
    result = raw.get("scaling")
    if result is None:
        return ""
    engines = names.engines_in(result["rows"])
    parts = ["## 7. Scaling with p, n and density\n", prose.SCALING, "", caption(result, True), ""]
    parts += [_points(result, engines).write(folder, "scaling"), ""]
    if exponents := _exponents(result, engines):
        parts.append(f"Fitted growth of the time with p: {'; '.join(exponents)}.")
    answers = [set(r["answers"].values()) for r in result["rows"] if len(r["answers"]) > 1]
    if disagree := sum(len(a) > 1 for a in answers):
        parts.append(f"**The engines disagree on {disagree} graphs.**\n")
    elif answers:
        parts.append(f"The answers are equal on all {len(answers)} graphs that more than one engine finished.\n")
    return "\n".join([*parts, f"![scaling](results/{curves.scaling(result, folder)})\n"])


def _points(result: dict[str, Any], engines: list[str]) -> Table:
    """One row per point of a sweep, with the median time of each engine over the graphs that it finished."""
    heads = ["generator", "varied", "variables p", "density", "samples n", "graphs", "1 - largest abs(r)"]
    heads += ["pairs with abs(r) within 1e-12 of 1 (%)", "last level"]
    heads += [f"tests of {names.engine(engines[0])} decided by the canonical formula, mean per graph"]
    heads += [f"{names.engine(e)} (ms)" for e in engines]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for sweep in "pnd":
        for r in workloads.of_sweep(result["rows"], sweep, result["quick"]):
            groups.setdefault((r["kind"], sweep, r["p"], r["density"], r["n"]), []).append(r)
    body = []
    for (kind, sweep, p, density, n), group in sorted(groups.items()):
        careful = [r["careful"][engines[0]] for r in group if engines[0] in r["careful"]]
        last = [r["levels"] for r in group if "levels" in r]
        body.append(
            [
                kind,
                "density" if sweep == "d" else sweep,
                f"{p:,}",
                f"{density:g}",
                f"{n:,}",
                str(len(group)),
                f"{1 - max(r['largest_r'] for r in group):.1g}",
                f"{100 * np.mean([r['near_one'] for r in group]):.1f}",
                " to ".join(map(str, sorted({min(last), max(last)}))) if careful else "",
                f"{np.mean(careful):.3g}" if careful else "",
                *(_sweep_cell(group, e) for e in engines),
            ]
        )
    return Table(heads, body)


def _sweep_cell(group: list[dict[str, Any]], engine: str) -> str:
    """The median over the graphs that the engine finished, with their number; or where it was stopped."""
    tried = [r for r in group if engine in r["seconds"]]
    found = [v for r in tried if (v := r["seconds"][engine]) is not None]
    if found:
        count = "" if len(found) == len(group) else f" ({len(found)} of {len(tried)})"
        return time(float(np.median(found)), "ms") + count
    if not tried:
        return ""
    at = tried[0]["stopped_at"][engine]
    where = f"stopped at level {at['level']}, which may need {at['tests_at_most']:.0e} tests"
    return f"> {time(at['limit'], 'ms')} (0 of {len(tried)}; {where})"


def _exponents(result: dict[str, Any], engines: list[str]) -> list[str]:
    """The growth with p of each engine that finished graphs at more than one p."""
    out = []
    for kind in curves.GENERATORS:
        for e in engines:
            found: dict[int, list[float]] = {}
            for r in workloads.of_sweep(result["rows"], "p", result["quick"]):
                if r["kind"] == kind and r["seconds"].get(e):
                    found.setdefault(r["p"], []).append(r["seconds"][e])
            if len(found) > 1:
                k = curves.growth(list(found), [float(np.median(v)) for v in found.values()])
                out.append(f"{names.engine(e)} with the {kind} generator p^{k:.2f}")
    return out


def scaling_large(raw: dict[str, Any], folder: Path) -> str:
    """The second part of section 7."""
    result = raw.get("scaling-large")
    if result is None or len([r for r in result["rows"] if seconds(r["run"])]) < 2:
        return ""
    heads = ["variables p", "engine", "tests", "edges", "skeleton (ms)", "orientation (ms)"]
    heads += ["device memory (MiB)", "predicted (MiB)", "predicted / measured"]
    body = []
    for r in result["rows"]:
        measured, predicted = r.get("memory_bytes"), r.get("memory_bytes_estimate")
        body.append(
            [
                f"{r['p']:,}",
                names.engine(r["engine"]),
                f"{r['run'].get('tests', 0):.3g}",
                f"{r.get('edges') or 0:,}",
                cell(r["run"], "ms"),
                time(float(np.median(r["orientation"])), "ms") if r.get("orientation") else "",
                f"{measured / 2**20:,.0f}" if measured else "",
                f"{predicted / 2**20:,.0f}" if predicted else "",
                f"{predicted / measured:.2f}" if measured and predicted else "",
            ]
        )
    parts = ["### Up to 20,000 variables\n", prose.SCALING_LARGE, caption(result, True), ""]
    parts += [Table(heads, body).write(folder, "scaling-large"), ""]
    return "\n".join([*parts, f"![large](results/{curves.scaling_large(result, folder)})\n"])
