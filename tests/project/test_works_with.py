"""Every cell of the page "What works with what" is tried: where it says yes the call works, else it is refused."""

import importlib.util
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kinds_of_data import DATA, LABELS, N_ROWS, given, graph

import pycupc
from pycupc import cli
from pycupc.engines.gpu.families import BY_ROUNDS, SET_BY_SET
from pycupc.engines.protocol import EngineError
from pycupc.independence.families import EVERY

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("works_with", ROOT / "docs" / "works_with.py")
page = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(page)

#: Faults that the documentation calls refusals; any other exception fails the test.
REFUSALS = (TypeError, ValueError, EngineError)


def resampled(function, kind, **options):
    data, own_options = given(kind)
    test = {"indepTest": data[1]} if len(data) > 1 else {}
    return function(data[0], alpha=0.05, n_resamples=2, random_state=1, **own_options, **test, **options)


def keeps(kind, folder):
    first = graph(kind, checkpoint=folder / "kept")
    assert graph(kind, checkpoint=folder / "kept") == first


def explains_and_saves(kind, folder):
    fit = graph(kind)
    assert str(fit.why(0, 1))
    fit.save(folder / "fit.npz")
    assert pycupc.PcAlgo.load(folder / "fit.npz") == fit


def effects_of(kind, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the graph need not be a CPDAG
        found = pycupc.effects(graph(kind), given(kind)[0][0]).smallest()
    assert np.isfinite(found).any()


def divided(kind, folder):
    with ThreadPoolExecutor(1) as executor:
        graph(kind, executor=executor)
        graph(kind, pycupc.fci, executor=executor)


TIERS = [1, 1, 2, 2, 3]
#: For each column of the page in Python the calls that it promises.
CALLS = {
    "`pc`, `skeleton`": [lambda kind, folder: graph(kind), lambda kind, folder: graph(kind, pycupc.skeleton)],
    "`fci`, `rfci`": [lambda kind, folder: graph(kind, pycupc.fci), lambda kind, folder: graph(kind, pycupc.rfci)],
    "`conservative`, `maj_rule`": [
        lambda kind, folder: graph(kind, conservative=True),
        lambda kind, folder: graph(kind, pycupc.fci, maj_rule=True),
    ],
    "`tiers`": [
        lambda kind, folder: graph(kind, tiers=TIERS),
        lambda kind, folder: graph(kind, pycupc.fci, tiers=TIERS, selectionBias=False),
    ],
    "`why`, `save`": [explains_and_saves],
    "`checkpoint`": [keeps],
    "`stability`": [lambda kind, folder: resampled(pycupc.stability, kind)],
    "`cstar`": [lambda kind, folder: resampled(pycupc.cstar, kind, q=3)],
    "`effects`": [effects_of],
    "`executor`": [divided],
}
OF_KINDS = pytest.mark.parametrize(("family", "kind"), [pytest.param(*one, id=one[1].title) for one in page.KINDS])


def tried(column, works, calls, *where):
    """Assert that the calls of a column work, or are refused, as the page says."""
    for call in calls:
        said = ""
        try:
            call(*where)
        except REFUSALS as error:
            said = f"{type(error).__name__}: {error}"
        assert works == (not said), f"{column}: {said or 'it works'}, and the page says another thing"


def test_the_page_has_all_columns_and_kinds():
    assert {*page.PYTHON} == {*CALLS, "GPU"}
    assert all(family.kinds for family in EVERY)
    text = page.page()
    assert page.PAGE.read_text(encoding="utf-8") == text, "the page is old: python docs/works_with.py"
    assert text.count("\n| ") >= len(page.KINDS) * 2
    for _, kind in page.KINDS:
        assert f"| {kind.title} | `{kind.python}` |" in text


@OF_KINDS
def test_the_table_of_python(family, kind, tmp_path):
    for column, calls in CALLS.items():
        tried(column, page.PYTHON[column](family, kind), calls, kind, tmp_path)


@OF_KINDS
def test_the_column_of_the_gpu(family, kind):
    """The engine on the GPU has kernels for a test exactly where the page says so, without a GPU too."""
    works = page.PYTHON["GPU"](family, kind)
    for test in family.tests:
        has_kernels = test.has_r or issubclass(test, (*SET_BY_SET, *BY_ROUNDS))
        assert ("gpu" in test.engines) == has_kernels
        assert (works is True) == has_kernels


@pytest.mark.gpu
@OF_KINDS
def test_the_gpu_itself(family, kind):
    works = page.PYTHON["GPU"](family, kind)
    if isinstance(works, str):
        pycupc.pc(DATA["x"], pycupc.RCoT(device=0), alpha=0.05)
    else:
        tried("GPU", works, [lambda kind: graph(kind, engine="gpu")], kind)


#: For each column of the command line the commands that it promises.
COMMANDS = {
    "`run`": ["run --plot none"],
    "`run --method fci`, `rfci`": ["run --plot none --method fci", "run --plot none --method rfci"],
    "`estimate`": ["estimate"],
    "`stability`": ["stability --resamples 2 --plot none --seed 1"],
    "`cstar`": ["cstar --resamples 2 --plot none --seed 1 --q 3"],
}


def file_of(kind):
    """The name of the example data in a file that a command reads for this kind."""
    if "--correlation n" in kind.shell:
        return "C"
    if "latent" in kind.shell:
        return "x_k"
    gaps = "_gaps" if "--missing" in kind.shell else ""
    return ("k" if "discrete" in kind.shell else "m" if "mixed" in kind.shell else "x") + gaps


@pytest.mark.parametrize("command", [command for commands in COMMANDS.values() for command in commands])
def test_the_table_of_the_command_line(command, here, capsys):
    for name in ("x", "k", "m", "x_k", "x_gaps", "k_gaps", "m_gaps"):
        DATA[name].to_csv(f"{name}.csv", index=False)
    pd.DataFrame(DATA["C"], columns=LABELS).to_csv("C.csv", index=False)
    column = next(column for column, commands in COMMANDS.items() if command in commands)
    for number, (family, kind) in enumerate(page.KINDS):
        if kind.shell is None:
            continue
        options = kind.shell.replace("--correlation n", f"--correlation {N_ROWS}").split()
        folder = [] if command == "estimate" else ["--out", f"out{number}"]
        name, *rest = command.split()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, and of few rows
            code = cli.main([name, f"{file_of(kind)}.csv", *options, "--alpha", "0.05", *rest, *folder])
        said = capsys.readouterr().err
        assert (code == cli.OK) == page.SHELL[column](family, kind), f"{column}, {kind.title}: {said}"
        assert code in (cli.OK, cli.USAGE, cli.DATA), said


#: For each column of R the calls that it promises; DATA stands for the arguments.
IN_R = {
    "`cu_pc`, `cu_skeleton`": ["cu_pc(DATA, alpha = 0.05)", "cu_skeleton(DATA, alpha = 0.05)"],
    "`cu_fci`, `cu_rfci`": ["cu_fci(DATA, alpha = 0.05)", "cu_rfci(DATA, alpha = 0.05)"],
    "`cu_tpc`": ["cu_tpc(DATA, alpha = 0.05, tiers = c(1, 1, 2, 2, 3))"],
    "`cu_stability`": ["cu_stability(DATA, alpha = 0.05, n_resamples = 2, seed = 1)"],
    "`cu_cstar`": ["cu_cstar(DATA, alpha = 0.05, n_resamples = 2, seed = 1, q = 3)"],
}
_R = """
source("{source}")
x <- read.csv("x.csv"); k <- read.csv("k.csv"); m <- read.csv("m.csv", stringsAsFactors = TRUE)
x_gaps <- read.csv("x_gaps.csv"); k_gaps <- read.csv("k_gaps.csv")
m_gaps <- read.csv("m_gaps.csv", stringsAsFactors = TRUE, na.strings = "")
m_imputed <- lapply(1:3, function(i) read.csv(sprintf("m%d.csv", i), stringsAsFactors = TRUE))
x_imputed <- lapply(1:3, function(i) read.csv(sprintf("x%d.csv", i)))
k_imputed <- lapply(1:3, function(i) {{
  as.data.frame(lapply(read.csv(sprintf("k%d.csv", i)), factor, levels = 0:2))
}})
C <- unname(cor(x)); n <- nrow(x); N <- matrix(n, 5, 5); N[1, ] <- N[, 1] <- 100
own <- function(x, y, S, suffStat) pcalg::gaussCItest(x, y, S, suffStat)
tried <- function(number, call) {{
  text <- tryCatch({{ force(call); "works" }}, error = function(e) gsub("\\n", " ", conditionMessage(e)))
  cat(number, "\\t", text, "\\n", sep = "")
}}
"""


@pytest.mark.r
def test_the_table_of_r(here, rscript):
    for name in ("x", "k", "m", "x_gaps", "k_gaps", "m_gaps"):
        DATA[name].to_csv(f"{name}.csv", index=False)
    for name in "xkm":
        for i, table in enumerate(DATA[f"{name}_imputed"], 1):
            table.to_csv(f"{name}{i}.csv", index=False)
    wanted, lines = [], [_R.format(source=ROOT / "r_wrapper" / "R" / "cu_pc.R")]
    for family, kind in page.KINDS:
        for column, calls in IN_R.items() if kind.r else ():
            for call in calls:
                data = kind.r
                if not any(name in call for name in ("cu_stability", "cu_cstar")):
                    data += ", p = 5" if "list(" in data or "cu_suffStat" in data or "imputed" in data else ""
                    data += "" if "indepTest" in data else ', indepTest = "gaussCItest"'
                lines.append(f"tried({len(wanted)}, {call.replace('DATA', data)})")
                wanted.append((column, kind, page.R[column](family, kind)))
    Path("tried.R").write_text("\n".join(lines))
    done = subprocess.run([rscript, "--vanilla", "tried.R"], capture_output=True, text=True, check=False)
    found = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    assert len(found) == len(wanted), done.stderr[-2000:]
    wrong = [
        (column, kind.title, found[str(i)])
        for i, (column, kind, works) in enumerate(wanted)
        if (found[str(i)] == "works") != works
    ]
    assert wrong == []
