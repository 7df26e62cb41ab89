"""The Python half of the R package's transport: plain values in, plain values out, and arrays in R's own memory.

The R half is r_wrapper/R/compute.R. Between them is reticulate, from version 1.28 on, which cannot convert arrays of
NumPy 2, turns integers beyond 32 bits into 0, and must not share a process with rpy2. So an array lies in a vector of
R, which both sides see (`r_memory`).

    array                    in R                        here                        first index on the way
    C, pair_n                double, column by column    float64 (p, p), symmetric   -
    x                        double, column by column    float64 (n, p)              -
    dm                       integer, column by column   int32 (n, p)                -
    fixedGaps, fixedEdges    raw                         uint8, bool (p, p)          -
    forbidden                raw, column by column       uint8, bool (p, p)          -
    a result                 r_wrapper/R/pcalgo.R        pycupc.results.schema       1 (`conversions.from_plain`)
    frequencies              r_wrapper/R/stability.R     pycupc.r.stability_values          1
    untested                 double                      `UntestedPairs`             1, of x and y
    evidence                 raw                         `StoredResult.to_bytes`     -

A reply has the sizes of the arrays of the answer: R makes vectors for them, which `Job.fill` fills. A failure is a
reply as well, which holds `error` (the name of the exception) and `message`.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.parameters import PARAMETERS, function_of
from pycupc.data.table import Table
from pycupc.effects.adjustment import adjustment_set, is_adjustment_set
from pycupc.effects.ida import ida, ida_fast, joint_ida
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.families import FUNCTIONS
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.p_values import PValues
from pycupc.r.conversions import to_plain, untested_arrays
from pycupc.r.messages import failures_in_reply, in_r
from pycupc.r.pictures import picture
from pycupc.r.r_explanation import Answer, compared, cpdag_of, explain
from pycupc.r.r_memory import RVectors
from pycupc.r.sent_data import Sent, chosen, columns_read, data_of
from pycupc.r.stability_values import answer, ranking_values, to_values
from pycupc.r.worker_thread import Background, UsersBatch, UsersTest
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.serialisation import sepset_arrays
from pycupc.results.tests_after_levels import LaterPValues
from pycupc.stability import cstar, stability
from pycupc.stability.resample_checkpoint import seed_in
from pycupc.system.jit import end_compiling
from pycupc.system.logging import lines_to
from pycupc.system.machine import gpu_works, version_of
from pycupc.system.version import __version__ as VERSION

__all__ = ["PROTOCOL", "TESTS", "VERSION", "Job", "end_compiling", "situation"]

#: Version of the messages that the two halves exchange; must equal `protocol` of r_wrapper/R/python.R.
PROTOCOL = 22
#: The names of the tests that `indepTest` may be.
TESTS = list(FUNCTIONS)
#: The names of arguments in R that differ, with the names in Python.
_FROM_R = {row.in_r: name for name, row in PARAMETERS.items() if row.in_r}
#: The types of vectors in R, by the kind of an array.
_IN_R = {"f": "double", "i": "integer", "u": "raw"}
_MASKS = ("fixedGaps", "fixedEdges", "forbidden")


class Job(Background):
    """One computation, driven by R: `start`, `step` until the reply, `fill`, `close`.

    `what` is "pc", "skeleton", "fci", "rfci", "stability", "cstar", "effects", "correlations", "choose", "columns",
    "compare", "explain" (the edges of a result, `why`, or the explorer), "picture", "cpdag" or "ask" (a question about
    a result of "stability"); `address`: of the R environment with the vectors of the arrays. OSError if this process
    cannot see them.
    """

    def __init__(self, what: str, address: str) -> None:
        self._what, self._vectors = what, RVectors(address)
        super().__init__()
        self._in: dict[str, NDArray[Any]] = {}
        self._out: dict[str, NDArray[Any]] = {}
        self._p_values: PValues | None = None

    def start(self, options: dict[str, Any], names: Sequence[str]) -> None:
        """Start the computation in its own thread, with the arrays of these names in R's environment.

        `options` are as of `pycupc.r.r_explanation` for "compare" and "explain", of
        `pycupc.r.stability_values.answer` for "ask", of `effects` and of `_correlations`. Otherwise `arguments` of
        `pycupc.pc`, `stability` or `cstar` by name; `labels`; `test`: "gaussCItest", "disCItest", "binCItest", the name
        of a test of micd, or "" where R makes the tests, with `batch` many at a time; `n`, or of discrete data `nlev`,
        `adaptDF`, `df` and `texts`, the levels of each factor; `by_default`: whether the user has named no test;
        `pMax`, `evidence`, `progress`: whether p-values, the bytes of the result and progress events are wanted; for
        "stability" and "cstar" `drawn`, the seed if the user and the checkpoint give none.
        """
        self._in = {name: self._vectors[name] for name in names}
        self.begin(lambda: self._reply(options))

    def fill(self) -> None:
        """Copy the arrays of the answer into the vectors of their names and sizes in R's environment."""
        for name, values in self._out.items():
            self._vectors[name][:] = values.reshape(-1)
        if self._p_values is not None:
            vector = self._vectors["pMax"]
            p = math.isqrt(len(vector))
            by_column = isinstance(self._p_values, LaterPValues)  # which are not symmetric
            self._p_values.dense(vector.reshape(p, p, order="F" if by_column else "C"))

    def close(self) -> bool:
        """Stop the computation if it runs, and release all arrays.

        False if the computation could not be stopped: it may go on, and R must leave the vectors to it.
        """
        stopped = super().close()
        self._in, self._out, self._p_values = {}, {}, None
        return stopped

    def _reply(self, options: dict[str, Any]) -> dict[str, Any]:
        """Compute; returns plain values and never raises an Exception."""
        labels = options["labels" if "labels" in options else "a.labels"]
        with failures_in_reply(labels) as reply, lines_to(lambda text: self.send({"kind": "line", "text": text})):
            values, arrays = self._compute(options)
            self._out = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
            sizes = {name: [_IN_R[values.dtype.kind], float(values.size)] for name, values in self._out.items()}
            reply |= {**values, "arrays": sizes}
        return {"kind": "reply", **reply}

    def _compute(self, options: dict[str, Any]) -> Answer:
        others = {"compare": compared, "explain": explain, "cpdag": cpdag_of, "ask": answer}
        others |= {"effects": effects, "correlations": _correlations, "choose": chosen, "columns": columns_read}
        others |= {"picture": picture}
        if self._what in others:
            return others[self._what](self._in, options)
        return self._resampled(options) if self._what in ("stability", "cstar") else self._run(options)

    def _run(self, options: dict[str, Any]) -> Answer:
        start = time.perf_counter()
        arguments = self._arguments(options)
        if options["progress"]:
            arguments["progress"] = self._hook("progress", "level", "done", "at_most", "edges")
        fit = function_of(self._what)(**arguments)
        if options["pMax"]:
            self._p_values = fit.p_values
            if fit.p_values.deferred:
                fit.p_values.of_edges(fit.sparse_graph)  # may take long: here, where R notices Ctrl-C
        arrays = fit.to_arrays(None)
        if fit.found_sepset is not fit.sepset and "ambiguous_triples" in fit.notes:
            arrays |= sepset_arrays(fit.found_sepset, "found_")
        plain = to_plain(arrays) | untested_arrays(fit._tests_of_levels().untested)
        if options["evidence"]:
            plain["evidence"] = np.frombuffer(fit.to_bytes(p_values=bool(options["pMax"])), np.uint8)
        values: dict[str, Any] = {"max_ord": int(fit.max_ord), "quirks": ""}
        if isinstance(fit, PagAlgo):
            notes = (fit.skeleton_fit.notes | fit.notes).values()
            values["notes"] = [in_r(note, fit.labels) for note in notes if isinstance(note, str)]
            values["max_ord_pdsep"] = int(fit.max_ord_pdsep)
            return values, plain
        note = in_r(fit._cpdag_note(), fit.labels)
        return values | {
            "engine": fit.engine,
            "quirks": in_r(fit.notes.get("quirks", ""), fit.labels),
            "orientation": str(fit.notes.get("orientation", "")),
            "status": fit.orientation or "",
            # a random graph is drawn later, from a DAG
            "note": "" if fit.orientation == "random" else note[:1].upper() + note[1:],
            "vanished": int(fit.notes.get("edges_without_direction", 0)),
            "tries": int(fit.notes.get("orientations_tried", 0)),
            "seconds": time.perf_counter() - start,
        }, plain

    def _arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        """Arguments of the function; reticulate has made Python's own types of R's."""
        labels = [str(label) for label in options["labels"]]
        shape = 2 * [len(labels)]
        masks = {name: self._in[name].view(np.bool_).reshape(shape).T for name in _MASKS if name in self._in}
        given = {_FROM_R.get(name, name): value for name, value in options["arguments"].items()}
        arguments = {name: value for name, value in given.items() if _has(given.get("method", self._what), name)}
        return arguments | self._test(options, labels) | {"labels": labels} | masks

    def _test(self, options: dict[str, Any], labels: list[str]) -> dict[str, Any]:
        """`indepTest` and the data in the form that it takes."""
        if options["test"] == "":
            return {"suffStat": None, "indepTest": (UsersBatch if options.get("batch") else UsersTest)(self)}
        data, test = data_of(self._in, options, labels)
        return {"suffStat": data, "indepTest": test}

    def _hook(self, kind: str, *names: str) -> Callable[..., None]:
        """A progress hook that sends events with its numbers, by these names.

        They are at most ten per second, as R draws slowly, but for the first of a level and the last of a count.
        """
        level, last = -1.0, 0.0

        def hook(*numbers: int) -> None:
            nonlocal level, last
            event, now = dict(zip(names, map(float, numbers), strict=True)), time.monotonic()
            if now - last > 0.1 or event.get("level", level) != level or event["done"] == event.get("total"):
                level, last = event.get("level", level), now
                self.send({"kind": kind, **event})

        return hook

    def _resampled(self, options: dict[str, Any]) -> Answer:
        arguments = self._arguments(options) | {"progress": self._hook("count", "done", "total")}
        if arguments["random_state"] is None:
            kept = seed_in(arguments["checkpoint"]) if arguments["checkpoint"] else None
            arguments["random_state"] = options["drawn"] if kept is None else kept
        arguments["random_state"] = int(arguments["random_state"])
        data = arguments.pop("suffStat")
        if self._what == "cstar":
            return ranking_values(cstar(data, **arguments))
        return to_values(stability(data, **arguments))


def _has(method: str, name: str) -> bool:
    """Whether a method has an argument, or it is one of `stability` itself."""
    row = PARAMETERS.get(name)
    return row is None or not row.resampled or method in (*row.functions, "cstar")


def _correlations(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """`C`, and of pairwise-complete rows `n`, float64 (p, p) each; options as of `SuffStat.from_data`."""
    labels = tuple(map(str, options["labels"]))
    table = Table.of(sent["x"].reshape(len(labels), -1).T, labels)
    data = SuffStat.from_data(table, **{name: value for name, value in options.items() if name != "labels"})
    return {}, {"C": data.C} | ({} if data.pair_n is None else {"n": data.pair_n.matrix})


def situation() -> dict[str, str]:
    """Facts of the Python side that `cu_sitrep()` prints, in order: name to text."""
    facts = {
        "Python": f"{platform.python_version()} ({sys.executable})",
        "pycupc": f"{VERSION} ({Path(__file__).parents[1]})",
    }
    for package in ("numpy", "numba", "scipy"):
        facts[package] = version_of(package) or f"missing: {sys.executable} -m pip install {package}"
    facts["engine cpu"] = "needs numba" if "missing" in facts["numba"] else "ready"
    works, text = gpu_works()
    facts["engine gpu"] = f"ready: {text}" if works else f"not ready: {in_r(text, ())}"
    return facts


def effects(sent: Sent, options: Mapping[str, Any]) -> Answer:
    """The values of `options["function"]`: "ida", "idaFast", "jointIda", "adjustment" or "is_adjustment".

    `sent` holds C, float64 (p, p), but for the last two; `graph`, the graph matrix, int32, column by column, unless
    `all_pasets` are given; and `dags`, int32, row by row. `options` are `x`, `y`, lists of positions from 0; `labels`;
    and `arguments` of the function by name. Returns no values, and as arrays `values`, float64, the matrices of all y
    one after the other, each column by column, and `sizes`, the number of values of each y. A set has its positions
    from 0 as values, and the verdict on a set is 0 or 1.
    """
    labels, function, arguments = tuple(map(str, options["labels"])), options["function"], dict(options["arguments"])
    p, x, y = len(labels), options["x"], options["y"]
    graph: Any = None
    found: Sequence[Any]
    if "graph" in sent:
        sparse = SparseGraph.from_dense(sent["graph"].reshape(p, p, order="F").astype(np.int8))
        graph = NamedGraph(labels=labels, sparse_graph=sparse)
    C: Any = sent["C"].reshape(p, p, order="F") if "C" in sent else None
    if "dags" in sent:
        arguments["all_dags"] = sent["dags"].reshape(-1, p * p)
    if function == "adjustment":
        found = [[labels.index(name) for name in adjustment_set(graph, x, y, **arguments)]]
    elif function == "is_adjustment":
        found = [[is_adjustment_set(graph, x, y, **arguments)]]
    elif function == "idaFast":
        found = [ida_fast(x[0], y, C, graph)]
    else:
        of: Callable[..., Any] = ida if function == "ida" else joint_ida
        found = of(x, y, C, graph, **arguments)
    values = [np.asarray(matrix, dtype=np.float64).ravel(order="F") for matrix in found]
    sizes = np.array([len(v) for v in values], dtype=np.float64)
    return {}, {"values": np.concatenate(values), "sizes": sizes}
