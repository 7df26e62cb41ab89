"""`stability`: an algorithm on many resamples of the rows, and the frequencies over the finished resamples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import Any

import numpy as np

from pycupc.engines.protocol import EngineError
from pycupc.results.methods import Oriented
from pycupc.stability.processes import ResampleFailed, outcomes_here, outcomes_on
from pycupc.stability.resample_checkpoint import Checkpoint
from pycupc.stability.rows import Scheme
from pycupc.stability.stability_arguments import Plan, checked_study
from pycupc.stability.stability_result import Stability
from pycupc.stability.study import Outcome, R, Resampled
from pycupc.system.localised_message import Message, Words
from pycupc.system.nearest import hinted
from pycupc.system.progress import CountHook, count_hook


class _Unfinished(BaseException):
    """An exception that ends `stability` early; `partial` is the result over the finished resamples, or None."""

    def __init__(self, text: str, partial: Any) -> None:
        super().__init__(text)
        self.partial = partial

    def __reduce__(self) -> tuple[type[_Unfinished], tuple[str, Any]]:
        return type(self), (self.args[0], self.partial)


class StabilityInterrupted(_Unfinished, KeyboardInterrupt):
    """Ctrl-C during `stability` or `cstar`; `partial` is their result over the resamples that had finished, or None."""


class StabilityError(_Unfinished, EngineError):
    """A resample could not be computed: too little memory, a broken executor, a worker that was killed repeatedly.

    `partial` is as of `StabilityInterrupted`.
    """


@hinted
def stability(  # noqa: PLR0913 - the data, how they are resampled, and where; pc has more
    data: Any,
    *,
    method: Oriented = "pc",
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
    """Run `pc`, `fci` or `rfci` on resamples of the rows, and count how often each edge, or mark, is found.

    Parameters
    ----------
    data : table, array_like (n, p), path of a file, or DiscreteSuffStat
        Observations, as for `SuffStat.from_data`; with ``indepTest=disCItest`` (or `binCItest`), the data of that test,
        whose numbers of levels every resample keeps, as it keeps the categories of a `MixedTable`. Incomplete data are
        an `IncompleteTable`, a `MultipleImputation`, of which all imputations get the same rows, or a `SuffStat` of
        ``missing="pairwise"``, with the correlations and n of the resample. ``indepTest=RCoT()`` takes a table; the
        features have the same seed on each resample.
    method : {"pc", "fci", "rfci"}, default "pc"
        The function that is run. Of the PAGs of `fci` and `rfci` it is counted how often each end has which mark.
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
        task computes one resample, with one thread of the cpu engine unless `numCores` is given. By default the
        resamples run in this process, with all cores.
    checkpoint : str or Path, optional
        Folder in which finished resamples are kept; a run with the same data and arguments resumes from there, even
        with a different number of resamples.
    progress : True, or callable ``(resamples done, resamples)``, optional
        True shows a bar on stderr with the time left.
    **arguments
        Further arguments of the method, all but suffStat, alpha, progress, random_state, skeleton and budget.

    Returns
    -------
    Stability

    Raises
    ------
    TypeError, ValueError
        An argument is invalid, or `checkpoint` is damaged or belongs to other data or arguments; the message names it.
        These errors are raised before anything is computed.
    EngineError
        The engine cannot run on this machine; or a resample could not be computed (`StabilityError`, whose attribute
        ``partial`` is the result over the resamples that had finished).
    StabilityInterrupted
        Ctrl-C was pressed. It is a KeyboardInterrupt whose ``partial`` is the result over the resamples that had
        finished.

    Notes
    -----
    Resample i has exactly the graph of the method, as of ``pc(data[result.indices(i)], alpha, ...)``. It depends only
    on the data, the arguments, the seed and i, and not on the executor, the number of workers, their order or restarts.
    With ``u2pd="rand"`` or "retry", `pc` gets ``random_state=result.resampling.random_state(i)``.

    A variable that is constant in a resample has no edges there, except fixed edges, as in `pc`. It counts as not
    adjacent to the others; `Stability.constant` says in how many resamples a variable was constant.

    For several GPUs start one Dask worker for each, with ``CUDA_VISIBLE_DEVICES`` set to its number and
    ``--nthreads 1`` (dask-cuda's ``LocalCUDACluster`` and ``dask cuda worker`` do so); with 2, two resamples share the
    device, which is faster from some 1,500 variables on. If a worker dies, Dask runs its unfinished resamples again.
    The data are sent to each worker about once. A ProcessPoolExecutor breaks when one of its processes is killed;
    `StabilityError.partial` then has the resamples that were finished.

    Bootstrap resamples repeat rows, but the tests treat all n rows as independent, so they find spurious dependence
    more often than alpha says. Subsamples do not have this problem, but they have fewer rows and therefore less power.

    Examples
    --------
    >>> import pycupc
    >>> result = pycupc.stability(pycupc.load_example(), n_resamples=20, alpha=0.01, random_state=1)
    >>> len(result.edges(threshold=0.9)) > 10
    True
    """
    plan = Plan(n_resamples, scheme, fraction, random_state, executor, checkpoint)
    return collected(checked_study(data, plan, alpha, arguments, method), plan, progress)


def collected(study: Resampled[R], plan: Plan, progress: Callable[[int, int], object] | bool | None) -> R:
    """The result over all resamples, from a checkpoint and new ones; errors as of `stability`."""
    found: dict[int, Outcome] = {}

    def result() -> R:
        return study.result([found[i] for i in sorted(found)])

    checkpoint, n_resamples = plan.checkpoint, plan.n_resamples
    kept = None if checkpoint is None else Checkpoint(checkpoint, study)
    try:
        with count_hook(progress, "resamples") as report:
            _collect(found, study, plan, kept, report)
    except KeyboardInterrupt:
        text = f"interrupted after {len(found):,} of {n_resamples:,} resamples{_where(checkpoint)}"
        raise StabilityInterrupted(text, result() if found else None) from None
    except ResampleFailed as failed:
        cause, i = failed.__cause__, Words(str(failed.index), str(failed.index + 1))
        text = "resample {i} failed ({kind}: {cause}) after {done:,} of {n:,} had finished{where}"
        done = {"done": len(found), "n": n_resamples, "where": _where(checkpoint)}
        message = Message(text, i=i, kind=type(cause).__name__, cause=cause, **done)
        raise StabilityError(message, result() if found else None) from cause
    return result()


def _collect(
    found: dict[int, Outcome], study: Resampled[Any], plan: Plan, kept: Checkpoint | None, report: CountHook | None
) -> None:
    """Put the outcomes that a checkpoint holds into `found`, then compute the others."""
    if kept is not None:
        found.update((outcome.index, outcome) for outcome in kept.outcomes(plan.n_resamples))
    wanted = [i for i in range(plan.n_resamples) if i not in found]
    if report is not None:
        report(len(found), plan.n_resamples)
    if plan.executor is None:
        outcomes = outcomes_here(study, wanted, study.at_once())
    else:
        outcomes = outcomes_on(plan.executor, study, wanted)
    for outcome in outcomes:
        if kept is not None:
            kept.keep(outcome)
        found[outcome.index] = outcome
        if report is not None:
            report(len(found), plan.n_resamples)


def _where(checkpoint: str | PathLike[str] | None) -> Message:
    """The end of a message: where the finished resamples are."""
    if checkpoint is None:
        partial = Words("their frequencies are in .partial, and ", "")
        return Message("; {partial}with a checkpoint they would be kept", partial=partial)
    return Message("; they are kept in {folder}, and the same call resumes from there", folder=str(checkpoint))
