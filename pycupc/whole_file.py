"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name, and the place of an older file, when the block ends without an error.

    Until then it is beside that place, as ``.NAME-xxxxxxxx.part``; after an error or Ctrl-C nothing is left of it. Who
    may read it is up to the umask, as with any new file.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}-{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)  # an interrupt may have come after the exchange
        raise
