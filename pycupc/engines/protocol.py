"""The interface of an engine: take a test with its data, run level after level, say what is left, answer questions."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import Lists as Lists
from pycupc.graph.pairs import Pairs as Pairs
from pycupc.graph.questions import Answers as Answers  # these are for those who import `Engine`
from pycupc.graph.questions import Counts as Counts
from pycupc.graph.questions import Questions as Questions
from pycupc.graph.tiers import NearLists
from pycupc.independence.base import IndependenceTest
from pycupc.independence.base import State as State
from pycupc.independence.gaussian.correlation import correlation
from pycupc.system.limits import EngineError as EngineError
from pycupc.system.progress import CountHook as CountHook
from pycupc.system.progress import ProgressHook as ProgressHook

if TYPE_CHECKING:
    from typing import Unpack

    from pycupc.system.code_cache import Loader  # loads Numba

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]
Result = TypeVar("Result")


#: Bytes per ordered pair of neighbours, of an engine whose graph is in main memory: while a level tests them, and more
#: for each one that it keeps. Measured.
TESTED_BYTES, KEPT_BYTES = 60, 40


class LevelResult(NamedTuple):
    """The outcome of one level.

    x, y, S and r may be incomplete until `Engine.state` returns: an engine may copy them while the next level runs.
    """

    level: int
    # x, y: (m,): ordered pairs whose tests removed an edge: x < y on side A, x > y on side B; sorted by (x, y). At
    # level 0, whose removals on side A follow from the graph, only removals on side B, which a user's asymmetric test
    # may cause.
    x: Ints
    y: Ints
    S: Ints  # (m, level): separating sets, each ascending
    r: Floats  # (m,): canonical partial correlations of the separating tests; their p-values if the test has no r
    n_tests: int  # pcalg's ``n.edgetests`` of this level, exact, also beyond 2^63
    n_removed: int  # edges removed, level 0 included
    n_careful: int  # number of doubtful tests, which the canonical formula decided
    more: bool  # a visited pair had more than `level` candidates: pcalg runs another level
    n_made: int = -1  # number of tests made, if bounds answered the others of `n_tests`; -1 if all were made
    n_bounds: int = 0  # number of bounds evaluated
    seconds: float = 0.0  # time of the tests, without compiling


class Finished(NamedTuple):
    """A level that an earlier run has finished."""

    result: LevelResult
    # x, y, z: the edges that it left, see `State`.
    x: Ints
    y: Ints
    z: Floats
    answered: Mask | None  # bool (E,), (1,) or None: see `Engine.answered`
    p_max: Floats | None = None  # see `State`


class PartsKept(Protocol):
    """Parts of levels that are kept in files, for a run that was killed; `read` and `add` are for level 0."""

    def read(self, cut: str) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
        """The numbers of parts, and the arrays found in them together; `cut` says how the level is cut into parts."""

    def add(self, cut: str, number: int, found: Sequence[NDArray[np.integer]]) -> None:
        """Keep the arrays found in a part; they are written at the latest a minute after the first one."""

    def begin(self, level: int, take: Callable[[dict[str, NDArray[Any]]], bool], *names: str) -> None:
        """Begin a level >= 1: `take` the findings that are kept under these names; it returns whether they can be."""

    def keep_some(self, level: int, finished: Callable[[], dict[str, NDArray[Any]]]) -> None:
        """Write the findings of a level so far, once a minute."""


class Elsewhere(Protocol):
    """Workers of an executor, which compute parts of a level; `engines.elsewhere` has them.

    The items of a call are keys and arguments; `total` is their number and `words` their name, as in "parts of level
    0". An error of the tests is raised as at home; EngineError if the executor fails.
    """

    @property
    def n_workers(self) -> int:
        """The number of workers that have replied so far."""

    def results(
        self, work: Callable[..., Result], items: Iterable[tuple[int, tuple[Any, ...]]], total: int, words: str
    ) -> Iterator[tuple[int, Result]]:
        """Yield the key of each item and ``work(*arguments)``, as the workers finish them."""

    def results_of_engines(
        self,
        work: Callable[..., Result],
        items: Iterable[tuple[int, tuple[Any, ...]]],
        total: int,
        words: str,
        shared: tuple[str, Any] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """The same of ``work(engine, value of shared, *arguments)``; `shared`: a name, and a value of all items.

        The engine is the worker's own and has taken the same test.
        """


class Division(NamedTuple):
    """How levels are made in parts."""

    elsewhere: Elsewhere | None = None  # computes the parts; None: this process
    kept: PartsKept | None = None  # keeps the finished parts


#: In one piece.
UNDIVIDED = Division()


class How(TypedDict, total=False):
    """How a problem is to be run: the arguments of `Engine.take` besides the test and the names."""

    gaps: Pairs | None  # pairs without an edge
    fixed: Pairs | None  # edges that are never tested; a pair in both is a gap
    # Last level that will be requested, as long as `LevelResult.more`; an engine may begin a level before it is.
    m_max: float
    progress: ProgressHook | None  # callable ``(level, tests_done, tests_at_most, edges_left)``
    division: Division | None  # engines that do not divide levels ignore it


class Sampled(NamedTuple):
    """The work of a run, estimated from some variables."""

    degrees: NDArray[np.int64]  # (k,): number of neighbours of each of these variables after level 0
    seconds: float  # of all levels
    # Bytes at the peak: of memory of the process, without files that are mapped into memory, or of the device.
    memory: int


class AnyEngine(ABC):
    """One way of running tests.

    Use: `take`, then `run_level` for 0, 1, 2, ..., `state`, `close`. `first_separating` and `count_separating` answer
    questions at any time between `take` and `close`. An engine may take the next test after `close`.
    """

    name: str
    # Number of runs on large data that should be made at the same time, each in a thread with its own engine: more than
    # one if Python and a device would otherwise wait for each other.
    side_by_side: int = 1
    # Whether `correlation` computes on a device rather than in this process's threads.
    correlates_on_device: bool = False
    compiles_beside: bool = False  # whether its code is compiled by threads that leave the interpreter to others
    divides: bool = False  # whether it makes levels in parts, see `Division`
    keeps_levels: bool = True  # whether finished levels hold all that a later run needs of them

    def correlation(self, X: Floats) -> Floats:
        """Correlation matrix of data (n, p), as `pycupc.independence.gaussian.correlation` defines it."""
        return correlation(X)

    def runs(self, test: IndependenceTest) -> bool:
        """Whether the engine runs such tests."""
        return self.name in test.engines

    def for_test(self, test: IndependenceTest) -> AnyEngine:
        """The engine that runs this test in the place of this one, if there is another."""
        return self

    def loaders(self, test: IndependenceTest, *, asks: bool) -> Sequence[Loader]:
        """The loaders of code that runs of such tests need after a while, those first that another process should run
        first; `asks`: the runs have questions, too."""
        return ()

    @abstractmethod
    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        """Bytes that a run needs at its start beside the data, and bytes free; later needs are checked in the run."""

    @abstractmethod
    def take(self, test: IndependenceTest, names: Sequence[str], **how: Unpack[How]) -> None:
        """Take a problem, and check its data.

        Raises EngineError if the engine cannot run such tests, or the problem does not fit its memory. ValueError if
        the data are wrong; the message says where.

        `names`: of the variables, for errors and warnings. `how`: see `How`.

        Warns
        -----
        UserWarning
            Of data that lead to pairs without a test.
        """

    @abstractmethod
    def run_level(self, level: int) -> LevelResult:
        """Run one level: 0, or the level after the one that ran last; compiles its code first, where needed."""

    @abstractmethod
    def state(self) -> State:
        """The edges left; completes the arrays of all `LevelResult` so far."""

    def answered(self, level: int) -> Mask | None:
        """The entries of the last level's neighbour lists whose tests bounds answered; (1,) for all, None for none."""
        return None

    def sample(self) -> Sampled | None:
        """Estimate the work after `take` from some variables, where there are many, and then forget the problem."""
        return None

    @abstractmethod
    def resume(self, levels: Sequence[Finished]) -> None:
        """Go on after these first levels of a run on any engine; call it after `take`. EngineError if it cannot."""

    @abstractmethod
    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        """For each pair the first set that makes it independent: by size, then in lexicographic order of the positions.

        That order is the order of docs/contracts/contract.md, section 1. Pairs do not influence each other.
        ``progress(decided, pairs)`` is called now and then.
        """

    def first_separating_entries(self, lists: NearLists, entries: NDArray[np.int64], level: int) -> Answers | None:
        """`first_separating` for entries of the lists, given sets of `level` candidates; None where that is as quick.

        No test is made for x > y where a set separates y and x. `p` is -inf where a set separates.
        """
        return None

    @abstractmethod
    def count_separating(self, questions: Questions) -> Counts:
        """For each pair the number of sets that make it independent, in all and by the candidates that they contain.

        One set after the other, a user's function is called in the order of docs/contracts/contract.md, section 6. A
        NaN p-value is an error.

        Raises ValueError if a p-value is NaN.
        """

    def close(self) -> None:  # noqa: B027 - most engines hold nothing that Python does not free
        """Release the memory that the engine holds."""


class Engine(AnyEngine):
    """An engine of this process: `take` checks the problem, `run_level` compiles what it needs and takes the time."""

    def take(self, test: IndependenceTest, names: Sequence[str], **how: Unpack[How]) -> None:
        if not self.runs(test):
            *several, last = map(repr, test.engines)
            others = f"{', '.join(several)} or {last}" if several else last
            raise EngineError(f"engine {self.name!r} has no tests of {test.name} data; take {others}")
        need, free = self.memory(test)
        if need > free:
            raise EngineError(self._too_large(test, need, free))
        self._test, self._gaps, self._fixed = test, how.get("gaps"), how.get("fixed")
        self._m_max, self._progress = how.get("m_max", math.inf), how.get("progress")
        self._division = how.get("division") or UNDIVIDED
        self._begin(names)

    def _too_large(self, test: IndependenceTest, need: int, free: int) -> str:
        """The error of a problem that needs more bytes than there are."""
        return (
            f"{test.p:,} variables need about {need / 1e9:.1f} GB on engine {self.name!r} and {free / 1e9:.1f} GB "
            "are free; use fewer variables, or another engine or machine"
        )

    def run_level(self, level: int) -> LevelResult:
        self._compile(level)
        start = time.perf_counter()
        result = self._run(level)
        return result._replace(seconds=time.perf_counter() - start)

    def resume(self, levels: Sequence[Finished]) -> None:
        name = self._test.name
        raise EngineError(
            f"engine {self.name!r} cannot resume a run on {name} data from a checkpoint; take engine='cpu'"
        )

    @abstractmethod
    def _begin(self, names: Sequence[str]) -> None:
        """`take`, once the test is known to run on the engine and to fit memory; `names` are of the variables."""

    def _compile(self, level: int) -> None:
        """Compile the code that `level` needs and this machine has not compiled before, and log that."""

    @abstractmethod
    def _run(self, level: int) -> LevelResult:
        """`run_level`, once everything is compiled; `LevelResult.seconds` is not needed."""
