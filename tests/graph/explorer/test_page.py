"""The explorer's page in a real, headless Chromium: it loads from a file, answers, and asks for nothing else.

Skipped where there is no chromium and chromedriver (tests/setup_browser.sh installs them on Debian).
"""

import csv
import io
import time
from dataclasses import replace
from itertools import pairwise

import browser
import explored_graphs
import numpy as np
import pytest
from discrete_cases import rare_levels

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.graph.explorer import InlinePage, show_page
from pycupc.graph.sparse import SparseGraph
from pycupc.results import explorer_content

if missing := browser.missing():
    pytest.skip(missing, allow_module_level=True)

P = 60
LABELS = list(explored_graphs.HOSTILE) + [f"v{i}" for i in range(P - len(explored_graphs.HOSTILE))]


@pytest.fixture(scope="module")
def fit():
    return explored_graphs.result(P, LABELS)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    opened = browser.Browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def file(fit, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "graph.html"
    show_page(explorer_content.content(fit, stability=np.linspace(0, 1, len(fit.sparse_graph))), path, show=False)
    return path


@pytest.fixture
def page(chromium, file):
    """The page, newly opened. After the test: it has asked for nothing but itself, and the console is empty."""
    chromium.requests()
    chromium.complaints()
    chromium.open(file)
    yield chromium
    assert chromium.requests() == [file.as_uri()]
    assert chromium.complaints() == []
    assert chromium.script("return document.title") == "PC-stable graph – pycupc"  # no label ran as a script


def search(page, text):
    page.click("#search")
    page.script("document.getElementById('search').value = ''")
    page.keys(text, "Enter")


def table_pairs(page):
    """Pairs of all rows of the table, as labels."""
    return {frozenset(pair) for pair in page.script("return table.rows.map(k => pairOfRow(k).map(name))")}


def neighbours(fit, label):
    graph = fit.sparse_graph
    return {fit.labels[v] for v in graph.around([fit.labels.index(label)], 1)} - {label}


def hub(fit):
    """The variable of a plain label with most neighbours."""
    degree = fit.sparse_graph.degrees().copy()
    degree[: len(explored_graphs.HOSTILE)] = 0
    return fit.labels[int(degree.argmax())]


def test_it_loads_and_draws(page, fit):
    assert page.text("#facts").startswith(f"{P} variables, {len(fit.sparse_graph)} edges")
    colours = page.script(
        "const c = view.canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i+1] << 8 | d[i+2]);"
        "return seen.size"
    )
    assert colours > 50
    assert page.script("return table.rows.length") == len(fit.sparse_graph)
    assert page.script("return view.labelled.length + boxed.alone.length") == P


def test_search_shows_the_neighbourhood_and_the_table_follows(page, fit):
    label = hub(fit)
    search(page, label)
    assert page.text("#details h2") == label
    near = neighbours(fit, label)
    assert set(page.script("return state.nodes.map(name)")) == near | {label}
    assert table_pairs(page) == {frozenset((label, other)) for other in near}
    assert f"of {label}" in page.text("#scope")


def test_a_click_lets_the_neighbourhood_grow(page, fit):
    label = hub(fit)
    search(page, label)
    other = max(neighbours(fit, label), key=lambda name: len(neighbours(fit, name)))
    before = set(page.script("return state.nodes.map(name)"))
    x, y = page.script(
        "const b = view.canvas.getBoundingClientRect(), at = place(graph.labels.indexOf(arguments[0]));"
        "return [b.left + at[0], b.top + at[1]]",
        other,
    )
    page.click_at(x, y)
    after = set(page.script("return state.nodes.map(name)"))
    assert after == before | neighbours(fit, other)
    assert after > before
    assert page.text("#details h2") == shown(other)
    page.click("#whole")
    assert len(page.script("return state.nodes")) == P


def shown(label):
    """A label as innerText gives it: white space is one space."""
    return " ".join(label.split())


def click_edge(page, a, b):
    """Click the middle of an edge in the picture."""
    x, y = page.script(
        "const b = view.canvas.getBoundingClientRect();"
        "const [p, q] = [...arguments].map(l => place(graph.labels.indexOf(l)));"
        "return [b.left + (p[0] + q[0]) / 2, b.top + (p[1] + q[1]) / 2]",
        a,
        b,
    )
    page.click_at(x, y)


def test_a_click_on_an_edge_says_why_it_is_there(page, fit):
    label = hub(fit)
    search(page, label)
    for other in sorted(neighbours(fit, label)):
        click_edge(page, label, other)
        if set(page.script("return (state.pair || []).map(name)")) == {label, other}:
            break
    else:
        raise AssertionError("no edge could be clicked")
    why = fit.why(label, other)
    text = page.text("#details")
    assert page.script("return pText(arguments[0])", why.p) in text
    if why.arrow is not None:
        assert ("Collider" if why.arrow[0] == "collider" else "rule") in text
    assert f"{why.n_tests:,.0f}, at levels 0 to " in text
    assert "correlation r" in text
    assert "stability frequency" in text


def test_a_removed_pair_says_why_it_went(page, fit):
    """Every removed pair is reachable by the two fields; the answer is that of fit.why(), also without conditioning."""
    page.click("#list-removed")
    m = len(fit.removals.x)
    assert page.script("return table.rows.length") == m
    pairs = [(int(fit.removals.x[k]), int(fit.removals.y[k])) for k in (0, m // 2, m - 1)]
    gone = np.argwhere(~fit.skeleton & np.triu(np.ones((P, P), bool), 1)).tolist()
    for pair in [*pairs, next(pair for pair in gone if fit.why(*pair).level == 0)]:
        why = fit.why(*pair)
        facts = dict(page.script("return why(...arguments).facts", *pair))
        assert facts["level"] == str(why.level)
        assert float(facts["p-value"]) == pytest.approx(why.p, rel=1e-2)
        if why.level == 0:
            assert float(facts["correlation r"]) == pytest.approx(why.r, rel=1e-3)
            continue
        assert facts["separating set"] == "{" + ", ".join(why.S) + "}"
        assert facts["side"].startswith(why.side)
        assert float(facts["partial correlation r"]) == pytest.approx(why.r, rel=1e-3)
        assert float(facts["margin (cutoff − |r|)"].removeprefix("< ")) == pytest.approx(why.margin, rel=1e-2, abs=1e-6)
    x, y = (
        LABELS[v] for v in next((a, b) for a, b in zip(fit.removals.x, fit.removals.y, strict=True) if min(a, b) >= 12)
    )
    for field, label in (("#one", x), ("#two", y)):
        page.click(field)
        page.keys(label, "Enter")
    assert page.text("#details .status") == "no edge"
    assert "Removed at level" in page.text("#details")
    assert page.text("#details").count("separating set") == 1


def test_a_pair_that_was_not_tested_says_so(chromium, tmp_path):
    codes, levels = rare_levels()
    fit = pycupc.pc(DiscreteSuffStat(codes, levels, labels=list("abcde")), disCItest, alpha=0.01)
    chromium.open(fit.explore(tmp_path / "graph.html", show=False))
    few = "not enough data: 1,500 observations needed, 600 there"
    chromium.script("selectPair(2, 0); update()")
    assert f"Removed at level 1 without a test given {{b}}: {few}." in chromium.text("#details")
    chromium.script("selectPair(4, 3); update()")
    text = "Removed at level 0 without a test: not enough data: 1,210 observations needed, 600 there."
    assert text in chromium.text("#details")
    chromium.script("selectPair(0, 3); update()")
    assert "independent without conditioning" in chromium.text("#details")
    chromium.click("#list-removed")
    assert chromium.text("#body").count(few) == 3
    assert chromium.complaints() == []


def test_filters(page, fit):
    table = fit.edges()
    page.click("#most-p")
    page.keys("1e-6")
    expected = table[table["pMax"] <= 1e-6]
    assert table_pairs(page) == {frozenset(pair) for pair in zip(expected["from"], expected["to"], strict=True)}
    page.click("#reset")
    page.click("#undirected")
    expected = table[table["type"] != "undirected"]
    assert table_pairs(page) == {frozenset(pair) for pair in zip(expected["from"], expected["to"], strict=True)}
    page.click("#reset")
    page.click("#low")
    page.keys("4")
    degree = dict(zip(fit.labels, fit.sparse_graph.degrees().tolist(), strict=True))
    pairs = {frozenset(pair) for pair in zip(table["from"], table["to"], strict=True)}
    assert table_pairs(page) == {pair for pair in pairs if min(degree[label] for label in pair) >= 4}
    page.click("#reset")
    page.script("document.getElementById('stability').value = '0.5'; filtersChanged()")
    assert len(table_pairs(page)) == round(len(table) / 2)
    page.click("#reset")
    assert len(page.script("return table.rows")) == len(table)


def use_filter(page, field, value):
    page.script("byId(arguments[0]).value = arguments[1]; filtersChanged()", field, value)


def test_variables_that_filters_leave_without_edges_go_and_the_others_are_placed_again(page, fit):
    table = fit.edges()
    places = "return drawnNodes().map(v => [name(v), ...position(v)])"
    before = {label: place for label, *place in page.script(places)}
    left = table[table["pMax"] <= 1e-12]
    use_filter(page, "most-p", "1e-12")
    after = {label: place for label, *place in page.script(places)}
    assert set(after) == set(left["from"]) | set(left["to"])
    assert 10 < len(after) < len(before)
    assert all(after[label] != before[label] for label in after)
    assert set(page.script("return view.labelled.map(l => name(l.v))")) <= set(after)
    page.script("select(state.nodes[0]); recompute(); update()")  # a selection moves nothing
    assert {label: place for label, *place in page.script(places)} == after
    page.click("#reset")
    assert {label: place for label, *place in page.script(places)} == before
    use_filter(page, "stability", "0.5")
    assert len(page.script(places)) < len(before)
    page.click("#reset")
    use_filter(page, "high", "0")  # those that never had an edge have not lost any
    alone = int((fit.sparse_graph.degrees() == 0).sum())
    assert page.script("return [boxed.nodes.length, boxed.alone.length]") == [0, alone]
    assert page.text("#alone").count(",") == alone - 1


def test_an_empty_neighbourhood_says_that_filters_hide_it(page, fit):
    label = hub(fit)
    search(page, label)
    use_filter(page, "most-p", "1e-320")
    assert page.script("return state.nodes.map(name)") == [label]
    assert page.text("#mode") == "no edge passes the filters"
    page.click("#reset")
    page.click("#whole")
    assert "whole graph" in page.text("#mode")


def test_the_table_folds_away(page):
    height = page.script("return view.canvas.getBoundingClientRect().height")
    page.click("#fold")
    assert page.script("return byId('rows').getBoundingClientRect().height") == 0
    assert page.script("return view.canvas.getBoundingClientRect().height") > height + 100
    assert page.text("#fold") == "Show table"
    page.click("#fold")
    assert page.script("return view.canvas.getBoundingClientRect().height") == height


def test_sign_and_strength_of_correlations_are_drawn_and_explained(page, fit):
    groups = page.script("return byStrength(state.edges).map(edges => edges.map(k => Math.abs(graph.r[k])))")
    assert [len(group) > 0 for group in groups] == [True, True, True]
    assert max(groups[0]) < 0.3 <= min(groups[1]) <= max(groups[1]) < 0.6 <= min(groups[2])
    assert page.script("return THICKNESS.every((t, i) => i === 0 || t > THICKNESS[i - 1])")
    lines = page.script(
        "let bars = 0; const none = () => {};"
        "const c = { beginPath: none, lineTo: none, stroke: none, moveTo: () => bars++ };"
        "const at = { x: [], y: [] }; graph.labels.forEach((_, v) => { at.x[v] = 50 * v; at.y[v] = 0; });"
        "drawSigns(c, at, state.edges); return [bars, state.edges.filter(k => graph.r[k] < 0).length]"
    )
    assert lines[0] == lines[1] > 0
    assert "correlation |r| below 0.3, up to 0.6, above" in page.text("#legend")
    assert "negative r" in page.text("#legend")


@pytest.mark.parametrize("p", [30, 60])
def test_all_labels_are_there_at_1440_x_900_and_the_picture_is_filled(chromium, tmp_path, p):
    show_page(explorer_content.content(explored_graphs.result(p)), tmp_path / "g.html", show=False)
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
    chromium.open(tmp_path / "g.html")
    assert chromium.script("return view.labelled.length + boxed.alone.length") == p
    low, high, size = chromium.script(
        "const at = drawnNodes().map(place), of = (f, i) => f(...at.map(a => a[i]));"
        "return [[of(Math.min, 0), of(Math.min, 1)], [of(Math.max, 0), of(Math.max, 1)], [view.width, view.height]]"
    )
    assert all(b - a > 0.75 * s for a, b, s in zip(low, high, size, strict=True))
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=1360, height=900, deviceScaleFactor=1, mobile=False)


# names that are seen, and lines that run through the letters of a name: in the box of another variable, or over a dot's
CROSSED = """
  const through = [];
  for (const k of state.edges) {
    const points = lineOf(k);
    for (const v of boxed.nodes) {
      if (touches(k, v)) continue;
      const [x, y, w, h] = boxOf(v);
      const box = [x + w / 2, y + h / 2, w / 2, h / 2];
      if (points.some((p, i) => i && meetsAny(points[i - 1], p, box))) through.push([name(v), k]);
    }
  }
  return [view.labelled.length, boxed.nodes.length, through];
"""


@pytest.mark.parametrize(("width", "height"), [(1400, 1000), (900, 800), (412, 915)])
@pytest.mark.parametrize("p", [12, 30, 60])
def test_edges_cross_no_name_and_all_names_are_shown_or_none(chromium, tmp_path, p, width, height):
    show_page(explorer_content.content(explored_graphs.result(p)), tmp_path / "g.html", show=False)
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    chromium.open(tmp_path / "g.html")
    named, boxes, crossed = chromium.script(CROSSED)
    assert crossed == []
    assert named == boxes or (named == 0 and p * 1000 > 50 * width)
    assert ("come closer (+) to read the names" in chromium.text("#mode")) == (named == 0)
    overlap = chromium.script(
        "const b = boxed.nodes.map(boxOf);"
        "return b.filter((p, i) => b.some((q, j) => j < i && p[0] < q[0] + q[2] && q[0] < p[0] + p[2]"
        " && p[1] < q[1] + q[3] && q[1] < p[1] + p[3])).length"
    )
    assert overlap == 0
    chromium.script("startAt(graph.degree.indexOf(Math.max(...graph.degree))); update({ fit: true })")
    assert chromium.script(CROSSED)[2] == []
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=1360, height=900, deviceScaleFactor=1, mobile=False)


def test_the_dots_of_a_larger_graph_are_named_where_no_line_is(chromium, tmp_path):
    show_page(explorer_content.content(explored_graphs.result(150)), tmp_path / "g.html", show=False)
    chromium.open(tmp_path / "g.html")
    assert not chromium.script("return boxed.on")
    assert chromium.script("return view.labelled.length") > 75
    free = chromium.script(
        "const ink = cellsOf(state.edges.map(lineOf));"
        "return view.labelled.filter(l => !coversInk([l.x, l.y - 7, l.x + l.width, l.y + 7], ink)).length"
    )
    assert free > 0.5 * chromium.script("return view.labelled.length")
    assert chromium.complaints() == []


@pytest.mark.parametrize("p", [100, 300])
def test_the_hubs_of_a_larger_graph_are_named(chromium, tmp_path, p):
    fit = explored_graphs.result(p, n=600)
    show_page(explorer_content.content(fit), tmp_path / "g.html", show=False)
    chromium.open(tmp_path / "g.html")
    degree = fit.sparse_graph.degrees()
    hubs = np.argsort(-degree, kind="stable")[:12]
    assert degree[hubs[0]] > 5
    named = chromium.script("return view.labelled.map(l => l.text)")
    assert {fit.labels[v] for v in hubs if degree[v] >= 5} <= {*named}
    boxes = "const b = view.labelled.map(l => [l.x, l.y - 7, l.x + l.width, l.y + 7]);"
    meet = "b.some((q, j) => j < i && p[0] < q[2] && q[0] < p[2] && p[1] < q[3] && q[1] < p[3])"
    assert chromium.script(f"{boxes} return b.filter((p, i) => {meet}).length") == 0


GROUPS = {"first": LABELS[:20], "second": LABELS[20:40]}


@pytest.fixture
def grouped(chromium, fit, tmp_path):
    chromium.complaints()
    chromium.open(fit.explore(tmp_path / "grouped.html", show=False, groups=GROUPS, name="my <data>"))
    yield chromium
    assert chromium.complaints() == []


def test_groups_are_drawn_listed_and_filtered(grouped, fit):
    assert {"first", "second"} <= set(grouped.text("#legend").split())
    looks = grouped.script("return [0, 20, 50].map(v => groupLook(v)).map(l => l && l.form)")
    assert looks == ["round", "square", None]
    grouped.click("#group2")
    left = {LABELS.index(label) for pair in table_pairs(grouped) for label in pair}
    assert left
    assert not left & set(range(20, 40))
    grouped.click("#reset")
    assert len(grouped.script("return table.rows")) == len(fit.sparse_graph)


def test_the_headline_is_the_name_of_the_data_and_the_foot_says_how_to_cite(grouped):
    assert grouped.text("#title") == "my <data>"
    assert grouped.text("#facts").startswith("PC-stable graph: 60 variables")
    assert pycupc.__version__ in grouped.text("#foot")
    assert "Please cite" in grouped.text("#foot")


def test_the_picture_is_saved_as_svg_and_png_and_the_table_as_csv(grouped, fit):
    from xml.etree import ElementTree

    svg = ElementTree.fromstring(grouped.script("return svgOfPicture()"))
    texts = [node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")]
    named = grouped.script("return view.labelled.map(l => l.text)")
    assert texts == named
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) > len(fit.sparse_graph) / 20
    rows = list(csv.reader(io.StringIO(grouped.script("return csvOfTable()"), newline="")))
    assert rows[0][:4] == ["from", "edge", "to", "type"]
    edges = fit.edges()
    assert [(row[0], row[2]) for row in rows[1:]] == list(zip(edges["from"], edges["to"], strict=True))
    grouped.script(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href]); }"
    )
    for button, ending in (("#save-svg", ".svg"), ("#save-png", ".png"), ("#save-csv", "-edges.csv")):
        grouped.click(button)
        grouped.wait("saved.length")
        name, address = grouped.script("return saved.pop()")
        assert name == f"my_data_{ending}"
        assert address.startswith("blob:")


def test_a_variable_is_dragged_by_mouse_or_keys_and_the_link_keeps_its_place(grouped):
    at = "const [x, y, w, h] = boxOf(boxed.nodes[0]), b = view.canvas.getBoundingClientRect();"
    x, y = grouped.script(at + "return [b.left + x + w / 2, b.top + y + h / 2]")
    grouped.drag(x, y, x + 40, y + 30)
    moved = grouped.script(at + "return [b.left + x + w / 2, b.top + y + h / 2]")
    assert moved == pytest.approx([x + 40, y + 30], abs=2)
    assert grouped.script("return location.hash").startswith("#boxes=")
    assert grouped.script("return state.node") is None  # to drag is not to select
    places = grouped.script("return [...boxed.places.values()].map(p => p.map(Math.round))")
    grouped.script("location.reload()")
    grouped.wait("performance.getEntriesByName('drawn').length")
    assert grouped.script("return [...boxed.places.values()].map(p => p.map(Math.round))") == places
    grouped.script("select(boxed.nodes[0]); update(); view.canvas.focus(); view.before = position(state.node)[0]")
    grouped.script(
        "view.canvas.dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'ArrowRight', shiftKey: true, bubbles: true, cancelable: true }))"
    )
    assert grouped.script("return position(state.node)[0] - view.before") > 5
    grouped.click("#places")
    assert grouped.script("return location.hash") in ("", "#")
    assert grouped.script("return [...boxed.places.values()].map(p => p.map(Math.round))") != places


def test_on_a_phone_the_answer_is_a_sheet_in_sight(chromium, file):
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=412, height=915, deviceScaleFactor=1, mobile=False)
    chromium.open(file)
    chromium.script("selectPair(graph.tail[0], graph.head[0]); update()")
    low, high = chromium.script("const b = byId('details').getBoundingClientRect(); return [b.top, b.bottom]")
    assert 400 < low < high == 915
    chromium.click("#close")
    assert chromium.script("return state.pair") is None
    assert chromium.script("return getComputedStyle(byId('details')).position") == "static"
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=1360, height=900, deviceScaleFactor=1, mobile=False)


def test_terms_are_explained_where_they_stand(page, fit):
    page.script("selectPair(graph.tail[0], graph.head[0]); update()")
    for k, _ in enumerate(page.script("return [...document.querySelectorAll('.term')].map(t => t.innerText)")):
        page.script("document.querySelectorAll('.term summary')[arguments[0]].click()", k)
    text = page.text("#details")
    assert "How likely the data show a relation at least this strong" in text
    terms = page.script(
        "const all = new Set(); for (let k = 0; k < graph.m; k++) for (const [t] of whyKept(k).facts) all.add(t);"
        "for (let k = 0; k < graph.removed.x.length; k++) for (const [t] of whyRemoved(k).facts) all.add(t);"
        "return [...all].filter(t => !TERMS.some(([p]) => p.test(t)))"
    )
    assert terms == []


def test_dark_where_the_system_is_dark_but_not_on_paper(chromium, file):
    chromium.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    chromium.open(file)
    background = "return getComputedStyle(document.body).backgroundColor"
    assert chromium.script(background) == "rgb(23, 32, 39)"
    pixel = "const d = view.canvas.getContext('2d').getImageData(1, 1, 1, 1).data; return [...d]"
    assert chromium.script(pixel)[:3] == [16, 23, 29]
    assert 'fill="#ffffff"' in chromium.script("return svgOfPicture()").partition("/>")[0]
    chromium.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    chromium.open(file)
    assert chromium.script(background) == "rgb(244, 246, 248)"
    assert chromium.script(pixel)[:3] == [255, 255, 255]


def test_no_button_is_printed(page):
    page.cdp("Emulation.setEmulatedMedia", media="print")
    page.script("select(0); update()")
    seen = page.script(
        "return [...document.querySelectorAll('button')].filter(b => b.offsetParent !== null && b.id).map(b => b.id)"
    )
    page.cdp("Emulation.setEmulatedMedia", media="")
    assert seen == []


def test_the_direction_of_the_edges_of_the_selected_variable(page, fit):
    label = hub(fit)
    table = fit.edges()
    directed = table[table["type"] == "directed"]
    search(page, label)
    for way, end, other in (("in", "to", "from"), ("out", "from", "to")):
        page.script("document.getElementById('way').value = arguments[0]; filtersChanged()", way)
        assert table_pairs(page) == {frozenset((label, name)) for name in directed[directed[end] == label][other]}


def test_the_table_is_sorted_and_its_rows_select_edges(page, fit):
    page.click("#head > span:nth-child(5) > button")
    p = page.script("return table.rows.map(k => graph.p[k])")
    assert p == sorted(p)
    page.click("#rows")
    page.keys("ArrowDown", "ArrowDown")
    assert page.script("return table.active") >= 1
    pair = page.script("return state.pair.map(name)")
    assert fit.why(*pair).status == "kept"
    assert page.script("return document.querySelector('[aria-selected=true][role=row]') !== null")


def test_further_columns_are_in_the_table_and_in_the_panel(chromium, fit, tmp_path):
    m = len(fit.sparse_graph)
    texts = np.array([f"<b>{k}" for k in range(m)], dtype=object)
    content = replace(explorer_content.content(fit), columns={"half": np.arange(m) / 2, "mark": texts})
    show_page(content, tmp_path / "columns.html", show=False)
    chromium.open(tmp_path / "columns.html")
    titles = chromium.script("return EDGE_COLUMNS.map(([title]) => title)")
    assert titles[4:8] == ["p", "r", "half", "mark"]
    for column in (7, 8):
        chromium.click(f"#head > span:nth-child({column}) > button")
        assert len(chromium.script("return table.rows")) == m
    assert chromium.script("return rowElement(0).textContent").find("<b>") > 0
    facts = dict(chromium.script("return whyKept(3).facts"))
    assert (facts["half"], facts["mark"]) == ("1.5", "<b>3")
    assert chromium.complaints() == []


def test_everything_can_be_reached_by_keys(page, fit):
    label = hub(fit)
    page.script("document.activeElement.blur()")
    page.keys("/")
    page.keys(label, "Enter")
    assert page.text("#details h2") == label
    page.script("view.canvas.focus()")
    page.keys("n")
    beside = page.script("return name(state.node)")
    assert beside in neighbours(fit, label)
    before = len(page.script("return state.nodes"))
    page.keys("Enter")
    more = len(neighbours(fit, beside) - neighbours(fit, label) - {label})
    assert len(page.script("return state.nodes")) == before + more
    page.keys("w")
    assert not page.script("return state.near")
    page.keys("Escape")
    assert page.script("return state.node === null")
    focusable = page.script(
        "const all = [...document.querySelectorAll('button, input, select, summary, [tabindex]')];"
        "return all.every(e => e.tabIndex >= 0)"
    )
    assert focusable


@pytest.mark.parametrize("label", explored_graphs.HOSTILE)
def test_hostile_labels_are_text(page, fit, label):
    v = LABELS.index(label)
    page.script("startAt(arguments[0]); update({ fit: true })", v)
    assert page.script("return document.querySelector('#details h2').textContent") == label
    assert page.script("return document.querySelectorAll('script').length") == 2
    assert page.script("return document.querySelectorAll('img, iframe, object, link').length") == 0
    other = int((v + 1) % P)
    page.script("selectPair(...arguments); update()", v, other)
    assert label in page.script("return document.querySelector('#details').textContent")
    assert page.script("return document.documentElement.scrollWidth <= innerWidth")  # nothing widens the page
    page.script(
        "document.getElementById('search').value = arguments[0]; document.getElementById('search').oninput()",
        " ".join(label.split())[:40],
    )
    assert page.script("return document.querySelectorAll('#found li[role=option]').length") >= 1


def test_no_request_can_leave_the_page(chromium, file, tmp_path):
    """Even a script of the page itself may not ask for anything."""
    chromium.open(file)
    chromium.requests()
    tried = chromium.script(
        "const image = new Image(); image.src = 'https://example.org/x.png';"
        "return fetch('https://example.org/').then(() => 'asked', () => 'refused')"
    )
    assert tried == "refused"
    assert chromium.requests() == [] or all("example.org" not in url for url in chromium.requests())
    assert any("Content Security Policy" in text for text in chromium.complaints())


def test_it_prints(page):
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000


def test_the_size_of_a_large_page(tmp_path):
    """2,000 variables and as many removed pairs as a page ever lists."""
    from explored_graphs import large

    p, k = 2_000, 100_000
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, p, k), rng.integers(0, p, k)
    content = explorer_content.content(large(p, 3_000))
    removed = explorer_content.RemovedPairs(
        x, y, np.full(k, 2), rng.integers(0, p, 2 * k), rng.uniform(-0.1, 0.1, k), None, 2
    )
    path = tmp_path / "large.html"
    show_page(type(content)(**{**vars(content), "removed": removed, "cutoffs": [0.2, 0.2, 0.2]}), path, show=False)
    assert path.stat().st_size < 8e6


def test_the_page_of_a_consensus_has_shares_in_place_of_tests(chromium, tmp_path):
    result = pycupc.stability(explored_graphs.table(12), n_resamples=4, random_state=1)
    consensus = result.consensus()
    consensus.explore(tmp_path / "stable.html", show=False)
    chromium.complaints()
    chromium.open(tmp_path / "stable.html")
    assert chromium.text("#title") == "Consensus of PC-stable graphs"
    assert chromium.script("return [...document.querySelectorAll('#head button')].map(e => e.innerText)") == [
        *("from", "edge", "to", "type", "stability")
    ]
    for k, (a, b) in enumerate(chromium.script("return state.edges.map(k => [graph.tail[k], graph.head[k]])")):
        facts = dict(chromium.script("return why(...arguments).facts", a, b))
        for mark in ("adjacent", "undirected", "bidirected"):
            assert float(facts[f"share of the resamples: {mark}"]) == consensus.frequencies[mark][k]
    missing = np.argwhere(~consensus.skeleton & np.triu(np.ones((12, 12), bool), 1))[0].tolist()
    assert "Adjacent in too few of the resamples" in chromium.script("return why(...arguments).text", *missing)
    chromium.script("startAt(graph.tail[0]); update({ fit: true })")
    assert "in " in chromium.text(".neighbours small")
    for hidden in ("#p-row", "#negative"):
        assert not chromium.script("return document.querySelector(arguments[0]).offsetParent", hidden)
    assert "stability below 0.7, up to 0.9, above" in chromium.text("#legend")
    assert chromium.complaints() == []


def test_circles_have_their_legend_filters_and_signs(chromium, fit, tmp_path):
    edges = fit.sparse_graph
    first, second = np.arange(len(edges)) % 3 + 1, np.arange(len(edges)) // 3 % 3 + 1
    graph = SparseGraph(P, edges.low, edges.high, first.astype(np.int8), second.astype(np.int8))
    pag = replace(fit, sparse_graph=graph, trace={})
    chromium.complaints()
    chromium.open(pag.explore(tmp_path / "pag.html", show=False))
    kinds = pag.edges()["type"].tolist()
    assert chromium.script("return state.edges.map(k => KINDS[graph.kind[k]])") == kinds
    signs = {"nondirected": "o—o", "partially directed": "o→", "partially undirected": "o—"}
    for kind, sign in signs.items():
        assert kind in chromium.text("#legend")
        k = kinds.index(kind)
        assert chromium.script("return signFrom(arguments[0], graph.tail[arguments[0]])", k) == sign
        assert chromium.script("return signFrom(arguments[0], graph.head[arguments[0]])", k) == sign[::-1].replace(
            "→", "←"
        )
        facts = dict(chromium.script("return whyKept(arguments[0]).facts", k))
        assert sum(name.startswith("circle at ") for name in facts) == 1 + (kind == "nondirected")
        chromium.click(f"#{kind.replace(' ', '-')}")
        assert len(chromium.script("return table.rows")) == len(edges) - kinds.count(kind)
        chromium.click("#reset")
    low, high = pag.sparse_graph.low, pag.sparse_graph.high
    for way, mark in (("in", 2), ("out", 3)):
        v = int(low[0])
        ends = np.r_[first[low == v], second[high == v]], np.r_[second[low == v], first[high == v]]
        expected = (ends[0] == mark).sum() if way == "in" else ((ends[0] == 3) & (ends[1] == 2)).sum()
        chromium.script("startAt(arguments[0]); byId('way').value = arguments[1]; filtersChanged()", v, way)
        assert len(chromium.script("return table.rows")) == expected
    assert chromium.complaints() == []


def test_without_circles_nothing_is_said_of_them(page):
    assert "nondirected" not in page.text("#legend") + page.text("#filters")


def test_a_page_runs_in_the_frame_of_a_notebook(chromium, fit, tmp_path):
    shown = InlinePage(explorer_content.content(fit), None)
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><body>{shown._repr_html_()}", encoding="utf-8")
    chromium.complaints()
    chromium.open(tmp_path / "notebook.html")
    from PIL import Image

    for _ in range(120):  # the frame, which no script of the test may enter, draws some time after it is loaded
        chromium.screenshot(tmp_path / "notebook.png")
        with Image.open(tmp_path / "notebook.png") as picture:
            drawn = len(picture.convert("RGB").getcolors(1 << 24)) > 50
        if drawn:
            break
        time.sleep(0.5)
    assert drawn
    assert chromium.complaints() == []


def test_what_was_left_out_is_said(chromium, tmp_path):
    from explored_graphs import large

    show_page(explorer_content.content(large(6_000, 25_000)), tmp_path / "part.html", show=False)
    chromium.open(tmp_path / "part.html")
    assert "the 5,000 variables with most neighbours, of 6,000" in chromium.text("#note")
    assert chromium.script(
        "return why(0, 1).status === 'edge' || why(0, 1).status === 'not known here' || data.edges_left_out === 0"
    )


IGNORED = pytest.mark.filterwarnings("ignore:effects were computed although the graph is not a CPDAG")


@IGNORED
def test_effects_of_a_variable_and_on_it(fit, chromium, tmp_path):
    E = pycupc.effects(fit, np.corrcoef(np.random.default_rng(0).standard_normal((2 * P, P)), rowvar=False))
    show_page(explorer_content.content(fit, effects=E), tmp_path / "effects.html", show=False)
    chromium.open(tmp_path / "effects.html")
    value = E.with_intervals()[0]
    np.fill_diagonal(value, 0.0)
    for way in (value, value.T):
        x = int(np.nanargmax(np.nanmax(np.abs(way), axis=1)))
        y = int(np.nanargmax(np.abs(way[x])))
        chromium.script("startAt(arguments[0]); update()", x)
        lists = chromium.script(
            "return [...document.querySelectorAll('.effects')].map(l => l.querySelector('button').title)"
        )
        assert lists[way is not value] == LABELS[y]
    shown = chromium.script("return document.querySelectorAll('.effects .sure, .effects .unsure').length")
    assert shown == len(
        chromium.script("return [...document.querySelectorAll('.effect > small')].map(t => t.innerText)")
    )
    assert chromium.complaints() == []


@IGNORED
def test_effects_in_different_units_have_axes_of_their_own(fit, chromium, tmp_path):
    E = pycupc.effects(fit, np.corrcoef(np.random.default_rng(0).standard_normal((2 * P, P)), rowvar=False))
    units = {label: ("kg", "m")[k % 2] for k, label in enumerate(LABELS)}
    chromium.open(fit.explore(tmp_path / "units.html", show=False, effects=E, units=units))
    value = E.with_intervals()[0]
    np.fill_diagonal(value, 0.0)
    chromium.script("startAt(arguments[0]); update()", int(np.argmax((np.abs(np.nan_to_num(value)) > 0).sum(axis=1))))
    axes = chromium.script("return [...document.querySelectorAll('.axis')].map(a => a.innerText)")
    assert any("kg per" in axis for axis in axes)
    assert any(axis.startswith("m per") for axis in axes)
    own = chromium.script(
        "return [...document.querySelectorAll('.effects')].map(l => [...l.querySelectorAll('.effect')]"
        ".map(r => [r.dataset.unit, Math.abs(Number(r.querySelector('circle').getAttribute('cx')) - 36)]))"
    )
    changes = [sum(a[0] != b[0] for a, b in pairwise(rows)) for rows in own]
    assert max(changes) <= 1  # the rows of a unit are together
    with pytest.raises(ValueError, match="units must be of variables of the graph, got 'nobody'"):
        fit.explore(tmp_path / "x.html", show=False, units={"nobody": "kg"})
    assert chromium.complaints() == []


@IGNORED
def test_effects_of_many_variables_are_left_out_and_the_page_says_so(fit, monkeypatch):
    monkeypatch.setattr(explorer_content, "MAX_EFFECTS", P - 1)
    E = pycupc.effects(fit, np.eye(P))
    content = explorer_content.content(fit, effects=E)
    assert not content.effects
    assert content.note.endswith("Effects are shown of at most 59 variables: choose some with `around`.")
    few = explorer_content.content(fit, effects=E, around=LABELS[5], radius=1)
    assert few.effects["value"].shape == (few.graph.p, few.graph.p)
    with pytest.raises(ValueError, match="got effects of other variables"):
        explorer_content.content(fit, effects=pycupc.effects(explored_graphs.result(4, list("abcd")), np.eye(4)))
