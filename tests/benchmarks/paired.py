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
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from . import record, workloads
from .cells import digits, markdown
from .experiments.cpu import CALIBRATION

SIDES = ("old", "new")
#: The checkout on the side "new".
SELF = record.ROOT
#: The data sets of the tables, a small one, and one on which nearly all tests are ill-conditioned.
SETS = (CALIBRATION, *workloads.SETS, "paper_2000_0.1_10000")
#: Those of the experiment "call", and what is timed: the function, and whether it starts from C or from data.
CALL_SETS = (*workloads.SETS, *workloads.EXPRESSION, "std_4919_6_295")
CALLS = ("skeleton from C", "pc from C", "pc from data")
ENGINES = ("cpu", "gpu", "cupc-e", "cupc-s")
#: Small problems, the second of them ill-conditioned, that are run before anything is measured.
FIRST = (CALIBRATION, "paper_60_0.3_200")
#: A ratio of times or of memory above this one is listed at the end.
ALLOWED = 1.03
TIMES, MEMORY = ["seconds"], ["peak_bytes", "device_bytes"]
#: Seconds that one turn of a worker takes at the least, if the runs are short; and the most runs per turn.
TURN, MOST_PER_TURN = 0.1, 20


class Worker:
    """The process that runs one checkout."""

    def __init__(self, checkout):
        path = os.pathsep.join([str(checkout), str(record.ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.paired_worker", str(checkout)],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": path.strip(os.pathsep)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do, **request):
        """Send one request and wait for its reply.

        RuntimeError if the process has ended; it has printed the reason on stderr.
        """
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            raise RuntimeError(f"the worker ended with exit code {self._process.wait()}")
        return json.loads(reply)

    def close(self):
        """End the process."""
        self._process.communicate()


def run(args):
    """Experiments "paired" (engines, one call) and "call" (one engine, all calls); returns 1 if an answer differs."""
    checkouts, whole = _both_checkouts(args), args.experiment == "call"
    results = record.Results(args.experiment, args, resume=False)
    threads, ends = args.threads or record.cores(), time.perf_counter() + args.deadline
    engines = _engines(list(args.engines or (["gpu"] if whole else ENGINES)), checkouts, threads, args)
    for name in workloads.wanted(args, CALL_SETS if whole else SETS):
        with open_workers(checkouts) as workers:
            w = workloads.load(name, args.data)
            for call, engine in [(c, e) for c in (CALLS if whole else (args.call,)) for e in engines]:
                if time.perf_counter() > ends:
                    record.progress(f"{name}, {engine}, {call}: not run, the deadline has passed")
                    continue
                _load(w, call, workers, args)
                job = {"call": call.split()[0], "engine": engine, "threads": threads}
                for side, row in compare(workers, job, args).items():
                    about = f"{checkouts[side].name} at commit {record.commit_of(checkouts[side])}"
                    results.add(**w.facts, engine=engine, call=call, side=side, **row, checkout=about)
                record.progress(f"{name}, {engine}, {call}: {_brief(*results.rows[-2:])}")
    if not results.rows:
        raise SystemExit(f"{args.experiment}: nothing could be run")
    print(text(results.rows))
    return int(any("differs" in row for row in results.rows))


def _both_checkouts(args):
    """The folders of both sides.

    SystemExit if one of them holds no package pycupc.
    """
    checkouts = dict(zip(SIDES, (args.checkout.resolve(), SELF), strict=True))
    for side, folder in checkouts.items():
        if not (folder / "pycupc" / "__init__.py").exists():
            raise SystemExit(f"{args.experiment}: the {side} checkout {folder} holds no package pycupc")
    return checkouts


@contextmanager
def open_workers(checkouts):
    """A worker per checkout."""
    workers = {side: Worker(folder) for side, folder in checkouts.items()}
    try:
        yield workers
    finally:
        for worker in workers.values():
            worker.close()


def _load(w, call, workers, args):
    """Hand the correlation matrix or, for a call from data, the observations to both workers."""
    from_data = call.endswith("data")
    numbers = np.ascontiguousarray(workloads.observations(w.name, args.data)[0]) if from_data else w.C
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as folder:
        path = Path(folder) / "numbers.npy"
        np.save(path, numbers)
        for worker in workers.values():
            source = "data" if from_data else "C"
            worker.ask("load", numbers=str(path), n=w.n, alpha=w.alpha, source=source)


def _engines(wanted, checkouts, threads, args):
    """Those of the engines that can run here, on either checkout.

    Two small problems are run with each. This compiles what is not in the caches of the machine yet, in processes that
    end before the peak memory of others is measured.

    SystemExit if an engine runs on one of the checkouts only.
    """
    absent = {}
    with open_workers(checkouts) as workers:
        for name in FIRST:
            _load(workloads.load(name, args.data), "skeleton from C", workers, args)
            for engine in [e for e in wanted if e not in absent]:
                job = {"call": args.call.split()[0], "engine": engine, "threads": threads}
                replies = {side: worker.ask("first", **job) for side, worker in workers.items()}
                reasons = {side: reply["absent"] for side, reply in replies.items() if "absent" in reply}
                if len(reasons) == 1:
                    raise SystemExit(f"paired: engine {engine} runs on one checkout only: {reasons}")
                if reasons:
                    absent[engine] = reasons
                    record.progress(f"{engine}: {reasons['new']}")
    return [e for e in wanted if e not in absent]


def compare(workers, job, args):
    """Compare the answers of both workers; if they are equal, time the workers in turns. The columns of each side."""
    first = {side: worker.ask("first", **job) for side, worker in workers.items()}
    old, new = (first[side]["answer"] for side in SIDES)
    differs = ", ".join(part for part in old if old[part] != new[part])
    rows = {side: {"tests": first[side]["tests"], "first": first[side]["seconds"]} for side in SIDES}
    for side, row in rows.items():
        peak = first[side]["peak_bytes"]
        row |= {"checked_by": "other checkout", "differs": differs, "peak_bytes": peak["host"]}
        row["device_bytes"] = peak["device"]
    if differs:
        return rows
    calls = min(MOST_PER_TURN, max(1, int(TURN / min(row["first"] for row in rows.values()))))
    times = {side: {"elapsed": [], "processor": []} for side in SIDES}
    began, turns = time.perf_counter(), 0
    while turns < args.pairs or time.perf_counter() - began < args.budget:
        for side in SIDES if turns % 2 == 0 else reversed(SIDES):
            reply = workers[side].ask("repeat", calls=calls, **job)
            for kind in ("elapsed", "processor"):
                times[side][kind] += reply[kind]
        turns += 1
    for side, row in rows.items():
        row |= record.statistics(times[side]["elapsed"]) | {"processor_min": min(times[side]["processor"])}
    return rows


def _brief(old, new):
    if "differs" in new:
        return f"the answers differ: {new['differs']}"
    return f"equal answers, {old['seconds']:.4g} -> {new['seconds']:.4g} s, new / old {ratio(old, new, 'seconds'):.3f}"


def ratio(old, new, column):
    """New divided by old; None where one of them has no such number."""
    return new[column] / old[column] if column in old and column in new else None


def pairs(rows):
    """The lines of both sides of each measurement."""
    columns = [column for column in (*record.PROBLEM, *record.WHAT) if column != "side"]
    new = {record.key(row, columns): row for row in rows if row["side"] == "new"}
    return [(row, new[record.key(row, columns)]) for row in rows if row["side"] == "old"]


def text(rows):
    """The table of times and memory, and a list of what is above `ALLOWED`."""
    both, limit = pairs(rows), f"more than {100 * (ALLOWED - 1):.0f} %"
    parts = [f"{side}: {row['checkout']}" for side, row in zip(SIDES, both[0], strict=True)]
    parts += ["", markdown(*table(both)), ""]
    for what, columns in {"is {} slower (medians)": TIMES, "needs {} more memory": MEMORY}.items():
        found = [(new, max(ratio(old, new, c) or 0 for c in columns)) for old, new in both if "differs" not in new]
        parts.append(f"new {what.format(limit)}: {_list((r, k) for r, k in found if k > ALLOWED)}")
    parts.append(f"the answers differ: {_list((new, None) for _, new in both if 'differs' in new)}")
    return "\n".join(parts)


def _list(found):
    """Data set, engine and call of some lines, with a ratio if there is one."""
    words = [f"{r['set']} {r['engine']} {r['call']}" + (f" ({k:.3f})" if k else "") for r, k in found]
    return ", ".join(words) or "none"


def table(both):
    """Medians, minimums and peak memory; for the cpu engine also processor time, which other processes disturb less."""
    heads, body = ["data set", "engine", "call", "runs per side"], []
    columns = {"seconds": ("median", 1e3), "seconds_min": ("minimum", 1e3), "processor_min": ("processor minimum", 1e3)}
    columns |= {"peak_bytes": ("host memory", 1e-6), "device_bytes": ("device memory", 1e-6)}
    for name, scale in columns.values():
        unit = "ms" if scale > 1 else "MB"
        heads += [f"{name}, old ({unit})", f"{name}, new ({unit})", "new / old"]
    for old, new in both:
        cells = [new["set"], new["engine"], new["call"], str(new.get("runs", ""))]
        if "differs" in new:
            cells[-1] = f"**the answers differ**: {new['differs']}"
        for column, (_, scale) in columns.items():
            k = ratio(old, new, column)
            if k is None or (column == "processor_min" and new["engine"] != "cpu"):
                cells += ["", "", ""]  # a process that waits for a device counts as busy
            else:
                cells += [digits(scale * old[column]), digits(scale * new[column]), f"{k:.3f}"]
        body.append(cells)
    return heads, body
