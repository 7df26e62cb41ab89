"""The benchmark harness: data, results, checks of answers, and every experiment on a tiny problem."""

import numpy as np
import pandas as pd
import pytest
from benchmarks import command, generators, networks, paired, peers, record, runs, workloads
from benchmarks.experiments import discrete, latent, pruning, scaling, stability
from common import refused

import pycupc
from pycupc.discrete import disCItest

TINY = "std_40_3_200"


def test_the_seed_names_the_data():
    X, _ = generators.standardised(30, 4, 50, seed=0)
    np.testing.assert_allclose(X[0, :3], [0.12573022, -1.20831863, 1.47331691], atol=5e-7)
    np.testing.assert_allclose(X[-1, -3:], [0.92512915, -1.76131871, 0.4570413], atol=5e-7)
    Y, _ = generators.paper(20, 0.3, 40, seed=3)
    np.testing.assert_allclose(Y[-1, -3:], [1.47224251, 4.9902322, 4.98224571], atol=5e-7)


def test_recorded_answers_and_exact_correlations_are_read(tmp_path):
    X, _ = generators.standardised(40, 3, 200, seed=2)
    pd.DataFrame(X).to_csv(tmp_path / "mcc.csv.gz", index=False)
    computed = workloads.load("mcc", tmp_path)
    a = workloads.Answer.of(runs.once(computed, "cpu", 1)[0])
    (tmp_path / "expected").mkdir()
    sets = {f"sepset_{name}": part for name, part in zip(("x", "y", "len", "members"), a.sepset, strict=True)}
    whole = {"p": 40, "skeleton_packed": np.packbits(a.skeleton), "n_edgetests": np.array(a.n_edgetests, float)}
    np.savez(tmp_path / "expected" / "mcc_alpha0.05.npz", **whole, **sets)
    workloads.prepare(tmp_path)
    loaded = workloads.load("mcc", tmp_path)
    assert loaded.expected.digest == a.digest
    assert (loaded.n, loaded.C.tobytes()) == (200, computed.C.tobytes())


def test_a_wrong_answer_is_refused(tmp_path):
    w = workloads.load(TINY, tmp_path)
    right = workloads.Answer.of(runs.once(w, "cpu", 1)[0])
    assert right.differences(right) == {}
    skeleton = right.skeleton.copy()
    skeleton[0, 1] = skeleton[1, 0] = not skeleton[0, 1]
    x, y, length, members = right.sepset
    wrong = workloads.Answer(skeleton, (x, y, length, members + 1), (*right.n_edgetests, 1))
    row, _, levels = runs.repeat(w, "cpu", runs.Check(w, wrong))
    assert (row["differs"], "seconds" in row, levels) == ("edges, sepsets, n_edgetests", False, [])
    w.expected = wrong  # a recorded answer that is not reproduced: the engine cpu decides
    check = runs.Check(w)
    assert check.columns(right) == {"checked_by": "cpu engine", "differs": ""}
    assert check.columns(wrong) == {"checked_by": "cpu engine", "differs": "edges, sepsets, n_edgetests"}


def test_results_are_read_as_they_were_written(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "machine", lambda: "m")
    results = record.Results("x", tmp_path, "command")
    results.add({"set": "a, b", "p": 7, "seconds": 1 / 3, "answer": "0012", "differs": "", "tests": 2**60 + 1})
    results.add({"set": "c", "bound": float("inf"), "limit": 60.0, "p": np.int64(8), "machine": "?"})
    first, second = record.lines(record.read(tmp_path, "x"))
    where = {"machine": "m", "commit": record.commit()}
    assert first == {"set": "a, b", "p": 7, "seconds": 0.33333333, "answer": "0012", "tests": 2**60 + 1, **where}
    assert second == {"set": "c", "bound": float("inf"), "limit": 60, "p": 8, **where}
    again = record.Results("x", tmp_path, "command", resume=True)
    again.add({"set": "c", "p": 8, "seconds": 2.0})  # the same problem
    assert [line.get("seconds") for line in again.where()] == [0.33333333, 2.0]
    monkeypatch.setattr(record, "machine", lambda: "another")
    with pytest.raises(SystemExit, match="would mix the times of another and m"):
        record.Results("x", tmp_path, "command", resume=True)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Runs an experiment on tiny problems; every engine of a GPU is the cpu engine in disguise."""
    for name in ("skeleton", "pc"):
        call = getattr(pycupc, name)
        monkeypatch.setattr(pycupc, name, lambda *problem, call=call, **how: call(*problem, **{**how, "engine": "cpu"}))
    monkeypatch.setattr(scaling, "POINTS", [(20, 0.1, 100), (20, 0.1, 200)])
    pool = type("Pool", (), {"free_all_blocks": lambda self: None, "total_bytes": lambda self: 10**6})
    monkeypatch.setattr(scaling, "_pool", pool)
    monkeypatch.setattr(scaling, "MANY", [(100, 50, 1e-3)])
    sizes = {"P": (8,), "SAMPLES": (40,), "REPETITIONS": 2, "RESAMPLES": 4, "LOOP_RESAMPLES": 4}
    for name, value in sizes.items():
        monkeypatch.setattr(stability, name, value)
    monkeypatch.setattr(discrete, "BUDGET", 0)
    (tmp_path / "discrete").mkdir()
    arrays = {"codes": chain().codes, "nlev": chain().nlev, "labels": np.array(chain().labels)}
    np.savez(tmp_path / "discrete" / "tiny.npz", **arrays)

    def run(experiment, *words, expect=0):
        folders = ["--data", str(tmp_path), "--out", str(tmp_path), "--threads", "1"]
        assert command.main([experiment, *folders, *words]) == expect
        return record.lines(record.read(tmp_path, experiment))

    run.folder = tmp_path
    return run


def chain(p=6, n=600):
    """A chain of variables with three levels; the last variable is constant in the sample."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, (n, p))
    for j in range(1, p):
        codes[:, j] = np.where(rng.random(n) < 0.6, codes[:, j - 1], codes[:, j])
    codes[:, -1] = 1
    return networks.Table("tiny", codes, np.full(p, 3), [f"x{j}" for j in range(p)], 0.05)


@pytest.mark.parametrize(
    ("experiment", "words", "columns"),
    [
        ("cpu", ["--sets", TINY, "--engines", "reference"], "answer edges start_up memory_allowed_bytes peak_bytes"),
        ("python-peers", ["--sets", TINY], "answer outcome"),
        ("pruning", ["--sets", TINY], "pruned plain made bounds p_values spot_checks level"),
        ("pruning-gpu", ["--sets", TINY], "pruned plain made bounds p_values spot_checks level"),
        ("gpu", ["--sets", TINY], "first seconds seconds_min levels_seconds orientation level tests answer"),
        ("scaling-large", ["--variables", "100"], "memory_bytes seconds orientation"),
        ("many", ["--variables", "100"], "memory_bytes peak_bytes seconds levels_seconds edges"),
        ("scaling", ["--seeds", "0", "1"], "generator near_one below_one careful last_level answer"),
        ("discrete", ["--sets", "tiny", "--engines", "pgmpy"], "answer first seconds outcome"),
        ("discrete-gpu", ["--sets", "tiny"], "answer first seconds checked_by"),
        ("latent", [], "first seconds edges"),
        ("stability-bounds", ["--sets", "star"], "false false_error recall"),
        ("stability-times", ["--sets", "std_10_3_60"], "loop seconds tests checked_by"),
        ("stability-gpu", ["--sets", "std_10_3_60", "--engines", "cpu"], "loop seconds tests checked_by"),
    ],
)
def test_every_experiment_yields_its_columns(tiny, monkeypatch, experiment, words, columns):
    pool = type("Here", (), {"__init__": lambda self, n: None, "map": staticmethod(map)})
    pool.__enter__, pool.__exit__ = lambda self: self, lambda self, *error: None
    monkeypatch.setattr(stability, "pool", pool)
    points = [(name, TINY, name != "tpc", name, 2) for name in ("rfci", "tpc")]
    monkeypatch.setattr(latent, "POINTS", points)
    lines = tiny(experiment, *words)
    assert set(columns.split()) <= {column for line in lines for column in line}
    assert not any("differs" in line for line in lines)
    (call,) = record.lines(record.read(tiny.folder, "calls"))
    assert call["command"].startswith(f"python tests/benchmarks {experiment} --data")
    assert str(tiny.folder) not in call["command"]
    if experiment == "gpu":
        whole = [line for line in lines if "level" not in line]
        assert [line["engine"] for line in whole] == list(runs.GPU_ENGINES)
        assert sum(line["tests"] for line in lines if "level" in line) == sum(line["tests"] for line in whole)
        again = tiny(experiment, *words, "--resume")
        assert again == lines  # not measured again


def test_the_checks_of_pruning_see_another_answer(tmp_path):
    w = workloads.load(TINY, tmp_path)
    fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu")
    assert pruning.spot_checks(fit, w, 50) == 100
    with pytest.raises(AssertionError):
        pruning.check(fit, pycupc.skeleton({"C": w.C, "n": w.n}, alpha=0.2, engine="cpu"))
    w.C = np.where(np.eye(w.p, dtype=bool), 1, 0.5 * w.C)
    with pytest.raises(AssertionError):
        pruning.spot_checks(fit, w, 50)


def test_an_engine_is_given_up_at_a_point_after_four_graphs():
    lines = [{"engine": "gpu", "seed": seed, "limit": 7} for seed in range(4)]
    both = ["gpu", "cupc-e"]
    assert scaling.engines_left(lines[:3], 3, both, 7) == both
    assert scaling.engines_left(lines, 3, both, 7) == []  # stopped on this graph
    assert scaling.engines_left(lines, 3, both, 8) == both
    assert scaling.engines_left(lines, 4, both, 7) == ["cupc-e"]
    lines.append({"engine": "gpu", "seed": 9, "seconds": 1.0})
    assert scaling.engines_left(lines, 4, both, 7) == both
    assert scaling.engines_left(lines, 9, both, 7) == ["cupc-e"]


@pytest.mark.r
@pytest.mark.parametrize("package", ["pcalg", "ParallelPC", "bnlearn"])
def test_live_peers_in_r(tmp_path, package):
    if not peers.has_r_package(package):
        pytest.skip(f"needs an R with the package {package}")
    if package != "bnlearn":
        w, effort = workloads.load(TINY, tmp_path), peers.Effort(1)
        fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu")
        out = peers.parallel_pc(w, 2, effort) if package == "ParallelPC" else peers.pcalg(w, "stable", 1, effort)
        assert out["tests"] == tuple(fit.n_edgetests)
        assert peers.summary(out, fit.skeleton)["edges_only_there"] == 0
        assert peers.summary(out, fit.skeleton)["edges_only_here"] == 0
    if package != "ParallelPC":
        table = chain()
        out = peers.discrete(package, table, None, 1, peers.Effort(repeats=1))
        fit = pycupc.pc(table.suff_stat(), disCItest, alpha=table.alpha, quirks=True)
        np.testing.assert_array_equal(out["graph"] != 0, fit.graph != 0)
    if package == "pcalg":
        assert workloads.Answer.of(fit).differences(out["answer"]) == {}
        assert out["empty_sets"] == 15 - len(fit.sparse_graph) - len(out["answer"].sepset[0])


def test_a_network_is_sampled_by_its_probabilities():
    variable = "variable {} {{\n type discrete [ {} ] {{ {} }};\n}}\n"
    bif = variable.format("rain", 2, "yes, no") + variable.format("grass", 3, "dry, damp, wet")
    bif += "probability ( rain ) {\n table 0.2, 0.8;\n}\n"
    bif += "probability ( grass | rain ) {\n (yes) 0.0, 0.1, 0.9;\n (no) 0.2, 0.3, 0.5;\n}\n"
    network = networks.parse(bif)
    assert network.levels == {"rain": ["yes", "no"], "grass": ["dry", "damp", "wet"]}
    rain, grass = networks.sample(network, 40_000, seed=1).T
    assert rain.mean() == pytest.approx(0.8, abs=0.01)
    found = np.bincount(grass[rain == 1], minlength=3)
    np.testing.assert_allclose(found / found.sum(), [0.2, 0.3, 0.5], atol=0.02)
    assert not (grass[rain == 0] == 0).any()
    refused("of grass are incomplete", networks.parse, bif.replace("(no) 0.2, 0.3, 0.5;", ""))


#: A package with the public calls of pycupc that answers as fast as it can, and always the same.
CHECKOUT = """
import numpy as np

class EngineError(RuntimeError):
    pass

class Sets:
    def arrays(self):  # as the method was called in version 0.1
        return tuple(np.array(part, dtype=np.int32) for part in ([0], [1], [1], [{member}]))

class Fit:
    sepset = Sets()

    def __init__(self, p):
        self.skeleton, self.n_edgetests = np.zeros((p, p), dtype=bool), [{tests}]
        self.graph = self.skeleton.astype(np.int8)

def skeleton(suffStat, alpha, engine, numCores):
    if engine != "cpu":
        raise EngineError("there is no device")
    return Fit(len(suffStat["C"]))

pc = skeleton
"""
PAIRED = ["--sets", TINY, "--engines", "cpu", "--threads", "1", "--budget", "0"]


def checkout(folder, member=2, tests=3):
    """A checkout that holds the stub."""
    (folder / "pycupc").mkdir(parents=True)
    (folder / "pycupc" / "__init__.py").write_text(CHECKOUT.format(member=member, tests=tests))
    return folder


@pytest.mark.parametrize(
    ("old", "named"), [({"member": 3, "tests": 4}, "separating sets, numbers of tests"), ({}, None)]
)
def test_a_checkout_with_another_answer_is_not_timed(tmp_path, monkeypatch, capsys, old, named):
    monkeypatch.setattr(paired, "SELF", checkout(tmp_path / "new"))
    words = ["paired", str(checkout(tmp_path / "old", **old)), *PAIRED, "--calls", "skeleton from C", "--out"]
    assert command.main([*words, str(tmp_path)]) == int(named is not None)
    listed = f"{TINY} cpu skeleton from C ({named})" if named else "none"
    assert f"the answers differ: {listed}" in capsys.readouterr().out
    assert ("seconds" in record.read(tmp_path, "paired")) == (named is None)
    if named is None:
        refused("not from", paired.Worker.start, tmp_path / "elsewhere", error=ImportError)
