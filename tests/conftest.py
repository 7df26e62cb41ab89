"""What several test modules need: recorded answers, the shared data, and reasons for skipping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
GOLDEN = sorted((HERE / "golden").glob("*.npz"))

#: Real data sets and their right answers lie beside the project where they are to be had; they are not part of it.
SHARED = HERE.parent.parent / "shared"


@dataclass(frozen=True)
class Case:
    """One recorded answer of pcalg; fields of the file as attributes, missing ones None."""

    path: Path

    @cached_property
    def _data(self) -> dict[str, np.ndarray]:
        with np.load(self.path) as file:
            return {key: file[key] for key in file.files}

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._data.get(name)

    @property
    def arguments(self) -> dict:
        """Of `pc` and `skeleton`, but suffStat."""
        return {
            "alpha": float(self.alpha),
            "m_max": float(self.m_max),
            "NAdelete": bool(self.NAdelete),
            "fixedGaps": self.fixedGaps,
            "fixedEdges": self.fixedEdges,
        }

    @property
    def suff_stat(self) -> dict:
        return {"C": self.C, "n": int(self.n)}

    def cells(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Recorded separating sets."""
        length = self.sepset_len.astype(np.int64)
        start = np.cumsum(length) - length
        members = self.sepset_members.tolist()
        return {
            (x, y): tuple(members[s : s + n])
            for x, y, s, n in zip(
                self.sepset_x.tolist(), self.sepset_y.tolist(), start.tolist(), length.tolist(), strict=True
            )
        }

    def variants(self) -> list[str]:
        return [key.removeprefix("cpdag_") for key in self._data if key.startswith("cpdag_")]


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def golden(request) -> Case:
    """Every recorded case in turn."""
    return Case(request.param)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of the shared data; skips where it is not there."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"no shared data at {SHARED}")
    return SHARED


def no_gpu() -> str | None:
    """Why the GPU tests cannot run, or None if they can."""
    from pycupc.machine import gpu_works

    works, why = gpu_works()
    return None if works else why


def pytest_collection_modifyitems(items) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and (why := no_gpu()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"no CUDA device: {why}"))
