"""`pycupc estimate`."""

import json

import pytest
from command_runs import printed
from common import run

import pycupc
from pycupc import cli
from pycupc.data import EXAMPLES, load_example
from pycupc.discrete import DiscreteSuffStat, disCItest


def test_estimate_counts_are_those_of_the_run(here, capsys):
    assert run("estimate", "--example=cell_nuclei", "--alpha", "0.05", "--json") == cli.OK
    stages = json.loads(printed(capsys)[0])["stages"]
    fit = pycupc.skeleton(pycupc.SuffStat.from_data(load_example("cell_nuclei")), alpha=0.05)
    assert [s["level"] for s in stages] == [-1, 0, 1]
    assert [s["edges"] for s in stages] == [435, fit.levels[0].edges_left, fit.levels[1].edges_left]
    assert [s["n_tests"] for s in stages[1:]] == fit.n_edgetests[:2]


def test_estimate_prints_a_table(here, capsys):
    assert run("estimate", "--example=cell_nuclei", "--levels", "1") == cli.OK
    out, _ = printed(capsys)
    assert "after level 0" in out
    assert "after level 1" not in out
    assert run("estimate", "--example=cell_nuclei", "--levels", "0", "--alpha", "0") == cli.OK
    assert run("estimate", "--example=cell_nuclei", "--alpha", "0") == cli.OK  # empty at once
    assert "No level is left to run" in printed(capsys)[0]


@pytest.mark.parametrize("arguments", [["--example", "discrete"], [str(EXAMPLES["sprinkler"]), "--test", "discrete"]])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_the_command_estimates_discrete_data(capsys, arguments, engine):
    assert cli.main(["estimate", *arguments, "--engine", engine]) == cli.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("5 variables, 3,000 observations, alpha 0.01, engine ")
    fit = pycupc.pc(DiscreteSuffStat.from_data(load_example("sprinkler")), disCItest, alpha=0.01)
    for level in (0, 1):
        line = next(line for line in lines if line.startswith(f"level {level}"))
        assert int(line.split()[-1]) == fit.n_edgetests[level]
