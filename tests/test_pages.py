"""The pages of docs/: they are built without a warning, ask for nothing from elsewhere, and their code runs."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import browser
import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Pages whose code is run here; test_readme.py runs the others, and compares their output.
WITH_CODE = [
    p for p in (*DOCS.glob("*.md"), *DOCS.glob("howto/*.md")) if "```python\n" in p.read_text(encoding="utf-8")
]
RUN = sorted(path for path in WITH_CODE if path.stem not in ("EFFECTS", "HIDDEN", "STABILITY", "usage"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    folder = tmp_path_factory.mktemp("site")
    environment = dict(os.environ, PYTHONPATH=str(ROOT), IPYTHONDIR=str(folder / "ipython"))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "trees")]
    done = subprocess.run(
        [*command, str(DOCS), str(folder / "html")], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


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


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
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
