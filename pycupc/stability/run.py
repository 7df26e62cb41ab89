"""`stability`: the PC algorithm on many resamples of the rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from pycupc.arguments import EngineChoice, Options, Problem, Variables, check_arguments, check_orientation
from pycupc.engines.base import Engine, EngineError
from pycupc.pc import pc
from pycupc.progress import CountHook, count_hook
from pycupc.stability.checkpoint import Checkpoint, seed_in
from pycupc.stability.processes import ResampleFailed, outcomes_here, outcomes_on
from pycupc.stability.resampling import Resampling, Scheme, seed_of
from pycupc.stability.result import Stability
from pycupc.stability.rows import Rows, as_rows
from pycupc.stability.study import Outcome, Study
from pycupc.stability.tally import Tally

#: The arguments of `pc` that `stability` passes on, with their defaults.
PC_ARGUMENTS = {
    name: parameter.default
    for name, parameter in inspect.signature(pc).parameters.items()
    if name not in ("suffStat", "alpha", "progress", "random_state")
}


class _Unfinished(BaseException):
    """What ends `stability` early, with the frequencies over the resamples that had finished."""

    def __init__(self, text: str, partial: Stability | None) -> None:
        super().__init__(text)
        self.partial = partial

    def __reduce__(self) -> tuple[type[_Unfinished], tuple[str, Stability | None]]:
        return type(self), (str(self), self.partial)


class StabilityInterrupted(_Unfinished, KeyboardInterrupt):
    """Ctrl-C during `stability`.

    Attributes
    ----------
    partial : Stability or None
        The frequencies over the resamples that had finished; None if none had.
    """


class StabilityError(_Unfinished, EngineError):
    """A resample could not be computed: too little memory, a broken executor, a worker that was killed repeatedly.

    Attributes
    ----------
    partial : Stability or None
        The frequencies over the resamples that had finished; None if none had.
    """


def stability(  # noqa: PLR0913 - what is resampled, how and where; pc has more
    data: Any,
    *,
    n_resamples: int = 100,
    scheme: Scheme = "bootstrap",
    fraction: float = 0.5,
    alpha: float | Sequence[float] = 0.01,
    random_state: int | np.random.Generator | None = None,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
    **arguments: Any,
) -> Stability:
    """Run `pc` on resamples of the rows, and count how often each edge is found.

    Parameters
    ----------
    data : table, array_like (n, p), path of a file, or DiscreteSuffStat
        Observations, as for `SuffStat.from_data`; with ``indepTest=disCItest`` (or `binCItest`), the data of that test,
        whose numbers of levels every resample keeps.
    n_resamples : int, default 100
        At least 1; for "complementary" an even number.
    scheme : {"bootstrap", "subsample", "complementary"}
        n rows drawn with replacement; a share of the rows; halves of the rows, in pairs that have no row in common.
        Bounds on the number of false edges are known for the last two only.
    fraction : float in (0, 1), default 0.5
        Share of the rows in a resample of scheme "subsample".
    alpha : float in [0, 1], or sequence of them, default 0.01
        Significance level of each test. Several levels share the resamples and their correlations.
    random_state : int, numpy.random.Generator or None
        An int makes the run reproducible. With None, a seed is drawn, or taken from the checkpoint;
        `Stability.random_state` is the seed that was used.
    executor : concurrent.futures.Executor, optional
        Where the resamples run: a ProcessPoolExecutor, `dask.distributed.Client.get_executor()`, an MPIPoolExecutor. A
        task computes one resample, or several if they take less than a quarter of a second together; it uses one thread
        of the cpu engine unless `numCores` is given. By default the resamples run in this process, with all cores.
    checkpoint : str or Path, optional
        Folder in which finished resamples are kept; a run with the same data and arguments resumes from there, even
        with a different number of resamples.
    progress : True, or callable ``(resamples done, resamples)``, optional
        True shows a bar on stderr with the time left.
    **arguments
        Further arguments of `pc`: indepTest, labels, p, fixedGaps, fixedEdges, NAdelete, m_max, u2pd, skel_method,
        conservative, maj_rule, solve_confl, numCores, verbose, engine, engine_options, quirks.

    Returns
    -------
    Stability

    Raises
    ------
    TypeError, ValueError
        An argument is invalid, or `checkpoint` is damaged or belongs to other data or arguments; the message names it.
        These errors are raised before anything is computed.
    EngineError
        The engine cannot run on this machine; or (`StabilityError`) a resample could not be computed. The attribute
        ``partial`` of the latter is the result over the resamples that had finished.
    StabilityInterrupted
        Ctrl-C was pressed. It is a KeyboardInterrupt whose ``partial`` is the result over the resamples that had
        finished.

    Notes
    -----
    The graph of resample i is exactly that of ``pc(data[result.indices(i)], alpha, ...)``. It depends only on the data,
    the arguments, the seed and i, and not on the executor, the number of workers, their order or restarts. With
    ``u2pd="rand"`` or "retry", `pc` gets ``random_state=result.resampling.random_state(i)``.

    A variable that is constant in a resample has no edges there, except those of fixedEdges, as in `pc`. It counts as
    not adjacent to the others; `Stability.constant` says in how many resamples a variable was constant.

    For several GPUs start one Dask worker for each, with ``CUDA_VISIBLE_DEVICES`` set to its number and
    ``--nthreads 1`` (dask-cuda's ``LocalCUDACluster`` and ``dask cuda worker`` do so). If a worker dies, Dask runs its
    unfinished resamples again. The data are sent to each worker about once. A ProcessPoolExecutor breaks when one of
    its processes is killed; `StabilityError.partial` then has what was finished.

    Bootstrap resamples repeat rows, but the tests treat all n rows as independent, so they find spurious dependence
    more often than alpha says. Subsamples do not have this problem, but they have fewer rows and therefore less power.

    Examples
    --------
    >>> import pycupc
    >>> from pycupc.data import load_example
    >>> result = pycupc.stability(load_example(), n_resamples=20, alpha=0.01, random_state=1)
    >>> len(result.edges(threshold=0.9)) > 10
    True
    """
    plan = _Plan(n_resamples, scheme, fraction, random_state, executor, checkpoint)
    study, problem = _checked_study(data, plan, alpha, arguments)
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(checkpoint, study.identity, study.key, len(problem.labels), len(study.alphas))
    gathered = _Gathered(study, problem)
    try:
        with count_hook(progress, "resamples") as report:
            _gather(gathered, study, plan, kept, report)
    except KeyboardInterrupt:
        text = f"interrupted after {gathered.n:,} of {n_resamples:,} resamples{_where(checkpoint)}"
        raise StabilityInterrupted(text, gathered.partial()) from None
    except ResampleFailed as failed:
        cause = failed.__cause__
        text = (
            f"resample {failed.index} failed ({type(cause).__name__}: {cause}) after {gathered.n:,} of {n_resamples:,} "
            f"had finished{_where(checkpoint)}"
        )
        raise StabilityError(text, gathered.partial()) from cause
    return gathered.result()


def _gather(gathered: _Gathered, study: Study, plan: _Plan, kept: Checkpoint | None, report: CountHook | None) -> None:
    """Count the resamples that a checkpoint holds, then compute and count the others."""
    done = set()
    for outcome in kept.outcomes(plan.n_resamples) if kept is not None else ():
        gathered.add(outcome)
        done.add(outcome.index)
    wanted = [i for i in range(plan.n_resamples) if i not in done]
    if report is not None:
        report(len(done), plan.n_resamples)
    if plan.executor is None:
        outcomes = outcomes_here(study, wanted, study.at_once())
    else:
        outcomes = outcomes_on(plan.executor, study, wanted)
    for outcome in outcomes:
        if kept is not None:
            kept.keep(outcome)
        gathered.add(outcome)
        if report is not None:
            report(gathered.n, plan.n_resamples)


def _where(checkpoint: str | PathLike[str] | None) -> str:
    """The end of a message: where the finished resamples are."""
    if checkpoint is None:
        return "; their frequencies are in .partial, and with a checkpoint they would be kept"
    return f"; they are kept in {checkpoint}, and the same call resumes from there"


@dataclass(frozen=True)
class _Plan:
    """The arguments about resampling, checked on construction."""

    n_resamples: int
    scheme: Scheme
    fraction: float
    random_state: int | np.random.Generator | None
    executor: Executor | None
    checkpoint: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        n, executor, checkpoint = self.n_resamples, self.executor, self.checkpoint
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"n_resamples must be a whole number, got {n!r}")
        if n < 1:
            raise ValueError(f"n_resamples must be at least 1, got {n}")
        if self.scheme == "complementary" and n % 2:
            raise ValueError(f"n_resamples must be even for scheme='complementary', which draws pairs, got {n}")
        if executor is not None and not isinstance(executor, Executor):
            raise TypeError(
                "executor must be a concurrent.futures.Executor, e.g. of dask Client.get_executor(), got "
                f"{type(executor).__name__}"
            )
        if checkpoint is not None and not isinstance(checkpoint, (str, PathLike)):
            raise TypeError(f"checkpoint must be the path of a folder, got {checkpoint!r}")

    def seed(self) -> int:
        """The seed: the one that was given, else that of the checkpoint if there is one."""
        kept = seed_in(self.checkpoint) if self.random_state is None and self.checkpoint is not None else None
        return seed_of(self.random_state) if kept is None else kept


def _checked_study(data: Any, plan: _Plan, alpha: Any, arguments: dict[str, Any]) -> tuple[Study, Problem]:
    """The study, and the arguments of `pc`, checked as `pc` checks them."""
    if unknown := sorted(arguments.keys() - PC_ARGUMENTS.keys()):
        raise TypeError(f"{unknown[0]} is no argument of stability or pc; those of pc are {', '.join(PC_ARGUMENTS)}")
    given = {**PC_ARGUMENTS, **arguments}
    if isinstance(given["engine"], Engine):
        raise TypeError(
            f"engine must be the name of an engine, since each resample makes its own, got {given['engine']!r}"
        )
    if plan.executor is not None and given["numCores"] is None:
        given["numCores"] = 1
    alphas = _checked_alphas(alpha)
    check_orientation(**{name: given[name] for name in ("u2pd", "conservative", "maj_rule", "solve_confl")})
    for level in alphas:
        _options(level, given)
    rows = as_rows(data, given["indepTest"], given["labels"])
    resampling = Resampling(rows.n, plan.scheme, plan.fraction, plan.seed())
    problem = _problem(rows, alphas[0], given, away=plan.executor is not None)
    del given["p"]
    flags = {name: bool(given[name]) for name, default in PC_ARGUMENTS.items() if isinstance(default, bool)}
    given |= {"labels": problem.labels, "fixedGaps": problem.gaps, "fixedEdges": problem.fixed}
    given |= {**flags, "m_max": float(given["m_max"])}  # in one form, as they are part of the study's identity
    return Study(rows, resampling, alphas, given), problem


def _checked_alphas(alpha: Any) -> tuple[float, ...]:
    if isinstance(alpha, (str, bytes)) or not (isinstance(alpha, Iterable) or np.isscalar(alpha)):
        raise TypeError(f"alpha must be a number in [0, 1] or a sequence of them, got {alpha!r}")
    alphas = tuple(alpha) if isinstance(alpha, Iterable) else (alpha,)
    if not alphas:
        raise ValueError("alpha must be a number in [0, 1] or a sequence of them, got an empty sequence")
    for level in alphas:
        if isinstance(level, (bool, np.bool_)) or not isinstance(level, (int, float, np.integer, np.floating)):
            raise TypeError(f"alpha must be a number in [0, 1] or a sequence of them, got {alpha!r}")
    if len(set(alphas)) < len(alphas):
        raise ValueError(f"alpha must not name a level twice, got {alpha!r}")
    return tuple(map(float, alphas))


def _options(alpha: float, given: dict[str, Any]) -> Options:
    return Options(alpha, given["m_max"], given["skel_method"], given["NAdelete"], given["numCores"])


def _problem(rows: Rows, alpha: float, given: dict[str, Any], *, away: bool) -> Problem:
    """The checked arguments. If the resamples run elsewhere (`away`), this machine need not have the engine."""
    names = ("indepTest", "labels", "p", "fixedGaps", "fixedEdges", "quirks")
    variables = Variables(rows.whole(), **{name: given[name] for name in names})
    options = _options(alpha, given)
    try:
        problem = check_arguments("pc", variables, options, EngineChoice(given["engine"], given["engine_options"]))
    except EngineError:
        if not away:
            raise
        problem = check_arguments("pc", variables, options, EngineChoice("cpu"))
    problem.engine.close()
    return problem


class _Gathered:
    """The frequencies over the resamples so far."""

    def __init__(self, study: Study, problem: Problem) -> None:
        self._study, self.problem = study, problem
        p = len(problem.labels)
        self._tallies = [Tally(p) for _ in study.alphas]
        self._constant = np.zeros(p, dtype=np.int64)
        self._numbers: dict[int, tuple[Any, int, int]] = {}
        self._note = ""

    @property
    def n(self) -> int:
        """Resamples so far."""
        return len(self._numbers)

    def add(self, outcome: Outcome) -> None:
        """Count the edges of a resample."""
        for tally, edges in zip(self._tallies, outcome.edges, strict=True):
            tally.add(edges)
        self._constant[outcome.constant] += 1
        self._numbers[outcome.index] = (outcome.n_tests, len(outcome.constant), outcome.n_copies)
        self._note = max(self._note, outcome.note, key=len)  # the longer one names both faults

    def partial(self) -> Stability | None:
        """The result so far, None if there is none."""
        return self.result() if self.n else None

    def result(self) -> Stability:
        """The frequencies."""
        problem, study = self.problem, self._study
        order = sorted(self._numbers)
        tests, constant, copies = zip(*(self._numbers[i] for i in order), strict=True)
        p = len(problem.labels)
        none = np.zeros((1, 1), dtype=np.bool_)
        gaps = none if problem.gaps is None else problem.gaps
        fixed = none if problem.fixed is None else problem.fixed
        return Stability(
            labels=problem.labels,
            alphas=study.alphas,
            resampling=study.resampling,
            resamples=np.array(order, dtype=np.int64),
            counts=tuple(tally.counts() for tally in self._tallies),
            n_tests=np.array(tests, dtype=np.float64),
            n_constant=np.array(constant, dtype=np.int64),
            n_copies=np.array(copies, dtype=np.int64),
            constant=self._constant,
            n_pairs=p * (p - 1) // 2 - int(np.count_nonzero(gaps | fixed)) // 2,
            n_fixed=int(np.count_nonzero(fixed & ~gaps)) // 2,
            arguments=study.identity,
            notes={"quirks": self._note} if self._note else {},
        )
