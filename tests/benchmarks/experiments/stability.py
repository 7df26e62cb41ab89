"""How good are stable edges? Against single runs on graphs that are known, and against the bounds on false edges."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import pycupc
from pycupc.data import load_example
from pycupc.stability.bounds import METHODS

from .. import generator, record, structures, workloads
from . import stability_times

ALPHAS = (0.001, 0.01, 0.05)
#: From 0.6 on a bound is not infinite.
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EXAMPLES = ("cell_nuclei", "nci60")


class Size(NamedTuple):
    """How much is run: random graphs and their variables; then the other structures."""

    graphs: int
    graph_p: int
    p: tuple[int, ...]
    n: tuple[int, ...]
    repetitions: int
    n_resamples: int


FULL = Size(graphs=20, graph_p=50, p=(20, 40), n=(100, 400), repetitions=16, n_resamples=50)
QUICK = Size(graphs=2, graph_p=20, p=(12,), n=(60,), repetitions=3, n_resamples=20)


def stability(args: Any) -> None:
    """Experiment "stability": the parts that --parts names; --sets: the structures of the part "bounds"."""
    result = record.new("stability", args)
    size = QUICK if args.quick else FULL
    result["threads"] = args.threads or len(os.sched_getaffinity(0))
    parts: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        "accuracy": lambda: _in_processes(_accuracy, list(_graphs(size)), result["threads"]),
        "bounds": lambda: _in_processes(_bounds, list(_designs(size, args.sets)), result["threads"]),
        "examples": lambda: _examples(args),
        "times": lambda: stability_times.on_cpu(args, result["threads"]),
    }
    for part in args.parts or parts:
        result["rows"] = [row for row in result["rows"] if row["kind"] != part]
        for row in parts[part]():
            result["rows"].append({"kind": part, **row})
            record.write(result, args.out)
        record.progress(f"stability: {part} done")


def _in_processes(work: Callable[..., Any], jobs: list[Any], processes: int) -> Iterator[Any]:
    """The results of the jobs, in their order; each process uses one thread."""
    if processes == 1:
        yield from map(work, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, jobs)


def run(X: np.ndarray, scheme: str, n_resamples: int, seed: int, threads: int = 1) -> Any:
    """`pycupc.stability` on the cpu engine for all of `ALPHAS`."""
    how = {"alpha": ALPHAS, "random_state": seed, "engine": "cpu", "numCores": threads}
    return pycupc.stability(X, n_resamples=n_resamples, scheme=scheme, **how)


def often(result: Any, alpha: float, share: float) -> np.ndarray:
    """The pairs adjacent in at least a share of the resamples: bool (p, p), upper triangle."""
    return np.triu(result.consensus(share, alpha).sparse_graph.skeleton())


# -- the consensus against single runs --------------------------------------------------------------------------------


def _graphs(size: Size) -> Iterator[tuple[int, int, int, int]]:
    """(p, n, seed, n_resamples) of random graphs with 3 neighbours on average."""
    for n in size.n:
        for seed in range(size.graphs):
            yield size.graph_p, n, seed, 2 * size.n_resamples


def _accuracy(job: tuple[int, int, int, int]) -> dict[str, Any]:
    """Edges found and edges found that are true: by single runs, and by the consensus for every share."""
    p, n, seed, n_resamples = job
    X, dag = generator.standardised_graph(p, 3, n, seed)
    truth = np.triu(dag | dag.T, 1)
    values = []
    for alpha in ALPHAS:
        fit = pycupc.pc(pycupc.SuffStat.from_data(X), alpha=alpha, engine="cpu", numCores=1)
        values.append({"who": "single run", "alpha": alpha, "share": None, **_hits(np.triu(fit.skeleton), truth)})
    for scheme in ("bootstrap", "complementary"):
        result = run(X, scheme, n_resamples, seed)
        for alpha in ALPHAS:
            for share in SHARES:
                found = _hits(often(result, alpha, share), truth)
                values.append({"who": scheme, "alpha": alpha, "share": share, **found})
    facts = {"set": "standardised, degree 3", "p": p, "n": n, "seed": seed, "n_resamples": n_resamples}
    return {**facts, "true_edges": int(truth.sum()), "values": values}


def _hits(found: np.ndarray, truth: np.ndarray) -> dict[str, int]:
    return {"edges": int(found.sum()), "hits": int((found & truth).sum())}


# -- the bounds -------------------------------------------------------------------------------------------------------


def _designs(size: Size, names: list[str] | None) -> Iterator[tuple[str, int, int, str, Size]]:
    """Structure, p, n and scheme."""
    for name in names or (*structures.EQUAL, *structures.UNEQUAL):
        for p in size.p:
            for n in size.n:
                for scheme in ("subsample", "complementary"):
                    yield name, p, n, scheme, size


def _bounds(job: tuple[str, int, int, str, Size]) -> dict[str, Any]:
    """Means over the repetitions of the false edges and of the bounds, for every alpha and share."""
    name, p, n, scheme, size = job
    data, truth = structures.draw(name, p, n, size.repetitions, seed=p + n)
    results = [run(X, scheme, size.n_resamples, seed) for seed, X in enumerate(data)]
    values = []
    for alpha in ALPHAS:
        for share in SHARES[1:]:
            found = [often(result, alpha, share) for result in results]
            false = np.array([(f & ~truth).sum() for f in found])
            bounds = {
                method: float(np.mean([result.bound(share, alpha, method) for result in results]))
                for method in METHODS[scheme]
            }
            values.append(
                {
                    "alpha": alpha,
                    "share": share,
                    "edges_per_graph": float(np.mean([result.mean_edges(alpha) for result in results])),
                    "true": float(np.mean([(f & truth).sum() for f in found])),
                    "false": float(false.mean()),
                    "false_error": float(false.std(ddof=1) / np.sqrt(len(false))),
                    "bounds": bounds,
                }
            )
    facts = {"set": name, "p": p, "n": n, "who": scheme, "n_resamples": size.n_resamples}
    facts["repetitions"] = size.repetitions
    return {**facts, "true_edges": int(truth.sum()), "values": values}


# -- real data --------------------------------------------------------------------------------------------------------


def _examples(args: Any) -> Iterator[dict[str, Any]]:
    """Stable edges of real data for every alpha and share, the bounds, and how stable the edges of a single run are."""
    names = EXAMPLES[:1] if args.quick else EXAMPLES
    for name in names:
        if name == "cell_nuclei":
            X = load_example().to_numpy()
        elif workloads.available([name], args.data):
            X = workloads.observations(name, args.data)[0]
        else:
            record.progress(f"{name}: not in {args.data}")
            continue
        fits = {alpha: pycupc.pc(pycupc.SuffStat.from_data(X), alpha=alpha, engine="cpu") for alpha in ALPHAS}
        for scheme in ("bootstrap", "complementary"):
            result = run(X, scheme, 20 if args.quick else 100, seed=1, threads=args.threads)
            values = [_stable(result, fits[alpha], alpha, scheme) for alpha in ALPHAS]
            facts = {"set": name, "p": X.shape[1], "n": len(X), "who": scheme, "n_resamples": result.n_resamples}
            yield {**facts, "values": values}
            record.progress(f"{name}, {scheme}: done")


def _stable(result: Any, fit: Any, alpha: float, scheme: str) -> dict[str, Any]:
    bounds = {method: [result.bound(share, alpha, method) for share in SHARES[1:]] for method in METHODS[scheme]}
    return {
        "alpha": alpha,
        "single_run": len(fit.sparse_graph),
        "edges_per_graph": result.mean_edges(alpha),
        "ever": len(result.counts[ALPHAS.index(alpha)].low),
        "edges": {f"{share:g}": int(often(result, alpha, share).sum()) for share in SHARES},
        "of_single_run": np.histogram(result.frequencies(fit, alpha), bins=(0, 0.5, 0.9, 1.0))[0],
        "bounds": bounds,
    }
