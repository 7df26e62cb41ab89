"""The arguments of `pc` and `skeleton`, checked before anything runs (docs/CONTRACT.md, section 3)."""

from __future__ import annotations

import functools
import inspect
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from typing import Any, Literal, ParamSpec, TypeVar, get_args

import numpy as np

from pycupc.algorithm.tiers import TieredLevels
from pycupc.data.constraints import Constraints
from pycupc.data.knowledge import Knowledge
from pycupc.data.mixed import MixedTable
from pycupc.data.names import check_labels, check_real, default_labels, is_real, is_whole
from pycupc.data.observations import column_names
from pycupc.data.pairs import Pairs, pairs_of
from pycupc.data.text_layout import ReadOptions
from pycupc.engines.base import Engine, ProgressHook
from pycupc.engines.select import make_engine
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.graph.tiers import Tiers
from pycupc.independence.base import IndependenceTest
from pycupc.independence.custom import Batch, BatchTest, CustomTest, IndepTest
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.discrete.g_square import binCItest, disCItest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat, as_discrete_suff_stat
from pycupc.independence.enumerated import EnumeratedTest
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.local import LocalGaussianTest
from pycupc.independence.gaussian.suffstat import as_suff_stat
from pycupc.independence.missing.data import IncompleteTable
from pycupc.independence.missing.family import missing_test
from pycupc.independence.missing.literal import disCItwd
from pycupc.independence.mixed.family import MixedTest
from pycupc.independence.mixed.mix_ci_test import as_mixed, mixCItest
from pycupc.orientation import TripleCheck, U2pd, check_triples
from pycupc.system.message import Message, Setting, Value
from pycupc.system.progress import LevelBar

Method = Literal["stable", "stable.fast"]
#: The options of reading.
READING = [*(field.name for field in fields(ReadOptions)), "correlation", "nearest", "n_rule"]
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Options:
    """The arguments of `skeleton` that determine how tests are made; checked on construction."""

    alpha: float
    m_max: float
    method: str
    NAdelete: bool
    numCores: int | None
    checkpoint: str | os.PathLike[str] | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if self.method == "original":
            raise ValueError(
                "method 'original' depends on the order of the variables and is not available; use 'stable', or call "
                "pcalg::pc()"
            )
        if self.method not in get_args(Method):
            raise ValueError(f"method (of pc: skel_method) must be 'stable' or 'stable.fast', got {self.method!r}")
        check_real("alpha", "a number in [0, 1]", self.alpha)
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must be in [0, 1], got {self.alpha!r}")
        limit = "a whole number of at least 0, or inf"
        check_real("m_max", limit, self.m_max, lambda m: m == math.inf or (m >= 0 and m == int(m)))
        cores = self.numCores
        if cores is not None and (not isinstance(cores, (int, np.integer)) or cores < 1):
            text = "numCores must be a whole number of at least 1, or {none} for all, got {given}"
            raise ValueError(Message(text, none=Value(None), given=Value(cores)))
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise TypeError(f"checkpoint must be the path of a folder, got {self.checkpoint!r}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise TypeError(f"executor must be a concurrent.futures.Executor, got {self.executor!r}")


@dataclass(frozen=True)
class Variables:
    """The arguments that determine the tests, unchecked; `check_arguments` checks them."""

    suffStat: Any
    indepTest: IndepTest | None = None
    labels: Sequence[str] | None = None
    p: int | None = None
    fixedGaps: Any = None
    fixedEdges: Any = None
    quirks: bool = False
    knowledge: Knowledge | None = None
    correlation: str | None = None


@dataclass(frozen=True)
class Problem:
    """The checked arguments of one run of `function`, "pc" or "skeleton"."""

    function: str
    labels: tuple[str, ...]
    test: IndependenceTest
    options: Options
    gaps: Pairs | None
    fixed: Pairs | None
    engine: Engine
    engine_note: str
    engine_name: str
    progress: ProgressHook | None
    known: Constraints | None = None

    @property
    def n_pairs(self) -> int:
        """Number of pairs that begin with an edge."""
        p = len(self.labels)
        return p * (p - 1) // 2 - (0 if self.gaps is None else len(self.gaps))

    @property
    def tiers(self) -> Tiers | None:
        """The tiers, and whether `function` allows hidden common causes."""
        return None if self.known is None else Tiers(self.known.tier, self.function not in ("pc", "skeleton"))

    def levels(self) -> Engine | TieredLevels:
        """What runs the levels: `take`, `run_level`, `state`."""
        return self.engine if self.tiers is None else TieredLevels(self.engine, self.tiers)

    def check_triples(self, graph: SparseGraph, sepset: SepSets, **how: Any) -> TripleCheck:
        """See `pycupc.orientation.check_triples`; the engine counts the sets."""
        return check_triples(graph, sepset, self.test, self.engine.count_separating, **how)

    @property
    def call(self) -> str:
        """The call, as the result shows it."""
        alpha, m_max = float(self.options.alpha), self.options.m_max
        return f"{self.function}(alpha={alpha:g}, m_max={m_max}, engine={self.engine_name!r})"


def hinted(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """`pc` or `skeleton`, with a remedy for keywords that it does not have but users may expect."""
    name, known = function.__name__, inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        unknown = kwargs.keys() - known.keys()
        if reading := [option for option in READING if option in unknown]:
            data = f"SuffStat.from_data(data, {reading[0]}={kwargs[reading[0]]!r})"
            raise TypeError(f"{name} has no argument {reading[0]}, which is an option of reading: {name}({data})")
        if unknown & {"data", "df", "X"}:
            raise TypeError(f"the data are the first argument of {name}, suffStat: {name}(data, alpha=0.01)")
        return function(*args, **kwargs)

    return call


def check_arguments(
    function: str,
    variables: Variables,
    options: Options,
    engine: str | Engine,
    engine_options: Mapping[str, Any] | None = None,
    progress: ProgressHook | None = None,
) -> Problem:
    """Check the arguments of `function`, "pc" or "skeleton", before anything runs, and make the engine.

    Raises TypeError or ValueError if an argument is invalid: it is named, with what was expected and given;
    EngineError if the engine cannot run on this machine.
    """
    test = _test(function, variables, options, progress)
    if isinstance(test, CustomTest):
        if engine not in ("auto", "reference"):
            needed, given = Setting("engine", "reference"), Setting("engine", engine)
            text = "a custom indepTest runs on {needed} only, got {given}"
            raise ValueError(Message(text, needed=needed, given=given))
        if engine_options:
            text = "engine_options must be empty with a custom indepTest, whose engine takes none, got"
            raise ValueError(f"{text} {', '.join(engine_options)}")
    labels = _checked_labels(variables, test)
    test.p = len(labels)  # which a user's function does not say
    gaps = pairs_of(variables.fixedGaps, "fixedGaps", labels)
    fixed = pairs_of(variables.fixedEdges, "fixedEdges", labels)
    known = None if variables.knowledge is None else variables.knowledge.of(labels)
    if known is not None:
        if function not in ("pc", "skeleton"):
            known.check_only_tiers(function)
        gaps, fixed = _with_known(gaps, fixed, known, labels)
    name = engine.name if isinstance(engine, Engine) else str(engine)
    custom = isinstance(test, CustomTest)
    on_cpu = engine == "auto" and isinstance(test, EnumeratedTest) and not isinstance(test, DiscreteTest)
    wanted: str | Engine = "reference" if custom else "cpu" if on_cpu else engine
    chosen, note = make_engine(wanted, len(labels), numCores=options.numCores, options=engine_options)
    note = "reference (custom indepTest)" if custom else f"cpu (auto: {test.name} data)" if on_cpu else note
    return Problem(function, labels, test, options, gaps, fixed, chosen, note, name, progress, known)


def _with_known(
    gaps: Pairs | None, fixed: Pairs | None, known: Constraints, labels: Sequence[str]
) -> tuple[Pairs | None, Pairs | None]:
    """The gaps and the fixed edges, with those that follow from tiers, context variables and arrows."""
    if gaps is not None and (at := np.flatnonzero(gaps.holds(*np.divmod(known.required, known.p)))).size:
        a, b = divmod(int(known.required[at[0]]), known.p)
        raise ValueError(f"fixedGaps has the pair of the required arrow {labels[a]} --> {labels[b]}")
    gaps, fixed = known.gaps() | gaps, known.fixed() | fixed
    return gaps if len(gaps) else None, fixed if len(fixed) else None


def _test(function: str, variables: Variables, options: Options, progress: ProgressHook | None) -> IndependenceTest:
    """The test that `indepTest` names, with its data."""
    test, quirks, given = variables.indepTest, variables.quirks, variables.suffStat
    if test is not None and not callable(test) and not isinstance(test, Batch):
        raise TypeError(
            f"indepTest must be callable (x, y, S, suffStat) -> p, got {test!r}"
            + (f"; the significance level is alpha: {function}(data, alpha={test!r})" if is_real(test) else "")
        )
    if not isinstance(quirks, (bool, np.bool_)):
        raise TypeError(f"quirks must be True or False, got {quirks!r}")
    if variables.correlation is not None and not (test is None or test is gaussCItest):
        text = "{setting} goes with the Gaussian test only"
        raise ValueError(Message(text, setting=Setting("correlation", variables.correlation)))
    if test is disCItest or test is binCItest:
        return _discrete_test(given, options.alpha, binary=test is binCItest, quirks=bool(quirks))
    mixed = test is mixCItest or (test is None and isinstance(given, MixedTable))
    faulty = mixed or test is disCItwd or (test is None and isinstance(given, IncompleteTable) and given.categories)
    if quirks and not faulty and function in ("pc", "skeleton"):  # the others have faults of their own to reproduce
        text = "{quirks} reproduces faults of pcalg's disCItest and must be {no} with any other indepTest"
        raise ValueError(Message(text, quirks=Setting("quirks", True), no=Value(False)))
    how = {"NAdelete": bool(options.NAdelete)}
    if mixed:
        return MixedTest(as_mixed(given), options.alpha, quirks=bool(quirks))
    if (of_missing := missing_test(test, given, options.alpha, quirks=bool(quirks), **how)) is not None:
        return of_missing
    if isinstance(test, Batch):
        test = test.of(given) if hasattr(test, "of") else test
        return BatchTest(test, options.alpha, variables.p or 0, **how)
    if test is not None and test is not gaussCItest:
        return CustomTest(test, given, options.alpha, variables.p or 0, **how)
    if isinstance(given, DiscreteSuffStat):
        raise TypeError(
            "a suffStat of type DiscreteSuffStat needs indepTest=pycupc.discrete.disCItest, got the Gaussian test"
        )
    correlations = progress.correlations if isinstance(progress, LevelBar) else None
    gaussian = as_suff_stat(given, correlations, variables.correlation)
    return (GaussianTest if gaussian.pair_n is None else LocalGaussianTest)(gaussian, options.alpha)


def _discrete_test(given: Any, alpha: float, *, binary: bool, quirks: bool) -> DiscreteTest:
    """`disCItest` or `binCItest` with its data."""
    data = as_discrete_suff_stat(given)
    if binary:
        data.check_binary()
    if quirks and data.df == "observed":
        raise ValueError("quirks=True reproduces pcalg, which has no df='observed': choose one of the two")
    return DiscreteTest(data, alpha, binary=binary, quirks=quirks)


def _checked_labels(variables: Variables, test: IndependenceTest) -> tuple[str, ...]:
    """The names of the variables, from whichever arguments provide them; these must agree."""
    labels, p, custom = variables.labels, variables.p, isinstance(test, CustomTest | BatchTest) and not test.p
    if labels is None and not custom:
        labels = test.labels
    elif labels is None:  # a custom test, whose data may have column names
        names = column_names(variables.suffStat)
        labels = names if names is not None and p in (None, len(names)) else None
    if p is not None:
        if not is_whole(p):
            raise TypeError(f"p must be the number of variables, got {p!r}")
        if labels is not None and len(labels) != p:
            raise ValueError(f"p must equal the number of labels, {len(labels)}, got {p}")
        if not custom and p != test.p:
            raise ValueError(f"p must equal the number of variables of suffStat, {test.p}, got {p}")
        if p < 2:
            raise ValueError(f"p must be at least 2, got {p}")
    elif labels is None and custom:
        raise ValueError("either labels or p must be given with a custom indepTest")
    if labels is not None and labels is test.labels:  # checked with the data
        return tuple(labels)
    if test.labels is not None and labels is not None:
        _warn_of_order(list(labels), list(test.labels))
    number = p if custom else test.p
    if labels is None:
        return default_labels(number or 0)
    return check_labels(labels, len(labels) if number is None else number)


def _warn_of_order(labels: list[str], names: list[str]) -> None:
    """Warn if the labels are the names of the data in another order."""
    if labels != names and sorted(map(str, labels)) == sorted(names):
        k = next(k for k, name in enumerate(names) if labels[k] != name)
        warnings.warn(
            f"labels are the names of suffStat in another order: variable {k} is called {labels[k]!r}, though suffStat "
            f"calls it {names[k]!r}; leave labels out, or give them in the order of the columns",
            stacklevel=2,
        )


def check_orientation(u2pd: str, *, conservative: bool, maj_rule: bool, solve_confl: bool, known: bool = False) -> None:
    """Raise ValueError for an unknown `u2pd`, or two arguments that exclude each other, in the same cases as pcalg.

    `known`: whether tiers or arrows are.
    """
    if u2pd not in get_args(U2pd):
        raise ValueError(f"u2pd must be 'relaxed', 'rand' or 'retry', got {u2pd!r}")
    if known and u2pd != "relaxed":
        raise ValueError(f"tiers, context_all, context_tier and forbidden need u2pd='relaxed', got u2pd={u2pd!r}")
    for name, value in (("conservative", conservative), ("maj_rule", maj_rule), ("solve_confl", solve_confl)):
        if value and u2pd != "relaxed":
            raise ValueError(f"{name}=True needs u2pd='relaxed', got u2pd={u2pd!r}")
    if conservative and maj_rule:
        raise ValueError("choose one of conservative=True and maj_rule=True, got both")
