"""Turns of the processes of a machine: one compiles a function, and the others wait and load its code.

A turn is a lock on a byte of a file in the folder of the code; the system takes it back when its process ends.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from functools import cache
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf
except ImportError:  # Windows: every process compiles for itself
    HAVE_TURNS = False
else:
    HAVE_TURNS = True

#: Seconds after which a process no longer waits for another one, which may have been halted.
PATIENCE = 60.0

#: Seconds between two looks whether it is a process's turn.
_PAUSE = 0.01


def take_turn(index: Path) -> None:
    """Wait until no other process has the turn for this file, and take it; do nothing where files have no locks."""
    if not HAVE_TURNS:
        return
    end = time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):  # the folder cannot be written, or its file system has no locks
        file = _file(index.parent)
        while True:
            try:
                lockf(file, LOCK_EX | LOCK_NB, 1, _byte(index))
            except (BlockingIOError, PermissionError):  # another process has it
                if time.monotonic() > end:
                    return
                time.sleep(_PAUSE)
            else:
                return


def end_turn(index: Path) -> None:
    """Give the turn to another process; one that was not taken is no error."""
    if HAVE_TURNS:
        with contextlib.suppress(OSError):
            lockf(_file(index.parent), LOCK_UN, 1, _byte(index))


@cache
def _file(folder: Path) -> int:
    """The file whose bytes are locked, which stays open: whoever closes it gives all turns of the process back."""
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / "pycupc-turns.lock", os.O_RDWR | os.O_CREAT, 0o666)


def _byte(index: Path) -> int:
    return zlib.crc32(index.name.encode())
