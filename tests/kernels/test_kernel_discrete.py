"""The GPU engine of discrete data without a GPU: its kernels run on the host and agree with the CPU engine."""

import ctypes

import numpy as np
import pytest
from discrete_runs import TUNING, Problem, compare, random_problem
from gpu_on_host import HostEngine, build, library_of
from scipy.special import chdtrc, chdtri

from pycupc.engines.gpu import device_discrete, device_tuning
from pycupc.engines.protocol import EngineError
from pycupc.independence.discrete.chi_square import upper_tail
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.discrete.test import DiscreteTest


@pytest.fixture(scope="module", params=[256, 64], ids="{} threads".format)
def library(request, tmp_path_factory):
    built = build(tmp_path_factory.mktemp("kernels"), request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_discrete, "THREADS", request.param)
        patch.setattr(device_discrete, "STATE_BYTES", 30 * request.param + 256)
        yield built


def test_more_neighbours_than_threads(library):
    """Rows whose targets do not fit the list of a work item, in blocks of 64 threads."""
    if device_discrete.THREADS > 64:
        pytest.skip("the same code, slower")
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, size=40)
    codes = np.where(rng.random((40, 72)) < 0.1, rng.integers(0, 2, size=(40, 72)), hidden[:, None])
    suff = DiscreteSuffStat(codes, np.full(72, 2), adaptDF=False)
    problem = Problem(DiscreteTest(suff, 0.05), None, None, 1)
    assert compare(HostEngine(library), problem)[1] > 72 * 71


def test_a_device_with_too_little_shared_memory_is_refused(library):
    engine = HostEngine(library)
    engine.device.shared_block, engine.device.name = 16 << 10, "a small device"
    with pytest.raises(EngineError, match=r"need \d+ KiB of shared memory per block, and a small device has 16 KiB"):
        compare(engine, random_problem(0, small=True))


@pytest.mark.parametrize("observed", [False, True], ids=["pcalg", "observed"])
@pytest.mark.parametrize("seed", range(12))
def test_engine_agrees_with_cpu(library, seed, observed):
    compare(HostEngine(library), random_problem(seed, small=True, observed=observed))


@pytest.mark.parametrize("room", [0, 70, 300])
def test_tables_without_room_are_made_on_the_host(library, monkeypatch, room):
    """Where the degrees of freedom are those observed, a table may be larger than any memory."""
    monkeypatch.setattr(device_tuning, "OBSERVED_CELLS", room)
    monkeypatch.setattr(device_tuning, "OBSERVED_CELLS_PER_OBSERVATION", 0)
    engine = HostEngine(library)
    for seed in (200, 201, 204, 206):
        compare(engine, random_problem(seed, small=True, observed=True))


@pytest.mark.parametrize("change", TUNING, ids=str)
def test_tuning_changes_nothing(library, monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(device_tuning, name, value)
    for seed in (100, 101, 102):
        problem = random_problem(seed, small=True)
        if "DOUBTFUL" in change:
            problem.test.prepared = problem.test.prepared._replace(band=np.inf)
        compare(HostEngine(library), problem)


@pytest.fixture(scope="module")
def chi_square(tmp_path_factory):
    library = library_of(
        """#include "discrete/chi_square.cuh"
        extern "C" double tail(double g2, i64 df) { return upper_tail(g2, df); }
        extern "C" int within(double g2, i64 df, double p) { return tail_is_within(g2, df, p); }""",
        tmp_path_factory.mktemp("chi_square"),
        *("-Wall", "-Werror"),
    )
    library.tail.restype = ctypes.c_double
    library.tail.argtypes = [ctypes.c_double, ctypes.c_longlong]
    library.within.argtypes = [ctypes.c_double, ctypes.c_longlong, ctypes.c_double]
    return library


def test_upper_tail_and_its_bound(chi_square):
    """The tail is that of its Python twin and of SciPy, and the bound is never below it."""
    rng = np.random.default_rng(0)
    ruled_out = 0
    for _ in range(4000):
        df = int(rng.choice([1, 2, 3, 10, rng.integers(1, 1000), rng.integers(1, 100_000)]))
        g2 = float(rng.choice([rng.uniform(0, 3) * df, chdtri(df, 10.0 ** -rng.uniform(0, 250)), rng.uniform(-1, 1)]))
        p = chi_square.tail(g2, df)
        np.testing.assert_allclose(p, upper_tail(g2, df), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(p, chdtrc(df, max(g2, 0.0)), rtol=1e-8, atol=1e-290)
        for other in (0.0, p * (1 - 1e-7), p * 10.0 ** rng.uniform(0, 30)):
            if chi_square.within(g2, df, other):
                assert p <= other
                ruled_out += 1
    assert ruled_out > 1000
    assert chi_square.within(1e6, 10, 0.0)
