"""The benchmark of discrete data: sampled networks, what the other implementations are given, the experiments."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as menu
from benchmarks import networks, peers, record, workloads
from benchmarks.processes import run_limited

import pycupc
from pycupc.discrete import disCItest

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


@pytest.fixture
def run(data):
    """Run an experiment on the table "tiny"; returns its lines by alpha and implementation."""

    def run(experiment, *more):
        folders = ["--data", str(data), "--out", str(data), "--sets", "tiny", "--quick", "--threads", "1"]
        assert menu.main([experiment, *folders, *more]) == 0
        return {(row["alpha"], row["engine"]): row for row in record.read(data, experiment)}

    return run


def answers(peer, table, python, threads, effort):
    """pcalg as it is, pgmpy with one edge fewer, bnlearn that is stopped, causal-learn that is not there."""
    fit = pycupc.pc(table.suff_stat(), disCItest, alpha=table.alpha, engine="reference", quirks=True)
    assert (threads, effort.limit) == (1, 7.0)
    if peer == "bnlearn":
        return {"outcome": "stopped", "limit": effort.limit}
    if peer == "causal-learn":
        return {"outcome": "not installed", "why": "no environment"}
    out = {"times": [2.0], "graph": fit.graph.astype(np.int32), "version": f"{peer} 1"}
    if peer == "pgmpy":
        x, y = np.argwhere(out["graph"])[0]
        out["graph"][x, y] = out["graph"][y, x] = 0
    else:
        answer = workloads.Answer.of(fit)
        pairs = table.p * (table.p - 1) // 2 - int(np.triu(fit.skeleton).sum())
        out |= {"answer": answer, "empty_sets": pairs - len(answer.sepset[0])}
    return out


def test_the_experiment(run, monkeypatch):
    monkeypatch.setattr(peers, "discrete", answers)
    rows = run("discrete", "--limit", "7")
    assert {alpha for alpha, _ in rows} == {0.01, 0.05}
    for alpha in (0.01, 0.05):
        assert "differs" not in rows[alpha, "cpu"]
        assert rows[alpha, "pcalg"]["checked_by"] == "cpu, quirks"
        assert "differs" not in rows[alpha, "pcalg"]
        assert rows[alpha, "pgmpy"]["edges_only_here"] == 1
    assert (rows[0.01, "bnlearn"]["outcome"], rows[0.01, "bnlearn"]["limit"]) == ("stopped", 7)
    assert rows[0.05, "bnlearn"]["outcome"] == "not started"  # stopped on the problem with fewer tests
    monkeypatch.setattr(peers, "discrete", None)  # the recorded runs are not repeated
    assert run("discrete", "--limit", "7", "--resume").keys() == rows.keys()


def test_another_answer_of_pcalg_is_seen(run, monkeypatch):
    def wrong(*problem):
        out = answers(*problem)
        if "answer" in out:
            x, y, length, members = out["answer"].sepset
            out["answer"] = workloads.Answer(out["answer"].skeleton, (x, y, length, members + 1), (1, 2))
            out["empty_sets"] += 1
        return out

    monkeypatch.setattr(peers, "discrete", wrong)
    rows = run("discrete", "--limit", "7", "--alphas", "0.05")
    assert rows[0.05, "pcalg"]["differs"] == "sepsets, n_edgetests, empty_sets"


def test_a_run_of_ours_that_takes_too_long_is_stopped(run, monkeypatch):
    def slow(*problem, progress=None, **how):
        if progress is not None:
            progress(3, 5, 10, 7)

    monkeypatch.setattr(pycupc, "pc", slow)
    for row in run("discrete", "--limit", "1e-9").values():
        assert (row["outcome"], row["limit"], row["stopped_at_level"], row["tests_at_most"]) == ("stopped", 1e-9, 3, 10)


def test_the_gpu_engine_is_checked_by_the_cpu_engine(run, monkeypatch):
    real, wrong = pycupc.pc, {}

    def on_cpu(*problem, engine, **how):
        return real(*problem, engine="cpu", **how, **(wrong if engine == "gpu" else {}))

    monkeypatch.setattr(pycupc, "pc", on_cpu)
    rows = run("discrete-gpu", "--alphas", "0.05")
    assert rows[0.05, "gpu"]["checked_by"] == "cpu engine"
    assert "differs" not in rows[0.05, "gpu"]
    wrong["m_max"] = 0
    assert run("discrete-gpu", "--alphas", "0.05")[0.05, "gpu"]["differs"] == "answer"
    rows = run("discrete-gpu", "--alphas", "0.01", "--engines", "gpu", "--resume")
    assert len(rows) == 2
    assert "checked_by" not in rows[0.01, "gpu"]
    assert run("discrete-gpu", "--deadline", "1", "--resume") == rows


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
    out = peers.discrete(peer, table, Path(sys.executable), 1, effort)
    given = json.loads((tmp_path / "given").read_text())
    assert given.pop("data") == table.codes[:, :-1].tolist()  # without the constant variable
    assert given == {"alpha": 0.05, "test": test, "stable": True, "limit": None}
    expected = np.zeros((6, 6))
    expected[0, 1] = expected[1, 2] = expected[2, 1] = 1
    np.testing.assert_array_equal(out["graph"], expected)
    assert (out["version"], len(out["times"])) == (f"{peer} 7", 2)


def test_without_an_environment_the_python_peers_are_absent():
    out = peers.discrete("pgmpy", chain(), None, 1, peers.Effort())
    assert out["outcome"] == "not installed"
    assert "--install-peers" in out["why"]


def test_bnlearn_reports_the_faster_of_its_two_ways(monkeypatch):
    ways = {2: {"times": [3.0]}, 1: {"times": [2.0, 1.0]}}
    monkeypatch.setattr(peers, "_discrete_in_r", lambda package, table, processes, effort: ways[processes])
    assert peers.discrete("bnlearn", None, None, 2, None) == {"times": [2.0, 1.0], "processes": "1 process"}
    ways[2] = {"times": [31.0]}  # then a single process is not tried
    assert peers.discrete("bnlearn", None, None, 2, None) == {"times": [31.0], "processes": "2 processes"}
    ways[1] = ways[2] = {"outcome": "not installed"}
    assert peers.discrete("bnlearn", None, None, 2, None) == {"outcome": "not installed"}


def test_what_a_peer_started_ends_with_it(tmp_path):
    command = f"(sleep 3; touch {tmp_path}/late) & sleep 60"
    assert run_limited(["sh", "-c", command], 0.5) == {"outcome": "stopped", "limit": 0.5}
    time.sleep(3)
    assert not (tmp_path / "late").exists()


@pytest.mark.r
@pytest.mark.parametrize("peer", ["pcalg", "bnlearn"])
def test_live_peers_in_r(peer):
    if not peers.has_r_package(peer):
        pytest.skip(f"needs an R with the package {peer}")
    table = chain()
    out = peers.discrete(peer, table, None, 1, peers.Effort(repeats=1))
    fit = pycupc.pc(table.suff_stat(), disCItest, alpha=table.alpha, quirks=True)
    np.testing.assert_array_equal(out["graph"] != 0, fit.graph != 0)
    if peer == "pcalg":
        assert workloads.Answer.of(fit).differences(out["answer"]) == {}
        gaps = table.p * (table.p - 1) // 2 - int(np.triu(fit.skeleton).sum())
        assert out["empty_sets"] == gaps - len(out["answer"].sepset[0])
