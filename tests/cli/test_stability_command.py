"""``pycupc stability``: what it writes, that it resumes, and that it agrees with `pycupc.stability`."""

import base64
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from stability_data import dask_cluster, discrete, gaussian

import pycupc
from pycupc import cli
from pycupc.discrete import disCItest

FILES = {
    "amat.csv", "consensus.csv", "edges.csv", "graph.dot", "graph.graphml", "graph.html", "graph.json",
    "manifest.json",
    "stability.npz", "summary.txt",
}  # fmt: skip


@pytest.fixture
def here(here):
    gaussian(n=60, p=6).to_csv("data.csv", index=False)
    return here


def run(*args):
    return cli.main(["stability", *map(str, args)])


def test_files(here, capsys):
    options = ("--resamples", 6, "--alpha", 0.01, 0.1, "--seed", 3, "--scheme", "complementary", "--threshold", 0.9)
    assert run("data.csv", *options, "--plot", "none", "--out", "out") == cli.OK
    out, err = capsys.readouterr()
    assert err == ""
    assert {path.name for path in (here / "out").iterdir()} == FILES
    assert {path.name for path in here.iterdir()} == {"data.csv", "out"}  # the finished resamples are gone
    arguments = {"n_resamples": 6, "alpha": (0.01, 0.1), "random_state": 3, "scheme": "complementary"}
    result = pycupc.stability("data.csv", **arguments)
    assert pycupc.Stability.load("out/stability.npz") == result
    assert result.summary() in out
    assert "expected false edges: at most" in out
    pd.testing.assert_frame_equal(pd.read_csv("out/edges.csv"), result.to_pandas(), check_dtype=False)
    consensus = result.consensus(0.9)
    pd.testing.assert_frame_equal(pd.read_csv("out/consensus.csv"), consensus.edges(), check_dtype=False)
    np.testing.assert_array_equal(pd.read_csv("out/amat.csv", index_col=0), consensus.amat())
    assert nx.read_graphml("out/graph.graphml").number_of_edges() == consensus.to_networkx().number_of_edges()
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert set(manifest["files"]) == FILES - {"manifest.json"}
    assert manifest["study"] == result.arguments
    assert manifest["study"]["random_state"] == 3


def test_picture_and_example(here, capsys):
    pytest.importorskip("matplotlib")
    assert run("--example=cell_nuclei", "--resamples", 2, "--plot", "svg", "--quiet") == cli.OK
    assert "<svg" in Path("example-stability/graph.svg").read_text()
    assert run("--example=cell_nuclei", "--resamples", 2, "--plot", "none", "--quiet") == cli.OK  # replaces it
    assert capsys.readouterr().out == ""


def test_the_explorer_and_plot_show_the_consensus(here, capsys):
    options = ("--resamples", 4, "--alpha", 0.2, "--seed", 3, "--threshold", 0.75, "--plot", "none", "--quiet")
    assert run("data.csv", *options, "--out", "stable") == cli.OK
    consensus = pycupc.Stability.load("stable/stability.npz").consensus(0.75)
    assert len(consensus.sparse_graph) > 0
    text = Path("stable/graph.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])
    assert data["facts"].endswith("adjacent in at least 75% of 4 resamples, alpha 0.2")
    assert data["edge_p"] is None
    assert set(data["shares"]) == {"adjacent", "directed", "reversed", "undirected", "bidirected"}
    shares = np.frombuffer(base64.b64decode(data["stability"]["base64"]), "<f4")
    assert np.array_equal(shares, consensus.frequencies["adjacent"].astype("f4"))
    for source in ("stable", "stable/stability.npz"):  # with the threshold of the run
        assert cli.main(["plot", source, "--out", "again.html"]) == cli.OK
        assert Path("again.html").read_text(encoding="utf-8") == text
    label = consensus.edges()["from"][0]
    assert cli.main(["plot", "stable", "--around", label, "--radius", "0", "--out", "near.html"]) == cli.OK
    assert f'"labels":["{label}"]' in Path("near.html").read_text(encoding="utf-8")
    pytest.importorskip("matplotlib")
    for name in ("picture", "same"):
        assert cli.main(["plot", "stable", "--out", f"{name}.svg"]) == cli.OK
    assert Path("picture.svg").read_bytes() == Path("same.svg").read_bytes()
    assert "adjacent in at least 75% of 4 resamples" in Path("picture.svg").read_text(encoding="utf-8")
    Path("stable/manifest.json").unlink()
    assert cli.main(["plot", "stable", "--around", label, "--out", "near.svg"]) == cli.OK


def test_discrete(here):
    data = discrete(n=100, p=4)
    pd.DataFrame(data.codes.T, columns=data.labels).to_csv("codes.csv", index=False)
    options = ("--test", "discrete", "--adapt-df", "--resamples", 3, "--seed", 1, "--plot", "none", "--quiet")
    assert run("codes.csv", *options, "--out", "out") == cli.OK
    expected = pycupc.stability(data, indepTest=disCItest, n_resamples=3, random_state=1)
    assert pycupc.Stability.load("out/stability.npz") == expected


def test_more_resamples_from_a_checkpoint(here):
    options = ("--plot", "none", "--quiet", "--checkpoint", "kept", "--force", "--out", "out")
    assert run("data.csv", "--resamples", 3, *options) == cli.OK
    assert len(list(Path("kept").glob("*.npz"))) == 3
    before = {path: path.stat().st_mtime_ns for path in Path("kept").glob("*.npz")}
    assert run("data.csv", "--resamples", 5, *options) == cli.OK
    assert before.items() <= {path: path.stat().st_mtime_ns for path in Path("kept").glob("*.npz")}.items()
    result = pycupc.Stability.load("out/stability.npz")
    assert result == pycupc.stability("data.csv", n_resamples=5, random_state=result.random_state)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_interrupted_and_resumed(here, capsys):
    """Ctrl-C keeps what is finished, says so, and the same command goes on from there."""
    options = ["stability", "data.csv", "--resamples", "2000", "--seed", "5", "--plot", "none", "--out", "out"]
    root = Path(pycupc.__file__).resolve().parent.parent
    code = f"import sys; sys.path.insert(0, {str(root)!r}); from pycupc.__main__ import main; sys.exit(main())"
    process = subprocess.Popen([sys.executable, "-c", code, *options], stderr=subprocess.PIPE, text=True)
    kept = here / "out-resamples"
    while len(list(kept.glob("resample-*.npz"))) < 3 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == cli.INTERRUPTED, err
    assert f"of 2,000 resamples; they are kept in {kept}, and the same call resumes from there" in err
    finished = len(list(kept.glob("resample-*.npz")))
    assert finished >= 3
    assert {path.name for path in here.iterdir()} == {"data.csv", "out-resamples"}
    before = {path: path.stat().st_mtime_ns for path in kept.glob("*.npz")}
    shorter = [*options[:3], str(finished + 2), *options[4:]]
    assert cli.main([*shorter, "--checkpoint", "out-resamples"]) == cli.OK
    assert before.items() <= {path: path.stat().st_mtime_ns for path in kept.glob("*.npz")}.items()
    assert cli.main([*shorter, "--force"]) == cli.OK
    assert not kept.exists()
    result = pycupc.Stability.load("out/stability.npz")
    assert result == pycupc.stability("data.csv", n_resamples=finished + 2, random_state=5)


def test_scheduler(here, capsys):
    pytest.importorskip("distributed", reason="distributed is not installed")
    options = ("--resamples", 6, "--seed", 5, "--plot", "none", "--out", "out", "--quiet")
    with dask_cluster(n_workers=2, processes=False) as cluster:
        assert run("data.csv", *options, "--scheduler", cluster.scheduler_address) == cli.OK
    assert pycupc.Stability.load("out/stability.npz") == pycupc.stability("data.csv", n_resamples=6, random_state=5)


def test_scheduler_that_is_not_there(here, capsys, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")

    def refuse(address):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    assert run("data.csv", "--scheduler", "tcp://127.0.0.1:9") == cli.DEVICE
    assert "--scheduler tcp://127.0.0.1:9: timed out" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run("data.csv", "--scheduler", "tcp://127.0.0.1:9") == cli.DEVICE
    assert "pip install 'pycupc[cluster]'" in capsys.readouterr().err


def test_command_line(here):
    data = gaussian(n=60, p=6)
    data.to_csv("data.csv", index=False)
    (here / "tiers.txt").write_text("/knowledge\naddtemporal\n1 v0 v1 v2\n2 v3 v4 v5\n")
    options = ("--resamples", "3", "--alpha", "0.1", "--seed", "3", "--plot", "none", "--out", "out", "--quiet")
    assert cli.main(["stability", "data.csv", "--method", "rfci", "--tiers", "tiers.txt", *options]) == cli.OK
    arguments = {"n_resamples": 3, "alpha": 0.1, "random_state": 3, "tiers": [1, 1, 1, 2, 2, 2]}
    result = pycupc.stability(data, method="rfci", **arguments)
    assert pycupc.Stability.load("out/stability.npz").to_pandas().equals(result.to_pandas())
    amat = pd.read_csv("out/amat.csv", index_col=0)
    np.testing.assert_array_equal(amat, result.consensus().amat_pag())
    assert json.loads((here / "out/manifest.json").read_text())["study"]["method"] == "rfci"
    pytest.importorskip("matplotlib")
    assert cli.main(["plot", "out", "--out", "a.svg"]) == cli.OK
