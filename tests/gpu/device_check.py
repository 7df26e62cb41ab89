"""Check, then time, the GPU engines on recorded answers and on the benchmark sets.

python tests/gpu/device_check.py golden DIR            pcalg's recorded answers, all algorithms
python tests/gpu/device_check.py sets DIR [NAME ...]   benchmark sets against expected answers, then times
python tests/gpu/device_check.py p20000 DIR            20,000 variables
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pycupc.suffstat
from pycupc import citest
from pycupc.engines.gpu import ALGORITHMS, GpuEngine

SETS = {
    "nci60": 0.05, "mcc": 0.05, "saureus": 0.05, "tcga_brca_jive": 0.05, "std_1000_20_1000": 0.05,
    "stock_logret": 0.01, "std_1000_100_2000": 0.05,
}  # fmt: skip


def correlation(name: str, root: Path) -> tuple[np.ndarray, int]:
    """Correlation matrix and number of observations of a benchmark set."""
    if name.startswith("std_"):
        sys.path.insert(0, str(root / "tools"))
        from synthetic import standardised

        p, degree, n = map(int, name.split("_")[1:])
        X = standardised(p, degree, n, seed=0)
    else:
        with gzip.open(root / "data" / f"{name}.csv.gz", "rt") as f:
            X = np.loadtxt(f, delimiter=",", skiprows=1)
    return pycupc.suffstat.correlation(np.asfortranarray(X)), X.shape[0]  # memory order decides last bits


def skeleton(engine, C, n, alpha, *, m_max=np.inf, gaps=None, fixed=None, times=None):
    """The level loop, nothing else: host arrays in, host arrays out."""
    t = time.perf_counter()
    engine.start(C, n, gaps=gaps, fixed=fixed)
    level, results = 0, []
    stamps = [("start", time.perf_counter() - t)]
    while level <= m_max:
        t = time.perf_counter()
        results.append(engine.run_level(level, citest.cutoff(alpha, n, level)))
        stamps.append((level, time.perf_counter() - t))
        if not results[-1].more or not engine._pairs:
            break
        level += 1
    t = time.perf_counter()
    adjacency, kept = engine.adjacency(), engine.kept()
    stamps.append(("out", time.perf_counter() - t))
    if times is not None:
        times.append(stamps)
    return results, adjacency, kept


def sepset_cells(results):
    return {
        (int(x), int(y)): tuple(int(v) for v in S) for r in results[1:] for x, y, S in zip(r.x, r.y, r.S, strict=True)
    }


def expected_cells(d, least=1):
    ends = np.cumsum(d["sepset_len"].astype(np.int64))
    members = d["sepset_members"]
    return {
        (int(x), int(y)): tuple(int(v) for v in members[e - k : e])
        for x, y, k, e in zip(d["sepset_x"], d["sepset_y"], d["sepset_len"], ends, strict=True)
        if k >= least
    }


def compare(name, results, adjacency, d, skeleton):
    """Complaints about one answer, empty when it is right."""
    bad = []
    tests = [r.n_tests for r in results]
    want = d["n_edgetests"].astype(np.int64).tolist()
    if tests != want:
        bad.append(f"n_edgetests {tests} != {want}")
    if not np.array_equal(adjacency, skeleton):
        bad.append(f"skeleton differs in {int((adjacency != skeleton).sum()) // 2} edges")
    # sepsets as arrays: (x, y, len) sorted and members
    x = np.concatenate([r.x for r in results[1:]] or [np.empty(0, int)]).astype(np.int64)
    y = np.concatenate([r.y for r in results[1:]] or [np.empty(0, int)]).astype(np.int64)
    length = np.concatenate([np.full(len(r.x), r.level) for r in results[1:]] or [np.empty(0, int)])
    if "cells" in d:
        pass
    keep = d["sepset_len"] > 0
    ex, ey, el = (d[k][keep].astype(np.int64) for k in ("sepset_x", "sepset_y", "sepset_len"))
    ends = np.cumsum(d["sepset_len"].astype(np.int64))[keep]
    order, eorder = np.lexsort((y, x)), np.lexsort((ey, ex))
    if len(x) != len(ex) or not (
        np.array_equal(x[order], ex[eorder])
        and np.array_equal(y[order], ey[eorder])
        and np.array_equal(length[order], el[eorder])
    ):
        bad.append(f"sepset cells differ ({len(x)} against {len(ex)})")
    else:
        offset = np.concatenate([[0], np.cumsum([len(r.x) for r in results[1:]])])
        wrong = 0
        members = d["sepset_members"].astype(np.int64)
        for i, r in enumerate(results[1:]):
            at = np.arange(offset[i], offset[i + 1])
            back = np.empty(len(x), np.int64)
            back[order] = eorder
            theirs = ends[back[at]][:, None] - r.level + np.arange(r.level)
            wrong += int((members[theirs] != r.S).any(axis=1).sum()) if len(at) else 0
        if wrong:
            bad.append(f"{wrong} sepsets differ")
    return bad


def p_max(results, kept, C, n, p, gaps, fixed):
    """Dense pMax as pcalg's, from what the engine returns."""
    out = np.full((p, p), -np.inf)
    np.fill_diagonal(out, 1.0)
    x0, y0 = np.triu_indices(p, 1)
    P0 = citest.p_value(np.where(np.isnan(C), 0.0, C), n, 0)
    tested = np.ones((p, p), bool)
    if gaps is not None:
        tested &= ~gaps
    if fixed is not None:
        tested &= ~fixed
    out[x0, y0] = np.where(tested[x0, y0], P0[x0, y0], -np.inf)
    for r in results[1:]:
        pv = citest.p_value(r.r, n, r.level)
        out[np.minimum(r.x, r.y), np.maximum(r.x, r.y)] = pv
    x, y, z = kept
    out[x, y] = np.where(np.isinf(z), -np.inf, citest.z_to_p(z))
    low = np.tril_indices(p, -1)
    out[low] = out.T[low]
    return out


def golden(root: Path, algorithms) -> int:
    failures = 0
    for algorithm in algorithms:
        try:
            engine = GpuEngine(algorithm)
        except NotImplementedError:
            continue
        count = 0
        for file in sorted((root / "pcalg_golden").glob("*.npz")):
            d = dict(np.load(file))
            gaps, fixed = d.get("fixedGaps"), d.get("fixedEdges")
            gaps = None if gaps is None else gaps.astype(bool)
            fixed = None if fixed is None else fixed.astype(bool)
            C, n, alpha = d["C"], int(d["n"]), float(d["alpha"])
            try:
                options = {"m_max": float(d["m_max"]), "gaps": gaps, "fixed": fixed}
                results, adjacency, kept = skeleton(engine, C, n, alpha, **options)
                bad = compare(file.stem, results, adjacency, d, d["skeleton"])
                if results[-1].level != int(d["max_ord"]):
                    bad.append(f"max_ord {results[-1].level} != {int(d['max_ord'])}")
                P = p_max(results, kept, C, n, len(C), gaps, fixed)
                if not np.allclose(P, d["pMax"], rtol=1e-6, atol=1e-14):
                    w = np.argwhere(~np.isclose(P, d["pMax"], rtol=1e-6, atol=1e-14))
                    i, j = w[0]
                    bad.append(f"pMax differs in {len(w)} cells, first [{i}, {j}]: {P[i, j]!r} != {d['pMax'][i, j]!r}")
            except NotImplementedError:
                bad = ["not implemented"]
                failures -= 1
            failures += bool(bad)
            count += not bad
            if bad:
                print(algorithm, file.stem, "; ".join(bad)[:600], flush=True)
        print(f"golden {algorithm}: {count} right", flush=True)
    return failures


def sets(root: Path, names, algorithms, repeats, out) -> int:
    failures = 0
    table = {}
    for name in names or SETS:
        alpha = SETS[name]
        C, n = correlation(name, root)
        p = len(C)
        d = dict(np.load(root / "data" / "expected" / f"{name}_alpha{alpha}.npz"))
        want = np.unpackbits(d["skeleton_packed"])[: p * p].reshape(p, p).astype(bool)
        for algorithm in algorithms:
            engine = GpuEngine(algorithm)
            try:
                t = time.perf_counter()
                results, adjacency, _ = skeleton(engine, C, n, alpha)
                first = time.perf_counter() - t
            except NotImplementedError:
                continue
            bad = compare(name, results, adjacency, d, want)
            failures += bool(bad)
            totals, times = [], []
            for _ in range(repeats):
                results = _rest = None  # page-locked memory goes back to its pool
                t = time.perf_counter()
                results, *_rest = skeleton(engine, C, n, alpha, times=times)
                totals.append(time.perf_counter() - t)
            best = times[int(np.argsort(totals)[len(totals) // 2])] if totals else []
            verdict = "RIGHT" if not bad else "WRONG " + "; ".join(bad)[:900]
            careful = sum(r.n_careful for r in results or ())
            print(f"{name} {algorithm}: {verdict}  median {1e3 * np.median(totals):.2f} ms (first {1e3 * first:.0f})")
            print(f"   careful {careful};", " ".join(f"{k}:{1e3 * v:.2f}" for k, v in best), flush=True)
            tests = sum(r.n_tests for r in results or ())
            table[f"{name}/{algorithm}"] = {
                "right": not bad, "median": float(np.median(totals)), "first": first, "seconds": totals, "tests": tests,
                "tests_per_second": tests / float(np.median(totals)), "split_of_median": [[str(k), v] for k, v in best],
            }  # fmt: skip
            engine.close()
    if out:
        import platform

        import cupy as cp

        runtime = cp.cuda.runtime
        table["machine"] = {
            "device": runtime.getDeviceProperties(0)["name"].decode(), "driver": runtime.driverGetVersion(),
            "runtime": runtime.runtimeGetVersion(), "cupy": cp.__version__, "numpy": np.__version__,
            "python": platform.python_version(), "what": "start, levels, adjacency, kept; host arrays in and out",
        }  # fmt: skip
        table["ceilings"] = ceilings()
        print(table["machine"], table["ceilings"])
        Path(out).write_text(json.dumps(table, indent=1))
    return failures


def ceilings() -> dict:
    """What the card can do, measured: float64 matrix product, copy on the device, copy from page-locked memory."""
    import cupy as cp

    def best(call, repeats=5):
        call()
        seconds = []
        for _ in range(repeats):
            cp.cuda.runtime.deviceSynchronize()
            t = time.perf_counter()
            call()
            cp.cuda.runtime.deviceSynchronize()
            seconds.append(time.perf_counter() - t)
        return min(seconds)

    A = cp.random.default_rng(0).standard_normal((8192, 8192))
    B = cp.empty_like(A)
    pinned = cp.cuda.alloc_pinned_memory(A.nbytes)
    runtime = cp.cuda.runtime
    return {
        "float64 TFLOP/s (8192^3 product)": 2 * 8192**3 / best(lambda: cp.matmul(A, A, out=B)) / 1e12,
        "device copy TB/s (read + write)": 2 * A.nbytes / best(lambda: cp.copyto(B, A)) / 1e12,
        "host to device GB/s (page-locked)": A.nbytes
        / best(lambda: runtime.memcpy(A.data.ptr, pinned.ptr, A.nbytes, 1)) / 1e9,
    }  # fmt: skip


def calls(root: Path, names, repeats, out) -> int:
    """pycupc.skeleton() and pycupc.pc(), host arrays in and results out, checked before they are timed."""
    import pycupc

    table, failures = {}, 0
    for name in names or SETS:
        C, n = correlation(name, root)
        d = dict(np.load(root / "data" / "expected" / f"{name}_alpha{SETS[name]}.npz"))
        for call in (pycupc.skeleton, pycupc.pc):
            seconds = []
            for i in range(repeats + 2):
                t = time.perf_counter()
                fit = call({"C": C, "n": n}, alpha=SETS[name], engine="gpu")
                if i >= 2:
                    seconds.append(time.perf_counter() - t)
            right = fit.n_edgetests == d["n_edgetests"].astype(int).tolist()
            failures += not right
            table[f"{name}/{call.__name__}"] = {"right": right, "median": float(np.median(seconds)), "seconds": seconds}
            print(
                f"{name} {call.__name__}(): {1e3 * np.median(seconds):.2f} ms, n_edgetests right: {right}", flush=True
            )
    if out:
        Path(out).write_text(json.dumps(table, indent=1))
    return failures


def main() -> int:
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("what", choices=("golden", "sets", "calls"))
    a.add_argument("root", type=Path)
    a.add_argument("names", nargs="*")
    a.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS))
    a.add_argument("--repeats", type=int, default=7)
    a.add_argument("--out")
    args = a.parse_args()
    if args.what == "golden":
        return golden(args.root, args.algorithms)
    if args.what == "calls":
        return calls(args.root, args.names, args.repeats, args.out)
    return sets(args.root, args.names, args.algorithms, args.repeats, args.out)


if __name__ == "__main__":
    sys.exit(main())
