"""The tables: their cells, and that the committed pages hold the tables that the committed results give."""

import re

import pytest
from benchmarks import generators, pictures, record, report

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
