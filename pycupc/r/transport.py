"""The Python half of the R package's transport: bytes, plain numbers and strings in, the same out.

The R half is `r_wrapper/R/transport.R`. Between them stands reticulate, from 1.28 on, which cannot convert arrays of
NumPy 2, knows no ints beyond 32 bits and must not meet rpy2. What travels:

    array              R                         here                        index base on the wire
    C                  double, column-major      float64 (p, p), symmetric   -
    fixedGaps,
    fixedEdges         logical -> raw            uint8 -> bool (p, p)        -
    a result           see `pycupc.results.arrays`                                     0 (R adds 1)

A failure is an answer too: the reply then holds `error` (the name of the exception) and `message`.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pycupc.results.arrays import ANSWER, only_stored_cells
from pycupc.results.pcalgo import PcAlgo
from pycupc.version import __version__ as VERSION

#: Must equal `protocol` of r_wrapper/R/python.R.
PROTOCOL = 1

__all__ = ["PROTOCOL", "VERSION", "Job", "situation"]


class Job:
    """One computation: `put` the arrays, `run`, `take` the arrays of the answer.

    Parameters
    ----------
    what : {"pc", "skeleton", "compare"}
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._in: dict[str, bytearray] = {}
        self._out: dict[str, np.ndarray] = {}

    def put(self, name: str, block: bytes | bytearray) -> None:
        """Append a block to the array `name`."""
        self._in.setdefault(name, bytearray()).extend(block)

    def size(self, name: str) -> float:
        """Bytes of an array of the answer (a float: R has no 64-bit integer)."""
        return float(self._out[name].nbytes)

    def take(self, name: str, start: float, count: float) -> bytearray:
        """`count` bytes of an array of the answer, from byte `start` on."""
        flat = self._out[name].reshape(-1).view(np.uint8)
        return bytearray(flat[int(start) : int(start + count)])

    def close(self) -> None:
        """Forget all arrays."""
        self._in.clear()
        self._out.clear()

    def run(
        self,
        options: dict[str, Any],
        tell: Callable | None = None,
        say: Callable | None = None,
        test: Callable | None = None,
    ) -> dict:
        """Compute; returns plain values and never raises.

        Parameters
        ----------
        options : dict
            Arguments of `pycupc.pc` or `pycupc.skeleton` by name, and `n`.
        tell : callable, optional
            ``tell(level, done, at_most, edges)`` in floats, within a level that takes long; the core's progress hook.
        say : callable, optional
            ``say(text)`` after each level.
        test : callable, optional
            ``test(x, y, [s, ...])`` with indices from 0, for another test than gaussCItest.
        """
        started = time.perf_counter()
        with _caught() as reply, _said(say):
            fit = self._compute(options, tell, test)
            reply["max_ord"] = int(fit.max_ord)
            reply["engine"] = fit.engine
            reply["orientation"] = str(fit.notes.get("orientation", ""))
            self._out = fit.to_arrays("matrix" if options["pMax"] else None)
        reply["seconds"] = time.perf_counter() - started
        return reply

    def _compute(self, options: dict[str, Any], tell: Callable | None, test: Callable | None) -> PcAlgo:
        import pycupc

        labels = [str(label) for label in options["labels"]]
        common = {
            "alpha": float(options["alpha"]),
            "labels": labels,
            "fixedGaps": self._mask("fixedGaps", len(labels)),
            "fixedEdges": self._mask("fixedEdges", len(labels)),
            "NAdelete": bool(options["NAdelete"]),
            "m_max": float(options["m_max"]),
            "numCores": None if options.get("numCores") is None else int(options["numCores"]),
            "progress": None if tell is None else _hook(tell),
        }
        if test is None:
            common["suffStat"] = {"C": self._square("C", len(labels)), "n": _whole(options["n"])}
            common["engine"] = str(options["engine"])
        else:
            common["suffStat"] = None
            common["indepTest"] = _called_back(test)
            common["engine"] = str(options["engine"])
        if self._what == "skeleton":
            return pycupc.skeleton(**common)
        return pycupc.pc(
            **common,
            u2pd=str(options["u2pd"]),
            conservative=bool(options["conservative"]),
            maj_rule=bool(options["maj_rule"]),
            solve_confl=bool(options["solve_confl"]),
        )

    def _square(self, name: str, p: int) -> np.ndarray:
        flat = np.frombuffer(self._in[name], dtype=np.float64)
        return flat.reshape(p, p, order="F")

    def _mask(self, name: str, p: int) -> np.ndarray | None:
        if name not in self._in:
            return None
        return np.frombuffer(self._in[name], dtype=np.uint8).reshape(p, p) != 0

    def compare(self, options: dict[str, Any]) -> dict:
        """Compare the results put as "a_..." and "b_..."; plain values back, never an exception."""
        with _caught() as reply:
            from pycupc.comparison import compare

            fits = [self._fit(side, options) for side in ("a_", "b_")]
            data = {"C": self._square("C", fits[0].p), "n": options["n"]} if "C" in self._in else None
            found = compare(*fits, suffStat=data, alpha=options.get("alpha"), names=options["names"])
            reply.update(equal=found.equal, parts=found.parts, text=found.text)
            columns = {
                "level": [f.level for f in found.differences],
                "x": [f.x for f in found.differences],
                "y": [f.y for f in found.differences],
                "remover": [f.removed_by for f in found.differences],
            }
            self._out = {name: np.array(values, dtype=np.int32) for name, values in columns.items()}
            for k, name in enumerate(("p_a", "p_b")):
                self._out[name] = np.array([f.p[k] for f in found.differences], dtype=np.float64)
            self._out["condition"] = np.array([f.condition for f in found.differences], dtype=np.float64)
        return reply

    def _fit(self, side: str, options: dict[str, Any]) -> PcAlgo:
        types: dict[str, type] = dict.fromkeys(ANSWER, np.int32) | {"n_edgetests": np.float64, "pMax": np.float64}
        arrays = {name: np.frombuffer(self._in.get(side + name, b""), dtype=type_) for name, type_ in types.items()}
        labels = options[side + "labels"]
        named = only_stored_cells(arrays, len(labels))  # R's list of lists names every cell
        return PcAlgo.from_arrays(named, labels=labels, max_ord=int(options[side + "max_ord"]))


def _hook(tell: Callable) -> Callable:
    """The core's progress hook with floats only; at most ten calls a second and level, as R draws slowly."""
    last = [-1, 0.0]

    def progress(level: int, done: int, at_most: int, edges: int) -> None:
        now = time.monotonic()
        if level != last[0] or now - last[1] > 0.1:
            last[:] = [level, now]
            tell(float(level), float(done), float(at_most), float(edges))

    return progress


class _Saying(logging.Handler):
    """Hands the package's log lines to R."""

    def __init__(self, say: Callable) -> None:
        super().__init__(logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextlib.contextmanager
def _said(say: Callable | None) -> Iterator[None]:
    if say is None:
        yield
        return
    logger, handler = logging.getLogger("pycupc"), _Saying(say)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def _called_back(test: Callable) -> Callable:
    def indepTest(x: int, y: int, S: Any, suffStat: Any) -> float:
        p = test(int(x), int(y), [int(s) for s in S])
        return math.nan if p is None else float(p)

    return indepTest


def _whole(n: float) -> int | float:
    return int(n) if float(n).is_integer() else float(n)


@contextlib.contextmanager
def _caught() -> Iterator[dict[str, Any]]:
    """Yield the reply; put what was raised, and what was warned of, into it."""
    reply: dict[str, Any] = {"error": None, "message": "", "warnings": []}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        try:
            yield reply
        except (Exception, KeyboardInterrupt) as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            reply["error"] = "KeyboardInterrupt" if interrupted else type(error).__name__
            reply["message"] = str(error)
    reply["warnings"] = [str(w.message) for w in heard if issubclass(w.category, (UserWarning, RuntimeWarning))]
    return


def situation() -> dict[str, str]:
    """What `cu_sitrep()` prints of the Python side: name to text, in order."""
    import importlib.metadata
    import platform
    import sys

    facts = {
        "Python": f"{platform.python_version()} ({sys.executable})",
        "pycupc": f"{VERSION} ({Path(__file__).parents[1]})",
    }
    for package in ("numpy", "numba", "scipy", "pandas"):
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            facts[package] = f"missing: {sys.executable} -m pip install {package}"
    facts["engine cpu"] = "ready" if "missing" not in facts["numba"] else "needs numba"
    facts["engine gpu"] = _gpu(sys.executable)
    return facts


def _gpu(python: str) -> str:
    try:
        import cupy
    except ImportError:
        return f"not ready: no CuPy; with an NVIDIA driver there: {python} -m pip install 'cupy-cuda12x[ctk]'"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        names = [cupy.cuda.runtime.getDeviceProperties(i)["name"].decode() for i in range(count)]
    except Exception as error:  # CuPy raises many kinds; each of them means that the GPU cannot be used
        return f"not ready: CuPy {cupy.__version__} finds no device ({error}); check nvidia-smi"
    return f"ready: {', '.join(names)}, CuPy {cupy.__version__}" if names else "not ready: no device; check nvidia-smi"
