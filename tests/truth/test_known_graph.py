"""The example data with a known graph: as their scripts make them, and how much of the graph is found."""

import csv
import json

import make_greenhouse
import make_sprinkler
import numpy as np
import pytest
from common import refused

import pycupc
from pycupc import cli
from pycupc.data import EXAMPLES, TRUTHS, load_example
from pycupc.discrete import DiscreteSuffStat, disCItest

HIDDEN = "light", "temperature", "bidirected"


def edges(fit):
    return set(fit.edges()[["from", "to", "type"]].itertuples(index=False, name=None))


@pytest.mark.parametrize(("name", "script"), [("greenhouse", make_greenhouse), ("sprinkler", make_sprinkler)])
def test_the_files_are_what_the_scripts_write(name, script):
    assert EXAMPLES[name].read_text(encoding="utf-8") == script.table()
    assert TRUTHS[name].read_text(encoding="utf-8") == script.truth()
    assert EXAMPLES[name].stat().st_size < 150_000
    assert load_example(name).columns.tolist() == list(pycupc.load_truth(name).labels)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_pc_finds_the_graph_of_the_greenhouse(engine):
    found = pycupc.evaluate(pycupc.pc(load_example(), alpha=0.01, engine=engine), pycupc.load_truth(), as_cpdag=True)
    assert found.sentence == "19 of 19 edges found, 0 false; 18 of 18 arrows, 0 false"


def test_fci_finds_the_graph_without_the_sunshine():
    """Also of the correlations of infinitely many observations, whose graph is the true one."""
    x = load_example().drop(columns="sunshine")
    fit = pycupc.fci(x, alpha=0.01)
    assert HIDDEN in edges(fit)
    graph = pycupc.load_truth()
    tail, head, _ = graph.sparse_graph.edge_list()
    weights = np.zeros((graph.p, graph.p))
    weights[tail, head] = graph.coefficients
    way = np.linalg.inv(np.eye(graph.p) - weights)
    errors = [make_greenhouse.MODEL[name].error ** 2 for name in graph.labels]
    covariance = (way.T * errors @ way)[1:, 1:]
    scale = np.sqrt(np.diag(covariance))
    data = {"C": covariance / np.outer(scale, scale), "n": 1e6}
    assert edges(pycupc.fci(data, alpha=1e-9, labels=graph.labels[1:])) == edges(fit)


def test_effects_of_the_greenhouse_are_those_of_the_model():
    graph = pycupc.load_truth()
    assert graph.edges()["coefficient"].tolist()[:2] == [2.5, 0.8]
    assert graph.effect("lamps", "light") == pytest.approx(1.2)
    assert graph.effect("outside", "temperature") == pytest.approx(0.25 - 2 * 0.05)
    assert graph.effect("lamps", "harvest") == pytest.approx(1.2 * (0.4 + 0.1 * 1.2) * 0.2)
    assert (graph.effect("harvest", "lamps"), graph.effect("wind", "wind")) == (0, 1)
    x = load_example()
    effects = pycupc.effects(pycupc.pc(x, alpha=0.01), x)
    for cause, effect in (
        ("sunshine", "light"),
        ("sunshine", "harvest"),
        ("outside", "temperature"),
        ("vents", "mildew"),
    ):
        (reason,) = effects.why(cause, effect)
        assert reason.low < graph.effect(cause, effect) < reason.high
    of_lamps = {reason.parents: reason for reason in effects.why("lamps", "harvest")}
    assert of_lamps.keys() == {(), ("price",)}  # the direction of their edge is not known
    true = of_lamps["price",]
    assert true.low < graph.effect("lamps", "harvest") < true.high


def test_effects_of_simulated_data_are_known_too():
    known = pycupc.simulate(6, 10, degree=3, seed=2)
    total = np.linalg.inv(np.eye(6) - known.weight_matrix())
    assert [[known.graph.effect(i, j) for j in range(6)] for i in range(6)] == pytest.approx(total)


@pytest.mark.parametrize(("options", "truth"), [([], True), (["--drop", "wind"], False), (["--method", "fci"], False)])
def test_the_command_says_how_much_of_the_truth_it_found(here, capsys, options, truth):
    assert cli.main(["run", "--example", "--plot", "none", *options]) == cli.OK
    line = "the true graph is known: 19 of 19 edges found, 0 false; 18 of 18 arrows, 0 false"
    assert (line in capsys.readouterr().out) == truth
    manifest = json.loads((here / "example-pycupc" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest.get("truth") == (line if truth else None)


def test_the_truth_of_real_data_is_not_known(here, capsys):
    assert cli.main(["run", "--example", "cell_nuclei", "--plot", "none"]) == cli.OK
    assert "the true graph" not in capsys.readouterr().out
    refused("whose true graph is known, greenhouse or sprinkler, got 'cell_nuclei'", pycupc.load_truth, "cell_nuclei")


def test_names_of_example_data():
    assert load_example("continuous").equals(load_example("cell_nuclei"))  # the names of 0.2.0
    assert load_example("discrete").equals(load_example("sprinkler"))
    assert pycupc.load_truth("discrete").labels == pycupc.load_truth("sprinkler").labels
    text = "kind must be one of greenhouse, cell_nuclei, sprinkler, got 'green_house': did you mean greenhouse"
    refused(text, load_example, "green_house")
    refused("kind must be one of greenhouse", load_example, None)


CPDAG = {("season", "rain", "undirected"), ("season", "sprinkler", "undirected"), ("rain", "pavement", "directed")}
CPDAG |= {("sprinkler", "pavement", "directed"), ("pavement", "slippery", "directed")}


def test_the_table_has_the_levels_of_the_network():
    frame = load_example("sprinkler")
    assert frame.shape == (3000, 5)
    assert {name: set(frame[name]) for name in frame} == {k: set(v) for k, v in make_sprinkler.NETWORK.levels.items()}


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_the_true_graph_is_found(engine):
    fit = pycupc.pc(DiscreteSuffStat.from_data(load_example("sprinkler")), disCItest, alpha=0.01, engine=engine)
    assert set(fit.edges()[["from", "to", "type"]].itertuples(index=False, name=None)) == CPDAG


@pytest.mark.parametrize("arguments", [["--example", "discrete"], [str(EXAMPLES["sprinkler"]), "--test", "discrete"]])
def test_the_command_finds_it(tmp_path, capsys, arguments):
    out = tmp_path / "out"
    assert cli.main(["run", *arguments, "--plot", "none", "--quiet", "--out", str(out)]) == 0
    with (out / "edges.csv").open(newline="") as file:
        assert {(edge["from"], edge["to"], edge["type"]) for edge in csv.DictReader(file)} == CPDAG
    assert capsys.readouterr().err == ""
