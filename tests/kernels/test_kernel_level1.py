"""Level 1 of the GPU engine (kernels/schur/level1.cu) on the host: its tests in single precision, and whole levels."""

import ctypes
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from common import assert_same
from gpu_on_host import WALK_FILES as ALL_FILES
from gpu_on_host import HostEngine, build, library_of, observations
from gpu_on_host import compare as compare_runs

import pycupc
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.correlation import correlation

FILES = {file: names for file, names in ALL_FILES.items() if file not in ("schur/sets", "schur/tiles")}
P, N, ALPHA = 70, 200, 0.05  # p is no multiple of 32
compare = partial(compare_runs, n=N, alpha=ALPHA, m_max=1)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("level1"), 256, FILES)


@pytest.fixture
def engine(library):
    return HostEngine(library, prune=False)


def near_cutoff(seed: int) -> np.ndarray:
    """Correlations of which some hundred make a test at level 1 fall within 1e-12 to 1e-4 of the cutoff."""
    rng, C = np.random.default_rng(seed), np.corrcoef(observations(seed, P, N, 0.3), rowvar=False)
    cutoff = fisher_z.cutoff(ALPHA, N, 1)
    for exponent in np.linspace(-12, -4, 600):
        x, y, k = rng.choice(P, 3, replace=False)
        r = cutoff * (1 + rng.choice([-1, 1]) * 10**exponent) * rng.choice([-1, 1])
        xy = C[x, k] * C[y, k] + r * np.sqrt((1 - C[x, k] ** 2) * (1 - C[y, k] ** 2))
        if abs(xy) < 1:
            C[x, y] = C[y, x] = xy
    return C


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("apart", [0, 1e-16, 1e-10])
def test_tests_near_the_cutoff(engine, seed, apart):
    """Also where C and its transpose differ, by the last bits or more; then neighbours of both count on both sides."""
    C = near_cutoff(seed)
    C += apart * np.random.default_rng(seed).standard_normal(C.shape)
    np.fill_diagonal(C, 1.0)
    fit = compare(engine, C)
    assert fit.levels[1].n_careful > 20


def test_gaps_and_fixed_edges(engine):
    rng, C = np.random.default_rng(2), near_cutoff(2)
    gaps, fixed = (np.triu(rng.random((P, P)) < 0.1, 1) for _ in range(2))
    fixed &= ~gaps
    compare(engine, C, fixedGaps=gaps | gaps.T, fixedEdges=fixed | fixed.T)


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-8, 0.0])
def test_columns_that_are_nearly_copies(engine, apart):
    X = observations(3, P, N, 0.3)
    X[:, 5] = X[:, 2] + apart * X[:, 5]
    X[:, 9] = X[:, 2] + X[:, 7] + apart * X[:, 9]
    X[:, 20] = -X[:, 2] - apart * X[:, 20]
    compare(engine, np.corrcoef(X, rowvar=False))


@pytest.mark.parametrize(("n", "alpha"), [(4, 0.2), (5, 0.2), (20, 0.2), (1e5, 0.05), (1e9, 0.01)])
def test_any_cutoff(engine, n, alpha):
    """From one beyond 1, where all are independent, to one below the errors of the codes."""
    compare(engine, np.corrcoef(observations(4, 45, N, 0.3), rowvar=False), n=n, alpha=alpha)


@pytest.mark.filterwarnings("ignore:C has NaN")
def test_missing_correlations_and_ties(engine):
    C = np.round(np.corrcoef(observations(5, P, N, 0.3), rowvar=False), 2)
    C[:, 3] = C[3] = np.nan
    C[3, 3] = 1.0
    compare(engine, C)
    C[10:40, 10:40] = 0.4
    np.fill_diagonal(C, 1.0)
    compare(engine, C)


def test_data_go_to_the_device(engine):
    """Correlations are computed there, with the bits of the CPU engine; level 0 begins without an inspection."""
    X = observations(7, 33, 60, 0.3)
    X[:, 9] *= 1e250
    np.testing.assert_array_equal(engine.correlation(X), correlation(X))
    data = pycupc.SuffStat.from_data(X)
    fit = pycupc.skeleton(data, alpha=ALPHA, engine=engine, m_max=1)
    assert not data.has_C
    assert_same(fit, pycupc.skeleton({"C": correlation(X), "n": 60}, alpha=ALPHA, engine="cpu", m_max=1))


def test_rows_of_several_turns_with_few_pairs_left(engine):
    """A factor that all have in common: most edges stay, so that 64 candidates are tested at a time."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((150, 1)) + rng.standard_normal((150, 140))
    fit = compare(engine, np.corrcoef(X, rowvar=False), n=150)
    assert 100 < len(fit.sparse_graph) < 9000


#: What a test says: r^2 is above r2, below it, above 0. of: bounds of r^2 in the last case; the number of b's code.
ONE_TEST = """
#include "cuda_on_host.h"
#include "graph/rough.cuh"
extern "C" int one_test(double a, double b, double c, float r2, float* of) {
    const RoughTest t(RoughGiven(code_of(a)), (float)c, code_of(b));
    of[0] = t.least();
    of[1] = t.most();
    of[2] = decoded(code_of(b));
    return t.above(r2) | t.below(r2) << 1 | t.above(0.0f) << 2;
}
"""


@pytest.fixture(scope="module")
def one_test(tmp_path_factory):
    function = library_of(ONE_TEST, tmp_path_factory.mktemp("one_test"), "-w").one_test
    function.argtypes = [ctypes.c_double] * 3 + [ctypes.c_float, ctypes.c_void_p]
    out = (ctypes.c_float * 3)()
    return lambda *args: (function(*args, out), *out)


def test_codes(one_test):
    rng = np.random.default_rng(0)
    near_one = [s * (1 - d) for s in (-1, 1) for d in (0, 1e-16, 1e-9, 2**-16, 2**-16 + 1e-12, 2**-15, 1e-4)]
    halves = (rng.integers(-(2**15) + 1, 2**15 - 1, 200) + 0.5) / 2**15
    for b in [*near_one, *halves, *(halves + 1e-16), *rng.uniform(-1, 1, 500), 0.0]:
        code = one_test(0.0, b, 0.0, 0.0)[3]
        assert abs(code - b) <= 2**-16 + 2**-52 or (code == -1 and abs(b) >= 1 - 2**-15), b
    assert all(one_test(0.0, b, 0.0, 0.0)[3] == -1 for b in (np.nan, np.inf, -np.inf, 1 + 1e-9, -1 - 1e-9, 1.0))


def test_errors_of_single_precision_are_within_their_bounds(one_test):
    """r2 is so near r^2 that errors decide; what a test says must be true of the numbers that were given."""
    rng, said, silent = np.random.default_rng(1), [0, 0], 0
    for _ in range(20000):
        a, b = np.tanh(rng.normal(0, 10 ** rng.uniform(-2, 0.7), 2))
        half = np.round(2**15 * np.array([a, b])) + rng.choice([-0.5, 0.5], 2)
        if rng.random() < 0.5:  # as far from their codes as can be
            a, b = np.clip((half + rng.choice([-1e-9, 1e-9], 2)) / 2**15, -1, 1)
        r = rng.choice([-1, 1]) * rng.uniform(0, 1) ** 2
        c = float(np.clip(a * b + r * np.sqrt((1 - a * a) * (1 - b * b)), -1, 1))
        A, B, C = Fraction(a), Fraction(b), Fraction(c)
        num2, vx, vy = (C - A * B) ** 2, 1 - A * A, 1 - B * B
        exact = num2 / (vx * vy) if vx * vy else Fraction(2)
        r2 = np.float32(r * r * (1 + rng.normal(0, 10 ** rng.uniform(-6, -2))))
        r2 = min(r2, np.float32(1 - 1e-5))
        says, least, most, _code = one_test(a, b, c, r2)
        margin = Fraction(1e-7)
        if says & 1:
            said[0] += 1
            assert exact > Fraction(float(r2)) * (1 + margin)
            assert min(vx * vy - num2, vx, vy) > Fraction(1.1e-4)
        if says & 2:
            said[1] += 1
            assert exact < Fraction(float(r2)) * (1 - margin)
            assert min(vx, vy) > Fraction(5e-6)
        if says & 4:
            assert Fraction(least) < exact < Fraction(most)
        silent += not says & 3
    assert min(said) > 2000
    assert silent > 1000


@pytest.mark.parametrize("bad", [np.nan, 1.0, -1.0, 1 + 1e-9])
def test_singular_tests_are_not_settled(one_test, bad):
    for a, b, c in ((bad, 0.3, 0.2), (0.3, bad, 0.2), (bad, bad, 0.9), (bad, -bad, -1.0), (0.5, bad, 0.5)):
        assert one_test(a, b, c, 0.04)[0] == 0
    if np.isnan(bad):
        assert one_test(0.3, 0.3, bad, 0.04)[0] == 0
