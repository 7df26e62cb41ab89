"""README.md: what it tells a newcomer to type works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import pycupc
from pycupc import cli

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_python_examples_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("networkx", reason="the example exports to networkx")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    shown = [line for line in blocks("text")[0].splitlines() if line and not line.startswith(("engine", "Results"))]
    assert len(shown) == 8
    for line in shown:  # all but the seconds
        assert " ".join(line.split()[:4]) in " ".join(printed.split()), line
    assert names["fit"].why("radius_mean", "smoothness_mean").status == "removed"
    assert pycupc.PcAlgo.load("fit.npz").sepset == names["fit"].sepset


def test_command_lines_are_understood():
    commands = [
        shlex.split(line, comments=True)[1:]
        for line in "".join(blocks("sh")).splitlines()
        if line.startswith("pycupc ")
    ]
    assert [command[0] for command in commands] == ["run", "estimate", "compare", "doctor"]
    for command in commands:
        if command[0] != "compare":  # its arguments are read by itself
            assert cli.build_parser().parse_args(command).command == command[0]


def test_first_command_names_what_is_there():
    first = next(line for line in README.splitlines() if line.startswith("python3 -m venv"))
    assert first.endswith(".venv/bin/pycupc run --example")
    assert "python3 tests/run.py" in README
    assert 'VENV = ROOT / ".venv-tests"' in (ROOT / "tests" / "run.py").read_text(encoding="utf-8")  # not the first's
    assert "python3 tests/run.py" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) >= 3
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_versions_agree():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{pycupc.__version__}"\n' in project
    assert f"version {pycupc.__version__}" in README
