"""The report of the benchmarks: cells, names, estimates, and that the committed page is what the raw files give."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import record, report
from benchmarks.experiments import cpu
from benchmarks.report import bars, curves, heat_maps, names, pruning, stability_pictures, tables

PAGE = record.HERE / "BENCHMARKS.md"


def test_growth():
    assert curves.growth([1, 10, 100], [3, 300, 30000]) == pytest.approx(2)


def test_tables(tmp_path):
    table = tables.Table(["a", "b (s)"], [["1", "2, 3"]])
    assert table.markdown() == "| a | b (s) |\n| --- | --- |\n| 1 | 2, 3 |"
    assert table.write(tmp_path, "t") == table.markdown()
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [table.heads, *table.rows]


@pytest.mark.parametrize(
    ("run", "unit", "text"),
    [
        ({"seconds": [2.0, 1.0, 3.0], "edges_only_there": 2, "edges_only_here": 1}, "s", "2 (3 edges differ)"),
        ({"seconds": [1.2345], "edges_only_there": 1, "edges_only_here": 0}, "ms", "1,230 (1 edge differs)"),
        ({"seconds": [9.0], "skeleton_seconds": [0.5], "edges_only_there": 0}, "s", "0.5"),
        ({"repeats": [{"total": 0.002}], "differs": {"edges": 1}}, "ms", "2 (**another answer**)"),
        ({"repeats": [{"total": 0.002}, {"total": 0.004}], "differs": {}}, "s", "0.003"),
        ({"too_slow": 60, "repeats": []}, "s", "> 60 (stopped)"),
        ({"too_slow": 60, "repeats": []}, "ms", "> 60,000 (stopped)"),
        ({"not_started": 600, "seconds_at_measured_rate": 1100.2}, "s", "> 18 min (estimated)"),
        ({"absent": "no R"}, "s", "not installed"),
        ({"failed": "error"}, "s", "failed"),
        ({}, "s", ""),
        (None, "s", ""),
    ],
)
def test_cells(run, unit, text):
    assert tables.cell(run, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(119.9, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (16193, "4.4 h"), (208967, "2.4 days")],
)
def test_durations_are_rounded_down(seconds, text):
    assert tables.duration(seconds) == text


def test_an_estimate_is_tests_times_the_best_rate():
    done = {"tests": 100, "runs": {"x": {"seconds": [5.0, 7.0, 6.0]}}}
    fast = {"tests": 1000, "runs": {"x": {"repeats": [{"total": 20.0}]}}}
    row = {"tests": 10**6, "runs": {"x": {"seconds": [1.0]}}}
    result = {"rows": [done, fast, row]}
    out = cpu.predicted("x", row, result, 600.0)
    assert out["seconds_at_measured_rate"] == pytest.approx(20_000)
    assert out["not_started"] == 600
    assert cpu.predicted("x", row, result, 20_000.1) is None
    assert cpu.predicted("another", row, result, 1.0) is None


def test_every_engine_has_one_name():
    assert names.label("gpu") == "pycupc gpu"
    assert names.engine("gpu") == "gpu"
    assert names.head("stable.fast") == "pcalg stable.fast (s)"
    assert names.head("gpucsl") == "gpucsl (ms)"
    assert names.engine("one thread an edge") == "one thread per edge"


def _tables(text):
    """Heads and rows of every table of a Markdown text."""
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in block.splitlines()]
        yield lines[0], lines[2:]


def test_the_page_names_engines_and_units_in_one_way():
    text = PAGE.read_text()
    assert text.count("Schur") == 1  # where the algorithm of the engine gpu is introduced
    assert "schur" not in text
    found = list(_tables(text))
    assert len(found) >= 14
    for heads, rows in found:
        for i, head in enumerate(heads):
            cells = [row[i] for row in rows if i < len(row)]
            assert not any(re.fullmatch(r"[\d.,e+-]+ ?(s|ms|%|MB|MiB)", cell) for cell in cells), (head, cells)
    times = [
        head for heads, _ in found for head in heads if re.search("pcalg stable|pycupc|gpucsl|cuPC|first|copy", head)
    ]
    plain = {head for head in times if not re.search(r"\((s|ms)\)$", head)}
    ratios = {head for heads, rows in found if rows and rows[-1][0] == "geometric mean" for head in heads}
    assert {head for head in plain if "TDR / SHD" not in head and "differ" not in head} <= ratios


def test_the_committed_page_is_what_the_raw_files_give(tmp_path, monkeypatch):
    for path in record.RESULTS.glob("*.json"):
        (tmp_path / path.name).symlink_to(path)
    drawn = []

    def save(fig, folder, name, caption, top=1.0):
        import matplotlib.pyplot as plt

        plt.close(fig)
        drawn.append(f"{name}.png")
        return drawn[-1]

    for module in (bars, curves, heat_maps, pruning, stability_pictures):
        monkeypatch.setattr(module, "save", save)
    report.write_all(tmp_path)
    assert (tmp_path / "BENCHMARKS.md").read_text() == PAGE.read_text().replace("](results/", "](")
    for path in record.RESULTS.glob("*.csv"):
        assert (tmp_path / path.name).read_text() == path.read_text(), path.name
    assert sorted(drawn) == sorted(path.name for path in record.RESULTS.glob("*.png"))


def test_the_table_in_the_readme_is_that_of_the_page():
    readme = (record.ROOT / "README.md").read_text()
    block = readme[readme.index("<!-- results: begin") : readme.index("<!-- results: end -->")]
    ((heads, rows),) = _tables(block)
    page = next((h, r) for h, r in _tables(PAGE.read_text()) if "tests" in h)
    shared = [("pcalg `stable.fast` (s)", "pcalg stable.fast (s)"), ("original cuPC, GPU (ms)", "original cuPC (ms)")]
    shared += [("pycupc, CPU (s)", "pycupc cpu (s)"), ("pycupc, GPU (ms)", "pycupc gpu (ms)")]
    assert len(rows) == 9
    for here, there in [("data set", "data set"), ("alpha", "alpha"), *shared]:
        assert [row[heads.index(here)] for row in rows] == [row[page[0].index(there)] for row in page[1]], here


def test_every_link_of_the_page_leads_somewhere():
    targets = [part.split(")")[0] for part in PAGE.read_text().split("](")[1:]]
    assert len(targets) >= 20
    for target in targets:
        assert (record.HERE / target).exists(), target


def test_relative_times_of_configurations():
    cells = [
        {"engine": "cupc-e", "beta": 2, "gamma": 32, "seconds": [2.0, 4.0, 3.0]},
        {"engine": "cupc-e", "beta": 1, "gamma": 32, "seconds": [6.0]},
        {"engine": "cupc-e", "beta": 4, "gamma": 32, "seconds": []},
        {"engine": "cupc-s", "theta": 64, "delta": 2, "seconds": [1.0]},
    ]
    twice = [{**cell, "seconds": [2 * v for v in cell["seconds"]]} for cell in cells[:1]]
    rows = [{"set": "a", "cells": cells}, {"set": "b", "cells": twice}]
    out = heat_maps.ratios({"rows": rows}, "cupc-e")
    assert out["a"] == {(2, 32): 1.0, (1, 32): 2.0}
    assert out["b"] == {(2, 32): 1.0}
    assert out[heat_maps.MEAN] == {(2, 32): 1.0}
    assert np.isclose(heat_maps.ratios({"rows": rows[:1]}, "cupc-e")[heat_maps.MEAN][1, 32], 2)
