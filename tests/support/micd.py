"""The answers of a live micd to tests of tables of numbers and categories."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


@dataclass
class Problem:
    """`tables`: M tables (n, p), codes from 0 on, NaN where a value is missing. `levels`: 0 of a column of numbers.

    `tests`: micd's function, and x, y and S, from 0 on. `runs`: functions, and whether the graph is conservative.
    """

    tables: Sequence[np.ndarray]
    levels: Sequence[int]
    alpha: float = 0.05
    tests: Sequence[tuple[str, Sequence[int]]] = ()
    runs: Mapping[str, bool] = field(default_factory=dict)


@dataclass
class Answers:
    """`p`: of each test, -9 where micd stops. `runs`: the parts of each graph; none where a test stops."""

    p: np.ndarray
    runs: dict[str, dict[str, Any]]


def answers_of_micd(problems: Sequence[Problem], rscript: str = "Rscript") -> list[Answers]:
    """micd's answers to these problems."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for k, problem in enumerate(problems):
            _lay_out(problem, root / str(k))
        (root / "problems").write_text("\n".join(map(str, range(len(problems)))) + "\n")
        subprocess.run([rscript, str(HERE / "micd.R"), place], check=True)
        return [_read_back(problem, root / str(k)) for k, problem in enumerate(problems)]


def _lay_out(problem: Problem, folder: Path) -> None:
    folder.mkdir()
    n, p = problem.tables[0].shape
    np.array([n, p, len(problem.tables), problem.alpha, *problem.levels], dtype=np.float64).tofile(folder / "facts")
    np.concatenate([np.asfortranarray(T).ravel("F") for T in problem.tables]).astype(np.float64).tofile(
        folder / "tables"
    )
    if problem.tests:
        lines = [" ".join([name, *(str(v + 1) for v in V)]) for name, V in problem.tests]
        (folder / "tests").write_text("\n".join(lines) + "\n")
    if problem.runs:
        lines = [f"{name} {str(conservative).upper()}" for name, conservative in problem.runs.items()]
        (folder / "runs").write_text("\n".join(lines) + "\n")


def _read_back(problem: Problem, folder: Path) -> Answers:
    p, found = problem.tables[0].shape[1], {}
    for name in problem.runs:
        if (folder / f"{name}_sets").exists():
            found[name] = {part: np.fromfile(folder / f"{name}_{part}") for part in ("graph", "tests", "pMax")}
            for part in ("graph", "pMax"):
                found[name][part] = found[name][part].reshape(p, p).T
            found[name]["sets"] = np.array((folder / f"{name}_sets").read_text().split("\n")[:-1])
    return Answers(np.fromfile(folder / "p"), found)
