"""``pycupc cstar``: what it writes, and that it agrees with `pycupc.cstar`."""

import json
from pathlib import Path

import pandas as pd
import pytest
from stability_data import gaussian

import pycupc
from pycupc import cli

FILES = {"cstar.npz", "manifest.json", "ranking.csv", "summary.txt"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gaussian(n=60, p=6).to_csv("data.csv", index=False)
    return tmp_path


def run(*args):
    return cli.main(["cstar", *map(str, args)])


def test_files(here, capsys):
    options = ("--effect", "v4", "v5", "--cause", "v0", "v1", "v4", "--q", 2, 4, "--resamples", 6, "--units")
    assert run("data.csv", *options, "--seed", 3, "--alpha", 0.1, "--plot", "none", "--out", "out") == cli.OK
    out, err = capsys.readouterr()
    assert err == ""
    assert {path.name for path in (here / "out").iterdir()} == FILES
    assert {path.name for path in here.iterdir()} == {"data.csv", "out"}  # the finished resamples are gone
    call = {"n_resamples": 6, "random_state": 3, "alpha": 0.1, "standardize": False}
    result = pycupc.cstar("data.csv", ["v0", "v1", "v4"], ["v4", "v5"], (2, 4), **call)
    assert pycupc.CStaR.load("out/cstar.npz") == result
    assert result.summary() in out
    pd.testing.assert_frame_equal(pd.read_csv("out/ranking.csv"), result.to_pandas(), check_dtype=False)
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert set(manifest["files"]) == FILES - {"manifest.json"}
    assert manifest["study"] == result.arguments


def test_picture_and_checkpoint(here):
    pytest.importorskip("matplotlib")
    options = ("--effect", "v5", "--quiet", "--checkpoint", "kept", "--force", "--out", "out", "--plot", "svg")
    assert run("data.csv", "--resamples", 2, "--q", 2, *options) == cli.OK
    assert "v5" in Path("out/ranking.svg").read_text(encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in Path("kept").glob("*.npz")}
    assert run("data.csv", "--resamples", 3, "--q", 2, *options) == cli.OK
    assert len(before) == 2
    assert before.items() < {path: path.stat().st_mtime_ns for path in Path("kept").glob("*.npz")}.items()


def test_tiers(here):
    Path("known.txt").write_text("addtemporal\n1 v0 v1 v2 v3 v4\n2 v5\n")
    options = ("--effect", "v5", "--resamples", 4, "--seed", 1, "--alpha", 0.1, "--plot", "none", "--quiet")
    assert run("data.csv", *options, "--tiers", "known.txt", "--out", "out") == cli.OK
    call = {"effects": "v5", "n_resamples": 4, "random_state": 1, "alpha": 0.1}
    assert pycupc.CStaR.load("out/cstar.npz") == pycupc.cstar("data.csv", tiers="known.txt", **call)
