"""Functions compiled by Numba, with their options in one place.

Each source file is compiled once per machine, and a user waits for it, so this code is written to compile fast. What
counts is the number of functions (25 ms each), of loops (7 ms) and of other statements (2 ms). A part is compiled by
itself, once more in each caller, callers of callers included, and once for each combination of types of its arguments
and for either kind of caller, `compiled` or part. A call passes every field of the named tuples that a part takes,
which may take longer than a test. Hence inlined parts; short call chains; arguments of one type only; and arrays made
by NumPy outside rather than by `np.empty`, `min`, `max` and slices inside, each of which Numba compiles as a function
of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from pycupc.system.code_cache import ROOM_FOR_CODE, is_awaited, store
from pycupc.system.garbage import no_collection
from pycupc.system.limits import in_a_thread, left_of_address_space
from pycupc.system.logging import FIRST_USE, logger
from pycupc.system.numba_names import (
    CFunc,
    CPUDispatcher,
    global_compiler_lock,
    intrinsic,
    ir,
    njit,
    overload,
    register_jitable,
    sigutils,
    types,
)

Function = TypeVar("Function", bound=Callable[..., Any])

#: Without reference counts (`_nrt`), which Numba would keep of every array taken out of a named tuple: the walk would
#: take twice as long. Compiled code therefore cannot make arrays; Python makes them. No function gets an entry for C,
#: which only `compiled_callback` needs: it would take a twelfth of the time of compiling.
OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_rewrites": True, "_nrt": False, "no_cfunc_wrapper": True
}  # fmt: skip

#: Steps of loops, some 4 microseconds each, that plain Python takes in a part of the package before its code is
#: compiled, which takes up to seconds once per machine, or loaded, which takes 15 ms once per process.
MOST_PLAIN_STEPS = 1_000

#: How many times as many steps plain Python takes while another process compiles the code, which takes seconds.
PATIENCE = 20

#: Seconds of compiling that are worth a line.
WORTH_A_LINE = 1.0

_plain_steps: Counter[str] = Counter()
_always_compiled = False
_plain: ContextVar[bool] = ContextVar("plain", default=False)


def compiled(function: Function) -> Function:
    """Compile a function that Python calls, cached on disk with all it calls; no GIL, divides by zero as NumPy."""
    dispatcher: Any = njit(**OPTIONS)(function)
    store(dispatcher, function)
    compile_here = dispatcher.compile
    dispatcher.compile = lambda signature: _in_a_thread(lambda: compile_here(signature))
    return cast("Function", dispatcher)


def frozen(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix for compiled code: contiguous, and not to be written, as Numba compiles anew for the other kind."""
    out = np.ascontiguousarray(matrix, dtype=np.float64).view()
    out.flags.writeable = False
    return out


def compiled_callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function for this signature whose `address` compiled code can call."""
    options = {**OPTIONS, "no_cfunc_wrapper": False, "_nrt": True}  # carray needs _nrt
    signature = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
    callback: Any = CFunc(function, signature, {}, options)
    store(callback, function)
    _in_a_thread(callback.compile)
    return callback


#: Bytes of address space for Numba's import of SciPy, which comes with the first function. Where none is left, OpenBLAS
#: tries to get some for ever.
_ROOM_FOR_SCIPY = 80 << 20

_COMPILER = "pycupc compiles"
_seconds_compiling = 0.0


def _in_a_thread(work: Callable[[], Any]) -> Any:
    """The value of ``work()``, which compiles or loads one function; a line tells of it once if it takes long.

    The calling thread waits, so that an interrupt ends the wait and not the work: LLVM cannot be interrupted for
    seconds, and Numba, interrupted, might leave its lock acquired. Left alone, the work ends in the background and is
    stored.
    """
    if threading.current_thread().name == _COMPILER:  # a function that the one being compiled calls
        return work()
    need = ROOM_FOR_CODE + (0 if "scipy.linalg" in sys.modules else _ROOM_FOR_SCIPY)
    if (left := left_of_address_space()) < need:
        raise MemoryError(f"{left / 1e6:.0f} MB are left of the limit on memory (ulimit -v), too little to load code")

    def run() -> Any:
        # Numba waits for the lock anyway; so no other thread has switched the collector.
        with global_compiler_lock, no_collection():
            return work()

    return in_a_thread(run, _COMPILER, _tell_of)


def _tell_of(seconds: float) -> None:
    """Tell once that this process has compiled for a while."""
    global _seconds_compiling
    before = _seconds_compiling
    _seconds_compiling += seconds
    if before < WORTH_A_LINE <= _seconds_compiling:
        logger.log(logging.INFO if logger.isEnabledFor(logging.INFO) else logging.WARNING, FIRST_USE)


def end_compiling() -> None:
    """Wait until no thread compiles, and let none begin: the process is about to end.

    LLVM, at work while the process ends, would find its data destroyed: it crashes, or exits with a code of its own.
    """
    global_compiler_lock.acquire()  # type: ignore[no-untyped-call]


atexit.register(end_compiling)


def compiled_for_large(function: Function) -> Function:
    """As `compiled`, but inside `plain_if_small` with few steps the function runs as plain Python."""
    dispatcher = compiled(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return (function if _plain.get() else dispatcher)(*arguments)

    call._cache = dispatcher._cache  # type: ignore[attr-defined]
    return cast("Function", call)


def plain_if_small(steps: int, part: str, awaited: Callable[..., Any] | None = None) -> AbstractContextManager[bool]:
    """Run `compiled_for_large` functions as plain Python, unless the `steps` of this process add up to many.

    `part`: the part of the package whose steps are counted together, as its code is compiled or loaded together.
    `awaited`: one of its functions; while another process compiles it, more steps are few. Gives whether plain Python
    runs.
    """
    _plain_steps[part] += steps
    most = MOST_PLAIN_STEPS * (PATIENCE if awaited is not None and is_awaited(awaited) else 1)
    plain = _plain_steps[part] <= most and not _always_compiled
    return _running(plain=plain) if plain != _plain.get() else contextlib.nullcontext(plain)


@contextlib.contextmanager
def _running(*, plain: bool) -> Iterator[bool]:
    token = _plain.set(plain)
    try:
        yield plain
    finally:
        _plain.reset(token)


@contextlib.contextmanager
def always_compiled() -> Iterator[None]:
    """Compile `compiled_for_large` functions also for few steps."""
    global _always_compiled
    before, _always_compiled = _always_compiled, True
    try:
        yield
    finally:
        _always_compiled = before


def jit_part(function: Function) -> Function:
    """Let compiled functions call this one; from Python it runs as plain Python."""
    return register_jitable(**OPTIONS)(function)


def jit_inlined(function: Function) -> Function:
    """As `jit_part`, of a small function or of one caller: Numba copies its statements there."""
    return cast("Function", _Inlined(function, targetoptions={"nopython": True, "inline": "always", **OPTIONS}))


class _Inlined(CPUDispatcher):
    """A function that Numba copies into compiled callers, and that is never compiled by itself."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def jit_fma(function: Function) -> Function:
    """As `jit_part`, and products may be fused with sums: for fast formulas, whose rounding is allowed for.

    They are called so often that passing their arguments would take noticeable time, so LLVM has to inline them.
    """
    return register_jitable(**OPTIONS, forceinline=True, fastmath={"contract"})(function)


def jit_reordered(function: Function) -> Function:
    """As `jit_part`, and sums may be taken in any order: for results that need not be exact."""
    return register_jitable(**OPTIONS, fastmath={"contract", "nsz", "reassoc"})(function)


def jit_overload(function: Function) -> Callable[[Function], Function]:
    """Let compiled functions call, in the place of this one, the part that is given for the types of its arguments.

    LLVM has to inline it: passing the fields of named tuples would take longer than a test.
    """
    options: Any = {**OPTIONS, "forceinline": True}
    return cast("Callable[[Function], Function]", overload(function, jit_options=options, strict=False))


def _call_address(_: Any, address: Any, C: Any, p: Any, nodes: Any, size: Any, A: Any, width: Any) -> Any:
    """Call code of which only the address is known: float64 of int64s, see `partial_correlation.careful_address`."""

    def codegen(_: Any, builder: Any, __: Any, values: Any) -> Any:
        function = ir.FunctionType(ir.DoubleType(), [ir.IntType(64)] * 6)
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), values[1:])

    return types.float64(*[types.int64] * 7), codegen


call_address: Any = intrinsic(_call_address)
