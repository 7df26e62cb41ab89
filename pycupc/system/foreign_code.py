"""Functions of SciPy's libraries by their addresses: they run outside the interpreter's lock, which SciPy's own
wrappers keep, and give the bits that SciPy gives.

An address is valid in one process only: neither caches of compiled code nor pickles may hold it.
"""

from __future__ import annotations

import ctypes
from typing import Any

from pycupc.system.numba_names import intrinsic, ir, types


def address_of(module: Any, name: str, signature: str = "") -> int:
    """The address of a function in a module of Cython; of functions of several types, the one with this signature."""
    functions = module.__pyx_capi__
    of_capsule, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    of_capsule.restype, of_capsule.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for own in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}"):
        if own in functions and signature.encode() in (found := of_capsule(functions[own])):
            return int(address(functions[own], found))
    raise LookupError(f"{module.__name__} has no function {name} {signature}".rstrip())


def _of_reals(arguments: int) -> Any:
    """Code that calls a function of real numbers of `scipy.special.cython_special`, given its address."""

    def typed(_: Any, address: Any, *given: Any) -> Any:
        def code(_: Any, builder: Any, __: Any, values: Any) -> Any:
            kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * arguments + [ir.IntType(32)])
            function = builder.inttoptr(values[0], kind.as_pointer())
            return builder.call(function, [*values[1:], ir.IntType(32)(0)])  # 0: do not look for overridden methods

        return types.float64(types.int64, *[types.float64] * arguments), code

    return typed


def _call_of_two(context: Any, address: Any, a: Any, b: Any) -> Any:
    return _of_reals(2)(context, address, a, b)


def _call_of_three(context: Any, address: Any, a: Any, b: Any, c: Any) -> Any:
    return _of_reals(3)(context, address, a, b, c)


#: ``call_of_two(address, a, b)`` and ``call_of_three(address, a, b, c)`` in compiled code: float64.
call_of_two: Any = intrinsic(_call_of_two)
call_of_three: Any = intrinsic(_call_of_three)
