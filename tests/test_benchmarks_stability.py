"""The benchmark of stability: structures with known graphs, the experiments, their report, and STABILITY.md."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import pycupc

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import __main__ as menu
from benchmarks import peers, record, report, structures
from benchmarks.experiments import stability, stability_times
from benchmarks.peers import stability as stability_peers
from benchmarks.report import stability as section

PAGE = (Path(__file__).resolve().parent / "STABILITY.md").read_text(encoding="utf-8")


# -- structures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*structures.EQUAL, *structures.UNEQUAL])
def test_structures_are_functions_of_their_seed(name):
    X, adjacent = structures.draw(name, 8, 50, 3, seed=1)
    assert X.shape == (3, 50, 8)
    assert adjacent.dtype == bool
    assert not np.tril(adjacent).any()
    np.testing.assert_array_equal(X, structures.draw(name, 8, 50, 3, seed=1)[0])
    assert not np.array_equal(X, structures.draw(name, 8, 50, 3, seed=2)[0])
    np.testing.assert_allclose(X.reshape(150, 8).std(axis=0), 1, atol=0.4)


@pytest.mark.parametrize("name", structures.EQUAL)
def test_pairs_without_an_edge_are_alike_where_the_assumptions_hold(name):
    """Their correlations and, given all other variables, their partial correlations are the same."""
    (X,), adjacent = structures.draw(name, 8, 200_000, 1, seed=3)
    C, gaps = np.corrcoef(X, rowvar=False), np.triu(~(adjacent | adjacent.T), 1)
    K = np.linalg.inv(C)
    for matrix in (C, K / np.sqrt(np.outer(np.diag(K), np.diag(K)))):
        assert np.ptp(matrix[gaps]) < 0.02
    assert np.abs(C[adjacent]).min(initial=1) > 0.4


@pytest.mark.parametrize(
    ("name", "pair", "expected"),
    [
        ("chain", (2, 3), 0.8),
        ("near copies", (0, 3), 0.995),
        ("latent cause", (0, 1), 0.36),
        ("measurement error", (2, 3), 0.64),
    ],
)
def test_correlations_of_other_structures(name, pair, expected):
    (X,), adjacent = structures.draw(name, 8, 100_000, 1, seed=4)
    assert np.corrcoef(X, rowvar=False)[pair] == pytest.approx(expected, abs=0.02)
    assert adjacent[pair] == (name != "latent cause")


def test_dependent_rows():
    (X,), adjacent = structures.draw("dependent rows", 4, 50_000, 1, seed=5)
    assert np.corrcoef(X[:-1, 0], X[1:, 0])[0, 1] == pytest.approx(0.8, abs=0.02)
    assert not adjacent.any()


# -- the experiments --------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Words of a command that runs in a second, without the peers."""
    size = stability.Size(graphs=1, graph_p=8, p=(8,), n=(40,), repetitions=2, n_resamples=4)
    monkeypatch.setattr(stability, "QUICK", size)
    example = stability.load_example().iloc[:60, :8]
    monkeypatch.setattr(stability, "load_example", lambda: example)
    monkeypatch.setattr(stability_times, "PEERS_SET", "std_8_2_50")
    monkeypatch.setattr(stability_times.peers, "run", peer_answers)
    words = ["--quick", "--threads", "1", "--data", str(tmp_path), "--out", str(tmp_path)]
    return tmp_path, words


def peer_answers(peer, X, rows, alpha, python, limit):
    """pcalg as it is, causal-learn with one edge fewer in the first graph, no pgmpy."""
    if peer == "pgmpy":
        return {"absent": "no environment"}
    fits = [pycupc.pc(pycupc.SuffStat.from_data(X[r]), alpha=alpha, engine="reference") for r in rows]
    graphs = [fit.graph.copy() for fit in fits]
    if peer == "causal-learn":
        x, y = np.argwhere(graphs[0])[0]
        graphs[0][x, y] = graphs[0][y, x] = 0
    return {"seconds": [1.0] * len(rows), "graphs": np.array(graphs), "versions": {peer: "1"}}


def test_the_experiment(small):
    folder, words = small
    assert menu.main(["stability", *words, "--sets", "independent", "dependent rows"]) == 0
    rows = record.read(folder, "stability")["rows"]
    assert {row["kind"] for row in rows} == {"accuracy", "bounds", "examples", "times"}
    loop, others = (row for row in rows if row["kind"] == "times")
    assert loop["differs"] == {}
    assert others["runs"]["pcalg"]["graphs_differ"] == 0
    assert (others["runs"]["causal-learn"]["graphs_differ"], others["runs"]["causal-learn"]["edges_differ"]) == (1, 1)
    report.write_all(folder)
    text = (folder / "BENCHMARKS.md").read_text()
    assert "| independent | no edges | hold | 15 of 15 (100.0 %) |" in text
    assert "| dependent rows |" in text
    assert "| pgmpy | not installed |" in text
    for name in ("accuracy", "bounds", "examples"):
        assert (folder / f"stability-{name}.png").exists()
    again = ["stability", *words, "--resume", "--parts", "bounds", "--sets", "pairs"]
    assert menu.main(again) == 0  # the other parts are kept
    rows = record.read(folder, "stability")["rows"]
    assert {row["set"] for row in rows if row["kind"] == "bounds"} == {"pairs"}
    assert {row["kind"] for row in rows} == {"accuracy", "bounds", "examples", "times"}


def test_what_is_counted(small):
    size = stability.QUICK._replace(repetitions=3, n_resamples=6)
    row = stability._bounds(("star", 8, 60, "complementary", size))
    data, truth = structures.draw("star", 8, 60, 3, seed=68)
    value = next(v for v in row["values"] if (v["alpha"], v["share"]) == (0.05, 0.6))
    false = bound = 0
    for seed, X in enumerate(data):
        result = pycupc.stability(X, n_resamples=6, scheme="complementary", alpha=0.05, random_state=seed)
        graphs = [pycupc.pc(pycupc.SuffStat.from_data(X[result.indices(i)]), alpha=0.05).skeleton for i in range(6)]
        selected = np.triu(np.mean(graphs, axis=0) >= 0.6)
        false += (selected & ~truth).sum() / 3
        bound += result.bound(0.6) / 3
    assert (value["false"], value["bounds"]["worst-case"]) == pytest.approx((false, bound))
    assert row["true_edges"] == 7


def test_a_broken_bound_is_reported(small):
    folder, words = small
    assert menu.main(["stability", *words, "--parts", "bounds", "--sets", "independent", "chain"]) == 0
    result = record.read(folder, "stability")
    for row in result["rows"]:
        for value in row["values"]:
            if (row["who"], value["alpha"], value["share"]) == ("complementary", 0.05, 0.9):
                value["false"] = 99.0
    record.write(result, folder)
    report.write_all(folder)
    text = (folder / "BENCHMARKS.md").read_text()
    assert "| independent | no edges | hold | 15 of 15 (100.0 %) | 14 of 15 (93.3 %) | 14 of 15 (93.3 %) |" in text
    broken = text[text.index("The settings whose assumptions hold and in which the bound did not:") :]
    assert "| independent | 8 | 40 | 0.05 | 0.9 | worst case | 99 |" in broken
    assert "| chain | 8 |" not in broken
    settings = list(csv.reader((folder / "stability-settings.csv").read_text().splitlines()))
    assert ["independent", "8", "40", "0.05", "0.9", "worst-case", "99"] in [row[:7] for row in settings]


def test_on_another_machine(small, monkeypatch):
    """With the engine cpu in the place of gpu: the file, its check, and that its rows are merged."""
    folder, words = small
    job = ["stability-gpu", *words, "--engines", "cpu", "--sets"]
    assert menu.main([*job, "std_10_3_60"]) == 0
    assert menu.main([*job, "std_12_3_60", "--out", str(folder / "other")]) == 0
    assert menu.main(["merge", "--out", str(folder), "--add", str(folder / "other")]) == 0
    rows = record.read(folder, "stability-gpu")["rows"]
    assert [row["set"] for row in rows] == ["std_10_3_60", "std_12_3_60"]
    assert [row["differs"] for row in rows] == [{}, {}]
    rows[0]["set"], rows[0]["who"], rows[1]["differs"] = "riboflavin", "gpu", {"marks": 1}
    record.write({**record.read(folder, "stability-gpu"), "rows": rows}, folder)
    report.write_all(folder)
    text = (folder / "BENCHMARKS.md").read_text()
    assert re.search(r"\| riboflavin \| gpu \|.*\| 3 \|.*\| equal \|", text)
    assert re.search(r"\| std_12_3_60 \| cpu \|.*\| \*\*differ\*\* \|", text)
    late = [*job, "std_10_3_60", "--deadline", "0", "--out", str(folder / "late")]
    assert menu.main(late) == 0
    assert not (folder / "late" / "stability-gpu.json").exists()


def test_other_marks_are_seen():
    X = structures.draw("chain", 6, 80, 1, seed=6)[0][0]
    result = pycupc.stability(X, n_resamples=5, alpha=0.01, random_state=1)
    found = stability_times._plain(X, result, {})
    assert stability_times._differences(result, found) == {}
    found[next(iter(found))] += 1
    assert stability_times._differences(result, found) == {"marks": 1}


# -- other implementations --------------------------------------------------------------------------------------------

STUB = """
import numpy as np
def pc(data, alpha, **how):
    g = np.zeros((data.shape[1],) * 2)
    if data[0, 0] > 0:
        g[0, 1], g[1, 0] = -1, 1
    return type("Out", (), {"G": type("G", (), {"graph": g})})
"""


def test_the_loop_over_a_python_peer(tmp_path, monkeypatch):
    path = tmp_path / "causallearn" / "search" / "ConstraintBased" / "PC.py"
    path.parent.mkdir(parents=True)
    path.write_text(STUB)
    about = tmp_path / "causal_learn-7.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: causal-learn\nVersion: 7\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    X = np.array([[1.0, 2, 3], [-1, 5, 6], [2, 7, 7]])
    rows = np.array([[0, 0, 2], [1, 2, 2]])
    out = stability_peers.run("causal-learn", X, rows, 0.05, Path(sys.executable), 60)
    assert (len(out["seconds"]), out["versions"]) == (2, {"causal-learn": "7"})
    assert [np.argwhere(graph).tolist() for graph in out["graphs"]] == [[[0, 1]], []]
    assert "--cache" in stability_peers.run("pgmpy", X, rows, 0.05, None, 60)["absent"]


@pytest.mark.r
def test_the_loop_over_a_live_pcalg():
    if not peers.has_r_package("pcalg"):
        pytest.skip("needs an R with pcalg")
    X = structures.draw("sparse graph", 8, 80, 1, seed=7)[0][0]
    result = pycupc.stability(X, n_resamples=3, alpha=0.05, random_state=1)
    rows = np.array([result.indices(i) for i in range(3)])
    out = stability_peers.run("pcalg", X, rows, 0.05, None, 120)
    for graph, r in zip(out["graphs"], rows, strict=True):
        expected = pycupc.pc(pycupc.SuffStat.from_data(X[r]), alpha=0.05).graph
        np.testing.assert_array_equal(graph != 0, expected != 0)


# -- STABILITY.md -----------------------------------------------------------------------------------------------------


def test_the_code_of_the_page_prints_what_it_shows():
    parts = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(parts) == PAGE.count("```python") >= 4
    names: dict = {}
    for code, shown in parts:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "STABILITY.md", "exec"), names)
        assert printed.getvalue() == shown


def page_tables():
    """Heads and rows of the tables of the page."""
    for block in re.findall(r"(?:^\|.*\n)+", PAGE, flags=re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in block.splitlines()]
        yield lines[0], lines[2:]


def test_the_figures_of_the_page_are_those_of_the_benchmarks():
    recorded = {
        name: list(csv.DictReader((record.RESULTS / f"stability-{name}.csv").read_text().splitlines()))
        for name in ("accuracy", "bounds", "examples")
    }
    tables = list(page_tables())
    assert len(tables) == 3
    for heads, rows in tables:
        (known,) = [table for table in recorded.values() if set(heads) <= table[0].keys()]
        measured = [[line[head].strip("*") for head in heads] for line in known]
        assert rows
        for row in rows:
            assert [cell.strip("*") for cell in row] in measured


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert len(links) >= 3
    assert [link for link in links if not (Path(__file__).resolve().parent / link).exists()] == []


def test_the_bounds_held_where_their_assumptions_hold():
    """In the recorded settings: at least 95 % for each bound."""
    found = list(
        section.settings([r for r in record.read(record.RESULTS, "stability")["rows"] if r["kind"] == "bounds"])
    )
    for method in section.METHODS:
        own = [s.held for s in found if s.method == method and s.structure in structures.EQUAL]
        assert len(own) >= 200
        assert np.mean(own) >= 0.95
    assert not all(s.held for s in found if s.structure in structures.UNEQUAL)
