"""``pycupc doctor --compile``: everything is compiled once, for an image or a shared folder of a cluster."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import numpy as np

#: Called with the name of a part, before it is compiled.
Report = Callable[[str], None]


def compile_everything(report: Report) -> float:
    """Compile or load the functions of all engines and families, and all kernels where there is a GPU.

    Small problems are run that reach each function. Returns the seconds that this took.
    """
    from pycupc.system.jit import always_compiled

    begin = time.perf_counter()
    with warnings.catch_warnings(), always_compiled():
        warnings.simplefilter("ignore")  # about the data, which are made up
        for name, run in _runs():
            report(name)
            run()
        _compile_kernels(report)
    return time.perf_counter() - begin


def _runs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Parts, and problems that reach all of their functions."""
    from pycupc.algorithm.fci import fci
    from pycupc.algorithm.pc import pc
    from pycupc.algorithm.rfci import rfci
    from pycupc.engines.cpu.pruning.plan import Way
    from pycupc.engines.cpu.pruning.pruned_sides import load
    from pycupc.independence.discrete import DiscreteSuffStat, disCItest
    from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
    from pycupc.independence.rcot import RCoT

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 14))
    for j in range(1, 14):
        X[:, j] += X[:, : min(j, 4)].sum(axis=1) / 2
    r: Any = np.corrcoef(X, rowvar=False)
    codes = (X > 0).astype(int) + (X > 1)
    C = {"C": r, "n": 60}
    gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    wide = np.hstack([X, rng.standard_normal((60, 200))])

    def run(*data: Any, **how: Any) -> None:
        fit = pc(*data, **{"alpha": 0.2, "engine": "cpu", **how})
        fit.p_values.of_edges(fit.sparse_graph)
        if fit.has_dag:
            fit.to_cpdag()

    for pruning in (True, "always", False):
        yield "tests of correlations", partial(run, X, engine_options={"pruning": pruning})
    yield "tests of correlations", partial(run, X, engine_options={"correlations": "rows", "pruning": "always"})
    for way in get_args(Way):
        yield "tests of correlations", partial(load, way)
    yield "p-values", lambda: pc(wide, alpha=0.2, engine="cpu").pMax
    yield "n by pair", partial(run, {"C": r[:6, :6], "n": np.full((6, 6), 60)})
    yield "tests of correlations", partial(run, wide, engine_options={"correlations": "rows"})
    yield "rules", partial(run, C, maj_rule=True, solve_confl=True)
    yield "rules", partial(run, C, u2pd="retry", random_state=0)
    yield "tiers", partial(run, C, tiers=[j // 5 for j in range(14)])
    for function in (fci, rfci):
        yield function.__name__, partial(function, C, alpha=0.2, engine="cpu")
    yield "tests of categories", partial(run, DiscreteSuffStat.from_data(codes[:, :6]), disCItest, m_max=2)
    for correlation in ("spearman", "kendall", "latent"):
        data = np.column_stack([X[:, :4], codes[:, 4:6]]) if correlation == "latent" else X[:, :6]
        yield "ranks and latent variables", partial(run, data, correlation=correlation)
    for categories in (False, True):
        some = (codes if categories else X)[:, :5]
        holes = np.where(np.isnan(gaps[:, :5]), np.nan, some)
        imputed = [np.where(np.isnan(holes), values, some) for values in (some, some[::-1])]
        incomplete = IncompleteTable(holes, categories=categories)
        yield "missing values", partial(run, incomplete, m_max=2)
        yield "missing values", partial(run, MultipleImputation(imputed, categories=categories), m_max=2)
    yield "RCoT", partial(run, X[:, :5], RCoT(), m_max=1)


def _compile_kernels(report: Report) -> None:
    from pycupc.system.machine import gpu_works

    if not gpu_works()[0]:
        return
    from pycupc.engines.gpu.device import open_device, session
    from pycupc.engines.gpu.every_kernel import every_kernel

    report("kernels")
    device = open_device(0)
    with session(device):
        for rows in (False, True):
            device.kernels.load([kernel for kernel, of_rows in every_kernel() if of_rows == rows], rows, "")
