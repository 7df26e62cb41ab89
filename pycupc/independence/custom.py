"""A user's own test: any function of two variables, a set and the data, or a test that answers many at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from pycupc.data.names import is_real
from pycupc.independence.base import Floats, IndependenceTest, Indices, Mask, PairTest, State
from pycupc.independence.p_values import PValues, RecordedPValues
from pycupc.independence.registry import (
    Family,
    Identity,
    Kind,
    Observations,
    Request,
    TableRows,
    checked_table,
    no_rows,
)
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.localised_message import Message, Variable, Variables

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import Ints, SparseGraph

#: Tests of a call, unless the test says otherwise.
AT_ONCE = 10_000


@runtime_checkable
class Batch(Protocol):
    """An `indepTest` that answers many tests per call.

    It may have the attributes `at_once`, the most tests of a call (default 10,000); `symmetric`, whether (x, y) and
    (y, x) have the same p-value (default False: level 0 then tests both); `p` and `labels`, the number of variables and
    their names; a method `of(data)`, which returns the test of these data; `identity`, a text that no test with
    other answers has, by which a checkpoint recognises the test and its data; and `threads`, which is then set to the
    number of threads that a call may use: `numCores`.
    """

    def batch(self, x: Indices, y: Indices, S: Indices) -> Any:
        """The p-values of x[i] and y[i] given S[i], an array of NumPy, CuPy or PyTorch (m,); NaN where undefined.

        x, y int64 (m,), S int64 (m, l): variables from 0 on. The answer to a test must not depend on the others.
        """


#: indepTest(x, y, S, suffStat) -> p-value, or a test that answers many at a time
IndepTest = Callable[[int, int, Sequence[int], Any], float] | Batch


def check_function(test: Any, function: str) -> None:
    """Raise TypeError unless this may be the ``indepTest`` of a call of `function`."""
    if isinstance(test, type) or not (callable(test) or isinstance(test, Batch)):
        raise TypeError(
            f"indepTest must be callable (x, y, S, suffStat) -> p, got {test!r}"
            + (f"; the significance level is alpha: {function}(data, alpha={test!r})" if is_real(test) else "")
        )


class CustomTest(IndependenceTest):
    """A function that is called once per test.

    `function`, callable (x, y, S, suffStat) -> p: it may be a `PairTest` as well. `suff_stat`: passed to `function`.
    `p`: number of variables. `NAdelete`: a NaN p-value counts as 1 if True, else as 0.
    """

    name = "custom"
    engines = ("reference",)
    engine = "reference"
    in_order = True

    def __init__(self, function: IndepTest, suff_stat: Any, alpha: float, p: int, *, NAdelete: bool = True) -> None:
        self.function: Any = function
        self.suff_stat, self.alpha, self.p = suff_stat, alpha, p
        self.n, self.na_p = None, float(NAdelete)
        self.of_pairs = function if isinstance(function, PairTest) else None

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        p = self.function(x, y, tuple(S), self.suff_stat)
        try:
            value = float(p)
        except (TypeError, ValueError) as error:
            raise type(error)(f"indepTest must return one number, got {p!r} for x={x}, y={y}, S={tuple(S)}") from error
        if (value < 0 or value > 1) and self.of_pairs is None:  # R counts on pcalg's answer
            raise ValueError(f"indepTest must return a p-value in [0, 1], got {value} for x={x}, y={y}, S={tuple(S)}")
        return value

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        if state.p_max is not None:  # the reference engine, which alone runs such tests, records every p-value
            return RecordedPValues(state.p_max)
        none = np.full((self.p, self.p), -math.inf)  # no level ran, because all pairs are gaps
        np.fill_diagonal(none, 1.0)
        return RecordedPValues(none)


class BatchTest(SetwiseTest):
    """A `Batch` with a significance level.

    `p`: number of variables. `NAdelete`: a NaN p-value counts as 1 if True, else as 0.

    Engines ask about some sets of each pair in advance. Tests behind the first that separates a pair are thrown away
    and not counted, so that the answer and the counts are the same as with single calls.
    """

    name = "batch"
    engines = ("cpu", "reference")

    def __init__(self, function: Batch, alpha: float, p: int, *, NAdelete: bool = True) -> None:
        self.function, self.alpha, self.na_p = function, float(alpha), float(NAdelete)
        self.p, self.labels, self.n = getattr(function, "p", p), getattr(function, "labels", None), None
        self.symmetric = bool(getattr(function, "symmetric", False))
        self.at_once = int(getattr(function, "at_once", AT_ONCE))
        if self.at_once < 1:
            raise ValueError(f"at_once of a test must be at least 1, got {self.at_once}")

    def single_tests(self, x: Indices, y: Indices, S: Indices) -> tuple[Mask, Floats]:
        parts = [slice(low, low + self.at_once) for low in range(0, len(x), self.at_once)]
        p = np.concatenate([np.empty(0), *(self._called(x[part], y[part], S[part]) for part in parts)])
        if not S.shape[1]:
            self._given_nothing[x, y] = p
        return self.decided(p), p

    @cached_property
    def _given_nothing(self) -> Floats:
        """The p-values of tests given nothing that were made, float64 (p, p), -inf where none was."""
        return np.full((self.p, self.p), -np.inf)

    def unconditional(self, x: Ints, y: Ints) -> Floats:
        p = self._once_given_nothing(x, y)
        both = np.flatnonzero(~(self.symmetric | (p >= self.alpha)))
        p[both] = np.maximum(p[both], self._once_given_nothing(y[both], x[both]))
        return p

    def _once_given_nothing(self, x: Ints, y: Ints) -> Floats:
        """The p-values given nothing, `na_p` in place of NaN; a resumed run has not made all of these tests."""
        new = np.flatnonzero(np.isneginf(self._given_nothing[x, y]))
        if len(new):
            none = np.empty((len(new), 0), dtype=np.int64)
            self.single_tests(x[new].astype(np.int64), y[new].astype(np.int64), none)
        return np.nan_to_num(self._given_nothing[x, y], nan=self.na_p)

    def _called(self, x: Indices, y: Indices, S: Indices) -> Floats:
        if hasattr(self.function, "threads"):
            self.function.threads = self.threads
        answer = self.function.batch(x, y, S)
        for method in ("detach", "cpu", *["get"] * hasattr(answer, "__cuda_array_interface__")):  # of PyTorch and CuPy
            answer = getattr(answer, method)() if hasattr(answer, method) else answer
        p = np.asarray(answer, dtype=np.float64)
        if p.shape != x.shape:
            raise ValueError(f"batch must return one p-value for each of {len(x)} tests, got shape {p.shape}")
        if (wrong := np.flatnonzero((p < 0) | (p > 1))).size:
            i = int(wrong[0])
            text = "batch must return p-values in [0, 1], got {p} for {x}, {y} given {S}"
            test = {"x": Variable(int(x[i])), "y": Variable(int(y[i])), "S": Variables(tuple(S[i].tolist()))}
            raise ValueError(Message(text, p=float(p[i]), **test))
        return p

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        x_y = np.array([[x], [y]], dtype=np.int64)
        return float(self._called(x_y[0], x_y[1], np.array([list(S)], dtype=np.int64).reshape(1, -1))[0])


# -- what the program knows about the families


def _make_batch(request: Request) -> BatchTest:
    test = request.function
    test = test.of(request.suffStat) if hasattr(test, "of") else test
    return BatchTest(test, request.alpha, request.p, NAdelete=request.NAdelete)


def _make_custom(request: Request) -> CustomTest:
    return CustomTest(request.function, request.suffStat, request.alpha, request.p, NAdelete=request.NAdelete)


def _observations(request: Request) -> Observations:
    function = request.function
    if not (hasattr(function, "of") and hasattr(function, "__name__")):
        raise no_rows(function)
    return TableRows(checked_table(request.suffStat, request.labels))


def _identity(test: BatchTest | CustomTest) -> Identity | None:
    """What the test says of itself (`identity`), else a hash of its code and data; None if neither is to be had."""
    from pycupc.independence.content_digest import content_digest  # for checkpoints only

    function, data = test.function, (test.suff_stat,) if isinstance(test, CustomTest) else ()
    if isinstance(function, PairTest):  # the code is in another process
        return None
    said = getattr(function, "identity", None)
    digests = content_digest(*((said, *data) if isinstance(said, str) else (function, *data)))
    if digests is None:
        return None
    name = getattr(function, "__name__", type(function).__name__)
    names = ("indepTest", "suffStat")[: len(digests)]
    return Identity({"name": str(name), "NAdelete": test.na_p == 1.0, **dict(zip(names, digests, strict=True))}, ())


_NONLINEAR = Kind("numbers, nonlinear dependence", "x, RCoT()", numbers=True, gpu="`RCoT(device=0)`")
_OWN = Kind(
    "a function of yours", '{"C": C, "n": n}, own', "list(C = C, n = n), indepTest = own", rows=False, numbers=True
)

BATCH = Family("batch", (BatchTest,), _make_batch, observations=_observations, identity=_identity, kinds=(_NONLINEAR,))
CUSTOM = Family("custom", (CustomTest,), _make_custom, identity=_identity, kinds=(_OWN,))
