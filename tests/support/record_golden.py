"""Record the answers of an installed pcalg: the cases of `tests/golden` (docs/contracts/contract.md, section 8).

    python tests/support/record_golden.py --check               compare the stored answers with this pcalg
    python tests/support/record_golden.py --write               store the answers of this pcalg
    python tests/support/record_golden.py --add NAME FILE.npz   store a new case; FILE.npz holds its inputs (INPUTS)

The inputs of a case are in its own file; cases of discrete data are in `tests/golden/discrete`, cases of numbers x, of
which pcalg gets C = cor(x), in `tests/golden/dependent` (use --golden). pcalg
runs in Rscript; numbers are exchanged as raw bytes, so that no digit is lost. Needs R with pcalg and no other R
package.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
VARIANTS = (
    "relaxed",
    "solve_confl",
    "conservative",
    "conservative_solve_confl",
    "majority",
    "majority_solve_confl",
    "retry",
)
INPUTS = (
    "C", "n", "x", "dm", "nlev", "adaptDF", "binary", "alpha", "m_max", "NAdelete", "fixedGaps", "fixedEdges", "note",
)  # fmt: skip
#: Orientations that pcalg may have drawn with R's generator (docs/contracts/contract.md, section 5): another recording
#: of such a case may differ.
MAY_BE_DRAWN = ("cpdag_retry",)
#: Relative; p-values depend on the linear algebra library that R is linked to.
TOLERANCE = {"pMax": 1e-6}


Arrays = dict[str, np.ndarray]


def read_cells(case: Arrays) -> dict[tuple[int, int], tuple[int, ...]]:
    """Recorded separating sets: {(x, y): members}."""
    length = case["sepset_len"].astype(np.int64)
    start = np.cumsum(length) - length
    members = case["sepset_members"].tolist()
    cells = zip(*(case[f"sepset_{end}"].tolist() for end in "xy"), start.tolist(), length.tolist(), strict=True)
    return {(x, y): tuple(members[s : s + n]) for x, y, s, n in cells}


def has_pcalg(rscript: str) -> bool:
    """Whether this R has the package pcalg."""
    command = [rscript, "-e", 'quit(status = !requireNamespace("pcalg", quietly = TRUE))']
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def lay_out(case: Arrays, folder: Path) -> None:
    """Write the inputs of a case where record_golden.R reads them.

    Orientations: those whose answer the case holds already, or all of them if it holds none.
    """
    folder.mkdir()
    n = case["n"] if "C" in case else len(case[_table(case)])
    scalars = [variables(case), n, case["alpha"], case.get("m_max", np.inf), case.get("NAdelete", True)]
    np.array(scalars, dtype=np.float64).tofile(folder / "scalars")
    for name in ("C", "x", "dm", "fixedGaps", "fixedEdges"):
        if name in case:
            np.asarray(case[name], dtype=np.float64).T.tofile(folder / name)
    if "dm" in case:
        np.array([case["adaptDF"], case["binary"], *case["nlev"]], dtype=np.float64).tofile(folder / "facts")
    variants = [v for v in VARIANTS if f"cpdag_{v}" in case] or list(VARIANTS)
    (folder / "variants").write_text("".join(f"{v}\n" for v in variants), encoding="ascii")


def variables(case: Arrays) -> int:
    """Number of variables."""
    return case[_table(case)].shape[1]


def _table(case: Arrays) -> str:
    """The field that has the data."""
    return next(name for name in ("C", "x", "dm") if name in case)


def read_back(case: Arrays, folder: Path, pcalg: str) -> Arrays:
    """The whole recorded case: its inputs and pcalg's answers."""
    p = variables(case)

    def ints(name: str) -> np.ndarray:
        return np.fromfile(folder / name, dtype=np.int32)

    out = {name: case[name] for name in INPUTS if name in case}
    out.setdefault("m_max", np.float64(np.inf))
    out.setdefault("NAdelete", np.bool_(True))
    out.setdefault("note", np.str_(""))
    out["pcalg_version"] = np.str_(pcalg)
    out["skeleton"] = ints("skeleton").reshape(p, p).T != 0
    out["n_edgetests"] = np.fromfile(folder / "n_edgetests", dtype=np.float64)
    out["max_ord"] = np.int64(ints("max_ord")[0])
    out["pMax"] = np.fromfile(folder / "pMax", dtype=np.float64).reshape(p, p).T.copy()
    for name in ("sepset_x", "sepset_y", "sepset_len", "sepset_members"):
        out[name] = ints(name).astype(np.int64)
    for path in sorted(folder.glob("cpdag_*")):
        out[path.name] = ints(path.name).reshape(p, p).T.astype(np.int8)
    return out


def run_pcalg(cases: dict[str, Arrays], rscript: str) -> dict[str, Arrays]:
    """The cases with pcalg's answers; prints the versions of pcalg and R to the error stream."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for name, case in cases.items():
            lay_out(case, root / name)
        done = subprocess.run(
            [rscript, str(HERE / "record_golden.R"), place], check=True, stdout=subprocess.PIPE, text=True
        )
        print(done.stdout, file=sys.stderr, end="")
        pcalg, r_version = (root / "versions").read_text(encoding="utf-8").splitlines()
        print(f"pcalg {pcalg}, {r_version}", file=sys.stderr)
        return {name: read_back(case, root / name, pcalg) for name, case in cases.items()}


def differences(stored: Arrays, now: Arrays) -> list[str]:
    """Names of the arrays in which two recordings of a case differ; the version of pcalg is ignored."""
    found = []
    for name in sorted(set(stored) | set(now)):
        if name == "pcalg_version":
            continue
        if name not in stored or name not in now:
            found.append(f"{name}: only in {'the stored' if name in stored else 'the new'} answer")
            continue
        a, b = stored[name], now[name]
        if name in TOLERANCE and a.shape == b.shape:
            same = np.allclose(a, b, rtol=TOLERANCE[name], atol=1e-300, equal_nan=True)
        else:
            same = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        if not same:
            found.append(name)
    return found


def main(args: list[str] | None = None) -> int:
    """Return 0 if every answer is as stored (or was written), 1 if one differs, 2 if nothing can be run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--check", action="store_true", help="compare and write nothing")
    task.add_argument("--write", action="store_true", help="store the answers of this pcalg")
    task.add_argument("--add", nargs=2, metavar=("NAME", "FILE"), help="record a new case")
    parser.add_argument("--golden", type=Path, default=GOLDEN, help="folder of the recorded cases")
    parser.add_argument("cases", nargs="*", help="names of cases; all of them if none is given")
    options = parser.parse_args(args)
    rscript = shutil.which("Rscript")
    if rscript is None:
        parser.exit(2, "record_golden: no Rscript on the path\n")
    files = (
        {options.add[0]: Path(options.add[1])}
        if options.add
        else {
            path.stem: path
            for path in sorted(options.golden.glob("*.npz"))
            if path.stem in (options.cases or [path.stem])
        }
    )
    if not files:
        parser.exit(2, f"record_golden: no such cases in {options.golden}\n")
    cases = {name: dict(np.load(path)) for name, path in files.items()}
    differing = 0
    for name, case in run_pcalg(cases, rscript).items():
        if options.check:
            found = differences(cases[name], case)
            drawn = [field for field in found if field in MAY_BE_DRAWN]
            differing += len(found) > len(drawn)
            note = f" ({', '.join(drawn)} may be a draw of R's generator)" if drawn else ""
            print(f"{name}: {', '.join(found) or 'equal'}{note}")
        else:
            np.savez_compressed(options.golden / f"{name}.npz", **case)
            print(f"{name}: written")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
