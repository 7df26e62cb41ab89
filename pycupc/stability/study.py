"""The computation on every resample, the outcome of one, and the result over all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.parameters import PARAMETERS, function_of
from pycupc.engines.select import make_engine
from pycupc.graph.knowledge import Knowledge
from pycupc.graph.pairs import Pairs
from pycupc.independence.registry import Observations
from pycupc.results.methods import METHODS
from pycupc.results.schema import indices, require
from pycupc.results.serialisation import pairs_in_order
from pycupc.stability.consensus import Counts, counting
from pycupc.stability.rows import Resampling
from pycupc.stability.stability_result import Stability

#: From this number of variables on, `Engine.side_by_side` resamples run at the same time in one process. With fewer,
#: their threads wait longer for the interpreter than the device would wait for them.
SIDE_BY_SIDE_FROM = 1500


R = TypeVar("R")
#: The arrays of an outcome.
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Outcome:
    """The part of one resample that is kept, as in the file of a checkpoint.

    `note` says where pcalg's answer could differ (``notes["quirks"]`` of `pc`'s result); it is empty if nowhere.
    """

    index: int
    arrays: Arrays
    note: str = ""


@dataclass(frozen=True)
class Resampled(Generic[R]):
    """Data, resamples, and the arguments of the method: everything that a worker needs. It can be pickled."""

    rows: Observations
    resampling: Resampling
    alphas: tuple[float, ...]
    arguments: Mapping[str, Any]

    def outcome(self, i: int) -> Outcome:
        """The outcome of resample `i`, a pure function of the study and `i`."""
        raise NotImplementedError

    def check(self, arrays: Arrays) -> None:
        """Raise ValueError unless these can be the arrays of an outcome."""
        raise NotImplementedError

    def result(self, outcomes: Sequence[Outcome]) -> R:
        """The result over these resamples, at least one, in the order of their numbers."""
        raise NotImplementedError

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.arguments["labels"])

    def at_once(self) -> int:
        """Number of resamples that this machine should compute at the same time."""
        if self.p < SIDE_BY_SIDE_FROM:
            return 1
        arguments = self.arguments
        engine, _ = make_engine(arguments["engine"], self.p, options=arguments["engine_options"])
        engine.close()
        return engine.side_by_side

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the outcome of a resample, ready for JSON; large values by their hash."""
        resampling, arguments = self.resampling, dict(self.arguments)
        test = arguments.pop("indepTest", None)
        labels = arguments.pop("labels")
        arguments = {name: value for name, value in arguments.items() if PARAMETERS[name].matters}
        return {
            "data": self.rows.digest(),
            "labels": _hash(json.dumps(labels).encode()),
            "rows": resampling.n,
            "variables": len(labels),
            "scheme": resampling.scheme,
            "fraction": resampling.fraction,
            "random_state": resampling.seed,
            "alpha": list(self.alphas),
            "indepTest": "gaussCItest" if test is None else test.__name__,
            **{name: _plain(value) for name, value in sorted(arguments.items())},
        }

    @cached_property
    def key(self) -> str:
        """A hash of data and arguments."""
        return _hash(json.dumps(self.identity, sort_keys=True).encode())


@dataclass(frozen=True)
class Study(Resampled[Stability]):
    """The graphs that a method finds on resamples: what `stability` computes.

    Arrays of an outcome: `n_tests`, one number for each alpha; `constant`, variables; `n_copies`, a single number; and
    of the graph of the alpha with the number k the edges `low_k`, `high_k`, and `kind_k`, as `Counting.numbers`.
    """

    method: str = "pc"

    def outcome(self, i: int) -> Outcome:
        """Run the method on resample `i`."""
        suff_stat, constant, n_copies = self.rows.take(self.resampling.indices(i))
        draws = {"random_state": self.resampling.random_state(i)} if METHODS[self.method].random else {}
        n_tests, note, run = [], "", function_of(self.method)
        arrays: dict[str, NDArray[Any]] = {"constant": constant, "n_copies": np.array([n_copies])}
        for k, alpha in enumerate(self.alphas):
            fit = run(suff_stat, alpha=alpha, **draws, **self.arguments)
            graph = fit.sparse_graph
            kind = counting(self.method).numbers(graph)
            arrays |= {f"low_{k}": graph.low, f"high_{k}": graph.high, f"kind_{k}": kind}
            n_tests.append(sum(fit.n_edgetests) + sum(fit.later.n_tests))
            note = max(note, fit.notes.get("quirks", ""), key=len)
        return Outcome(i, arrays | {"n_tests": np.array(n_tests, dtype=np.float64)}, note)

    def check(self, arrays: Arrays) -> None:
        n_tests, constant, copies = (arrays[name] for name in ("n_tests", "constant", "n_copies"))
        wrong = n_tests.shape != (len(self.alphas),) or not np.isfinite(n_tests).all() or copies.shape != (1,)
        if wrong or int(constant.max(initial=0)) >= self.p or (np.diff(constant) <= 0).any():
            raise ValueError("its numbers are out of range")
        for k in range(len(self.alphas)):
            pairs = pairs_in_order(arrays, f"low_{k}", f"high_{k}", self.p, "edges")
            kind = indices(arrays, f"kind_{k}", len(counting(self.method).kinds))
            require(len(kind) == len(pairs), f"kind_{k}", f"{len(kind)} numbers")

    def result(self, outcomes: Sequence[Outcome]) -> Stability:
        p, parts = self.p, [outcome.arrays for outcome in outcomes]
        none, counted = Pairs(p, *np.zeros((2, 0), dtype=np.int64)), counting(self.method)
        gaps, fixed = (self.arguments[name] or none for name in ("fixedGaps", "fixedEdges"))
        edges = [
            [[of[f"{name}_{k}"] for name in ("low", "high", "kind")] for of in parts] for k in range(len(self.alphas))
        ]
        note = max((outcome.note for outcome in outcomes), key=len)  # the longer one names both faults
        return Stability(
            labels=tuple(self.arguments["labels"]),
            alphas=self.alphas,
            resampling=self.resampling,
            resamples=np.array([outcome.index for outcome in outcomes]),
            counts=tuple(Counts.of(graphs, p, counted) for graphs in edges),
            n_tests=np.array([of["n_tests"] for of in parts]),
            n_constant=np.array([len(of["constant"]) for of in parts]),
            n_copies=np.array([of["n_copies"][0] for of in parts], dtype=np.int64),
            constant=np.bincount(np.concatenate([of["constant"] for of in parts]), minlength=p),
            n_pairs=p * (p - 1) // 2 - len(gaps | fixed),
            n_fixed=len(fixed - gaps),
            arguments=self.identity,
            method=self.method,
            notes={"quirks": note} if note else {},
        )

    @cached_property
    def identity(self) -> dict[str, Any]:
        """As of every study, with the method."""
        return super().identity | ({} if self.method == "pc" else {"method": self.method})


def _plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        value = value.dense()
        return _hash(f"{value.shape}".encode() + np.packbits(value).tobytes())
    if isinstance(value, Knowledge):
        return _hash(repr(value).encode())
    if isinstance(value, (list, tuple, range, np.ndarray)):  # rules, contextVars
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return "inf" if value == float("inf") else value


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
