"""Finished resamples in a folder, from which a run that was killed resumes.

    study.json              the format, and everything that determines the answer (`Resampled.identity`)
    resample-000012.npz     resample 12; it appears only when it is complete

Every file names the study that it belongs to, and several runs of the same study may share a folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from pycupc.results import npz
from pycupc.results.npz import StudyFile
from pycupc.stability.study import Outcome, Resampled
from pycupc.system.localised_message import Argument, Message

_STUDY = StudyFile("study.json", npz.Kind("pycupc-checkpoint-1", "a checkpoint of pycupc.stability"), "study")
KIND = npz.Kind("pycupc-resample-1", "a resample that pycupc.stability kept")


class Checkpoint:
    """The folder of one study, which is created if it does not exist.

    ValueError if it holds other files, or another study; the message names the arguments that differ. OSError if it
    cannot be read or written.
    """

    def __init__(self, folder: str | PathLike[str], study: Resampled[Any]) -> None:
        self.folder, self._study = Path(folder), study
        _STUDY.open(folder, study.identity)

    def outcomes(self, n_resamples: int) -> Iterator[Outcome]:
        """The finished resamples with numbers below `n_resamples`; ValueError names a file that is not one of them."""
        there = {path.name for path in self.folder.iterdir()}
        for i in range(n_resamples):
            path = self._path(i)
            if path.name in there:
                yield self._read(path, i)

    def keep(self, outcome: Outcome) -> None:
        """Write a finished resample."""
        meta = {"study": self._study.key, "index": outcome.index, "note": outcome.note}
        npz.write(self._path(outcome.index), meta, dict(outcome.arrays), KIND)

    def _path(self, i: int) -> Path:
        return self.folder / f"resample-{i:06}.npz"

    def _read(self, path: Path, i: int) -> Outcome:
        try:
            with npz.reading(path, KIND) as (meta, arrays):
                if (meta["study"], meta["index"]) != (self._study.key, i):
                    raise ValueError("it is a resample of another study, or another resample")
                self._study.check(arrays)
                return Outcome(i, arrays, str(meta.get("note", "")))  # older files have none
        except ValueError as error:
            raise ValueError(f"{error}; delete the file, and the resample is computed again") from error


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
