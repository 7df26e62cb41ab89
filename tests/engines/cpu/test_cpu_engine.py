"""The CPU engine around its tests: small problems, progress, Ctrl-C, memory."""

import signal
import subprocess
import sys
import threading
import time
from math import comb

import numpy as np
import pytest
from common import assert_same, gaussian_test, take
from pruning_problems import random_correlations

import pycupc
from pycupc.engines.cpu import cpu_engine as cpu
from pycupc.engines.cpu import gaussian, level0, threads
from pycupc.graph.pairs import Pairs
from pycupc.independence.gaussian.suffstat import MatrixFacts
from pycupc.system import jit


@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
def test_plain_python_makes_the_tests_of_small_problems_as_compiled_code_does(monkeypatch):
    """Level 1 and the passes over neighbour lists: the same bits, with copies and ties among the variables."""
    for seed in range(24):
        rng = np.random.default_rng((11, seed))
        C, n = random_correlations(rng)
        stat, alpha = {"C": C[:18, :18], "n": n}, float(rng.choice([0.01, 0.05, 0.3]))
        fixed = np.eye(len(stat["C"]), k=1) > 0 if seed % 3 == 0 else None
        fits = []
        for most in (-1, 10**12):
            monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", most)
            how = {"alpha": alpha, "engine": "cpu", "fixedEdges": None if fixed is None else fixed | fixed.T}
            fits.append(pycupc.pc(stat, **how))
        assert_same(*fits)
        np.testing.assert_array_equal(fits[0].pMax, fits[1].pMax)
        assert [s.n_careful for s in fits[0].levels] == [s.n_careful for s in fits[1].levels]


def test_progress_is_told_and_may_interrupt():
    suff_stat = pycupc.SuffStat(np.full((80, 80), 0.9) + 0.1 * np.eye(80), 10**7)  # no edge ever goes
    seen = []

    def stop(level, done, at_most, edges):
        seen.append((level, done, at_most, edges))
        if level >= 3:
            raise KeyboardInterrupt

    with pytest.raises(pycupc.Interrupted, match="levels 0 to . had finished") as caught:
        pycupc.skeleton(suff_stat, engine="cpu", progress=stop)
    partial = caught.value.partial
    assert partial.max_ord == seen[-1][0] - 1
    whole = pycupc.skeleton(suff_stat, engine="cpu", m_max=partial.max_ord)
    np.testing.assert_array_equal(partial.skeleton, whole.skeleton)
    assert partial.sepset == whole.sepset
    with pytest.raises(pycupc.Interrupted) as caught:
        pycupc.pc(suff_stat, engine="cpu", progress=stop)
    assert not caught.value.partial.oriented
    assert "CPDAG" not in caught.value.partial.summary()


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_in_the_middle_of_a_level():
    code = """
import numpy as np, pycupc
complete = lambda p: {"C": np.full((p, p), 0.9) + 0.1 * np.eye(p), "n": 10**7}  # no edge ever goes
s = complete(250)  # level 2 takes half a minute, levels 0 and 1 less than a second
options = {"engine": "cpu", "numCores": 1, "engine_options": {"pruning": False}}
pycupc.skeleton(complete(20), m_max=2, **options)  # compiled
print("ready", flush=True)
try:
    pycupc.skeleton(s, **options)
except KeyboardInterrupt as error:
    print("stopped", error.partial.max_ord, flush=True)
print("works", pycupc.skeleton(s, m_max=1, engine="cpu").max_ord, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(600, process.kill)
        watchdog.start()
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        rest = process.stdout.read()
        watchdog.cancel()
    assert line.startswith("stopped ")
    assert rest == "works 1\n"


def test_a_level_that_does_not_fit_memory_is_refused_before_it_starts(monkeypatch):
    engine = take(cpu.CpuEngine(1), gaussian_test(np.full((200, 200), 0.5) + 0.5 * np.eye(200), 100, 0.01))
    engine.run_level(0)
    monkeypatch.setattr(cpu, "SURELY_FREE", 0)
    monkeypatch.setattr(cpu, "free_memory", lambda: 10**5)
    with pytest.raises(pycupc.EngineError, match=r"level 3 needs 0.0 GB .*variable 0 has 199 neighbours.*numCores"):
        engine.run_level(3)


def test_a_problem_that_does_not_fit_memory_is_refused(monkeypatch):
    monkeypatch.setattr(cpu, "free_memory", lambda: 100)
    with pytest.raises(pycupc.EngineError, match="5 variables need about .* on engine 'cpu' and 0.0 GB are free"):
        pycupc.skeleton(np.random.default_rng(0).standard_normal((50, 5)), engine="cpu")
    assert not len(pycupc.skeleton({"C": np.eye(5), "n": 50}, engine="cpu").sparse_graph)  # C is there already


def test_a_problem_that_turns_out_dense_is_refused_as_soon_as_that_is_known(monkeypatch):
    dense = {"C": np.full((200, 200), 0.5) + 0.5 * np.eye(200), "n": 100}
    sparse = {"C": np.eye(200), "n": 100}
    monkeypatch.setattr(level0, "SURELY_FREE", 0)
    monkeypatch.setattr(cpu, "SURELY_FREE", 0)
    monkeypatch.setattr(level0, "free_memory", lambda: 200_000)
    with pytest.raises(pycupc.EngineError, match=r"level 0 leaves 19,900 edges among 200 .*smaller alpha"):
        pycupc.skeleton(dense, engine="cpu")
    pycupc.skeleton(sparse, engine="cpu")
    monkeypatch.setattr(level0, "free_memory", lambda: 2**62)
    for free in (2_000_000, 2_700_000):  # level 1 takes 64 bytes for each of 39,800 pairs, and 40 more if it stays
        monkeypatch.setattr(cpu, "free_memory", lambda free=free: free)
        with pytest.raises(pycupc.EngineError, match=r"level 1 needs .* 19,900 edges .* set m_max to 0 or less"):
            pycupc.skeleton(dense, engine="cpu", alpha=1)
    monkeypatch.setattr(cpu, "free_memory", lambda: 2**62)
    assert len(pycupc.skeleton(dense, engine="cpu", alpha=1, m_max=1).sparse_graph) == 19_900


def test_running_out_of_memory_is_an_engine_error(monkeypatch):
    def run_out(*_):
        raise MemoryError("Unable to allocate 137. MiB")

    monkeypatch.setattr(cpu.CpuEngine, "run_level", run_out)
    with pytest.raises(pycupc.EngineError, match=r"out of memory at level 0 of 5 .*137. MiB\); take a smaller alpha"):
        pycupc.skeleton({"C": np.eye(5), "n": 50}, engine="cpu")


@pytest.fixture(params=[1, 3])
def in_small_parts(request, monkeypatch):
    monkeypatch.setattr(threads, "INLINE_TESTS", 0)
    monkeypatch.setattr(threads, "PART_ENTRIES", 100)
    return request.param


@pytest.mark.parametrize("masked", [False, True])
def test_level_0_decides_as_the_cell_above_the_diagonal(in_small_parts, masked):
    rng, p, cutoff = np.random.default_rng(0), 70, 0.3
    C = np.clip(rng.normal(0, 0.3, (p, p)), -1, 1)
    C = np.triu(C, 1) + np.triu(C, 1).T + np.eye(p)
    near = np.triu(rng.random((p, p)) < 0.05, 1)
    C[near], C.T[near] = -cutoff * (1 + 1e-8), -cutoff * (1 - 1e-8)
    C[10, 20] = C[20, 10] = cutoff
    C[:, 7] = C[7] = np.nan
    upper = np.triu(np.abs(C) > cutoff, 1)
    some = [np.triu(rng.random((p, p)) < 0.1, 1) for _ in range(2)]
    gaps, fixed = (Pairs.of_matrix(mask | mask.T) if masked else None for mask in some)
    if masked:
        upper = (upper | some[1]) & ~some[0]
    graph = level0.level0(C, 50, cutoff, gaps, fixed, in_small_parts)
    x, y = np.nonzero(upper | upper.T)
    np.testing.assert_array_equal(graph.rows(), x)
    np.testing.assert_array_equal(graph.neighbours, y)
    assert graph.neighbours.dtype == np.int32


@pytest.mark.parametrize("fault", ["none", "unlike", "large", "nan", "mirrored nan", "diagonal", "last"])
def test_the_inspection_finds_any_fault(in_small_parts, fault):
    C = np.full((150, 150), 0.5) + 0.5 * np.eye(150)
    i, j = (148, 149) if fault == "last" else (3, 130)
    if fault == "large":
        C[i, j] = C[j, i] = 1.1
    elif fault == "diagonal":
        C[140, 140] = 1.01
    elif fault != "none":
        at = (j, i) if fault.startswith("mirrored") else (i, j)
        C[at] = 0.5 + 3e-8 if fault in ("unlike", "last") else np.nan
    facts, want = level0.inspect(C, in_small_parts), MatrixFacts.of(C)
    assert str(facts) == str(want)
    assert (facts.asymmetric, facts.out_of_range, facts.bad_diagonal) == (
        {"unlike": (i, j), "nan": (i, j), "mirrored nan": (i, j), "last": (i, j)}.get(fault),
        (i, j) if fault == "large" else None,
        140 if fault == "diagonal" else None,
    )


@pytest.mark.parametrize("threads_used", [1, 3])
def test_work_spaces_are_found_again_at_later_levels(threads_used, monkeypatch):
    made, make = [], gaussian.work_space
    cpu._load(2)  # which makes its own

    def counted(kind, **lengths):
        made.append((kind, lengths["t"]))
        return make(kind, **lengths)

    monkeypatch.setattr(gaussian, "work_space", counted)
    for module in (gaussian, threads):
        monkeypatch.setattr(module, "INLINE_TESTS", 0)
    suff_stat = pycupc.SuffStat(np.full((16, 16), 0.9) + 0.1 * np.eye(16), 10**7)  # no edge ever goes
    fit = pycupc.skeleton(suff_stat, engine="cpu", m_max=9, numCores=threads_used, engine_options={"pruning": False})
    assert fit.n_edgetests[9] == 240 * comb(14, 9)
    walks = [t + 1 for kind, t in made if kind is gaussian.WalkWork]
    assert set(walks) == {4, 8, 12}
    assert all(walks.count(t) <= threads_used for t in (4, 8, 12))
