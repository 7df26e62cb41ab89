"""`evaluate` and `d_separated` against a running pcalg, on random graphs. Skipped where Rscript or pcalg is missing."""

import subprocess

import numpy as np
import pytest

import pycupc
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph

pytestmark = pytest.mark.r

R_SCRIPT = r"""
suppressMessages(library(pcalg))
graph <- function(p, ...) {
  as(matrix(c(...), p, byrow = TRUE, dimnames = rep(list(as.character(seq_len(p))), 2)), "graphNEL")
}
"""


def of_matrix(matrix):
    labels = tuple(str(v + 1) for v in range(len(matrix)))
    return CausalGraph(labels=labels, sparse_graph=SparseGraph.from_dense(matrix))


def dag(rng, p, density=0.35):
    order = rng.permutation(p)
    return np.triu(rng.random((p, p)) < density, 1)[np.ix_(order, order)].astype(np.int8)


def in_r(matrix):
    return f"graph({len(matrix)}, {', '.join(map(str, matrix.ravel().tolist()))})"


def answers(folder, rscript, lines):
    """The numbers that the lines print."""
    (folder / "truth.R").write_text("\n".join([R_SCRIPT, *lines]))
    done = subprocess.run([rscript, str(folder / "truth.R")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def test_shd_of_pcalg(tmp_path, rscript):
    """DAGs and CPDAGs against DAGs, CPDAGs and results with arrows, undirected and bidirected edges at random."""
    rng, pairs = np.random.default_rng(1), []
    for k in range(240):
        p = int(rng.integers(2, 13))
        true = of_matrix(dag(rng, p))
        found = of_matrix(dag(rng, p))
        if k % 3 == 1:
            found = found.to_cpdag()
        elif k % 3 == 2:
            upper = np.triu(rng.integers(0, 5, (p, p)), 1)
            cells = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 2]], dtype=np.int8)
            found = of_matrix(cells[upper][..., 0] + cells[upper][..., 1].T)
        pairs.append((found, true.to_cpdag() if k % 2 else true))
    lines = [f'cat(shd({in_r(found.graph)}, {in_r(true.graph)}), "\\n")' for found, true in pairs]
    want = answers(tmp_path, rscript, lines)
    assert [pycupc.evaluate(found, true).shd for found, true in pairs] == want
    assert len(set(want)) > 10


def test_dsep_of_pcalg(tmp_path, rscript):
    rng, questions = np.random.default_rng(2), []
    for _ in range(500):
        matrix = dag(rng, int(rng.integers(3, 11)), density=0.25)
        x, y, *S = rng.permutation(len(matrix))[: rng.integers(2, len(matrix) + 1)].tolist()
        questions.append((matrix, x, y, S))
    lines = []
    for matrix, x, y, S in questions:
        given = f"c({', '.join(repr(str(v + 1)) for v in S)})" if S else "NULL"
        lines.append(f'cat(as.integer(dsep("{x + 1}", "{y + 1}", {given}, g = {in_r(matrix)})), "\\n")')
    want = answers(tmp_path, rscript, lines)
    assert [pycupc.d_separated(matrix, x, y, S) for matrix, x, y, S in questions] == want
    assert [pycupc.d_separated(of_matrix(matrix).to_cpdag(), x, y, S) for matrix, x, y, S in questions] == want
    assert 100 < sum(want) < 400
