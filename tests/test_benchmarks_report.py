"""The tables: cells, pivots, ratios; and that the committed pages hold the tables that the committed results give."""

import re

import pytest
from benchmarks import cells, pictures, record, report, structures

PAGE = record.HERE / "BENCHMARKS.md"


@pytest.mark.parametrize(
    ("row", "unit", "text"),
    [
        ({"seconds": 2.0, "edges_only_there": 2, "edges_only_here": 1}, "s", "2 (3 edges differ)"),
        ({"seconds": 1.2345, "edges_only_there": 1, "edges_only_here": 0}, "ms", "1,230 (1 edge differs)"),
        ({"seconds": 0.002, "differs": "edges"}, "ms", "2 (**another answer**)"),
        ({"seconds": 0.003, "checked_by": "recorded"}, "s", "0.003"),
        ({"outcome": "stopped", "limit": 60}, "s", "> 60 (stopped)"),
        ({"outcome": "stopped", "limit": 60}, "ms", "> 60,000 (stopped)"),
        ({"outcome": "estimated", "limit": 600, "estimate": 1100.2}, "s", "> 18 min (estimated)"),
        ({"outcome": "not installed", "why": "no R"}, "s", "not installed"),
        (None, "s", ""),
    ],
)
def test_cells(row, unit, text):
    assert cells.cell(row, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(119.9, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (16193, "4.4 h"), (208967, "2.4 days")],
)
def test_durations_are_rounded_down(seconds, text):
    assert cells.duration(seconds) == text


def line(name, engine, seconds=None, **more):
    return {"set": name, "engine": engine, **({} if seconds is None else {"seconds": seconds}), **more}


def test_a_column_for_each_implementation():
    rows = [line("a", "gpu", 0.5), line("b", "cpu", 3), line("b", "gpu", 0.25)]
    heads, body = cells.timed(rows, {"data set": "set"})
    assert heads == ["data set", "pycupc cpu (s)", "pycupc gpu (ms)"]
    assert body == [["a", "", "500"], ["b", "3", "250"]]
    assert cells.markdown(heads[:2], [["a", ""]]) == "| data set | pycupc cpu (s) |\n| --- | --- |\n| a |  |"


def test_ratios():
    rows = [line("a", "cpu", 2), line("a", "gpu", 0.5), line("b", "cpu", 9), line("b", "gpu", 1)]
    rows += [line("c", "cpu", outcome="stopped", limit=60), line("c", "gpu", 2), line("d", "cpu", 1)]
    heads, body = cells.ratios(rows, {"set": "set"}, ["gpu"], lambda name: ("cpu", name))
    assert heads == ["set", "pycupc gpu"]
    assert body == [["a", "4"], ["b", "9"], ["c", "> 30"], ["geometric mean", "6"]]


def test_relative_times_of_configurations():
    def cell(name, theta, seconds):
        return {"set": name, "engine": "cupc-s", "theta": theta, "delta": 2, "engine_seconds": seconds}

    rows = [cell("a", 64, 3), cell("a", 32, 6), cell("a", 128, 1), cell("b", 64, 2), cell("b", 32, 1)]
    make = report.configuration("cupc-s", {"theta": 64, "delta": 2})
    heads, body = make({"configurations": rows})
    assert heads == ["theta", "delta = 2"]
    assert body == [["32", "1.00"], ["64", "1.00"]]  # 128 is not there for b


def test_a_sweep_counts_the_graphs_that_an_engine_finished():
    point = {"generator": "paper", "p": 20, "density": 0.1, "n": 100, "near_one": 0.5, "below_one": 0.01}
    rows = [{**point, "seed": k, **line("", "gpu", k + 1, careful=2 * k, last_level=k)} for k in range(3)]
    rows += [{**point, "seed": 0, **line("", "cupc-e", 9, last_level=0)}]
    late = {"outcome": "stopped", "limit": 7, "stopped_at_level": 4, "tests_at_most": 3 * 10**12}
    rows += [{**point, "seed": 1, **line("", "cupc-e", **late)}, {**point, "seed": 1, **line("", "cupc-s", **late)}]
    rows += [{**point, "seed": 2, **line("", "gpu-plain", 8, last_level=0)}]
    heads, (body,) = report.sweep({"scaling": rows})
    found = dict(zip(heads, body, strict=True))
    assert found["pycupc gpu (ms)"] == "2,000"
    assert found["pycupc gpu, no pruning (ms)"] == "8,000 (1 of 1)"
    assert found["pycupc cupc-e (ms)"] == "9,000 (1 of 2)"
    assert found["pycupc cupc-s (ms)"] == "> 7,000 (0 of 1; stopped at level 4, which may need 3e+12 tests)"
    assert [found[head] for head in ("graphs", "last level", "1 - largest abs(r)")] == ["3", "0 to 2", "0.01"]
    assert found["tests of gpu decided by the canonical formula, mean per graph"] == "2"


def test_bounds_that_did_not_hold_are_counted():
    row = {"set": "independent", "p": 8, "n": 40, "alpha": 0.05, "threshold": 0.9, "false": 1.0, "bound unimodal": 2.0}
    rows = [row, {**row, "false": 99.0}, {**row, "set": "chain", "recall": 0.5, "threshold": 0.6}]
    _, (whole, independent, chain) = report.bounds({"stability-bounds": rows})
    assert (independent[0], independent[5]) == ("independent", "1 of 2 (50.0 %)")
    assert whole[5] == independent[5]
    assert independent[-1] == "99 false edges, bound 2 (unimodal; p = 8, n = 40, alpha 0.05, threshold 0.9)"
    assert (chain[2], chain[5], chain[6]) == ("do not hold", "1 of 1 (100.0 %)", "50")


def test_selected_edges_are_pooled():
    row = {"n": 100, "alpha": 0.05, "scheme": "single run", "true_edges": 10}
    rows = [{**row, "seed": 0, "edges": 4, "hits": 3}, {**row, "seed": 1, "edges": 6, "hits": 6}]
    assert report.selected_edges({"stability-accuracy": rows})[1] == [["100", "0.05", "0.900 / 0.450"]]


@pytest.mark.parametrize("page", [PAGE, record.ROOT / "README.md"], ids=lambda path: path.name)
def test_the_committed_pages_hold_what_the_results_give(page):
    text = page.read_text()
    assert report.filled(text, record.RESULTS) == text
    assert text.count("<!-- table:") == text.count("<!-- end -->") == len(re.findall(report.MARKED, text, re.DOTALL))


def test_every_table_is_somewhere():
    text = PAGE.read_text() + (record.ROOT / "README.md").read_text()
    assert {name for _, name, _ in re.findall(report.MARKED, text, re.DOTALL)} == report.TABLES.keys()


def test_every_link_of_the_page_leads_somewhere():
    targets = [part.split(")")[0] for part in PAGE.read_text().split("](")[1:]]
    assert len(targets) >= 8
    assert [target for target in targets if not (record.HERE / target).exists()] == []


def test_the_results_are_small_and_no_answer_in_them_is_wrong():
    sizes = {path: path.stat().st_size for path in record.RESULTS.iterdir()}
    assert max(sizes.values()) < 200_000
    assert sum(sizes.values()) < 1_500_000
    for path in record.RESULTS.glob("*.csv"):
        rows = record.read(record.RESULTS, path.stem)
        assert rows
        assert [row for row in rows if "differs" in row] == []
        assert record.disagreements(rows) == []


def test_the_bounds_held_where_their_assumptions_hold():
    """In the recorded settings: at least 95 % for each bound."""
    rows = record.read(record.RESULTS, "stability-bounds")
    for method in report.METHODS:
        own = [r for r in rows if f"bound {method}" in r and r["set"] in structures.EQUAL]
        assert len(own) >= 200
        assert sum(r["false"] <= r[f"bound {method}"] for r in own) >= 0.95 * len(own)


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for path in record.RESULTS.glob("*.csv"):
        (tmp_path / path.name).symlink_to(path)
    pictures.draw_all(tmp_path)
    drawn = {path.name: path.stat().st_size for path in tmp_path.glob("*.png")}
    assert drawn.keys() == {path.name for path in record.RESULTS.glob("*.png")}
    assert min(drawn.values()) > 5000
