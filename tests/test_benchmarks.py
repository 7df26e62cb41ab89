"""The benchmark harness: generators, measures, checks of answers, and every experiment on tiny problems."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import pycupc

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import __main__ as menu
from benchmarks import generator, record, report, runs, workloads
from benchmarks.experiments import gpu, scaling, small


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
    assert small.measures(truth.astype(int), truth)["shd"] == 0
    found = _dag(4, (0, 1), (2, 1), (0, 3))  # 0 - 1 marked otherwise, 1 - 2 turned, 3 - 2 missing, 0 - 3 extra
    m = small.measures(found.astype(int), truth)
    assert (m["shd"], m["tdr"], m["tpr"]) == (4, 2 / 3, 2 / 3)


def test_a_wrong_answer_is_seen(tmp_path):
    w = workloads.load("std_40_3_200", tmp_path)
    fit, times = runs.once(w, runs.make_engine("cpu", 1))
    right = workloads.Answer.of(fit)
    assert right.differences(right) == {}
    assert times["total"] >= times["engine"] >= sum(times["levels"]) > 0
    skeleton = right.skeleton.copy()
    skeleton[0, 1] = skeleton[1, 0] = not skeleton[0, 1]
    x, y, length, members = right.sepset
    wrong = workloads.Answer(skeleton, (x, y, length, members + 1), (*right.n_edgetests, 1))
    assert set(right.differences(wrong)) == {"edges", "sepsets", "n_edgetests"}
    out = runs.repeat(w, runs.make_engine("cpu", 1), least=1, check=wrong)
    assert out["differs"]["edges"] == 1
    assert len(out["repeats"]) == 1


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


def test_a_run_that_takes_too_long_is_given_up():
    class Slow:
        name = "slow"

        def __getattr__(self, name):
            raise runs.TooSlow(0.5, {"level": 3})  # as the progress hook would

    w = workloads.Workload("", np.eye(3), 10, 0.05, "")
    assert runs.repeat(w, Slow(), limit=0.5) == {"too_slow": 0.5, "repeats": []}


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Every GPU engine is the cpu engine in disguise, and every problem is tiny: the harness is what is tested."""
    real = runs.make_engine
    monkeypatch.setattr(runs, "make_engine", lambda name, threads=None, **options: real("cpu", 1))
    monkeypatch.setattr(workloads, "QUICK", {"std_40_3_200": 0.05, "std_50_3_200": 0.01})
    monkeypatch.setattr(gpu, "HEAVY", ("std_50_3_200",))
    few = [("p", 20, 0.1, 100), ("p", 30, 0.1, 100), ("n", 20, 0.1, 100), ("n", 20, 0.1, 200), ("d", 20, 0.1, 100)]
    monkeypatch.setattr(workloads, "sweeps", lambda quick: few)
    pool = type("Pool", (), {"free_all_blocks": lambda self: None, "total_bytes": lambda self: 10**6})
    monkeypatch.setattr(scaling, "_pool", pool)
    random = scaling._random
    monkeypatch.setattr(scaling, "_random", lambda *args, device, **how: random(*args, device=False, **how))
    return tmp_path


def test_gpu_experiments_and_report(tiny):
    out = tiny / "results"
    assert menu.main(["gpu-all", "--quick", "--data", str(tiny), "--out", str(out)]) == 0
    assert menu.main(["sharing", "--quick", "--data", str(tiny), "--out", str(out), "--sets", "std_50_3_200"]) == 0
    table = json.loads((out / "gpu.json").read_text())
    assert table["machine"]["cpu"]
    assert table["machine"]["versions"]["numpy"] == np.__version__
    (call,) = table["calls"]
    assert call["command"].startswith("python -m tests.benchmarks gpu-all --quick")
    assert str(tiny) not in call["command"]
    for row in table["rows"]:
        assert set(row["runs"]) == {"gpu", "cupc-e", "cupc-s"}
        digests = {run["answer"] for run in row["runs"].values()}
        assert len(digests) == 1
        assert all(len(run["repeats"]) >= 5 for run in row["runs"].values())
    scale = json.loads((out / "scaling.json").read_text())
    assert {r["kind"] for r in scale["rows"]} == {"paper", "standardised"}
    assert len(scale["rows"]) == 3 * 2 * 3  # graphs, generators, different points
    assert all(len(r["answers"]) == 3 and len(set(r["answers"].values())) == 1 for r in scale["rows"])
    report.write_all(out)
    text = (out / "BENCHMARKS.md").read_text()
    assert "| data set | engine | first call (ms) | whole call, median (ms) |" in text
    targets = [part.split(")")[0] for part in text.split("](")[1:]]
    pictures = [target for target in targets if target.endswith(".png")]
    assert len(pictures) >= 8
    for picture in pictures:
        assert (out / picture).stat().st_size > 5000, picture
    for name in ("gpu", "baselines", "configurations", "sharing", "scaling", "scaling-large"):
        assert f"{name}.json" in text


def test_resume_adds_what_is_missing_and_keeps_what_is_there(tiny):
    words = ["scaling", "--quick", "--data", str(tiny), "--out", str(tiny), "--generators", "paper"]
    assert menu.main([*words, "--sweeps", "n", "--graphs", "1", "--engines", "gpu"]) == 0
    before = json.loads((tiny / "scaling.json").read_text())["rows"]
    assert [list(r["seconds"]) for r in before] == [["gpu"]] * len(before)
    assert menu.main([*words, "--resume", "--graphs", "2", "--engines", "gpu", "cupc-e"]) == 0
    after = json.loads((tiny / "scaling.json").read_text())
    assert len(after["calls"]) == 2
    assert {r["seed"] for r in after["rows"]} == {0, 1}
    for r in after["rows"]:
        assert set(r["seconds"]) == {"gpu", "cupc-e"}
    assert [r["seconds"]["gpu"] for r in after["rows"][: len(before)]] == [r["seconds"]["gpu"] for r in before]


def test_the_gpu_table_measured_again_keeps_the_peers(tiny):
    words = ["gpu", "--quick", "--data", str(tiny), "--out", str(tiny), "--sets", "std_40_3_200", "--engines", "gpu"]
    assert menu.main(words) == 0
    table = record.read(tiny, "gpu")
    table["rows"][0]["runs"]["gpucsl"] = {"seconds": [1.0]}
    first = table["rows"][0]["runs"]["gpu"]["repeats"]
    record.write(table, tiny)
    assert menu.main([*words, "--resume"]) == 0
    (row,) = record.read(tiny, "gpu")["rows"]
    assert row["runs"]["gpucsl"] == {"seconds": [1.0]}
    assert row["runs"]["gpu"]["repeats"] != first


def test_parts_run_side_by_side_are_merged(tiny):
    words = ["scaling", "--quick", "--data", str(tiny), "--engines", "gpu", "--generators", "standardised"]
    one, two, three = (tiny / name for name in ("one", "two", "three"))
    assert menu.main([*words, "--out", str(one), "--graphs", "2"]) == 0
    assert menu.main([*words, "--out", str(two), "--first", "1", "--graphs", "2", "--variables", "30"]) == 0
    rows, new = record.read(one, "scaling")["rows"], record.read(two, "scaling")["rows"]
    assert [(r["p"], r["seed"]) for r in new] == [(30, 1), (30, 2)]
    assert menu.main(["merge", "--out", str(one), "--add", str(two)]) == 0
    both = record.read(one, "scaling")
    assert len(both["calls"]) == 2
    assert both["rows"] == [new[0] if (r["p"], r["seed"]) == (30, 1) else r for r in rows] + new[1:]
    assert menu.main(["merge", "--out", str(three), "--add", str(one), str(two)]) == 0
    assert record.read(three, "scaling") == both
    with pytest.raises(SystemExit, match="no point of these sweeps has 7 variables"):
        menu.main([*words, "--out", str(three), "--variables", "7"])


def test_engines_of_one_graph_are_merged(tiny):
    words = ["scaling", "--quick", "--data", str(tiny), "--generators", "standardised", "--graphs", "1"]
    one, two = tiny / "one", tiny / "two"
    assert menu.main([*words, "--out", str(one), "--engines", "gpu", "cupc-e"]) == 0
    assert menu.main([*words, "--out", str(two), "--engines", "gpu-plain", "gpu"]) == 0
    assert menu.main(["merge", "--out", str(one), "--add", str(two)]) == 0
    row, new = record.read(one, "scaling")["rows"][0], record.read(two, "scaling")["rows"][0]
    assert row["seconds"].keys() == {"gpu", "gpu-plain", "cupc-e"}
    assert row["seconds"]["gpu"] == new["seconds"]["gpu"]
    new["answers"]["gpu"] = "another"
    record.write({**record.read(two, "scaling"), "rows": [new]}, two)
    with pytest.raises(SystemExit, match="gpu gives the answer another, not"):
        menu.main(["merge", "--out", str(one), "--add", str(two)])


def test_results_of_two_machines_do_not_mix(tiny, monkeypatch):
    words = ["scaling", "--quick", "--data", str(tiny), "--out", str(tiny), "--sweeps", "n", "--graphs", "1"]
    assert menu.main(words) == 0
    facts = record.machine()
    monkeypatch.setattr(record, "machine", lambda: {**facts, "cpu": "another"})
    with pytest.raises(SystemExit, match="another"):
        menu.main([*words, "--resume"])
    other = tiny / "other"
    assert menu.main([*words, "--out", str(other)]) == 0
    with pytest.raises(SystemExit, match="merge: .*another"):
        menu.main(["merge", "--out", str(tiny), "--add", str(other)])


def test_what_cannot_be_resumed_says_so(tiny, capsys):
    with pytest.raises(SystemExit):
        menu.main(["baselines", "--resume", "--out", str(tiny)])
    names = "cpu, gpu, configurations, scaling, gpu-peers, discrete, discrete-gpu, stability"
    assert f"--resume is for {names}, got baselines" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        menu.main(["gpu-peers", "--out", str(tiny)])
    assert "gpu-peers needs --peer-path, --cupc-library or both" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        menu.main(["merge", "--out", str(tiny)])
    assert "merge needs --add FOLDER" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="nowhere holds no raw file"):
        menu.main(["merge", "--out", str(tiny), "--add", str(tiny / "nowhere")])
    with pytest.raises(SystemExit, match="run the experiment gpu first"):
        menu.main(["gpu-peers", "--peer-path", str(tiny), "--out", str(tiny)])


def test_a_stopped_sweep_says_where(tiny, monkeypatch):
    def stop(w, engine, limit=None):
        raise runs.TooSlow(limit, {"level": 4, "tests_at_most": 3 * 10**12, "edges_left": 77})

    monkeypatch.setattr(runs, "once", stop)
    words = ["scaling", "--quick", "--data", str(tiny), "--out", str(tiny), "--sweeps", "n", "--generators", "paper"]
    assert menu.main([*words, "--engines", "gpu", "cupc-e", "--limit", "7", "--graphs", "6"]) == 0
    rows = json.loads((tiny / "scaling.json").read_text())["rows"]
    assert all(r["seconds"] == {"gpu": None} for r in rows)  # the others are not tried then
    assert [r["seed"] for r in rows] == [0, 0, 1, 1, 2, 2, 3, 3]  # two points; after four graphs a point is given up
    report.write_all(tiny)
    assert "> 7,000 (0 of 4; stopped at level 4, which may need 3e+12 tests)" in (tiny / "BENCHMARKS.md").read_text()


def test_a_longer_limit_tries_again_what_a_shorter_one_stopped(tiny, monkeypatch):
    real, times = runs.once, {"stops": True}

    def slow(w, engine, limit=None):
        if times["stops"]:
            raise runs.TooSlow(limit, {"level": 4, "tests_at_most": 10, "edges_left": 7})
        return real(w, engine)

    monkeypatch.setattr(runs, "once", slow)
    words = ["scaling", "--quick", "--data", str(tiny), "--out", str(tiny), "--sweeps", "n", "--generators", "paper"]
    words += ["--engines", "gpu", "--graphs", "1"]

    def rows():
        return json.loads((tiny / "scaling.json").read_text())["rows"]

    assert menu.main([*words, "--limit", "7"]) == 0
    times["stops"] = False
    assert menu.main([*words, "--limit", "7", "--resume"]) == 0
    assert all(r["seconds"] == {"gpu": None} and r["stopped_at"]["gpu"]["limit"] == 7 for r in rows())
    assert menu.main([*words, "--limit", "8", "--resume"]) == 0
    assert all(r["seconds"]["gpu"] > 0 and r["stopped_at"] == {} for r in rows())


def test_cpu_experiment(tmp_path):
    folders = ["--data", str(tmp_path), "--out", str(tmp_path)]
    what = ["--threads", "1", "--engines", "cpu", "reference", "--sets", "std_40_3_200"]
    assert menu.main(["cpu", "--quick", *folders, *what]) == 0
    (row,) = json.loads((tmp_path / "cpu.json").read_text())["rows"]
    assert row["runs"]["cpu"]["peak_bytes"] < row["runs"]["cpu"]["memory_allowed_bytes"]
    assert row["runs"]["reference"]["differs"] == {}
    assert row["runs"]["cpu"]["start_up"] > 0
