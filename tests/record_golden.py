"""Record pcalg's answers again, from a pcalg that runs here: the goldens of `tests/golden`.

    python tests/record_golden.py --check                    every case: is what is stored what this pcalg answers?
    python tests/record_golden.py --write                    store what this pcalg answers
    python tests/record_golden.py --add NAME FILE.npz        a new case: FILE.npz holds C, n, alpha and what else below

The inputs of a case are in its own file (C, n, alpha, m_max, NAdelete, fixedGaps, fixedEdges, note). pcalg runs in
Rscript; numbers travel as raw bytes, so no digit is lost. Needs R with pcalg, nothing else of R.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
VARIANTS = (
    "relaxed",
    "solve_confl",
    "conservative",
    "conservative_solve_confl",
    "majority",
    "majority_solve_confl",
    "retry",
)
INPUTS = ("C", "n", "alpha", "m_max", "NAdelete", "fixedGaps", "fixedEdges", "note")
#: Orientations that pcalg drew with R's generator, because no other direction of the contested edges gave a
#: DAG: recorded from one draw, so another recording may differ.
MAY_BE_DRAWN = ("cpdag_retry",)
#: p-values pass through R's pseudoinverse and so through the machine's linear algebra library.
TOLERANCE = {"pMax": 1e-6}


def lay_out(case: dict[str, np.ndarray], folder: Path) -> None:
    """Write the inputs of a case where record_golden.R reads them."""
    folder.mkdir()
    C = np.asarray(case["C"], dtype=np.float64)
    scalars = [len(C), case["n"], case["alpha"], case.get("m_max", np.inf), case.get("NAdelete", True)]
    np.array(scalars, dtype=np.float64).tofile(folder / "scalars")
    for name in ("C", "fixedGaps", "fixedEdges"):
        if name in case:
            np.asarray(case[name], dtype=np.float64).T.tofile(folder / name)
    variants = [v for v in VARIANTS if f"cpdag_{v}" in case] or list(VARIANTS)
    (folder / "variants").write_text("".join(f"{v}\n" for v in variants), encoding="ascii")


def read_back(case: dict[str, np.ndarray], folder: Path, pcalg: str) -> dict[str, np.ndarray]:
    """The whole recorded case: its inputs and pcalg's answers."""
    p = len(case["C"])

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


def run_pcalg(cases: dict[str, dict[str, np.ndarray]], rscript: str) -> dict[str, dict[str, np.ndarray]]:
    """pcalg's answers to all cases, and its version on the error stream."""
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


def differences(stored: dict[str, np.ndarray], now: dict[str, np.ndarray]) -> list[str]:
    """Names of the arrays in which two recordings differ; the version does not count."""
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
    """Return 0 if all is as stored (or was written), 1 if not, 2 where there is nothing to run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="compare, write nothing")
    what.add_argument("--write", action="store_true", help="store the answers of this pcalg")
    what.add_argument("--add", nargs=2, metavar=("NAME", "FILE"), help="record a new case")
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
