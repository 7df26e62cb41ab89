"""Other processes that compile, into the same cache, the code that a run needs later.

Numba compiles one function at a time in a process, and a first run waits for it. So processes beside it compile, in the
order of need; a run that reaches such a function meanwhile waits for the end of its turn (`pycupc.system.turns`), and
loads the code. They end when all is compiled; and when the process that has started them has ended, after the function
at which they are.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pycupc.system.code_cache import Loader, await_code, can_cache, is_stored
from pycupc.system.limits import UNLIMITED, NoThreadError, left_of_address_space, start_unawaited
from pycupc.system.machine import available_cores, free_memory
from pycupc.system.turns import HAVE_TURNS

if TYPE_CHECKING:
    from subprocess import Popen

#: No module of the working directory may be imported, so the path comes first.
_SCRIPT = """
import sys
sys.path[:] = sys.argv[1].split("\\n")
from pycupc.system.compiling_ahead import compile_here
compile_here(sys.argv[2:])
"""

#: Bytes of memory that are to be free: several times what such a process takes.
_NEEDED = 2 << 30

#: Loaders whose code was stored at a look, or that other processes were to run.
_known: set[Loader] = set()
_processes: list[Popen[bytes]] = []


def compile_elsewhere(loaders: Sequence[Loader], cores: int | None = None) -> None:
    """Let other processes compile the functions of these loaders that are not stored; those that help most come first.

    They use the `cores`, by default all that this process may use, but one, the run's own. There are none where that
    may do harm: in processes that share a machine with others of their kind, where memory is limited or short, and
    inside a program that is not Python.
    """
    new = [loader for loader in loaders if loader not in _known]
    if not new or (spare := min(cores or available_cores(), available_cores()) - 1) < 1:
        return
    _known.update(new)
    missing = [loader for loader in new if not is_stored(loader)]
    if not missing or not _may_start():
        return
    number = min(spare, len(missing))
    for first in range(number):
        with contextlib.suppress(OSError, NoThreadError):  # the run compiles all by itself
            _start(missing[first::number])


def _may_start() -> bool:
    """Whether this process may start others."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return (
        HAVE_TURNS
        and can_cache()
        and (multiprocessing is None or multiprocessing.parent_process() is None)
        and left_of_address_space() == UNLIMITED
        and free_memory() > _NEEDED
        and Path(sys.executable or "").name.startswith("python")
    )


def _start(loaders: Sequence[Loader]) -> None:
    from subprocess import DEVNULL, PIPE, Popen  # which takes a while

    names = [f"{loader.__module__}:{loader.__qualname__}" for loader in loaders]
    command = [sys.executable, "-c", _SCRIPT, "\n".join(map(str, sys.path)), *names]
    process = Popen(command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
    _processes.append(process)
    start_unawaited(process.wait)  # type: ignore[arg-type]
    for loader in loaders:
        await_code(loader)


@atexit.register
def _leave() -> None:
    """Leave the other processes, which end by themselves."""
    for process in _processes:
        if process.stdin is not None:
            process.stdin.close()
        process.returncode = process.returncode or 0  # or Python would warn that it still runs


def compile_here(names: Sequence[str]) -> None:
    """Run these loaders, MODULE:FUNCTION, in this process, which another one has started."""
    from pycupc.system.jit import end_compiling

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    threading.Thread(target=_load, args=(names,), daemon=True).start()
    sys.stdin.buffer.read()  # until the other process has ended
    end_compiling()
    os._exit(0)


def _load(names: Sequence[str]) -> None:
    try:
        for name in names:
            module, function = name.split(":")
            getattr(import_module(module), function)()
    finally:
        os._exit(0)
