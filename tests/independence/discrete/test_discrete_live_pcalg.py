"""Random problems of discrete data, answered by a live pcalg: every part of the answer must be equal.

The long form makes 100 problems, 25 at a time; PYCUPC_LIVE_BLOCKS=80 makes 2,000, which take more than an hour.
"""

import os

import numpy as np
import pytest
from common import VARIANTS, Case
from discrete_cases import check_answer
from record_golden import run_pcalg

LONG = [pytest.param(range(25 * b, 25 * b + 25), marks=pytest.mark.slow, id=f"block {b}")
        for b in range(int(os.environ.get("PYCUPC_LIVE_BLOCKS", "4")))]  # fmt: skip

#: Numbers of variables and of observations, and how often they are drawn: pcalg takes minutes for the largest.
SMALL_P, SMALL_N = ([3, 4, 5, 6],), ([20, 50, 100, 300],)
P = ([3, 5, 7, 8, 10, 12, 15, 20, 30, 40], 1, True, [0.2, 0.2, 0.2, 0.1, 0.1, 0.06, 0.06, 0.04, 0.02, 0.02])
N = ([20, 50, 100, 300, 1000, 3000, 20000], 1, True, [0.15, 0.15, 0.2, 0.2, 0.2, 0.08, 0.02])


def problem(seed: int, short: bool) -> dict[str, np.ndarray]:
    """Inputs of a case: 3 to 40 variables of 2 to 5 levels, 20 to 20,000 observations; some pairs fixed."""
    rng = np.random.default_rng(seed)
    p = rng.choice(*(SMALL_P if short else P)).item()
    n = rng.choice(*(SMALL_N if short else N)).item()
    binary = rng.random() < 0.3
    levels = np.full(p, 2) if binary else rng.integers(2, 6, p)
    density = min(1.0, 2 / p) if p > 8 else rng.choice([0.3, 0.6])
    codes = np.zeros((n, p), dtype=np.int64)
    for j in range(p):
        mixed, size = np.zeros(n, dtype=np.int64), 1
        for i in np.flatnonzero(rng.random(j) < density)[:3]:
            mixed, size = mixed * levels[i] + codes[:, i], size * int(levels[i])
        table = rng.dirichlet(np.full(levels[j], rng.choice([0.5, 2.0])), size=size).cumsum(axis=1)
        codes[:, j] = (rng.random((n, 1)) >= table[mixed][:, :-1]).sum(axis=1)
    if rng.random() < 0.1:
        codes[:, 1] = np.minimum(codes[:, 0], levels[1] - 1)
    order = rng.permutation(p)
    codes, levels = codes[:, order], levels[order]
    codes[0, 0] = 0  # disCItest wants a 0 somewhere
    case = {"dm": codes.astype(np.int16), "nlev": levels, "adaptDF": np.bool_(rng.random() < 0.5)}
    case |= {"binary": np.bool_(binary and rng.random() < 0.6), "alpha": np.float64(rng.choice([0.01, 0.05, 0.2]))}
    if rng.random() < 0.2:
        case["m_max"] = np.float64(rng.integers(0, 4))
    if rng.random() < 0.2:
        for name, share in (("fixedGaps", 0.1), ("fixedEdges", 0.05)):
            half = np.triu(rng.random((p, p)) < share, 1)
            case[name] = half | half.T
    cheap = list(VARIANTS) if p <= 8 and n <= 1000 else ["relaxed", "solve_confl", "retry"]
    return case | {f"cpdag_{name}": np.zeros(0) for name in rng.choice(cheap, size=2, replace=False)}


@pytest.mark.r
@pytest.mark.parametrize("seeds", [pytest.param(range(10_000, 10_008), id="short"), *LONG])
def test_live_pcalg_gives_the_same_answer(tmp_path, seeds, rscript):
    cases = {f"problem{seed}": problem(seed, seed >= 10_000) for seed in seeds}
    for name, answered in run_pcalg(cases, rscript).items():
        path = tmp_path / f"{name}.npz"
        np.savez(path, **answered)
        check_answer(Case(path))
