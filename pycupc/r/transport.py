"""The Python half of the R package's transport: plain values in, plain values out, and arrays in R's own memory.

The R half is r_wrapper/R/transport.R. Between them is reticulate, from version 1.28 on, which cannot convert arrays of
NumPy 2, turns integers beyond 32 bits into 0, and must not share a process with rpy2. So an array lies in a vector of
R, which both sides see (`r_memory`); where R's C interface cannot be reached, it travels as bytes.

    array                    in R                        here                        first index on the way
    C                        double, column by column    float64 (p, p), symmetric   -
    x                        double, column by column    float64 (n, p)              -
    dm                       integer, column by column   int32 (n, p)                -
    fixedGaps, fixedEdges    raw                         uint8, bool (p, p)          -
    a result                 r_wrapper/R/pcalgo.R        pycupc.results.arrays       0 (R adds and subtracts 1)
    frequencies              r_wrapper/R/stability.R     pycupc.r.resampled          0 (the same)

A failure is a reply as well, which holds `error` (the name of the exception) and `message`.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.pc import pc
from pycupc.algorithm.skeleton import skeleton
from pycupc.engines.base import ProgressHook
from pycupc.independence.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.p_values import Filling, PValues
from pycupc.r.background import Background
from pycupc.r.explained import explain, result_from
from pycupc.r.messages import failures_in_reply, in_r
from pycupc.r.r_memory import RVectors
from pycupc.r.resampled import answer, from_values, to_values
from pycupc.r.users_test import UsersTest
from pycupc.results.arrays import sepset_arrays
from pycupc.results.comparison import compare
from pycupc.stability import stability
from pycupc.stability.checkpoint import seed_in
from pycupc.system.log import lines_to
from pycupc.system.machine import gpu_works, version_of
from pycupc.system.version import __version__ as VERSION

__all__ = ["PROTOCOL", "VERSION", "Job", "situation"]

#: Version of the messages that the two halves exchange; must equal `protocol` of r_wrapper/R/python.R.
PROTOCOL = 10


class Job:
    """One computation, driven by R: pass the arrays, `start`, `step` until the reply, fetch the arrays, `close`.

    Parameters
    ----------
    what : {"pc", "skeleton", "compare", "explain", "stability", "ask"}
        "explain": the edges of a result, or `why`; "ask": a question about a result of "stability".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._in: dict[str, Any] = {}
        self._out: dict[str, NDArray[Any]] = {}
        self._p_values: PValues | None = None
        self._filling: Filling | None = None
        self._vectors: RVectors | None = None
        self._background = Background()

    # -- arrays -----------------------------------------------------------------------------------------------------

    def connect(self, address: str) -> bool:
        """Share memory with the R environment at `address`; False if that is impossible in this process."""
        try:
            self._vectors = RVectors(address)
        except (OSError, AttributeError, ValueError):
            return False
        return True

    def see(self, name: str) -> None:
        """Take the vector `name` in R's environment as the array of that name."""
        assert self._vectors is not None
        self._in[name] = self._vectors[name].view(np.uint8)

    def put(self, name: str, block: bytes | bytearray) -> None:
        """Append a block to the array `name`, if memory is not shared."""
        self._in.setdefault(name, bytearray()).extend(block)

    def size(self, name: str) -> float:
        """Size of an array of the answer in bytes (a float, since R has no 64-bit integers)."""
        return float(self._out[name].nbytes)

    def fill(self, name: str) -> None:
        """Copy an array of the answer into the vector of that name and size in R's environment.

        For "pMax" this only begins: threads go on while R does something else, and the vector must stay where it is
        until `finish` or `close`.
        """
        assert self._vectors is not None
        vector = self._vectors[name]
        if name == "pMax" and self._p_values is not None:
            p = math.isqrt(len(vector))
            self._filling = self._p_values.fill(vector.reshape(p, p))
        else:
            vector[:] = self._out[name].reshape(-1)

    def finish(self) -> None:
        """Wait until "pMax" is filled."""
        assert self._filling is not None
        self._filling.finish()

    def take(self, name: str, start: float, count: float) -> bytearray:
        """`count` bytes of an array of the answer, from byte `start` on, if memory is not shared."""
        flat = self._out[name].reshape(-1).view(np.uint8)
        return bytearray(flat[int(start) : int(start + count)])

    # -- the computation --------------------------------------------------------------------------------------------

    def start(self, options: dict[str, Any]) -> None:
        """Start the computation in its own thread.

        Parameters
        ----------
        options : dict
            For "compare" see `_compare`, for "explain" `pycupc.r.explained.explain`, for "ask" `_answer_question`.
            Otherwise the arguments of `pycupc.pc`, `pycupc.skeleton` or `pycupc.stability` by name; `n`; `pMax`:
            whether p-values are wanted; `test`: "gaussCItest", "disCItest", "binCItest", or "" where R makes the tests;
            of discrete data `nlev`, `adaptDF` and `df`; `progress`: whether to send progress events; for `stability`
            also `seed`, None if the user gave none, and `drawn`, the seed to use in that case.
        """
        others = {"compare": self._compare, "explain": self._explain}
        others |= {"stability": self._stability, "ask": self._answer_question}
        compute = others.get(self._what, self._run)
        self._background.start(lambda: {"kind": "reply"} | compute(options))

    def step(self) -> dict[str, Any] | None:
        """The next event, None if there is none yet. Its `kind` says what R has to do:

        "tests": search for separating sets as `UsersTest` says, and `answer`; "progress": level, done, at_most,
        edges, as floats; "count": resamples done, total, as floats; "line": text, a line of the log; "reply": the
        computation has ended.
        """
        return self._background.next_event()

    def answer(self, values: list[float]) -> dict[str, Any] | None:
        """Answer an event "tests"; returns the next event, as `step`."""
        self._background.answer(values)
        return self._background.next_event()

    def close(self) -> bool:
        """Stop the computation if it runs, and the work that `fill` has begun, and release all arrays.

        False if the computation could not be stopped: it may go on, and R must leave the vectors to it.
        """
        stopped = self._background.close()
        if self._filling is not None:
            self._filling.stop()
            self._filling = None  # it refers to the result
        self._in.clear()
        self._out.clear()
        self._p_values = None
        return stopped

    def _run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Run `pc` or `skeleton`; returns plain values and never raises an Exception."""
        start = time.perf_counter()
        with failures_in_reply(options["labels"]) as reply, lines_to(self._send_line):
            arguments = self._arguments(options)
            fit = pc(**arguments) if self._what == "pc" else skeleton(**arguments)
            reply["max_ord"] = int(fit.max_ord)
            reply["engine"] = fit.engine
            note = str(fit.notes.get("quirks", ""))
            reply["quirks"] = note.replace("quirks=True", "quirks = TRUE").replace("quirks=False", "quirks = FALSE")
            reply["orientation"] = str(fit.notes.get("orientation", ""))
            reply["no_cpdag"] = self._what == "pc" and not fit.is_cpdag
            reply["cycle"] = list(fit.cycle() or ()) if reply["no_cpdag"] else []
            reply["tries"] = int(fit.notes.get("orientations_tried", 0))
            if options["pMax"] and fit.p_values.deferred:
                fit.p_values.of_edges(fit.sparse_graph)  # may take long: here, where R notices Ctrl-C
            in_place = self._vectors is not None  # p-values are then computed directly into R's matrix
            arrays = fit.to_arrays("matrix" if options["pMax"] and not in_place else None)
            self._p_values = fit.p_values if options["pMax"] and in_place else None
            reply["found"] = fit.found_sepset is not fit.sepset
            if reply["found"]:
                arrays |= sepset_arrays(fit.found_sepset, "found_")
            self._out = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
        reply["seconds"] = time.perf_counter() - start
        return reply

    def _send_line(self, text: str) -> None:
        self._background.send({"kind": "line", "text": text})

    def _arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        """Arguments of `pc`, `skeleton` or `stability`; reticulate has made Python's own types of R's."""
        labels = [str(label) for label in options["labels"]]
        arguments = {name: options[name] for name in ("alpha", "NAdelete", "m_max", "numCores", "engine")} | {
            **self._test(options, labels),
            "quirks": options["quirks"],
            "labels": labels,
            "fixedGaps": self._mask("fixedGaps", len(labels)),
            "fixedEdges": self._mask("fixedEdges", len(labels)),
            "verbose": options.get("verbose", False),
            "progress": self._progress_hook() if options["progress"] else None,
        }
        if self._what != "skeleton":
            arguments |= {name: options[name] for name in ("u2pd", "conservative", "maj_rule", "solve_confl")}
        return arguments

    def _test(self, options: dict[str, Any], labels: list[str]) -> dict[str, Any]:
        """The data and their test."""
        if "x" in self._in:  # the observations
            x = np.frombuffer(self._in["x"], dtype=np.float64).reshape(len(labels), -1).T
            return {"suffStat": SuffStat.from_data(x, labels)}  # its warnings name the variables
        if options["test"] == "gaussCItest":
            return {"suffStat": {"C": self._correlations(len(labels)), "n": options["n"]}}
        if options["test"] == "":
            return {"suffStat": None, "indepTest": UsersTest(self._background)}
        dm = np.frombuffer(self._in["dm"], dtype=np.int32).reshape(len(labels), -1).T
        nlev = options.get("nlev")
        suff_stat = DiscreteSuffStat(dm, nlev, adaptDF=options["adaptDF"], df=options["df"], labels=labels)
        return {"suffStat": suff_stat, "indepTest": binCItest if options["test"] == "binCItest" else disCItest}

    def _correlations(self, p: int) -> NDArray[np.float64]:
        """R's matrix, which is stored column by column; a symmetric one is read row by row, which avoids a copy."""
        matrix = np.frombuffer(self._in["C"], dtype=np.float64).reshape(p, p)
        return matrix if _is_symmetric(matrix.view(np.int64)) else matrix.T

    def _mask(self, name: str, p: int) -> NDArray[np.bool_] | None:
        if name not in self._in:
            return None
        return np.frombuffer(self._in[name], dtype=np.bool_).reshape(p, p)

    def _progress_hook(self) -> ProgressHook:
        """The level loop's progress hook, at most ten times per second and level, as R draws slowly."""
        last_level, last_time = -1, 0.0

        def progress(level: int, tests_done: int, tests_at_most: int, edges: int) -> None:
            nonlocal last_level, last_time
            now = time.monotonic()
            if level != last_level or now - last_time > 0.1:
                last_level, last_time = level, now
                counts = {"done": float(tests_done), "at_most": float(tests_at_most), "edges": float(edges)}
                self._background.send({"kind": "progress", "level": float(level)} | counts)

        return progress

    def _stability(self, options: dict[str, Any]) -> dict[str, Any]:
        """Run `stability`; returns plain values and never raises an Exception."""
        with failures_in_reply(options["labels"]) as reply, lines_to(self._send_line):
            arguments = self._arguments({**options, "progress": False}) | {"progress": self._count_hook()}
            kept = seed_in(options["checkpoint"]) if options["seed"] is None and options["checkpoint"] else None
            seed = options["drawn"] if options["seed"] is None else options["seed"]
            arguments |= {name: options[name] for name in ("n_resamples", "scheme", "fraction", "checkpoint")}
            result = stability(arguments.pop("suffStat"), random_state=int(seed) if kept is None else kept, **arguments)
            values, self._out = to_values(result)
            reply |= values
        return reply

    def _count_hook(self) -> Callable[[int, int], None]:
        """The hook of `stability`, at most ten times per second, as R draws slowly."""
        last = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal last
            if done == total or time.monotonic() - last > 0.1:
                last = time.monotonic()
                self._background.send({"kind": "count", "done": float(done), "total": float(total)})

        return progress

    def _answer_question(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer `question`, a method of the `Stability` whose values are in `options`, with the arguments `given`."""
        with failures_in_reply(options["labels"]) as reply:
            result = from_values(options, self._in)
            values, self._out = answer(options["question"], result, options["given"])
            reply |= values
        return reply

    def _compare(self, options: dict[str, Any]) -> dict[str, Any]:
        """Compare the results given as "a_..." and "b_..."; returns plain values and never raises an Exception."""
        with failures_in_reply(options["a_labels"]) as reply:
            a, b = result_from(self._in, options, "a_"), result_from(self._in, options, "b_")
            data = self._gaussian_data(options, a.p)
            found = compare(a, b, suffStat=data, alpha=options["alpha"], names=options["names"])
            reply |= {"equal": found.equal, "parts": found.parts, "text": found.text}
            rows = found.differences
            self._out = {
                name: np.array([getattr(row, name) for row in rows], dtype=np.int32)
                for name in ("level", "x", "y", "removed_by")
            }
            columns = {"p_a": [row.p[0] for row in rows], "p_b": [row.p[1] for row in rows]}
            columns["condition"] = [row.condition for row in rows]
            self._out |= {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
        return reply

    def _explain(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer a question about the edges of the result given as "a_..."; never raises an Exception."""
        with failures_in_reply(options["a_labels"]) as reply:
            data = self._gaussian_data(options, len(options["a_labels"]))
            values, self._out = explain(self._in, options, data)
            reply |= values
        return reply

    def _gaussian_data(self, options: dict[str, Any], p: int) -> dict[str, Any] | None:
        """The data of a result, where R gave them."""
        return {"C": self._correlations(p), "n": options["n"]} if "C" in self._in else None


def _is_symmetric(matrix: NDArray[np.int64], tile: int = 256) -> bool:
    """Whether a square matrix equals its transpose, in tiles that stay in the processor's cache."""
    starts = range(0, len(matrix), tile)
    return all(
        np.array_equal(matrix[i : i + tile, j : j + tile], matrix[j : j + tile, i : i + tile].T)
        for i in starts
        for j in starts
        if j >= i
    )


def situation() -> dict[str, str]:
    """Facts of the Python side that `cu_sitrep()` prints, in order: name to text."""
    facts = {
        "Python": f"{platform.python_version()} ({sys.executable})",
        "pycupc": f"{VERSION} ({Path(__file__).parents[1]})",
    }
    for package in ("numpy", "numba", "scipy", "pandas"):
        facts[package] = version_of(package) or f"missing: {sys.executable} -m pip install {package}"
    facts["engine cpu"] = "needs numba" if "missing" in facts["numba"] else "ready"
    works, text = gpu_works()
    facts["engine gpu"] = f"ready: {text}" if works else f"not ready: {in_r(text, ())}"
    return facts
