"""Small runs of every GPU algorithm for a memory checker to watch; answers are compared with the cpu engine.

compute-sanitizer --tool memcheck --error-exitcode 9 python tests/gpu/sanitize.py
compute-sanitizer --tool racecheck --error-exitcode 9 python tests/gpu/sanitize.py [PART ...]

racecheck takes minutes: its parts (`PARTS`) may run side by side, in processes of their own.
"""

import dataclasses
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from discrete_runs import compare as compare_discrete
from discrete_runs import random_problem
from sieve_data import check_sieve, difficult

import pycupc
from pycupc.engines.gpu import GpuEngine, device_largest_p_values, device_tuning
from pycupc.engines.gpu.device import open_device, session
from pycupc.engines.gpu.pruning import device_bounded_walk, device_branch_and_bound
from pycupc.independence.gaussian.correlation import correlation

CASES = (  # seed, variables, observations, alpha, identical columns
    (1, 30, 500, 0.05, False),
    (2, 40, 60, 0.2, True),
    (3, 90, 400, 0.3, False),
)


def observations(seed: int, p: int, n: int, twins: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    B = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < 6 / p), -1)
    X = rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - B).T
    if twins:
        X[:, 3], X[:, 9] = X[:, 1], X[:, 4] + X[:, 5]
    return X


def correlate() -> None:
    for seed, p, n, _, twins in CASES:
        X = observations(seed, p, n, twins)
        right = np.array_equal(GpuEngine().correlation(X), correlation(X))
        print(f"p = {p}, correlations: {'right' if right else 'WRONG'}", flush=True)
        if not right:
            sys.exit(1)


def compare(engines: tuple[str, ...], what: str, **options: str) -> None:
    for seed, p, n, alpha, twins in CASES:
        X = observations(seed, p, n, twins)
        stat = X if options else {"C": np.corrcoef(X, rowvar=False), "n": n}
        want = pycupc.pc(stat, alpha=alpha, engine="cpu")
        for engine in engines:
            got = pycupc.pc(stat, alpha=alpha, engine=engine, engine_options=options or None)
            right = (
                np.array_equal(got.graph, want.graph)
                and got.n_edgetests == want.n_edgetests
                and got.sepset == want.sepset
            )
            right = right and np.allclose(got.pMax, want.pMax, rtol=1e-6, atol=1e-300)
            print(f"p = {p}, levels {want.max_ord}, {engine}{what}: {'right' if right else 'WRONG'}", flush=True)
            if not right:
                sys.exit(1)


def discrete_runs() -> None:
    for change in ({}, {"CONFIGURATIONS": 0}, {"CELLS": 300}, {"MASK_WORDS": 4352}, {"DOUBTFUL": 0}):
        tuned = {name: getattr(device_tuning, name) for name in change}
        vars(device_tuning).update(change)
        for seed in range(4):
            problem = random_problem(seed, small=True)
            if "DOUBTFUL" in change:
                problem.test.prepared = problem.test.prepared._replace(band=np.inf)
            compare_discrete(GpuEngine(), problem)
        print(f"discrete data, {change}: right", flush=True)
        vars(device_tuning).update(tuned)


def sieve() -> None:
    dev = open_device(0)
    with session(dev, lambda: None):
        for n, p in ((17, 129), (200, 300)):
            check_sieve(dev, difficult(n, p, 0.3), 0.3)
            print(f"p = {p}, n = {n}, the sieve: right", flush=True)
    compare(("gpu",), ", a matrix for each row", correlations="rows")


def searched() -> None:
    none = {"least_tests": 0.0, "tests_per_pair": 0.0, "least_sets": 0.0, "sets_per_node": 1e-3, "few_nodes": 4}
    device_branch_and_bound.TUNING = dataclasses.replace(device_branch_and_bound.TUNING, first_level=2, **none)
    device_largest_p_values.FEW_TESTS = -1.0
    compare(("gpu",), ", pairs searched, also for pMax")


def screened() -> None:
    device_bounded_walk.TUNING = dataclasses.replace(device_bounded_walk.TUNING, least_tests=0.0, most_left=2.0)
    compare(("gpu",), ", rows screened")


def tiles() -> None:
    device_tuning.BOUNDS = (3, 4, 5, 6, 7)
    compare(("gpu",), ", large rows in tiles")


def ill_tiles() -> None:
    device_tuning.BOUNDS, device_tuning.ILL_SHARE = (3, 4, 5, 6, 7), -1.0
    compare(("gpu",), ", large rows in tiles, kernels for ill-conditioned data")


def ill() -> None:
    device_tuning.ILL_SHARE = -1.0
    compare(("gpu",), ", kernels for ill-conditioned data")


#: Each leaves the tuning as it was.
PARTS: dict[str, Callable[[], None]] = {
    "discrete": discrete_runs,
    "correlations": correlate,
    "sieve": sieve,
    **{name: partial(compare, (name,), "") for name in ("gpu", "cupc-e", "cupc-s")},
    **{part.__name__: part for part in (searched, screened, tiles, ill_tiles, ill)},
}


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or PARTS:
        modules = (device_tuning, device_branch_and_bound, device_bounded_walk, device_largest_p_values)
        tuned = [dict(vars(module)) for module in modules]
        PARTS[name]()
        for module, values in zip(modules, tuned, strict=True):
            vars(module).update(values)


if __name__ == "__main__":
    main()
