"""The benchmark harness: generators, measures, results, checks of answers, and every experiment on tiny problems."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import __main__ as menu
from benchmarks import generator, record, runs, workloads
from benchmarks.experiments import answers, cpu, gpu, pruning, scaling

import pycupc


def test_the_seed_names_the_data():
    X = generator.standardised(30, 4, 50, seed=0)
    assert X.shape == (50, 30)
    np.testing.assert_allclose(X[0, :3], [0.12573022, -1.20831863, 1.47331691], atol=5e-7)
    np.testing.assert_allclose(X[-1, -3:], [0.92512915, -1.76131871, 0.4570413], atol=5e-7)
    Y = generator.paper(20, 0.3, 40, seed=3)
    np.testing.assert_allclose(Y[-1, -3:], [1.47224251, 4.9902322, 4.98224571], atol=5e-7)


def test_data_follow_their_graph():
    X, dag = generator.standardised_graph(12, 3, 20000, seed=1)
    assert not np.tril(dag).any()  # parents come first
    np.testing.assert_allclose(X.var(axis=0), 1, atol=0.1)
    _, child = np.argwhere(dag)[-1]
    parents = np.flatnonzero(dag[:, child])
    fit = np.linalg.lstsq(X[:, parents], X[:, child], rcond=None)[0]
    explained = 1 - np.var(X[:, child] - X[:, parents] @ fit)
    assert 0.35 < explained < 0.85


def _dag(p: int, *arrows: tuple[int, int]) -> np.ndarray:
    out = np.zeros((p, p), dtype=bool)
    for a, b in arrows:
        out[a, b] = True
    return out


def test_cpdag():
    chain = generator.cpdag(_dag(3, (0, 1), (1, 2)))
    assert (chain == chain.T).all()
    assert chain.sum() == 4
    collider = generator.cpdag(_dag(4, (0, 2), (1, 2), (2, 3)))  # 2 --> 3 follows by the first rule
    assert (collider == _dag(4, (0, 2), (1, 2), (2, 3))).all()
    kite = _dag(4, (0, 1), (0, 2), (0, 3), (1, 3), (2, 3))  # 0 --> 3 by the third rule, 0 - 1 and 0 - 2 stay open
    expected = kite.copy()
    expected[1, 0] = expected[2, 0] = True
    assert (generator.cpdag(kite) == expected).all()


def test_cpdag_is_what_an_oracle_finds():
    """pc() on the exact correlations of a linear model finds its CPDAG (n so large that any dependence shows)."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        dag = np.triu(rng.random((9, 9)) < 0.3, 1)
        A = np.where(dag, rng.uniform(0.3, 0.9, (9, 9)), 0)
        inverse = np.linalg.inv(np.eye(9) - A)
        S = inverse.T @ inverse
        d = np.sqrt(np.diag(S))
        fit = pycupc.pc({"C": (C := S / np.outer(d, d)), "n": 10**8}, alpha=1e-6, engine="reference")
        assert ((fit.graph != 0) == generator.cpdag(dag)).all(), C


def test_measures():
    truth = _dag(4, (0, 1), (1, 0), (1, 2), (3, 2))
    assert answers.measures(truth.astype(int), truth)["shd"] == 0
    found = _dag(4, (0, 1), (2, 1), (0, 3))  # 0 - 1 marked otherwise, 1 - 2 turned, 3 - 2 missing, 0 - 3 extra
    m = answers.measures(found.astype(int), truth)
    assert (m["shd"], m["tdr"], m["tpr"]) == (4, 2 / 3, 2 / 3)


def test_recorded_answers_are_read(tmp_path):
    w = workloads.load("std_40_3_200", tmp_path)
    a = workloads.Answer.of(runs.once(w, runs.make_engine("cpu", 1))[0])
    (tmp_path / "expected").mkdir()
    x, y, length, members = a.sepset
    np.savez(
        tmp_path / "expected" / "std_40_3_200_alpha0.05.npz",
        p=w.p,
        skeleton_packed=np.packbits(a.skeleton),
        sepset_x=x,
        sepset_y=y,
        sepset_len=length,
        sepset_members=members,
        n_edgetests=np.array(a.n_edgetests, float),
    )
    loaded = workloads.load("std_40_3_200", tmp_path)
    assert loaded.expected is not None
    assert loaded.expected.digest == a.digest


def test_correlations_travel_exactly(tmp_path):
    import pandas

    X = generator.standardised(15, 3, 40, seed=2)
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    pandas.DataFrame(X).to_csv(data / "mcc.csv.gz", index=False)
    workloads.pack(data, out)
    here, there = workloads.load("mcc", data), workloads.load("mcc", out)
    assert np.array_equal(here.C, there.C)
    assert here.n == there.n == 40


def test_a_wrong_answer_is_seen(tmp_path):
    w = workloads.load("std_40_3_200", tmp_path)
    fit, times = runs.once(w, runs.make_engine("cpu", 1))
    right = workloads.Answer.of(fit)
    assert right.differences(right) == {}
    assert times["total"] >= times["engine"] >= sum(times["levels"]) > 0
    assert len(times["levels"]) == len(fit.n_edgetests)
    skeleton = right.skeleton.copy()
    skeleton[0, 1] = skeleton[1, 0] = not skeleton[0, 1]
    x, y, length, members = right.sepset
    wrong = workloads.Answer(skeleton, (x, y, length, members + 1), (*right.n_edgetests, 1))
    assert set(right.differences(wrong)) == {"edges", "sepsets", "n_edgetests"}
    row, _, levels = runs.repeat(w, runs.make_engine("cpu", 1), runs.Check(w, wrong), least=1)
    assert (row["differs"], row["runs"], len(levels)) == ("edges, sepsets, n_edgetests", 1, len(fit.n_edgetests))
    w.expected = wrong  # a recorded answer that is not reproduced: the engine cpu decides
    check = runs.Check(w)
    assert check.columns(right) == {"checked_by": "cpu engine", "differs": ""}
    assert check.columns(wrong) == {"checked_by": "cpu engine", "differs": "edges, sepsets, n_edgetests"}


def test_a_run_that_takes_too_long_is_given_up(tmp_path):
    w, engine = workloads.load("std_40_3_200", tmp_path), runs.make_engine("cpu", 1)
    stop = runs.stop_at(0.5, lambda: 0.6)
    engine.run_level = lambda level, cutoff: stop(3, 0, 10**6, 7)
    row, fit, _ = runs.repeat(w, engine, runs.Check(w))
    assert fit is None
    assert row == {"outcome": "stopped", "limit": 0.5, "stopped_at_level": 3, "tests_at_most": 10**6}
    runs.stop_at(0.5, lambda: 0.4)(3, 0, 10**6, 7)  # goes on


def test_statistics():
    found = record.statistics([3.0, 1.0, 2.0, 10.0], "loop")
    assert found == {"runs": 4, "loop": 2.5, "loop_min": 1.0, "loop_max": 10.0}
    assert record.statistics([]) == {}


def test_what_is_written_is_read(tmp_path):
    rows = [
        {"set": "a, b", "p": 7, "seconds": 1 / 3, "answer": "0012", "differs": "", "machine": "m", "commit": "1e10"},
        {"set": "c", "bound": float("inf"), "limit": 60.0, "machine": "m", "commit": "1e10"},
    ]
    kept = []
    for row in rows:
        record.put(kept, row)
    record.write(tmp_path, "x", kept)
    assert (tmp_path / "x.csv").read_text().splitlines()[0] == "set,p,seconds,answer,bound,limit,machine,commit"
    first, second = record.read(tmp_path, "x")
    assert first == {"set": "a, b", "p": 7, "seconds": 0.33333333, "answer": "0012", "machine": "m", "commit": "1e10"}
    assert second == {"set": "c", "bound": float("inf"), "limit": 60, "machine": "m", "commit": "1e10"}
    record.put(kept, {"set": "c", "seconds": 2.0, "machine": "m"})  # the same problem again
    assert [row.get("seconds") for row in kept] == [1 / 3, 2.0]
    record.put(kept, {"set": "c", "engine": "gpu", "machine": "m"})
    assert len(kept) == 3


def test_merging_keeps_both_parts_and_sees_two_answers(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    rows = [
        {"set": "a", "engine": e, "answer": "x", "seconds": 1, "machine": "m", "commit": "c"} for e in ("cpu", "gpu")
    ]
    record.write(one, "t", rows)
    record.write(two, "t", [{**rows[1], "seconds": 2}, {**rows[1], "set": "b"}])
    for folder in (one, two):
        record.write(folder, "calls", [{"experiment": "t", "command": folder.name, "machine": "m", "commit": "c"}])
    record.merge(one, two)
    found = [(row["set"], row["engine"], row["seconds"]) for row in record.read(one, "t")]
    assert found == [("a", "cpu", 1), ("a", "gpu", 2), ("b", "gpu", 1)]
    assert [call["command"] for call in record.read(one, "calls")] == ["one", "two"]
    record.write(two, "t", [{**rows[1], "answer": "y"}])
    with pytest.raises(SystemExit, match="two answers to the same problem"):
        record.merge(one, two)
    record.write(two, "t", [{**rows[1], "machine": "another"}])
    with pytest.raises(SystemExit, match="would mix the times of another and m"):
        record.merge(one, two)
    with pytest.raises(SystemExit, match="nowhere holds no results"):
        record.merge(one, tmp_path / "nowhere")


def test_results_of_two_machines_do_not_mix(tmp_path, monkeypatch):
    words = ["sharing", "--quick", "--sets", "std_40_3_200", "--data", str(tmp_path), "--out", str(tmp_path)]
    assert menu.main(words) == 0
    monkeypatch.setattr(record, "machine", lambda: "another")
    with pytest.raises(SystemExit, match="another"):
        menu.main([*words, "--resume"])


def test_an_estimate_is_tests_times_the_best_rate():
    rows = [{"engine": "x", "set": "a", "tests": 100, "seconds": 6.0}]
    rows += [{"engine": "x", "set": "b", "tests": 1000, "seconds": 20.0}, {"engine": "x", "set": "c", "tests": 10**6}]
    rows += [{"engine": "y", "set": "a", "tests": 100, "seconds": 1e-3}]
    out = cpu.estimate(rows, "x", "c", 10**6, 600.0)
    assert out == {"outcome": "estimated", "limit": 600.0, "estimate": pytest.approx(20_000)}
    assert cpu.estimate(rows, "x", "b", 1000, 59.9)["estimate"] == pytest.approx(60)
    assert cpu.estimate(rows, "x", "c", 10**6, 20_000.1) is None
    assert cpu.estimate(rows, "another", "c", 10**6, 1.0) is None


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Every GPU engine is the cpu engine in disguise, and every problem is tiny: the harness is what is tested."""
    real, random = runs.make_engine, scaling._random
    monkeypatch.setattr(runs, "make_engine", lambda name, threads=None, **options: real("cpu", 1))
    monkeypatch.setattr(workloads, "QUICK", {"std_40_3_200": 0.05, "std_50_3_200": 0.01})
    few = [("p", 20, 0.1, 100), ("p", 30, 0.1, 100), ("n", 20, 0.1, 100), ("n", 20, 0.1, 200), ("d", 20, 0.1, 100)]
    monkeypatch.setattr(scaling, "sweeps", lambda quick: few)
    pool = type("Pool", (), {"free_all_blocks": lambda self: None, "total_bytes": lambda self: 10**6})
    monkeypatch.setattr(scaling, "_pool", pool)
    monkeypatch.setattr(scaling, "_random", lambda *args, device, **how: random(*args, device=False, **how))
    folders = ["--quick", "--data", str(tmp_path), "--out", str(tmp_path)]

    def run(experiment, *words):
        assert menu.main([experiment, *folders, *words]) == 0
        return record.read(tmp_path, experiment)

    return SimpleNamespace(run=run, folder=tmp_path, folders=folders)


def test_engines_part_by_part(tiny):
    rows = tiny.run("gpu")
    whole = record.where(rows, level=None)
    assert len(whole) == 2 * 3
    for name in workloads.QUICK:
        assert len({row["answer"] for row in record.where(whole, set=name)}) == 1
    for row in whole:
        levels = [line for line in record.where(rows, set=row["set"], engine=row["engine"]) if "level" in line]
        assert sum(line["tests"] for line in levels) == row["tests"]
        assert sum(line["seconds"] for line in levels) == pytest.approx(row["levels_seconds"], rel=1e-4)
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
        assert ("differs" in row, "orientation" in row) == (False, row["engine"] == "gpu")
    (call,) = record.read(tiny.folder, "calls")
    assert call["command"].startswith("python -m tests.benchmarks gpu --quick")
    assert str(tiny.folder) not in call["command"]
    rows = [*rows, {**whole[0], "engine": "gpucsl", "seconds": 1.0}]
    record.write(tiny.folder, "gpu", rows)
    again = tiny.run("gpu", "--resume", "--sets", "std_40_3_200", "--engines", "gpu")  # keeps the peers' runs
    assert {row["engine"] for row in again} == {"gpucsl", "gpu"}


def test_configurations(tiny):
    rows = tiny.run("configurations", "--sets", "std_40_3_200")
    assert len(rows) == -(-len(gpu.CONFIGURATIONS) // 8)
    assert all("differs" not in row and row["engine_seconds"] > 0 for row in rows)


def test_sweeps(tiny):
    words = ["--generators", "paper", "--sweeps", "n"]
    before = tiny.run("scaling", *words, "--graphs", "1", "--engines", "gpu")
    assert {row["engine"] for row in before} == {"gpu"}
    after = tiny.run("scaling", *words, "--resume", "--graphs", "2", "--engines", "gpu", "cupc-e")
    assert len(record.read(tiny.folder, "calls")) == 2
    assert sorted((row["n"], row["seed"], row["engine"]) for row in after) == [
        (n, seed, e) for n in (100, 200) for seed in (0, 1) for e in ("cupc-e", "gpu")
    ]
    assert before == after[: len(before)]  # not measured again
    assert record.disagreements(after) == []
    with pytest.raises(SystemExit, match="no point of these sweeps has 7 variables"):
        tiny.run("scaling", "--variables", "7")
    large = tiny.run("scaling-large")
    assert [row["p"] for row in large] == [100, 200, 400]
    assert all(row["memory_bytes"] == 10**6 and row["memory_bytes_estimate"] > 0 for row in large)


def test_engines_that_disagree_are_seen(tiny, monkeypatch):
    digests = iter(range(100))
    monkeypatch.setattr(workloads.Answer, "digest", property(lambda self: str(next(digests))))
    with pytest.raises(SystemExit, match="the engines disagree"):
        tiny.run("scaling", "--graphs", "1", "--engines", "gpu", "cupc-e")


def test_a_stopped_sweep_says_where_and_a_longer_limit_tries_again(tiny, monkeypatch):
    real, stops = runs.once, [True]

    def slow(w, engine, limit=None):
        if stops[0]:
            raise runs.TooSlow(limit, {"stopped_at_level": 4, "tests_at_most": 3 * 10**12})
        return real(w, engine)

    monkeypatch.setattr(runs, "once", slow)
    words = ["--sweeps", "n", "--generators", "paper", "--engines", "gpu", "cupc-e"]
    rows = tiny.run("scaling", *words, "--limit", "7", "--graphs", "6")
    assert {row["engine"] for row in rows} == {"gpu"}  # the others are not tried then
    assert [row["seed"] for row in rows] == [0, 0, 1, 1, 2, 2, 3, 3]  # after four graphs a point is given up
    assert rows[0]["stopped_at_level"] == 4
    stops[0] = False
    assert tiny.run("scaling", *words, "--limit", "7", "--graphs", "1", "--resume") == rows
    again = tiny.run("scaling", *words, "--limit", "8", "--graphs", "1", "--resume")
    assert all("seconds" in row and "outcome" not in row for row in again if row["seed"] == 0)


def test_cpu_experiment(tiny):
    rows = tiny.run("cpu", "--threads", "1", "--engines", "reference", "--sets", "std_40_3_200")
    ours, reference = rows
    assert ours["peak_bytes"] < ours["memory_allowed_bytes"]
    assert ours["start_up"] > 0
    assert ours["answer"] == reference["answer"]
    assert reference["checked_by"] == "given"
    assert "differs" not in reference


def test_pruning(tiny, monkeypatch):
    rows = tiny.run("pruning", "--sets", "std_40_3_200", "--threads", "1")
    whole, *levels = rows
    assert whole["tests"] == sum(row["tests"] for row in levels)
    assert whole["made"] <= whole["tests"]
    w = workloads.load("std_40_3_200", tiny.folder)
    fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu")
    assert pruning.spot_checks(fit, w, 50) == 100
    other = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=0.2, engine="cpu")
    with pytest.raises(AssertionError):
        pruning.check(fit, other)
    w.C = np.where(np.eye(w.p, dtype=bool), 1, 0.5 * w.C)
    with pytest.raises(AssertionError):
        pruning.spot_checks(fit, w, 50)


def test_accuracy_and_sharing(tiny, monkeypatch):
    monkeypatch.setattr(answers.peers, "pcalg", lambda *args, **how: {"outcome": "not installed", "why": "no R"})
    rows = tiny.run("accuracy")
    assert all(row["shd"] >= 0 and row["cpdag_differs"] == 0 for row in record.where(rows, engine="pycupc"))
    assert {row["outcome"] for row in rows if row["engine"] != "pycupc"} == {"not installed"}
    (row,) = tiny.run("sharing", "--sets", "std_40_3_200")
    w = workloads.load("std_40_3_200", tiny.folder)
    A = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, m_max=1, engine="cpu").skeleton
    common = [sum(A[i, a] and A[i, b] and A[i].sum() > 2 for i in range(40)) for a in range(40) for b in range(a)]
    assert (row["sets"], row["used_by_1"]) == (np.count_nonzero(common), common.count(1))


def test_wrong_words(tiny, capsys):
    for words, why in (
        (["gpu-peers"], "gpu-peers needs --peer-path, --cupc-library or both"),
        (["merge"], "merge needs --add FOLDER"),
        (["paired"], "paired and call need CHECKOUT"),
        (["cpu", "elsewhere"], "paired and call need CHECKOUT"),
    ):
        with pytest.raises(SystemExit):
            menu.main([*words, *tiny.folders])
        assert why in capsys.readouterr().err
    with pytest.raises(SystemExit, match="run the experiment gpu first"):
        menu.main(["gpu-peers", "--peer-path", str(tiny.folder), *tiny.folders])
