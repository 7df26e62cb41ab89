"""Small parts of the core: cutoffs, subsets, separating sets, results, evidence, files, custom tests, interrupts."""

import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import gaussian_test, golden_case, refused, take

import pycupc
from pycupc.engines import subsets
from pycupc.engines.cpu import cpu_engine as cpu
from pycupc.engines.cpu import level0
from pycupc.graph.removals import Removals
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian import fisher_z, tolerances
from pycupc.independence.gaussian.correlations import Correlations
from pycupc.independence.gaussian.p_values import GaussianPValues


@pytest.mark.parametrize("n", [9, 47, 1000, 10**6])
@pytest.mark.parametrize("alpha", [1e-300, 1e-8, 0.01, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("level", [0, 1, 4])
def test_cutoff_is_where_p_crosses_alpha(n, alpha, level):
    cut = fisher_z.cutoff(alpha, n, level)
    df = n - level - 3
    if math.isinf(cut):
        assert fisher_z.p_value_of(tolerances.R_MAX, df) >= alpha
        return
    assert fisher_z.p_value_of(cut, df) >= alpha > fisher_z.p_value_of(math.nextafter(cut, 1), df)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_an_effective_sample_size_decides_and_is_saved(engine, tmp_path):
    case = golden_case("er_p10_n100")
    C, x, y = np.eye(2), 0, 1
    C[x, y] = C[y, x] = r = 0.3
    n_at = (1.959963984540054 / math.atanh(r)) ** 2 + 3  # where p is 0.05
    fits = [pycupc.skeleton({"C": C, "n": n}, alpha=0.05, engine=engine) for n in (n_at - 0.01, n_at + 0.01)]
    kept = [len(fit.sparse_graph) for fit in fits]
    assert kept == [0, 1]
    fit = pycupc.pc(pycupc.SuffStat(case.C, 57.25), alpha=0.05, engine=engine)
    fit.save(tmp_path / "fit.npz")
    loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    assert loaded.n == fit.n == 57.25
    assert "57.25 observations" in loaded.summary()
    np.testing.assert_array_equal(loaded.pMax, fit.pMax)
    assert pycupc.SuffStat(case.C, 57.0).n == 57


def test_a_p_value_does_not_depend_on_how_many_are_computed():
    z = np.abs(np.random.default_rng(0).normal(0, 4, (350, 300)))
    compiled, one_by_one = fisher_z.z_to_p(z), np.concatenate([fisher_z.z_to_p(rows) for rows in np.vsplit(z, 2)])
    np.testing.assert_array_max_ulp(compiled, one_by_one, 0 if sys.version_info >= (3, 11) else 4)
    np.testing.assert_array_equal(fisher_z.z_to_p(z.T), compiled.T)
    assert fisher_z.z_to_p(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(("p", "ulps"), [(20, 2000), (450, 0 if sys.version_info >= (3, 11) else 4)])
def test_the_p_values_of_all_pairs_are_those_of_the_tests(p, ulps):
    """Also of NaN, of correlations beyond the clip, and without degrees of freedom; of few variables by NumPy."""
    rng, n = np.random.default_rng(1), 7.5
    C = np.triu(rng.uniform(-1, 1, (p, p)), 1)
    C[0, :4] = np.nan, -np.nan, -1.0, 1.0
    C = C + C.T
    graph, none = SparseGraph.from_dense(np.zeros((p, p), dtype=np.int8)), np.zeros((0, 2), dtype=np.int32)
    found = GaussianPValues(graph, Removals(), none, np.zeros(0), n, Correlations(C)).dense()
    want, off = np.vectorize(fisher_z.p_value_of)(C, n - 3), ~np.eye(p, dtype=bool)
    np.testing.assert_array_max_ulp(found[off], want[off], ulps)


def test_a_signalling_nan_as_of_r_gives_no_warning(recwarn):
    missing = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)
    assert fisher_z.p_value(missing, 100, 0) == 1
    assert not recwarn.list


def test_cutoff_without_degrees_of_freedom_calls_everything_independent():
    assert fisher_z.cutoff(0.05, 5, 2) == fisher_z.cutoff(0.05, 4, 2) == fisher_z.cutoff(0.0, 1000, 0) == math.inf


def test_gauss_ci_test_by_hand():
    C = np.array([[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]])
    r = (0.5 - 0.3 * 0.4) / math.sqrt((1 - 0.3**2) * (1 - 0.4**2))
    p = math.erfc(math.sqrt(50 - 4) * math.atanh(r) / math.sqrt(2))
    assert pycupc.gaussCItest(0, 1, [2], {"C": C, "n": 50}) == pytest.approx(p, rel=1e-12)
    assert pycupc.gaussCItest(0, 1, [2], pycupc.SuffStat(C, 50)) == pytest.approx(p, rel=1e-12)


def test_large_numbers_of_sets_saturate_or_are_exact():
    table = subsets.binomial_table(100, 50)
    assert table[60, 30] == math.comb(60, 30)
    assert table[100, 50] == subsets.MAX_RANK
    assert (table >= 0).all()
    degrees = np.array([200, 200, 3])
    assert subsets.level_tests(degrees, degrees, 100) == 2 * 200 * math.comb(199, 100)


def small_fit(**kwargs):
    case = golden_case("er_p60_n500")
    return case, pycupc.pc(case.suff_stat, **{**case.arguments, **kwargs})


def test_sepset_rows_cells_and_pairs():
    case, fit = small_fit()
    cells = case.cells()
    assert {(x, y): fit.sepset[x][y] for x in range(60) for y in range(60) if fit.sepset[x][y] is not None} == cells
    assert [fit.sepset.get(x, y) for x, y in cells] == list(cells.values())
    (x, y), S = next((key, S) for key, S in cells.items() if len(S) == 2)
    assert fit.sepset.of_pair(y, x) == S
    with pytest.raises(IndexError):
        fit.sepset[60]
    with pytest.raises(IndexError):
        fit.sepset[0][60]


def test_why_tells_the_separating_test():
    case, fit = small_fit()
    for (x, y), S in list(case.cells().items())[::40]:
        why = fit.why(x, y)
        assert (why.status, why.level, why.side) == ("removed", len(S), "A" if x < y else "B")
        assert tuple(fit.labels[s] for s in S) == why.S
        assert why.p == pytest.approx(case.pMax[x, y], rel=1e-6)
        assert why.p == pytest.approx(pycupc.gaussCItest(x, y, S, case.suff_stat), rel=1e-6)
        assert abs(why.r) <= why.cutoff
        assert why.margin == pytest.approx(why.cutoff - abs(why.r))
        assert "independent" in str(why)
    x, y = np.argwhere(fit.skeleton)[0].tolist()
    kept = fit.why(fit.labels[y], fit.labels[x])
    assert kept.status == "kept"
    assert kept.p == pytest.approx(case.pMax[x, y], rel=1e-6)


def test_why_of_gaps_and_fixed_edges():
    case = golden_case("fixed_gaps_and_edges")
    fit = pycupc.skeleton(case.suff_stat, **case.arguments)
    gap = np.argwhere(np.triu(case.fixedGaps.astype(bool), 1))[0].tolist()
    edge = np.argwhere(np.triu(case.fixedEdges.astype(bool) & ~case.fixedGaps.astype(bool), 1))[0].tolist()
    assert fit.why(*gap).status == "gap"
    assert fit.why(*edge).status == "fixed"
    refused("there is no variable 'nobody'", fit.why, "nobody", 0)
    refused("must be different variables", fit.why, 1, 1)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_gaps_everywhere_leave_nothing_to_test(engine):
    fit = pycupc.pc({"C": np.eye(3), "n": 50}, fixedGaps=np.ones((3, 3), dtype=bool), engine=engine)
    assert (fit.max_ord, fit.n_edgetests) == (-1, [0])  # as pcalg says it
    assert not fit.graph.any()
    assert fit.sepset.cells() == {}
    assert fit.why(0, 1).status == "gap"


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_older_file_stays_if_the_new_one_cannot_be_written(tmp_path, monkeypatch, error):
    def fails(*_, **__):
        raise error

    _, fit = small_fit()
    fit.save(tmp_path / "fit.npz")
    before = (tmp_path / "fit.npz").read_bytes()
    for writes, name in ((np.lib.format, "write_array"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(writes, name, fails)
            with pytest.raises(type(error)):
                fit.save(tmp_path / "fit.npz")
        assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]
        assert (tmp_path / "fit.npz").read_bytes() == before


def test_custom_test_gets_what_it_was_given_and_NAdelete_decides():
    case = golden_case("er_p10_n100")
    calls = []

    def test(x, y, S, suff_stat):
        calls.append((x, y, S))
        return pycupc.gaussCItest(x, y, S, suff_stat)

    fit = pycupc.pc(case.suff_stat, test, alpha=float(case.alpha), p=10)
    np.testing.assert_array_equal(fit.graph, case.cpdag_relaxed)
    np.testing.assert_allclose(fit.pMax, case.pMax, rtol=1e-9)
    assert len(calls) == sum(fit.n_edgetests)
    assert "reference" in fit.engine
    nothing = pycupc.skeleton(None, lambda *_: math.nan, alpha=0.05, p=4)
    everything = pycupc.skeleton(None, lambda *_: math.nan, alpha=0.05, p=4, NAdelete=False)
    assert not nothing.skeleton.any()
    assert everything.skeleton.sum() == 12


def test_verbose_tells_each_level(caplog):
    with caplog.at_level("INFO", logger="pycupc"):
        small_fit(verbose=True)
    assert any(record.message.startswith("level 1: ") for record in caplog.records)


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
    with pytest.raises(pycupc.EngineError, match=r"level 0 leaves more than \d+,\d+ edges among 200 .*smaller alpha"):
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


def test_compiled_code_of_other_sources_is_thrown_away(tmp_path):
    from pycupc.system.jit import forget_stale_code

    cache, source = tmp_path / "cache", tmp_path / "source.py"
    cache.mkdir()
    source.write_text("1")
    for name in ("a.nbi", "a.1.nbc"):
        (cache / name).write_bytes(b"")
    assert forget_stale_code(cache, [source])  # compiled from who knows what
    assert not (cache / "a.nbi").exists()
    assert (cache / "a.1.nbc").exists()  # Numba overwrites it; only the index leads to it
    (cache / "b.nbi").write_bytes(b"")
    assert not forget_stale_code(cache, [source])
    assert (cache / "b.nbi").exists()
    source.write_text("2")
    assert forget_stale_code(cache, [source])
    assert not (cache / "b.nbi").exists()
    (cache / "pycupc-sources.sha256").write_bytes(b"\xff\xfe")  # a damaged stamp
    (cache / "b.nbi").write_bytes(b"")
    assert forget_stale_code(cache, [source])
    assert not (cache / "b.nbi").exists()
    assert not forget_stale_code(tmp_path / "missing", [source])


def test_stored_sets_by_row():
    rng, skeleton = np.random.default_rng(0), SparseGraph.undirected(9, *np.zeros((2, 0), dtype=np.int32))
    for k in range(300):
        cells = rng.permutation([(x, y) for x in range(9) for y in range(9) if x != y])[: k % 73]
        sets = [rng.integers(0, 9, size).tolist() for size in rng.choice([0, 1, 1, 1, 2, 3], len(cells))]
        x, y = cells.astype(np.int32).T
        members = np.array([b for members in sets for b in members], dtype=np.int32)
        given = FlatCells(x, y, np.array([len(members) for members in sets], dtype=np.int32), members)
        found = SepSets.from_flat(skeleton, given).flat()
        assert all(values.dtype == np.int32 for values in found)
        ends = np.cumsum(found.length)
        listed = zip(found.x, found.y, np.split(found.members, ends[:-1]) if len(ends) else [], strict=True)
        expected = sorted((a, b, s) for (a, b), s in zip(cells.tolist(), sets, strict=True))
        assert [(a, b, s.tolist()) for a, b, s in listed] == expected
