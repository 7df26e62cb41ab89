"""The GPU engines: pcalg's recorded answers, the CPU engine, themselves, and what happens when things go wrong.

pytest -m gpu tests/gpu
"""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from math import comb

import numpy as np
import pytest
from common import ROOT, assert_same, take
from gpu_on_host import compare_states, observations
from near_copies import assert_same_evidence, near_copies

import pycupc
from pycupc.engines.cpu import level0
from pycupc.engines.gpu import ALGORITHMS, GpuEngine, device, device_tuning, schur
from pycupc.engines.gpu import device_correlation as inspection
from pycupc.engines.protocol import EngineError
from pycupc.graph.pairs import Pairs
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.test import GaussianTest

NAMES = ("gpu", "cupc-e", "cupc-s")
#: Random problems with near copies; 1,000 of them are run once per change of a kernel.
NEAR_COPIES = int(os.environ.get("PYCUPC_NEAR_COPIES", "60"))
pytestmark = pytest.mark.gpu


def same(a, b) -> None:
    """Two results agree in everything that is decided, and in the p-values."""
    assert_same(a, b)
    np.testing.assert_allclose(a.pMax, b.pMax, rtol=1e-6, atol=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", NAMES)
def test_equals_pcalg(golden, engine):
    fit = pycupc.pc(golden.suff_stat, **golden.arguments, engine=engine)
    assert fit.n_edgetests == golden.n_edgetests.tolist()
    assert fit.max_ord == golden.max_ord
    np.testing.assert_array_equal(fit.skeleton, golden.skeleton)
    np.testing.assert_allclose(fit.pMax, golden.pMax, rtol=1e-6, atol=1e-14)
    if golden.cpdag_relaxed is not None:
        np.testing.assert_array_equal(fit.graph, golden.cpdag_relaxed)


def random_problem(seed: int) -> dict:
    """Small, awkward on purpose: few rows, duplicates, near collinearity, gaps and fixed edges."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(5, 60)), int(rng.integers(12, 400))
    X = rng.standard_normal((n, p)) @ (np.eye(p) + (rng.random((p, p)) < 2 / p) * rng.normal(0, 0.7, (p, p)))
    if seed % 3 == 0:
        X[:, 1] = X[:, 0]
    if seed % 4 == 1:
        X[:, 2] = X[:, 0] + X[:, 1] + 1e-7 * X[:, 2]
    out = {"suffStat": {"C": correlation(X), "n": n}, "alpha": float(rng.choice([0.01, 0.05, 0.2]))}
    out["suffStat"]["C"] = (out["suffStat"]["C"] + out["suffStat"]["C"].T) / 2
    if seed % 5 == 2:
        gaps, fixed = (np.triu(rng.random((p, p)) < q, 1) for q in (0.3, 0.05))
        out |= {"fixedGaps": gaps | gaps.T, "fixedEdges": fixed | fixed.T}
    return out


@pytest.mark.parametrize("seed", range(30))
def test_equals_the_cpu_engine(seed):
    problem = random_problem(seed) | {"m_max": 8.0}
    cpu = pycupc.pc(**problem, engine="cpu")
    for engine in NAMES:
        same(pycupc.pc(**problem, engine=engine), cpu)


@pytest.mark.parametrize("seed", range(NEAR_COPIES))
def test_near_copies(seed):
    """Also the p-values of tests whose r is clipped."""
    cpu = pycupc.skeleton(**near_copies(seed), engine="cpu")
    for engine in NAMES:
        fit = pycupc.skeleton(**near_copies(seed), engine=engine)
        assert_same(fit, cpu)
        assert_same_evidence(fit.pMax, cpu.pMax)


def gaussian(problem: dict) -> GaussianTest:
    return GaussianTest(pycupc.SuffStat(problem["suffStat"]["C"], problem["suffStat"]["n"]), 0.05)


def dense() -> dict:
    """Eleven levels, the first ones with rows of more than a hundred neighbours."""
    C = np.corrcoef(observations(0, 150, 2000, 0.2), rowvar=False)
    return {"suffStat": {"C": (C + C.T) / 2, "n": 2000}, "alpha": 0.01}


@pytest.mark.parametrize("ill", [False, True])
@pytest.mark.parametrize("bounds", [(24, 32, 64, 96, 160), (3, 4, 5, 6, 7), (6, 8, 12, 20, 60), (8, 10, 90, 100, 140)])
def test_every_class_of_rows_and_kernel_gives_the_same_answer(monkeypatch, bounds, ill):
    """Also the kernels for ill-conditioned data, on all data, sound or not."""
    monkeypatch.setattr(device_tuning, "BOUNDS", bounds)
    if ill:
        monkeypatch.setattr(device_tuning, "ILL_SHARE", -1.0)
    for problem in (dense(), *(random_problem(seed) | {"m_max": 8.0} for seed in range(0, 30, 3))):
        same(pycupc.pc(**problem, engine="gpu"), pycupc.pc(**problem, engine="cpu"))


@pytest.mark.filterwarnings("ignore")
def test_singular_data_take_the_kernels_made_for_them(monkeypatch):
    """Variables that are copies of one another to within rounding: most tests are doubtful, on every engine."""
    rng, p, n = np.random.default_rng(11), 150, 2000
    A = np.tril((rng.random((p, p)) < 0.5) * rng.uniform(0.1, 1, (p, p)), -1)
    X = rng.standard_normal((n, p))
    for i in range(p):
        X[:, i] += X[:, :i] @ A[i, :i]
    C = correlation(X)
    C = (C + C.T) / 2
    used = []
    choose = schur.choose
    monkeypatch.setattr(schur, "choose", lambda *args: used.append(args[5]) or choose(*args))
    problem = {"suffStat": {"C": C, "n": n}, "alpha": 0.05}
    fits = [pycupc.pc(**problem, engine=engine) for engine in ("cpu", *NAMES)]
    assert any(used)
    for fit in fits[1:]:
        same(fit, fits[0])


@pytest.mark.parametrize("bounds", [(24, 32, 64, 96, 160), (3, 4, 5, 6, 7)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compiling_for_a_level_leaves_nothing_to_compile_in_it(monkeypatch, algorithm, bounds):
    monkeypatch.setattr(device_tuning, "BOUNDS", bounds)
    engine = GpuEngine(algorithm)
    monkeypatch.setattr(engine.device.kernels, "loaded", {})
    monkeypatch.setattr(engine.device, "_binom", None)
    monkeypatch.setattr(engine.device, "_tables", {})
    take(engine, gaussian(dense()))
    more, level = True, 0
    while more:
        engine._compile(level)
        before = set(engine.device.kernels.loaded)
        more = engine._run(level).more
        assert set(engine.device.kernels.loaded) == before, level
        level += 1
    assert level > 3
    engine.close()


@pytest.mark.parametrize("engine", NAMES)
def test_progress_within_a_level(monkeypatch, engine):
    """Real, monotone, and in tests of the level's upper bound, the number that the cpu engine reports too."""
    p, top = 300, 3 if engine == "gpu" else 2
    C = np.full((p, p), 0.5)  # no pair ever separates: every test of the upper bound is made
    np.fill_diagonal(C, 1.0)
    monkeypatch.setattr(device_tuning, "TICK", 0.005)
    calls_of: dict[int, list[tuple[int, int]]] = {}

    def progress(level: int, done: int, at_most: int, edges: int) -> None:
        assert edges == p * (p - 1) // 2
        calls_of.setdefault(level, []).append((done, at_most))

    fit = pycupc.skeleton({"C": C, "n": 100_000}, alpha=0.3, m_max=top, engine=engine, progress=progress)
    for level, calls in calls_of.items():
        done = [d for d, _ in calls]
        assert {m for _, m in calls} == {p * (p - 1) * comb(p - 2, level)} == {fit.n_edgetests[level]}
        assert done == sorted(done)
        assert done[0] >= 0
        assert done[-1] <= calls[0][1]
    assert len({d for d, m in calls_of[top] if 0 < d < m}) > 3


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_edges_after_each_level(algorithm, gaps):
    """Edges and their smallest |z| are those of the cpu engine, from before level 0 on."""
    problem = random_problem(7 if gaps else 3)
    pairs = {"gaps": problem.get("fixedGaps"), "fixed": problem.get("fixedEdges")}
    pairs = {name: None if matrix is None else Pairs.of_matrix(matrix) for name, matrix in pairs.items()}
    assert (pairs["gaps"] is not None) == gaps
    compare_states(GpuEngine(algorithm), gaussian(problem), **pairs)


E, S = "cupc-e", "cupc-s"


@pytest.mark.parametrize(("engine", "one", "other"), [(E, 64, 1), (E, 1, 256), (E, 8, 8), (S, 32, 1), (S, 256, 7)])
def test_configurations(engine, one, other):
    options = dict(zip(("beta", "gamma") if engine == E else ("theta", "delta"), (one, other), strict=True))
    same(pycupc.pc(**dense(), engine=engine, engine_options=options), pycupc.pc(**dense(), engine="cpu"))


@pytest.mark.parametrize("engine", NAMES)
def test_ten_runs_are_identical(engine):
    first = pycupc.pc(**dense(), engine=engine)
    for _ in range(9):
        again = pycupc.pc(**dense(), engine=engine)
        same(again, first)
        np.testing.assert_array_equal(again.pMax[~first.skeleton], first.pMax[~first.skeleton])


@pytest.mark.parametrize(("n", "p"), [(2, 2), (3, 5), (200, 70), (17, 129), (20, 257), (1000, 300)])
def test_correlations_of_data_have_the_bits_of_the_cpu(n, p):
    """Whatever the scale, the memory layout, and with constant columns, copies, mirror images."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p)) * np.logspace(-3, 6, p) + 1e4
    if p > 20:
        X[:, 5], X[:, 6] = 2.5, 0.1
        X[:, [9, p - 1]], X[:, 11] = X[:, [8]], -X[:, 8]
        X[:, 12], X[:, 13], X[:, 14] = X[:, 12] * 1e250, X[:, 13] * 1e-250, 1e9 + X[:, 14] * 1e-9
    C = correlation(X)
    for table in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(GpuEngine().correlation(table), C)
    np.testing.assert_array_equal(C, C.T)


@pytest.mark.parametrize("seed", range(200))
def test_correlations_have_the_bits_of_the_cpu_whatever_the_data(seed):
    """n from 2 to 5,000, about the ends of groups and blocks; float32; offsets up to 1e15, sums, constant columns."""
    rng = np.random.default_rng((seed, 5))
    n = int(rng.choice([rng.integers(2, 10), 64 * rng.integers(1, 5) + rng.integers(-5, 6), rng.integers(2, 5001)]))
    p = int(rng.integers(2, 40 if n > 1000 else 200))
    X = rng.integers(0, rng.integers(2, 9), (n, p)).astype(float) if seed % 2 else rng.standard_normal((n, p))
    X = X * 10.0 ** rng.uniform(-3, 3, p) if seed % 3 == 0 else X + rng.choice([0.0, 1e6, 1e15], p)
    X[:, rng.integers(p)], X[:, rng.integers(p)] = X[0, 0], 1 - X[:, 0]
    X[:, rng.integers(p)] = X.sum(axis=1)
    X[:, rng.integers(p)] *= rng.choice([1.0, 1e200, 1e-200])
    X = X if seed % 5 else X.clip(-1e30, 1e30).astype(np.float32)
    layouts = (np.ascontiguousarray(X), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2])
    C = correlation(X.astype(np.float64))
    np.testing.assert_array_equal(GpuEngine().correlation(layouts[seed % 3]), C)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", NAMES)
def test_data_go_to_the_device_and_give_the_answer_of_their_correlations(monkeypatch, engine):
    """No p x p matrix is computed on the host or sent, until somebody asks for what needs it."""
    X = np.random.default_rng(4).standard_normal((60, 700))
    X[:, 1:] += 0.6 * X[:, :-1]
    X[:, 17] = X[:, 3]
    data = pycupc.SuffStat.from_data(X)
    fit = pycupc.pc(data, alpha=0.01, engine=engine)
    assert not data.has_C
    X[:] = 0.0  # the caller's table is no longer needed
    assert fit.why(0, 300).p == fit.p_values.at(0, 300)
    same(fit, pycupc.pc({"C": data.C, "n": 60}, alpha=0.01, engine="cpu"))
    same(fit, pycupc.pc(data, alpha=0.01, engine=engine))
    careful = pycupc.pc(data, alpha=0.01, engine=engine, conservative=True)
    np.testing.assert_array_equal(careful.graph, pycupc.pc(data, alpha=0.01, engine="cpu", conservative=True).graph)


def test_side_b_of_level_1():
    """With ties, and with entries that differ from their mirrors in the last bits or more."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 90)) + 0.8 * rng.standard_normal((40, 1))
        X[:, 50:70] = X[:, :20] + 1e-3 * (seed % 3) * X[:, 50:70]
        C = correlation(X)
        C[np.triu_indices(90, 1)] *= 1 + np.array([0, 2e-16, 1e-12, 5e-9])[seed % 4]
        problem = {"suffStat": {"C": np.clip(C, -1, 1), "n": 40}, "alpha": 0.3, "m_max": 1.0}
        for engine in NAMES:
            same(pycupc.pc(**problem, engine=engine), pycupc.pc(**problem, engine="cpu"))


def test_inspection_finds_the_defects_that_the_cpu_engine_finds():
    rng, dev = np.random.default_rng(0), GpuEngine().device
    for fault in range(6):
        C = np.corrcoef(rng.standard_normal((100, 70)), rowvar=False)
        C = (C + C.T) / 2
        if fault == 1:
            C[40, 3] += 1e-6
        if fault == 2:
            C[40, 3] = C[3, 40] = -1.5
        if fault == 3:
            C[33, 33] = 2.0
        if fault == 4:
            C[7, :] = C[:, 7] = np.nan
        if fault == 5:
            C[9, 60] = np.nan
        with device.session(dev, lambda: None):
            found = inspection.launch_inspection(dev, dev.cp.asarray(C))
            dev.wait()
        (mine, _), theirs = inspection.inspected(found), level0.inspect(C, 2)
        np.testing.assert_array_equal(mine.nan_count, theirs.nan_count)
        assert mine.bad_diagonal == theirs.bad_diagonal
        assert (mine.asymmetric is None) == (theirs.asymmetric is None)
        assert (mine.out_of_range is None) == (theirs.out_of_range is None)


# -- faults ---------------------------------------------------------------------------------------------------------


def still_works() -> None:
    same(pycupc.pc(**dense(), engine="gpu"), pycupc.pc(**dense(), engine="cpu"))


def test_too_large_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr(GpuEngine, "memory", lambda self, test: (10 << 30, 1 << 30))
    with pytest.raises(EngineError, match="free"):
        pycupc.pc(**dense(), engine="gpu")
    monkeypatch.undo()
    still_works()


def test_out_of_memory_during_a_run():
    import cupy as cp

    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + (1 << 20))
    C = np.corrcoef(np.random.default_rng(0).standard_normal((50, 900)), rowvar=False)
    try:
        with pytest.raises(EngineError, match="out of device memory"):
            pycupc.pc({"C": C, "n": 50}, alpha=0.05, engine="gpu")
    finally:
        pool.set_limit(size=0)
    still_works()


def test_a_launch_that_fails_is_an_engine_error(monkeypatch):
    engine = GpuEngine()
    launch = engine.device.launch

    def too_many_threads(file, name, grid, block, args, shared=0):
        launch(file, name, grid, (2048,), args, shared)

    monkeypatch.setattr(engine.device, "launch", too_many_threads)
    with pytest.raises(EngineError, match="failed on"):
        pycupc.pc(**dense(), engine=engine)
    monkeypatch.undo()
    still_works()


def test_runs_in_several_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(5)
    tables = [rng.normal(size=(60, p)) @ (np.eye(p) + (rng.random((p, p)) < 4 / p)) for p in (40, 300, 700, 90)]
    alone = [pycupc.pc(X, alpha=0.05, engine="gpu") for X in tables]
    with ThreadPoolExecutor(3) as threads:
        runs = [threads.submit(pycupc.pc, tables[i % 4], alpha=0.05, engine="gpu") for i in range(60)]
        for i, run in enumerate(runs):
            same(run.result(), alone[i % 4])


def test_no_such_device():
    with pytest.raises(EngineError, match="CUDA device 77 does not exist"):
        GpuEngine(device=77)


def test_hidden_device_never_falls_back():
    code = "import numpy as np, pycupc; pycupc.pc({'C': np.eye(3), 'n': 50}, engine='gpu')"
    root = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": root},
    )
    assert done.returncode != 0
    assert "EngineError" in done.stderr
    assert "CUDA device" in done.stderr


def test_interrupt_in_the_middle_of_a_level():
    C = np.full((300, 300), 0.5)  # no pair ever separates: level 4 would take minutes
    np.fill_diagonal(C, 1.0)
    pycupc.pc(**dense(), engine="gpu")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in a process that runs in the background
    for engine in NAMES:
        sent = []

        def press(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(4.0, press)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            pycupc.pc({"C": C, "n": 100_000}, alpha=0.3, engine=engine)
        assert time.perf_counter() - sent[0] < 30, engine  # the level would take minutes
    still_works()


def test_bad_arguments():
    with pytest.raises(ValueError, match="algorithm must be one of schur, cupc-e, cupc-s"):
        GpuEngine("cupc")
    with pytest.raises(ValueError, match="beta must be a whole number"):
        GpuEngine("cupc-e", beta=0)
    with pytest.raises(ValueError, match="theta must be at most 256"):
        GpuEngine("cupc-s", theta=1024)
    assert set(ALGORITHMS) == {"schur", "cupc-e", "cupc-s"}
