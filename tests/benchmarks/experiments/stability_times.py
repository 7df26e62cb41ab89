"""What resampling costs: `stability` beside a plain loop of `pc`, and beside loops over other implementations."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pycupc

from .. import record, runs, workloads
from ..peers import stability as peers
from .gpu import Deadline

ALPHA = 0.01
SEED = 1
#: Data sets of the comparison with a plain loop, and how many turns of both are timed.
LOOPS = {"std_50_3_200": 9, "std_500_5_500": 3, "nci60": 2}
#: The data set that the other implementations are given, and their resamples.
PEERS_SET, PEERS_RESAMPLES = "std_30_3_200", 20
ON_GPU = ("riboflavin", "tcga_brca_jive")

#: Edges of some graphs: (low, high, mark at high, mark at low) and in how many graphs.
Marks = Counter[tuple[int, ...]]


def on_cpu(args: Any, threads: int) -> Iterator[dict[str, Any]]:
    """The rows of the part "times" of the experiment "stability"."""
    loops = {"std_50_3_200": 1} if args.quick else LOOPS
    for name in workloads.available(list(loops), args.data):
        yield _loop(name, args, {"engine": "cpu", "numCores": threads}, (loops[name], loops[name]))
    yield _peers(args, threads)


def stability_gpu(args: Any, deadline: Deadline) -> None:
    """Experiment "stability-gpu": 100 bootstrap resamples on the engine `gpu`, checked by the engine `cpu`."""
    result = record.new("stability-gpu", args)
    names = args.sets or (("std_50_3_200",) if args.quick else ON_GPU)
    for name in workloads.available(list(names), args.data):
        for engine in args.engines or ["gpu"]:
            if deadline.left() < 0:
                record.progress(f"{name}: not run, the deadline has passed")
                continue
            row = _loop(name, args, {"engine": engine}, (3, 1), check="cpu")
            own = {key: row[key] for key in ("set", "who")}
            result["rows"] = [r for r in result["rows"] if not own.items() <= r.items()] + [{"kind": "times", **row}]
            record.write(result, args.out)


def _loop(
    name: str, args: Any, how: dict[str, Any], turns: tuple[int, int], check: str | None = None
) -> dict[str, Any]:
    """`stability` and a loop of `pc` on the same resamples, in turns, so many of each; from the data in memory.

    The answers are compared: the edges with their marks, counted over all resamples of the loop; before that, with
    `check`, over the first two resamples on that engine.
    """
    n_resamples = 20 if args.quick else 100
    X = np.ascontiguousarray(workloads.observations(name, args.data)[0])
    row: dict[str, Any] = {"set": name, "p": X.shape[1], "n": len(X), "alpha": ALPHA, "n_resamples": n_resamples}
    row |= {"who": how["engine"], "stability": [], "loop": []}
    result = _ours(X, 2, how)
    row["differs"] = {} if check is None else _differences(result, _plain(X, result, {"engine": check}))
    with runs.quick_collection():
        for turn in range(max(turns)):
            result, taken = _timed(_ours, X, n_resamples, how)
            row["stability"].append(taken)
            if turn >= turns[1]:
                continue
            found, taken = _timed(_plain, X, result, how)
            row["loop"].append(taken)
            row["differs"] |= _differences(result, found)
    row |= {"edges_per_graph": result.mean_edges(), "tests": int(result.n_tests.sum())}
    row["edges"] = {f"{share:g}": len(result.consensus(share).sparse_graph) for share in (0.5, 0.9, 1.0)}
    seconds = {key: float(np.median(row[key])) for key in ("stability", "loop")}
    record.progress(f"{name}, {how['engine']}: {seconds}, differs: {row['differs']}")
    return row


def _ours(X: np.ndarray, n_resamples: int, how: dict[str, Any]) -> Any:
    return pycupc.stability(X, n_resamples=n_resamples, alpha=ALPHA, random_state=SEED, **how)


def _plain(X: np.ndarray, result: Any, how: dict[str, Any]) -> Marks:
    """The edges of a loop of `pc` over the resamples of a result."""
    found: Marks = Counter()
    for i in result.resamples:
        fit = pycupc.pc(pycupc.SuffStat.from_data(X[result.indices(int(i))]), alpha=ALPHA, **how)
        g = fit.sparse_graph
        found.update(zip(*(part.tolist() for part in (g.low, g.high, g.forward, g.backward)), strict=True))
    return found


def _differences(result: Any, found: Marks) -> dict[str, int]:
    """The number of marks whose counts differ; empty if all are equal."""
    (pairs,) = result.counts
    counts: Marks = Counter()
    for kind, marks in enumerate(((1, 0), (0, 1), (1, 1), (2, 2))):
        for low, high, times in zip(pairs.low, pairs.high, pairs.kinds[:, kind], strict=True):
            counts[(int(low), int(high), *marks)] = int(times)
    wrong = sum(counts[key] != found[key] for key in counts.keys() | found.keys())
    return {"marks": wrong} if wrong else {}


def _timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    return call(*arguments), time.perf_counter() - began


def _peers(args: Any, threads: int) -> dict[str, Any]:
    """Loops over other implementations: the sum of the seconds of all resamples, and graphs that differ from ours."""
    X, _ = workloads.observations(PEERS_SET, args.data)
    how = {"engine": "cpu", "numCores": threads}
    n_resamples = 4 if args.quick else PEERS_RESAMPLES
    _ours(X, 2, how)
    with runs.quick_collection():
        result, taken = _timed(_ours, X, n_resamples, how)
    rows = [result.indices(i) for i in range(n_resamples)]
    graphs = [pycupc.pc(pycupc.SuffStat.from_data(X[r]), alpha=ALPHA, **how).graph != 0 for r in rows]
    row: dict[str, Any] = {"set": PEERS_SET, "p": X.shape[1], "n": len(X), "alpha": ALPHA, "n_resamples": n_resamples}
    row |= {"who": "peers", "runs": {"cpu": {"seconds": [taken]}}}
    for peer in peers.PEERS if args.engines is None else args.engines:
        out = peers.run(peer, X, np.array(rows), ALPHA, args.peer_python, args.limit or 120.0)
        theirs = out.pop("graphs", None)
        if theirs is not None:
            other = [t != 0 for t in theirs]
            out["graphs_differ"] = sum(not np.array_equal(t, g) for t, g in zip(other, graphs, strict=True))
            skeletons = [np.triu((t | t.T) != (g | g.T)).sum() for t, g in zip(other, graphs, strict=True)]
            out["edges_differ"] = int(sum(skeletons))
        row["runs"][peer] = out
        record.progress(f"{PEERS_SET}, {peer}: {sum(out['seconds']) if 'seconds' in out else out}")
    return row
