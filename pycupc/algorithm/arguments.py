"""The arguments of `pc` and `skeleton`, checked before anything runs (docs/contracts/contract.md, section 3)."""

from __future__ import annotations

import copy
import functools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.algorithm.parameters import Arguments
from pycupc.algorithm.tiered_levels import TieredLevels
from pycupc.data.in_memory import column_names
from pycupc.data.names import check_labels, default_labels, is_whole
from pycupc.engines.protocol import AnyEngine, Engine, ProgressHook
from pycupc.engines.select import engine_there, make_engine
from pycupc.graph.constraints import Constraints
from pycupc.graph.knowledge import as_knowledge
from pycupc.graph.pairs import Pairs, pairs_of
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.graph.tiers import Tiers
from pycupc.independence.base import CorrelationEngine, IndependenceTest
from pycupc.independence.custom import check_function
from pycupc.independence.families import check_quirks, data_and_test, family_of, make_test
from pycupc.independence.registry import Request
from pycupc.orientation import TripleCheck, check_triples
from pycupc.results.methods import METHODS
from pycupc.system.clusters import opened, threads_of
from pycupc.system.localised_message import Message, Setting
from pycupc.system.progress import LevelBar, shown

if TYPE_CHECKING:
    from pycupc.system.code_cache import Loader

#: Variables from which on a run needs so much compiled code that other processes compile some of it.
COMPILED_AHEAD = 50


@dataclass(frozen=True)
class Problem:
    """The checked arguments of one run of `function`."""

    function: str
    labels: tuple[str, ...]
    test: IndependenceTest
    alpha: float
    m_max: float
    checkpoint: str | os.PathLike[str] | None
    executor: Executor | None
    gaps: Pairs | None
    fixed: Pairs | None
    engine: AnyEngine
    engine_note: str
    engine_name: str
    progress: ProgressHook | None
    known: Constraints | None = None
    reason: str = ""  # why this test, if it was chosen for a file
    file: str = ""  # the name of the file, if the data are one

    @property
    def n_pairs(self) -> int:
        """Number of pairs that begin with an edge."""
        p = len(self.labels)
        return p * (p - 1) // 2 - (0 if self.gaps is None else len(self.gaps))

    @property
    def tiers(self) -> Tiers | None:
        """The tiers, and whether `function` allows hidden common causes."""
        return None if self.known is None else Tiers(self.known.tier, METHODS[self.function].hidden)

    def levels(self) -> AnyEngine | TieredLevels:
        """What runs the levels: `take`, `run_level`, `state`."""
        if self.asks_about_pairs:
            return TieredLevels(self.engine, Tiers(np.zeros(len(self.labels), dtype=np.int64)), by_sides=True)
        if self.tiers is None:
            return self.engine
        return TieredLevels(self.engine, self.tiers, by_sides=self.executor is not None)

    @property
    def asks_about_pairs(self) -> bool:
        """Whether levels without tiers are made of questions, as the engine does not divide levels for an executor."""
        return self.tiers is None and self.executor is not None and not self.engine.divides

    def check_triples(self, graph: SparseGraph, sepset: SepSets, **how: Any) -> TripleCheck:
        """See `pycupc.orientation.check_triples`; the engine counts the sets."""
        return check_triples(graph, sepset, self.test, self.engine.count_separating, **how)

    def loaders(self) -> list[Loader]:
        """The loaders of the compiled code that a run of many variables needs after its first levels."""
        if len(self.labels) < COMPILED_AHEAD or self.executor is not None:
            return []
        method = METHODS[self.function]
        loaders = [*self.engine.loaders(self.test, asks=method.hidden)]
        if method.graph == "cpdag":
            from pycupc.orientation.meek import load_rules  # loads Numba

            return [*loaders, load_rules]
        if method.hidden:
            from pycupc.orientation.pag.orienting import load_rules as load_rules_for_pags

            return [*loaders, load_rules_for_pags]
        return loaders

    @property
    def call(self) -> str:
        """The call, as the result shows it."""
        return f"{self.function}(alpha={float(self.alpha):g}, m_max={self.m_max}, engine={self.engine_name!r})"


@contextmanager
def running(given: Arguments) -> Iterator[Problem]:
    """The problem of a call, with its engine, which is closed at the end, its progress bar and its log.

    Errors as of `Arguments.check` and `problem_of`.
    """
    given.check()
    hook = executor = None
    with ExitStack() as opened_here:
        if given.progress is not None or given.verbose:
            hook = opened_here.enter_context(shown(given.progress, verbose=given.verbose))
        if given.executor is not None:
            executor = opened_here.enter_context(opened(given.executor))
        problem = problem_of(given, hook, executor)
        opened_here.callback(problem.engine.close)
        if loaders := problem.loaders():
            from pycupc.system.compiling_ahead import compile_elsewhere  # loads Numba

            compile_elsewhere(loaders, given.numCores)
        yield problem


def problem_of(given: Arguments, progress: ProgressHook | None = None, executor: Executor | None = None) -> Problem:
    """Check the arguments of a call against its data, and make the engine; `executor`: of its workers, opened.

    Raises TypeError or ValueError if an argument is invalid: it is named, with what was expected and given;
    EngineError if the engine cannot run on this machine.
    """
    function, engine, engine_options = given.function, given.engine, given.engine_options
    knowledge = as_knowledge(**given.knowledge) if given.knows else None
    if given.indepTest is not None:
        check_function(given.indepTest, function)
    test, reason = _test(given, progress)
    custom = test.engine == "reference"
    if custom:
        if engine not in ("auto", "reference"):
            text, needed = "a custom indepTest runs on {needed} only, got {given}", Setting("engine", "reference")
            raise ValueError(Message(text, needed=needed, given=Setting("engine", engine)))
        if engine_options:
            text = "engine_options must be empty with a custom indepTest, whose engine takes none, got"
            raise ValueError(f"{text} {', '.join(engine_options)}")
    labels = _checked_labels(given, test)
    test.p = len(labels)  # which a user's function does not say
    masks = {name: getattr(given, name) for name in ("fixedGaps", "fixedEdges")}
    gaps, fixed = (None if mask is None else pairs_of(mask, name, labels) for name, mask in masks.items())
    known = None if knowledge is None else knowledge.of(labels)
    if known is not None:
        if METHODS[function].hidden:
            known.check_only_tiers(function)
        gaps, fixed = _with_known(gaps, fixed, known, labels)
    name = engine.name if isinstance(engine, Engine) else str(engine)
    in_parts = given.checkpoint is not None or executor is not None
    wanted: str | Engine = test.automatic(in_parts=in_parts) if engine == "auto" else engine
    on_cpu = engine == "auto" and wanted == "cpu"
    how: dict[str, Any] = {"options": engine_options, "gpu_pays_from": test.gpu_pays_from}
    made, note = make_engine(wanted, len(labels), numCores=given.numCores, **how)
    chosen = made.for_test(test)
    if executor is not None:
        chosen = _with_workers(chosen, given, executor)
    note = "reference (custom indepTest)" if custom else f"cpu (auto: {test.name} data)" if on_cpu else note
    limits = (given.alpha, given.m_max, given.checkpoint, executor)
    file = os.path.basename(given.suffStat) if isinstance(given.suffStat, str | os.PathLike) else ""
    return Problem(function, labels, test, *limits, gaps, fixed, chosen, note, name, progress, known, reason, str(file))


def _with_workers(engine: AnyEngine, given: Arguments, executor: Executor) -> AnyEngine:
    """The engine with the workers of the executor."""
    from pycupc.engines.divided import DividedEngine

    if isinstance(given.engine, Engine):
        again: Callable[[], AnyEngine] = functools.partial(copy.copy, copy.copy(engine))
    else:
        threads = threads_of(given.executor, given.numCores)
        again = functools.partial(engine_there, engine.name, threads, given.engine_options)
    return DividedEngine(engine, again, executor)


def _with_known(
    gaps: Pairs | None, fixed: Pairs | None, known: Constraints, labels: Sequence[str]
) -> tuple[Pairs | None, Pairs | None]:
    """The gaps and the fixed edges, with those that follow from tiers, context variables and arrows."""
    if gaps is not None and (at := np.flatnonzero(gaps.holds(*np.divmod(known.required, known.p)))).size:
        a, b = divmod(int(known.required[at[0]]), known.p)
        raise ValueError(f"fixedGaps has the pair of the required arrow {labels[a]} --> {labels[b]}")
    gaps, fixed = known.gaps() | gaps, known.fixed() | fixed
    return gaps if len(gaps) else None, fixed if len(fixed) else None


def _test(given: Arguments, progress: ProgressHook | None) -> tuple[IndependenceTest, str]:
    """The test that `indepTest` and the data stand for; and why, if it was chosen for a file."""
    correlations = progress.correlations if isinstance(progress, LevelBar) else None
    device = functools.partial(device_for, given.engine, given.numCores, given.engine_options)
    how: dict[str, Any] = {"progress": correlations, "device": device}
    data, test, reason = data_and_test(given.suffStat, given.indepTest, given.correlation, keep=False, **how)
    family, function = family_of(test, data)
    quirks = bool(given.quirks)
    if quirks and not METHODS[given.function].hidden:  # fci and rfci have faults of their own to reproduce
        check_quirks(family, function)
    request = Request(
        data,
        function,
        given.alpha,
        p=given.p or 0,
        m_max=given.m_max,
        NAdelete=bool(given.NAdelete),
        quirks=quirks,
        correlation=None if reason else given.correlation,
        by_default=test is None,
        **how,
    )
    return make_test(family, request), reason


def device_for(
    engine: str | Engine, numCores: int | None, options: dict[str, Any] | None, p: int
) -> CorrelationEngine | None:
    """The engine that is asked for, of `p` variables, if it computes correlations on its device."""
    made, _ = make_engine(engine, p, numCores=numCores, options=options)
    return made if made.correlates_on_device else None


def _checked_labels(given: Arguments, test: IndependenceTest) -> tuple[str, ...]:
    """The names of the variables, from whichever arguments provide them; these must agree."""
    p, custom = given.p, not test.p  # a user's function does not say the number of variables
    labels: Sequence[str] | None = given.labels
    if labels is None and not custom:
        labels = test.labels
    elif labels is None:  # a custom test, whose data may have column names
        names = column_names(given.suffStat)
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
    if test.labels is not None and labels is test.labels:  # checked with the data
        return tuple(test.labels)
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
