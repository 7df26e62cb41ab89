"""The benchmark of stability: structures with known graphs, the experiments, their report, and STABILITY.md."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as menu
from benchmarks import peers, record, report, structures
from benchmarks.experiments import stability

import pycupc

PARTS = ("accuracy", "bounds", "examples", "peers")
PAGE = (Path(__file__).resolve().parents[1] / "docs" / "STABILITY.md").read_text(encoding="utf-8")


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


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Words of a command that runs in a second, without the peers."""
    size = stability.Size(graphs=1, graph_p=8, p=(8,), n=(40,), repetitions=2, n_resamples=4)
    monkeypatch.setattr(stability, "QUICK", size)
    example = stability.load_example().iloc[:60, :8]
    monkeypatch.setattr(stability, "load_example", lambda: example)
    monkeypatch.setattr(stability, "PEERS_SET", "std_8_2_50")
    monkeypatch.setattr(peers, "resamples", peer_answers)
    words = ["--quick", "--threads", "1", "--data", str(tmp_path), "--out", str(tmp_path)]
    return tmp_path, words


def peer_answers(peer, X, rows, alpha, python, limit):
    """pcalg as it is, causal-learn with one edge fewer in the first graph, no pgmpy."""
    if peer == "pgmpy":
        return {"outcome": "not installed"}
    fits = [pycupc.pc(pycupc.SuffStat.from_data(X[r]), alpha=alpha, engine="reference") for r in rows]
    graphs = [fit.graph.copy() for fit in fits]
    if peer == "causal-learn":
        x, y = np.argwhere(graphs[0])[0]
        graphs[0][x, y] = graphs[0][y, x] = 0
    return {"times": [1.0] * len(rows), "graph": np.array(graphs), "version": f"{peer} 1"}


def test_the_experiment(small):
    folder, words = small
    assert menu.main(["stability", *words, "--sets", "independent", "dependent rows", "--parts", *PARTS]) == 0
    found = {part: record.read(folder, f"stability-{part}") for part in PARTS}
    assert {row["set"] for row in found["bounds"]} == {"independent", "dependent rows"}
    assert len(found["accuracy"]) == 3 + 2 * 3 * 6
    assert all(row["hits"] <= min(row["edges"], row["true_edges"]) for row in found["accuracy"])
    for row in found["examples"]:
        parts = [row[f"of_single_{k}"] for k in ("90", "50_to_90", "below_50")]
        assert sum(parts) == row["single_run"]
        assert ("bound unimodal" in row) == (row["scheme"] == "complementary" and row["threshold"] > 0.5)
    others = {row["engine"]: row for row in found["peers"]}
    assert (others["pcalg"]["graphs_differ"], others["pcalg"]["seconds"]) == (0, 4)
    assert (others["causal-learn"]["graphs_differ"], others["causal-learn"]["edges_differ"]) == (1, 1)
    assert others["pgmpy"]["outcome"] == "not installed"


def test_numbers_of_false_edges_and_bounds(small):
    size = stability.QUICK._replace(repetitions=3, n_resamples=6)
    rows = stability.bounds(("star", 8, 60, "complementary", size))
    data, truth = structures.draw("star", 8, 60, 3, seed=68)
    row = next(row for row in rows if (row["alpha"], row["threshold"]) == (0.05, 0.6))
    false = true = bound = 0
    for seed, X in enumerate(data):
        result = pycupc.stability(X, n_resamples=6, scheme="complementary", alpha=0.05, random_state=seed)
        graphs = [pycupc.pc(pycupc.SuffStat.from_data(X[result.indices(i)]), alpha=0.05).skeleton for i in range(6)]
        selected = np.triu(np.mean(graphs, axis=0) >= 0.6)
        false += (selected & ~truth).sum() / 3
        true += (selected & truth).sum() / 3
        bound += result.bound(0.6) / 3
    assert (row["false"], row["recall"], row["bound worst-case"]) == pytest.approx((false, true / 7, bound))


def test_on_another_machine(small):
    """With the engine cpu in the place of gpu: the loop, its check, and the deadline."""
    folder, words = small
    job = ["stability-gpu", *words, "--engines", "cpu", "--sets", "std_10_3_60"]
    assert menu.main(job) == 0
    (row,) = record.read(folder, "stability-gpu")
    assert row["checked_by"] == "loop of pc()"
    assert "differs" not in row
    assert min(row["loop"], row["seconds"]) > 0
    assert menu.main([*job, "--deadline", "0", "--out", str(folder / "late")]) == 0
    assert not (folder / "late" / "stability-gpu.csv").exists()


def test_other_marks_are_seen():
    X = structures.draw("chain", 6, 80, 1, seed=6)[0][0]
    result = pycupc.stability(X, n_resamples=5, alpha=0.01, random_state=1)
    found = stability.plain_loop(X, result, {})
    assert stability.differences(result, found) == 0
    found[next(iter(found))] += 1
    assert stability.differences(result, found) == 1


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
    out = peers.resamples("causal-learn", X, rows, 0.05, Path(sys.executable), 60)
    assert (len(out["times"]), out["version"]) == (2, "causal-learn 7")
    assert [np.argwhere(graph).tolist() for graph in out["graph"]] == [[[0, 1]], []]
    assert "--cache" in peers.resamples("pgmpy", X, rows, 0.05, None, 60)["why"]


@pytest.mark.r
def test_the_loop_over_a_live_pcalg():
    if not peers.has_r_package("pcalg"):
        pytest.skip("needs an R with pcalg")
    X = structures.draw("sparse graph", 8, 80, 1, seed=7)[0][0]
    result = pycupc.stability(X, n_resamples=3, alpha=0.05, random_state=1)
    rows = np.array([result.indices(i) for i in range(3)])
    out = peers.resamples("pcalg", X, rows, 0.05, None, 120)
    for graph, r in zip(out["graph"], rows, strict=True):
        expected = pycupc.pc(pycupc.SuffStat.from_data(X[r]), alpha=0.05).graph
        np.testing.assert_array_equal(graph != 0, expected != 0)


def test_the_code_of_the_page_prints_what_it_shows():
    parts = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(parts) == PAGE.count("```python") >= 4
    names: dict = {}
    for code, shown in parts:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "STABILITY.md", "exec"), names)
        assert printed.getvalue() == shown


def tables_of(text):
    """Heads and rows of the tables of a page."""
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        lines = [[cell.strip("* ") for cell in line.strip("|\n ").split(" | ")] for line in block.splitlines()]
        yield lines[0], lines[2:]


def test_the_figures_of_the_page_are_those_of_the_benchmarks():
    names = ("selected-edges", "bounds", "examples")
    recorded = [table for name in names for table in tables_of(report.table(name, record.RESULTS) + "\n")]
    tables = list(tables_of(PAGE))
    assert len(tables) == 3
    for heads, rows in tables:
        (known,) = [(h, r) for h, r in recorded if set(heads) <= set(h)]
        measured = [[line[known[0].index(head)] for head in heads] for line in known[1]]
        assert rows
        assert [row for row in rows if row not in measured] == []


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert len(links) >= 3
    assert [link for link in links if not (Path(__file__).resolve().parent / link).exists()] == []
