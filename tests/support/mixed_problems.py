"""Random problems of numbers and categories for micd's tests: complete, with gaps, imputed.

``R_LIBS=... python tests/support/mixed_problems.py`` records micd's answers to some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from micd import Problem, answers_of_micd

import pycupc
from pycupc.data.mixed import MixedTable
from pycupc.independence.families import family_of
from pycupc.independence.mixed.data import MixedImputation
from pycupc.independence.registry import Request

OF_ONE = ("mixCItest", "flexCItest")
GAPPED = ("mixCItwd", "flexCItwd")
IMPUTED = ("mixMItest", "flexMItest")
TESTS = OF_ONE + GAPPED + IMPUTED


def tables(kind: str, seed: int, p: int = 0, n: int = 0) -> tuple[list[np.ndarray], list[int], np.random.Generator]:
    """One table, or several imputations, of 4 or 5 variables, half of them categories; and the numbers of levels.

    In some problems levels do not occur, some of them below others that do.
    """
    rng = np.random.default_rng(seed)
    p, n = p or int(rng.integers(4, 6)), n or int(rng.integers(40, 151))
    levels = np.where(rng.random(p) < 0.5, rng.integers(2, 5, p), 0)
    levels[rng.permutation(p)[:2]] = 0, int(rng.integers(2, 5))
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += X[:, :j] @ (rng.normal(0, 0.8, j) * (rng.random(j) < 0.6))
    X = X.round(4)
    for j in np.flatnonzero(levels).tolist():
        X[:, j] = np.digitize(X[:, j], np.sort(rng.normal(0, 0.8, levels[j] - 1)))
    if seed % 4 == 3:  # levels that do not occur
        j = int(np.flatnonzero(levels)[0])
        levels[j] += 1
        X[:, j] += X[:, j] >= rng.integers(0, levels[j])
    if kind == "complete":
        return [X], levels.tolist(), rng
    holes = rng.random(X.shape) < rng.choice([0.02, 0.1, 0.2])
    if kind == "gapped":
        return [np.where(holes, np.nan, X)], levels.tolist(), rng
    made = []
    for _ in range(int(rng.integers(2, 6))):
        drawn = X[rng.integers(n, size=X.shape), np.arange(p)]
        made.append(np.where(holes, drawn + np.where(levels > 0, 0.0, rng.normal(0, 0.3, X.shape).round(4)), X))
    return made, levels.tolist(), rng


def kind_of(test: str) -> str:
    """The kind of data that a test takes."""
    return "complete" if test in OF_ONE else "gapped" if test in GAPPED else "imputed"


def data_of(test: str, problem: Problem) -> Any:
    """The data of a problem, as the test takes them."""
    values, levels = np.array(problem.tables), problem.levels
    if test in IMPUTED:
        return MixedImputation.from_values(values, levels)
    categories = tuple(tuple(map(str, range(k))) if k else None for k in levels)
    return MixedTable(values[0], categories, (False,) * len(levels), checked=True)


def problem(test: str, seed: int, n_tests: int = 0) -> Problem:
    """A problem: some tests, or if there are none a graph."""
    made, levels, rng = tables(kind_of(test), seed)
    p, asked = len(levels), []
    for _ in range(n_tests):
        asked.append((test, tuple(rng.permutation(p)[: int(rng.integers(2, p + 1))].tolist())))
    alpha = float(rng.choice([0.01, 0.05, 0.2]))
    return Problem(made, levels, alpha, asked, {} if n_tests else {test: bool(rng.integers(2))})


def made(test: str, data: Any, **how: Any) -> Any:
    """A test with its data."""
    function = getattr(pycupc, test)
    family, _ = family_of(function, data)
    return family.make(Request(data, function, 0.05, **how))


def compiled_p(test: Any, V: Sequence[int]) -> float:
    """The p-value of the compiled test of x, y and S in a row."""
    at = np.array([V], dtype=np.int64)
    return float(test.single_tests(at[:, 0], at[:, 1], at[:, 2:])[1][0])


def mixed_frame(n: int = 200, share: float = 0.1, seed: int = 0) -> pd.DataFrame:
    """A chain of numbers and categories, with missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    for j in range(1, 5):
        X[:, j] += 0.8 * X[:, j - 1]
    D = pd.DataFrame(X.round(6), columns=list("vwxyz"))
    D["v"], D["x"] = np.where(X[:, 0] > 0, "yes", "no"), np.array(["low", "mid", "high"])[np.digitize(X[:, 2], [-1, 1])]
    return D.mask(rng.random(D.shape) < share)


#: Of each test, seeds of recorded graphs, and of recorded p-values; levels do not occur where they are 3 of 4.
GRAPHS, P_VALUES = range(4), range(3, 27, 4)


def record(path: Path) -> None:
    """Write micd's answers: for each test a few graphs, and p-values of tables in which levels do not occur."""
    wanted = {f"{test}_{k}": problem(test, k) for test in TESTS for k in GRAPHS}
    wanted |= {f"{test}_p{k}": problem(test, k, 4) for test in TESTS for k in P_VALUES}
    out = {}
    for (name, asked), found in zip(wanted.items(), answers_of_micd(list(wanted.values())), strict=True):
        parts = found.runs[name.split("_")[0]] if asked.runs else {"p": found.p}
        given = {"tables": np.array(asked.tables), "levels": asked.levels, "alpha": asked.alpha}
        given["conservative"] = any(asked.runs.values())
        given["V"] = [[*V, *[-1] * (len(asked.levels) - len(V))] for _, V in asked.tests]
        out |= {f"{name}_{part}": value for part, value in (given | parts).items()}
    np.savez_compressed(path, **out)


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    """The recorded problems, with micd's answers."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in np.load(path).items():
        test, which, part = name.split("_")
        found.setdefault(f"{test}_{which}", {})[part] = value
    return found


if __name__ == "__main__":
    record(Path(__file__).parents[1] / "golden" / "mixed" / "micd.npz")
