"""The data sets of the benchmarks: correlation matrix, number of observations, expected answer."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import generator

#: The data sets of the tables, each with its alpha. The first three are also in the cuPC paper.
SETS: dict[str, float] = {
    "nci60": 0.05,
    "mcc": 0.05,
    "saureus": 0.05,
    "tcga_brca_jive": 0.05,
    "riboflavin": 0.01,
    "stock_logret": 0.01,
    "std_1000_10_1000": 0.05,
    "std_1000_20_1000": 0.05,
    "std_1000_100_2000": 0.05,
}
#: Generated sets of the size of expression data of a few thousand genes. Those with hubs have a dense graph after level
#: 0 and little after level 2.
EXPRESSION: dict[str, float] = {
    "hubs_4919_30_295": 0.01,
    "hubs_3833_35_414": 0.01,
    "hubs_3923_20_278": 0.01,
    "hubs_2598_30_520": 0.01,
    "std_2598_40_520": 0.05,
}
#: Sets on which every configuration of the slower algorithms finishes in well under a second.
LIGHT = ("nci60", "mcc", "saureus", "tcga_brca_jive", "std_1000_20_1000")
#: Prefixes of the names of generated data sets: std_P_DEGREE_N, paper_P_DENSITY_N and hubs_P_PERCENT_N.
GENERATED = ("std_", "paper_", "hubs_")
QUICK: dict[str, float] = {"std_100_5_500": 0.05, "std_150_6_300": 0.01}
#: mcc has identical columns, so the last bits of its correlations decide: `pack` stores these correlations exactly.
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
    """What every engine must reproduce: edges, separating sets cell by cell, tests per level (as pcalg counts them)."""

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
        if not np.array_equal(order, np.arange(len(x))):
            ends = np.cumsum(length, dtype=np.int64)
            members = np.concatenate([members[ends[i] - length[i] : ends[i]] for i in order])
            x, y, length = x[order], y[order], length[order]
        return Answer(skeleton, (x, y, length, members), tuple(int(v) for v in z["n_edgetests"]))


def observations(name: str, folder: Path):
    """Observations of a data set, float64 (n, p), and their source. See `load` for the names."""
    if not name.startswith(GENERATED):
        import pandas

        return pandas.read_csv(folder / f"{name}.csv.gz").to_numpy(), f"{name}.csv.gz"
    kind, p, spread, n = name.split("_")
    if kind == "std":
        X = generator.standardised(int(p), int(spread), int(n), seed=0)
    elif kind == "hubs":
        X = generator.hubs(int(p), int(spread) / 100, int(n), seed=0)
    else:
        X = generator.paper(int(p), float(spread), int(n), seed=0)
    return X, f"{kind}({p}, {spread}, {n}, seed=0)"


def load(name: str, folder: Path, alpha: float | None = None):
    """A data set by name: ``std_P_DEGREE_N``, ``paper_P_DENSITY_N``, ``hubs_P_PERCENT_N`` are generated (seed 0).

    FileNotFoundError if the data folder does not hold the data set.
    """
    alpha = {**SETS, **QUICK, **EXPRESSION}.get(name, 0.05) if alpha is None else alpha
    answer = expected(folder, name, alpha)
    exact = folder / f"{name}.correlation.npz"
    if exact.exists():
        with np.load(exact) as z:
            C, upper = np.diag(z["diagonal"]), z["upper"]
            at = np.triu_indices(len(C), 1)
            C[at] = upper
            C.T[at] = (upper.view(np.int64) + z["lower_other_bits"]).view(np.float64)
            return Workload(name, C, int(z["n"]), alpha, answer)
    return of(name, observations(name, folder)[0], alpha, answer)


def of(name: str, X: np.ndarray, alpha: float, answer: Answer | None = None):
    """The problem of some observations, with correlations as NumPy computes them."""
    return Workload(name, np.corrcoef(X, rowvar=False), len(X), alpha, answer)


def wanted(args: Any, default: Any, quick: Any = None):
    """The data sets that --sets names, else the usual ones; of these those that are generated or lie in --data."""
    names = args.sets or ((quick or QUICK) if args.quick else default)
    return [n for n in names if n.startswith(GENERATED) or (args.data / f"{n}.csv.gz").exists()]


def pack(folder: Path, out: Path):
    """Copy what the GPU experiments need into one folder, to be taken to another machine."""
    (out / "expected").mkdir(parents=True, exist_ok=True)
    for name, alpha in SETS.items():
        for path in (folder / f"{name}.csv.gz", folder / "expected" / f"{name}_alpha{alpha:g}.npz"):
            if path.exists():
                shutil.copyfile(path, out / path.relative_to(folder))
        if name in EXACT and (folder / f"{name}.csv.gz").exists():
            w = load(name, folder)
            at = np.triu_indices(w.p, 1)  # np.corrcoef is symmetric but for the last bits
            upper, lower = w.C[at], w.C.T[at]
            bits = lower.view(np.int64) - upper.view(np.int64)
            path = out / f"{name}.correlation.npz"
            np.savez_compressed(path, upper=upper, lower_other_bits=bits, diagonal=np.diag(w.C), n=w.n)
