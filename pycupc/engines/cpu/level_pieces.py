"""A side of a level in pieces, which the workers of an executor test: rows, and parts of the targets of large rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.cpu.graph import FarSet, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.pruning import plan
from pycupc.engines.cpu.tuning import PIECE_SECONDS, PIECE_SHARES, WORKERS_AT_FIRST
from pycupc.engines.protocol import Elsewhere, Engine, Floats
from pycupc.graph.lists import starts


class Piece(NamedTuple):
    """Targets of one side, and what the process at home has decided for all of them."""

    level: int
    entries: Indices
    loaded: frozenset[plan.Way]  # the ways of pruning that pay


class Tested(NamedTuple):
    """The findings of a piece."""

    rank: NDArray[np.integer]  # as of `Findings`, in as few bytes as they need
    value: Floats  # r where a set separates, else `smallest`
    done: NDArray[np.int8]
    far: dict[int, FarSet]
    n_careful: int
    made: int  # tests that pruned sides have made
    bounds: int
    seconds: float  # of all threads of the worker


def pieces_of(
    targets: Targets, seconds: Floats, rows: NDArray[np.integer], n_threads: int, n_workers: int = 0
) -> list[Indices]:
    """The entries of each piece; one piece if the side is too small for several.

    `seconds`, float64 (p,): of one thread for the targets of each row. `rows`: x of every entry. `n_workers`: that are
    known, each with `n_threads`.
    """
    entries, shares = np.flatnonzero(targets.chosen), _shares(seconds.sum() / (PIECE_SECONDS * n_threads), n_workers)
    if len(shares) < 2:
        return [entries]
    total = int(shares.sum())
    parts = np.clip(np.ceil(seconds / (seconds.sum() / total)), 1, np.maximum(targets.per_row, 1)).astype(np.int64)
    first, before = starts(parts)[:-1], starts(targets.per_row)[:-1]
    row = rows[entries]
    part = first[row] + (np.arange(len(entries)) - before[row]) * parts[row] // targets.per_row[row]
    order = np.argsort(-np.repeat(seconds / parts, parts), kind="stable")
    turn = np.arange(len(order)) % (2 * total)  # the shares get the parts, the largest first, in turn, to and fro
    piece = np.empty_like(order)
    piece[order] = np.repeat(np.arange(len(shares)), shares)[np.where(turn < total, turn, 2 * total - 1 - turn)]
    of_entry = piece[part]
    grouped = entries[np.argsort(of_entry, kind="stable")]
    cuts = np.cumsum(np.bincount(of_entry, minlength=len(shares)))[:-1]
    return [some for some in np.split(grouped, cuts) if len(some)]


def _shares(most: float, n_workers: int) -> Indices:
    """How many shares of the work each piece has; `most`: number of the smallest pieces that are worth sending."""
    workers = n_workers or WORKERS_AT_FIRST
    for shares, least in PIECE_SHARES:
        if most >= least * workers * sum(shares):
            return np.repeat(shares, workers)
    return np.ones(int(most), dtype=np.int64)


def test_elsewhere(
    elsewhere: Elsewhere, graph: Graph, level: int, pieces: list[Indices], findings: Findings,
    take: Callable[[Tested, int], None],
) -> None:  # fmt: skip
    """Let workers test the pieces; enter the findings of each, and call `take` with them and the number of tests."""
    items = ((k, (Piece(level, entries, plan.loaded()),)) for k, entries in enumerate(pieces))
    words, shared = f"parts of level {level}", (f"level {level}", graph.without_z())
    for k, tested in elsewhere.results_of_engines(test_piece, items, len(pieces), words, shared):
        targets = graph.targets_at(pieces[k])
        _enter(tested, pieces[k], findings)
        take(tested, subsets.level_tests(graph.degrees, targets.per_row, level))


def test_piece(engine: Engine, graph: Graph, piece: Piece) -> Tested:
    """The work of a task, by the engine of the worker."""
    plan.count_as_loaded(piece.loaded)
    findings, begin = graph.no_findings(), time.perf_counter()
    n_careful, made, bounds = engine.test_entries(graph, piece.entries, piece.level, findings)  # type: ignore[attr-defined]
    rank = findings.rank[piece.entries]
    value = np.where(rank >= 0, findings.r[piece.entries], findings.smallest[piece.entries])
    rank = rank.astype(np.int32) if rank.max(initial=0) < 2**31 else rank
    seconds = engine.threads * (time.perf_counter() - begin)  # type: ignore[attr-defined]
    return Tested(rank, value, findings.done[piece.entries], findings.far, n_careful, made, bounds, seconds)


def _enter(tested: Tested, entries: Indices, findings: Findings) -> None:
    """Enter the findings of a piece into the level's findings."""
    found = tested.rank >= 0
    findings.rank[entries], findings.done[entries] = tested.rank, tested.done
    findings.r[entries[found]] = tested.value[found]
    findings.smallest[entries[~found]] = tested.value[~found]
    findings.far.update(tested.far)
