"""The benchmark of discrete data: sampled networks, what the peers are given, the experiments, and their report."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pycupc
from pycupc.discrete import disCItest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import __main__ as menu
from benchmarks import networks, peers, record, report, workloads
from benchmarks.experiments import discrete
from benchmarks.peers import discrete as discrete_peers
from benchmarks.report import discrete as section

BIF = """network unknown {
}
variable rain {
  type discrete [ 2 ] { yes, no };
}
variable grass {
  type discrete [ 3 ] { dry, damp, wet };
}
variable sprinkler {
  type discrete [ 2 ] { on, off };
}
probability ( grass | sprinkler, rain ) {
  (on, yes) 0.0, 0.1, 0.9;
  (off, yes) 0.1, 0.2, 0.7;
  (on, no) 0.2, 0.3, 0.5;
  (off, no) 0.9, 0.1, 0.0;
}
probability ( rain ) {
  table 0.2, 0.8;
}
probability ( sprinkler | rain ) {
  (yes) 0.01, 0.99;
  (no) 0.4, 0.6;
}
"""


def test_a_network_is_sampled_by_its_probabilities():
    network = networks.parse(BIF)
    assert network.levels == {"rain": ["yes", "no"], "grass": ["dry", "damp", "wet"], "sprinkler": ["on", "off"]}
    codes = networks.sample(network, 40_000, seed=1)
    rain, grass, sprinkler = codes.T
    assert rain.mean() == pytest.approx(0.8, abs=0.01)
    assert sprinkler[rain == 0].mean() == pytest.approx(0.99, abs=0.01)
    assert sprinkler[rain == 1].mean() == pytest.approx(0.6, abs=0.01)
    found = np.bincount(grass[(sprinkler == 0) & (rain == 1)], minlength=3)
    np.testing.assert_allclose(found / found.sum(), [0.2, 0.3, 0.5], atol=0.02)
    assert not (grass[(sprinkler == 1) & (rain == 1)] == 2).any()
    np.testing.assert_array_equal(networks.sample(network, 40_000, seed=1), codes)


def test_incomplete_probabilities_are_refused():
    with pytest.raises(ValueError, match="of sprinkler are incomplete"):
        networks.parse(BIF.replace("(no) 0.4, 0.6;", ""))


def chain(p=6, n=600):
    """A chain of variables with three levels; the last variable is constant in the sample."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, (n, p))
    for j in range(1, p):
        codes[:, j] = np.where(rng.random(n) < 0.6, codes[:, j - 1], codes[:, j])
    codes[:, -1] = 1
    return networks.Table("tiny", codes, np.full(p, 3), [f"x{j}" for j in range(p)], 0.05, "made up")


@pytest.fixture
def data(tmp_path):
    """A data folder with the table "tiny"."""
    table = chain()
    (tmp_path / "discrete").mkdir()
    np.savez(tmp_path / "discrete" / "tiny.npz", codes=table.codes, nlev=table.nlev, labels=np.array(table.labels))
    return tmp_path


def words(data, *more):
    return [
        *more[:1],
        "--data",
        str(data),
        "--out",
        str(data),
        "--sets",
        "tiny",
        "--quick",
        "--threads",
        "1",
        *more[1:],
    ]


def answers(peer, table, python, threads, effort):
    """pcalg as it is, pgmpy with one edge fewer, bnlearn that is stopped, causal-learn that is not there."""
    fit = pycupc.pc(table.suff_stat(), disCItest, alpha=table.alpha, engine="reference", quirks=True)
    assert (threads, effort.limit) == (1, 7.0)
    if peer == "bnlearn":
        return {"too_slow": effort.limit}
    if peer == "causal-learn":
        return {"absent": "no environment"}
    out = {"seconds": [2.0], "graph": fit.graph.astype(np.int32), "versions": {peer: "1"}}
    if peer == "pgmpy":
        x, y = np.argwhere(out["graph"])[0]
        out["graph"][x, y] = out["graph"][y, x] = 0
    else:
        answer = workloads.Answer.of(fit)
        pairs = table.p * (table.p - 1) // 2 - int(np.triu(fit.skeleton).sum())
        out |= {"answer": answer, "empty_sets": pairs - len(answer.sepset[0])}
    return out


def test_the_experiment(data, monkeypatch):
    monkeypatch.setattr(discrete.peers, "run", answers)
    assert menu.main(words(data, "discrete", "--limit", "7")) == 0
    rows = record.read(data, "discrete")["rows"]
    assert [row["alpha"] for row in rows] == [0.01, 0.05]
    for row in rows:
        assert row["constant_in_sample"] == 1
        assert row["runs"]["cpu"]["differs"] == {}
        assert row["runs"]["pcalg"]["differs"] == {}
        assert row["runs"]["pgmpy"]["edges_only_here"] == 1
    assert rows[0]["runs"]["bnlearn"] == {"too_slow": 7.0}
    assert rows[1]["runs"]["bnlearn"]["given_up"] == 7.0  # stopped on the problem with fewer tests
    report.write_all(data)
    text = (data / "BENCHMARKS.md").read_text()
    assert "| identical |" in text
    assert "2 (1 edge differs) | not installed |" in text
    assert "> 7 (stopped)" in text
    assert "| not started |" in text
    again = words(data, "discrete", "--limit", "7", "--resume")
    monkeypatch.setattr(discrete.peers, "run", None)  # what is there is not run again
    assert menu.main(again) == 0
    assert len(record.read(data, "discrete")["rows"]) == 2


def test_another_answer_of_pcalg_is_seen(data, monkeypatch):
    def wrong(*problem):
        out = answers(*problem)
        if "answer" in out:
            x, y, length, members = out["answer"].sepset
            out["answer"] = workloads.Answer(out["answer"].skeleton, (x, y, length, members + 1), (1, 2))
            out["empty_sets"] += 1
        return out

    monkeypatch.setattr(discrete.peers, "run", wrong)
    assert menu.main(words(data, "discrete", "--limit", "7", "--alphas", "0.05")) == 0
    (row,) = record.read(data, "discrete")["rows"]
    assert row["runs"]["pcalg"]["differs"].keys() == {"sepsets", "n_edgetests", "empty_sets"}
    report.write_all(data)
    assert "differs: sepsets, n_edgetests, empty_sets" in (data / "BENCHMARKS.md").read_text()


def test_a_run_of_ours_that_takes_too_long_is_stopped(data, monkeypatch):
    def slow(*problem, progress=None, **how):
        if progress is not None:
            progress(3, 5, 10, 7)

    monkeypatch.setattr(pycupc, "pc", slow)
    assert menu.main(words(data, "discrete", "--limit", "1e-9", "--engines", "none")) == 0
    for row in record.read(data, "discrete")["rows"]:
        assert row["runs"]["cpu"]["too_slow"] == 1e-9
        assert row["runs"]["cpu"]["reached"] == {"level": 3, "tests_at_most": 10, "edges_left": 7}
    report.write_all(data)
    assert "> 1e-09 (stopped)" in (data / "BENCHMARKS.md").read_text()


def test_the_gpu_engine_has_a_file_of_its_own(data, monkeypatch, tmp_path):
    real = pycupc.pc

    def on_cpu(*problem, engine, **how):
        return real(*problem, engine="reference" if engine == "gpu" else engine, **how)

    monkeypatch.setattr(pycupc, "pc", on_cpu)
    assert menu.main(words(data, "discrete", "--engines", "none")) == 0
    assert menu.main(words(data, "discrete-gpu", "--alphas", "0.05")) == 0
    assert menu.main(words(data, "discrete-gpu", "--alphas", "0.01", "--resume")) == 0
    files = [record.read(data, name) for name in ("discrete", "discrete-gpu")]
    assert len(files[1]["rows"]) == 2
    rows = section.joined(*files)
    assert all(row["runs"]["gpu"]["differs"] == {} for row in rows)
    files[1]["rows"][0]["runs"]["gpu"]["answer"] = "another"
    assert [row["runs"]["gpu"]["differs"] for row in section.joined(*files)] == [{}, {"between_machines": True}]
    report.write_all(data)
    assert "pycupc gpu (ms)" in (data / "BENCHMARKS.md").read_text()
    late = [*words(data, "discrete-gpu", "--deadline", "1"), "--out", str(tmp_path / "late")]
    assert menu.main(late) == 0
    assert not (tmp_path / "late" / "discrete-gpu.json").exists()


def test_problems_of_two_alphas_are_merged(data, tmp_path):
    other = tmp_path / "other"
    assert menu.main(words(data, "discrete", "--alphas", "0.05", "--engines", "none")) == 0
    assert menu.main([*words(data, "discrete", "--engines", "none", "--alphas", "0.01"), "--out", str(other)]) == 0
    assert menu.main(["merge", "--out", str(data), "--add", str(other)]) == 0
    assert sorted(row["alpha"] for row in record.read(data, "discrete")["rows"]) == [0.01, 0.05]


def test_tables_travel(data, tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "NETWORKS", ("tiny", "alarm"))  # of the second there is no file, and no pgmpy
    carry = tmp_path / "carry"
    assert menu.main(["prepare", "--data", str(data), "--carry", str(carry), "--out", str(tmp_path)]) == 0
    table = networks.load("tiny", 0.01, carry, None)
    np.testing.assert_array_equal(table.codes, chain().codes)
    assert (table.labels, table.alpha, table.varying.tolist()) == (chain().labels, 0.01, [0, 1, 2, 3, 4])
    with pytest.raises(SystemExit, match="alarm is sampled from a network in pgmpy.*--cache"):
        networks.load("alarm", 0.01, carry, None)


STUBS = {
    "causallearn/search/ConstraintBased/PC.py": """
import json, os
import numpy as np
def pc(data, alpha=0.05, indep_test="fisherz", stable=False, **how):
    given = {"alpha": alpha, "test": indep_test, "stable": stable, "data": data.tolist(), "limit": how.get("max_k")}
    open(os.environ["STUB"], "w").write(json.dumps(given))
    g = np.zeros((data.shape[1],) * 2)
    g[0, 1], g[1, 0], g[1, 2], g[2, 1] = -1, 1, -1, -1
    return type("Out", (), {"G": type("G", (), {"graph": g})})
""",
    "pgmpy/causal_discovery.py": """
import json, os
class PC:
    def __init__(self, variant, ci_test, return_type, significance_level, max_cond_vars, show_progress):
        self.given = {"alpha": significance_level, "test": ci_test, "stable": variant == "stable", "limit": None}
        self.most = max_cond_vars
    def fit(self, data):
        assert self.most >= data.shape[1] - 2
        open(os.environ["STUB"], "w").write(json.dumps({**self.given, "data": data.to_numpy().tolist()}))
        graph = {"directed_edges": [("v0", "v1")], "undirected_edges": [("v1", "v2")]}
        self.causal_graph_ = type("Graph", (), graph)
        return self
""",
}


@pytest.mark.parametrize(("peer", "test"), [("pgmpy", "g_sq"), ("causal-learn", "gsq")])
def test_what_the_python_peers_are_given(tmp_path, monkeypatch, peer, test):
    """The worker runs with stubs in the place of the packages, which write down what they get."""
    for name, text in STUBS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    about = tmp_path / f"{peer.replace('-', '_')}-7.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {peer}\nVersion: 7\n")
    monkeypatch.setenv("STUB", str(tmp_path / "given"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    table = chain(n=40)
    effort = peers.Effort(repeats=2, budget=60, limit=60)
    out = discrete_peers.run(peer, table, Path(sys.executable), 1, effort)
    given = json.loads((tmp_path / "given").read_text())
    assert given.pop("data") == table.codes[:, :-1].tolist()  # without the constant variable
    assert given == {"alpha": 0.05, "test": test, "stable": True, "limit": None}
    expected = np.zeros((6, 6))
    expected[0, 1] = expected[1, 2] = expected[2, 1] = 1
    np.testing.assert_array_equal(out["graph"], expected)
    assert (out["versions"], len(out["seconds"])) == ({peer: "7"}, 2)


def test_without_an_environment_the_python_peers_are_absent():
    out = discrete_peers.run("pgmpy", chain(), None, 1, peers.Effort())
    assert "--install-peers" in out["absent"]


def test_bnlearn_reports_the_faster_of_its_two_ways(monkeypatch):
    runs = {2: {"seconds": [3.0]}, 1: {"seconds": [2.0, 1.0]}}
    monkeypatch.setattr(discrete_peers, "_in_r", lambda package, table, processes, effort: runs[processes])
    out = discrete_peers.run("bnlearn", None, None, 2, peers.Effort())
    assert out == {"seconds": [2.0, 1.0], "processes": {"2": [3.0], "1": [2.0, 1.0]}}
    runs[2] = {"seconds": [31.0]}  # then a single process is not tried
    assert discrete_peers.run("bnlearn", None, None, 2, peers.Effort())["processes"] == {"2": [31.0]}
    runs[2] = {"absent": "no R"}
    runs[1] = {"absent": "no R"}
    assert discrete_peers.run("bnlearn", None, None, 2, peers.Effort()) == {"absent": "no R"}


def test_what_a_peer_started_ends_with_it(tmp_path):
    begun = time.perf_counter()
    command = f"(sleep 3; touch {tmp_path}/late) & sleep 60"
    assert discrete_peers.with_limit(["sh", "-c", command], 0.5) is None
    assert time.perf_counter() - begun < 30
    time.sleep(3)
    assert not (tmp_path / "late").exists()


@pytest.mark.r
@pytest.mark.parametrize("peer", ["pcalg", "bnlearn"])
def test_live_peers_in_r(peer):
    if not peers.has_r_package(peer):
        pytest.skip(f"needs an R with the package {peer}")
    table = chain()
    out = discrete_peers.run(peer, table, None, 1, peers.Effort(repeats=1))
    fit = pycupc.pc(table.suff_stat(), disCItest, alpha=table.alpha, quirks=True)
    np.testing.assert_array_equal(out["graph"] != 0, fit.graph != 0)
    if peer == "pcalg":
        assert workloads.Answer.of(fit).differences(out["answer"]) == {}
        gaps = table.p * (table.p - 1) // 2 - int(np.triu(fit.skeleton).sum())
        assert out["empty_sets"] == gaps - len(out["answer"].sepset[0])
