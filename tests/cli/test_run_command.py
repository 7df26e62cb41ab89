"""The command line from the outside: what it prints, writes and returns."""

import functools
import hashlib
import json
import logging
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from command_runs import FILES, contents, printed
from common import run
from stability_data import gaussian

import pycupc
from pycupc import cli
from pycupc.cli import inputs, writing
from pycupc.cli.output import COMMANDS
from pycupc.data import EXAMPLES, load_example
from pycupc.engines.cpu import CpuEngine, level_pieces
from pycupc.engines.cpu.gaussian import GaussianTests
from pycupc.system.version import __version__


def test_run_on_the_example_writes_what_pc_returns(here, capsys):
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--alpha", "0.05", "--solve-confl") == cli.OK
    out, err = printed(capsys)
    folder = here / "example-pycupc"
    assert err == ""  # no progress: this is no terminal
    assert "30 variables, 569 observations, alpha 0.05" in out
    assert "Results are in example-pycupc" in out
    assert set(contents(folder)) == FILES
    fit = pycupc.pc(pycupc.SuffStat.from_data(load_example("cell_nuclei")), alpha=0.05, solve_confl=True)

    amat = pd.read_csv(folder / "amat.csv", index_col=0)
    np.testing.assert_array_equal(amat.to_numpy(), fit.graph.T)  # pcalg's coding is column to row
    assert tuple(amat.index) == tuple(amat.columns) == fit.labels
    code = {"directed": (1, 0), "undirected": (1, 1), "bidirected": (2, 2)}
    graph = np.zeros_like(fit.graph)
    for *ends, kind in pd.read_csv(folder / "edges.csv")[["from", "to", "type"]].itertuples(index=False):
        i, j = map(fit.labels.index, ends)
        graph[[i, j], [j, i]] = code[kind]
    np.testing.assert_array_equal(graph, fit.graph)

    loaded = pycupc.PcAlgo.load(folder / "result.npz")
    np.testing.assert_array_equal(loaded.graph, fit.graph)
    assert loaded.sepset.cells() == fit.sepset.cells()


def test_sepsets_table_holds_what_the_tests_found(here):
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--quiet") == cli.OK
    fit = pycupc.pc(pycupc.SuffStat.from_data(load_example("cell_nuclei")), alpha=0.01)
    table = pd.read_csv(here / "example-pycupc" / "sepsets.csv")
    found = {(x, y): tuple(s.split(" | ")) for x, y, s in table[["x", "y", "set"]].itertuples(index=False)}
    names = fit.labels.__getitem__
    cells = {(names(x), names(y)): tuple(map(names, S)) for (x, y), S in fit.sepset.cells().items() if S}
    assert found == cells
    for row in table.iloc[[0, 100, -1]].itertuples():
        why = fit.why(row.x, row.y)
        assert (why.x, why.y, why.level) == (row.x, row.y, row.level)
        np.testing.assert_allclose([row.r, row.z, row.p, row.margin], [why.r, why.z, why.p, why.margin], rtol=1e-12)
    assert (table["p"] >= 0.01).all()
    assert (table["margin"] >= 0).all()


def test_p_values_that_bounds_have_spared_are_timed_apart(here, monkeypatch):
    """They can take as long as the tests did; the answer is that of a run without bounds."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 16)) @ np.tril(rng.uniform(-0.4, 0.8, (16, 16)))
    X += rng.standard_normal(X.shape)
    pd.DataFrame(X).add_prefix("V").to_csv("dense.csv", index=False)
    plain = pycupc.pc("dense.csv", alpha=0.2, engine="cpu", engine_options={"pruning": False})
    monkeypatch.setattr(
        import_module("pycupc.algorithm.pc"), "pc", functools.partial(pycupc.pc, engine_options={"pruning": "always"})
    )
    assert run("run", "dense.csv", "--plot", "none", "--quiet", "--alpha", "0.2", "--engine", "cpu") == cli.OK
    seconds = json.loads((here / "dense-pycupc" / "manifest.json").read_text())["seconds"]
    assert list(seconds) == ["read", "pc", "p_values", "write"]
    edges = pd.read_csv(here / "dense-pycupc" / "edges.csv")
    np.testing.assert_allclose(edges["pMax"], plain.edges()["pMax"], rtol=1e-9)


def test_manifest_records_how_to_reproduce_the_folder(here):
    assert (
        run("run", "--example=cell_nuclei", "--plot", "svg", "png", "--quiet", "--m-max", "1", "--threads", "1")
        == cli.OK
    )
    folder = here / "example-pycupc"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["versions"]["pycupc"] == pycupc.__version__
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["arguments"]["m_max"] == 1
    assert manifest["arguments"]["alpha"] == 0.01
    assert manifest["input"]["sha256"] == hashlib.sha256(EXAMPLES["cell_nuclei"].read_bytes()).hexdigest()
    assert (manifest["input"]["variables"], manifest["input"]["observations"]) == (30, 569)
    assert [level["level"] for level in manifest["levels"]] == [0, 1]
    assert manifest["levels"][0]["n_tests"] == 30 * 29 // 2 + manifest["levels"][0]["edges_left"]
    assert {*manifest["files"], "manifest.json"} == set(contents(folder)) == FILES | {"graph.png", "graph.svg"}
    assert "j --> i" in manifest["files"]["amat.csv"]


def test_a_directed_cycle_is_told_in_summary_and_manifest(here, capsys):
    load_example("cell_nuclei").iloc[:, :10].to_csv("ten.csv", index=False)
    for u2pd in ("relaxed", "retry"):
        assert run("run", "ten.csv", "--plot", "none", "--out", u2pd, "--u2pd", u2pd) == cli.OK
        told, page = "has them (directed cycle smoothness_mean --> ", Path(u2pd, "graph.html")
        assert (told in printed(capsys)[0]) == (u2pd == "relaxed")
        text, manifest = (Path(u2pd, name).read_text() for name in ("summary.txt", "manifest.json"))
        assert (told in text) == ("; --u2pd retry gives a graph that a DAG extends\n" in text) == (u2pd == "relaxed")
        assert "--u2pd" not in page.read_text(encoding="utf-8")
        cycle = ["smoothness_mean", "compactness_mean", "symmetry_mean"] if u2pd == "relaxed" else None
        assert (json.loads(manifest)["is_cpdag"], json.loads(manifest)["cycle"]) == (cycle is None, cycle)


def test_the_cpdag_is_written_instead(here, capsys):
    """With --to-cpdag every file has the CPDAG; where there is none, nothing is written."""
    assert run("run", "--example=cell_nuclei", "--to-cpdag", "--plot", "none") == cli.OK
    out, folder = printed(capsys)[0], Path("example-pycupc")
    assert "\nCPDAG: of the DAGs that extend the graph of pc; 3 edges changed\n" in out
    want = pycupc.pc(load_example("cell_nuclei"), alpha=0.01).to_cpdag()
    assert pycupc.PcAlgo.load(folder / "result.npz") == want
    assert (folder / "edges.csv").read_text().count(",directed,") == want.edge_counts()[0] == 30
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["is_cpdag"], manifest["arguments"]["to_cpdag"]) == (True, True)
    assert manifest["notes"] == {"contradicting_edges": 19, "CPDAG": want.notes["CPDAG"]}
    load_example("cell_nuclei").iloc[:, :10].to_csv("ten.csv", index=False)
    assert run("run", "ten.csv", "--to-cpdag", "--plot", "none", "--out", "ten") == cli.DATA
    error = printed(capsys)[1]
    assert "--to-cpdag: no DAG extends the graph (directed cycle smoothness_mean --> " in error
    assert "--u2pd retry" in error
    assert sorted(path.name for path in here.iterdir()) == ["example-pycupc", "ten.csv"]


def test_run_on_a_correlation_matrix_gives_the_same_graph(here):
    load_example("cell_nuclei").corr().to_csv("C.csv", index=False)
    assert run("run", "C.csv", "--correlation", 569, "--plot", "none", "--quiet") == cli.OK
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--quiet") == cli.OK
    one, two = (Path(name, "edges.csv").read_text() for name in ("C-pycupc", "example-pycupc"))
    assert [line.split(",")[:3] for line in one.splitlines()] == [line.split(",")[:3] for line in two.splitlines()]


def test_engine_that_can_computes_the_correlations_of_ranks(here, monkeypatch):
    """It computes others when it runs, as in `pc`."""
    shapes = []
    monkeypatch.setattr(CpuEngine, "correlates_on_device", True)
    monkeypatch.setattr(CpuEngine, "correlation", lambda _, X: shapes.append(X.shape) or np.corrcoef(X, rowvar=False))
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--quiet", "--correlation", "spearman") == cli.OK
    assert shapes == [(569, 30)]


def test_gaps_and_fixed_edges_by_name(here):
    Path("gaps.csv").write_text("radius_mean,perimeter_mean\n")
    Path("edges.csv").write_text("from,to\nradius_mean,texture_se\n")
    files = ("--fixed-gaps", "gaps.csv", "--fixed-edges", "edges.csv")
    assert run("run", "--example=cell_nuclei", *files, "--plot", "none", "--quiet") == cli.OK
    pairs = {frozenset(p) for p in pd.read_csv("example-pycupc/edges.csv")[["from", "to"]].itertuples(index=False)}
    assert frozenset(["radius_mean", "texture_se"]) in pairs
    assert frozenset(["radius_mean", "perimeter_mean"]) not in pairs


def test_existing_folder_is_refused_before_the_work(here, capsys, monkeypatch):
    Path("d.csv").write_text("a,b\n1,2\n2,1\n3,3\n4,4\n")
    assert run("run", "d.csv", "--plot", "none") == cli.OK
    before = Path("d-pycupc/manifest.json").stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "read", lambda *args: pytest.fail("the data were read"))
        assert run("run", "d.csv") == cli.USAGE
    assert "d-pycupc exists" in printed(capsys)[1]
    assert Path("d-pycupc/manifest.json").stat().st_mtime_ns == before
    assert run("run", "d.csv", "--force", "--plot", "none") == cli.OK


def test_constant_column_is_a_warning_on_screen_and_in_the_manifest(here, capsys):
    Path("d.csv").write_text("a,b,c\n1,2,5\n2,1,5\n3,3,5\n4,4,5\n")
    assert run("run", "d.csv", "--plot", "none") == cli.OK
    assert "warning: constant columns have no correlations, hence no edges: c" in printed(capsys)[1]
    assert ": c" in json.loads(Path("d-pycupc/manifest.json").read_text())["warnings"][0]


def test_large_tables_are_left_out_and_named(here, capsys, monkeypatch):
    monkeypatch.setattr(writing, "MAX_MATRIX", 29)
    monkeypatch.setattr("pycupc.cli.run_command.MAX_SEPSETS", 10)
    assert run("run", "--example=cell_nuclei", "--plot", "none") == cli.OK
    assert set(contents(here / "example-pycupc")) == FILES - {"amat.csv", "sepsets.csv"}
    out, err = printed(capsys)
    assert err == ""
    left_out = {"sepsets.csv": "329 sets; --all-sepsets writes it", "amat.csv": "30 variables; --amat writes it"}
    assert json.loads((here / "example-pycupc" / "manifest.json").read_text())["left_out"] == left_out
    assert out.splitlines()[-2:] == [f"without {name} ({reason})" for name, reason in left_out.items()]
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--quiet", "--all-sepsets", "--amat") == cli.OK
    assert set(contents(here / "example-pycupc")) == FILES


WRONG_DATA = [
    (None, "d.csv: no such file"),
    ("a,b\n1,2\n3,x\n", "d.csv, line 3 (row 2 of the data), column 2 ('b'): 'x' is not a number"),
    ("a,b\n1,2\n", "at least 2 rows"),
]
NOT_SYMMETRIC = "a,b\n1,0.5\n0.4,1\n", "C must be symmetric, but C[0, 1] = 0.5 and C[1, 0] = 0.4 (a, b)"


@pytest.mark.parametrize(
    ("command", "content", "message"),
    [([name, "d.csv"], *case) for name in ("run", "estimate") for case in WRONG_DATA]
    + [(["run", "d.csv", "--correlation", 100], *NOT_SYMMETRIC)]
    + [(["run", "d.csv", "--missing", "error"], "a,b\n1,2\n3,\n4,5\n", "columns with any: 1 (b); the first in row 2")],
)
def test_wrong_data_are_named_and_nothing_is_written(here, capsys, command, content, message):
    if content is not None:
        Path("d.csv").write_text(content)
    assert run(*command) == cli.DATA
    assert message in printed(capsys)[1]
    assert contents(here) == ([] if content is None else ["d.csv"])


#: Command and options; the exit code; words of the message.
WRONG = [
    ("run", cli.USAGE, "give either DATA or --example"),
    ("run d.csv --example", cli.USAGE, "give either DATA or --example"),
    ("run --example --alpha 1.5", cli.USAGE, "--alpha: expected a number from 0 to 1, got '1.5'"),
    ("run --example --m-max -1", cli.USAGE, "--m-max: expected"),
    ("run --example --threads 0", cli.USAGE, "--threads: expected a whole number from 1, got '0'"),
    ("run --example --delimiter ab", cli.USAGE, "--delimiter: expected one character"),
    ("run --example --conservative --maj-rule", cli.USAGE, "choose one of --conservative and --maj-rule"),
    ("run --example --solve-confl --u2pd retry", cli.USAGE, "--solve-confl goes with --u2pd relaxed only"),
    ("run --example --correlation 10", cli.USAGE, "--correlation does not go with --example"),
    ("run --example --engine fpga", cli.USAGE, "--engine: expected auto, cpu, gpu, cupc-e, cupc-s, reference or schur"),
    ("run --example --method fci --u2pd retry", cli.USAGE, "goes with --method pc only"),
    ("run --example --method rfci --solve-confl", cli.USAGE, "goes with --method pc only"),
    ("run --example --method fci --to-cpdag", cli.USAGE, "--to-cpdag goes with --method pc only; --method fci gives"),
    ("run --example --tiers known.txt --to-cpdag", cli.USAGE, "--to-cpdag does not go with --tiers"),
    ("run --example --solve-confl --to-cpdag", cli.USAGE, "--to-cpdag does not go with --solve-confl"),
    ("run --example --pdsep-max 3", cli.USAGE, "--pdsep-max goes with --method fci only"),
    ("estimate --example --method rfci --pdsep-max 3", cli.USAGE, "--pdsep-max goes with --method fci only"),
    ("run d.csv --df observed --adapt-df", cli.USAGE, "--df observed does not go with --adapt-df or --quirks"),
    ("run d.csv --df observed", cli.DATA, "go with --test discrete"),
    ("run d.csv --adapt-df", cli.DATA, "go with --test discrete"),
    ("run d.csv --quirks", cli.DATA, "go with --test discrete"),
    ("run d.csv --seed -1", cli.USAGE, "argument --seed: expected a whole number of at least 0, got '-1'"),
    ("run d.csv --test mixed --nearest", cli.DATA, "--nearest goes with a test of correlations"),
    ("run d.csv --only v0 --drop v0", cli.DATA, "no column is left; the columns are v0, v1"),
    ("stability", cli.USAGE, "give either DATA or --example"),
    ("stability d.csv --correlation 50", cli.USAGE, "--correlation gives no rows to draw; stability needs"),
    ("stability d.csv --resamples 0", cli.USAGE, "expected a whole number from 1, got '0'"),
    ("stability d.csv --resamples 3 --scheme complementary", cli.DATA, "n_resamples must be even"),
    ("stability d.csv --alpha 0.1 2", cli.USAGE, "expected a number from 0 to 1, got '2'"),
    ("stability d.csv --alpha 0.1 0.1", cli.DATA, "alpha must not name a level twice"),
    ("stability d.csv --threshold 7", cli.USAGE, "expected a number from 0 to 1, got '7'"),
    ("stability d.csv --fraction 0.2", cli.DATA, "fraction=0.2 needs scheme='subsample'"),
    ("stability none.csv", cli.DATA, "none.csv: no such file"),
    ("stability d.csv --out .", cli.USAGE, "exists; choose another --out"),
    ("cstar d.csv --effect v9", cli.DATA, "v9"),
    ("cstar d.csv --test discrete", cli.DATA, "data must be numbers, for a test of linear dependence"),
    ("cstar d.csv --units --correlation spearman", cli.DATA, "standardize=False needs Pearson's correlations"),
    ("jump", cli.USAGE, "there is no command jump; there are run, plot, stability, cstar, estimate, compare, doctor"),
    ("rum d.csv", cli.USAGE, "there is no command rum: did you mean run?"),
    ("d.csv --alpha 0.05", cli.USAGE, "d.csv is no command; to analyse a file: pycupc run d.csv --alpha 0.05"),
    ("none.parquet", cli.USAGE, "none.parquet is no command; to analyse a file: pycupc run none.parquet"),
    ("--alpha 0.05 run d.csv", cli.USAGE, "the command comes first: pycupc run --alpha ..."),
    ("run d.csv --alhpa 0.05", cli.USAGE, "there is no option --alhpa: did you mean --alpha?"),
    ("run --alhpa=0.05 d.csv", cli.USAGE, "there is no option --alhpa: did you mean --alpha?"),
    ("run d.csv --m_max 2", cli.USAGE, "there is no option --m_max: did you mean --m-max?"),
    ("run d.csv --cores 2", cli.USAGE, "there is no option --cores: did you mean --threads?"),
    ("run d.csv --format x", cli.USAGE, "there is no option --format; see pycupc run --help"),
    ("run d.csv -alpha 0.05", cli.USAGE, "there is no option -alpha: did you mean --alpha?"),
    ("run d.csv --zzz", cli.USAGE, "there is no option --zzz; see pycupc run --help"),
    ("run d.csv --test gausss", cli.USAGE, "mixed or kci, got 'gausss': did you mean gaussian?"),
    ("run d.csv --correlation sperman", cli.USAGE, "got 'sperman': did you mean spearman?"),
    ("run d.csv --missing droprows", cli.USAGE, "got 'droprows': did you mean drop-rows?"),
    ("run d.csv --plot pgn", cli.USAGE, "expected png, svg, pdf, tikz or none, got 'pgn': did you mean png?"),
    ("run d.csv extra.csv", cli.USAGE, "unrecognized arguments: extra.csv; see pycupc run --help"),
    (
        "run d.csv --quirks",
        cli.DATA,
        "--quirks go with --test discrete without imputation; the test is another one: num",
    ),
    ("stability d.csv --fraction 1", cli.USAGE, "argument --fraction: expected a number between 0 and 1, got '1'"),
    ("plot results --arond v0", cli.USAGE, "there is no option --arond: did you mean --around?"),
    ("stability d.csv --scheme boostrap", cli.USAGE, "got 'boostrap': did you mean bootstrap?"),
    ("stability d.csv --sheduler x", cli.USAGE, "there is no option --sheduler: did you mean --scheduler?"),
    ("cstar d.csv --effects v0", cli.USAGE, "there is no option --effects: did you mean --effect?"),
    ("estimate d.csv --jsn", cli.USAGE, "there is no option --jsn: did you mean --json?"),
    ("compare a b --skeletn", cli.USAGE, "there is no option --skeletn: did you mean --skeleton?"),
    ("doctor --no-engine-s", cli.USAGE, "there is no option --no-engine-s: did you mean --no-engines?"),
]


@pytest.mark.parametrize(("command", "code", "message"), WRONG)
def test_wrong_usage(here, capsys, command, code, message):
    gaussian(n=60, p=6).round(1).to_csv("d.csv", index=False)
    assert run(*command.split()) == code
    assert message in printed(capsys)[1]
    assert contents(here) == ["d.csv"]


def test_plot_of_nothing_does_not_speak_of_methods(here, capsys):
    assert run("plot", "nothing") == cli.DATA
    assert printed(capsys)[1] == "pycupc: 'nothing' is neither a result file, nor a folder with a result.npz"


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_compiling_is_announced_on_a_terminal_only(here, capsys, monkeypatch, command):
    """The engine logs it, the terminal shows it; a stream that is no terminal, and --quiet, stay silent."""
    run_level = CpuEngine.run_level

    def compile_and_run(self, level):
        logging.getLogger("pycupc").info("compiling for level %d, once per machine", level)
        return run_level(self, level)

    monkeypatch.setattr(CpuEngine, "run_level", compile_and_run)
    plot = ["--plot", "none"] if command == "run" else []
    assert run(command, "--example=cell_nuclei", *plot) == cli.OK
    assert printed(capsys)[1] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(command, "--example=cell_nuclei", *plot) == cli.OK
    out, err = printed(capsys)
    assert "compiling" not in out
    assert err.count("\rcompiling for level 1, once per machine") == 1
    assert "edges removed" not in err  # the other lines of the log are not for the terminal
    assert all(line.split("\r")[-1].startswith("level ") for line in err.split("\n")[:-1])
    if command == "run":
        assert run(command, "--example=cell_nuclei", *plot, "--quiet") == cli.OK
        assert printed(capsys) == ("", "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (pycupc.EngineError("engine='gpu' cannot run: no device"), "engine='gpu' cannot run: no device"),
        (MemoryError(), "out of memory. 'pycupc estimate' shows how much these data need"),
    ],
)
def test_no_device_and_no_memory_have_their_own_code(here, capsys, monkeypatch, error, said):
    monkeypatch.setattr(import_module("pycupc.algorithm.pc"), "pc", Mock(side_effect=error))
    assert run("run", "--example=cell_nuclei") == cli.DEVICE
    assert printed(capsys)[1] == f"pycupc: {said}"
    assert contents(here) == []


def test_help_of_every_command_and_version(capsys):
    for command in ([], *([name] for name in COMMANDS)):
        assert run(*command, "--help") == cli.OK
        text = printed(capsys)[0]
        assert len(text.splitlines()) > 5
        assert "(auto: (" not in " ".join(text.split())
    assert run("--version") == cli.OK
    assert printed(capsys)[0] == f"pycupc {__version__}\n"


def test_linear_algebra_starts_no_threads():
    """The command says so before NumPy is loaded, which is when OpenBLAS starts its threads."""
    code = """
import os, sys
from pycupc.__main__ import main
assert "numpy" not in sys.modules
sys.argv = ["pycupc", "--version"]
main()
print(os.environ["OPENBLAS_NUM_THREADS"])
"""
    for given, expected in ((None, "1"), ("3", "3")):
        env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        env |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
        run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert run.stdout.split()[-1] == expected


def test_a_neighbourhood_of_an_array_file(here, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    np.save(here / "big.npy", np.cumsum(rng.standard_normal((200, 30)), axis=1).astype(np.float32))
    monkeypatch.setattr(writing, "MAX_DRAWN", 40)
    command = ("run", "big.npy", "--plot", "png", "--parquet", "--force", "--checkpoint", "kept")
    assert run(*command) == cli.OK
    out, _ = printed(capsys)
    folder = here / "big-pycupc"
    for name in ("graph.graphml", "graph.dot", "graph.json", "graph.html", "graph.png"):
        assert not (folder / name).exists()
        assert f"without {name} (30 variables and 29 edges; pycupc plot RESULTS --around NAME shows a part)" in out
    edges = pd.read_csv(folder / "edges.csv", keep_default_na=False)
    assert pd.read_parquet(folder / "edges.parquet").to_dict("list") == edges.to_dict("list")
    assert (here / "kept" / "level-0001.npz").is_file()
    assert run(*command, "--around", "V7", "--distance", "1") == cli.OK
    assert set(json.loads((folder / "graph.json").read_text())["nodes"]) == {"V6", "V7", "V8"}
    assert len(pd.read_csv(folder / "edges.csv")) == 29
    assert "V12" not in (folder / "graph.html").read_text().split('"labels"')[1][:200]
    assert (folder / "graph.png").is_file()
    capsys.readouterr()
    assert run(*command, "--distance", "1") == cli.USAGE
    assert run(*command, "--around", "V77") != cli.OK
    assert "--around: there is no variable 'V77'" in printed(capsys)[1]
    assert run(*command, "--alpha", "0.02") != cli.OK
    assert "checkpoint kept is of another run: alpha was 0.01, now 0.02" in printed(capsys)[1]
    assert run("run", "big.npy", "--method", "fci", "--checkpoint", "kept") == cli.USAGE


def test_names_that_the_encoding_of_the_output_lacks_are_escaped(here):
    gaussian(n=60, p=2).set_axis(["größe", "β"], axis=1).to_csv("d.csv", index=False)
    command = [sys.executable, "-m", "pycupc", "run", "d.csv", "--plot", "none"]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "most neighbours: gr\\xf6\\xdfe" in done.stdout


def test_processes(here, capsys, monkeypatch):
    """Workers for large levels: the result is the one at home."""
    monkeypatch.setattr(level_pieces, "PIECE_SECONDS", 1e-12)
    monkeypatch.setattr(GaussianTests, "at_once", lambda *_: None)
    options = ("run", "--example=cell_nuclei", "--plot", "none", "--quiet", "--out")
    assert run(*options, "home") == cli.OK
    assert run(*options, "workers", "--processes", "2") == cli.OK
    first, second = (pycupc.PcAlgo.load(f"{name}/result.npz") for name in ("home", "workers"))
    assert first == second
    assert run(*options, "none", "--processes", "0") == cli.USAGE
    assert "--processes" in capsys.readouterr().err
