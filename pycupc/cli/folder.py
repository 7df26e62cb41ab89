"""An output folder that exists either complete or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderExists(ValueError):
    """The output folder is already there and may not be replaced."""


def refuse_existing(target: Path, force: bool) -> None:
    """Raise before the work begins if `target` could not be written after it.

    Raises
    ------
    FolderExists
        If `target` exists and `force` is not set, or is something that must not be replaced.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise FolderExists(f"{target} exists and is not a folder; choose another --out")
    if not any(target.iterdir()):
        return
    if not force:
        raise FolderExists(f"{target} exists; choose another --out, or --force to replace it")
    if not (target / "manifest.json").exists():
        raise FolderExists(
            f"{target} was not written by pycupc (no manifest.json in it), so --force does not replace it"
        )


@contextmanager
def whole_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `target`; it takes that name if the block succeeds, otherwise it is deleted.

    Raises
    ------
    FolderExists
        As `refuse_existing`.
    """
    refuse_existing(target, force)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent))
    try:
        yield work
        os.chmod(work, 0o777 & ~_umask())  # mkdtemp makes the folder private
        refuse_existing(target, force)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".old", dir=target.parent))
            os.replace(target, old / target.name)
            os.replace(work, target)
            shutil.rmtree(old)
        else:
            os.replace(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
