"""A side of a level in pieces, which the workers of an executor test: rows, and parts of the targets of large rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.cpu.graph import FarSet, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.pruning import plan
from pycupc.engines.cpu.tuning import PIECE_SECONDS, PIECES_PER_WORKER, WORKERS_AT_FIRST
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


def pieces_of(
    targets: Targets, seconds: Floats, rows: NDArray[np.integer], n_threads: int, n_workers: int = 0
) -> list[Indices]:
    """The entries of each piece; one piece if the side is too small for several.

    `seconds`, float64 (p,): of one thread for the targets of each row. `rows`: x of every entry. `n_workers`: that are
    known, each with `n_threads`.
    """
    most = PIECES_PER_WORKER * (n_workers or WORKERS_AT_FIRST)
    number = int(min(seconds.sum() / (PIECE_SECONDS * n_threads), most))
    entries = np.flatnonzero(targets.chosen)
    if number < 2:
        return [entries]
    share = seconds.sum() / number
    parts = np.clip(np.ceil(seconds / share), 1, np.maximum(targets.per_row, 1)).astype(np.int64)
    first, before = starts(parts)[:-1], starts(targets.per_row)[:-1]
    row = rows[entries]
    part = first[row] + (np.arange(len(entries)) - before[row]) * parts[row] // targets.per_row[row]
    order = np.argsort(-np.repeat(seconds / parts, parts), kind="stable")
    turn = np.arange(len(order)) % (2 * number)  # the pieces get the parts, the largest first, in turn, to and fro
    piece = np.empty_like(order)
    piece[order] = np.where(turn < number, turn, 2 * number - 1 - turn)
    of_entry = piece[part]
    grouped = entries[np.argsort(of_entry, kind="stable")]
    cuts = np.cumsum(np.bincount(of_entry, minlength=number))[:-1]
    return [some for some in np.split(grouped, cuts) if len(some)]


def test_elsewhere(
    elsewhere: Elsewhere, graph: Graph, level: int, pieces: list[Indices], findings: Findings,
    take: Callable[[Tested, int], None],
) -> None:  # fmt: skip
    """Let workers test the pieces; enter the findings of each, and call `take` with them and the number of tests."""
    lists = Graph(graph.offsets, graph.neighbours, graph.fixed, np.zeros(0))  # without z
    items = ((k, (Piece(level, entries, plan.loaded()),)) for k, entries in enumerate(pieces))
    words, shared = f"parts of level {level}", (f"level {level}", lists)
    for k, tested in elsewhere.results_of_engines(test_piece, items, len(pieces), words, shared):
        targets = graph.targets_at(pieces[k])
        _enter(tested, pieces[k], findings)
        take(tested, subsets.level_tests(graph.degrees, targets.per_row, level))


def test_piece(engine: Engine, graph: Graph, piece: Piece) -> Tested:
    """The work of a task, by the engine of the worker."""
    plan.count_as_loaded(piece.loaded)
    findings = graph.no_findings()
    n_careful, made, bounds = engine.test_entries(graph, piece.entries, piece.level, findings)  # type: ignore[attr-defined]
    rank = findings.rank[piece.entries]
    value = np.where(rank >= 0, findings.r[piece.entries], findings.smallest[piece.entries])
    rank = rank.astype(np.int32) if rank.max(initial=0) < 2**31 else rank
    return Tested(rank, value, findings.done[piece.entries], findings.far, n_careful, made, bounds)


def _enter(tested: Tested, entries: Indices, findings: Findings) -> None:
    """Enter the findings of a piece into the level's findings."""
    found = tested.rank >= 0
    findings.rank[entries], findings.done[entries] = tested.rank, tested.done
    findings.r[entries[found]] = tested.value[found]
    findings.smallest[entries[~found]] = tested.value[~found]
    findings.far.update(tested.far)
