"""An output folder that exists either completely or not at all. Files that pycupc did not write are never lost.

The files of a run are written beside the future folder, into ``.NAME-xxxxxxxx.part``, which takes its name when they
are complete. Such a folder that is older than an hour was left by a run that was killed.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pycupc.cli.output import FolderError, NoRoomError
from pycupc.system.files import NO_ROOM, unfinished, unfinished_prefix, whole_file

MANIFEST = "manifest.json"
#: Seconds after which an unfinished folder is regarded as abandoned by its run.
_ABANDONED = 3600


@dataclass(frozen=True)
class OutputFolder:
    """The folder `shown`, as the user names it, in which a run may write files of these `names`.

    `force`: replace the results of an earlier run: the files that its manifest lists. Other files stay.
    """

    shown: Path
    names: frozenset[str] = frozenset()
    force: bool = False

    @property
    def target(self) -> Path:
        """The folder itself, where `shown` is a link to it."""
        return Path(os.path.realpath(self.shown))

    @property
    def parent(self) -> Path:
        """The nearest folder above that exists."""
        return next(parent for parent in self.target.parents if parent.exists())

    def check(self) -> None:
        """Raise FolderError if nothing can be written there (which is tried), or what is there must not be replaced."""
        try:
            present = set(os.listdir(self.target))
        except FileNotFoundError:
            present = set()
        except OSError as error:
            raise self._refused(error) from error
        for folder in (self.parent, *([self.target] if self.target.exists() else [])):
            work = self._work_in(folder)
            try:
                work.mkdir()
                work.rmdir()
            except OSError as error:  # no right to write, a disk that is read only, full or damaged
                raise self._refused(error) from error
        if not present:
            return
        if not self.force:
            raise FolderError(f"{self.shown} exists; choose another --out, or --force to replace it")
        ours = _ours(self.target)
        if not ours:
            raise FolderError(
                f"{self.shown} was not written by pycupc (no manifest.json of a run in it), so --force does not "
                "replace it"
            )
        if foreign := sorted((present - ours) & self.names):
            raise FolderError(
                f"{self.shown} holds {', '.join(foreign)}, which its manifest does not list and --force does not "
                "replace; choose another --out"
            )

    def _refused(self, error: OSError) -> FolderError:
        kind = NoRoomError if error.errno in NO_ROOM else FolderError
        return kind(f"{self.shown} cannot be written ({error.strerror}); choose another --out")

    def _work_in(self, folder: Path) -> Path:
        """A name in `folder` for the unfinished folder."""
        return folder / f"{unfinished_prefix(self.target.name)}{secrets.token_hex(4)}.part"

    def write(self, fill: Callable[[Path], object]) -> Path:
        """Call ``fill(folder)``, which writes the files and the manifest, and put the folder into place.

        Returns where it is: beside `shown` if another run has taken that meanwhile.
        """
        target = self.target
        target.parent.mkdir(parents=True, exist_ok=True)
        _clean_up(target, self.names)
        work = self._work_in(target.parent)
        work.mkdir()
        try:
            with unfinished(work):
                fill(work)
            with contextlib.suppress(FolderError):
                self.check()
                if target.exists():
                    _replace(target, work)
                else:
                    os.rename(work, target)
                return self.shown
            os.rename(work, place := _free_name(target))
            return place
        finally:
            shutil.rmtree(work, ignore_errors=True)


def elsewhere(folder: OutputFolder) -> Iterator[OutputFolder]:
    """Free folders where results may be kept that do not fit into `folder`: on other disks, if possible."""
    for parent in dict.fromkeys(map(Path, (tempfile.gettempdir(), os.path.expanduser("~"), os.getcwd()))):
        yield OutputFolder(_free_name(parent / folder.target.name), folder.names)


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
    names = [name for name in listed if isinstance(name, str) and Path(name).name == name]
    return frozenset(name for name in names if not (folder / name).is_dir())


def _replace(target: Path, work: Path) -> None:
    """Put the files of `work` into the place of the files that the manifest of `target` lists.

    Until all are there, a manifest that says so lists the files of both, so that --force can replace them. The old
    files go before any new file comes, so that a folder of a killed run never holds files of two runs.
    """
    old, new = _ours(target), {entry.name for entry in work.iterdir()}
    listed = dict.fromkeys(sorted((old | new) - {MANIFEST}), "")
    with whole_file(target / MANIFEST) as file:
        file.write(json.dumps({"program": "pycupc", "unfinished": True, "files": listed}).encode())
    for name in sorted(old - {MANIFEST}):
        (target / name).unlink(missing_ok=True)
    for name in sorted(new - {MANIFEST}) + [MANIFEST]:
        os.replace(work / name, target / name)


def _clean_up(target: Path, names: frozenset[str]) -> None:
    """Delete the folders that killed runs with this target have left, and their unfinished files in the target."""
    for work in _abandoned(target.parent, target.name):
        with contextlib.suppress(OSError):  # of another user, or with files of others
            for name in names:
                (work / name).unlink(missing_ok=True)
                for file in _parts(work, name):
                    file.unlink(missing_ok=True)
            work.rmdir()
    for file in _abandoned(target, MANIFEST):
        with contextlib.suppress(OSError):
            file.unlink()


def _parts(folder: Path, name: str) -> Iterator[Path]:
    """The unfinished files and folders of this name in a folder."""
    return folder.glob(f"{glob.escape(unfinished_prefix(name))}????????.part")


def _abandoned(folder: Path, name: str) -> Iterator[Path]:
    """The unfinished files and folders of this name that were written so long ago that their run has been killed."""
    for path in _parts(folder, name):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                yield path
