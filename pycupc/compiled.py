"""Numba's cache of compiled functions, kept honest.

Numba compiles a function again when its own file has changed. It does not look at the functions that were compiled
into it from other files: after an update of one file in place, old and new machine code would meet, with arrays of
other shapes. So compiled code that is older than any of the files that go into it is thrown away.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

_HERE = Path(__file__).resolve().parent


#: Folders with compiled functions, and a file whose constants are compiled into them.
FOLDERS = (_HERE / "gaussian", _HERE / "engines" / "cpu", _HERE / "orientation")
CONSTANTS = _HERE / "gaussian" / "fisher_z.py"


def forget_stale(folders: tuple[Path, ...] = FOLDERS, constants: Path = CONSTANTS) -> int:
    """Delete what Numba keeps for these folders if a source file is newer; how many files that were.

    Where Numba keeps it elsewhere (a package that cannot be written to), nothing is done: such a package is not updated
    in place.
    """
    with contextlib.suppress(OSError):
        sources = [constants, *(file for folder in folders for file in folder.glob("*.py"))]
        newest = max(file.stat().st_mtime_ns for file in sources)
        stale = [
            file
            for folder in folders
            for file in (folder / "__pycache__").glob("*.nbi")
            if file.stat().st_mtime_ns < newest
        ]
        for file in stale:
            file.unlink(missing_ok=True)
        return len(stale)
    return 0
