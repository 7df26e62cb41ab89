"""Paired runs of this checkout and another one: are the answers equal, and which of the two is faster?

Each checkout runs in a worker process of its own, all data sets in turn. The workers take turns (old, new, new, old,
...), so that what disturbs the machine disturbs both. Both must give the same answer before anything is timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import record, workloads
from .experiments.cpu import CALIBRATION
from .report.tables import Table, digits

SIDES = ("old", "new")
#: The checkout on the side "new".
SELF = record.ROOT
#: The data sets of the tables, a small one, and one on which nearly all tests are ill-conditioned.
SETS = (CALIBRATION, *workloads.SETS, "paper_2000_0.1_10000")
ENGINES = ("cpu", "gpu", "cupc-e", "cupc-s")
#: Small problems, the second of them ill-conditioned, that are run before anything is measured.
FIRST = (CALIBRATION, "paper_60_0.3_200")
#: A ratio of times or of memory above this one is listed at the end.
ALLOWED = 1.03
#: Seconds that one turn of a worker takes at the least, if the runs are short; and the most runs per turn.
TURN, MOST_PER_TURN = 0.1, 20


class Worker:
    """The process that runs one checkout."""

    def __init__(self, checkout: Path) -> None:
        path = os.pathsep.join([str(checkout), str(record.ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.paired_worker", str(checkout)],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": path.strip(os.pathsep)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply.

        Raises
        ------
        RuntimeError
            If the process has ended; it has printed the reason on stderr.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            raise RuntimeError(f"the worker ended with exit code {self._process.wait()}")
        return json.loads(reply)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def run(args: Any) -> int:
    """Experiment "paired"; returns 1 if an answer differs, else 0."""
    checkouts = both_checkouts(args)
    result = record.new("paired", args, resume=False)
    result["checkouts"] = named(checkouts)
    result["threads"] = args.threads or len(os.sched_getaffinity(0))
    ends = time.perf_counter() + args.deadline
    engines = _engines(list(args.engines or ENGINES), checkouts, result["threads"], args)
    names = list(args.sets or (workloads.QUICK if args.quick else SETS))
    for name in workloads.available(names, args.data):
        w = workloads.load(name, args.data)
        with open_workers(checkouts) as workers:
            load(w.C, w.n, w.alpha, workers)
            for engine in engines:
                if time.perf_counter() > ends:
                    record.progress(f"{name}, {engine}: not run, the deadline has passed")
                    continue
                row = {"set": name, "p": w.p, "n": w.n, "alpha": w.alpha, "engine": engine, "call": args.call}
                row |= compare(workers, {"call": args.call, "engine": engine, "threads": result["threads"]}, args)
                result["rows"].append(row)
                record.progress(f"{name}, {engine}: {_brief(row)}")
                if args.out is not None:
                    record.write(result, args.out)
    if not result["rows"]:
        raise SystemExit("paired: nothing could be run")
    print(text(result))
    return int(any(row["differs"] for row in result["rows"]))


def both_checkouts(args: Any) -> dict[str, Path]:
    """The folders of both sides.

    Raises
    ------
    SystemExit
        If one of them holds no package pycupc.
    """
    checkouts = dict(zip(SIDES, (args.checkout.resolve(), SELF), strict=True))
    for side, folder in checkouts.items():
        if not (folder / "pycupc" / "__init__.py").exists():
            raise SystemExit(f"{args.experiment}: the {side} checkout {folder} holds no package pycupc")
    return checkouts


def named(checkouts: dict[str, Path]) -> dict[str, str]:
    """Folder and commit of both sides."""
    return {side: f"{folder.name} at commit {record.commit_of(folder)}" for side, folder in checkouts.items()}


@contextmanager
def open_workers(checkouts: dict[str, Path]) -> Iterator[dict[str, Worker]]:
    """A worker per checkout."""
    workers = {side: Worker(folder) for side, folder in checkouts.items()}
    try:
        yield workers
    finally:
        for worker in workers.values():
            worker.close()


def load(numbers: np.ndarray, n: int, alpha: float, workers: dict[str, Worker], source: str = "C") -> None:
    """Hand the correlation matrix, or (source "data") the observations, to both workers."""
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as folder:
        path = Path(folder) / "numbers.npy"
        np.save(path, numbers)
        for worker in workers.values():
            worker.ask("load", numbers=str(path), n=n, alpha=alpha, source=source)


def _engines(wanted: list[str], checkouts: dict[str, Path], threads: int, args: Any) -> list[str]:
    """Those of the engines that can run here, on either checkout.

    Two small problems are run with each. This compiles what is not in the caches of the machine yet, in processes that
    end before the peak memory of others is measured.

    Raises
    ------
    SystemExit
        If an engine runs on one of the checkouts only.
    """
    absent: dict[str, dict[str, str]] = {}
    with open_workers(checkouts) as workers:
        for name in FIRST:
            w = workloads.load(name, args.data)
            load(w.C, w.n, w.alpha, workers)
            for engine in [e for e in wanted if e not in absent]:
                job = {"call": args.call, "engine": engine, "threads": threads}
                replies = {side: worker.ask("first", **job) for side, worker in workers.items()}
                reasons = {side: reply["absent"] for side, reply in replies.items() if "absent" in reply}
                if len(reasons) == 1:
                    raise SystemExit(f"paired: engine {engine} runs on one checkout only: {reasons}")
                if reasons:
                    absent[engine] = reasons
                    record.progress(f"{engine}: {reasons['new']}")
    return [e for e in wanted if e not in absent]


def compare(workers: dict[str, Worker], job: dict[str, Any], args: Any) -> dict[str, Any]:
    """Compare the answers of both workers; if they are equal, time the workers in turns."""
    first = {side: worker.ask("first", **job) for side, worker in workers.items()}
    old, new = (first[side]["answer"] for side in SIDES)
    out: dict[str, Any] = {
        "tests": first["new"]["tests"],
        "first": {side: reply["seconds"] for side, reply in first.items()},
        "peak_bytes": {side: reply["peak_bytes"] for side, reply in first.items()},
        "differs": [part for part in old if old[part] != new[part]],
        "elapsed": {side: [] for side in SIDES},
        "processor": {side: [] for side in SIDES},
    }
    if out["differs"]:
        return out
    calls = min(MOST_PER_TURN, max(1, int(TURN / min(out["first"].values()))))
    began, turns = time.perf_counter(), 0
    while turns < args.pairs or time.perf_counter() - began < args.budget:
        for side in SIDES if turns % 2 == 0 else reversed(SIDES):
            reply = workers[side].ask("repeat", calls=calls, **job)
            for key in ("elapsed", "processor"):
                out[key][side] += reply[key]
        turns += 1
    return out


def ratio(row: dict[str, Any], key: str, statistic: Callable[[list[float]], Any]) -> float:
    """New divided by old: a statistic of "elapsed" or "processor" seconds."""
    return float(statistic(row[key]["new"]) / statistic(row[key]["old"]))


def _brief(row: dict[str, Any]) -> str:
    if row["differs"]:
        return f"the answers differ: {', '.join(row['differs'])}"
    return f"equal answers, new / old {ratio(row, 'elapsed', np.median):.3f}, {len(row['elapsed']['new'])} runs each"


def text(result: dict[str, Any]) -> str:
    """The tables of times and of memory, and what is above `ALLOWED`."""
    old, new = (result["checkouts"][side] for side in SIDES)
    parts = [f"old: {old}; new: {new}; {result['threads']} threads; times of `pycupc.{result['rows'][0]['call']}`"]
    parts += ["", _times(result["rows"]).markdown(), "", _memory(result["rows"]).markdown(), ""]
    limit = f"more than {100 * (ALLOWED - 1):.0f} %"
    slower = [(r, k) for r in result["rows"] if not r["differs"] and (k := ratio(r, "elapsed", np.median)) > ALLOWED]
    parts.append(f"new is {limit} slower (medians): {_list(slower)}")
    larger = [(r, k) for r in result["rows"] if not r["differs"] and (k := max(_memory_ratios(r))) > ALLOWED]
    parts.append(f"new needs {limit} more memory: {_list(larger)}")
    parts.append(f"the answers differ: {_list([(r, None) for r in result['rows'] if r['differs']])}")
    return "\n".join(parts)


def _list(found: Sequence[tuple[dict[str, Any], float | None]]) -> str:
    """Data set and engine of some rows, with a ratio if there is one."""
    return ", ".join(f"{r['set']} {r['engine']}" + (f" ({k:.3f})" if k else "") for r, k in found) or "none"


def _times(rows: list[dict[str, Any]]) -> Table:
    """Medians and minimums; for the cpu engine also processor time, which other processes disturb less."""
    heads = ["data set", "engine", "runs per side"]
    for name in ("median", "minimum", "processor time, minimum"):
        heads += [f"{name}, old (ms)", f"{name}, new (ms)", "new / old"]
    body = []
    for r in rows:
        cells = [r["set"], r["engine"]]
        if r["differs"]:
            body.append([*cells, f"**the answers differ**: {', '.join(r['differs'])}", *[""] * (len(heads) - 3)])
            continue
        cells.append(str(len(r["elapsed"]["new"])))
        for key, statistic in (("elapsed", np.median), ("elapsed", np.min), ("processor", np.min)):
            if key == "processor" and r["engine"] != "cpu":
                cells += ["", "", ""]  # a process that waits for a device counts as busy
                continue
            cells += [digits(1e3 * float(statistic(r[key][side]))) for side in SIDES]
            cells.append(f"{ratio(r, key, statistic):.3f}")
        body.append(cells)
    return Table(heads, body)


def _memory_ratios(row: dict[str, Any]) -> list[float]:
    """New divided by old: peak memory of the host and, for a GPU engine, of the device."""
    peak = row["peak_bytes"]
    return [peak["new"][where] / peak["old"][where] for where in ("host", "device") if peak["old"][where]]


def _memory(rows: list[dict[str, Any]]) -> Table:
    """Peak memory of the first run: resident memory of the process, and arrays on the device."""
    heads = ["data set", "engine"]
    for where in ("host", "device"):
        heads += [f"{where} memory, old (MB)", f"{where} memory, new (MB)", "new / old"]
    body = []
    for r in rows:
        cells = [r["set"], r["engine"]]
        for where in ("host", "device"):
            old, new = (r["peak_bytes"][side][where] for side in SIDES)
            cells += [f"{old / 1e6:,.1f}", f"{new / 1e6:,.1f}", f"{new / old:.3f}"] if old else ["", "", ""]
        body.append(cells)
    return Table(heads, body)
