"""Random problems for `fci` and `rfci`, pcalg's answers to them, and the recorded ones in golden/latent.

``R_LIBS=... python tests/support/fci_cases.py fci rfci`` records them anew.
"""

import json
import lzma
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "latent"
#: Arguments that rfci() has.
OF_RFCI = {"conservative", "maj_rule", "m_max", "rules", "fixedGaps", "fixedEdges"}
#: pcalg's names of arguments whose names differ in Python.
R_NAMES = {"m_max": "m.max", "pdsep_max": "pdsep.max", "maj_rule": "maj.rule"}


def random_problem(rng, *, discrete=False, p_max=11) -> dict:
    """The data and arguments of fci(), in JSON's types: a linear model some of whose variables are hidden."""
    p = int(rng.integers(4, p_max))
    q = p + int(rng.integers(1, 5))
    n = int(rng.integers(60, 2000))
    B = np.triu(rng.random((q, q)) < rng.uniform(0.15, 0.5), 1) * rng.uniform(0.4, 1.4, (q, q))
    B *= rng.choice([-1, 1], size=(q, q))
    X = (rng.standard_normal((n, q)) @ np.linalg.inv(np.eye(q) - B))[:, rng.permutation(q)[:p]]
    case: dict = {"alpha": float(rng.choice([0.01, 0.05, 0.2])), "labels": [f"v{k}" for k in range(p)]}
    if discrete:
        codes = sum((np.quantile(X, share, axis=0) < X).astype(int) for share in (0.6, 0.85))
        case["dm"], case["nlev"] = codes[:400].tolist(), [3] * p
    else:
        C = np.round(np.corrcoef(X.T), 6)
        case["C"], case["n"] = C.tolist(), n
    if rng.random() < 0.5:
        case["labels"] = [str(k + 1) for k in range(p)]
    case["arguments"] = _arguments(rng, p)
    return case


def _arguments(rng, p: int) -> dict:
    found: dict = {}

    def sometimes(share, name, value) -> None:
        if rng.random() < share:
            found[name] = value

    sometimes(0.2, "biCC", True)
    sometimes(0.15, "doPdsep", False)
    sometimes(0.2, "conservative", True)
    if "conservative" not in found:
        sometimes(0.3, "maj_rule", True)
    sometimes(0.2, "selectionBias", False)
    sometimes(0.1, "m_max", int(rng.integers(1, 4)))
    sometimes(0.1, "type", "anytime" if "m_max" in found else "adaptive")
    if found.get("type") == "anytime" or ("m_max" in found and found.get("type") == "adaptive"):
        found["type"] = "anytime"
    sometimes(0.1, "pdsep_max", int(rng.integers(1, 6)))
    sometimes(0.2, "rules", (rng.random(10) < 0.7).tolist())
    if rng.random() < 0.2:
        found |= {"jci": str(rng.choice(["1", "12", "123"])), "selectionBias": False}
        found["contextVars"] = sorted(rng.choice(p, size=int(rng.integers(1, 3)), replace=False).tolist())
    else:
        sometimes(0.1, "fixedGaps", _pairs(rng, p))
    sometimes(0.15, "fixedEdges", _pairs(rng, p))
    return found


def _pairs(rng, p: int) -> list:
    M = np.triu(rng.random((p, p)) < 0.1, 1)
    return (M | M.T).tolist()


def rfci_problem(rng, **options) -> dict:
    """As `random_problem`, for rfci(); a larger alpha gives its own tests more to remove."""
    case = random_problem(rng, **options)
    case["alpha"] = float(rng.choice([0.01, 0.05, 0.2, 0.4]))
    case["arguments"] = {name: value for name, value in case["arguments"].items() if name in OF_RFCI}
    return case


def fitted(case, function="fci", **more):
    """The answer of the package."""
    import pycupc

    given = dict(case["arguments"])
    for name in ("fixedGaps", "fixedEdges"):
        if name in given:
            given[name] = np.array(given[name])
    if "dm" in case:
        from pycupc.discrete import DiscreteSuffStat, disCItest

        data = DiscreteSuffStat(np.array(case["dm"]), np.array(case["nlev"]), adaptDF=False)
        given |= {"suffStat": data, "indepTest": disCItest}
    else:
        given["suffStat"] = {"C": np.array(case["C"]), "n": case["n"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(pycupc, function)(
            **given, alpha=case["alpha"], labels=case["labels"], **{"quirks": True, **more}
        )


def answers(rscript: str, cases, function: str = "fci") -> list[dict]:
    """pcalg's answers: a list of what was printed by name, as numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.R"
        file.write_text("cases <- list(" + ",\n".join(map(_in_r, cases)) + ")\n")
        command = [rscript, str(HERE / "record_latent_golden.R"), str(file), function]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict] = []
    for line in done.stdout.splitlines():
        what, *rest = line.split()
        if what == "case":
            found.append({})
        elif what == "error":
            found[-1]["error"] = " ".join(rest)
        elif what != "pcalg":
            numbers = [float("-inf" if v == "-Inf" else v) for v in rest]
            found[-1].setdefault(what, []).append(numbers if what == "pMax" else [int(v) for v in numbers])
    assert len(found) == len(cases)
    return found


def _in_r(case) -> str:
    p = len(case["labels"])
    parts = [f"alpha = {case['alpha']}", f"labels = {_vector(case['labels'])}"]
    if "dm" in case:
        data = f"dm = {_matrix(case['dm'], p)}, nlev = {_vector(case['nlev'])}, adaptDF = FALSE"
    else:
        data = f"C = {_matrix(case['C'], p)}, n = {case['n']}"
    parts.append(f"suffStat = list({data})")
    for name, value in case["arguments"].items():
        if name == "contextVars":
            value = [v + 1 for v in value]
        text = _matrix(value, p) if name in ("fixedGaps", "fixedEdges") else _vector(value)
        parts.append(f"{R_NAMES.get(name, name)} = {text}")
    return f"list({', '.join(parts)})"


def _matrix(rows, p: int) -> str:
    return f"matrix({_vector(np.array(rows).ravel().tolist())}, ncol = {p}, byrow = TRUE)"


def _vector(values) -> str:
    values = values if isinstance(values, list) else [values]
    return f"c({', '.join(json.dumps(v).upper() if isinstance(v, bool) else json.dumps(v) for v in values)})"


def recorded(function: str = "fci") -> list[tuple[dict, dict]]:
    """The recorded problems with their answers."""
    with lzma.open(GOLDEN / f"{function}.json.xz", "rt") as file:
        return [(entry["case"], entry["answer"]) for entry in json.load(file)]


def record(function: str, n: int = 60) -> None:
    """Write the file, without the problems that pcalg refuses; a case that is "kept" stays, as one that once failed."""
    rng = np.random.default_rng(2026)
    make = rfci_problem if function == "rfci" else random_problem
    cases = [make(rng, discrete=k % 6 == 5, p_max=9 if k % 6 == 5 else 11) for k in range(n)]
    cases += [case for case, _ in recorded(function) if case.get("kept")]
    found = zip(cases, answers(shutil.which("Rscript") or "Rscript", cases, function), strict=True)
    GOLDEN.mkdir(exist_ok=True)
    with lzma.open(GOLDEN / f"{function}.json.xz", "wt") as file:
        json.dump([{"case": case, "answer": answer} for case, answer in found if "error" not in answer], file)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        record(name)
