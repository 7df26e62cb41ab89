"""The discrete example data: as their script makes them, and with the graph they were made from."""

import csv

import make_sprinkler
import pytest

import pycupc
from pycupc import cli
from pycupc.data import EXAMPLES, load_example
from pycupc.discrete import DiscreteSuffStat, disCItest

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
