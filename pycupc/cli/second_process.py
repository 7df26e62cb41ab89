"""A second process that calls functions while the first is busy with other work.

Importing matplotlib and drawing a picture take as long as the levels of a problem of thousands of variables. The second
process is started early, so that it can import everything, and rehearse, before there is anything to draw.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pycupc.system.caches import set_environment
from pycupc.system.machine import keep_memory

#: Keeps linear algebra on one core: its matrices are small here, and the first process has work for the others.
_ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
#: Sizes in bytes of blocks that the process allocates, fills and frees before the first call. `keep_memory` keeps their
#: pages for the calls, which then need not wait for the system to make new ones.
_MEMORY = (30 << 20, 30 << 20)
#: Seconds that the caller sleeps, so that the thread that sends the call can begin; else it may wait for 5 ms until the
#: caller, which computes, gives way.
_HANDOVER = 2e-4
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from pycupc.cli.second_process import serve; serve()"
)


class SecondProcess:
    """Makes calls one after the other. A context manager: the process starts on entry and ends, at the latest, on exit.

    Without it, because it was not entered, could not be started or has died, this process makes the calls that are
    awaited.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._calls = 0
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> SecondProcess:
        import json

        command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)]
        # A session of its own, so that Ctrl-C on the terminal reaches this process only.
        with contextlib.suppress(OSError, ValueError):
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ONE_CORE},
                start_new_session=True,
            )
            self._sender.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._unsent.put(None)
            self._sender.join()
            self._process.communicate()
            self._process = None

    def start(self, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        """Begin ``function(*arguments)``, all of which can be pickled; returns a function that waits for its value.

        Waiting raises the exception that the call raised. Calls must be awaited in the order of their start; not all of
        them need to be.
        """
        process = self._process
        if process is None:
            return partial(function, *arguments)
        self._calls += 1
        number = self._calls
        self._unsent.put(pickle.dumps((number, function, arguments), protocol=pickle.HIGHEST_PROTOCOL))
        time.sleep(_HANDOVER)

        def wait() -> Any:
            answered = 0
            try:
                while answered != number:
                    answered, value, error = pickle.load(process.stdout)  # type: ignore[arg-type]
            except (EOFError, OSError, pickle.UnpicklingError):
                return function(*arguments)
            if error is not None:
                raise error
            return value

        return wait

    def _send(self) -> None:
        """Send the calls; a thread does, because the process takes a large one only when it has made those before."""
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has died, which whoever waits will notice
            while (call := self._unsent.get()) is not None:
                self._process.stdin.write(call)
                self._process.stdin.flush()


def serve() -> None:
    """The second process: make the calls that come through stdin, until it is closed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()  # it ends soon
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # text printed by a function must not mix with the replies
    set_environment()
    keep_memory()
    [bytes(1) * size for size in _MEMORY]
    while True:
        try:
            number, function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        value, error = None, None
        try:
            value = function(*arguments)
        except Exception as raised:
            error = _plain(raised)
        pickle.dump((number, value, error), replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()


def _plain(error: Exception) -> Exception:
    """The exception, or a RuntimeError with its text if it cannot be pickled."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return copy if isinstance(copy, Exception) else RuntimeError(str(error))
