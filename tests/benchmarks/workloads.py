"""The data sets of the benchmarks: correlation matrix, number of observations, expected answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import generators

#: The data sets of the tables. The first three are also in the cuPC paper.
SETS = ["nci60", "mcc", "saureus", "tcga_brca_jive", "riboflavin", "stock_logret"]
SETS += ["std_1000_10_1000", "std_1000_20_1000", "std_1000_100_2000"]
#: Generated sets of the size of expression data of a few thousand genes. Those with hubs have a dense graph after level
#: 0 and little after level 2.
EXPRESSION = ["hubs_4919_30_295", "hubs_3833_35_414", "hubs_3923_20_278", "hubs_2598_30_520", "std_2598_40_520"]
#: The sets whose alpha is 0.01; it is 0.05 for the others.
STRICT = ("riboflavin", "stock_logret", *EXPRESSION[:4])
#: A small data set on which every implementation runs first: it gives the time per test of each of them.
CALIBRATION = "std_100_5_500"
#: Prefixes of the names of generated data sets: std_P_DEGREE_N, paper_P_DENSITY_N and hubs_P_PERCENT_N.
GENERATED = ("std_", "paper_", "hubs_")
#: mcc has identical columns, so the last bits of its correlations decide: `prepare` stores these correlations exactly.
EXACT = ("mcc",)


@dataclass
class Workload:
    """One problem: correlation matrix C, float64 (p, p); n observations; alpha; recorded answer, if any."""

    name: str
    C: np.ndarray
    n: int
    alpha: float
    expected: Answer | None = None

    @property
    def p(self):
        return len(self.C)

    @property
    def facts(self):
        """The columns that name the problem."""
        return {"set": self.name, "p": self.p, "n": self.n, "alpha": self.alpha}


@dataclass(frozen=True)
class Answer:
    """The part of a result that all engines have in common: edges, separating sets, tests per level as pcalg counts."""

    skeleton: np.ndarray
    sepset: tuple[np.ndarray, ...]
    n_edgetests: tuple[int, ...]

    @classmethod
    def of(cls, fit: Any):
        """From a `PcAlgo`."""
        return cls(fit.skeleton, fit.sepset.flat(), tuple(fit.n_edgetests))

    @property
    def digest(self):
        """Hash of the whole answer, 16 hexadecimal digits."""
        sets = (np.asarray(part, dtype=np.int32) for part in self.sepset)
        tests = np.frombuffer(repr(self.n_edgetests).encode(), dtype=np.uint8)
        return digest(np.packbits(self.skeleton), *sets, tests)

    def differences(self, other: Answer):
        """The parts in which two answers differ; empty if they are equal."""
        out: dict[str, Any] = {}
        edges = int(np.triu(self.skeleton != other.skeleton).sum())
        if edges:
            out["edges"] = edges
        if len(self.sepset[0]) != len(other.sepset[0]) or not all(map(np.array_equal, self.sepset, other.sepset)):
            out["sepsets"] = True
        if self.n_edgetests != other.n_edgetests:
            out["n_edgetests"] = [sum(self.n_edgetests), sum(other.n_edgetests)]
        return out


def digest(*arrays: np.ndarray):
    """Hash of the contents of some arrays, 16 hexadecimal digits."""
    h = hashlib.sha256()
    for array in arrays:
        h.update(np.ascontiguousarray(array).tobytes())
    return h.hexdigest()[:16]


def expected(folder: Path, name: str, alpha: float):
    """The recorded answer for a data set, or None if there is none."""
    path = folder / "expected" / f"{name}_alpha{alpha:g}.npz"
    if not path.exists():
        return None
    with np.load(path) as z:
        p = int(z["p"])
        skeleton = np.unpackbits(z["skeleton_packed"])[: p * p].reshape(p, p).astype(bool)
        x, y, length, members = (z[f"sepset_{k}"] for k in ("x", "y", "len", "members"))
        order = np.lexsort((y, x))
        ends = np.cumsum(length, dtype=np.int64)
        members = np.concatenate([members[:0], *(members[ends[i] - length[i] : ends[i]] for i in order)])
        return Answer(skeleton, (x[order], y[order], length[order], members), tuple(map(int, z["n_edgetests"])))


def observations(name: str, folder: Path):
    """Observations of a data set, float64 (n, p). See `load` for the names."""
    if not name.startswith(GENERATED):
        import pandas

        return pandas.read_csv(folder / f"{name}.csv.gz").to_numpy()
    kind, p, spread, n = name.split("_")
    if kind == "hubs":
        return generators.hubs(int(p), int(spread) / 100, int(n), seed=0)
    make = generators.standardised if kind == "std" else generators.paper
    return make(int(p), float(spread), int(n), seed=0)[0]


def load(name: str, folder: Path, alpha: float | None = None):
    """A data set by name: ``std_P_DEGREE_N``, ``paper_P_DENSITY_N``, ``hubs_P_PERCENT_N`` are generated (seed 0).

    FileNotFoundError if the data folder does not hold the data set.
    """
    alpha = (0.01 if name in STRICT else 0.05) if alpha is None else alpha
    answer, exact = expected(folder, name, alpha), folder / f"{name}.correlation.npz"
    if exact.exists():
        with np.load(exact) as z:
            return Workload(name, z["C"], int(z["n"]), alpha, answer)
    return of(name, observations(name, folder), alpha, answer)


def of(name: str, X: np.ndarray, alpha: float, answer: Answer | None = None):
    """The problem of some observations, with correlations as NumPy computes them."""
    return Workload(name, np.corrcoef(X, rowvar=False), len(X), alpha, answer)


def wanted(args: Any, default: Any):
    """The data sets that --sets names, else the usual ones; of these those that are generated or lie in --data."""
    return [n for n in args.sets or default if n.startswith(GENERATED) or (args.data / f"{n}.csv.gz").exists()]


def prepare(folder: Path):
    """Put the exact correlations of the sets of `EXACT` into the data folder, for a machine that rounds otherwise."""
    for name in EXACT:
        if (folder / f"{name}.csv.gz").exists():
            w = load(name, folder)
            np.savez_compressed(folder / f"{name}.correlation.npz", C=w.C, n=w.n)
