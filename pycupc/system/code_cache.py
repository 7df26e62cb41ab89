"""Numba's cache on disk, which cannot hold anything stale, and whose code one process at a time compiles."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pycupc.system.caches import numba_cache
from pycupc.system.limits import left_of_address_space
from pycupc.system.numba_names import FunctionCache, config
from pycupc.system.turns import end_turn, take_turn

_HERE = Path(__file__).resolve().parents[1]

#: Files whose functions and constants are compiled.
SOURCES = (
    "system/jit.py",
    "system/atomics.py",
    "system/foreign_code.py",
    "independence/deciding.py",
    "independence/tails.py",
    "independence/gaussian/*.py",
    "independence/discrete/*.py",
    "independence/kernel/compiled.py",
    "independence/missing/*.py",
    "independence/mixed/*.py",
    "independence/compiled_rcot.py",
    "engines/cpu/*.py",
    "engines/cpu/pruning/*.py",
    "orientation/*.py",
    "orientation/pag/*.py",
    "effects/regression.py",
)

#: Bytes of address space that compiling or loading a function may take. Where none is left, LLVM ends the process.
ROOM_FOR_CODE = 48 << 20

Loader = Callable[[], None]
#: The functions that loaders load, and those that another process compiles for this one.
_loaded: dict[Loader, Callable[..., Any]] = {}
_awaited: set[Callable[..., Any]] = set()


@cache
def can_cache() -> bool:
    """Whether machine code can be cached on disk; provides a folder for it if Numba would find none."""
    try:
        folder = numba_cache()
    except OSError:
        return False
    if folder is not None:
        config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    return True


def store(code: Any, function: Callable[..., Any]) -> None:
    """Store the machine code of a function on disk where that is possible."""
    if not can_cache():
        return
    code._cache = stored = _Cache(function)  # type: ignore[no-untyped-call]
    _forget_stale_code(Path(stored.cache_path))
    compile_here = code.compile

    def compile_in_turn(*signature: Any) -> Any:
        try:
            return compile_here(*signature)
        finally:
            end_turn(stored.index)

    code.compile = compile_in_turn


def loads(function: Callable[..., Any]) -> Callable[[Loader], Loader]:
    """Mark a loader: a function that loads the code of this compiled one, or compiles it, by a small run."""

    def mark(loader: Loader) -> Loader:
        _loaded[loader] = function
        return loader

    return mark


def is_stored(loader: Loader) -> bool:
    """Whether the code that it loads is stored on disk."""
    return _is_stored(_loaded[loader])


def _is_stored(function: Callable[..., Any]) -> bool:
    stored = getattr(function, "_cache", None)
    return isinstance(stored, _Cache) and stored.index.exists()


def await_code(loader: Loader) -> None:
    """Note that another process compiles for this one the code that it loads."""
    _awaited.add(_loaded[loader])


def is_awaited(function: Callable[..., Any]) -> bool:
    """Whether another process is still to compile this function for this one."""
    if function in _awaited and _is_stored(function):
        _awaited.remove(function)
    return function in _awaited


class _Cache(FunctionCache):
    """Numba's cache, except that damaged files and a full disk are no errors: the code is compiled again.

    One process of the machine compiles a function; others that need it meanwhile wait, and load it.
    """

    @property
    def index(self) -> Path:
        """The file that leads to the code."""
        return Path(self._cache_file._index_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        code = self._load(sig, target_context)
        if code is None:
            take_turn(self.index)
            code = self._load(sig, target_context)  # of the process that had the turn
        return code

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:  # pickle, zlib, LLVM and names in a damaged file raise errors of every type
            if isinstance(error, MemoryError) or left_of_address_space() < ROOM_FOR_CODE:
                raise  # the files are as they should be
            with contextlib.suppress(OSError):
                self.index.unlink(missing_ok=True)  # only the index leads to the code
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            warnings.warn(
                f"{self.index} or the code beside it is damaged ({reason}): it is compiled anew", stacklevel=2
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _say_unstored(self.cache_path, error.strerror or str(error))


@cache
def _say_unstored(folder: str, reason: str) -> None:
    warnings.warn(
        f"compiled code cannot be stored in {folder} ({reason}), so each process compiles it anew; the environment "
        "variable NUMBA_CACHE_DIR names another folder",
        stacklevel=2,
    )


@cache
def _forget_stale_code(folder: Path) -> None:
    forget_stale_code(folder, (file for pattern in SOURCES for file in sorted(_HERE.glob(pattern))))


def forget_stale_code(folder: Path, sources: Iterable[Path]) -> bool:
    """Delete the compiled code in `folder` if it was not compiled from these sources; True if it was deleted.

    Numba compiles a function again when its own file has changed, but does not look at the functions and constants that
    were compiled into it from other files. So the cache is stamped with a hash of all sources.
    """
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in sources)).hexdigest()
    stamp = folder / "pycupc-sources.sha256"
    with contextlib.suppress(OSError):
        if stamp.is_file() and stamp.read_bytes() == digest.encode():
            return False
        for kind in ("*.nbi", "*.nbc"):  # code that stayed could be loaded by a new index before it is overwritten
            for file in folder.glob(kind):
                file.unlink(missing_ok=True)
        stamp.write_text(digest)
        return True
    return False
