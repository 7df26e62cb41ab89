"""The code of README.md and of pages in docs/ is run, and the output that they show is compared with its output."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from common import DATA, ROOT

import pycupc
from pycupc import cli
from pycupc.data import EXAMPLE

README = (ROOT / "README.md").read_text(encoding="utf-8")
STABILITY = (ROOT / "docs" / "contracts" / "stability.md").read_text(encoding="utf-8")
USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
TRUTH = (ROOT / "docs" / "howto" / "truth.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "tests" / "benchmarks" / "BENCHMARKS.md").read_text(encoding="utf-8")
FIRST_COMMAND = next(line for line in README.splitlines() if line.startswith("python3 -m venv .venv "))


def blocks(language: str, page: str = README) -> list[str]:
    """The code blocks of a page in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def without_seconds(text: str) -> list[str]:
    """Lines of the output of `pycupc run`, the seconds of each level left out."""
    return [re.sub(r" +\d+\.\d{3}$", "", line) for line in text.strip().splitlines()]


def commands(page: str) -> list[list[str]]:
    """Arguments of each pycupc command of the shell blocks."""
    lines = "".join(blocks("sh", page)).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("pycupc ")]


@pytest.fixture
def here(here):
    """A folder to work in, which holds the example data under the name that README uses."""
    shutil.copy(EXAMPLE, "data.csv")
    return here


def test_the_first_command_prints_what_is_shown(here, capsys):
    job = FIRST_COMMAND.rpartition(".venv/bin/pycupc ")[2]
    assert cli.main(job.split()) == cli.OK
    shown = without_seconds(blocks("text")[0])
    assert without_seconds(capsys.readouterr().out)[-len(shown) :] == shown


def test_the_first_command_installs_extras_that_exist():
    installed = re.findall(r'pip install "\.\[([a-z0-9,]+)\]"', README + START)
    assert len(installed) >= 4
    extras = re.findall(r"^([a-z0-9]+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for names in installed for name in names.split(",")} <= set(extras)


def test_the_second_command_is_that_of_continuous_integration():
    line = "python3 tests/run.py"
    assert line in blocks("sh")[0].splitlines()
    assert line in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_python_example_prints_what_is_shown(here, capsys):
    pytest.importorskip("networkx", reason="the example exports to networkx")
    pytest.importorskip("matplotlib", reason="the example draws a picture").use("Agg")
    exec(compile(*blocks("python"), "README.md", "exec"), {})
    assert "sunshine and harvest: no edge" in capsys.readouterr().out
    block, discrete = blocks("python", USAGE)
    names: dict = {}
    exec(compile(block, "usage.md", "exec"), names)
    assert capsys.readouterr().out == blocks("text", USAGE)[0]
    assert pycupc.PcAlgo.load("fit.npz").sepset == names["fit"].sepset
    exec(compile(discrete, "usage.md", "exec"), names)
    assert tuple(names["of_table"].edge_counts()) == (3, 2, 0)


def test_command_lines_run(here, capsys, monkeypatch):
    steps, (run, plot, stability, estimate, compare, doctor) = commands(USAGE)[:2], commands(USAGE)[2:]
    assert commands(README) == steps
    names = [command[0] for command in (run, plot, stability, estimate, compare, doctor)]
    assert names == ["run", "plot", "stability", "estimate", "compare", "doctor"]
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address))
    opened: list[str] = []
    for command in steps:  # the way to an explored graph
        assert cli.main(command) == cli.OK, command
    assert opened == [(here / "results" / "graph.html").as_uri()]
    for command in ([*run, "--force"], plot, stability, estimate, doctor):
        assert cli.main(command) == cli.OK, command
    assert (here / "results" / "manifest.json").exists()
    assert (here / "light.png").exists()
    assert (here / "stable" / "consensus.csv").exists()
    assert cli.main([word.replace("pcalg-stable", "pycupc") for word in compare]) == cli.OK
    assert " and pycupc are equal: " in capsys.readouterr().out


#: Runs the expressions of a block, but for those that need a package that is not installed, and says how many ran.
RUN_BLOCKS = r"""
source("r_wrapper/R/cu_pc.R")
set.seed(1)
x <- matrix(rnorm(1200), 300, dimnames = list(NULL, c("a", "b", "c", "d")))
X <- x <- x %*% chol(0.5 + diag(0.5, 4))
colnames(X) <- colnames(x) <- c("a", "b", "c", "d")
for (file in commandArgs(TRUE)) {
  for (expression in as.list(parse(file))) {
    text <- paste(deparse(expression), collapse = "\n")
    packages <- regmatches(text, gregexpr("[A-Za-z.]+(?=::)|(?<=library\\()[A-Za-z.]+", text, perl = TRUE))[[1]]
    if (grepl("dagitty", text)) packages <- c(packages, "dagitty") # which pcalg's function loads
    there <- all(packages %in% rownames(installed.packages()))
    if (!there && grepl("^library", text)) break
    if (there) {
      eval(expression, globalenv())
      cat("ran:", text, "\n")
    }
  }
}
"""


@pytest.mark.r
def test_the_r_code_of_the_pages_runs(tmp_path, rscript):
    files, n = [tmp_path / "run.R"], 0
    files[0].write_text(RUN_BLOCKS, encoding="utf-8")
    for page in (ROOT / "README.md", *ROOT.glob("docs/start.md"), *sorted(ROOT.glob("docs/howto/*.md"))):
        for block in blocks("r", page.read_text(encoding="utf-8")):
            files.append(tmp_path / f"{page.stem}_{len(files)}.R")
            files[-1].write_text(re.sub(r"library\(pycupc\)\n|pycupc::(?=cu_)", "", block), encoding="utf-8")
            n += "cu_" in files[-1].read_text(encoding="utf-8")
    settings = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [rscript, *map(str, files)],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran: ") >= n >= 4


@pytest.mark.r
def test_r_example_runs(tmp_path, rscript):
    (block,) = blocks("r", USAGE)
    script = tmp_path / "example.R"
    script.write_text(block.replace("library(pycupc)", 'source("r_wrapper/R/cu_pc.R")'), encoding="utf-8")
    settings = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [rscript, str(script)], cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^#> (.*)$", block, re.MULTILINE)
    assert shown[1] in done.stdout.splitlines()


def test_a_release_has_the_tag_of_its_version():
    command = [sys.executable, "tests/release.py", "--tag", "v0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"v0 is not v{pycupc.__version__}," in done.stderr


@pytest.mark.parametrize(("page", "least"), [(STABILITY, 4), (TRUTH, 1)], ids=["stability.md", "truth.md"])
def test_the_code_of_a_page_prints_its_output(page, least, capsys):
    parts = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert len(parts) == page.count("```python") >= least
    names: dict = {}
    for code, shown in parts:
        exec(compile(code, "page", "exec"), names)
        assert capsys.readouterr().out == shown


def test_the_code_of_the_page_on_effects_prints_its_output(tmp_path, monkeypatch, capsys):
    if not DATA.exists():
        pytest.skip("no shared data")
    for name in ("riboflavin.csv.gz", "riboflavin_y.csv.gz"):
        (tmp_path / name).symlink_to(DATA / name)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "contracts" / "effects.md").read_text(encoding="utf-8")
    test_the_code_of_a_page_prints_its_output(page, 5, capsys)


def tables(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """Heads and rows of the tables of a page."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    cells = [
        [[c.strip("* ") for c in re.split(r" ?\| ?", line.strip("|\n "))] for line in b.splitlines()] for b in blocks
    ]
    return [(lines[0], lines[2:]) for lines in cells]


def test_the_figures_of_the_page_on_stability_are_those_of_the_benchmarks():
    recorded = tables(BENCHMARKS)
    for heads, rows in tables(STABILITY):
        (known,) = [(h, r) for h, r in recorded if set(heads) <= set(h)]
        measured = [[line[known[0].index(head)] for head in heads] for line in known[1]]
        assert rows
        assert [row for row in rows if row not in measured] == []


PAGES = ["README.md", ".github/CHANGELOG.md", ".github/CONTRIBUTING.md", "r_wrapper/README.md"]
PAGES += ["kernels/README.md", "kernels/log.md", "tests/benchmarks/BENCHMARKS.md"]
PAGES += [str(p.relative_to(ROOT)) for p in sorted((*ROOT.glob("docs/*.md"), *ROOT.glob("docs/[a-z]*/*.md")))]


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/generated/")])
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:\s]+)[)#]", (ROOT / page).read_text(encoding="utf-8"))
    assert len(links) >= 3 or page not in ("README.md", "docs/contracts/stability.md", "tests/benchmarks/BENCHMARKS.md")
    links = [link for link in links if "generated/" not in link]  # by docs/generate.py
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []
