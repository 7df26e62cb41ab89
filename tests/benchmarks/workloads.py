"""The data sets of the benchmarks: correlation matrix, number of observations, expected answer."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import generator

#: The data sets of both tables, each with its alpha. The first three are also in the cuPC paper.
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
PAPER_SETS = ("nci60", "mcc", "saureus")
#: Sets on which every configuration of the slower algorithms finishes in well under a second.
LIGHT = ("nci60", "mcc", "saureus", "tcga_brca_jive", "std_1000_20_1000")
#: Data sets of the heat maps. With the paper's generator nearly all tests of levels 1 and 2 are doubtful.
CONFIGURED = (*LIGHT, "paper_2000_0.1_10000")
#: Prefixes of the names of generated data sets: std_P_DEGREE_N, paper_P_DENSITY_N and hubs_P_PERCENT_N.
GENERATED = ("std_", "paper_", "hubs_")
#: The configuration that the cuPC paper chose for each of its algorithms; the heat maps are relative to it.
PAPER_CHOICE = {"cupc-e": {"beta": 2, "gamma": 32}, "cupc-s": {"theta": 64, "delta": 2}}
QUICK: dict[str, float] = {"std_100_5_500": 0.05, "std_150_6_300": 0.01}
#: mcc has identical columns, so the last bits of its correlations decide: `pack` stores these correlations exactly.
EXACT = ("mcc",)


@dataclass
class Workload:
    """One problem: correlation matrix C, float64 (p, p); n observations; alpha; source; recorded answer, if any."""

    name: str
    C: np.ndarray
    n: int
    alpha: float
    source: str
    expected: Answer | None = None

    @property
    def p(self) -> int:
        return len(self.C)


@dataclass(frozen=True)
class Answer:
    """What every engine must reproduce: edges, separating sets cell by cell, tests per level (as pcalg counts them)."""

    skeleton: np.ndarray
    sepset: tuple[np.ndarray, ...]
    n_edgetests: tuple[int, ...]

    @classmethod
    def of(cls, fit: Any) -> Answer:
        """From a `PcAlgo`."""
        return cls(fit.skeleton, fit.sepset.flat(), tuple(fit.n_edgetests))

    @property
    def digest(self) -> str:
        """Hash of the whole answer, 16 hexadecimal digits."""
        sets = (np.asarray(part, dtype=np.int32) for part in self.sepset)
        tests = np.frombuffer(repr(self.n_edgetests).encode(), dtype=np.uint8)
        return digest(np.packbits(self.skeleton), *sets, tests)

    def differences(self, other: Answer) -> dict[str, Any]:
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


def digest(*arrays: np.ndarray) -> str:
    """Hash of the contents of some arrays, 16 hexadecimal digits."""
    h = hashlib.sha256()
    for array in arrays:
        h.update(np.ascontiguousarray(array).tobytes())
    return h.hexdigest()[:16]


def expected(folder: Path, name: str, alpha: float) -> Answer | None:
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


def observations(name: str, folder: Path) -> tuple[np.ndarray, str]:
    """Observations of a data set, float64 (n, p), and their source. See `load` for the names."""
    if not name.startswith(GENERATED):
        import pandas

        return pandas.read_csv(folder / f"{name}.csv.gz").to_numpy(), f"{name}.csv.gz"
    kind, p, spread, n = name.split("_")
    if kind == "std":
        X, kind = generator.standardised(int(p), int(spread), int(n), seed=0), "standardised"
    elif kind == "hubs":
        X = generator.hubs(int(p), int(spread) / 100, int(n), seed=0)
    else:
        X = generator.paper(int(p), float(spread), int(n), seed=0)
    return X, f"{kind}({p}, {spread}, {n}, seed=0)"


def load(name: str, folder: Path, alpha: float | None = None) -> Workload:
    """A data set by name: ``std_P_DEGREE_N``, ``paper_P_DENSITY_N``, ``hubs_P_PERCENT_N`` are generated (seed 0).

    Raises
    ------
    FileNotFoundError
        If the data folder does not hold the data set.
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
            return Workload(name, C, int(z["n"]), alpha, f"{name}.csv.gz (correlations computed elsewhere)", answer)
    X, source = observations(name, folder)
    return Workload(name, correlation(X), len(X), alpha, source, answer)


def correlation(X: np.ndarray) -> np.ndarray:
    """Correlations as NumPy computes them."""
    return np.corrcoef(X, rowvar=False)


def available(names: list[str] | tuple[str, ...], folder: Path) -> list[str]:
    """Those of `names` whose data are generated or lie in the folder."""
    return [n for n in names if n.startswith(GENERATED) or (folder / f"{n}.csv.gz").exists()]


def sweeps(quick: bool) -> list[tuple[str, int, float, int]]:
    """(sweep, p, density, n) of the paper's three sweeps, which have one point in common."""
    if quick:
        return (
            [("p", p, 0.05, 500) for p in (50, 100, 150)]
            + [("n", 100, 0.05, n) for n in (250, 500, 1000)]
            + [("d", 100, d, 500) for d in (0.03, 0.05, 0.07)]
        )
    return (
        [("p", p, 0.1, 10000) for p in (1000, 2000, 3000, 4000)]
        + [("n", 1000, 0.1, n) for n in (2000, 4000, 6000, 8000, 10000)]
        + [("d", 1000, d, 10000) for d in (0.1, 0.2, 0.3, 0.4, 0.5)]
    )


def of_sweep(rows: list[dict[str, Any]], sweep: str, quick: bool) -> list[dict[str, Any]]:
    """The rows that belong to one of the sweeps "p", "n" and "d" (density)."""
    wanted = {point[1:] for point in sweeps(quick) if point[0] == sweep}
    return [r for r in rows if (r["p"], r["density"], r["n"]) in wanted]


def pack(folder: Path, out: Path) -> None:
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
