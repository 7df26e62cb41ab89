"""The explorer's page as text: what it holds, that no label can leave its place, and what happens with large graphs."""

import base64
import hashlib
import html
import json
import math
import re
import sys
import types

import explored_graphs
import numpy as np
import pytest
from explored_graphs import large

import pycupc
from pycupc import cli
from pycupc.graph.drawing import save
from pycupc.graph.explorer import page
from pycupc.graph.sparse import KINDS
from pycupc.results import explorer_content

P = 60


@pytest.fixture(scope="module")
def fit():
    labels = list(explored_graphs.HOSTILE) + [f"v{i}" for i in range(P - len(explored_graphs.HOSTILE))]
    return explored_graphs.result(P, labels)


def data_of(text):
    """The block of data of a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=packed["type"])


def test_the_page_holds_the_graph_and_its_evidence(fit):
    text = page(explorer_content.content(fit))
    assert text == page(explorer_content.content(fit))  # the same each time
    data = data_of(text)
    assert data["labels"][:P] == list(fit.labels)
    tail, head, kind = fit.sparse_graph.edge_list()
    assert unpacked(data["tail"]).tolist() == tail.tolist()
    assert unpacked(data["head"]).tolist() == head.tolist()
    assert [[*KINDS][k] for k in unpacked(data["kind"])] == kind.tolist()
    assert np.array_equal(unpacked(data["edge_p"]), fit.p_values.of_edges(fit.sparse_graph))
    for k, (a, b) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        assert (kind[k] == "undirected") == (data["reasons"][k] == [])
        ends = {a: (b, a), b: (a, b)}
        assert all(tuple(reason) == fit.trace[ends[end]] for end, *reason in data["reasons"][k])


def test_every_removed_pair_is_there_with_its_test(fit):
    data = data_of(page(explorer_content.content(fit)))
    removed = data["removed"]
    x, y, level, r = (unpacked(removed[name]) for name in ("x", "y", "level", "r"))
    sets = np.split(unpacked(removed["members"]), np.cumsum(level)[:-1])
    assert removed["complete_from"] == 1
    assert len(x) == len(fit.removals.x) > 50
    for k in range(len(x)):
        why = fit.why(int(x[k]), int(y[k]))
        assert why.status == "removed"
        assert (why.x, why.y) == (fit.labels[x[k]], fit.labels[y[k]])
        assert tuple(fit.labels[v] for v in sets[k]) == why.S
        assert r[k] == pytest.approx(why.r, abs=1e-6)
        assert data["cutoffs"][level[k]] == why.cutoff
    first = np.triu_indices(P, 1)
    C = fit.p_values.correlations(*first)
    assert np.allclose(unpacked(data["correlations"]), C, atol=1e-6)


def test_no_label_can_leave_the_data(fit):
    text = page(explorer_content.content(fit))
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert not re.search("[<>&\u2028\u2029\x00-\x09\x0b-\x1f]", block[1])
    assert block[1].isascii()
    assert text.count("<script") == 2
    assert text.count("</script") == 2
    for label in explored_graphs.HOSTILE[:3]:
        assert label not in text


def test_the_policy_allows_this_script_and_style_only(fit):
    text = page(explorer_content.content(fit))
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    text = re.sub(r'id="data">.*?</script>', "", text, flags=re.DOTALL)  # the data, in which labels may say anything
    assert not re.search(
        r"(src|href)=|url\(|@import|innerHTML|insertAdjacent|document\.write|eval\(|fetch\(|XMLHttp", text
    )


def test_5000_variables_and_20000_edges_fit():
    content = explorer_content.content(large(5_000, 20_000))
    assert (content.graph.p, len(content.graph), content.note) == (5_000, 20_000, "")
    assert len(page(content)) < 4e6


def test_of_more_edges_the_page_holds_the_surest_and_says_so():
    fit = large(4_000, 30_000)
    content = explorer_content.content(fit)
    assert (content.graph.p, len(content.graph)) == (4_000, 20_000)
    assert content.edge_p.max() <= np.sort(fit.p_values.edges)[20_000]
    assert content.edges_left_out == 10_000
    assert "the 20,000 edges among its variables with the smallest p-values, of 30,000" in content.note
    assert "pycupc plot RESULTS --around NAME" in content.note


def test_of_more_variables_the_page_holds_those_with_most_neighbours_or_those_around_one():
    fit = large(9_000, 12_000)
    content = explorer_content.content(fit)
    assert content.graph.p == 5_000
    assert content.degree.min() >= np.sort(fit.sparse_graph.degrees())[4_000]
    assert "the 5,000 variables with most neighbours, of 9,000" in content.note
    near = explorer_content.content(fit, around="v17", radius=2)
    assert [near.labels[v] for v in range(near.graph.p)] == [f"v{v}" for v in np.sort(fit.sparse_graph.around([17], 2))]
    assert near.labels[near.start] == "v17"
    assert near.graph.degrees()[near.start] == near.degree[near.start] == fit.sparse_graph.degrees()[17]


def test_only_the_removed_pairs_that_came_closest_are_listed_of_many(fit, monkeypatch):
    monkeypatch.setattr(explorer_content, "MAX_REMOVED", 100)
    content = explorer_content.content(fit)
    removed = content.removed
    assert len(removed.x) == 100
    everything = explorer_content.RemovedPairs(
        fit.removals.x, fit.removals.y, fit.removals.level, None, fit.removals.r, None, 1
    )
    order = np.lexsort((-np.abs(everything.r), -everything.level))[:100]
    assert set(zip(removed.x, removed.y, strict=True)) == {(everything.x[k], everything.y[k]) for k in order}
    assert removed.complete_from == everything.level[order[-1]] + 1
    data = data_of(page(content))
    assert data["removed"]["note"].startswith("listed: the 100 pairs that came closest to staying")


def test_stability_frequencies(fit):
    m = len(fit.sparse_graph)
    stability = np.linspace(0, 1, m)
    data = data_of(page(explorer_content.content(fit, stability=stability)))
    assert np.allclose(unpacked(data["stability"]), stability, atol=1e-7)
    for wrong in (stability[1:], stability + 1, np.full(m, math.nan)):
        with pytest.raises(ValueError, match=f"stability must hold a frequency from 0 to 1 for each of the {m} edges"):
            explorer_content.content(fit, stability=wrong)


def test_a_result_without_its_data_gives_a_page_without_correlations(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    data = data_of(page(explorer_content.content(loaded)))
    whole = data_of(page(explorer_content.content(fit)))
    assert data["tail"] == whole["tail"]
    assert data["removed"]["members"]["type"] == "uint8"
    assert len(unpacked(data["removed"]["x"])) == len(unpacked(whole["removed"]["x"]))


def test_fixed_gaps_and_edges_are_told_apart(tmp_path):
    table = explored_graphs.table(12)
    gaps, edges = np.zeros((12, 12), bool), np.zeros((12, 12), bool)
    gaps[0, 1] = gaps[1, 0] = edges[2, 3] = edges[3, 2] = True
    fit = pycupc.pc(pycupc.SuffStat.from_data(table), alpha=0.01, fixedGaps=gaps, fixedEdges=edges)
    content = explorer_content.content(fit)
    assert content.gaps.tolist() == [[0, 1]]
    k = int(content.graph.edge_number(2, 3))
    assert content.edge_p[k] == -1


def test_explore_writes_and_opens_one_file(fit, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = fit.explore()
    assert opened == [path.as_uri()]
    assert data_of(path.read_text(encoding="utf-8"))["nodes"] == P
    assert fit.explore(tmp_path / "near.html", around="v3", radius=1, show=False) == tmp_path / "near.html"
    assert len(opened) == 1
    with pytest.raises(ValueError, match="no variable 'V3'; similar: v3"):
        fit.explore(around="V3")


@pytest.mark.parametrize("name", ["page.html", "picture.png", "picture.svg"])
def test_a_full_disk_leaves_the_older_file(fit, tmp_path, name):
    resource = pytest.importorskip("resource")
    path, limits = tmp_path / name, resource.getrlimit(resource.RLIMIT_FSIZE)
    path.write_text("older", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            fit.explore(path, show=False) if name == "page.html" else save(fit.sparse_graph, ["v"] * P, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {entry.name: entry.read_text(encoding="utf-8") for entry in tmp_path.iterdir()} == {name: "older"}


def test_a_notebook_shows_the_page_below_the_cell(fit, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    shown = fit.explore()
    assert shown.path is None
    assert repr(shown) == "<Explorer>"
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts allow-modals allow-downloads" .*</iframe>',
        shown._repr_html_(),
    )
    assert data_of(html.unescape(frame[1]))["nodes"] == P
    shown = fit.explore(tmp_path / "graph.html")
    assert shown.path == tmp_path / "graph.html"
    assert str(shown.path) in repr(shown)
    assert (tmp_path / "graph.html").read_text(encoding="utf-8") == page(explorer_content.content(fit))
    assert fit.explore(tmp_path / "graph.html", show=False) == tmp_path / "graph.html"
    assert opened == []
    ipython.get_ipython = lambda: types.SimpleNamespace()  # IPython in a terminal
    assert fit.explore(tmp_path / "graph.html") == tmp_path / "graph.html"
    assert len(opened) == 1


def test_run_writes_the_page_and_plot_draws_a_neighbourhood(here, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert cli.main(["run", "--example=cell_nuclei", "--out", "results", "--quiet"]) == cli.OK
    assert data_of((here / "results" / "graph.html").read_text(encoding="utf-8"))["nodes"] == 30
    assert "graph.html" in json.loads((here / "results" / "manifest.json").read_text(encoding="utf-8"))["files"]
    plot = ["plot", "results", "--around", "radius_mean"]
    for more, file in (
        ([], "radius_mean.png"),
        (["--radius", "1", "--out", "a.svg"], "a.svg"),
        (["--out", "a.html"], "a.html"),
    ):
        assert cli.main([*plot, *more]) == cli.OK
        assert (here / file).stat().st_size > 1000
        assert f"{file} is written" in capsys.readouterr().out
    assert "perimeter_mean" in (here / "a.svg").read_text(encoding="utf-8")
    assert cli.main(["plot", "results"]) == cli.OK
    assert (here / "graph.png").exists()
    assert cli.main(["plot", "results", "--around", "radius"]) == cli.DATA
    assert "no variable 'radius'; similar: radius_" in capsys.readouterr().err
    assert cli.main(["plot", "results", "--out", "a.gif"]) == cli.USAGE
    assert cli.main([*plot, "--radius", "-1"]) == cli.USAGE
    assert cli.main(["plot", "results", "--radius", "1"]) == cli.USAGE
    assert "--radius goes with --around" in capsys.readouterr().err
    assert cli.main(["plot", "nothing"]) == cli.DATA


def test_the_command_line_has_the_options_of_pictures(here, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    names = ["radius_mean", "perimeter_mean"]
    (here / "groups.csv").write_text("variable,group\n" + "".join(f"{name},size\n" for name in names), "utf-8")
    run = ["run", "--example=cell_nuclei", "--out", "results", "--quiet", "--plot", "svg"]
    assert cli.main([*run, "--groups", "groups.csv", "--no-title", "--no-legend", "--figsize", "8", "6"]) == cli.OK
    text = (here / "results" / "graph.svg").read_text("utf-8")
    assert "#0072b2" in text
    assert "directed" not in text
    assert 'width="576pt" height="432pt"' in text
    plot = ["plot", "results", "--out", "a.svg"]
    assert cli.main([*plot, "--groups", "groups.csv", "--path", *names]) == cli.OK
    text = (here / "a.svg").read_text("utf-8")
    assert "size" in text
    assert "#f2c14e" in text  # the path
    assert cli.main(["plot", "results", "--out", "a.tikz"]) == cli.OK
    assert "begin{tikzpicture}" in (here / "a.tikz").read_text("utf-8")
    (here / "tiers.txt").write_text("/knowledge\naddtemporal\n1 *_mean\n2 *_se\n3 *_worst\n", "utf-8")
    assert cli.main([*plot, "--tiers", "tiers.txt"]) == cli.OK
    assert "tier 3" in (here / "a.svg").read_text("utf-8")
    (here / "groups.csv").write_text("radius,size\n", "utf-8")
    capsys.readouterr()
    assert cli.main([*run, "--force", "--groups", "groups.csv"]) == cli.DATA
    assert "groups.csv, line 1: there is no variable 'radius'" in capsys.readouterr().err
    assert cli.main(["plot", "results", "--out", "a.html", "--no-title"]) == cli.USAGE
    assert "--no-title is of pictures, not of the explorer" in capsys.readouterr().err
    assert cli.main([*plot, "--path", "radius_mean", "texture_mean"]) == cli.DATA
    assert "not adjacent" in capsys.readouterr().err
    assert cli.main([*plot, "--figsize", "0", "3"]) == cli.USAGE


def test_the_command_line_gives_the_page_a_name_effects_and_units(here, capsys):
    data = explored_graphs.table(6)
    data.to_csv(here / "data.csv", index=False)
    assert cli.main(["run", "data.csv", "--out", "results", "--plot", "none", "--quiet"]) == cli.OK
    a, b = data.columns[:2]
    (here / "units.csv").write_text(f"variable,unit\n{b},kg\n{a},cm\n", "utf-8")
    plot = ["plot", "results", "--out", "near.html"]
    known = ["--data", "data.csv", "--effects", "--units", "units.csv", "--name", "A study"]
    assert cli.main([*plot, *known]) == cli.OK
    shown = data_of((here / "near.html").read_text("utf-8"))
    assert shown["name"] == "A study"
    assert shown["units"] == ["cm", "kg", "", "", "", ""]
    fit = pycupc.pc("data.csv", alpha=0.01)
    values = unpacked(shown["effects"]["value"]).reshape(6, 6)
    assert np.allclose(values, pycupc.effects(fit, data).on_page(np.arange(6))["value"], equal_nan=True)
    wrong = {"--effects goes with --data FILE": [*plot, "--effects"]}
    wrong["--units goes with --effects"] = [*plot, "--units", "units.csv"]
    wrong["--name is of the explorer (.html), not of pictures"] = [
        "plot",
        "results",
        "--out",
        "near.png",
        "--name",
        "x",
    ]
    wrong["--effects is of the explorer (.html)"] = ["plot", "results", "--out", "near.png", "--effects"]
    for text, line in wrong.items():
        capsys.readouterr()
        assert cli.main(line) == cli.USAGE
        assert text in capsys.readouterr().err


@pytest.mark.parametrize("method", ["pc", "skeleton", "fci"])
def test_the_headline_is_the_name_of_the_file_that_was_read(here, method):
    explored_graphs.table(6).to_csv(here / "my study.csv", index=False)
    fit = getattr(pycupc, method)("my study.csv", alpha=0.01)
    again = type(fit).load(fit.save("fit.npz") or "fit.npz")
    for one, options, name in ((fit, {}, "my study"), (again, {}, "my study"), (fit, {"name": ""}, "")):
        one.explore("graph.html", show=False, **options)
        assert data_of((here / "graph.html").read_text("utf-8"))["name"] == name
    getattr(pycupc, method)(explored_graphs.table(6), alpha=0.01).explore("graph.html", show=False)
    assert data_of((here / "graph.html").read_text("utf-8"))["name"] == ""


def test_a_consensus_has_a_name_too(here):
    result = pycupc.stability(explored_graphs.table(6), n_resamples=4, alpha=0.01, random_state=1)
    result.consensus().explore("graph.html", show=False, name="A study")
    assert data_of((here / "graph.html").read_text("utf-8"))["name"] == "A study"
