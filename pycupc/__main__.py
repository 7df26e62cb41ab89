"""The command ``pycupc``, also as ``python -m pycupc``."""

from __future__ import annotations

# What `signal` wraps, which is there at once: Ctrl-C during the import of `signal` would show a traceback.
import _signal as signal  # type: ignore[import-not-found]
import gc
import os
import sys

# Only the command imports this module. Until it has begun, Ctrl-C ends the process without a word.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run the command line; returns the exit code."""
    # What a command makes nearly all lives to its end: looking for cyclic garbage took a tenth of the time of a run.
    gc.set_threshold(100_000, 50, 100)
    # OpenBLAS starts a thread per core for NumPy, and another for SciPy. Each of them waits actively for a tenth of a
    # second before it sleeps, 12 s of processor time on 64 cores; and no command multiplies large matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pycupc import cli

    code = cli.main()
    gc.freeze()  # Python looks for garbage once more when it ends
    return code


if __name__ == "__main__":
    sys.exit(main())
