"""The estimate: bounds before and after the first levels, the time of a run, the numbers that are shown."""

import sys
from math import comb

import numpy as np
import pytest
from benchmarks.generators import modules

import pycupc
from pycupc import cli
from pycupc.algorithm import estimate
from pycupc.algorithm.arguments import problem_of
from pycupc.algorithm.estimate import MANY_SETS, SHOWN, run_stages
from pycupc.algorithm.parameters import Arguments
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.engines.cpu import cpu_engine, level0_sieve
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.reference import ReferenceEngine
from pycupc.system import progress

P = 8
LABELS = [f"v{i}" for i in range(P)]


def problem():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, P))
    for i in range(1, P):
        X[:, i] += 0.8 * X[:, i - 1] + 0.4 * X[:, 0]
    return pycupc.SuffStat.from_data(X, LABELS)


def run(data, alpha, engine, progress=None, stages=None, method="pc", **arguments):
    """`run_stages` on the checked arguments of `pc`, or of another method."""
    given = {"suffStat": data, "alpha": alpha, "numCores": 1, "engine": engine, **arguments}
    problem = problem_of(Arguments(function=method, **given), progress)
    return run_stages(problem, **(stages or {}))


def mask(*pairs):
    out = np.zeros((P, P), dtype=bool)
    for i, j in pairs:
        out[i, j] = out[j, i] = True
    return out


def bounds(adjacent, fixed, first):
    """The definition: per ordered pair that is tested, the sets of each size among the other neighbours."""
    degree = adjacent.sum(axis=1)
    tested = adjacent & ~fixed
    out = []
    for level in range(first, first + SHOWN):
        if degree.max() - 1 < level:
            break
        out.append(sum(comb(int(degree[x]) - 1, level) for x, _ in np.argwhere(tested)))
    return tuple(out)


def discrete_problem(**how):
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 3, (500, P))
    for i in range(1, P):
        codes[:, i] = np.where(rng.random(500) < 0.5, codes[:, i - 1], codes[:, i])
    return DiscreteSuffStat(codes, labels=LABELS, adaptDF=how.pop("adaptDF", False), **how)


KINDS = {
    "gaussian": lambda: (problem(), {}),
    "discrete": lambda: (discrete_problem(), {"indepTest": disCItest}),
    "adaptDF": lambda: (discrete_problem(adaptDF=True), {"indepTest": disCItest}),
    "quirks": lambda: (discrete_problem(adaptDF=True), {"indepTest": disCItest, "quirks": True}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", [CpuEngine, ReferenceEngine])
@pytest.mark.parametrize("gaps", [None, [(0, 1), (2, 5), (2, 6)]])
@pytest.mark.parametrize("fixed", [None, [(0, 1), (0, 7), (3, 4)]])
def test_bounds_follow_from_the_graph_of_each_stage(kind, engine, gaps, fixed):
    data, how = KINDS[kind]()
    how |= {"fixedGaps": gaps and mask(*gaps), "fixedEdges": fixed and mask(*fixed)}
    estimate = run(data, 0.05, engine(), **how)
    fits = [pycupc.skeleton(data, alpha=0.05, engine="reference", m_max=m_max, **how) for m_max in (0, 1, np.inf)]
    assert (estimate.test, estimate.n, estimate.p) == (kind if kind == "gaussian" else "discrete", data.n, P)
    assert ("fewer than ten" in str(estimate)) == (kind != "gaussian") == ("pruning" not in str(estimate))
    assert [stage.level for stage in estimate.stages] == [-1, 0, 1]
    first = ~np.eye(P, dtype=bool) & ~mask(*(gaps or ()))
    for stage, adjacent in zip(estimate.stages, [first, *(fit.skeleton for fit in fits[:2])], strict=True):
        degree = adjacent.sum(axis=1)
        assert (stage.edges, stage.max_degree) == (degree.sum() // 2, degree.max())
        assert stage.most_tests == bounds(adjacent, mask(*(fixed or ())), stage.level + 1)
        if stage.level >= 0:
            assert stage.n_tests == fits[-1].n_edgetests[stage.level]
        for bound, made in zip(stage.most_tests, fits[-1].n_edgetests[stage.level + 1 :], strict=False):
            assert made <= bound


def test_other_kinds_of_data_are_estimated():
    x = np.random.default_rng(7).standard_normal((60, 3))
    found = run(pycupc.MixedTable.of(np.column_stack([x.astype(object), list("ab") * 30])), 0.05, "cpu")
    assert found.test == "mixed"
    assert "level 1" in str(found)


class Recorder(ReferenceEngine):
    def __init__(self):
        self.calls = []

    def _compile(self, level):
        self.calls.append(f"compile {level}")

    def _run(self, level):
        self.calls.append(f"run {level}")
        return super()._run(level)

    def close(self):
        self.calls.append("close")


def test_each_level_is_compiled_before_it_is_run_and_the_engine_is_closed():
    engine = Recorder()
    assert len(run(problem(), 0.05, engine).stages) == 3
    assert engine.calls == ["compile 0", "run 0", "compile 1", "run 1", "close"]
    engine = Recorder()
    assert len(run(problem(), 0.05, engine, stages={"last": -1}).stages) == 1
    assert engine.calls == ["close"]
    assert len(run(problem(), 0.05, Recorder(), stages={"last": 0}).stages) == 2


def test_a_table_has_one_column_per_stage():
    estimate = run(problem(), 0.05, ReferenceEngine())
    lines = str(estimate).splitlines()
    assert lines[0] == f"{P} variables, 200 observations, alpha 0.05, engine reference"
    assert lines[3].split("  ")[-1].strip() == "after level 1"
    assert next(line for line in lines if line.startswith("edges")).split()[1:] == [
        str(stage.edges) for stage in estimate.stages
    ]
    assert f"<= {estimate.stages[0].most_tests[3]:,}" in next(line for line in lines if line.startswith("level 3"))


def complete(p):
    """Correlations whose graph stays complete."""
    return pycupc.SuffStat(np.full((p, p), 0.9) + 0.1 * np.eye(p), 10**7)


def test_the_time_of_a_run_that_ends_during_the_trial():
    estimate = run(problem(), 0.05, CpuEngine(1), stages={"trial": 60})
    fit = pycupc.skeleton(problem(), alpha=0.05, engine="cpu")
    assert (estimate.trial.finished, estimate.trial.level) == (True, np.count_nonzero(fit.n_edgetests) - 1)
    assert 0 < estimate.trial.seconds < 60
    assert str(estimate).splitlines()[-1].startswith("Time: the tests take about ")
    assert [stage.level for stage in estimate.stages] == [-1, 0, 1]


def test_the_time_of_a_run_that_does_not_end_during_the_trial():
    told = []
    estimate = run(complete(25), 0.01, CpuEngine(1, False), lambda *now: told.append(now), {"trial": 0.2})
    found = estimate.trial
    assert not found.finished
    assert found.slow_level is None
    assert 0.2 < found.seconds <= found.most_seconds
    assert f"level {found.level} takes at most " in str(estimate)
    assert told[-1][0] == found.level


@pytest.mark.parametrize("p", [80, 150])
def test_a_run_that_may_not_finish_is_told_with_the_row_and_what_to_do(p):
    estimate = run(complete(p), 0.01, CpuEngine(1, False), stages={"trial": 0.2})
    found = estimate.trial
    assert found.slow_level > found.level
    words = str(estimate).splitlines()[-3:]
    assert words[0].startswith(f"This may not finish: level {found.slow_level} would take longer than a month")
    assert words[1] == f"1 has the most neighbours, {p - 1}."
    assert f"limit the sets to {found.slow_level - 1} (--m-max, m_max)" in words[2]


def test_a_run_that_will_not_finish():
    class Slow(Recorder):
        def _run(self, level):
            while level == 2:
                self._progress(2, 1, 10**12, 28)
            return super()._run(level)

    class Refusing(Recorder):
        def _run(self, level):
            if level == 2:
                raise pycupc.EngineError("level 2 cannot be run")
            return super()._run(level)

    for engine, words in (
        (Slow(), "at the speed measured here, level 2 takes at most "),
        (Refusing(), "level 2 cannot be"),
    ):
        estimate = run(complete(P), 0.05, engine, stages={"trial": 0.1})
        assert engine.calls[-1] == "close"
        assert (estimate.trial.slow_level, estimate.trial.busiest, estimate.trial.degree) == (2, "1", P - 1)
        lines = str(estimate).splitlines()[-3:]
        assert lines[0].startswith(f"This will not finish: {words}")
        assert "limit the sets to 1 " in lines[2]


def test_fixed_edges_are_not_tried():
    estimate = run(problem(), 0.05, CpuEngine(1), stages={"trial": 60}, fixedEdges=~mask())
    assert estimate.trial.finished


def test_many_variables_are_estimated_from_a_sample(monkeypatch):
    monkeypatch.setattr(cpu_engine, "SAMPLED_FROM", 1000)
    for module in (level0_sieve, sys.modules["pycupc.engines.cpu.cost_from_sample"]):
        monkeypatch.setattr(module, "SIEVE_TILE", 400)
    X, rows = modules(2000, 100, 0).T, {"correlations": "rows"}
    estimate = run(X, 1e-4, CpuEngine(1, **rows), stages={"trial": 2})
    fit = pycupc.skeleton(X, alpha=1e-4, m_max=0, engine="cpu")
    after_level_0 = estimate.stages[0]
    assert after_level_0.level == 0
    assert after_level_0.edges == pytest.approx(len(fit.sparse_graph), rel=0.2)
    assert after_level_0.n_tests == 2000 * 1999 // 2
    assert estimate.sampled == 400
    assert estimate.trial.finished
    assert estimate.trial.seconds > 0
    assert after_level_0.memory > 8 * X.size
    assert "level 0 was not run; edges, degrees, memory and time are estimates from 400 variables" in str(estimate)
    assert run(X, 1e-4, CpuEngine(1, correlations="dense")).sampled == 0


def latent(p, n=300, seed=2):
    """Data of a random graph of which every third variable is hidden."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for i in range(1, p):
        X[:, i] += X[:, :i] @ np.where(rng.random(i) < 2.4 / i, rng.uniform(0.5, 1, i), 0)
    return np.delete(X, np.arange(0, p, 3), axis=1)


def for_fci(data, method="fci", alpha=0.05, **arguments):
    return run(data, alpha, "cpu", stages={"trial": 2.0}, method=method, **arguments)


def test_the_sets_of_possible_d_sep():
    """Of a skeleton that was found: those of a plain loop over the pairs; `fci` makes no more tests than these."""
    data = latent(18)
    found = for_fci(data)
    fit = pycupc.fci(data, alpha=0.05, engine="cpu")
    near = fit.skeleton_fit.skeleton
    pairs, by_size = 0, [0] * 12
    for x, y in np.argwhere(near):
        T = [v for v in fit.all_pdsep[x].tolist() if v != y]
        inside = sum(near[x, v] for v in T)
        if inside < len(T):
            pairs += 1
            for size in range(len(T) + 1):
                by_size[size] += comb(len(T), size) - comb(inside, size)
    assert found.trial.finished
    assert found.after.pairs == pairs > 3
    assert list(found.after.by_size) == by_size[: found.after.largest + 1]
    assert found.after.total == sum(by_size)
    assert sum(fit.later.n_tests) <= found.after.total
    assert f"Possible-D-SEP: {pairs} ordered pairs" in str(found)
    assert "takes too long" not in str(found)
    assert found.as_dict()["after"]["total"] == found.after.total


def test_a_dense_graph_suggests_m_max_or_rfci():
    found = for_fci(latent(60, 2000), alpha=0.2)
    assert found.after.total > MANY_SETS
    assert "m_max=" in str(found)
    assert "--method rfci makes none of these tests" in str(found)
    of_rfci = for_fci(latent(18), "rfci")
    assert of_rfci.after is None
    assert "rfci makes a few tests for each triple" in str(of_rfci)


def test_tiers_leave_fewer_tests():
    data = latent(18)
    tiers = pycupc.Knowledge(tiers=[0] * 6 + [1] * 6)
    for method, function in (("pc", pycupc.pc), ("fci", pycupc.fci)):
        found = for_fci(data, method, tiers=tiers)
        options = {"selectionBias": False} if method == "fci" else {}
        fit = function(data, alpha=0.05, tiers=tiers, engine="cpu", **options)
        assert [stage.n_tests for stage in found.stages[1:]] == fit.n_edgetests[: len(found.stages) - 1]
        assert found.trial.finished


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (75, "1:15"), (7265, "2:01:05"), (1e7, "115 days")])
def test_clock(seconds, text):
    assert progress.clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999_999_999, "999,999,999"), (10**9, "1.00e09"), (12345 * 10**40, "1.23e44")]
)
def test_counts_are_short(value, text):
    assert estimate.count(value) == text


def test_sizes_are_short():
    assert estimate.size(5_000_000) == "5 MiB"
    assert estimate.size(3 * 2**30 + 2**29) == "3.5 GiB"


def test_command_line_with_method(tmp_path, capsys):
    file = tmp_path / "known.txt"
    file.write_text("/knowledge\naddtemporal\n1 V1 V2\n2 V*\n".replace("V*", " ".join(f"V{i}" for i in range(3, 9))))
    np.savetxt(
        tmp_path / "d.csv", problem().rows, delimiter=",", header=",".join(f"V{i + 1}" for i in range(P)), comments=""
    )
    assert cli.main(["estimate", str(tmp_path / "d.csv"), "--method", "fci", "--tiers", str(file)]) == cli.OK
    assert "Possible-D-SEP" in capsys.readouterr().out
