"""The pages of docs/: they are built without a warning, ask for nothing from elsewhere, and their code runs."""

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module, metadata

import browser
import pytest
from common import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pycupc
from pycupc.cli import build_parser
from pycupc.cli.output import with_each_format

DOCS = ROOT / "docs"
#: Pages whose code is run here; project/test_readme.py runs the others, and compares their output.
WITH_CODE = [
    p
    for p in (*DOCS.glob("*.md"), *DOCS.glob("contracts/*.md"), *DOCS.glob("howto/*.md"))
    if "```python\n" in p.read_text(encoding="utf-8")
]
ELSEWHERE = {DOCS / name for name in ("contracts/effects.md", "contracts/stability.md", "howto/truth.md", "usage.md")}
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


def article(page):
    """The part of a page that is its own, not the site's."""
    (text,) = re.findall("<article.*</article>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return text


def heading(page):
    """The heading of a page in plain text."""
    return html.unescape(re.sub("<[^>]*>", "", re.search("<h1>(.*?)<a", article(page), re.DOTALL)[1])).strip()


def test_every_function_of_r_has_a_page_and_cu_pc_is_the_first(site):
    text = article(site / "generated" / "r_manual.html")
    assert ("cu_sitrep" in text) == (shutil.which("Rscript") is not None)
    if not shutil.which("Rscript"):
        return
    first = re.search(r'href="(r/[^"]*)"', text)[1]
    assert first == "r/cu_pc.html"
    exported = re.findall(r"^export\((cu_\w+)\)$", (ROOT / "r_wrapper/NAMESPACE").read_text("utf-8"), re.MULTILINE)
    assert {*exported} == {*re.findall(r"\b(cu_\w+)\(\)", text.partition("<table")[2])}
    for page in (site / "generated" / "r").glob("*.html"):
        assert re.fullmatch(r"cu_\w+(, cu_\w+)*", heading(page)), page
        assert 'class="rubric">See Also</p>' in article(page), page


def test_no_two_pages_have_one_title(site):
    titles = {}
    for page in site.rglob("*.html"):
        if page.parent.name != "_static" and page.name not in ("genindex.html", "search.html", "py-modindex.html"):
            titles.setdefault(heading(page), []).append(page.name)
    assert {title: pages for title, pages in titles.items() if len(pages) > 1} == {}


def test_every_link_within_the_site_leads_somewhere(site):
    """Sphinx checks the links of Markdown; these are all links of the pages, with their places on the page."""
    anchors, dead = {}, []
    for page in site.rglob("*.html"):
        if page.parent.name == "_static":
            continue
        for link in re.findall(r'<a [^>]*href="([^":]+)"', article(page) if page.name != "search.html" else ""):
            target, _, place = html.unescape(link).partition("#")
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                dead.append((page.name, link))
            elif place and path.suffix == ".html":
                if path not in anchors:
                    anchors[path] = set(re.findall(r'\bid="([^"]*)"', path.read_text(encoding="utf-8")))
                if place not in anchors[path]:
                    dead.append((page.name, link))
    assert dead == []


def test_every_box_of_the_maps_is_a_link(site):
    text = article(site / "choose.html")
    boxes = re.findall(r"<li><p>(.*?)</p>", text, re.DOTALL)
    assert len(boxes) > 30
    assert [box for box in boxes if box.count("<a ") != 1] == []


def test_notebooks_can_be_downloaded(site):
    for page in (site / "notebooks").glob("*.html"):
        if page.stem in ("index", "from_r"):
            continue
        (link,) = re.findall(r'href="([^"]*\.ipynb)"', article(page))
        notebook = json.loads((page.parent / link).read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert len(cells) >= 4
        assert all(cell["outputs"] == [] for cell in cells)
        text = "".join("".join(cell["source"]) for cell in notebook["cells"])
        assert re.findall(r"\]\((?!https://)[^)]*\.md", text) == [], page


def test_names_in_docstrings_are_links_and_code_has_a_button_that_copies_it(site):
    text = article(site / "reference" / "api" / "pycupc.pc.html")
    assert re.search(r'href="pycupc\.PcAlgo\.html', text)
    assert re.search(r'href="pycupc\.SuffStat\.html', text)
    assert "copybutton.js" in (site / "start.html").read_text(encoding="utf-8")
    assert (site / "_static" / "copybutton.js").exists()


def test_the_reference_of_results_has_the_names_that_completion_offers(site):
    fit = pycupc.pc(pycupc.load_example(), alpha=0.01)
    for result, of_the_class in (
        (fit, {"load", "from_causallearn", "from_pgmpy"}),
        (pycupc.effects(fit, pycupc.load_example()), set()),
        (pycupc.load_truth(), {"from_causallearn", "from_pgmpy"}),
    ):
        name = type(result).__name__
        text = article(site / "reference" / "api" / f"pycupc.{name}.html")
        described = {*re.findall(rf'id="pycupc\.{name}\.(\w+)"', text)}
        for names in re.findall(r"<dt><strong>([\w, ]+)</strong>", text.partition('class="rubric"')[0]):
            described |= {*names.split(", ")}
        assert described == {one for one in dir(result) if not one.startswith("_")} | of_the_class


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


def test_the_search_finds_the_pages_that_say_what_to_do_first(site, tmp_path):
    if missing := browser.missing():
        pytest.skip(missing)
    wanted = {"missing values": "howto/missing.html", "causal effects": "howto/effects.html"}
    wanted |= {"hidden common cause": "howto/hidden.html", "how sure is an edge": "howto/sure.html"}
    chromium = browser.Browser(tmp_path)
    try:
        for words, first in wanted.items():
            chromium.open(site / "search.html", f"q={words.replace(' ', '+')}")
            chromium.wait("document.querySelectorAll('.search li a').length > 3")
            found = chromium.script("return document.querySelector('.search li a').href")
            assert found.partition("?")[0].partition("#")[0] == (site / first).as_uri()
    finally:
        chromium.close()


#: The questions of seven strangers, by words of their answers, and the most clicks that lead to each.
QUESTIONS = {
    "install it on a GPU": ('".[gpu,plot]"', 1),
    "what an arrow means": ("if a were changed from outside", 1),
    "my table has gaps": ("Each test takes the rows that are complete in its own variables", 1),
    "is an edge sure": ("a bound on the expected number of false edges", 1),
    "what if I change x": ("the smallest absolute value is the part of the effect that is certain", 1),
    "cite": ("Please cite the algorithms", 1),
    "from pcalg": ("The graph, the separating sets and the numbers of tests are identical", 1),
}


def test_two_clicks_lead_to_the_answers_of_strangers(site):
    """Clicks on links in the text of the pages, from the first one."""
    clicks, pages = {}, {site / "index.html"}
    for n in range(3):
        for page in pages:
            text = " ".join(html.unescape(re.sub("<[^>]*>", "", article(page))).split())
            for question, (answer, _) in QUESTIONS.items():
                if answer in text:
                    clicks.setdefault(question, n)
        links = {
            (page.parent / link).resolve()
            for page in pages
            for link in re.findall(r'href="([^":#]+\.html)', article(page))
        }
        pages = {page for page in links if page.parent.name != "_static"}
    assert {question for question, (_, most) in QUESTIONS.items() if clicks.get(question, 9) > most} == set()


@pytest.mark.parametrize("path", RUN, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_code_of_a_page_runs(path, here):
    names: dict = {}
    for code in re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE):
        exec(compile(code, path.name, "exec"), names)


COMMANDS = [
    (str(path.relative_to(ROOT)), line)
    for path in sorted((ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("[ch]*/*.md"), *DOCS.glob("notebooks/*.md")))
    for block in re.findall(r"^```(?:sh|bash)\n(.*?)^```", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("pycupc ")
]


def test_every_command_of_the_pages_is_one_of_the_command_line():
    """Their options exist and go together, as far as the words alone tell; project/test_readme.py runs some of them."""
    assert len(COMMANDS) > 15
    wrong = []
    for page, line in COMMANDS:
        words = with_each_format(shlex.split(line, comments=True)[1:])
        try:
            build_parser(words[0]).parse_args(words)
        except SystemExit:
            wrong.append((page, line))
    assert wrong == []


def test_nothing_on_the_pages_is_loaded_from_elsewhere(site):
    """By the text of all pages, where `test_the_pages_ask_for_nothing_from_elsewhere` opens a few."""
    loads = r"<(?:script|img|iframe|source|video|object|embed)\b[^>]*\b(?:src|data)=\"https?://|<link\b[^>]*href=\"https?://"
    found = [page for page in site.rglob("*.html") if re.search(loads, page.read_text(encoding="utf-8"))]
    styles = [
        style
        for style in site.rglob("*.css")
        if re.search(r"(@import|url\()[\"' ]*https?://", style.read_text("utf-8"))
    ]
    assert found + styles == []


def test_the_article_for_r_has_the_code_of_the_vignette():
    """`Rscript docs/from_r.R` writes the article, with the output; it needs pcalg."""
    vignette = (ROOT / "r_wrapper" / "vignettes" / "from-pc-to-cu_pc.Rmd").read_text(encoding="utf-8")
    article = (DOCS / "notebooks" / "from_r.md").read_text(encoding="utf-8")
    code = re.findall(r"^```\{r\}\n(.*?)^```", vignette, flags=re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^```r\n(.*?)^```", article, flags=re.DOTALL | re.MULTILINE)
    without_output = ["".join(line for line in text.splitlines(True) if not line.startswith("#>")) for text in shown]
    assert without_output == code
