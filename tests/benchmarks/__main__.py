"""``python tests/benchmarks EXPERIMENT``, or ``python -m tests.benchmarks EXPERIMENT``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]  # under one name, also where a package "tests" is installed

from benchmarks.command import main  # noqa: E402 - from this folder

if __name__ == "__main__":
    sys.exit(main())
