"""Results in notebooks: texts, tables and pictures as HTML, and the names that completion offers."""

import copy
import pickle
import sys
from xml.etree import ElementTree

import pytest

import pycupc
from pycupc.system.shown import FORMER, Text, as_table


@pytest.fixture(scope="module")
def shown():
    """A result of each kind, by name."""
    x = pycupc.load_example()
    fit = pycupc.pc(x, alpha=0.01)
    found = {"pc": fit, "fci": pycupc.fci(x, alpha=0.01), "truth": pycupc.load_truth()}
    found["stability"] = pycupc.stability(x, n_resamples=2, random_state=1)
    found["consensus"] = found["stability"].consensus()
    found["effects"] = pycupc.effects(fit, x)
    found["cstar"] = pycupc.cstar(x, n_resamples=2, random_state=1)
    found["why"] = fit.why("sunshine", "harvest")
    found["reasons"] = found["effects"].why("lamps", "harvest")
    found["evaluation"] = pycupc.evaluate(fit, found["truth"])
    found["comparison"] = pycupc.compare(fit, fit)
    return found | {f"summary of {name}": found[name].summary() for name in ("pc", "fci", "stability", "cstar")}


#: What a notebook shows of each: rows of tables, and whether there is a picture.
PARTS = {
    "pc": (0, True), "fci": (0, True), "truth": (0, True), "consensus": (0, True), "stability": (1, True),
    "effects": (10, True), "cstar": (10, True), "why": (1, False), "reasons": (2, False), "evaluation": (2, False),
    "comparison": (0, False), "summary of pc": (5, False), "summary of fci": (5, False),
    "summary of stability": (1, False), "summary of cstar": (10, False),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_notebooks_show_tables_and_pictures(shown, name):
    page = ElementTree.fromstring(
        f"<div>{shown[name]._repr_html_().replace('<br>', '<br/>')}</div>".replace('=="', '"')
    )
    assert (len(page.findall(".//tbody/tr")), page.find(".//img") is not None) == PARTS[name]
    assert page.find(".//p") is not None or name == "reasons"


@pytest.mark.parametrize("missing", ["matplotlib", "pandas"])
def test_notebooks_show_the_rest_without_a_package(shown, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    for name in PARTS:
        page = shown[name]._repr_html_()
        assert page
        assert ("<img" in page) == (PARTS[name][1] and (missing, name) not in ALSO_WITHOUT and missing != "matplotlib")


ALSO_WITHOUT = {("pandas", "effects"), ("pandas", "cstar")}


def test_a_summary_is_a_text(shown):
    text = shown["summary of pc"]
    assert isinstance(text, str)
    assert text.startswith("PC-stable: 15 variables, 1,500 observations, alpha 0.01\n19 edges")
    assert pickle.loads(pickle.dumps(text)) == text
    assert Text("a <b\n\nc  d\nwithout a row")._repr_html_() == "<p>a &lt;b<br><br>c  d<br>without a row</p>"
    assert as_table({"<a>": [1, 0.123456, None, float("nan")]}).count("></td>") == 2


#: The number of names that completion offers.
OFFERED = {"pc": 30, "fci": 24, "truth": 24, "consensus": 25, "stability": 16, "effects": 14, "cstar": 10}


@pytest.mark.parametrize("name", OFFERED)
def test_completion_offers_the_names_for_users(shown, name):
    result = shown[name]
    names = [one for one in dir(result) if not one.startswith("_")]
    assert len(names) == OFFERED[name] <= 32
    for one in names:
        getattr(result, one)
    assert not {"page_note", "edge_columns", "KIND", "from_contents", "columns", "on_page"} & set(names)


def test_names_of_0_2_0_can_be_read(shown):
    fit, pag = shown["pc"], shown["fci"]
    assert list(fit.edge_columns())[:3] == ["from", "to", "type"]
    assert (fit.page_note(), fit.max_ord, pag.skeleton_fit.max_ord) == ("", 4, 4)
    for name in FORMER:
        assert getattr(fit, name) == getattr(fit, f"_{name}")
        assert name not in dir(fit)
    assert fit.has_dag
    with pytest.raises(AttributeError, match="'PcAlgo' object has no attribute 'colour'"):
        fit.colour  # noqa: B018 - reading it raises
    assert copy.copy(fit).labels == pickle.loads(pickle.dumps(fit)).labels == fit.labels
    assert sum(fit.n_edgetests) == 950
    fit.of_a_user = 1
    assert "of_a_user" in dir(fit)
    del fit.of_a_user
