"""The command ``pycupc``, also as ``python -m pycupc``."""

from __future__ import annotations

import signal
import sys

# Only the command imports this module. Until it has begun, Ctrl-C ends the process without a word.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run the command line; returns the exit code."""
    from pycupc import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
