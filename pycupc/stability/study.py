"""The computation on every resample, and the outcome of one resample."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.fci import fci
from pycupc.algorithm.pc import pc
from pycupc.algorithm.rfci import rfci
from pycupc.data.knowledge import Knowledge
from pycupc.data.pairs import Pairs
from pycupc.engines.base import ProgressHook
from pycupc.engines.select import make_engine
from pycupc.results.arrays import indices, pairs_in_order, require
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.stability.consensus import Edges, counting
from pycupc.stability.rows import Resampling, Rows
from pycupc.stability.saved import Method

#: The functions that are run on resamples.
METHODS: dict[Method, Callable[..., PcAlgo | PagAlgo]] = {"pc": pc, "fci": fci, "rfci": rfci}
#: From this number of variables on, `Engine.side_by_side` resamples run at the same time in one process. With fewer,
#: their threads wait longer for the interpreter than the device would wait for them.
SIDE_BY_SIDE_FROM = 1500

#: The arguments that do not change the answer.
_WITHOUT_EFFECT = ("engine", "engine_options", "numCores", "verbose", "skel_method")


@dataclass(frozen=True)
class Numbered:
    """The outcome of the resample with the number `index`."""

    index: int


O = TypeVar("O", bound=Numbered)
#: The arrays of an outcome in a file.
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Outcome(Numbered):
    """The part of one resample that is kept: edges and numbers of tests for each alpha, `constant` and `n_copies`.

    `note` says where pcalg's answer could differ (``notes["quirks"]`` of `pc`'s result); it is empty if nowhere.
    """

    edges: tuple[Edges, ...]
    n_tests: NDArray[np.float64]
    constant: NDArray[np.int64]
    n_copies: int
    note: str = ""


@dataclass(frozen=True)
class Resampled(Generic[O]):
    """Data, resamples, and the arguments of the method: everything that a worker needs. It can be pickled."""

    rows: Rows
    resampling: Resampling
    alphas: tuple[float, ...]
    arguments: Mapping[str, Any]

    def outcome(self, i: int, progress: ProgressHook | None = None) -> O:
        """The outcome of resample `i`, a pure function of the study and `i`. `progress`: as of `pc`."""
        raise NotImplementedError

    def packed(self, outcome: O) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The outcome as facts and arrays for a file."""
        raise NotImplementedError

    def unpacked(self, i: int, facts: Mapping[str, Any], arrays: Arrays) -> O:
        """The reverse of `packed`, for resample `i`; ValueError if the values are out of range."""
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
        for name in _WITHOUT_EFFECT:
            arguments.pop(name, None)
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
class Study(Resampled[Outcome]):
    """The graphs that a method finds on resamples: what `stability` computes."""

    method: Method = "pc"

    def outcome(self, i: int, progress: ProgressHook | None = None) -> Outcome:
        """Run the method on resample `i`, a pure function of the study and `i`; `progress` as of `pc`."""
        suff_stat, constant, n_copies = self.rows.take(self.resampling.indices(i))
        draws = {"random_state": self.resampling.random_state(i)} if self.method == "pc" else {}
        edges, n_tests, note, run = [], [], "", METHODS[self.method]
        for alpha in self.alphas:
            fit = run(suff_stat, alpha=alpha, progress=progress, **draws, **self.arguments)
            edges.append(Edges.of(fit.sparse_graph, counting(self.method)))
            n_tests.append(sum(fit.n_edgetests) + sum(fit.tests_after_levels().n_tests))
            note = max(note, fit.notes.get("quirks", ""), key=len)
        return Outcome(i, tuple(edges), np.array(n_tests, dtype=np.float64), constant, n_copies, note)

    def packed(self, outcome: Outcome) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {
            "n_tests": outcome.n_tests,
            "constant": outcome.constant,
            "n_copies": np.array([outcome.n_copies]),
        }
        for k, edges in enumerate(outcome.edges):
            arrays |= {f"low_{k}": edges.low, f"high_{k}": edges.high, f"kind_{k}": edges.kind}
        return {"note": outcome.note}, arrays

    def unpacked(self, i: int, facts: Mapping[str, Any], arrays: Arrays) -> Outcome:
        n_tests, constant, copies = (arrays[name] for name in ("n_tests", "constant", "n_copies"))
        wrong = n_tests.shape != (len(self.alphas),) or not np.isfinite(n_tests).all() or copies.shape != (1,)
        if wrong or int(constant.max(initial=0)) >= self.p or (np.diff(constant) <= 0).any():
            raise ValueError("its numbers are out of range")
        edges = tuple(self._edges(arrays, k) for k in range(len(self.alphas)))
        note = str(facts.get("note", ""))  # older files have none
        return Outcome(i, edges, n_tests, constant.astype(np.int64), int(copies[0]), note)

    def _edges(self, arrays: Arrays, k: int) -> Edges:
        pairs = pairs_in_order(arrays, f"low_{k}", f"high_{k}", self.p, "edges")
        kind = indices(arrays, f"kind_{k}", len(counting(self.method).kinds))
        require(len(kind) == len(pairs), f"kind_{k}", f"{len(kind)} numbers")
        return Edges(arrays[f"low_{k}"], arrays[f"high_{k}"], kind.astype(np.uint8))

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
