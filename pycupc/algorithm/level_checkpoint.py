"""Finished levels of a run in a folder, from which a run that was killed resumes.

    run.json                  the format, and everything that determines the skeleton
    level-0003.npz            level 3: its removals and counts, and the edges left; it appears only when it is complete
    level-0-parts-000007.npz  parts of level 0, the first of them number 7, until the level has finished
    level-0003-part.npz       the findings of level 3 that are final, until the level has finished

Every file names the run that it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.protocol import AnyEngine, Finished, LevelResult
from pycupc.independence.families import identity_of
from pycupc.independence.registry import Identity, digest_of
from pycupc.results import npz
from pycupc.results.npz import StudyFile
from pycupc.results.schema import Array, check, names, require
from pycupc.system.localised_message import Argument, Message, Setting, Words
from pycupc.system.version import __version__

if TYPE_CHECKING:
    from pycupc.algorithm.arguments import Problem
    from pycupc.algorithm.tiered_levels import TieredLevels

_RUN = StudyFile("run.json", npz.Kind("pycupc-run-1", "a checkpoint of pycupc.pc"), "run")
_LEVEL = npz.Kind("pycupc-level-1", "a level that pycupc.pc kept")
_PARTS = npz.Kind("pycupc-parts-1", "parts of level 0 that pycupc.pc kept")
_PART = npz.Kind("pycupc-part-1", "a part of a level that pycupc.pc kept")
#: The arrays of a finished level: its removals, whose sets S follow one another, and the edges left with their z.
_ARRAYS = (
    *(Array(name, "index", "removals") for name in "xy"),
    Array("r", "number", "removals", -math.inf),
    Array("S", "index", "S"),
    *(Array(name, "index", "edges") for name in ("left_x", "left_y")),
    Array("z", "number", "edges", -math.inf),
    Array("answered", "size", "answered", high=255, optional=True),
    Array("p_max", "number", "cells", -math.inf, optional=True),
)
#: Seconds after which a finished part of a level is written.
_PATIENCE = 50.0
#: The facts of a `LevelResult` but its arrays.
_FACTS = ("n_tests", "n_removed", "n_careful", "more", "n_made", "n_bounds", "seconds")


class Checkpoint:
    """The folder of one run.

    Raises ValueError if the folder holds other files, or the run of another version or of other arguments or data,
    which the message names; or the run cannot be kept.

    `folder`: created if it does not exist.
    """

    def __init__(self, folder: str | PathLike[str], problem: Problem) -> None:
        of_test = identity_of(problem.test)
        if of_test is None:
            text = "checkpoint needs a test that can be recognised, and the content of this {test} or of its suffStat "
            text += "cannot be described; {remedy}"
            named = "give indepTest an attribute identity, a text that no test with other answers has"
            remedy = Words(named, "take a test of the package, or leave checkpoint out")
            raise ValueError(Message(text, test=Argument("indepTest"), remedy=remedy))
        if problem.engine.name == "reference" and problem.test.engine != "reference":
            cpu, gpu = Setting("engine", "cpu"), Setting("engine", "gpu")
            raise ValueError(Message("a checkpoint of this test needs {cpu} or {gpu}", cpu=cpu, gpu=gpu))
        if not problem.engine.keeps_levels:
            cpu, given = Setting("engine", "cpu"), Setting("engine", problem.engine_name)
            text = "a checkpoint of {kind} data needs {cpu}, got {given}, which finds p-values after the levels"
            raise ValueError(Message(text, kind=problem.test.name, cpu=cpu, given=given))
        identity = _identity(problem, of_test)
        _RUN.open(folder, identity)
        self._folder, self._p = Path(folder), len(problem.labels)
        self._key = _hash(json.dumps(identity, sort_keys=True).encode())
        self._parts: list[tuple[int, Sequence[NDArray[Any]]]] = []  # that are not written yet
        self._since, self._adding = 0.0, threading.Lock()

    # -- levels ------------------------------------------------------------------------------------------------------

    def resume(self, levels: AnyEngine | TieredLevels) -> list[LevelResult]:
        """Let an engine go on after the levels that are kept; returns their results."""
        finished: list[Finished] = []
        while (path := self._level(len(finished))).exists():
            finished.append(self._read(path, len(finished)))
        if finished:
            levels.resume(finished)
        return [level.result for level in finished]

    def keep(self, result: LevelResult, levels: AnyEngine | TieredLevels) -> None:
        """Write a level that has just finished."""
        state, answered = levels.state(), levels.answered(result.level)
        of_level = result.x, result.y, result.r, result.S.reshape(-1), state.x, state.y, state.z
        arrays: dict[str, NDArray[Any]] = dict(
            zip(names(row for row in _ARRAYS if not row.optional), of_level, strict=True)
        )
        if answered is not None:
            arrays["answered"] = np.packbits(answered)
        if state.p_max is not None:
            arrays["p_max"] = state.p_max.reshape(-1)
        meta = {"run": self._key, "level": result.level, "entries": 0 if answered is None else len(answered)}
        facts = {name: getattr(result, name) for name in _FACTS}
        npz.write(self._level(result.level), meta | facts, arrays, _LEVEL)
        self._parts.clear()
        for path in self._folder.glob("level-*-part*.npz"):
            path.unlink(missing_ok=True)

    def _level(self, level: int) -> Path:
        return self._folder / f"level-{level:04}.npz"

    def _read(self, path: Path, level: int) -> Finished:
        with npz.reading(path, _LEVEL) as (meta, arrays):
            self._check(meta)
            check(_ARRAYS, arrays, self._p, {"cells": self._p**2})
            x, y, r, S, left_x, left_y, z = (arrays[row.name] for row in _ARRAYS if not row.optional)
            require(len(S) == level * len(x), "S", S.shape)
            require(not (left_x >= left_y).any(), "left_x", "above left_y")
            facts = {name: meta[name] for name in _FACTS}
            result = LevelResult(level=level, x=x, y=y, S=S.reshape(len(x), level), r=r, **facts)
            answered = None
            if "answered" in arrays:
                answered = np.unpackbits(arrays["answered"].astype(np.uint8), count=meta["entries"]).astype(np.bool_)
            p_max = arrays["p_max"].reshape(self._p, self._p) if "p_max" in arrays else None
        return Finished(result._replace(more=bool(result.more)), left_x, left_y, z, answered, p_max)

    def _check(self, meta: Mapping[str, Any]) -> None:
        if meta["run"] != self._key:
            raise ValueError("it belongs to another run")

    # -- parts of levels, see `PartsKept` ----------------------------------------------------------------------------

    def read(self, cut: str) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
        for path in sorted(self._folder.glob("level-0-parts-*.npz")):
            with npz.reading(path, _PARTS) as (meta, arrays):
                self._check(meta)
                numbers, *found = (arrays[name].astype(np.int64) for name in ("numbers", "x", "y", "counts"))
            if meta["cut"] == cut:
                yield numbers, found

    def add(self, cut: str, number: int, found: Sequence[NDArray[np.integer]]) -> None:
        with self._adding:  # several devices do
            self._since = self._since if self._parts else time.monotonic()
            self._parts.append((number, found))
            if time.monotonic() - self._since >= _PATIENCE:
                self._write_parts(cut)

    def _write_parts(self, cut: str) -> None:
        x, y = (np.concatenate([part[k] for _, part in self._parts]) for k in range(2))
        counts = np.stack([part[2] for _, part in self._parts]).sum(axis=0).astype(np.float64)
        numbers = np.array([n for n, _ in self._parts])
        arrays: dict[str, NDArray[Any]] = {"numbers": numbers, "x": x, "y": y, "counts": counts}
        first = int(numbers.min())
        npz.write(self._folder / f"level-0-parts-{first:06}.npz", {"run": self._key, "cut": cut}, arrays, _PARTS)
        self._parts.clear()

    def begin(self, level: int, take: Callable[[dict[str, NDArray[Any]]], bool], *wanted: str) -> None:
        self._since = time.monotonic()
        if not (path := self._part(level)).exists():
            return
        with npz.reading(path, _PART) as (meta, arrays):
            self._check(meta)
            found = {name: arrays[name].view(np.int64) if name in meta["wide"] else arrays[name] for name in arrays}
            if set(found) == set(wanted) and not take(found):  # another engine has other names
                raise ValueError("its numbers are out of range")

    def keep_some(self, level: int, finished: Callable[[], dict[str, NDArray[Any]]]) -> None:
        if time.monotonic() - self._since >= _PATIENCE:
            found = finished()  # files hold integers of 31 bits: the bits of wider ones are kept as float64
            wide = [name for name, v in found.items() if v.dtype == np.int64]
            found |= {name: found[name].view(np.float64) for name in wide}
            npz.write(self._part(level), {"run": self._key, "wide": wide}, found, _PART)
            self._since = time.monotonic()

    def _part(self, level: int) -> Path:
        return self._folder / f"level-{level:04}-part.npz"


def _identity(problem: Problem, of_test: Identity) -> dict[str, Any]:
    """Everything that determines the skeleton, ready for JSON; large values by their hash."""
    test, tiers = problem.test, problem.tiers
    pairs = {"fixedGaps": problem.gaps, "fixedEdges": problem.fixed}
    return {
        "version": __version__,
        "data": digest_of(of_test.arrays),
        "labels": _hash(json.dumps(problem.labels).encode()),
        "variables": len(problem.labels),
        "n": test.n,
        "alpha": float(problem.alpha),
        "m_max": "inf" if problem.m_max == float("inf") else int(problem.m_max),
        **of_test.facts,
        **{name: None if value is None else digest_of((value.keys,)) for name, value in pairs.items()},
        "tiers": None if tiers is None else digest_of((tiers.tier,)),
        # such levels keep p-values in place of z
        **({"levels": "of questions"} if problem.asks_about_pairs and test.has_r else {}),
    }


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
