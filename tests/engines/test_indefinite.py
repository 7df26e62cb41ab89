"""Correlation matrices with a negative eigenvalue: all engines give the one answer of docs/contracts/contract.md,
section 11.

Pairwise deletion, edited and rounded entries make them. The kernels are compared in `kernels/test_kernel_helpers.py`,
`kernels/test_kernel_walk.py` and `kernels/test_kernel_cupc.py`, on the host.
"""

import math

import numpy as np
import pytest
from common import Case, assert_same
from indefinite_problems import KINDS, defined_r, indefinite_problem
from record_golden import run_pcalg

import pycupc
from pycupc.independence.gaussian import gauss_ci_test
from pycupc.independence.gaussian.partial_correlation import canonical_r


def both(C: np.ndarray, x: int, y: int, S: list[int]) -> tuple[float, float]:
    """Partial correlations by the canonical formula and by the reference's, S ascending."""
    return canonical_r(C, x, y, S), gauss_ci_test.partial_correlation(C, x, y, S)


@pytest.mark.parametrize(
    ("upper", "r"),  # C's upper triangle by rows; signs of P_xx and P_yy for variables 0 and 1, computed in fractions
    [
        pytest.param([0.0, 0.0, 0.5, -0.5, 0.25, -0.5], 0.0, id="both positive, P_xy zero"),
        pytest.param([1.0, -0.75, 0.75, 0.0, 1.0, 0.25], 0.0, id="both negative, P_xy zero"),
        pytest.param([0.75, 0.0, 0.75, -0.75, 0.0, 1.0], -0.9999999, id="both negative"),
        pytest.param([0.5, 1.0, 0.25, -0.75, 0.75, -0.25], 0.0, id="opposite signs"),
        pytest.param([0.25, 1.0, 0.75, -0.5, 1.0, -0.5], 0.0, id="P_xx zero"),
        pytest.param([-0.25, 0.5, 1.0, 0.0, 0.0, 0.5], 0.0, id="P_xx negative, P_yy zero"),
        pytest.param([0.0, 0.5, 1.0, -0.5, 0.5, 0.5], 0.0, id="both zero"),
        pytest.param([1.0, 0.0, 0.5, 0.0, 0.0, 1.0], 0.0, id="0 / 0"),
    ],
)
def test_signs_of_the_diagonal(upper, r):
    C = np.eye(4)
    C[np.triu_indices(4, 1)] = upper
    C = np.maximum(C, C.T) + np.minimum(C, C.T)
    np.fill_diagonal(C, 1.0)
    for x, y in ((0, 1), (1, 0)):
        assert both(C, x, y, [2, 3]) == pytest.approx((r, r), abs=1e-12)


@pytest.mark.parametrize("part", range(3))
def test_single_tests(part):
    """Both formulas against 80 digits, given 2 to 6 variables."""
    pytest.importorskip("mpmath")
    undefined = 0
    for seed in range(part, 105, 3):
        C = indefinite_problem(seed)[0]
        rng = np.random.default_rng([seed, 1])
        x, y, *S = rng.permutation(len(C))[: int(rng.integers(4, min(len(C), 8) + 1))].tolist()
        want = defined_r(C, x, y, tuple(S))
        undefined += math.isnan(want)
        want = 0.0 if math.isnan(want) else min(max(want, -0.9999999), 0.9999999)
        assert both(C, x, y, sorted(S)) == pytest.approx((want, want), abs=1e-9), seed
    assert undefined >= 5


def run(seed: int, engine: str, **options) -> pycupc.PcAlgo:
    C, n, alpha, m_max = indefinite_problem(seed)
    return pycupc.skeleton({"C": C, "n": n}, alpha=alpha, m_max=m_max, engine=engine, engine_options=options)


def check(seed: int) -> int:
    """Equal answers of the reference and the CPU engine, with and without bounds; how many levels had bounds."""
    want = run(seed, "reference")
    for pruning in (True, False, "always"):
        fit = run(seed, "cpu", pruning=pruning)
        assert_same(fit, want)
        np.testing.assert_allclose(fit.pMax, want.pMax, rtol=1e-6, atol=1e-300, err_msg=f"seed {seed}")
    return sum(level.n_bounds > 0 for level in fit.levels)


@pytest.mark.parametrize("end", [75, pytest.param(10_000, marks=pytest.mark.slow)])
def test_runs(everywhere, end):
    """Each problem with one of three ways to use bounds."""
    first = ("walk", "search", "wide").index(everywhere)
    assert sum(check(seed) for seed in range(first, end, 3)) > 5


@pytest.mark.parametrize("engine", [pytest.param(name, marks=pytest.mark.gpu) for name in ("gpu", "cupc-e", "cupc-s")])
def test_gpu_engines_equal_the_cpu_engine(engine):
    for seed in range(1000):
        fit, want = run(seed, engine), run(seed, "cpu")
        assert_same(fit, want)
        np.testing.assert_allclose(fit.pMax, want.pMax, rtol=1e-6, atol=1e-300, err_msg=f"seed {seed}")


def test_copies_that_differ_towards_a_third_variable():
    """P_xx or P_yy is 0 in several tests, while the matrix is regular; recorded with pcalg 2.7-12."""
    C = np.array([[1, 1, 0.25, 0.25], [1, 1, 0.25, 0.5], [0.25, 0.25, 1, 0.5], [0.25, 0.5, 0.5, 1]])
    for engine in ("cpu", "reference"):
        fit = pycupc.skeleton({"C": C, "n": 1000}, alpha=0.05, engine=engine)
        assert np.argwhere(fit.skeleton).tolist() == [[0, 1], [1, 0]]
        assert fit.n_edgetests == [12, 18, 3]


@pytest.mark.r
def test_live_pcalg_gives_the_same_answer_where_no_test_is_undefined(tmp_path, rscript):
    cases = {}
    for seed in range(KINDS.index("edited"), 200, len(KINDS)):
        C, n, alpha, m_max = indefinite_problem(seed)
        cases[f"problem{seed}"] = {"C": C, "n": np.float64(n), "alpha": np.float64(alpha), "m_max": np.float64(m_max)}
    for name, answered in run_pcalg(cases, rscript).items():
        np.savez(tmp_path / f"{name}.npz", **answered)
        case = Case(tmp_path / f"{name}.npz")
        fit = pycupc.skeleton(case.suff_stat, **case.arguments, engine="cpu")
        np.testing.assert_array_equal(fit.skeleton, case.skeleton, err_msg=name)
        assert fit.sepset.cells() == case.cells(), name
        assert fit.n_edgetests == case.n_edgetests.tolist(), name
        np.testing.assert_allclose(fit.pMax, case.pMax, rtol=1e-6, atol=1e-300, err_msg=name)
