"""Shared by test modules: places, recorded answers, comparison of results, the shared data."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from record_golden import read_cells

import pycupc
from pycupc.engines.protocol import Engine
from pycupc.graph.pairs import Pairs
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest

if TYPE_CHECKING:
    from pycupc import PcAlgo

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
#: Helpers, which scripts in processes of their own import too.
SUPPORT = TESTS / "support"
#: Small files that tests read.
FILES = TESTS / "files"


GOLDEN_FOLDER = TESTS / "golden"
GOLDEN = sorted(GOLDEN_FOLDER.glob("*.npz"))


#: Real data sets and their expected answers may not be redistributed. They are looked for beside the checkout, or in
#: the folder that PYCUPC_DATA names.
SHARED = ROOT.parent / "shared"


DATA = Path(os.environ.get("PYCUPC_DATA") or SHARED / "data")


@dataclass(frozen=True)
class Case:
    """One recorded answer of pcalg; fields of the file as attributes, missing ones None."""

    path: Path

    @cached_property
    def _data(self) -> dict[str, np.ndarray]:
        with np.load(self.path) as file:
            return {key: file[key] for key in file.files}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._data.get(name)

    @property
    def name(self) -> str:
        """Name of the file without its ending."""
        return self.path.stem

    @property
    def arguments(self) -> dict[str, Any]:
        """The recorded arguments of `pc` and `skeleton` other than suffStat."""
        return {
            "alpha": float(self.alpha),
            "m_max": float(self.m_max),
            "NAdelete": bool(self.NAdelete),
            "fixedGaps": self.fixedGaps,
            "fixedEdges": self.fixedEdges,
        }

    @property
    def suff_stat(self) -> dict[str, Any]:
        """Correlation matrix and number of observations."""
        return {"C": self.C, "n": int(self.n)}

    def cells(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Recorded separating sets: {(x, y): members}."""
        return read_cells(self._data)

    def variants(self) -> list[str]:
        """Names of the orientations that were recorded."""
        return [key.removeprefix("cpdag_") for key in self._data if key.startswith("cpdag_")]


def golden_case(name: str) -> Case:
    """One recorded case by its name."""
    return Case(GOLDEN_FOLDER / f"{name}.npz")


def assert_same(a: PcAlgo, b: PcAlgo) -> None:
    """Two results agree in everything that is decided: edges and marks, separating sets, counts, last level."""
    np.testing.assert_array_equal(a.skeleton, b.skeleton)
    np.testing.assert_array_equal(a.graph, b.graph)
    assert a.n_edgetests == b.n_edgetests
    assert a.max_ord == b.max_ord
    assert a.sepset == b.sepset
    assert a.sepset.cells() == b.sepset.cells()


def gaussian_test(C: np.ndarray, n: float, cutoff: Callable[[int], float] | float) -> GaussianTest:
    """The Gaussian test with these correlations, and with this cutoff in place of the cutoff of an alpha."""

    class WithCutoff(GaussianTest):
        def cutoff(self, level: int) -> float:
            return cutoff(level) if callable(cutoff) else cutoff

    return WithCutoff(SuffStat(C, n), math.nan)


def take(engine: Engine, test: IndependenceTest, **pairs: Pairs | None) -> Engine:
    """The engine, which has taken the test with fixed gaps and fixed edges."""
    engine.take(test, [str(k) for k in range(test.p)], **pairs)
    return engine


def refused(words: str, call: Callable[..., object], *arguments: Any, error: Any = ValueError, **options: Any) -> None:
    """Assert that the call raises the error, whose text matches the words."""
    with pytest.raises(error, match=words):
        call(*arguments, **options)


def run(*args: object) -> int:
    """Run the command line; returns the exit code."""
    from pycupc import cli

    return cli.main([str(a) for a in args])


def no_gpu() -> str | None:
    """Why the GPU tests cannot run, or None if they can."""
    from pycupc.system.machine import gpu_works

    works, why = gpu_works()
    return None if works else why


CAREFUL = {"conservative": {"conservative": True}, "majority": {"maj_rule": True}}


VARIANTS = {"relaxed": {}, "solve_confl": {"solve_confl": True}, "retry": {"u2pd": "retry"}, **CAREFUL}


VARIANTS |= {f"{name}_solve_confl": {**rule, "solve_confl": True} for name, rule in CAREFUL.items()}


def small_fit(**kwargs: Any) -> tuple[Case, PcAlgo]:
    """A recorded case, and `pc` of it with other arguments."""
    case = golden_case("er_p60_n500")
    return case, pycupc.pc(case.suff_stat, **{**case.arguments, **kwargs})


def assert_noncolliders(fit):
    """The paths that a device has listed as no colliders are those that the separating sets imply."""
    cells, adjacent = fit.sepset.flat(), fit.sparse_graph.skeleton()
    ends = np.repeat(cells.x, cells.length), np.repeat(cells.y, cells.length)
    implied = [
        (*sorted((x, z)), b)
        for x, z, b in zip(*(values.tolist() for values in (*ends, cells.members)), strict=True)
        if adjacent[b, x] and adjacent[b, z]
    ]
    listed = [(*sorted((x, z)), b) for x, b, z in fit.sepset.noncolliders.tolist()]
    assert sorted(listed) == sorted(implied)
