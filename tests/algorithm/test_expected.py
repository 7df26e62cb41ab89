"""Real and synthetic data of realistic size: every engine gives the known skeletons, counts and separating sets.

Needs a folder of data (`common.DATA`) that is not part of the project; test_generated.py needs none. The expected
answer of a set in `workloads.EXACT` belongs to the correlations that NumPy computes from its file: it has identical
columns, so that the last digits of the correlations decide some of its tests.
"""

import numpy as np
import pytest
from benchmarks import workloads
from common import DATA

import pycupc

SETS = [("nci60", 0.05), ("mcc", 0.01), ("tcga_brca_jive", 0.05), ("saureus", 0.05)]
SETS += [("stock_logret", 0.01), ("std_1000_20_1000", 0.05)]
#: On the CPU with --slow only: half a minute, or the same code at work as on the sets above.
MORE = [("nci60", 0.01), ("mcc", 0.05), ("tcga_brca_jive", 0.01), ("saureus", 0.01)]
MORE += [("riboflavin", 0.01), ("std_1000_100_2000", 0.05)]


def cases() -> list:
    """Engine, data set and alpha of each test, with its marks."""
    out = []
    for engine in ("cpu", "gpu", "cupc-e", "cupc-s"):
        for name, alpha in SETS + MORE:
            slow = [pytest.mark.slow] if (name, alpha) in MORE else []
            marks = slow if engine == "cpu" else [pytest.mark.gpu]
            out.append(pytest.param(engine, name, alpha, marks=marks, id=f"{engine}-{name}_alpha{alpha:g}"))
    return out


def problem(name: str, alpha: float) -> tuple[pycupc.SuffStat, workloads.Answer]:
    """Correlations of a data set, and its expected answer; skips where the data are not here."""
    want = workloads.expected(DATA, name, alpha)
    if want is None:
        pytest.skip(f"no expected answer of {name} at alpha {alpha:g} in {DATA}")
    if name in workloads.EXACT:
        work = workloads.load(name, DATA, alpha)
        return pycupc.SuffStat(work.C, work.n), want
    return pycupc.SuffStat.from_data(workloads.observations(name, DATA)), want


@pytest.mark.parametrize(("engine", "name", "alpha"), cases())
def test_engine_is_exact(engine, name, alpha):
    suff_stat, want = problem(name, alpha)
    fit = pycupc.skeleton(suff_stat, alpha=alpha, engine=engine)
    assert want.differences(workloads.Answer.of(fit)) == {}
    assert fit.max_ord == len(want.n_edgetests) - 1


def test_nci60_has_the_edges_of_pcalg():
    suff_stat, _ = problem("nci60", 0.05)
    fit = pycupc.skeleton(suff_stat, alpha=0.05, engine="cpu")
    recorded = np.loadtxt(DATA / "nci60_pcalg261_skeleton_alpha0.05.txt", dtype=int)
    want = {(min(pair), max(pair)) for pair in recorded.tolist()}
    assert {(x, y) for x, y in np.argwhere(np.triu(fit.skeleton)).tolist()} == want
