"""Problems with tiers, context variables and forbidden edges, and live tpc on them, in one process of R."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np

R_SCRIPT = r"""
suppressPackageStartupMessages(library(tpc))
noise <- function(x, y, S, seed)
  ((sum(2^(S - 1)) * 7919 + (x - 1) * 104729 + (y - 1) * 1299709 + seed * 15485863) %% 997) / 997
show <- function(what, v) cat(what, sprintf("%.17g", as.double(v)), "\n")
run <- function(case) {
  test <- if (is.null(case$C)) noise else gaussCItest
  stat <- if (is.null(case$C)) case$seed else list(C = case$C, n = case$n)
  f <- tryCatch({
    sink(nullfile()); on.exit(sink())
    tpc(stat, test, case$alpha, p = case$p, forbEdges = case$forbidden, m.max = case$m_max, tiers = case$tiers,
        conservative = !case$maj_rule, maj.rule = case$maj_rule,
        context.all = case$context_all, context.tier = case$context_tier)
  }, error = function(e) e)
  sink(); on.exit()
  cat("case\n")
  if (inherits(f, "error")) { cat("error", gsub("\n", " ", conditionMessage(f)), "\n"); return() }
  show("graph", t(as(f@graph, "matrix")))
  show("counts", f@n.edgetests)
  show("max_ord", f@max.ord)
  show("pMax", t(f@pMax))
  s <- f@sepset
  for (x in seq_along(s)) for (y in seq_along(s)) if (!is.null(s[[x]][[y]])) show("cell", c(x, y, s[[x]][[y]]) - 1)
}
for (case in cases) run(case)
"""


#: Recorded answers of tpc: problems and what it answered, one after the other.
RECORDED = Path(__file__).parents[1] / "golden" / "tiers" / "tpc.json"


def random_problem(rng: np.random.Generator, p_max: int = 9, gaussian: bool = False) -> dict:
    """Arguments of tpc, which need not fit together: most tests are noise."""
    p = int(rng.integers(2, p_max))
    kind = rng.integers(4)
    problem = {"p": p, "seed": int(rng.integers(1000)), "maj_rule": bool(rng.random() < 0.6), "m_max": np.inf}
    problem["alpha"] = float(rng.choice([0.2, 0.5, 0.8, 0.9, 0.95]))
    if kind:
        problem["tiers"] = rng.integers(1, rng.integers(2, 5), p).tolist()
    if kind > 1:
        tiers = problem["tiers"]
        first = [v for v in range(p) if tiers[v] == min(tiers) and rng.random() < 0.3]
        problem["context_all"] = first
        problem["context_tier"] = [v for v in range(p) if v not in first and rng.random() < 0.15]
    if rng.random() < 0.4:
        forbidden = rng.random((p, p)) < rng.uniform(0, 0.3)
        np.fill_diagonal(forbidden, False)
        problem["forbidden"] = forbidden
    if rng.random() < 0.2:
        problem["m_max"] = int(rng.integers(3))
    if gaussian:
        n = int(rng.integers(10, 200))
        B = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.9), 1) * rng.uniform(0.3, 1.5, (p, p))
        X = rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - B)
        C = np.corrcoef(X[:, rng.permutation(p)].T)
        problem |= {"C": (C + C.T) / 2, "n": n, "alpha": float(rng.choice([0.01, 0.05, 0.2, 0.4]))}
        np.fill_diagonal(problem["C"], 1)
    return problem


def _r(name: str, value) -> str:
    if name in ("forbidden", "C"):
        numbers = [
            "TRUE" if v is np.True_ else "FALSE" if v is np.False_ else repr(float(v)) for v in np.ravel(value.T)
        ]
        return f"matrix(c({', '.join(numbers)}), {len(value)})"
    if name in ("context_all", "context_tier"):
        return f"c({', '.join(str(v + 1) for v in value)})" if value else "NULL"
    if isinstance(value, list):
        return f"c({', '.join(map(str, value))})"
    return {True: "TRUE", False: "FALSE"}[value] if isinstance(value, bool) else repr(value).replace("inf", "Inf")


def live_tpc(rscript: str, folder: Path, problems: list[dict]) -> list[SimpleNamespace]:
    """What tpc answers: per problem graph, counts, max_ord, pMax and cells, or an error."""
    text = [f"list({', '.join(f'{k} = {_r(k, v)}' for k, v in problem.items())})" for problem in problems]
    script = folder / "tiers.R"
    script.write_text(f"cases <- list({', '.join(text)})\n{R_SCRIPT}")
    done = subprocess.run([rscript, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[SimpleNamespace] = []
    for line in done.stdout.splitlines():
        what, *values = line.split()
        if what == "case":
            p = problems[len(answers)]["p"]
            answers.append(SimpleNamespace(cells={}, error=None))
        elif what == "error":
            answers[-1].error = " ".join(values)
        elif what == "cell":
            x, y, *S = map(int, values)
            answers[-1].cells[x, y] = tuple(S)
        else:
            numbers = np.array([float(v) for v in values])
            setattr(answers[-1], what, numbers.reshape(p, p) if what in ("graph", "pMax") else numbers)
    assert len(answers) == len(problems)
    return answers


def recorded() -> list[tuple[dict, SimpleNamespace]]:
    """Problems and the recorded answers of tpc."""
    out = []
    for problem, answer in json.loads(RECORDED.read_text(encoding="utf-8"))["cases"]:
        kinds = {"C": float, "forbidden": bool}
        problem |= {name: np.array(problem[name], dtype=kind) for name, kind in kinds.items() if name in problem}
        problem["m_max"] = float(problem["m_max"])
        answer["cells"] = {tuple(cell[:2]): tuple(cell[2:]) for cell in answer["cells"]}
        out.append((problem, SimpleNamespace(**answer)))
    return out


def record(rscript: str, folder: Path) -> None:
    """Record the answers of an installed tpc: `python tests/support/tiers_cases.py`."""
    rng, cases = np.random.default_rng(2026), []
    problems = [random_problem(rng, gaussian=k % 3 == 0) for k in range(400)]
    for problem, answer in zip(problems, live_tpc(rscript, folder, problems), strict=True):
        if answer.error is None and (answer.graph != answer.graph.T).sum() >= 6 and len(answer.counts) >= 3:
            arrays = {k: v for k, v in problem.items() if hasattr(v, "dtype")}
            kept = problem | {k: v.astype(int if k == "forbidden" else float).tolist() for k, v in arrays.items()}
            kept["m_max"] = str(problem["m_max"])
            found = {"graph": answer.graph.astype(int).tolist(), "counts": answer.counts.astype(int).tolist()}
            found["max_ord"] = int(answer.max_ord[0])
            found["pMax"] = np.where(np.isinf(answer.pMax), -1.0, answer.pMax).tolist()
            found["cells"] = [[*cell, *S] for cell, S in answer.cells.items()]
            cases.append((kept, found))
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps({"tpc": "1.0", "cases": cases[:24]}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    record("Rscript", Path(tempfile.mkdtemp()))
