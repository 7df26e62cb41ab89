"""Columns that add up, as parts and their total or the indicators of a factor: pcalg's answers on R's ``cor``."""

import subprocess

import numpy as np
import pytest
from common import GOLDEN_FOLDER, Case
from dependent_columns import dependent_table, dummies

import pycupc

RECORDED = sorted((GOLDEN_FOLDER / "dependent").glob("*.npz"))
pytestmark = pytest.mark.filterwarnings("ignore:.*linearly dependent:UserWarning")
R_SCRIPT = """
suppressPackageStartupMessages(library(pcalg))
folder <- commandArgs(TRUE)[[1]]
out <- lapply(seq_along(list.files(folder, "x")), function(i) {
  x <- readBin(file.path(folder, paste0("x", i)), "double", 1e6)
  x <- matrix(x[-(1:2)], ncol = x[[1]])
  alpha <- c(0.01, 0.05)[[i %% 2 + 1]]
  fit <- do.call(METHOD, list(list(C = cor(x), n = nrow(x)), gaussCItest, alpha = alpha, p = ncol(x), EXTRA))
  marks <- if (is(fit, "fciAlgo")) fit@amat else as(fit@graph, "matrix")
  cat(fit@n.edgetests, "", fit@max.ord, as.integer(t(marks)), "\\n")
})
"""


def of_pcalg(rscript, folder, tables, method, extra="m.max = Inf"):
    """Of each table the counts of tests, the last level and the marks, as numbers in one list."""
    for i, X in enumerate(tables):
        np.concatenate([[X.shape[1], 0], X.T.ravel()]).tofile(folder / f"x{i + 1}")
    script = folder / "script.R"
    script.write_text(R_SCRIPT.replace("METHOD", method).replace("EXTRA", extra), encoding="utf-8")
    done = subprocess.run([rscript, str(script), str(folder)], check=True, capture_output=True, text=True)
    return [[float(v) for v in line.split()] for line in done.stdout.splitlines()]


def ours(fit, marks):
    return [*map(float, fit.n_edgetests), float(fit.max_ord), *marks.astype(float).ravel()]


def test_all_recorded_tables_are_there():
    assert len(RECORDED) == 40
    for path in RECORDED:
        X = dependent_table(int(path.stem.removeprefix("seed_")))
        np.testing.assert_allclose(Case(path).x, X, rtol=0, atol=1e-12)


@pytest.mark.parametrize("correlations", ["dense", "rows"])
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_answer(path, correlations):
    case = Case(path)
    how = {"alpha": float(case.alpha), "engine": "cpu", "engine_options": {"correlations": correlations}}
    fit = pycupc.pc(case.x, **how)
    np.testing.assert_array_equal(fit.skeleton, case.skeleton)
    np.testing.assert_array_equal(fit.graph, case.cpdag_relaxed)
    np.testing.assert_array_equal(pycupc.pc(case.x, maj_rule=True, **how).graph, case.cpdag_majority)
    assert fit.sepset.cells() == case.cells()
    assert (fit.n_edgetests, fit.max_ord) == (case.n_edgetests.tolist(), case.max_ord)
    np.testing.assert_allclose(fit.pMax, case.pMax, rtol=1e-6, atol=0)


@pytest.mark.r
def test_pc_as_live_pcalg(rscript, tmp_path):
    tables = [dependent_table(seed) for seed in range(1000, 1060)]
    wanted = of_pcalg(rscript, tmp_path, tables, "pc", 'skel.method = "stable"')
    for i, (X, want) in enumerate(zip(tables, wanted, strict=True), 1):
        fit = pycupc.pc(X, alpha=(0.01, 0.05)[i % 2], engine="cpu")
        assert ours(fit, fit.graph) == want, i


@pytest.mark.r
def test_fci_as_live_pcalg(rscript, tmp_path):
    tables = [dependent_table(seed) for seed in range(1100, 1130)]
    wanted = of_pcalg(rscript, tmp_path, tables, "fci")
    for i, (X, want) in enumerate(zip(tables, wanted, strict=True), 1):
        fit = pycupc.fci(X, alpha=(0.01, 0.05)[i % 2], engine="cpu")
        assert ours(fit, fit.sparse_graph.amat_pag()) == want, i


@pytest.mark.r
@pytest.mark.parametrize("seed", range(1200, 1204))
def test_stability_counts_the_edges_of_live_pcalg(rscript, tmp_path, seed):
    X = dependent_table(seed)
    found = pycupc.stability(X, scheme="subsample", n_resamples=20, random_state=seed, alpha=0.05, engine="cpu")
    resamples = [X[found.resampling.indices(k)] for k in range(20) for _ in "ab"]  # each second one at alpha = 0.05
    p = X.shape[1]
    graphs = of_pcalg(rscript, tmp_path, resamples, "pc", 'skel.method = "stable"')[::2]
    marks = np.array([np.reshape(graph[-p * p :], (p, p)) for graph in graphs])
    times = (marks + marks.transpose(0, 2, 1) > 0).sum(axis=0)
    counts = found.counts[0]
    np.testing.assert_array_equal(counts.adjacent, times[counts.low, counts.high])
    assert counts.adjacent.sum() == np.triu(times).sum()


@pytest.mark.parametrize("seed", [5, 19, 28, 32, 37, 39, 58])
def test_tests_of_complete_rows_decide_as_the_reference(seed):
    X = dependent_table(seed)[:400]
    X = np.where(np.random.default_rng(seed).random(X.shape) < 0.05, np.nan, X)
    fits = [pycupc.pc(X, pycupc.gaussCItwd, alpha=0.05, engine=engine) for engine in ("cpu", "reference")]
    np.testing.assert_array_equal(fits[0].graph, fits[1].graph)
    assert fits[0].n_edgetests == fits[1].n_edgetests


def test_indicators_do_not_hide_their_outcome():
    """y has the means 0, 1 and -1; with errors of 2e-15 in C, only y - z and the edges of the indicators were left."""
    fit = pycupc.pc(dummies(), alpha=0.01, engine="cpu")
    assert fit.skeleton[3].astype(int).tolist() == [0, 1, 1, 0, 1]


def test_numbers_far_from_zero():
    X = np.random.default_rng(0).integers(-2, 4, (300, 5)) + 1e15
    near, far = (pycupc.SuffStat.from_data(values).C for values in (X - 1e15, X))
    np.testing.assert_allclose(far, near, rtol=0, atol=2e-16)
    assert not pycupc.pc(X, pycupc.gaussCItest, alpha=0.01, engine="cpu").skeleton.any()
