"""`pycupc doctor`: the engines, the packages, the GPU."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_runs import printed
from common import run

from pycupc import cli
from pycupc.cli import doctor_command


def test_doctor_finds_which_engines_work(capsys):
    assert run("doctor", "--json", "--no-r") == cli.OK
    found = json.loads(printed(capsys)[0])
    assert found["engines"]["reference"]["works"]
    assert found["engines"]["cpu"]["works"]
    assert found["engines"]["gpu"]["works"] or len(found["engines"]["gpu"]["detail"]) > 20
    assert found["packages"]["always"]["numpy"] == np.__version__


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_doctor_lists_the_packages_of_r(capsys):
    assert run("doctor", "--json", "--no-engines") == cli.OK
    r = json.loads(printed(capsys)[0])["r"]
    assert set(r["packages"]) == {"pcalg", "graph", "Rgraphviz", "reticulate", "testthat", "pycupc"}
    assert int(r["version"].split(".")[0]) >= 4
    assert Path(r["home"]).is_dir()


def test_doctor_prints_a_report(capsys):
    assert run("doctor", "--no-engines") == cli.OK
    out, _ = printed(capsys)
    for heading in ("system", "packages", "gpu"):
        assert heading in out.splitlines()


def test_nothing_is_imported_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "rpy2").mkdir()
    (tmp_path / "rpy2" / "__init__.py").write_text("")
    (tmp_path / "rpy2" / "robjects.py").write_text("raise SystemExit('from the working directory')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # which may name it
    monkeypatch.setattr(doctor_command, "version_of", lambda name: "3.6.4")
    assert "from the working directory" not in doctor_command._rpy2()
