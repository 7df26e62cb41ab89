"""Effects against a running pcalg, on random graphs. Skipped where Rscript or pcalg is missing."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

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
