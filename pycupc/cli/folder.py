"""An output folder that exists either completely or not at all. Files that pycupc did not write are never lost.

During a run, its files are beside the future folder, in

    .NAME-xxxxxxxx.part/
        lock      held by the run; a folder whose lock is free was left by a run that was killed
        new/      the results, which take the folder's name when they are complete
        old/      the folder that they replace (--force), for the instant of the exchange
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from pycupc.cli.output import FolderError
from pycupc.results.npz import unfinished_prefix

MANIFEST = "manifest.json"
#: Seconds after which a folder without a lock is regarded as abandoned by its run.
_UNLOCKED = 60


class FolderExists(FolderError):
    """The output folder is already there and may not be replaced."""


class OutputFolder:
    """The folder of one run. On entry, before the work, it is checked; on exit, what is left over is deleted.

    Write into `new`; `shown` is the target as it was given. FolderExists if the target exists and `force` is not set,
    or must not be replaced; FolderError if nothing can be written there.

    `force`: replace the results of an earlier run: the files that its manifest lists. Other files stay. `names`: names
    of files that the run may write; no foreign file may have one of them.
    """

    def __init__(self, target: Path, *, force: bool = False, names: Sequence[str] = ()) -> None:
        self.target, self._force, self._names = Path(os.path.realpath(target)), force, frozenset(names)
        parent, self.shown = self.target.parent, target
        self._made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
        try:
            parent.mkdir(parents=True, exist_ok=True)
            _clean_up(self.target)
            self._check()
            prefix = unfinished_prefix(self.target.name)
            self._work = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=parent))
            self._lock = _locked(self._work / "lock", create=True)
            self.new = self._work / "new"
            self.new.mkdir()
        except OSError as error:
            raise FolderError(f"{target} cannot be written ({error.strerror}); choose another --out") from error

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(self, *_: object) -> None:
        """Delete what was not put into place, except the files of others."""
        if self._lock is not None:
            self._lock.close()
        _remove(self._work, self.target)
        with contextlib.suppress(OSError):  # not empty
            for folder in self._made:
                folder.rmdir()

    def _check(self) -> None:
        target = self.shown
        if not target.exists():
            return
        if not target.is_dir():
            raise FolderExists(f"{target} exists and is not a folder; choose another --out")
        present = {entry.name for entry in target.iterdir()}
        if not present:
            return
        if not self._force:
            raise FolderExists(f"{target} exists; choose another --out, or --force to replace it")
        ours = _ours(target)
        if not ours:
            raise FolderExists(
                f"{target} was not written by pycupc (no manifest.json of a run in it), so --force does not replace it"
            )
        if foreign := sorted((present - ours) & self._names):
            raise FolderExists(
                f"{target} holds {', '.join(foreign)}, which its manifest does not list and --force does not replace; "
                "choose another --out"
            )

    def finish(self) -> Path:
        """Put the results into place; returns where they are: beside `target` if another run has taken it meanwhile."""
        os.umask(mask := os.umask(0))
        os.chmod(self.new, 0o777 & ~mask)  # the permissions of mkdtemp are private
        old = self._work / "old"
        try:
            self._check()
            if self.target.exists():
                with contextlib.suppress(FileNotFoundError):  # another run is exchanging it as well
                    os.rename(self.target, old)
            os.rename(self.new, self.target)
        except (FolderExists, OSError):
            place = _free_name(self.target)
            os.rename(self.new, place)
            return place
        _retire(old, self.target)
        return self.shown


def elsewhere(target: Path) -> Iterator[Path]:
    """Free names of folders where results may be kept that do not fit into `target`: on other disks, if possible."""
    for parent in dict.fromkeys(map(Path, (tempfile.gettempdir(), os.path.expanduser("~"), os.getcwd()))):
        yield _free_name(parent / target.name)


def _free_name(target: Path) -> Path:
    """A name beside `target` that is not taken."""
    return next(name for k in range(2, 1000) if not (name := target.with_name(f"{target.name}-{k}")).exists())


def _ours(folder: Path) -> frozenset[str]:
    """Names of the files in `folder` that its manifest lists, and of the manifest; none without such a manifest."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        listed = [*manifest["files"], MANIFEST] if manifest["program"] == "pycupc" else []
    except (OSError, ValueError, TypeError, KeyError):
        return frozenset()
    return frozenset(name for name in listed if isinstance(name, str) and Path(name).name == name)


def _retire(old: Path, target: Path) -> None:
    """Delete the files of a folder that was replaced, and move the files of others into the folder that replaced it."""
    if not old.is_dir():
        return
    for name in _ours(old) - {MANIFEST}:
        if not (old / name).is_dir():
            (old / name).unlink(missing_ok=True)
    for entry in old.iterdir():
        if entry.name != MANIFEST and not (target / entry.name).exists():
            os.rename(entry, target / entry.name)
    if {entry.name for entry in old.iterdir()} <= {MANIFEST}:  # last, so that what is left of it can be retired later
        (old / MANIFEST).unlink(missing_ok=True)
        old.rmdir()
    else:
        warnings.warn(f"files that pycupc did not write are left in {old}", stacklevel=2)


def _remove(work: Path, target: Path) -> None:
    """Delete the folder of a run, after its folder `old` has been put back or retired."""
    old = work / "old"
    with contextlib.suppress(OSError):
        if old.is_dir() and not target.exists():
            os.rename(old, target)
        _retire(old, target)
    shutil.rmtree(work / "new", ignore_errors=True)
    with contextlib.suppress(OSError):
        if not old.exists():
            (work / "lock").unlink(missing_ok=True)
        work.rmdir()


def _clean_up(target: Path) -> None:
    """Delete the folders that killed runs with this target have left."""
    for work in target.parent.glob(f"{glob.escape(unfinished_prefix(target.name))}????????.part"):
        with contextlib.suppress(OSError):  # of another user
            entries = {entry.name for entry in work.iterdir()}
            if not entries and time.time() - work.stat().st_mtime > _UNLOCKED:
                work.rmdir()
            elif "lock" in entries and entries <= {"lock", "new", "old"}:
                lock = _locked(work / "lock", create=False)
                if lock is not None:
                    lock.close()
                    _remove(work, target)


def _locked(path: Path, *, create: bool) -> IO[bytes] | None:
    """The file, open and locked until it is closed, at the latest at the end of the process; None if another has it."""
    try:
        import fcntl
    except ImportError:  # Windows: an open file cannot be deleted there, which serves as a lock
        if not create:
            with contextlib.suppress(OSError):
                path.unlink()
        return open(path, "xb") if create or not path.exists() else None
    file = open(path, "xb" if create else "r+b")  # noqa: SIM115 - the caller closes it
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if create:  # a file system without locks
            return file
        file.close()
        return None
    return file
