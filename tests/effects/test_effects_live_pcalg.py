"""Effects against a running pcalg, on random graphs. Skipped where Rscript or pcalg is missing."""

import os
import subprocess
import time

import numpy as np
import pytest

import pycupc

from effects_cases import (  # isort: skip
    ADJUSTMENT_IN_R, adjustment_calls, compare, compare_adjustment, evaluate, in_r, random_adjustment, random_calls,
    random_covariance, random_graph,
)  # fmt: skip

pytestmark = pytest.mark.r

R_SCRIPT = r"""
suppressMessages(library(pcalg))
run <- function(value) {
  a <- tryCatch({ capture.output(v <- suppressMessages(value)); v }, error = function(e) NULL)
  if (is.null(a)) cat("error\n") else cat("value", length(dim(a)), dim(a), sprintf("%.17g", as.numeric(a)), "\n")
}
graph <- function(m, p) as(matrix(m, p, byrow = TRUE, dimnames = rep(list(as.character(seq_len(p))), 2)), "graphNEL")
"""

N_CASES = int(os.environ.get("PYCUPC_LIVE_CASES", "15"))
SEED = int(os.environ.get("PYCUPC_LIVE_SEED", "1"))


def test_effects_of_pcalg(tmp_path, rscript):
    rng = np.random.default_rng(SEED)
    cases, lines = [], [R_SCRIPT]
    for i in range(N_CASES):
        kind = ("cpdag", "pdag", "invalid")[i % 3]
        m = random_graph(rng, kind)
        C, calls = random_covariance(rng, len(m)), random_calls(rng, len(m), kind)
        cases.append((kind, m, C, calls))
        numbers = ", ".join(repr(float(v)) for v in C.ravel())
        lines.append(f"g <- graph(c({', '.join(map(str, m.ravel()))}), {len(m)}); C <- matrix(c({numbers}), {len(m)})")
        lines += [f"run({in_r(call)})" for call in calls]
    (tmp_path / "effects.R").write_text("\n".join(lines))
    done = subprocess.run([rscript, str(tmp_path / "effects.R")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = iter(done.stdout.splitlines())
    seen = {}
    for kind, m, C, calls in cases:
        for call in calls:
            what, *rest = next(answers).split()
            want = None
            if what == "value":
                n = int(rest[0])
                want = np.array([float(v.replace("NA", "nan").replace("NaN", "nan")) for v in rest[1 + n :]])
                want = want.reshape([int(v) for v in rest[1 : 1 + n]], order="F") if n else want
            outcome = compare(kind, call, evaluate(call, C, m), want)
            seen[outcome] = seen.get(outcome, 0) + 1
    assert seen["value"] > 0.7 * sum(seen.values())


def test_adjustment_sets_of_pcalg(tmp_path, rscript):
    rng = np.random.default_rng(SEED)
    cases = [random_adjustment(rng) for _ in range(2 * N_CASES)]
    lines = [
        "suppressMessages(library(pcalg))",
        ADJUSTMENT_IN_R,
        *(c for case in cases for c in adjustment_calls(*case)),
    ]
    (tmp_path / "sets.R").write_text("\n".join(lines))
    done = subprocess.run([rscript, str(tmp_path / "sets.R")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    for k, (_, *case) in enumerate(cases):
        compare_adjustment(*case, answers[3 * k : 3 * k + 3])


CSTAR_IN_R = r"""
suppressMessages(library(pcalg))
X <- as.matrix(read.csv("X.csv")); rows <- as.matrix(read.csv("rows.csv", header = FALSE)); p <- ncol(X)
begun <- proc.time()[["user.self"]]
smallest <- apply(rows, 1, function(row) {
  C <- cor(X[row, ])
  fit <- pc(list(C = C, n = length(row)), gaussCItest, ALPHA, p = p)
  sapply(seq_len(p - 1), function(x) {
    # several valid sets, or a parent y: as CStaR, the value of smallest size
    values <- tryCatch(idaFast(x, p, C, fit@graph), error = function(e) NA)
    values[which.min(abs(values))]
  })
})
cat("seconds", proc.time()[["user.self"]] - begun, "\n")
write.table(t(smallest), "smallest.csv", sep = ",", row.names = FALSE, col.names = FALSE)
"""
#: Variables and resamples: the times in BENCHMARKS.md are those of 100 and 50.
P, N_RESAMPLES = int(os.environ.get("PYCUPC_LIVE_P", "20")), int(os.environ.get("PYCUPC_LIVE_RESAMPLES", "6"))


def test_cstar_is_a_loop_of_pc_and_ida_fast_in_r(tmp_path, rscript):
    """The causes of the last variable, on the same resamples: the same pairs, in the same order."""
    rng = np.random.default_rng(SEED)
    B = np.triu(rng.uniform(0.4, 1, (P, P)) * (rng.random((P, P)) < 3 / (P - 1)), 1)
    X = rng.standard_normal((200, P)) @ np.linalg.inv(np.eye(P) - B)
    call = {"effects": P - 1, "n_resamples": N_RESAMPLES, "alpha": 0.01, "random_state": SEED, "engine": "cpu"}
    pycupc.cstar(X, **{**call, "n_resamples": 1})  # loads what is compiled
    begun = time.process_time()
    result = pycupc.cstar(X, **call)
    ours = time.process_time() - begun
    rows = [result.indices(i) + 1 for i in range(N_RESAMPLES)]
    np.savetxt(tmp_path / "X.csv", X, "%.17g", ",", header=",".join(f"v{k}" for k in range(P)), comments="")
    np.savetxt(tmp_path / "rows.csv", rows, "%d", ",")
    (tmp_path / "cstar.R").write_text(CSTAR_IN_R.replace("ALPHA", "0.01"))
    done = subprocess.run([rscript, "cstar.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(f"\n{P} variables, {N_RESAMPLES} resamples: R {done.stdout.strip()}, pycupc {ours:.2f}")
    for i, values in enumerate(np.genfromtxt(tmp_path / "smallest.csv", delimiter=",")):
        values[np.isnan(values)] = 0
        order = np.lexsort((np.arange(P - 1), -np.abs(values)))[: int((values != 0).sum())][: result.q[-1]]
        entries = slice(result.start[i], result.start[i + 1])
        assert result.cause[entries].tolist() == order.tolist()
        np.testing.assert_allclose(result.value[entries], values[order], rtol=1e-8)
