"""Cache folders of Numba, CuPy and matplotlib for users who can write neither to the package nor to a home directory.

Containers and services run as such users. Numba would refuse to load functions that are to be cached, CuPy would fail,
and matplotlib would search all fonts in every process: all three get a folder inside the system's temporary folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

#: A folder of the package with compiled functions; Numba stores their machine code beside it if it can.
_COMPILED = Path(__file__).resolve().parents[1] / "engines" / "cpu"


def numba_cache() -> Path | None:
    """A folder for Numba's cache; None where Numba finds one by itself. OSError if none can be written."""
    if os.environ.get("NUMBA_CACHE_DIR") or _can_make(_COMPILED / "__pycache__") or _can_make(_user_cache()):
        return None
    return _temporary() / "numba"


def set_environment() -> None:
    """Set the variables of CuPy and matplotlib, before they are imported, if the home directory cannot be written."""
    if _can_make(_user_cache()):
        return
    with contextlib.suppress(OSError):
        for variable, name in {"CUPY_CACHE_DIR": "cupy", "MPLCONFIGDIR": "matplotlib"}.items():
            if variable not in os.environ:
                folder = _temporary() / name
                folder.mkdir(exist_ok=True)
                os.environ[variable] = str(folder)


def _user_cache() -> Path:
    """The user's folder for caches, as Numba determines it."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"))
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _can_make(folder: Path) -> bool:
    """Whether files can be written in `folder`, or it can be made."""
    there = next((f for f in (folder, *folder.parents) if f.exists()), None)
    return there is not None and there.is_dir() and os.access(there, os.W_OK | os.X_OK)


@cache
def _temporary() -> Path:
    """This user's own folder inside the temporary one. Cached code is executed, so nobody else may write there."""
    root = Path(tempfile.gettempdir())
    name = root / f"pycupc-cache-{os.getuid() if os.name == 'posix' else os.environ.get('USERNAME', 'user')}"
    try:
        name.mkdir(mode=0o700)
    except FileExistsError:
        if _private(name):
            return name
        name = Path(tempfile.mkdtemp(prefix="pycupc-cache-"))
    warnings.warn(
        f"neither the package nor the home directory can be written: compiled code is kept in {name}; the environment "
        "variable NUMBA_CACHE_DIR names another folder",
        stacklevel=2,
    )
    return name


def _private(folder: Path) -> bool:
    """Whether it is a folder of this user that no one else can write to."""
    facts = folder.lstat()
    alone = os.name != "posix" or (facts.st_uid == os.getuid() and not facts.st_mode & 0o077)
    return stat.S_ISDIR(facts.st_mode) and alone
