"""Small runs of every GPU algorithm for a memory checker to watch; answers are compared with the cpu engine.

compute-sanitizer --tool memcheck --error-exitcode 9 python tests/gpu/sanitize.py
compute-sanitizer --tool racecheck --error-exitcode 9 python tests/gpu/sanitize.py
"""

import dataclasses
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from discrete_runs import compare as compare_discrete
from discrete_runs import random_problem

import pycupc
from pycupc.engines.gpu import GpuEngine, device_largest_p_values, device_tuning
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


def correlations(seed: int, p: int, n: int, twins: bool) -> np.ndarray:
    return np.corrcoef(observations(seed, p, n, twins), rowvar=False)


def correlate() -> None:
    for seed, p, n, _, twins in CASES:
        X = observations(seed, p, n, twins)
        right = np.array_equal(GpuEngine().correlation(X), correlation(X))
        print(f"p = {p}, correlations: {'right' if right else 'WRONG'}", flush=True)
        if not right:
            sys.exit(1)


def compare(engines: tuple[str, ...], what: str) -> None:
    for seed, p, n, alpha, twins in CASES:
        stat = {"C": correlations(seed, p, n, twins), "n": n}
        want = pycupc.pc(stat, alpha=alpha, engine="cpu")
        for engine in engines:
            got = pycupc.pc(stat, alpha=alpha, engine=engine)
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


def main() -> None:
    warnings.simplefilter("ignore")
    discrete_runs()
    if sys.argv[1:] == ["discrete"]:
        return
    correlate()
    compare(("gpu", "cupc-e", "cupc-s"), "")
    tuned = device_branch_and_bound.TUNING
    none = {"least_tests": 0.0, "tests_per_pair": 0.0, "least_sets": 0.0, "sets_per_node": 1e-3, "few_nodes": 4}
    device_branch_and_bound.TUNING = dataclasses.replace(tuned, first_level=2, **none)
    device_largest_p_values.FEW_TESTS = -1.0
    compare(("gpu",), ", pairs searched, also for pMax")
    device_branch_and_bound.TUNING, tuned = tuned, device_bounded_walk.TUNING
    device_bounded_walk.TUNING = dataclasses.replace(tuned, least_tests=0.0, most_left=2.0)
    compare(("gpu",), ", rows screened")
    device_bounded_walk.TUNING = tuned
    device_tuning.BOUNDS = (3, 4, 5, 6, 7)
    compare(("gpu",), ", large rows in tiles")
    device_tuning.ILL_SHARE = -1.0
    compare(("gpu",), ", large rows in tiles, kernels for ill-conditioned data")
    device_tuning.BOUNDS = (8, 12, 16, 32, 64)
    compare(("gpu",), ", kernels for ill-conditioned data")


if __name__ == "__main__":
    main()
