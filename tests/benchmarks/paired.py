"""Paired runs of this checkout and another one: are the answers equal, and which of the two is faster?

Each checkout runs in a process of its own. The processes take turns (old, new, new, old, ...), so that a disturbance of
the machine disturbs both. Both must give the same answer before anything is timed.

So that a process can run a checkout of any age, this module imports nothing of pycupc, and the functions that run there
use `pycupc.skeleton`, `pycupc.pc`, `pycupc.SuffStat.from_data`, `pycupc.EngineError`, and of a result `graph`,
`skeleton`, `n_edgetests` and the flat form of `sepset` alone.
"""

import gc
import importlib
import itertools
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from . import record, workloads
from .processes import peak_memory, pool
from .report import digits, markdown

SIDES = ("old", "new")
#: The checkout on the side "new".
SELF = record.ROOT
#: A small set, the sets of the tables, one on which nearly all tests are ill-conditioned, some like expression data.
SETS = (workloads.CALIBRATION, *workloads.SETS, "paper_2000_0.1_10000", *workloads.EXPRESSION, "std_4919_6_295")
CALLS = ("skeleton from C", "pc from C", "pc from data")
ENGINES = ("cpu", "gpu", "cupc-e", "cupc-s")
#: Small problems, the second of them ill-conditioned, that are run before anything is measured.
FIRST = (workloads.CALIBRATION, "paper_60_0.3_200")
#: A ratio of times or of memory above this one is listed at the end.
ALLOWED = 1.03
#: Turns of both, at least; seconds that one turn takes at the least, if the runs are short; the most runs per turn.
TURNS, TURN, MOST_PER_TURN = 3, 0.1, 20


def paired(args):
    """This checkout and the other one at CHECKOUT in turns: equal answers? time and memory, new / old.

    SystemExit if one of them holds no package pycupc.
    """
    checkouts = dict(zip(SIDES, (args.checkout.resolve(), SELF), strict=True))
    for side, folder in checkouts.items():
        if not (folder / "pycupc" / "__init__.py").exists():
            raise SystemExit(f"paired: the {side} checkout {folder} holds no package pycupc")
    about = {side: f"{folder.name} at commit {record.commit(folder)}" for side, folder in checkouts.items()}
    engines = args.engines or ENGINES
    with Workers(checkouts) as ask:  # compiles the code that is not in the caches yet, before memory is measured
        for w in (workloads.load(name, args.data) for name in FIRST):
            ask("load", w.C, w.n, w.alpha, False)
            for call, engine in itertools.product(("skeleton", "pc"), engines):
                ask("first", call, engine, args.threads)
    for name in workloads.wanted(args, SETS):
        with Workers(checkouts) as ask:
            w = workloads.load(name, args.data)
            for call in args.calls or CALLS:
                from_data = call.endswith("data")
                ask("load", workloads.observations(name, args.data) if from_data else w.C, w.n, w.alpha, from_data)
                for engine in engines:
                    for side, row in _compare(ask, (call.split()[0], engine, args.threads), args.budget).items():
                        yield {**w.facts, "engine": engine, "call": call, "side": side, **row, "checkout": about[side]}


class Workers:
    """A process per checkout; calling it runs a method of `Worker` in both, or on one side, and returns the replies."""

    def __init__(self, checkouts):
        self._pools = {side: pool(1, Worker.start, folder) for side, folder in checkouts.items()}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for each in self._pools.values():
            each.shutdown()

    def __call__(self, do, *arguments, sides=SIDES):
        return {side: self._pools[side].submit(Worker.do, do, *arguments).result() for side in sides}


def _compare(ask, job, budget):
    """Compare the answers of both workers; if they are equal, time the workers in turns. The columns of each side.

    {} if the engine runs on neither checkout; SystemExit if it runs on one of them only.
    """
    first = ask("first", *job)
    absent = {side: reply["absent"] for side, reply in first.items() if "absent" in reply}
    if absent:
        record.progress(f"{job[1]}: {absent}")
        if len(absent) == 1:
            raise SystemExit(f"paired: engine {job[1]} runs on one checkout only: {absent}")
        return {}
    old, new = (first[side].pop("answer") for side in SIDES)
    differs = ", ".join(part for part in old if old[part] != new[part])
    rows = {side: {**first[side], "checked_by": "other checkout", "differs": differs} for side in SIDES}
    if differs:
        return rows
    calls = min(MOST_PER_TURN, max(1, int(TURN / min(row["first"] for row in rows.values()))))
    times = {side: {"elapsed": [], "processor": []} for side in SIDES}
    began, turns = time.perf_counter(), 0
    while turns < TURNS or time.perf_counter() - began < budget:
        for side in SIDES if turns % 2 == 0 else reversed(SIDES):
            (reply,) = ask("repeat", *job, calls, sides=(side,)).values()
            for kind in ("elapsed", "processor"):
                times[side][kind] += reply[kind]
        turns += 1
    for side, row in rows.items():
        row |= record.statistics(times[side]["elapsed"]) | {"processor_min": min(times[side]["processor"])}
    return rows


class Worker:
    """The process of one checkout. It holds one data set: `load`, then `first` per engine, then `repeat`."""

    @classmethod
    def start(cls, checkout):
        sys.path.insert(0, str(checkout))
        cls.pycupc = importlib.import_module("pycupc")
        if checkout.resolve() not in Path(cls.pycupc.__file__).resolve().parents:
            raise ImportError(f"imported pycupc from {cls.pycupc.__file__}, not from {checkout}")

    @classmethod
    def do(cls, name, *arguments):
        return getattr(cls, name)(*arguments)

    @classmethod
    def load(cls, numbers, n, alpha, from_data):
        """Take a data set: correlations, or observations, with which every run begins anew."""
        cls.suff_stat = (lambda: cls.pycupc.SuffStat.from_data(numbers)) if from_data else {"C": numbers, "n": n}.copy
        cls.alpha = alpha
        gc.collect()
        gc.freeze()  # later collections look only at objects that the runs leave behind

    @classmethod
    def run(cls, call, engine, threads, suff_stat):
        return getattr(cls.pycupc, call)(suff_stat, alpha=cls.alpha, engine=engine, numCores=threads)

    @classmethod
    def first(cls, *job):
        """Run a small problem, then the data set once: seconds, hashes of the answer, peak memory in bytes."""
        try:
            cls.run(*job, {"C": np.eye(24) * 0.7 + 0.3, "n": 100})
        except cls.pycupc.EngineError as error:
            return {"absent": str(error)}
        gc.collect()
        with suppress(OSError):  # only Linux can do it; elsewhere the peak counts from the start
            Path("/proc/self/clear_refs").write_text("5")
        memory = importlib.import_module("cupy").get_default_memory_pool() if job[1] != "cpu" else None
        if memory:
            memory.free_all_blocks()
        began = time.perf_counter()
        fit = cls.run(*job, cls.suff_stat())
        seconds = time.perf_counter() - began
        peak = {"peak_bytes": peak_memory(), "device_bytes": memory and memory.total_bytes()}
        sets = fit.sepset.flat() if hasattr(fit.sepset, "flat") else fit.sepset.arrays()  # its name in version 0.1
        answer = {
            "edges": workloads.digest(np.packbits(fit.skeleton)),
            "separating sets": workloads.digest(*(np.asarray(part, dtype=np.int32) for part in sets)),
            "numbers of tests": [int(v) for v in fit.n_edgetests],
        }
        if job[0] == "pc":
            answer["graph"] = workloads.digest(np.asarray(fit.graph, dtype=np.int8))
        return {"first": seconds, "answer": answer, "tests": sum(answer["numbers of tests"]), **peak}

    @classmethod
    def repeat(cls, call, engine, threads, calls):
        """Run the data set `calls` times: elapsed seconds and processor seconds of each run."""
        elapsed, processor = [], []
        for _ in range(calls):
            gc.collect()
            began, began_cpu = time.perf_counter(), time.process_time()
            fit = cls.run(call, engine, threads, cls.suff_stat())
            elapsed.append(time.perf_counter() - began)
            processor.append(time.process_time() - began_cpu)
            del fit
        return {"elapsed": elapsed, "processor": processor}


#: The numbers of a measurement: the head in the table, and the factor of its unit.
NUMBERS = {
    "seconds": ("median (ms)", 1e3),
    "seconds_min": ("minimum (ms)", 1e3),
    "processor_min": ("processor minimum (ms)", 1e3),
    "peak_bytes": ("host memory (MB)", 1e-6),
    "device_bytes": ("device memory (MB)", 1e-6),
}


def text(lines):
    """The table of times and memory, new beside old; then the numbers above `ALLOWED` and the answers that differ.

    Processor time, which other processes disturb less, is shown of the cpu engine alone: a process that waits for a
    device counts as busy.
    """
    index, frame = ["set", "engine", "call"], pd.DataFrame(lines)
    frame = frame.reindex(columns=[*index, "side", "checkout", "differs", *NUMBERS])
    frame.loc[frame.engine != "cpu", "processor_min"] = np.nan
    wide = frame.pivot(index=index, columns="side", values=[*NUMBERS])
    wide = wide.reindex(pd.MultiIndex.from_frame(frame[index].drop_duplicates())).astype(float)
    table, above = wide.index.to_frame(index=False), []
    for column, (head, scale) in NUMBERS.items():
        ratio = wide[column, "new"] / wide[column, "old"]
        for side in SIDES:
            table[f"{head}, {side}"] = (scale * wide[column, side]).map(digits).array
        table[f"{head}, new / old"] = ratio.map("{:.3f}".format).where(ratio.notna(), "").array
        if column in ("seconds", "peak_bytes", "device_bytes"):
            above += [f"{head}: {' '.join(at)} ({k:.3f})" for at, k in ratio[ratio > ALLOWED].items()]
    wrong = frame[frame.differs.notna() & (frame.side == "new")]
    differ = [f"{r.set} {r.engine} {r.call} ({r.differs})" for r in wrong.itertuples()]
    listed = {f"new / old above {ALLOWED}": above, "the answers differ": differ}
    about = [f"{side}: {frame[frame.side == side].checkout.iloc[0]}" for side in SIDES]
    return "\n".join([*about, "", markdown(table), "", *(f"{k}: {', '.join(v) or 'none'}" for k, v in listed.items())])
