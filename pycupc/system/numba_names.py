"""The names of Numba that compiled code needs: the one place that imports it.
A thread does so while the calling thread waits (`in_a_thread`). After Ctrl-C in the middle of its import, Numba could
not be imported again in the same process. Where the address space is limited, a thread would take too much of it.
"""
# ruff: noqa: E402 - the thread comes first

from __future__ import annotations

from importlib import import_module

from pycupc.system.garbage import no_collection
from pycupc.system.limits import UNLIMITED, in_a_thread, left_of_address_space


def _load() -> None:
    with no_collection():
        import_module("numba.core.ccallback")


if left_of_address_space() == UNLIMITED:
    in_a_thread(_load, "pycupc imports Numba")

from llvmlite import ir
from numba import carray, config, njit, types, uint64  # type: ignore[attr-defined]
from numba.core import cgutils, sigutils
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, overload, register_jitable

__all__ = [
    "CFunc", "CPUDispatcher", "FunctionCache", "carray", "cgutils", "config", "global_compiler_lock", "intrinsic", "ir",
    "njit", "overload", "register_jitable", "sigutils", "types", "uint64",
]  # fmt: skip
