"""How good are stable edges, beside single runs and beside the bounds on false edges; and what does resampling cost?"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

import pycupc
from pycupc.data import load_example
from pycupc.stability.bounds import METHODS

from .. import generator, peers, record, runs, structures, workloads

ALPHAS = (0.001, 0.01, 0.05)
#: From 0.6 on a bound is not infinite.
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EXAMPLES = ("cell_nuclei", "nci60")
#: The times: alpha, the data sets with the turns of both loops, those for a GPU, that of the other implementations.
ALPHA, LOOPS, ON_GPU = 0.01, {"std_50_3_200": 9, "std_500_5_500": 3, "nci60": 2}, ("riboflavin", "tcga_brca_jive")
PEERS_SET, PEERS_RESAMPLES = "std_30_3_200", 20
CLUSTER_RESAMPLES, TURNS = 1000, 3


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


def stability(args):
    """Experiment "stability": the parts that --parts names, each with a file; --sets: the structures of "bounds"."""
    size = QUICK if args.quick else FULL
    parts = {"accuracy": _graphs, "bounds": _settings, "examples": _examples, "times": _loops, "peers": _others}
    for part in args.parts or parts:
        results = record.Results(f"stability-{part}", args)
        for row in parts[part](args, size):
            results.add(**row)
        record.progress(f"stability: {part} done")


def _in_processes(work, jobs, args):
    """The lines of the jobs, in their order; each process uses one thread."""
    processes = args.threads or record.cores()
    if processes == 1:
        found = map(work, jobs)
    else:
        found = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")).map(work, jobs)
    return (row for rows in found for row in rows)


def resampled(X, scheme, n_resamples, seed, threads=1):
    """`pycupc.stability` on the cpu engine for all of `ALPHAS`."""
    how = {"alpha": ALPHAS, "random_state": seed, "engine": "cpu", "numCores": threads}
    return pycupc.stability(X, n_resamples=n_resamples, scheme=scheme, **how)


def selected(result, alpha, threshold):
    """The pairs adjacent in at least a share of the resamples: bool (p, p), upper triangle."""
    return np.triu(result.consensus(threshold, alpha).sparse_graph.skeleton())


def _graphs(args, size):
    jobs = [(size.graph_p, n, seed, 2 * size.n_resamples) for n in size.n for seed in range(size.graphs)]
    return _in_processes(accuracy, jobs, args)


def accuracy(job):
    """Edges found and edges found that are true: by a single run, and by the resamples for every threshold."""
    p, n, seed, n_resamples = job
    X, dag = generator.standardised_graph(p, 3, n, seed)
    truth = np.triu(dag | dag.T, 1)
    found = []
    for alpha in ALPHAS:
        fit = pycupc.pc(pycupc.SuffStat.from_data(X), alpha=alpha, engine="cpu", numCores=1)
        found.append((alpha, "single run", None, np.triu(fit.skeleton)))
    for scheme in ("bootstrap", "complementary"):
        result = resampled(X, scheme, n_resamples, seed)
        found += [(a, scheme, share, selected(result, a, share)) for a in ALPHAS for share in THRESHOLDS]
    facts = {"set": "standardised, degree 3", "p": p, "n": n, "seed": seed, "n_resamples": n_resamples}
    facts |= {"true_edges": int(truth.sum())}
    return [
        {
            **facts,
            "alpha": alpha,
            "scheme": scheme,
            "threshold": share,
            "edges": int(F.sum()),
            "hits": int((F & truth).sum()),
        }
        for alpha, scheme, share, F in found
    ]


def _settings(args, size):
    at = [
        (name, p, n) for name in args.sets or (*structures.EQUAL, *structures.UNEQUAL) for p in size.p for n in size.n
    ]
    return _in_processes(bounds, [(*a, scheme, size) for a in at for scheme in ("subsample", "complementary")], args)


def bounds(job):
    """For every alpha and threshold: means over the repetitions of the false edges and of the finite bounds."""
    name, p, n, scheme, size = job
    data, truth = structures.draw(name, p, n, size.repetitions, seed=p + n)
    results = [resampled(X, scheme, size.n_resamples, seed) for seed, X in enumerate(data)]
    facts = {"set": name, "p": p, "n": n, "scheme": scheme, "n_resamples": size.n_resamples, "runs": size.repetitions}
    rows = []
    for alpha in ALPHAS:
        for share in THRESHOLDS[1:]:
            found = [selected(result, alpha, share) for result in results]
            false = np.array([(f & ~truth).sum() for f in found])
            row = {**facts, "alpha": alpha, "threshold": share, "false": false.mean()}
            row |= {"false_error": false.std(ddof=1) / np.sqrt(len(false))}
            if truth.any():
                row["recall"] = np.mean([(f & truth).sum() for f in found]) / truth.sum()
            means = {m: np.mean([result.bound(share, alpha, m) for result in results]) for m in METHODS[scheme]}
            rows.append({**row, **{f"bound {method}": float(b) for method, b in means.items() if np.isfinite(b)}})
    return rows


def _examples(args, size):
    """Stable edges of real data for every alpha and threshold, the bounds, and how stable those of a single run are."""
    for name in EXAMPLES[:1] if args.quick else EXAMPLES:
        if name == "cell_nuclei":
            X = load_example().to_numpy()
        elif (args.data / f"{name}.csv.gz").exists():
            X = workloads.observations(name, args.data)[0]
        else:
            record.progress(f"{name}: not in {args.data}")
            continue
        fits = {alpha: pycupc.pc(pycupc.SuffStat.from_data(X), alpha=alpha, engine="cpu") for alpha in ALPHAS}
        for scheme in ("bootstrap", "complementary"):
            result = resampled(X, scheme, 2 * size.n_resamples, seed=1, threads=args.threads)
            for alpha, fit in fits.items():
                facts = {"set": name, "p": X.shape[1], "n": len(X), "scheme": scheme, "n_resamples": result.n_resamples}
                facts |= {"alpha": alpha, "single_run": len(fit.sparse_graph), "per_resample": result.mean_edges(alpha)}
                often = np.histogram(result.frequencies(fit, alpha), bins=(0, 0.5, 0.9, 1.0))[0]
                facts |= dict(zip(("of_single_below_50", "of_single_50_to_90", "of_single_90"), often, strict=True))
                for share in THRESHOLDS:
                    edges = int(selected(result, alpha, share).sum())
                    found = {m: result.bound(share, alpha, m) for m in METHODS[scheme] if share > THRESHOLDS[0]}
                    yield {**facts, "threshold": share, "edges": edges, **{f"bound {m}": b for m, b in found.items()}}


def _loops(args, size):
    names = (
        {"std_50_3_200": 1} if args.quick else {k: v for k, v in LOOPS.items() if k in workloads.wanted(args, LOOPS)}
    )
    for name, turns in names.items():
        yield loop(name, args, {"engine": "cpu", "numCores": args.threads or record.cores()}, (turns, turns))


def stability_gpu(args, deadline):
    """Experiment "stability-gpu": 100 bootstrap resamples on the engine `gpu`, checked by the engine `cpu`."""
    results = record.Results("stability-gpu", args)
    for name in workloads.wanted(args, ON_GPU, ("std_50_3_200",)):
        for engine in args.engines or ["gpu"]:
            if deadline.left() < 0:
                record.progress(f"{name}: not run, the deadline has passed")
                continue
            results.add(**loop(name, args, {"engine": engine}, (3, 1), check="cpu"))


def loop(name, args, how, turns, check=None):
    """`stability` and a loop of `pc` on the same resamples, in turns, so many of each; from the data in memory.

    The answers are compared: the edges with their marks, counted over all resamples of the loop; before that, with
    `check`, over the first two resamples on that engine.
    """
    n_resamples = 20 if args.quick else 100
    X = np.ascontiguousarray(workloads.observations(name, args.data)[0])
    ours, loops, wrong = [], [], 0
    result = _ours(X, 2, how)
    if check is not None:
        wrong += differences(result, plain_loop(X, result, {"engine": check}))
    with runs.quick_collection():
        for turn in range(max(turns)):
            result, taken = _timed(_ours, X, n_resamples, how)
            ours.append(taken)
            if turn < turns[1]:
                found, taken = _timed(plain_loop, X, result, how)
                loops.append(taken)
                wrong += differences(result, found)
    row = {
        "set": name,
        "p": X.shape[1],
        "n": len(X),
        "alpha": ALPHA,
        "n_resamples": n_resamples,
        "engine": how["engine"],
    }
    row |= {"tests": int(result.n_tests.sum()), **record.statistics(loops, "loop"), **record.statistics(ours)}
    row |= {"checked_by": "loop of pc()", "differs": f"{wrong} marks" if wrong else ""}
    record.progress(f"{name}, {how['engine']}: {runs.brief(row)}, loop {row['loop']:.4g} s")
    return row


def _ours(X, n_resamples, how):
    return pycupc.stability(X, n_resamples=n_resamples, alpha=ALPHA, random_state=1, **how)


def plain_loop(X, result, how):
    """The edges of a loop of `pc` over the resamples of a result: Counter of (low, high, mark at low, mark at high)."""
    found = Counter()
    for i in result.resamples:
        g = pycupc.pc(pycupc.SuffStat.from_data(X[result.indices(int(i))]), alpha=ALPHA, **how).sparse_graph
        found.update(zip(*(part.tolist() for part in (g.low, g.high, g.low_mark, g.high_mark)), strict=True))
    return found


def differences(result, found):
    """The number of marks whose counts differ between a result and a loop."""
    (pairs,) = result.counts
    counts = Counter()
    for kind, marks in enumerate(((3, 2), (2, 3), (3, 3), (2, 2))):
        for low, high, times in zip(pairs.low, pairs.high, pairs.kinds[:, kind], strict=True):
            counts[(int(low), int(high), *marks)] = int(times)
    return sum(counts[key] != found[key] for key in counts.keys() | found.keys())


def _timed(call, *arguments, **options):
    began = time.perf_counter()
    return call(*arguments, **options), time.perf_counter() - began


def _others(args, size):
    """Loops over other implementations: the seconds of all resamples together, and graphs that differ from ours."""
    X, _ = workloads.observations(PEERS_SET, args.data)
    how = {"engine": "cpu", "numCores": args.threads or record.cores()}
    count = 4 if args.quick else PEERS_RESAMPLES
    _ours(X, 2, how)
    with runs.quick_collection():
        result, taken = _timed(_ours, X, count, how)
    facts = {"set": PEERS_SET, "p": X.shape[1], "n": len(X), "alpha": ALPHA, "n_resamples": count}
    yield {**facts, "engine": "cpu", "seconds": taken}
    rows = np.array([result.indices(i) for i in range(count)])
    graphs = [pycupc.pc(pycupc.SuffStat.from_data(X[r]), alpha=ALPHA, **how).graph for r in rows]
    for peer in args.engines or ("pcalg", *peers.PYTHON_PEERS):
        out = peers.resamples(peer, X, rows, ALPHA, args.peer_python, args.limit or 120.0)
        row = {key: out[key] for key in ("outcome", "limit", "why", "version") if key in out}
        if "graph" in out:
            both = list(zip(out["graph"], graphs, strict=True))
            edges = sum(peers.pairs_marked_otherwise(t | t.T, g | g.T) for t, g in both)
            graphs_differ = sum(peers.pairs_marked_otherwise(t, g) > 0 for t, g in both)
            row |= {"seconds": sum(out["times"]), "graphs_differ": graphs_differ, "edges_differ": edges}
        record.progress(f"{PEERS_SET}, {peer}: {runs.brief(row)}")
        yield {**facts, "engine": peer, **row}


def stability_cluster(args, deadline):
    """Experiment "stability-cluster": the same resamples on 1, 2, ... Dask workers (--workers), all answers equal."""
    results = record.Results("stability-cluster", args)
    n_resamples = 40 if args.quick else CLUSTER_RESAMPLES
    for name in workloads.wanted(args, ON_GPU, ("std_50_3_200",)):
        X = np.ascontiguousarray(workloads.observations(name, args.data)[0])
        how = {"alpha": ALPHA, "engine": (args.engines or ["gpu"])[0]}
        row = {"set": name, "p": X.shape[1], "n": len(X), **how, "n_resamples": n_resamples}
        expected, taken = _turns(X, n_resamples, how)
        results.add(**row, workers=0, **record.statistics(taken))
        for workers in args.workers:
            if deadline.left() < 0:
                record.progress(f"{name}, {workers} workers: not run, the deadline has passed")
                continue
            with _one_worker_per_gpu(workers) as executor:
                found, taken = _turns(X, n_resamples, {**how, "executor": executor})
            same = {"checked_by": "no executor", "differs": "" if found == expected else "result"}
            results.add(**row, workers=workers, **record.statistics(taken), **same)
            record.progress(f"{name}, {workers} workers: {taken}")


def _turns(X, n_resamples, how):
    """The result, and the seconds of each turn, from the data in memory here to the frequencies.

    The first call, with another seed, makes the workers load the package and the kernels; every study is sent to them
    anew, so that the times include sending the data.
    """
    pycupc.stability(X, n_resamples=n_resamples // 4, random_state=2, **how)
    with runs.quick_collection():
        turns = [_timed(pycupc.stability, X, n_resamples=n_resamples, random_state=3 + i, **how) for i in range(TURNS)]
    return turns[-1][0], [taken for _, taken in turns]


@contextmanager
def _one_worker_per_gpu(n):
    """The executor of a Dask cluster on this machine, of which worker i sees GPU i alone.

    dask-cuda's ``LocalCUDACluster`` makes the same cluster; it is not needed for this.
    """
    from distributed import Client, Nanny, Scheduler, SpecCluster

    common = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    own = [{"nthreads": 1, "silence_logs": 50, "env": {"CUDA_VISIBLE_DEVICES": str(i)}} for i in range(n)]
    workers = {i: {"cls": Nanny, "options": {**common, **options}} for i, options in enumerate(own)}
    scheduler = {"cls": Scheduler, "options": common}
    with SpecCluster(workers, scheduler, silence_logs=50) as cluster, Client(cluster) as client:
        client.wait_for_workers(n)
        yield client.get_executor()
