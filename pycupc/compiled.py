"""Functions compiled by Numba: their options in one place, and a cache that cannot hold anything stale.

Modules with compiled code take their decorators from here:

    compiled   a function that Python calls; its machine code is cached on disk, with everything that it calls
    part       a function that compiled functions call; from Python it runs as plain Python

Each source file is compiled once per machine, and a user waits for it, so this code is written to compile fast. What
counts is the number of statements (Numba spends about 10 ms on each, most of it in type inference) and how often LLVM
optimizes them: a part is optimized and translated once by itself and once more in each caller, callers of callers
included. Hence short call chains; parts without wrappers for Python; arguments of one type only (a literal such as 0 as
an argument of a `compiled` function called by another would make a second version); and arrays made by NumPy outside
rather than by `np.empty`, `min`, `max` and slices inside, each of which Numba compiles as a function of its own.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.extending import register_jitable

logger = logging.getLogger("pycupc")

Function = TypeVar("Function", bound=Callable[..., Any])

#: Without reference counts (`_nrt`), which Numba would keep of every array taken out of a named tuple: the walk would
#: take twice as long. Compiled code therefore cannot make arrays; Python makes them.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "no_rewrites": True,
    "_nrt": False,
}

_HERE = Path(__file__).resolve().parent

#: Files whose functions and constants are compiled.
SOURCES = (
    "compiled.py",
    "gaussian/*.py",
    "discrete/*.py",
    "engines/cpu/*.py",
    "engines/cpu/pruning/*.py",
    "orientation/*.py",
)


def compiled(function: Function) -> Function:
    """Compile a function that is called from Python: it releases the GIL, and divides by zero as NumPy does."""
    dispatcher: Any = njit(cache=True, **_OPTIONS)(function)
    _forget_stale_code(Path(dispatcher.stats.cache_path))
    return cast("Function", dispatcher)


def part(function: Function) -> Function:
    """Let compiled functions call this one."""
    decorated: Function = register_jitable(**_OPTIONS)(function)
    return decorated


def inlined_part(function: Function) -> Function:
    """As `part`, for what is called so often that passing its arguments would take noticeable time."""
    decorated: Function = register_jitable(**_OPTIONS, forceinline=True)(function)
    return decorated


def fused_part(function: Function) -> Function:
    """As `inlined_part`, and products may be fused with sums: for fast formulas, whose rounding is allowed for."""
    decorated: Function = register_jitable(**_OPTIONS, forceinline=True, fastmath={"contract"})(function)
    return decorated


@contextlib.contextmanager
def announced(message: str) -> Iterator[None]:
    """Log `message` once, at INFO level, as soon as something is compiled rather than loaded from the cache.

    Cyclic garbage is not collected meanwhile: Numba makes millions of objects that live on, and looking through them
    again and again would take a tenth of the time.
    """

    class Announcement(event.Listener):
        made = False

        def on_start(self, _: event.Event) -> None:
            if not self.made:
                logger.info(message)
            self.made = True

        def on_end(self, _: event.Event) -> None:
            """Nothing to do."""

    collecting = gc.isenabled()
    gc.disable()
    try:
        with event.install_listener("numba:compile", Announcement()):
            yield
    finally:
        if collecting:
            gc.enable()


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
        if stamp.is_file() and stamp.read_text() == digest:
            return False
        for index in folder.glob("*.nbi"):
            index.unlink(missing_ok=True)
        stamp.write_text(digest)
        return True
    return False
