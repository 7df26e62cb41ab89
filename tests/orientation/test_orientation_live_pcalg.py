"""Orientation against a running pcalg, on random graphs made to disagree with themselves.

Skipped where Rscript or pcalg is missing. Three kinds of input: skeletons with arbitrary separating sets (colliders
that contradict each other, cycles, gaps), the same with a conditional-independence test that is noise, and real fits
to small samples. What "rand" and "retry" draw at random comes from R's own generator and is not compared.
"""

import os
import subprocess

import numpy as np
import pytest
from effects_cases import cpdag, named, random_dag

from orientation_cases import Cells, check_dense, noise_test, orient_dense, random_case  # isort: skip

pytestmark = pytest.mark.r

R_SCRIPT = r"""
suppressMessages(library(pcalg))
show <- function(what, v) cat(what, length(v), as.integer(v), "\n")
graph <- function(what, g) show(what, t(as(g, "matrix")))
cells <- function(what, s) for (x in seq_along(s)) for (y in seq_along(s)) if (!is.null(s[[x]][[y]]))
  show(what, c(x - 1, y - 1, s[[x]][[y]] - 1))
fit <- function(case) {
  m <- matrix(0, case$p, case$p, dimnames = rep(list(as.character(seq_len(case$p))), 2))
  m[rbind(case$edges + 1, case$edges[, 2:1] + 1)] <- 1
  s <- lapply(seq_len(case$p), function(.) vector("list", case$p))
  for (cell in case$sepsets) s[[cell[1] + 1]][[cell[2] + 1]] <- as.integer(cell[-(1:2)] + 1)
  new("pcAlgo", graph = as(m, "graphNEL"), call = quote(pc()), n = integer(0), max.ord = 1L, n.edgetests = 1,
      sepset = s, pMax = matrix(0, case$p, case$p), zMin = matrix(NA, 1, 1))
}
crafted <- function(case) {
  sk <- fit(case)
  amb <- vapply(case$ambiguous, function(t) triple2numb(case$p, t[1] + 1, t[2] + 1, t[3] + 1), 0)
  for (confl in c(FALSE, TRUE))
    graph(if (confl) "solve_confl" else "relaxed",
          udag2pdagRelaxed(sk, verbose = FALSE, unfVect = if (length(amb)) amb, solve.confl = confl)@graph)
  graph("retry", suppressWarnings(udag2pdagSpecial(sk, verbose = FALSE))$pcObj@graph)
  graph("rand", suppressWarnings(udag2pdag(sk, verbose = FALSE))@graph)
}
noisy <- function(case) {
  test <- function(x, y, S, seed)
    ((sum(2^(S - 1)) * 7919 + (x - 1) * 104729 + (y - 1) * 1299709 + seed * 15485863) %% 997) / 997
  for (maj in c(FALSE, TRUE)) {
    k <- pc.cons.intern(fit(case), case$seed, test, case$alpha, version.unf = c(2, 1), maj.rule = maj)
    cells(paste0("sepset", maj), k$sk@sepset)
    at <- as.matrix(expand.grid(seq_len(case$p), seq_len(case$p), seq_len(case$p)))
    code <- apply(at, 1, function(t) triple2numb(case$p, t[1], t[2], t[3]))
    show(paste0("ambiguous", maj), t(at[match(k$unfTripl, code), , drop = FALSE]) - 1)
    for (confl in c(FALSE, TRUE))
      graph(paste0("graph", maj, confl),
            udag2pdagRelaxed(k$sk, verbose = FALSE, unfVect = k$unfTripl, solve.confl = confl)@graph)
  }
}
sample_fit <- function(case) {
  p <- ncol(case$C)
  stat <- list(C = case$C, n = case$n)
  sk <- skeleton(stat, gaussCItest, case$alpha, p = p, method = "stable")
  graph("skeleton", sk@graph)
  cells("sepset", sk@sepset)
  for (rule in c("none", "conservative", "majority")) for (confl in c(FALSE, TRUE)) {
    f <- pc(stat, gaussCItest, case$alpha, p = p, skel.method = "stable", solve.confl = confl,
            conservative = rule == "conservative", maj.rule = rule == "majority")
    graph(paste0(rule, confl), f@graph)
    cells(paste0("sepset", rule, confl), f@sepset)
  }
  graph("retry", suppressWarnings(pc(stat, gaussCItest, case$alpha, p = p, skel.method = "stable",
                                     u2pd = "retry"))@graph)
}
extended <- function(case) {
  m <- matrix(case$m, case$p, dimnames = rep(list(as.character(seq_len(case$p))), 2))
  show("valid", isValidGraph(t(m), "cpdag"))
  dag <- suppressWarnings(pdag2dag(as(m, "graphNEL")))
  show("extendable", dag$success)
  graph("dag", dag$graph)
  graph("cpdag", dag2cpdag(dag$graph))
}
for (case in cases) { cat("case\n"); get(kind)(case) }
"""


@pytest.fixture(scope="module")
def pcalg(tmp_path_factory, rscript):
    """A function (kind, cases) that runs `kind` of R_SCRIPT: per case a list of (what, ints)."""
    folder = tmp_path_factory.mktemp("live")

    def run(kind: str, cases: list[str]) -> list[list[tuple[str, list[int]]]]:
        script = folder / f"{kind}.R"
        script.write_text(f'kind <- "{kind}"\ncases <- list({", ".join(cases)})\n{R_SCRIPT}')
        done = subprocess.run([rscript, str(script)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answers: list[list[tuple[str, list[int]]]] = []
        for line in done.stdout.splitlines():
            what, *numbers = line.split()
            if what == "case":
                answers.append([])
            else:
                answers[-1].append((what, [int(v) for v in numbers[1:]]))
        assert len(answers) == len(cases)
        return answers

    return run


def _r(values) -> str:
    return "c(" + ", ".join(map(str, values)) + ")"


def _case(skeleton, cells, **more) -> str:
    edges = np.argwhere(np.triu(skeleton)).T.ravel().tolist()
    sepsets = ", ".join(_r((*cell, *S)) for cell, S in cells.items())
    rest = "".join(f", {name} = {value}" for name, value in more.items())
    edges = f"matrix(as.numeric({_r(edges)}), ncol = 2)"
    return f"list(p = {len(skeleton)}, edges = {edges}, sepsets = list({sepsets}){rest})"


def _array(numbers: list[int]) -> np.ndarray:
    p = round(len(numbers) ** 0.5)
    return np.array(numbers).reshape(p, p)


def _cells(answer, what: str) -> dict:
    return {(v[0], v[1]): tuple(v[2:]) for name, v in answer if name == what}


N_CASES = int(os.environ.get("PYCUPC_LIVE_CASES", "200"))
SEED = int(os.environ.get("PYCUPC_LIVE_SEED", "1"))


def test_contradictory_colliders(pcalg):
    rng = np.random.default_rng(SEED)
    cases = [random_case(rng) for _ in range(N_CASES)]
    ambiguous = [f"list({', '.join(map(_r, triples))})" for *_, triples in cases]
    text = [_case(sk, cells, ambiguous=amb) for (sk, cells, _), amb in zip(cases, ambiguous, strict=True)]
    seen = set()
    for i, ((sk, cells, triples), answer) in enumerate(zip(cases, pcalg("crafted", text), strict=True)):
        want = {what: _array(v) for what, v in answer}
        for what, options in {
            "relaxed": {"ambiguous": triples},
            "solve_confl": {"ambiguous": triples, "solve_confl": True},
            "retry": {"u2pd": "retry"},
            "rand": {"u2pd": "rand"},
        }.items():
            got = orient_dense(sk, Cells(cells), **options)
            seen.add((what, got.status))
            if got.status != "random":
                np.testing.assert_array_equal(got.graph, want[what], err_msg=f"case {i}, {what}: {text[i]}")
    if N_CASES >= 200:
        assert {("retry", s) for s in ("extendable", "reoriented", "forced", "random")} < seen


def test_noise_for_a_test(pcalg):
    rng = np.random.default_rng(SEED + 1)
    cases = [(*random_case(rng, p_max=9)[:2], i, rng.choice([0.2, 0.5, 0.8, 0.95])) for i in range(N_CASES)]
    text = [_case(sk, cells, seed=seed, alpha=alpha) for sk, cells, seed, alpha in cases]
    decided = set()
    for i, ((sk, cells, seed, alpha), answer) in enumerate(zip(cases, pcalg("noisy", text), strict=True)):
        for maj, name in ((False, "FALSE"), (True, "TRUE")):
            sepset = Cells(cells)
            check = check_dense(sk, sepset, None, None, alpha, maj_rule=maj, indep_test=noise_test, suff_stat=seed)
            decided |= set(check.decisions.values())
            numbers = dict(answer)["ambiguous" + name]
            assert check.ambiguous == {tuple(numbers[k : k + 3]) for k in range(0, len(numbers), 3)}, text[i]
            assert {**cells, **check.sepset_changes} == _cells(answer, "sepset" + name), text[i]
            for confl, name2 in ((False, "FALSE"), (True, "TRUE")):
                got = orient_dense(
                    sk, sepset.changed(check.sepset_changes), ambiguous=check.ambiguous, solve_confl=confl
                )
                np.testing.assert_array_equal(got.graph, _array(dict(answer)["graph" + name + name2]), err_msg=text[i])
    assert decided == {"collider", "non-collider", "ambiguous", "unseparated"}


def test_fits_to_small_samples(pcalg):
    rng = np.random.default_rng(SEED + 2)
    cases = []
    for _ in range(max(N_CASES // 5, 10)):
        p, n = int(rng.integers(4, 12)), int(rng.integers(8, 80))
        B = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.7), 1) * rng.uniform(0.3, 1.5, (p, p))
        x = rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - B)
        x = x[:, rng.permutation(p)]
        if rng.random() < 0.2:
            x[:, 0] = x[:, 1]  # an exact copy: the careful path
        C = np.corrcoef(x.T)
        np.fill_diagonal(C, 1.0)
        C = (C + C.T) / 2
        cases.append((C, n, float(rng.choice([0.05, 0.2, 0.4]))))
    text = []
    for C, n, alpha in cases:
        numbers = _r([repr(float(v)) for v in C.ravel()])
        text.append(f"list(C = matrix({numbers}, {len(C)}), n = {n}, alpha = {alpha})")
    for i, ((C, n, alpha), answer) in enumerate(zip(cases, pcalg("sample_fit", text), strict=True)):
        graphs = dict(answer)
        sk = _array(graphs["skeleton"]) != 0
        sepset = Cells(_cells(answer, "sepset"))
        for rule in ("none", "conservative", "majority"):
            after, triples, cells = sepset, None, sepset.cells
            if rule != "none":
                check = check_dense(sk, sepset, C, n, alpha, maj_rule=rule == "majority")
                after, triples = sepset.changed(check.sepset_changes), check.ambiguous
                cells = {**sepset.cells, **check.sepset_changes}
            for confl, name in ((False, "FALSE"), (True, "TRUE")):
                got = orient_dense(sk, after, ambiguous=triples, solve_confl=confl)
                np.testing.assert_array_equal(got.graph, _array(graphs[rule + name]), err_msg=f"case {i}, {rule}")
                assert cells == _cells(answer, "sepset" + rule + name), f"case {i}, {rule}"
        got = orient_dense(sk, sepset, u2pd="retry")
        if got.status != "random":
            np.testing.assert_array_equal(got.graph, _array(graphs["retry"]), err_msg=f"case {i}, retry")


def random_marks(rng) -> np.ndarray:
    """A graph that is nearly a CPDAG, or one, or a DAG, or has arbitrary marks."""
    p = int(rng.integers(2, 9))
    dag = random_dag(rng, p, rng.uniform(0.2, 0.9))
    graph = cpdag(dag) if rng.random() < 0.7 else dag
    for a, b in np.argwhere(dag).tolist():
        if rng.random() < rng.choice([0.0, 0.1, 0.6]):
            graph[[a, b], [b, a]] = [(1, 0), (0, 1), (1, 1)][rng.integers(3)]
    return graph


def test_cpdags_and_extensions(pcalg):
    rng = np.random.default_rng(SEED + 4)
    graphs = [random_marks(rng) for _ in range(5 * N_CASES)]
    text = [f"list(p = {len(m)}, m = {_r(m.T.ravel().tolist())})" for m in graphs]
    seen = set()
    for m, answer in zip(graphs, pcalg("extended", text), strict=True):
        want, got = dict(answer), named(m)
        seen.add((got.is_cpdag, want["extendable"] == [1]))
        assert got.is_cpdag == (want["valid"] == [1]), m
        if want["extendable"] == [1]:
            assert named(_array(want["dag"])).to_cpdag().sparse_graph == got.to_cpdag().sparse_graph, m
            np.testing.assert_array_equal(got.to_cpdag().graph, _array(want["cpdag"]), err_msg=str(m))
        else:
            with pytest.raises(ValueError, match="no DAG extends this graph"):
                got.to_dag()
    assert seen == {(True, True), (False, True), (False, False)}
