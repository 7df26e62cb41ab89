"""The sieve of level 0 and the levels on a matrix for each row (kernels/sieve/), on the host."""

import ctypes
import dataclasses
import shutil
from contextlib import nullcontext
from unittest import mock

import numpy as np
import pytest
from checkpoint_runs import cut_off
from checkpoint_runs import run as run_to_the_end
from common import assert_same, take
from gpu_on_host import (
    GRAPH_FILES,
    HostDevice,
    HostEngine,
    build,
    compare,
    compare_data,
    compare_states,
    library_of,
    loaded,
    observations,
)
from question_cases import compare_answers, counts, random_questions
from sieve_data import check_sieve, difficult, row_graph

import pycupc
from pycupc.algorithm import level_checkpoint as kept
from pycupc.engines import select
from pycupc.engines.cpu import tuning as cpu_tuning
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.gpu import (
    device_answers,
    device_largest_p_values,
    device_sieve,
    device_tuning,
    gpu_engine,
    hubs,
    on_cpu,
    schur,
    sharing,
)
from pycupc.engines.gpu import device_correlation as of_device
from pycupc.engines.gpu.devices import DevicesEngine, on_devices
from pycupc.engines.gpu.pruning import device_bounded_walk, device_branch_and_bound
from pycupc.engines.gpu.sharing import Member
from pycupc.engines.protocol import EngineError
from pycupc.graph.pairs import Pairs
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.test import GaussianTest

FILES = GRAPH_FILES | {
    "sieve/pick": ("round_columns", *(name for _, name in device_sieve.PICK.values())),
    "sieve/lists": (
        *("correlate_pairs", "count_pairs", "enter_pairs", "sort_rows"),
        *("row_matrices", "stripe_of_hub", "correlate_records"),
    ),
    "rows/graph/removals": ("settle", "finish"),
    "schur/level1_rows": ("level1_rows",),
    "rows/schur/sets": tuple(name for (_, ill), (_, name) in schur.SETS.items() if not ill),
    "rows/schur/tiles": (schur.TILES[False][1],),
    "schur/plan": ("plan_phases",),
    "rows/graph/share": ("choose_rows", "join_findings", "join_states"),
    "graph/share": ("choose_rows", "join_findings", "join_states"),
    "cupc/cupc_e": ("cupc_e<1>", "cupc_e<2>"),
    "schur/level1": ("level1",),
    "rows/pruning/delta": ("find_delta",),
    "rows/pruning/decided": ("settle_shared", "count_left", "enter_ranks"),
    "rows/pruning/bounded_walk": ("sound_rows", "try_walk<1>", "walk_rows<1>", "settle_walked"),
    "rows/pruning/search_pairs": ("search_pairs<2>",),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def library(folder):
    return build(folder, 256, FILES)


@pytest.fixture(scope="module")
def libraries(library, folder, tmp_path_factory):
    """Two copies, since each has the state of one running kernel."""
    return [library, loaded(shutil.copytree(folder, tmp_path_factory.mktemp("copy") / "kernels"), FILES)]


@pytest.fixture(scope="module")
def two(libraries):
    """An engine of two devices."""
    return DevicesEngine([HostEngine(own, correlations="rows") for own in libraries])


@pytest.fixture(scope="module")
def engine(library):  # one for all tests: its tables of subsets take two seconds
    return HostEngine(library, correlations="rows")


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(("n", "strength", "alpha", "levels"), [(60, 0.5, 0.3, 5), (300, 0.3, 0.05, 4)])
def test_the_answer_is_that_of_the_cpu(engine, monkeypatch, large, n, strength, alpha, levels):
    if large:  # rows of more than five neighbours are tested in tiles
        monkeypatch.setattr(device_tuning, "BOUNDS", (1, 2, 3, 4, 5))
    compare_data(engine, observations(0, 18, n, strength), alpha, levels)


@pytest.mark.parametrize("restricted", [False, True])
def test_states_between_levels(engine, restricted):
    rng, X = np.random.default_rng(0), observations(0, 18, 200, 0.5)
    some = {name: Pairs.of_matrix(rng.random((18, 18)) < 0.2) if restricted else None for name in ("gaps", "fixed")}
    compare_states(engine, GaussianTest(pycupc.SuffStat.from_data(X), 0.1), **some)


def test_doubtful_tests(engine, monkeypatch):
    monkeypatch.setattr(device_tuning, "ILL_SHARE", 1.0)  # the kernels for ill-conditioned data are the same ones
    X = observations(3, 14, 300, 0.5)
    X[:, 5] = X[:, 2] + 1e-6 * X[:, 5]
    X[:, 9] = X[:, 2] + X[:, 7] + 1e-6 * X[:, 9]
    compare_data(engine, X, 0.2, 4)


@pytest.mark.filterwarnings("ignore")
def test_no_edge_at_all_and_all_edges(engine):
    compare_data(engine, np.random.default_rng(0).standard_normal((50, 9)), 1e-9)
    compare_data(engine, np.outer(np.arange(20.0), np.ones(5)) + np.eye(20, 5), 1e-3, m_max=1)


@pytest.mark.parametrize(
    ("n", "p", "shared"), [(17, 700, 0), (200, 150, 0), (200, 150, 1 << 16), (900, 150, 0), (1100, 150, 0)]
)
def test_the_sieve_misses_no_pair_and_picks_few_others(library, monkeypatch, n, p, shared):
    """In one square of several tiles or in squares of one; rows that stay in shared memory or not; little of it."""
    if p < 200:
        monkeypatch.setattr(device_sieve, "MOST_BLOCKS", 1)
        monkeypatch.setattr(device_tuning, "TILES_ON_SIDE", 1)
    dev = HostDevice(library)
    dev.shared_block = shared or dev.shared_block
    check_sieve(dev, difficult(n, p, 0.3), 0.3)


@pytest.mark.parametrize("n", [2, 5, 16, 63, 64, 65, 130, 193])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_correlations_have_the_bits_of_the_cpu(library, n, dtype):
    rng, dev = np.random.default_rng(n), HostDevice(library)
    X = (rng.integers(0, 4, (n, 70)) + rng.choice([0.0, 0.1, 1e15], 70)).astype(dtype)
    X[:, 5], X[:, 6], X[:, 7] = 0.1, X[:, 8], 1 - X[:, 9]
    C = correlation(X.astype(np.float64))
    for table in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(np.array(of_device.correlation(dev, table)), C)


def test_difficult_columns(engine, monkeypatch):
    monkeypatch.setattr(device_tuning, "ILL_SHARE", 1.0)  # the kernels for ill-conditioned data are the same ones
    cutoff = GaussianTest(pycupc.SuffStat(np.eye(2), 200), 1e-3).cutoff(0)
    test = GaussianTest(pycupc.SuffStat.from_table(pycupc.data.table.Table.of(difficult(200, 50, cutoff))), 1e-3)
    compare_states(engine, test)


def test_more_pairs_than_there_is_room_for(engine, monkeypatch):
    monkeypatch.setattr(device_sieve, "first_room", lambda p: 3)
    compare_data(engine, observations(0, 12, 60, 0.5), 0.3, 3, fixedEdges=np.eye(12)[::-1] > 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_of_rows_have_the_bits_of_the_correlations(library, dtype):
    dev, X = HostDevice(library), observations(1, 70, 50, 0.3).astype(dtype)
    graph, C = row_graph(dev, X), correlation(X.astype(np.float64))
    graph.launch_level0(0.2)
    graph.collect_level0()
    x, y, _ = graph.edges()
    start, width = np.array(graph._matrix), np.array(graph._width)
    assert width.max() > 33  # more than one tile
    for v in range(70):
        of_row = [*sorted([*y[x == v], *x[y == v]]), v]
        assert width[v] == len(of_row)
        mine = np.array(graph._C[start[v] : start[v] + width[v] ** 2]).reshape(width[v], width[v])
        np.testing.assert_array_equal(mine, C[np.ix_(of_row, of_row)])


def test_rounding_to_half_precision(tmp_path):
    source = """
#include "cuda_on_host.h"
#include "sieve/halves.cuh"
extern "C" void round_all(const double* v, unsigned* half, float* back, int m) {
    for (int i = 0; i < m; ++i) half[i] = half_of(v[i]), back[i] = number_of_half(half[i]);
}
"""
    rng = np.random.default_rng(0)
    v = np.concatenate([rng.uniform(-1, 1, 5000), 2.0 ** rng.uniform(-40, 0.2, 5000), [0, -0.0, 1, 2.0**-14, 2.0**-25]])
    half, back = np.empty(len(v), np.uint32), np.empty(len(v), np.float32)
    addresses = (ctypes.c_void_p(a.ctypes.data) for a in (v, half, back))
    library_of(source, tmp_path).round_all(*addresses, len(v))
    expected = v.astype(np.float32).astype(np.float16)
    np.testing.assert_array_equal(half.astype(np.uint16), expected.view(np.uint16))
    np.testing.assert_array_equal(back, expected.astype(np.float32))


def test_the_margin_is_as_stated():
    """In kernels/sieve/halves.cuh."""
    assert [round(device_sieve.margin_of(n), 4) for n in (200, 1000, 100_000)] == [0.0011, 0.0015, 0.0015]


def test_pruning(two, monkeypatch):
    """At every level from 3 on, and for the largest p-values, on two devices."""
    monkeypatch.setattr(device_bounded_walk, "LEVELS", (3,))
    monkeypatch.setattr(
        device_bounded_walk, "TUNING", dataclasses.replace(device_bounded_walk.TUNING, least_tests=0.0, most_left=2.0)
    )
    always = {"first_level": 4, "least_tests": 0.0, "tests_per_pair": 0.0, "least_sets": 0.0, "sets_per_node": 1e-6}
    monkeypatch.setattr(
        device_branch_and_bound, "TUNING", dataclasses.replace(device_branch_and_bound.TUNING, **always)
    )
    monkeypatch.setattr(device_largest_p_values, "FEW_TESTS", 0)
    monkeypatch.setattr(device_largest_p_values, "borrowed_device", lambda index: nullcontext(two._engines[0].device))
    monkeypatch.setattr(two._engines[1].device, "index", 1)
    asked = mock.Mock(return_value=True)  # each writes to the memory of the other
    monkeypatch.setattr(sharing, "can_write", asked)
    X = observations(0, 18, 60, 0.5)
    expected = pycupc.skeleton(X, alpha=0.3, engine="cpu")
    data = pycupc.SuffStat.from_data(X)
    fit = pycupc.skeleton(data, alpha=0.3, engine=two)
    fit.edges()  # with the largest p-value of each
    assert not data.has_C
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-300)
    assert_same(fit, expected)
    assert {v.level for v in fit.levels if v.n_bounds} >= {3, 4}
    assert {call.args[1:] for call in asked.call_args_list} == {(0, 1), (1, 0)}


@pytest.mark.parametrize("change", [{}, {"least_sets": 1e9}, {"nodes": (1, 1)}], ids=["search", "walk", "left"])
def test_questions_are_answered_as_on_the_cpu(library, monkeypatch, change, caplog):
    monkeypatch.setattr(
        device_branch_and_bound,
        "TUNING",
        dataclasses.replace(device_branch_and_bound.TUNING, **{"least_sets": 0.0} | change),
    )
    monkeypatch.setattr(device_tuning, "QUESTION_SETS", 0)
    monkeypatch.setattr(device_tuning, "WALKED_SETS", 0 if "nodes" in change else 1e9)
    monkeypatch.setattr(cpu_tuning, "FEW_SETS", 0)
    reached, device = {}, HostDevice(library)

    def counted(*args):
        reached.update(answer := device_answers.search_on_device(*args))
        return answer

    monkeypatch.setattr(device_answers, "borrowed_device", lambda index: nullcontext(device))
    monkeypatch.setattr(on_cpu, "search_on_device", counted)
    total = 0
    for seed in range(3):
        test, asked = random_questions(seed, 9, 12)
        compare_answers((HostEngine(library), CpuEngine()), test, asked)
        total = total + counts(reached, asked)
        reached.clear()
    decided, found, left = total
    assert min(decided, found) > 3
    assert (left > 3) == ("nodes" in change)
    engine = HostEngine(library)
    take(engine, test)
    with caplog.at_level("INFO", logger="pycupc"):
        for _ in range(2):
            engine.first_separating(asked._replace(budget=1.0))
            engine.count_separating(asked)
    told = [r.getMessage().partition(": ")[2] for r in caplog.records if "the CPU answers" in r.getMessage()]
    assert told == ["a budget counts the steps of the CPU", "the device does not count separating sets"]


def test_two_devices_have_the_answer_of_one(two):
    compare_data(two, observations(0, 16, 60, 0.5), 0.3, 4)
    chain = [np.eye(16, k=i) + np.eye(16, k=-i) > 0 for i in (3, 5)]
    compare_data(two, observations(1, 16, 200, 0.3), 0.1, 3, fixedEdges=chain[0], fixedGaps=chain[1])


def test_two_devices_on_a_matrix(libraries):
    engine = DevicesEngine([HostEngine(own, "cupc-e") for own in libraries])
    compare(engine, correlation(observations(2, 16, 60, 0.5)), 60, 0.3, 3, m_max=2)


def test_level_1_of_two_devices_tests_both_sides_of_an_edge(libraries):
    """The neighbours of y may separate an edge x - y of which x has no other neighbour."""
    engine = DevicesEngine([HostEngine(own) for own in libraries])
    for seed in range(3):
        compare_data(engine, np.random.default_rng(seed).standard_normal((40, 50)), 0.03, 2, m_max=1)


@pytest.mark.parametrize("number", [0, 1])
def test_a_device_that_fails_ends_the_run(two, monkeypatch, number):
    X = observations(0, 8, 60, 0.5)
    failing = mock.Mock(side_effect=EngineError("out of device memory"))
    with monkeypatch.context() as patch:
        patch.setattr(two._engines[number].device.transfers, "download", failing)
        with pytest.raises(EngineError, match="out of device memory"):
            pycupc.skeleton(X, alpha=0.3, engine=two)
    compare_data(two, X, 0.3)


def test_which_devices():
    for wrong in ("both", [0, 0], [], [-1], [0.5], 2):
        with pytest.raises(ValueError, match="devices must be 'all' or a list of different numbers"):
            on_devices(wrong, lambda number: None)
    assert on_devices([3], str) == "3"
    with pytest.raises(ValueError, match="engine_options must have device or devices, got both"):
        select._gpu("gpu", {"device": 1, "devices": [0]})


def test_which_correlations_a_run_stores(library, monkeypatch):
    X, used = observations(0, 9, 60, 0.5), []
    start = device_sieve.RowGraph.__init__
    monkeypatch.setattr(device_sieve.RowGraph, "__init__", lambda self, *a: (used.append(1), start(self, *a))[1])
    pycupc.skeleton(X, alpha=0.1, engine=HostEngine(library, correlations="dense"), m_max=0)
    pycupc.skeleton(X, alpha=0.1, engine=HostEngine(library), m_max=0)
    assert not used
    monkeypatch.setattr(gpu_engine.of_data, "dense_bytes", lambda p: 1 << 40)
    pycupc.skeleton(X, alpha=0.1, engine=HostEngine(library), m_max=0)
    assert used
    monkeypatch.setattr(gpu_engine.of_data, "dense_bytes", lambda p: 0)
    monkeypatch.setattr(device_tuning, "SIEVE_FROM", 9)
    for share in (0, 9):
        monkeypatch.setattr(device_tuning, "ROWS_SHARE", share)
        one = HostEngine(library)
        compare_data(one, X, 0.1, m_max=0)
        test = GaussianTest(pycupc.SuffStat.from_data(X), 0.1)
        graph = take(one, test)._graph
        one._m_max = 0
        one.run_level(0)
        assert (one._graph is graph) == (share > 0)
    assert len(used) == 5
    monkeypatch.setattr(gpu_engine.of_data, "dense_bytes", lambda p: 1 << 40)
    with pytest.raises(EngineError, match="need about 1099.5 GB"):
        pycupc.skeleton({"C": correlation(X), "n": 60}, alpha=0.1, engine=HostEngine(library))


def test_refusals(library, engine, monkeypatch):
    with pytest.raises(ValueError, match="correlations='rows' needs data, .*, got a matrix of them"):
        pycupc.skeleton({"C": np.eye(3), "n": 60}, alpha=0.1, engine=engine)
    with pytest.raises(ValueError, match="correlations must be 'dense', 'rows' or None, got 'all'"):
        HostEngine(library, correlations="all")
    with pytest.raises(ValueError, match="correlations='rows' needs algorithm='schur', got 'cupc-e'"):
        HostEngine(library, "cupc-e", correlations="rows")
    graph = row_graph(HostDevice(library), observations(0, 9, 60, 0.5))
    with pytest.raises(EngineError, match=r"9,000,000,000 pairs may be dependent at level 0 and need 134\.11 GiB"):
        graph._room_for(9 * 10**9, lambda cutoff: 0)


def test_rules_and_reasons_without_the_matrix(engine, two):
    X = observations(0, 12, 60, 0.5)
    for one, rule in ((engine, {}), (two, {"conservative": True}), (engine, {"maj_rule": True})):
        data = pycupc.SuffStat.from_data(X)
        fit, expected = (pycupc.pc(d, alpha=0.2, engine=e, **rule) for d, e in ((data, one), (X, "cpu")))
        assert str(fit.why(0, 5)) == str(expected.why(0, 5))
        assert not data.has_C
        assert fit == expected


@pytest.mark.parametrize("picks", [True, False])
def test_too_many_pairs_name_an_alpha_that_would_fit(library, monkeypatch, picks):
    """At the sieve, and for the lists of the edges that it leaves."""
    graph = row_graph(HostDevice(library), observations(0, 18, 60, 0.5))
    if not picks:
        graph.launch_level0(0.1)
    monkeypatch.setattr(device_tuning, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(HostDevice, "free_memory", lambda self, enough=0: 12 * device_tuning.BYTES_PER_PICKED)
    monkeypatch.setattr(device_sieve, "first_room", lambda p: 3)
    with pytest.raises(EngineError, match=r"GiB are free; alpha = [\d.e-]+ would leave about \d+") as error:
        graph.launch_level0(0.1) if picks else graph.collect_level0()
    assert 0 < int(str(error.value).split()[-1]) <= 12


def test_hubs_without_a_matrix_at_level_1(engine, two, monkeypatch):
    """Rows of more than four neighbours, in stripes of a few rows; a row of 40 variables has a stripe in two tiles."""
    monkeypatch.setattr(device_tuning, "HUB", 4)
    monkeypatch.setattr(device_tuning, "STRIPE_BYTES", 8 * 40)
    used, start = [], hubs.HubTests.__init__
    monkeypatch.setattr(hubs.HubTests, "__init__", lambda self, *a: used.append(len(a[3])) or start(self, *a))
    fixed = {"fixedEdges": np.eye(10)[::-1] > 0, "fixedGaps": np.eye(10, k=5) + np.eye(10, k=-5) > 0}
    for one, X, more in ((engine, 0, {}), (engine, 1, fixed), (two, 2, {})):
        compare_data(one, observations(X, 10, 60, 0.6), 0.3, 3, m_max=3, **more)
    assert min(used) > 3
    X = np.random.default_rng(0).standard_normal((300, 40))
    X[:, 0] += X[:, 1:] @ np.linspace(0.5, 1.0, 39)
    monkeypatch.setattr(device_tuning, "HUB", 30)
    compare_data(engine, X, 0.2, 3, m_max=2)
    assert used[-1] == 1


def test_a_run_with_hubs_that_was_cut_off_goes_on(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(device_tuning, "HUB", 4)
    call = {"suffStat": observations(0, 10, 60, 0.6), "alpha": 0.3, "checkpoint": tmp_path, "m_max": 2}
    fit = pycupc.skeleton(**call, engine=engine)
    for number in (2, 1):
        for path in sorted(tmp_path.glob("level-*"))[number:]:
            path.unlink()
        assert_same(pycupc.skeleton(**call, engine=engine), fit)


def test_hubs_that_do_not_fit_after_level_1_are_refused_then(engine, monkeypatch):
    monkeypatch.setattr(device_tuning, "HUB", 4)
    compare_data(engine, X := observations(0, 10, 60, 0.6), 0.3, m_max=1)
    launch = hubs.HubTests.launch

    def fill_memory(self, *args):
        launch(self, *args)
        monkeypatch.setattr(device_tuning, "UNCHECKED_BYTES", 0)
        monkeypatch.setattr(HostDevice, "free_memory", lambda self, enough=0: 0)

    monkeypatch.setattr(hubs.HubTests, "launch", fill_memory)
    match = r"the \d+ edges left after level 1 have \d+ correlations and need .* use a smaller alpha or fewer variables"
    with pytest.raises(EngineError, match=match):
        pycupc.skeleton(X, alpha=0.3, engine=engine)


@pytest.mark.parametrize("by", ["rows", "dense", "two devices", "rows, kept by the cpu"])
def test_a_run_that_was_cut_off_goes_on(engine, two, library, tmp_path, by):
    X, some = observations(0, 12, 60, 0.5), np.random.default_rng(0).random((2, 12, 12)) < 0.1
    call = {"alpha": 0.3, "fixedEdges": some[0] | some[0].T, "fixedGaps": some[1] | some[1].T, "checkpoint": tmp_path}
    call["m_max"] = 2 if by == "dense" else 3  # there are kernels of cuPC-E up to level 2
    last = {"dense": HostEngine(library, "cupc-e"), "two devices": two}.get(by, engine)
    fit = pycupc.skeleton(X, engine=CpuEngine(pruning="always") if "cpu" in by else last, **call)
    kept = sorted(tmp_path.glob("level-*"))
    assert len(kept) == call["m_max"] + 1
    for number, one in ((2, last), (2, "cpu"), (1, last), (3, last)) if by != "two devices" else ((2, last),):
        for path in kept[number:]:
            path.unlink(missing_ok=True)
        resumed = pycupc.skeleton(X, engine=one, **call)
        assert_same(resumed, fit)
        np.testing.assert_allclose(resumed.pMax, fit.pMax, rtol=1e-6, atol=1e-300)


def test_many_variables_are_estimated_from_the_last_ones(engine, monkeypatch):
    monkeypatch.setattr(device_tuning, "SAMPLED_FROM", 100)
    monkeypatch.setattr(device_tuning, "TILES_ON_SIDE", 1)
    X = observations(0, 300, 40, 0.1)
    test = GaussianTest(pycupc.SuffStat.from_data(X), 1e-3)
    take(engine, test)
    sampled = engine.sample()
    graph = pycupc.skeleton(X, alpha=1e-3, m_max=0, engine="cpu").sparse_graph
    degrees = np.bincount(np.concatenate([graph.low, graph.high]), minlength=300)
    np.testing.assert_array_equal(sampled.degrees, degrees[128:])
    assert sampled.seconds > 0
    assert sampled.memory > 8 * X.size
    monkeypatch.setattr(device_tuning, "SAMPLED_FROM", 301)
    take(engine, test)
    assert engine.sample() is None


@pytest.fixture
def kept_often(monkeypatch):
    """Every square of level 0 is a part, every row a slice, and each is written."""
    monkeypatch.setattr(kept, "_PATIENCE", 0.0)
    for name, value in {"PART_PRODUCTS": 1, "TILES_ON_SIDE": 1, "SLICED_FROM": 1, "SLICE_SECONDS": 0.0}.items():
        monkeypatch.setattr(device_tuning, name, value)


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize(("name", "after"), [("engine", 2), ("engine", 14), ("two", 8)])
def test_a_level_resumes_after_a_slice(request, name, after, tmp_path, monkeypatch):
    """The first one, and another one of level 2, which is searched."""
    always = {"first_level": 2, "least_tests": 0.0, "tests_per_pair": 0.0, "least_sets": 0.0, "sets_per_node": 1e-6}
    monkeypatch.setattr(
        device_branch_and_bound, "TUNING", dataclasses.replace(device_branch_and_bound.TUNING, **always)
    )
    run = {"data": observations(0, 10, 60, 0.6), "alpha": 0.3, "m_max": 2, "engine": request.getfixturevalue(name)}
    want, rows, run_rows = run_to_the_end(None, **run), [], Member._run_rows
    monkeypatch.setattr(Member, "_run_rows", lambda self, *args: (rows.append(self.number), run_rows(self, *args))[1])
    cut_off(monkeypatch, "keep_some", after, tmp_path, **run)
    assert len(list(tmp_path.glob("level-*-part.npz"))) == 1
    fit = run_to_the_end(tmp_path, **run)
    assert_same(fit, want)
    np.testing.assert_array_equal(fit.removals.r, want.removals.r)
    assert rows.count(0) == 20  # each of ten rows once at level 1, and once at level 2
    assert fit.levels[2].n_bounds > 0
    assert fit.levels[2].n_made < fit.levels[2].n_tests


@pytest.mark.usefixtures("kept_often")
def test_what_another_engine_has_kept_of_a_level_is_made_again(engine, tmp_path, monkeypatch):
    run = {"data": observations(0, 12, 60, 0.5), "alpha": 0.3}
    cut_off(monkeypatch, "keep_some", 12, tmp_path, engine=engine, **run)
    assert_same(run_to_the_end(tmp_path, **run), run_to_the_end(None, **run))


@pytest.mark.usefixtures("kept_often")
def test_findings_of_a_level_that_do_not_fit_are_named(engine, tmp_path, monkeypatch):
    run = {"data": observations(0, 12, 60, 0.5), "alpha": 0.3, "engine": engine}
    cut_off(monkeypatch, "keep_some", 3, tmp_path, **run)
    monkeypatch.setattr(sharing, "OF_TESTS", sharing.OF_TESTS[1:])
    with pytest.raises(ValueError, match=r"level-0001-part.npz is .*its numbers are out of range"):
        run_to_the_end(tmp_path, **run)


@pytest.mark.usefixtures("kept_often")
@pytest.mark.parametrize("name", ["engine", "two"])
def test_level_0_resumes_after_a_part(request, name, tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((40, 150))
    run = {"data": X, "alpha": 1e-3, "m_max": 1, "engine": request.getfixturevalue(name)}
    want, searched, find = run_to_the_end(None, **run | {"engine": "cpu"}), [], device_sieve._Sieve.find
    monkeypatch.setattr(
        device_sieve._Sieve, "find", lambda self, *args: (searched.append(args[1]), find(self, *args))[1]
    )
    monkeypatch.setattr(device_sieve, "first_room", lambda p: 20)
    if name == "engine":
        cut_off(monkeypatch, "add", 2, tmp_path, **run)
    else:
        cut_off(monkeypatch, "keep", 1, tmp_path, **run)
        (tmp_path / "level-0000.npz").unlink()
    searched.clear()
    assert_same(run_to_the_end(tmp_path, **run), want)
    assert set(searched) == ({(2, 3)} if name == "engine" else {(0, 1), (1, 2), (2, 3)})
    assert not list(tmp_path.glob("*part*"))
