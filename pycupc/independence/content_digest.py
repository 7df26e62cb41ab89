"""A hash of a user's test and of its data, by which a checkpoint recognises them.

It covers everything that the test's own code can reach: the code of functions and classes, their default values, the
variables that they close over, the global variables that they read, and the files of the modules that they use.
Functions, classes and modules of other installed packages count by name and version.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import pickle
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePath
from sysconfig import get_paths
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

#: Entries of a class that say nothing about what it does.
_NOT_CONTENT = {
    "__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__abstractmethods__", "_abc_impl",
    "__firstlineno__", "__static_attributes__", "__annotations__", "__annotate_func__", "__annotations_cache__",
}  # fmt: skip
#: The steps of code that read a global variable, and that import a module.
_READS, _IMPORTS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"}), frozenset({"IMPORT_NAME"})


def content_digest(test: Any, *data: Any) -> list[str] | None:
    """The hashes of a test and of each of its data, 64 digits each; None if they cannot be described.

    The same in every process with the same versions of Python and packages, unless a set of texts is among the data.
    """
    try:
        return [_digest_of(value, _package(_module_of(test))) for value in (test, *data)]
    except Exception:  # objects have errors of all types where they cannot be pickled
        return None


def _digest_of(value: Any, own: str) -> str:
    found = hashlib.sha256()
    _Describer(_Sink(found), own).dump(value)
    return found.hexdigest()


class _Sink:
    """A file to write to, of which only the hash is kept."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def write(self, data: Any) -> int:
        self._found.update(data)
        return len(data)


class _Describer(pickle.Pickler):
    """Pickles functions and classes with their content, unless they belong to another installed package than `own`."""

    def __init__(self, sink: _Sink, own: str) -> None:
        super().__init__(sink, protocol=5)
        self.fast = True  # else equal texts are pickled alike only if they are one object
        self._own, self._numbers, self._kept = own, dict[int, int](), list[Any]()

    def reducer_override(self, obj: Any) -> Any:
        if obj is _described:
            return NotImplemented
        if isinstance(obj, (MemberDescriptorType, GetSetDescriptorType)):
            return _described, ("slot", obj.__name__)
        if (inner := _inner(obj)) is not None:
            return _described, (type(obj).__name__, *inner)
        if not isinstance(obj, (FunctionType, type, CodeType, ModuleType)):
            return NotImplemented
        if not isinstance(obj, CodeType) and self._by_name(_home(obj)):
            return _described, ("name", _home(obj), getattr(obj, "__qualname__", ""), _version(_home(obj)))
        if (number := self._numbers.get(id(obj))) is not None:
            return _described, ("again", number)
        self._numbers[id(obj)] = len(self._numbers)
        self._kept.append(obj)  # so that no other object gets its id
        return _described, tuple(_content(obj))

    def _by_name(self, module: str) -> bool:
        return module != "__main__" and _package(module) != self._own and _is_installed(module)


def _described(*parts: Any) -> None:
    """Stands in the pickle for the object that the parts describe."""


def _inner(obj: Any) -> tuple[Any, ...] | None:
    """The functions around which an object is wrapped, if it is a wrapper of a function."""
    if isinstance(obj, (classmethod, staticmethod)):
        return (obj.__func__,)
    if isinstance(obj, property):
        return obj.fget, obj.fset, obj.fdel
    if isinstance(obj, functools.cached_property):
        return (obj.func,)
    for name in ("py_func", "__wrapped__"):  # of Numba, and of functools.cache
        if not isinstance(obj, (FunctionType, type)) and isinstance(found := getattr(obj, name, None), FunctionType):
            return (found,)
    return None


def _home(obj: FunctionType | type | ModuleType) -> str:
    """The module of a function or class, or the name of a module."""
    return obj.__name__ if isinstance(obj, ModuleType) else str(obj.__module__)


def _content(obj: FunctionType | type | CodeType | ModuleType) -> Iterator[Any]:
    """The parts that determine what a function, a class, a code object or a module does."""
    if isinstance(obj, ModuleType):  # its file; and whatever it has imported from others
        yield obj.__name__, Path(obj.__file__ or "").read_bytes()
        kinds = (FunctionType, type, ModuleType)
        yield [one for _, one in sorted(vars(obj).items()) if isinstance(one, kinds) and _home(one) != obj.__name__]
        return
    if isinstance(obj, CodeType):
        yield "code", obj.co_code, obj.co_flags, obj.co_argcount, obj.co_posonlyargcount, obj.co_kwonlyargcount
        yield obj.co_names, obj.co_varnames, obj.co_freevars, obj.co_cellvars, getattr(obj, "co_exceptiontable", b"")
        yield [_sorted(one) for one in obj.co_consts]
        return
    yield type(obj).__name__, obj.__module__, obj.__qualname__
    if isinstance(obj, type):
        yield obj.__bases__
        yield [(name, value) for name, value in sorted(vars(obj).items()) if name not in _NOT_CONTENT]
        return
    yield obj.__code__, obj.__defaults__, obj.__kwdefaults__, dict(sorted(vars(obj).items()))
    yield [_contents_of(cell) for cell in obj.__closure__ or ()]
    read = sorted(set(_names(obj.__code__, _READS)))
    yield {name: obj.__globals__[name] for name in read if name in obj.__globals__}
    yield [import_module(name) for name in sorted(set(_names(obj.__code__, _IMPORTS)))]


def _names(code: CodeType, steps: frozenset[str]) -> Iterator[str]:
    """The names that these steps of code use, also in functions within it."""
    for step in dis.get_instructions(code):
        if step.opname in steps:
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner, steps)


def _contents_of(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return "empty"


def _sorted(constant: Any) -> Any:
    """A constant of code; a set in an order that does not vary between processes."""
    return ("set", sorted(map(repr, constant))) if isinstance(constant, frozenset) else constant


def _module_of(test: Any) -> str:
    """The module that defines a function, or the class of an object."""
    while isinstance(test, functools.partial):
        test = test.func
    return str(getattr(test, "__module__", None) or type(test).__module__)


def _package(module: str) -> str:
    return module.partition(".")[0]


def _version(module: str) -> str:
    return str(getattr(sys.modules.get(_package(module)), "__version__", ""))


@functools.cache
def _is_installed(module: str) -> bool:
    """Whether a module belongs to Python or to an installed package."""
    if (found := sys.modules.get(module)) is None:
        return False
    file = getattr(found, "__file__", None)
    if file is None:  # built in
        return True
    parts, folders = (
        PurePath(file).parts,
        {get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    )
    return (
        _package(module) == "pycupc"
        or bool({"site-packages", "dist-packages"} & {*parts})
        or any(PurePath(file).is_relative_to(folder) for folder in folders)
    )
