"""Files that appear when they are complete, in the place of older ones."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

#: Numbers of the system's errors of a disk that has no room, for this user or for so large a file.
NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))

#: Bytes of a name that leave room for what is added to it: file systems take 255.
_LONGEST = 200


def unfinished_prefix(name: str) -> str:
    """How the name of the unfinished file or folder begins: ``.NAME-``, with a hash in place of a very long NAME."""
    encoded = os.fsencode(name)
    return f".{name if len(encoded) <= _LONGEST else hashlib.sha256(encoded).hexdigest()}-"


#: The unfinished files and folders of this process.
_unfinished: set[Path] = set()


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Let `remove_unfinished` know this file or folder, which is unfinished until the block ends."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unfinished.discard(path)


def remove_unfinished() -> None:
    """Delete the unfinished files and folders of this process, which is about to be ended."""
    for path in list(_unfinished):
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def whole_file(path: str | PathLike[str], *, new: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name, and the place of an older file, when the block ends without an error.

    If it is to be `new`, a file that is there stays, even one that another process has made meanwhile. Until then
    it is beside that place, as ``.NAME-xxxxxxxx.part``; after an error or Ctrl-C nothing is left of it. Who may
    read it is up to the umask, as with any new file.
    """
    target = Path(path)
    temporary = target.with_name(f"{unfinished_prefix(target.name)}{secrets.token_hex(4)}.part")
    try:
        with unfinished(temporary), temporary.open("xb") as file:
            yield file
        with contextlib.suppress(OSError):  # there is one, or the file system has no links
            if new:
                os.link(temporary, target)
        if new and target.exists():
            temporary.unlink()
        else:
            os.replace(temporary, target)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:  # of a write, which does not know the name
            error.filename = str(target)
        temporary.unlink(missing_ok=True)  # an interrupt may have come after the exchange
        raise
