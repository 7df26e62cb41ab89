"""The pages of docs/: they are built without a warning, ask for nothing from elsewhere, and their code runs."""

import html
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module, metadata

import browser
import pytest
from common import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DOCS = ROOT / "docs"
#: Pages whose code is run here; project/test_readme.py runs the others, and compares their output.
WITH_CODE = [
    p
    for p in (*DOCS.glob("*.md"), *DOCS.glob("contracts/*.md"), *DOCS.glob("howto/*.md"))
    if "```python\n" in p.read_text(encoding="utf-8")
]
ELSEWHERE = {DOCS / name for name in ("contracts/effects.md", "contracts/stability.md", "hidden.md", "usage.md")}
RUN = sorted({*WITH_CODE} - ELSEWHERE)


#: Lets Python, which imports this module when it starts, find no module of these names.
HIDING = """
import sys

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {name!r} in the extra docs", name=name)

sys.meta_path.insert(0, Hidden)
"""


def modules_beside(extra):
    """The top-level modules of installed packages that an installation of pycupc with this extra does not bring."""
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")  # the latter comes with pytest
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    modules = metadata.packages_distributions()
    installed = {canonicalize_name(package) for packages in modules.values() for package in packages}

    def needed_by(package, extra):
        """The requirements of a package, or those that its extra adds; none of a package for other systems."""
        if package == "pycupc":
            found = project["optional-dependencies"][extra] if extra else project["dependencies"]
        else:
            found = metadata.requires(package) if package in installed else ()
        applying = (r for r in map(Requirement, found or ()) if r.marker is None or r.marker.evaluate({"extra": extra}))
        return [(canonicalize_name(r.name), one) for r in applying for one in ("", *r.extras)]

    waiting, brought = [("pycupc", ""), ("pycupc", extra)], set()
    while waiting:
        if (one := waiting.pop()) not in brought:
            brought.add(one)
            waiting += needed_by(*one)
    names = {name for name, _ in brought}
    return {module for module, packages in modules.items() if names.isdisjoint(map(canonicalize_name, packages))}


def build(folder, *options, hidden=(), **environment):
    """Build the pages into a folder, in a Python that has no modules of these names."""
    (folder / "sitecustomize.py").write_text(HIDING.replace("{names}", repr(sorted(hidden))), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", **environment}
    environment["IPYTHONDIR"] = str(folder / "ipython")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "trees"), *options]
    return subprocess.run(
        [*command, str(DOCS), str(folder / "html")], capture_output=True, text=True, check=False, env=environment
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages, built with what the extra docs brings; without R's reference where there is no R."""
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    hidden = modules_beside("docs")
    assert "pytest" in hidden
    folder = tmp_path_factory.mktemp("site")
    done = build(folder, *([] if shutil.which("Rscript") else ["-t", "no_r"]), hidden=hidden)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_reference_of_r_is_left_out_only_where_that_is_asked_for(tmp_path):
    pytest.importorskip("myst_nb")
    done = build(tmp_path, PATH=str(tmp_path))
    assert done.returncode != 0
    assert "the reference of the R functions needs R, and there is no Rscript on the PATH: install R, or" in done.stderr
    assert "python -m sphinx -t no_r" in done.stderr


def test_the_pages_of_r_are_there(site):
    text = (site / "generated" / "r_manual.html").read_text(encoding="utf-8")
    assert ("cu_sitrep" in text) == (shutil.which("Rscript") is not None)


def test_the_notebooks_show_their_pictures_and_no_error(site):
    pages = sorted((site / "notebooks").glob("*.html"))
    assert len(pages) >= 7
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "Traceback" not in text, page
        assert ("cell_output" in text) == (page.stem not in ("index", "from_r")), page
    assert len([*(site / "_images").glob("*.png")]) >= 4


def test_the_pages_ask_for_nothing_from_elsewhere(site, tmp_path):
    if missing := browser.missing():
        pytest.skip(missing)
    chromium = browser.Browser(tmp_path)
    try:
        for page in ("index.html", "notebooks/first_graph.html", "reference/api/pycupc.pc.html", "search.html"):
            chromium.requests()
            chromium.open(site / page)
            chromium.wait("document.readyState === 'complete'")
            asked = chromium.requests()
            assert len(asked) > 3
            assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    finally:
        chromium.close()


def test_two_clicks_lead_to_common_questions(site):
    """Clicks on links in the text of the pages, from the first one; the answer of each question by a word of it."""
    pages = {site / "index.html"}
    for _ in range(2):
        for page in list(pages):
            (text,) = re.findall("<article.*</article>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            pages |= {(page.parent / link).resolve() for link in re.findall(r'href="([^":#]+\.html)', text)}
    found = html.unescape(re.sub("<[^>]*>", "", "".join(page.read_text(encoding="utf-8") for page in pages)))
    gpu, p_value, missing, cite = '".[gpu,plot]"', "the largest p-value among", "Test-wise deletion", "Please cite this"
    assert [answer for answer in (gpu, p_value, missing, cite) if answer not in found] == []


@pytest.mark.parametrize("path", RUN, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_code_of_a_page_runs(path, here):
    names: dict = {}
    for code in re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE):
        exec(compile(code, path.name, "exec"), names)


def test_the_article_for_r_has_the_code_of_the_vignette():
    """`Rscript docs/from_r.R` writes the article, with the output; it needs pcalg."""
    vignette = (ROOT / "r_wrapper" / "vignettes" / "from-pc-to-cu_pc.Rmd").read_text(encoding="utf-8")
    article = (DOCS / "notebooks" / "from_r.md").read_text(encoding="utf-8")
    code = re.findall(r"^```\{r\}\n(.*?)^```", vignette, flags=re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^```r\n(.*?)^```", article, flags=re.DOTALL | re.MULTILINE)
    without_output = ["".join(line for line in text.splitlines(True) if not line.startswith("#>")) for text in shown]
    assert without_output == code
