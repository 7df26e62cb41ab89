"""Random problems of discrete data, and the comparison of an engine's levels with those of the CPU engine."""

from dataclasses import dataclass

import numpy as np

from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.protocol import Engine
from pycupc.graph.pairs import Pairs
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.discrete.test import DiscreteTest


@dataclass(frozen=True)
class Problem:
    """What the engines get; `most`: the last level to run."""

    test: DiscreteTest
    gaps: Pairs | None
    fixed: Pairs | None
    most: int


def random_problem(seed: int, *, small: bool = False, n: int | None = None, observed: bool = False) -> Problem:
    """Codes that depend on up to three earlier variables each; levels 2 to 5, in every fourth problem some up to 40.

    `observed`: the degrees of freedom are those observed, instead of pcalg's by turns with adaptDF and quirks.
    """
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 9 if small else 41))
    n = n or int(rng.choice([20, 100, 101, 500, 1300] if small else [20, 100, 515, 1000, 5000, 12007, 20000]))
    levels = rng.integers(2, 3 if seed % 5 == 0 else 6, size=p)
    if seed % 4 == 3:
        levels[rng.integers(p, size=max(1, p // 4))] = rng.integers(6, 41)
    codes = np.empty((p, n), dtype=np.int64)
    noise = rng.uniform(0.05, 0.9)
    for j in range(p):
        parents = rng.choice(j, size=min(j, int(rng.integers(0, 4))), replace=False)
        mixed = np.zeros(n, dtype=np.int64)
        for parent in parents:
            mixed = mixed * 3 + codes[parent]
        own = (rng.random(n) * rng.random(n) * levels[j]).astype(np.int64)
        codes[j] = np.where(rng.random(n) < noise, own, mixed % levels[j])
    if seed % 7 == 2:
        codes[-1] = codes[0] % levels[-1]
    gaps = fixed = None
    if seed % 3 == 1:
        gaps = rng.random((p, p)) < 0.1
        gaps = Pairs.of_matrix(gaps | gaps.T)
    if seed % 3 == 2:
        fixed = rng.random((p, p)) < 0.1
        fixed = Pairs.of_matrix(fixed | fixed.T)
    df = "observed" if observed else "pcalg"
    suff = DiscreteSuffStat(codes.T, levels, adaptDF=not observed and bool(seed % 2), df=df)
    alpha = float(rng.choice([0.001, 0.01, 0.05, 0.2]))
    return Problem(DiscreteTest(suff, alpha, quirks=not observed and bool(seed // 2 % 2)), gaps, fixed, 20)


def compare(engine: Engine, problem: Problem) -> list[int]:
    """Run both engines level by level; they must agree in everything. Returns the tests of each level."""
    cpu = CpuEngine(threads=1)
    for e in (cpu, engine):
        e.take(problem.test, [str(k) for k in range(problem.test.p)], gaps=problem.gaps, fixed=problem.fixed)
    tests = []
    for level in range(problem.most + 1):
        want, got = (e.run_level(level) for e in (cpu, engine))
        (x, y, z, *_), (cpu_x, cpu_y, cpu_z, *_) = engine.state(), cpu.state()
        for field in ("level", "n_tests", "n_removed", "more"):
            assert getattr(got, field) == getattr(want, field), (level, field, got, want)
        for field in ("x", "y", "S"):
            np.testing.assert_array_equal(getattr(got, field), getattr(want, field), err_msg=f"{level} {field}")
        np.testing.assert_allclose(got.r, want.r, rtol=1e-8, atol=1e-300)
        np.testing.assert_array_equal(x, cpu_x)
        np.testing.assert_array_equal(y, cpu_y)
        np.testing.assert_allclose(z, cpu_z, rtol=1e-8, atol=1e-300)
        tests.append(want.n_tests)
        if not want.more or not len(x):
            break
    engine.close()
    return tests


PARTS_OF_MASKS = {"MASK_WORDS": 4096 + 256, "FIRST_SETS": 1, "GROWTH": 1}


TUNING = ({"CONFIGURATIONS": 0}, {"CELLS": 300}, PARTS_OF_MASKS, {"DOUBTFUL": 0})
