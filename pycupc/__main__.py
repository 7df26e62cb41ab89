"""``python -m pycupc`` is the command ``pycupc``."""

from __future__ import annotations

import sys

from pycupc.cli import main

if __name__ == "__main__":
    sys.exit(main())
