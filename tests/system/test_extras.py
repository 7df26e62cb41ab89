"""The base installation does its work without the packages of the extras, and says what a missing one is for."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tables import chain_table

import pycupc
from pycupc import cli
from pycupc.data import EXAMPLES, load_example, read_data

SENTENCE = r"a DataFrame of results needs pandas: pip install 'pycupc\[pandas\]'"


@pytest.fixture
def without_pandas(monkeypatch, here):
    """An environment in which pandas cannot be imported."""
    monkeypatch.setitem(sys.modules, "pandas", None)


def test_every_command_works_without_pandas(without_pandas):
    few = ["--resamples", "4", "--plot", "none"]
    commands = [
        "run --example=cell_nuclei --out first --plot none",
        "run --example=cell_nuclei --out second --plot none --missing pairwise",
        "run --example=discrete --out third --plot none",
        "plot first",
        "compare first first",
        "estimate --example=cell_nuclei",
        ["stability", "--example=cell_nuclei", *few],
        ["cstar", "--example=cell_nuclei", "--effect", "area_worst", "--cause", "area_mean", "radius_mean", *few],
        "doctor --no-engines --no-r",
    ]
    for command in commands:
        words = command.split() if isinstance(command, str) else command
        assert cli.main([*words, *["--quiet"] * (words[0] in ("run", "stability", "cstar"))]) == cli.OK, words


def test_tables_of_results_ask_for_pandas(without_pandas):
    fit = pycupc.pc(EXAMPLES["cell_nuclei"], alpha=0.01)
    E = pycupc.effects(fit, EXAMPLES["cell_nuclei"], causes=["area_worst"])
    tables = [fit.edges, fit.amat, fit.matrix, E.top, E.to_pandas, load_example, lambda: load_example("sprinkler")]
    for table in (*tables, lambda: read_data(EXAMPLES["cell_nuclei"])):
        with pytest.raises(ImportError, match=SENTENCE):
            table()
    assert "radius_mean" in fit.summary() + repr(fit.why("radius_mean", "smoothness_mean"))


def test_a_data_frame_as_input_imports_nothing(monkeypatch):
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 4)), columns=list("abcd"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert pycupc.pc(frame, alpha=0.05).labels == ("a", "b", "c", "d")


def test_only_the_libraries_that_are_needed_are_imported(here):
    """A CSV file needs neither pandas nor pyarrow; an array needs no library of tables."""
    np.savetxt("d.csv", chain_table(), delimiter=",", header="a,b,c,d,e", comments="")
    code = (
        "import sys, numpy, pycupc; pycupc.pc('d.csv'); pycupc.pc(numpy.loadtxt('d.csv', delimiter=',', skiprows=1));"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'narwhals', 'xarray', 'anndata', 'scipy.sparse', 'torch', 'cupy',"
        " 'openpyxl'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(pycupc.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "[]"
