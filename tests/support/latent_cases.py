"""Random problems for the rules of PAGs: skeletons with arbitrary separating sets, and graphs with arbitrary marks."""

import os
import subprocess
from itertools import combinations, pairwise

import numpy as np
from orientation_cases import flat_cells
from pag_oracle import ALL_RULES

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import CIRCLE, SparseGraph
from pycupc.orientation.mixed_graph import KIND, NEIGHBOUR
from pycupc.orientation.pag import FCI_LOOPS, JointCausalInference, orient_pag
from pycupc.orientation.pag.orienting import Orienting, in_sets

#: Weights of circles, arrowheads and tails with which most rules have something to do.
WEIGHTS = ((1, 1, 1), (6, 1, 1), (2, 2, 1), (4, 2, 1), (4, 1, 2), (10, 1, 0), (20, 1, 1), (1, 5, 1))

R_SCRIPT = r"""
suppressMessages(library(pcalg))
num <- function(s) as.numeric(strsplit(trimws(s), "[ ]+")[[1]])
parts <- function(s) if (nzchar(trimws(s))) lapply(strsplit(s, ",")[[1]], num)
for (line in readLines(commandArgs(TRUE)[1])) {
  f <- strsplit(line, ";", fixed = TRUE)[[1]]
  p <- num(f[1])
  sets <- lapply(seq_len(p), function(.) vector("list", p))
  for (v in parts(f[7])) sets[[v[1] + 1]][[v[2] + 1]] <- as.integer(v[-(1:2)] + 1)
  unclear <- unlist(lapply(parts(f[8]), function(v) triple2numb(p, v[1] + 1, v[2] + 1, v[3] + 1)))
  M <- matrix(num(f[6]), p, p, byrow = TRUE)
  if (nzchar(trimws(f[9]))) {  # seed and alpha: rfci's rules, with tests by a hash of the question
    test <- function(x, y, S, seed) {
      (sum(2^(S - 1)) * 7919 + (x - 1) * 104729 + (y - 1) * 1299709 + seed * 15485863) %% 997 / 997
    }
    setTimeLimit(elapsed = 2, transient = TRUE)  # it may go on for ever
    M <- tryCatch(udag2apag(M, num(f[9])[1], test, num(f[9])[2], sets, num(f[2]) == 1, unclear)$graph,
                  error = function(e) if (grepl("time limit", conditionMessage(e))) integer() else stop(e))
    setTimeLimit(elapsed = Inf)
  } else {
    M <- udag2pag(M, sets, rules = num(f[2]) == 1, unfVect = unclear, jci = trimws(f[3]),
                  contextVars = if (nzchar(trimws(f[4]))) num(f[4]) + 1, orientCollider = num(f[5]) == 1)
  }
  cat(as.integer(t(M)), "\n")
}
"""


def random_case(rng, rules=None, weights=None, *, ambiguous=0.0, jci=False, p_max=9) -> dict:
    """A skeleton of circles; with `weights`, marks drawn with one of them, and no colliders are looked for."""
    p = int(rng.integers(3, p_max + 1))
    skeleton = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.9), 1)
    skeleton |= skeleton.T
    case = {"rules": ALL_RULES, "colliders": weights is None, "jci": "0", "context": []}
    if jci:
        case["jci"] = str(rng.choice(["1", "12", "123"]))
        case["context"] = sorted(rng.choice(p, size=int(rng.integers(1, p)), replace=False).tolist())
        skeleton[np.ix_(case["context"], case["context"])] = True  # as fci() has them
        np.fill_diagonal(skeleton, False)
    marks = np.array(weights[rng.integers(len(weights))] if weights else (1, 0, 0), dtype=float)
    case["M"] = np.where(skeleton, rng.choice([1, 2, 3], size=(p, p), p=marks / marks.sum()), 0)
    if rules is not None:
        case["rules"] = tuple(i in rules for i in range(1, 11))
    elif rng.random() < 0.4:
        case["rules"] = tuple((rng.random(10) < 0.8).tolist())
    share, case["cells"] = rng.uniform(0, 1), {}
    for x, y in combinations(range(p), 2):
        if not skeleton[x, y]:
            others = [v for v in range(p) if v not in (x, y)]
            cell = (x, y) if rng.random() < 0.6 else (y, x)
            case["cells"][cell] = tuple(v for v in others if rng.random() < share)
            if rng.random() < 0.1:
                case["cells"][cell[::-1]] = tuple(v for v in others if rng.random() < share)
    return unclear(rng, case, ambiguous)


def unclear(rng, case, share) -> dict:
    """With some of its unshielded triples ambiguous."""
    M = case["M"]
    triples = ((a, b, c) for b in range(len(M)) for a, c in combinations(np.flatnonzero(M[b]).tolist(), 2))
    case["ambiguous"] = {t for t in triples if not M[t[0], t[2]] and rng.random() < share}
    return case


def rule_10_case(rng, smallest=5, largest=9, share=0.0) -> dict:
    """a o-> c with parents of c and edges that may be directed, so that rule 10 has something to do."""
    case = random_case(rng, (10,), ((4, 2, 1),), p_max=largest)
    p = int(rng.integers(smallest, largest + 1))
    M = np.where(rng.random((p, p)) < 0.5, rng.choice([1, 2], size=(p, p)), 1)
    M = np.where(np.tri(p, k=-1, dtype=bool), rng.choice([1, 3], size=(p, p)), M)
    gone = np.triu(rng.random((p, p)) < 0.6, 1)
    M[gone | gone.T | np.eye(p, dtype=bool)] = 0
    for v in range(2, p):
        if rng.random() < 0.5:
            M[v, 1], M[1, v] = 2, 3
        elif rng.random() < 0.3:  # a path may pass the end of the edge
            M[1, v], M[v, 1] = rng.choice([1, 2]), rng.choice([1, 3])
        if rng.random() < 0.6:
            M[0, v], M[v, 0] = rng.choice([1, 2]), rng.choice([1, 3])
    M[0, 1], M[1, 0] = 2, 1
    order = rng.permutation(p)
    return unclear(rng, case | {"M": M[np.ix_(order, order)], "cells": {}}, share)


def discriminating_case(rng, share=0.0) -> dict:
    """A discriminating path d, ..., a, b, c of four to six variables, other edges about it, and a test."""
    n = int(rng.integers(4, 7))
    p = n + int(rng.integers(0, 4))
    order = rng.permutation(p)
    d, *inner, b, c = order[:n].tolist()
    M = np.where(rng.random((p, p)) < rng.uniform(0.3, 0.8), 0, rng.choice([1, 1, 2, 3], size=(p, p)))
    M = np.where((M == 0) | (M.T == 0) | np.eye(p, dtype=bool), 0, M)
    for u, v in pairwise((d, *inner, b)):
        M[u, v], M[v, u] = 2, 2
    M[d, inner[0]], M[inner[0], d] = 2, rng.choice([1, 2])
    M[inner[-1], b] = 1
    for v in inner:
        M[v, c], M[c, v] = 2, 3
    M[b, c], M[c, b] = rng.choice([1, 2]), 1
    M[d, c] = M[c, d] = 0
    if rng.random() < 0.7:
        for u, v in combinations((d, *inner, b), 2):
            if (u, v) not in pairwise((d, *inner, b)):
                M[u, v] = M[v, u] = 0
    cells = {}
    for x, y in np.argwhere(np.triu(M == 0, 1)).tolist():
        others = [v for v in range(p) if v not in (x, y)]
        cells[(x, y) if rng.random() < 0.5 else (y, x)] = tuple(v for v in others if rng.random() < 0.3)
    cells.pop((c, d), None)
    cells[d, c] = tuple(v for v in order[1 : n - 1].tolist() if rng.random() < 0.8)
    case = {"M": M, "cells": cells, "jci": "0", "context": [], "colliders": False, "rules": ALL_RULES}
    if rng.random() < 0.4:
        case["rules"] = tuple(k == 4 for k in range(1, 11))
    case["test"] = (int(rng.integers(1000)), float(rng.choice([0.6, 0.9, 0.97])))
    return unclear(rng, case, share)


def oriented(case, quirks=True) -> tuple[np.ndarray, dict]:
    """What the package makes of a case: pcalg's matrix of marks, and the reasons."""
    graph = SparseGraph.from_amat_pag(case["M"])
    sepset = SepSets.from_flat(graph, flat_cells(case["cells"]))
    triples = np.array(sorted(case["ambiguous"]), dtype=np.int64).reshape(-1, 3)
    if case["colliders"]:
        jci = JointCausalInference(case["jci"], case["context"]) if case["jci"] != "0" else None
        done = orient_pag(graph, sepset, rules=case["rules"], ambiguous=triples, jci=jci, quirks=quirks)
    else:
        work = Orienting(graph, quirks)
        with work.compiling():
            work.mark_triples(sepset, triples)
            neighbour, owner = work.graph.entry[NEIGHBOUR], np.repeat(np.arange(graph.p), graph.degrees())
            assert (work.graph.entry[KIND] == CIRCLE).all()
            work.graph.entry[KIND] = case["M"][neighbour, owner]
            work.apply_rules(case["rules"], FCI_LOOPS, in_sets(sepset))
            done = work.oriented()
    return done.graph.amat_pag().astype(int), dict(done.trace.items())


def live(rscript: str, folder, cases) -> list[np.ndarray]:
    """What pcalg's udag2pag, or rfci's udag2apag where there is a "test", makes of these cases; empty if it goes on."""
    (folder / "rules.R").write_text(R_SCRIPT)
    (folder / "cases").write_text("".join(_line(case) + "\n" for case in cases))
    command = [rscript, str(folder / "rules.R"), str(folder / "cases")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    answers = [np.array(line.split(), dtype=int) for line in done.stdout.splitlines()]
    return [v.reshape(len(case["M"]), -1) if len(v) else v for v, case in zip(answers, cases, strict=True)]


def _line(case) -> str:
    fields = [[len(case["M"])], map(int, case["rules"]), [case["jci"]], case["context"]]
    fields += [[int(case["colliders"])], case["M"].ravel()]
    text = [" ".join(map(str, field)) for field in fields]
    text += [",".join(" ".join(map(str, (*cell, *S))) for cell, S in case["cells"].items())]
    text += [",".join(" ".join(map(str, t)) for t in sorted(case["ambiguous"]))]
    return "; ".join([*text, " ".join(map(str, case.get("test", ())))]) + " "
