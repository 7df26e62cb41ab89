"""The tables: their cells, and that the committed pages hold the tables that the committed results give."""

import re

import pandas as pd
import pytest
from benchmarks import generators, paired, pictures, record, report

PAGES = [record.HERE / "BENCHMARKS.md", record.ROOT / "README.md"]


@pytest.mark.parametrize(
    ("line", "unit", "text"),
    [
        ({"seconds": 2.0, "edges_only_there": 2, "edges_only_here": 1}, "s", "2 (3 edges differ)"),
        ({"seconds": 1.2345, "edges_only_there": 1, "edges_only_here": 0}, "ms", "1,230 (1 edge differs)"),
        ({"seconds": 0.002, "differs": "edges"}, "ms", "**another answer**: edges"),
        ({"seconds": 0.003, "checked_by": "recorded"}, "s", "0.003"),
        ({"outcome": "stopped", "limit": 60}, "s", "> 60 (stopped)"),
        ({"outcome": "stopped", "limit": 60}, "ms", "> 60,000 (stopped)"),
        ({"outcome": "estimated", "limit": 600, "estimate": 1100.2}, "s", "> 18 min (estimated)"),
        ({"outcome": "estimated", "limit": 600, "estimate": 50 * 3600}, "s", "> 50 h (estimated)"),
        ({"outcome": "not installed", "why": "no R"}, "s", "not installed"),
    ],
)
def test_cells(line, unit, text):
    assert report.cell(line, unit) == text


def test_ratios():
    def line(name, engine, seconds=None, **more):
        return {"set": name, "p": 7, "engine": engine, "seconds": seconds, **more}

    rows = [line("a", "cpu", 2), line("a", "gpu", 0.5), line("b", "cpu", 9), line("b", "gpu", 1)]
    rows += [line("c", "cpu", outcome="stopped", limit=60), line("c", "gpu", 2), line("d", "cpu", 1)]
    found = report.ratios(pd.DataFrame(rows), {"set": "set", "p": "p"}, ["gpu"], lambda name: ("cpu", name))
    assert found.to_numpy().tolist() == [
        ["a", "7", "4"],
        ["b", "7", "9"],
        ["c", "7", "> 30"],
        ["geometric mean", "", "6"],
    ]


def test_bounds_that_did_not_hold_are_counted():
    row = {"set": "independent", "p": 8, "n": 40, "alpha": 0.05, "threshold": 0.9, "false": 1.0, "recall": None}
    row |= {f"bound {method}": 2.0 for method in report.METHODS}
    rows = [row, {**row, "false": 99.0}, {**row, "set": "chain", "recall": 0.5, "threshold": 0.6}]
    whole, independent, chain = report.bounds(pd.DataFrame(rows)).to_numpy().tolist()
    assert (independent[0], independent[5]) == ("independent", "1 of 2 (50.0 %)")
    assert whole[5] == independent[5]
    assert independent[-1].startswith("99 false edges, bound 2 (")
    assert independent[-1].endswith("p = 8, n = 40, alpha 0.05, threshold 0.9)")
    assert (chain[2], chain[5], chain[6]) == ("do not hold", "1 of 1 (100.0 %)", "50")


def test_slower_and_larger_measurements_are_listed():
    def row(side, seconds, call, memory=100):
        facts = {"set": "s", "engine": "cpu", "call": call, "side": side, "checkout": side}
        return {**facts, "seconds": seconds, "peak_bytes": memory}

    lines = [row("old", 2.0, "a"), row("new", 2.05, "a"), row("old", 1.0, "b"), row("new", 1.04, "b", memory=104)]
    listed = "new / old above 1.03: median (ms): s cpu b (1.040), host memory (MB): s cpu b (1.040)\n"
    assert listed in paired.text(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_committed_pages_hold_the_tables_of_the_results(page):
    text = page.read_text()
    assert report.filled(text, record.RESULTS) == text
    assert text.count("<!-- table:") == text.count("<!-- end -->") == len(re.findall(report.MARKED, text, re.DOTALL))


def test_every_table_is_somewhere():
    text = "".join(page.read_text() for page in PAGES)
    assert {name for _, name, _ in re.findall(report.MARKED, text, re.DOTALL)} == report.TABLES.keys()


def test_the_results_are_small_and_no_answer_in_them_is_wrong():
    sizes = {path: path.stat().st_size for path in record.RESULTS.iterdir()}
    assert max(sizes.values()) < 200_000
    assert sum(sizes.values()) < 1_500_000
    for path in record.RESULTS.glob("*.csv"):
        rows = record.read(record.RESULTS, path.stem)
        assert len(rows)
        assert "differs" not in rows
        assert record.disagreements(rows) == []


def test_the_bounds_held_where_their_assumptions_hold():
    """In the recorded settings: at least 95 % for each bound."""
    rows = record.read(record.RESULTS, "stability-bounds")
    for method in report.METHODS:
        own = rows[rows[f"bound {method}"].notna() & rows.set.isin([*generators.EQUAL])]
        assert len(own) >= 200
        assert (own["false"] <= own[f"bound {method}"]).mean() >= 0.95


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for path in record.RESULTS.glob("*.csv"):
        (tmp_path / path.name).symlink_to(path)
    pictures.draw_all(tmp_path)
    drawn = {path.name: path.stat().st_size for path in tmp_path.glob("*.png")}
    assert drawn.keys() == {path.name for path in record.RESULTS.glob("*.png")} - {"stability-examples.png"}
    assert min(drawn.values()) > 5000
