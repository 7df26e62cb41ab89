"""Finished resamples in a folder, from which a run that was killed resumes.

    study.json              the format, and everything that determines the answer (`Study.identity`)
    resample-000012.npz     resample 12; it appears only when it is complete

Every file names the study that it belongs to, and several runs of the same study may share a folder.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.results import npz
from pycupc.results.study_file import StudyFile
from pycupc.stability.consensus import Edges, counting
from pycupc.stability.study import Outcome, Study
from pycupc.system.message import Argument, Message

_STUDY = StudyFile("study.json", npz.Kind("pycupc-checkpoint-1", "a checkpoint of pycupc.stability"), "study")
KIND = npz.Kind("pycupc-resample-1", "a resample that pycupc.stability kept")
#: Seconds after which an unfinished file is regarded as left by a run that was killed.
_ABANDONED = 3600


class Checkpoint:
    """The folder of one study.

    Parameters
    ----------
    folder : str or Path
        Created if it does not exist.
    study : Study

    Raises
    ------
    ValueError
        The folder holds other files, or another study; the message names the arguments that differ.
    OSError
        The folder cannot be read or written.
    """

    def __init__(self, folder: str | PathLike[str], study: Study) -> None:
        self.folder, self._key = Path(folder), study.key
        self._p, self._n_alphas = len(study.arguments["labels"]), len(study.alphas)
        self._counting = counting(study.method)
        _STUDY.open(folder, study.identity)
        for part in self.folder.glob(".resample-*.part"):
            with contextlib.suppress(OSError):
                if time.time() - part.stat().st_mtime > _ABANDONED:
                    part.unlink()

    def outcomes(self, n_resamples: int) -> Iterator[Outcome]:
        """The finished resamples with numbers below `n_resamples`; ValueError names a file that is not one of them."""
        there = {path.name for path in self.folder.iterdir()}
        for i in range(n_resamples):
            path = self._path(i)
            if path.name in there:
                yield self._read(path, i)

    def keep(self, outcome: Outcome) -> None:
        """Write a finished resample."""
        arrays: dict[str, NDArray[Any]] = {
            "n_tests": outcome.n_tests,
            "constant": outcome.constant,
            "n_copies": np.array([outcome.n_copies]),
        }
        for k, edges in enumerate(outcome.edges):
            arrays |= {f"low_{k}": edges.low, f"high_{k}": edges.high, f"kind_{k}": edges.kind}
        meta = {"study": self._key, "index": outcome.index, "note": outcome.note}
        npz.write(self._path(outcome.index), meta, arrays, KIND)

    def _path(self, i: int) -> Path:
        return self.folder / f"resample-{i:06}.npz"

    def _read(self, path: Path, i: int) -> Outcome:
        try:
            with npz.reading(path, KIND) as (meta, arrays):
                if (meta["study"], meta["index"]) != (self._key, i):
                    raise ValueError("it is a resample of another study, or another resample")
                return self._outcome(arrays, i, str(meta.get("note", "")))  # older files have none
        except ValueError as error:
            raise ValueError(f"{error}; delete the file, and the resample is computed again") from error

    def _outcome(self, arrays: Mapping[str, NDArray[Any]], i: int, note: str) -> Outcome:
        n_tests, constant, copies = (arrays[name] for name in ("n_tests", "constant", "n_copies"))
        wrong = n_tests.shape != (self._n_alphas,) or not np.isfinite(n_tests).all() or copies.shape != (1,)
        if wrong or int(constant.max(initial=0)) >= self._p or (np.diff(constant) <= 0).any():
            raise ValueError("its numbers are out of range")
        edges = tuple(self._edges(arrays, k) for k in range(self._n_alphas))
        return Outcome(i, edges, n_tests, constant.astype(np.int64), int(copies[0]), note)

    def _edges(self, arrays: Mapping[str, NDArray[Any]], k: int) -> Edges:
        low, high, kind = (arrays[f"{name}_{k}"] for name in ("low", "high", "kind"))
        pairs = low.astype(np.int64) * self._p + high
        wrong = not len(low) == len(high) == len(kind) or (low >= high).any() or (np.diff(pairs) <= 0).any()
        if wrong or int(high.max(initial=0)) >= self._p or int(kind.max(initial=0)) > self._counting.most:
            raise ValueError("its edges are out of range")
        return Edges(low, high, kind.astype(np.uint8))


def remove(folder: str | PathLike[str]) -> None:
    """Delete the files of a checkpoint, and the folder if nothing else is in it."""
    with contextlib.suppress(OSError):
        for path in (*Path(folder).glob("resample-*.npz"), *Path(folder).glob(".*.part"), Path(folder) / _STUDY.name):
            path.unlink(missing_ok=True)
        Path(folder).rmdir()


def seed_in(folder: str | PathLike[str]) -> int | None:
    """The seed of the study in a folder, None if there is none; ValueError if it holds other files or is damaged."""
    found = _STUDY.read(Path(folder))
    if found is None:
        return None
    if type(found.get("random_state")) is not int:
        text, path = "{path} is damaged: it has no {seed}", Path(folder) / _STUDY.name
        raise ValueError(Message(text, path=str(path), seed=Argument("random_state")))
    return int(found["random_state"])
