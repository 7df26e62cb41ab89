"""The Schur walk of the GPU engine (kernels/schur/) on the host: its tests in single precision, and whole runs."""

import ctypes
from itertools import product

import numpy as np
import pytest
from gpu_on_host import (
    KERNELS,
    WALK_FILES,
    HostEngine,
    build,
    compare,
    compare_near_copies,
    compare_states,
    for_host,
    library_of,
    observations,
)
from indefinite_problems import indefinite_problem

import pycupc
from pycupc.engines.gpu import device_graph, device_tuning, schur
from pycupc.engines.protocol import EngineError
from pycupc.graph.pairs import Pairs
from pycupc.independence.gaussian.test import GaussianTest

VARIANCE_ERROR = 1e-3  # kernels/schur/targets.cuh


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 256, WALK_FILES)


@pytest.fixture(scope="module")
def engine(library):  # one for all tests: its tables of subsets take a second
    return HostEngine(library, prune=False)


@pytest.fixture(params=["rows in shared memory", "large rows in tiles", "all rows in tiles"])
def rows(request, monkeypatch, engine):
    """Which kernel tests the rows: of more than five neighbours in tiles, or all for want of shared memory."""
    if request.param == "large rows in tiles":
        monkeypatch.setattr(device_tuning, "BOUNDS", (1, 2, 3, 4, 5))
    if request.param == "all rows in tiles":
        monkeypatch.setattr(engine, "_gaussian", schur.SchurTests(2, schur.STATIC_SHARED, prune=False))


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("n", "strength", "alpha", "levels"), [(60, 0.5, 0.3, 5), (2000, 0.3, 0.05, 5), (200, 2.0, 0.2, 4)]
)
def test_the_answer_is_that_of_the_cpu(engine, n, strength, alpha, levels):
    fit = compare(engine, np.corrcoef(observations(0, 18, n, strength), rowvar=False), n, alpha, levels)
    assert len(fit.sepset.noncolliders) > 0
    if n == 2000:  # sound data: nearly all tests are settled in single precision
        assert sum(level.n_careful for level in fit.levels) < 1e-3 * sum(fit.n_edgetests)


@pytest.mark.parametrize("p", [2, 3, 4, 6])
def test_kernels_of_later_levels_are_named_for_small_graphs(engine, monkeypatch, p):
    asked = []
    monkeypatch.setattr(engine.device.kernels, "missing", lambda wanted, rows: list(wanted))
    monkeypatch.setattr(engine.device.kernels, "load_ahead", lambda wanted, rows: asked.extend(wanted))
    C = 0.6 ** abs(np.subtract.outer(np.arange(p), np.arange(p)))
    fit = pycupc.skeleton({"C": C, "n": 1000}, alpha=0.05, engine=engine)
    assert len(fit.sparse_graph) == p - 1
    assert ("schur/level1", "level1") in asked


@pytest.mark.parametrize("restricted", [False, True])
def test_states_between_levels(engine, restricted):
    rng, C = np.random.default_rng(0), np.corrcoef(observations(0, 18, 200, 0.5), rowvar=False)
    some = {name: Pairs.of_matrix(rng.random((18, 18)) < 0.2) if restricted else None for name in ("gaps", "fixed")}
    compare_states(engine, GaussianTest(pycupc.SuffStat(C, 200), 0.1), **some)


def test_a_level_that_the_device_cannot_count(engine, monkeypatch):
    monkeypatch.setattr(device_graph, "TOO_MANY", 100.0)
    match = r"level 1 may need more than 2\^62 tests \(variable \d+ has \d+ neighbours\).*; use engine='cpu', set m_max"
    with pytest.raises(EngineError, match=match):
        compare(engine, np.corrcoef(observations(0, 18, 60, 0.5), rowvar=False), 60, 0.3, 5)


@pytest.mark.parametrize("kib", [64, 96, 99, 163, 227])
def test_launches_fit_the_shared_memory_of_any_device(kib):
    """From compute capability 7.5 (64 KiB per block) over 8.0 (163) and 8.6 (99) to 9.0 (227)."""
    room, tiles = kib * 1024 - schur.STATIC_SHARED, {name for _, name in schur.TILES.values()}
    for level, ill, plenty in product((2, 3, 5, 10, 20, 40), (False, True), (False, True)):
        for index, widest in product(range(6), (150, 3000)):
            choice = schur.choose(level, index, device_tuning.BOUNDS, widest, room, ill, plenty, plenty)
            assert choice.shared <= room, choice
            assert (choice.kernel[1] in tiles) == (choice.ptile > 0)
            assert index < 5 or choice.ptile
            assert (choice.low, choice.high) == (
                (0, *device_tuning.BOUNDS)[index],
                min(widest, (*device_tuning.BOUNDS, widest)[index]),
            )
            if level == 2 and index < 3 + (kib >= 96) + (kib == 227):
                assert not choice.ptile, "rows that fit do not need tiles"


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("apart", [1e-3, 1e-6])
def test_columns_that_are_nearly_copies(engine, apart):
    """Conditional variances that single precision cannot tell from 0: its tests settle nothing."""
    X = observations(3, 14, 300, 0.5)
    X[:, 5] = X[:, 2] + apart * X[:, 5]
    X[:, 9] = X[:, 2] + X[:, 7] + apart * X[:, 9]
    fit = compare(engine, np.corrcoef(X, rowvar=False), 300, 0.2, 4)
    assert sum(level.n_careful for level in fit.levels) > 0 or apart > 1e-5


@pytest.mark.usefixtures("rows")
def test_clipped_partial_correlations_count_for_the_largest_p_value(engine):
    compare_near_copies(engine)


@pytest.mark.usefixtures("rows")
def test_indefinite_matrices(engine):
    careful = 0
    for seed in range(10, 16):
        C, n, alpha, _ = indefinite_problem(seed)
        careful += sum(level.n_careful for level in compare(engine, C, n, alpha, 1, m_max=4).levels)
    assert careful > 100


@pytest.mark.usefixtures("rows")
def test_cutoffs_below_the_errors_of_single_precision(engine):
    C = np.corrcoef(observations(1, 12, 100, 0.4), rowvar=False)
    fit = compare(engine, C, 1e9, 0.01, 4, m_max=5)  # a prefix before a suffix of any size
    assert len(fit.sparse_graph) > 40


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("enough", [1.0, 1e9])
def test_any_size_of_the_suffix(engine, monkeypatch, enough):
    """Two members, or as many as there may be; the levels count as long ones."""
    monkeypatch.setattr(device_tuning, "PLENTY_OF_SETS", 0.0)
    monkeypatch.setattr(device_tuning, "PLENTY_PER_PREFIX", enough)
    monkeypatch.setattr(schur, "choose", schur.choose.__wrapped__)  # nothing of this is to be kept
    compare(engine, np.corrcoef(observations(0, 18, 60, 0.5), rowvar=False), 60, 0.3, 5)


#: C has the covariances of the members, x and y, given the prefix; out: num2, v and the slack.
ONE_TEST = """
#include "cuda_on_host.h"
#include "schur/sweep.cuh"
template <int T> void one_test(const double* C, float* out) {
    float high[(T + 2) * (T + 2)], A[(T + 1) * (T + 2) / 2];
    for (int i = 0; i < (T + 2) * (T + 2); ++i) high[i] = __double2float_rz(C[i]);
    Quick<T> q;
    for (int i = 0; i <= T; ++i)
        for (int j = 0; j <= i; ++j) A[i * (i + 1) / 2 + j] = high[i * (T + 2) + j];
    factorise_quickly<T>(q, A, true);
    for (int i = 0; i < T; ++i) {
        q.column[i] = high + i;
        q.row[i] = i * (T + 2);
    }
    const int y = (T + 1) * (T + 2);
    test_quickly(q, quick_target(make_double2(C[y + T], C[y + T + 1]), bits(1.0), 0.0, y), out[0], out[1]);
    out[2] = q.slack;
}
extern "C" void test_2(const double* C, float* out) { one_test<2>(C, out); }
extern "C" void test_3(const double* C, float* out) { one_test<3>(C, out); }
extern "C" void test_4(const double* C, float* out) { one_test<4>(C, out); }

TILES
extern "C" void test_given_p(const double* C, float* out) {  // members p and k, in columns 0 and 1 of M
    static QuickTarget targets[SLICE + PADDING];
    static GivenTarget given[SLICE];
    static Column columns[2] = {{C[0], C[8], -1}, {C[5], C[9], -1}};
    float high[2] = {__double2float_rz(C[12]), __double2float_rz(C[13])};
    Memory mem = {};
    mem.ts.quick = targets;
    mem.M.high = high;
    mem.columns = columns;
    targets[0] = quick_target(make_double2(C[14], C[15]), bits(1.0), 0.0, 0);
    Tile tile = {};
    tile.xx = C[10];
    tile.sound = true;
    host::run({1}, {32}, [&] {
        const GivenP quick = given_p(mem, tile, {0, 1, C[0], C[4], C[5], C[8], C[9]}, 1, given);
        if (threadIdx.x == 0) quick.test(0, given[0], out[0], out[1]);
        if (threadIdx.x == 0) out[2] = quick.slack;
    });
}
"""


@pytest.fixture(scope="module")
def one_test(tmp_path_factory):
    return library_of(
        ONE_TEST.replace("TILES", for_host(KERNELS / "schur/tiles.cu")), tmp_path_factory.mktemp("one_test"), "-w"
    )


@pytest.mark.parametrize(("T", "name"), [(2, "test_2"), (3, "test_3"), (4, "test_4"), (2, "test_given_p")])
def test_errors_of_single_precision_are_within_their_bounds(one_test, T, name):
    rng, out, errors, undecided = np.random.default_rng(T), np.empty(3, dtype=np.float32), [], 0
    for k in range(4000):
        X = rng.standard_normal((12, T + 2)) @ (np.eye(T + 2) + 10 ** rng.uniform(-2, 1) * rng.random((T + 2, T + 2)))
        K = np.corrcoef(X, rowvar=False) * np.outer(*[10 ** rng.uniform(-1, 0, T + 2)] * 2)  # given a prefix
        getattr(one_test, name)(
            np.ascontiguousarray(K).ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)
        )
        num2, v, slack = out.astype(float)
        if np.isnan(slack):
            undecided += 1
            continue
        S = slice(0, T)
        (vx, c), (_, vy) = K[T:, T:] - K[T:, S] @ np.linalg.solve(K[S, S], K[S, T:])
        assert abs(v - VARIANCE_ERROR - vy) <= VARIANCE_ERROR, k
        assert abs(num2 - c * c / vx) <= slack, k
        errors.append(abs(num2 - c * c / vx) / slack)
    assert undecided < 3000
    assert max(errors) > 1e-4
