"""The arguments of `pc` and `skeleton`, checked before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pycupc.engines.base import Engine
from pycupc.engines.reference import ReferenceEngine
from pycupc.engines.select import make_engine
from pycupc.gaussian.gauss_ci_test import gaussCItest
from pycupc.gaussian.suffstat import SuffStat, as_suff_stat, check_labels

Method = Literal["stable", "stable.fast"]


@dataclass
class Problem:
    """Checked arguments of one run."""

    suff_stat: SuffStat | None  # None with a callable test
    raw_suff_stat: Any
    indep_test: Callable | None
    alpha: float
    labels: tuple[str, ...]
    m_max: float
    gaps: np.ndarray | None
    fixed: np.ndarray | None
    NAdelete: bool
    engine: Engine
    engine_note: str
    numCores: int | None
    call: str
    progress: Callable | None
    verbose: bool

    @property
    def C(self) -> np.ndarray:
        """Correlations; with a callable test a stand-in that only has the right shape."""
        p = len(self.labels)
        return self.suff_stat.C if self.suff_stat is not None else np.broadcast_to(np.nan, (p, p))

    @property
    def n(self) -> int:
        return self.suff_stat.n if self.suff_stat is not None else 0


def check_arguments(
    suffStat,
    indepTest,
    alpha,
    labels,
    p,
    method,
    m_max,
    fixedGaps,
    fixedEdges,
    NAdelete,
    numCores,
    verbose,
    *,
    engine,
    engine_options,
    progress,
    function,
) -> Problem:
    """Check everything before anything runs; errors as pcalg has them (contract, section 3), and more."""
    if method == "original":
        raise ValueError(
            "method 'original' depends on the order of the variables and is not offered; call pcalg::pc() for it, or "
            "use 'stable'"
        )
    if method not in ("stable", "stable.fast"):
        raise ValueError(f"method must be 'stable' or 'stable.fast', got {method!r}")
    if isinstance(alpha, (bool, str)) or not isinstance(alpha, (int, float, np.integer, np.floating)):
        raise TypeError(f"alpha must be a number in [0, 1], got {alpha!r}")
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha!r}")
    if isinstance(m_max, (bool, str)) or not isinstance(m_max, (int, float, np.integer, np.floating)):
        raise TypeError(f"m_max must be a whole number from 0 on, or inf, got {m_max!r}")
    if math.isnan(m_max) or m_max < 0 or (m_max != math.inf and m_max != int(m_max)):
        raise ValueError(f"m_max must be a whole number from 0 on, or inf, got {m_max!r}")
    if numCores is not None and (not isinstance(numCores, (int, np.integer)) or numCores < 1):
        raise ValueError(f"numCores must be a whole number from 1 on, or None for all, got {numCores!r}")
    if indepTest is not None and not callable(indepTest):
        raise TypeError(f"indepTest must be callable (x, y, S, suffStat) -> p, got {indepTest!r}")

    gaussian = indepTest is None or indepTest is gaussCItest
    if not gaussian and engine not in ("auto", "reference"):
        raise ValueError(f"a custom indepTest runs on engine='reference' only, got engine={engine!r}")
    suff_stat = as_suff_stat(suffStat) if gaussian else None
    known = suff_stat.p if suff_stat is not None else p
    if labels is None and suff_stat is not None:
        labels = suff_stat.labels
    if known is None and labels is None:
        raise ValueError("either labels or p must be given with a custom indepTest")
    if p is not None:
        if isinstance(p, bool) or not isinstance(p, (int, np.integer)):
            raise TypeError(f"p must be the number of variables, got {p!r}")
        if labels is not None and len(labels) != p:
            raise ValueError(f"p must equal the number of labels, {len(labels)}, got {p}")
        if suff_stat is not None and p != suff_stat.p:
            raise ValueError(f"p must equal the number of variables of suffStat, {suff_stat.p}, got {p}")
        if p < 2:
            raise ValueError(f"p must be at least 2, got {p}")
    known = len(labels) if known is None else known
    labels = tuple(str(i + 1) for i in range(known)) if labels is None else check_labels(labels, known)
    gaps, fixed = _pairs(fixedGaps, "fixedGaps", known), _pairs(fixedEdges, "fixedEdges", known)

    if gaussian:
        chosen, note = make_engine(engine, known, numCores=numCores, options=engine_options)
    else:
        chosen = ReferenceEngine(indepTest, suffStat, float(alpha), bool(NAdelete))
        note = "reference (custom indepTest)"
    name = engine if isinstance(engine, str) else engine.name
    call = f"{function}(alpha={float(alpha):g}, m_max={m_max}, engine={name!r})"
    return Problem(
        suff_stat,
        suffStat,
        None if gaussian else indepTest,
        float(alpha),
        labels,
        m_max,
        gaps,
        fixed,
        bool(NAdelete),
        chosen,
        note,
        numCores,
        call,
        progress,
        bool(verbose),
    )


def _pairs(value: Any, name: str, p: int) -> np.ndarray | None:
    if value is None:
        return None
    matrix = np.asarray(value)
    if matrix.shape != (p, p):
        raise ValueError(f"{name} must have shape ({p}, {p}), got {matrix.shape}")
    if matrix.dtype.kind not in "biuf" or (matrix.dtype.kind == "f" and np.isnan(matrix).any()):
        raise TypeError(f"{name} must be a matrix of True and False, got {matrix.dtype}")
    matrix = np.ascontiguousarray(matrix != 0)
    if not np.array_equal(matrix, matrix.T):
        raise ValueError(f"{name} must be symmetric")
    matrix[np.diag_indices(p)] = False  # the diagonal means nothing
    return matrix if matrix.any() else None
