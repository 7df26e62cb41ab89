"""Pictures for LaTeX."""

import shutil
import subprocess

import numpy as np
import pytest
from drawn_graphs import arrows, four, random_graph

from pycupc.graph.drawing import save, tikz_of
from pycupc.graph.sparse import SparseGraph


def test_tikz_has_every_variable_edge_and_option(tmp_path):
    graph, labels = four()
    labels[0] = "a_1 & 50% {x}"
    text = tikz_of(graph, labels, groups={"first": ["b"]}, paths=[[labels[0], "b"]])
    assert r"{a\_1 \& 50\% \{x\}};" in text
    assert text.count(r"\node[named") == 4
    assert r"\draw[directed, on path] (v0) -- (v1);" in text
    assert text.count(r"\draw[") == 3
    assert "directed/.style={-{Stealth[length=2.6mm,width=2mm]}" in text
    assert "dashed" in text.partition("undirected/.style")[2].partition("\n")[0]
    assert "group1/.style" in text
    assert "without an edge: e" in text
    save(graph, labels, tmp_path / "g.tikz", tmp_path / "g.svg", groups={"first": ["b"]}, paths=[[labels[0], "b"]])
    assert (tmp_path / "g.tikz").read_text("utf-8") == text
    assert (tmp_path / "g.svg").exists()
    assert {line.count("{") - line.count("}") for line in text.splitlines()} == {0}
    dense = random_graph(60, 180, 60)
    curves = tikz_of(dense, [f"v{i}" for i in range(60)])
    assert curves.count(r"\draw[") == 180
    assert curves.count(".. controls") > 20
    assert "rounded corners=2mm] (v" in curves  # ways around boxes
    with pytest.raises(ValueError, match="TikZ holds at most 60 variables with an edge and 180 edges, got 61 and 60"):
        tikz_of(arrows(61, np.arange(60), np.arange(1, 61)), [f"v{i}" for i in range(61)])
    circles = tikz_of(SparseGraph.from_amat_pag(np.array([[0, 2], [1, 0]])), ["x", "y"])
    assert "{Circle[open,length=2mm]}-{Stealth[length=2.6mm,width=2mm]}" in circles


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_reads_it(tmp_path):
    labels = [r"a_1 & 50% {x} ~^ \\", *(f"v{i}" for i in range(1, 30))]
    groups = [f"group & {i % 5}" for i in range(30)]
    picture = tikz_of(random_graph(30, 50, 3), labels, groups=groups, paths=[])
    start = r"\documentclass{article}\usepackage{tikz}\usetikzlibrary{arrows.meta,shapes.misc}\begin{document}"
    (tmp_path / "g.tex").write_text(start + "\n" + picture + r"\end{document}", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "g.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-600:]
