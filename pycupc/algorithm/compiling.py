"""``pycupc doctor --compile``: everything is compiled once, for an image or a shared folder of a cluster."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.pc import pc

#: Called with the name of a part, before it is compiled.
Report = Callable[[str], None]
#: Parts, and problems that reach all of their functions.
Runs = Iterator[tuple[str, Callable[[], Any]]]


def compile_everything(report: Report) -> float:
    """Compile or load the functions of all engines and families, and all kernels where there is a GPU.

    Small problems are run that reach each function. Returns the seconds that this took.
    """
    from pycupc.system.jit import always_compiled

    begin = time.perf_counter()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 14))
    for j in range(1, 14):
        X[:, j] += X[:, : min(j, 4)].sum(axis=1) / 2
    with warnings.catch_warnings(), always_compiled():
        warnings.simplefilter("ignore")  # about the data, which are made up
        for runs in (_of_correlations, _of_methods, _of_other_data):
            for name, run in runs(X, rng):
                report(name)
                run()
        _compile_kernels(report)
    return time.perf_counter() - begin


def _run(*data: Any, **how: Any) -> None:
    fit = pc(*data, **{"alpha": 0.2, "engine": "cpu", **how})
    fit.p_values.of_edges(fit.sparse_graph)
    fit.pMax  # noqa: B018 - makes tests of level 0 by themselves
    if fit._has_dag:
        fit.to_cpdag()


def _of_correlations(X: NDArray[Any], rng: np.random.Generator) -> Runs:
    from pycupc.engines.cpu.pruning.plan import Way
    from pycupc.engines.cpu.pruning.pruned_sides import load
    from pycupc.engines.cpu.submatrices import MatrixSource, canonical_of
    from pycupc.independence.gaussian.fisher_z import z_to_p
    from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
    from pycupc.system.jit import frozen

    r: Any = np.corrcoef(X, rowvar=False)
    wide, many = (np.hstack([X, rng.standard_normal((len(X), more))]) for more in (200, 500))
    options: tuple[dict[str, Any], ...] = (
        *({"pruning": pruning} for pruning in (True, "always", False)),
        {"correlations": "rows", "pruning": "always"},
    )
    for how in options:
        yield "tests of correlations", partial(_run, X, engine_options=how)
    yield "tests of correlations", partial(_run, wide, engine_options={"correlations": "rows"})
    for way in get_args(Way):
        yield "tests of correlations", partial(load, way)
    yield "p-values", partial(z_to_p, np.ones((350, 300)))
    yield "p-values", lambda: pc(many, alpha=0.01, engine="cpu").pMax
    yield "single tests", partial(gaussCItest, 0, 1, (2, 3, 4), {"C": r, "n": len(X)})
    x, y, S = (np.array(values, dtype=np.int32) for values in ([0], [1], [[2, 3, 4]]))
    yield "single tests", partial(canonical_of, MatrixSource(frozen(r)), x, y, S, 1)
    yield "n by pair", partial(_run, {"C": r[:6, :6], "n": np.full((6, 6), len(X))})
    for correlation in ("spearman", "kendall", "latent"):
        data = np.column_stack([X[:, :4], X[:, 4:6] > 0]) if correlation == "latent" else X[:, :6]
        yield "ranks and latent variables", partial(_run, data, correlation=correlation)


def _of_methods(X: NDArray[Any], rng: np.random.Generator) -> Runs:
    from pycupc.algorithm.fci import fci
    from pycupc.algorithm.rfci import rfci

    C = {"C": np.corrcoef(X, rowvar=False), "n": len(X)}

    def hidden(function: Any) -> None:
        function(C, alpha=0.2, engine="cpu", engine_options={"pruning": "always"}).later.largest_p()

    yield "rules", partial(_run, C, maj_rule=True, solve_confl=True)
    yield "rules", partial(_run, C, u2pd="retry", random_state=0)
    yield "tiers", partial(_run, C, tiers=[j // 5 for j in range(len(X.T))])
    for function in (fci, rfci):
        yield function.__name__, partial(hidden, function)


def _of_other_data(X: NDArray[Any], rng: np.random.Generator) -> Runs:
    from pycupc.data.mixed import MixedTable
    from pycupc.independence.discrete import DiscreteSuffStat, disCItest
    from pycupc.independence.kernel.factors import kernel
    from pycupc.independence.kernel.kci import KCI
    from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
    from pycupc.independence.mixed.data import MixedImputation
    from pycupc.independence.mixed.mix_ci_test import mixCItwd
    from pycupc.independence.rcot import RCoT

    X, gaps = X[:, :5], rng.random((len(X), 5)) < 0.05
    codes = (X > 0).astype(int) + (X > 1)
    yield "tests of categories", partial(_run, DiscreteSuffStat.from_data(codes), disCItest, m_max=2)
    for categories, some in ((False, X), (True, codes)):
        imputed = [np.where(gaps, values, some) for values in (some, some[::-1])]
        incomplete = IncompleteTable(np.where(gaps, np.nan, some), categories=categories)
        yield "missing values", partial(_run, incomplete, m_max=2)
        yield "missing values", partial(_run, MultipleImputation(imputed, categories=categories), m_max=2)
    mixed = X.astype(object)
    mixed[:, :2] = codes[:, :2].astype(str)
    table = MixedTable.of(mixed)
    incomplete_table = replace(table, values=np.where(gaps, np.nan, table.values))
    yield "tests of numbers and categories", partial(_run, table, m_max=2)
    yield "tests of numbers and categories", partial(_run, incomplete_table, mixCItwd, m_max=2)
    imputations = MixedImputation([table, table.take(np.arange(len(X))[::-1])])
    yield "tests of numbers and categories", partial(_run, imputations, m_max=2)
    yield "KCI", partial(_run, X, KCI())
    yield "KCI", partial(kernel, X.T)
    yield "RCoT", partial(_run, X, RCoT(), m_max=1)


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
