"""How many files of pycupc a call enters, to its first test and in all; how often kinds are recognised by class.

python tests/entered_files.py

A measure of how far a reader must go to follow a call. A file counts once one of its functions runs; the first run of
each call is not counted, as it loads and compiles.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pycupc"
sys.path.insert(0, str(ROOT))
#: The function with which a level begins.
FIRST_TEST = ("protocol.py", "run_level")
KINDS = "Test|SuffStat|IncompleteTable|MixedTable|MultipleImputation|Batch|RCoT"


def entered(call: Callable[[], object]) -> tuple[int, int]:
    """Files that `call` enters before its first level, and in all."""
    call()
    files, before = set[str](), [0]

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(PACKAGE)):
            if (Path(name).name, frame.f_code.co_name) == FIRST_TEST and not before[0]:
                before[0] = len(files)
            files.add(name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return before[0], len(files)


def recognised_by_class() -> int:
    """How often code outside `pycupc/independence` compares the class of a family's test or data."""
    pattern = re.compile(rf"isinstance\([^)]*({KINDS})\b")
    outside = (path for path in PACKAGE.rglob("*.py") if "independence" not in path.parts)
    return sum(len(pattern.findall(path.read_text(encoding="utf-8"))) for path in outside)


def as_cu_pc(columns: NDArray[np.float64], labels: list[str]) -> None:
    """What Python does for R's ``cu_pc(X, alpha = 0.01)``, in this thread, but for the copy of the answer to R."""
    from pycupc.r import transport

    class Job(transport.Job):
        def begin(self, compute: Callable[[], dict[str, Any]]) -> None:
            assert compute()["error"] is None

    transport.RVectors = lambda address: {"x": columns}
    flags = {"NAdelete": True, "conservative": False, "maj.rule": False, "solve.confl": False, "quirks": False}
    limits = {"alpha": 0.01, "m.max": float("inf"), "numCores": None}
    arguments = {**limits, **flags, "u2pd": "relaxed", "engine": "auto", "verbose": False}
    options = {"labels": labels, "test": "gaussCItest", "arguments": arguments, "by_default": True}
    job = Job("pc", "address")
    job.start(options | {"pMax": False, "progress": False, "batch": False, "evidence": False}, ["x"])
    assert job.close()


def main() -> None:
    """Print the figures."""
    import pandas as pd

    import pycupc
    from pycupc.cli import main as command

    X = np.cumsum(np.random.default_rng(1).standard_normal((200, 8)), axis=1)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        frame.to_csv(path, index=False)

        def run() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                assert command(["run", str(path), "--out", str(Path(folder) / "out"), "--force", "--plot", "none"]) == 0

        calls: dict[str, Callable[[], object]] = {
            "pc(DataFrame)": lambda: pycupc.pc(frame, alpha=0.01),
            "pycupc run": run,
            "cu_pc": lambda: as_cu_pc(X.ravel(order="F"), list(frame.columns)),
        }
        for name, call in calls.items():
            first, whole = entered(call)
            print(f"{name}: {first} files down to the first test, {whole} in the whole call")
    print(f"isinstance of families or their data outside pycupc/independence: {recognised_by_class()}")


if __name__ == "__main__":
    main()
