"""Paired runs of two checkouts, at small size: this checkout against itself and against one with a wrong answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import __main__ as menu
from benchmarks import paired, record

#: A package with the public calls of pycupc that answers as fast as it can, and always the same.
STUB = """
import numpy as np

class EngineError(RuntimeError):
    pass

class Sets:
    def arrays(self):  # as the method was called in version 0.1
        return tuple(np.array(part, dtype=np.int32) for part in ([0], [1], [1], [{member}]))

class Fit:
    sepset = Sets()

    def __init__(self, p):
        self.skeleton, self.n_edgetests = np.zeros((p, p), dtype=bool), [{tests}]
        self.graph = self.skeleton.astype(np.int8)

def skeleton(suffStat, alpha, engine, numCores):
    if engine != "cpu":
        raise EngineError("there is no device")
    return Fit(len(suffStat["C"]))

pc = skeleton
"""
WORDS = ["--quick", "--sets", "std_40_3_200", "--engines", "cpu", "--threads", "1", "--pairs", "2", "--budget", "0"]


def stub(folder: Path, member: int = 2, tests: int = 3) -> Path:
    """A checkout that holds the stub."""
    (folder / "pycupc").mkdir(parents=True)
    (folder / "pycupc" / "__init__.py").write_text(STUB.format(member=member, tests=tests))
    return folder


@pytest.fixture
def stubs(tmp_path, monkeypatch):
    """An old and a new checkout; the second one takes the place of this checkout."""
    monkeypatch.setattr(paired, "SELF", stub(tmp_path / "new"))
    return lambda **differences: stub(tmp_path / "old", **differences)


def test_this_checkout_against_itself(tmp_path, capsys):
    assert menu.main(["paired", str(record.ROOT), *WORDS, "--call", "pc", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "paired.json").read_text())
    (row,) = result["rows"]
    assert row["differs"] == []
    assert row["tests"] > 500
    for side in ("old", "new"):
        assert len(row["elapsed"][side]) == len(row["processor"][side]) >= 2
        assert min(row["elapsed"][side]) > 0
        assert 10**7 < row["peak_bytes"][side]["host"] < 10**9
        assert row["peak_bytes"][side]["device"] == 0
    heads, _, body = (line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:5])
    assert heads[:4] == ["| data set", "engine", "runs per side", "median, old (ms)"]
    assert body[:3] == ["| std_40_3_200", "cpu", str(len(row["elapsed"]["new"]))]
    assert float(body[5]) == pytest.approx(
        np.median(row["elapsed"]["new"]) / np.median(row["elapsed"]["old"]), abs=1e-3
    )


def test_equal_answers_are_timed(stubs, capsys):
    assert menu.main(["paired", str(stubs()), *WORDS]) == 0
    printed = capsys.readouterr().out
    assert "the answers differ: none" in printed
    assert printed.count("| std_40_3_200 | cpu |") == 2


@pytest.mark.parametrize(
    ("differences", "named"), [({"member": 3}, "separating sets"), ({"tests": 4}, "numbers of tests")]
)
def test_a_different_answer_is_not_timed(stubs, capsys, differences, named):
    assert menu.main(["paired", str(stubs(**differences)), *WORDS]) == 1
    printed = capsys.readouterr().out
    assert f"| std_40_3_200 | cpu | **the answers differ**: {named} |" in printed
    assert "the answers differ: std_40_3_200 cpu" in printed


def test_an_engine_that_cannot_run_is_left_out(stubs, capsys):
    words = [word if word != "cpu" else "gpu" for word in WORDS]
    with pytest.raises(SystemExit, match="nothing could be run"):
        menu.main(["paired", str(stubs()), *words])
    assert "gpu: there is no device" in capsys.readouterr().err


def test_a_deadline_leaves_data_sets_out(stubs, capsys):
    with pytest.raises(SystemExit, match="nothing could be run"):
        menu.main(["paired", str(stubs()), *WORDS, "--deadline", "0"])
    assert "std_40_3_200, cpu: not run, the deadline has passed" in capsys.readouterr().err


def test_a_worker_runs_its_own_checkout(tmp_path):
    (tmp_path / "pycupc").mkdir()
    with pytest.raises(SystemExit, match="holds no package pycupc"):
        menu.main(["paired", str(tmp_path), *WORDS])
    (tmp_path / "pycupc" / "__init__.py").write_text("raise ImportError('broken')")
    with pytest.raises(RuntimeError, match="ended with exit code 1"):
        menu.main(["paired", str(tmp_path), *WORDS])


def test_arguments(capsys):
    for words in (["paired"], ["call"], ["cpu", str(record.ROOT)]):
        with pytest.raises(SystemExit):
            menu.main(words)
        assert "paired and call need CHECKOUT" in capsys.readouterr().err


def test_whole_calls(tmp_path):
    """From C and from data: equal answers, times, and the section of the report."""
    out = ["--out", str(tmp_path)]
    words = ["--sets", "std_40_3_200", "--engines", "cpu", "--threads", "1", "--pairs", "1", "--budget", "0", *out]
    assert menu.main(["call", str(record.ROOT), *words]) == 0
    rows = json.loads((tmp_path / "call.json").read_text())["rows"]
    assert [(row["source"], row["call"]) for row in rows] == [("C", "skeleton"), ("C", "pc"), ("data", "pc")]
    assert all(row["differs"] == [] and min(row["elapsed"]["new"]) > 0 for row in rows)
    assert menu.main(["report", *out]) == 0
    text = (tmp_path / "BENCHMARKS.md").read_text()
    assert "## 11. Whole calls" in text
    assert "| std_40_3_200 | 0.05 | 40 x 200 |" in text


def test_turns_and_what_is_listed():
    def row(old, new, memory=100):
        peak = {"old": {"host": 100, "device": 0}, "new": {"host": memory, "device": 0}}
        sides = {"old": old, "new": new}
        facts = {"set": "s", "engine": "cpu", "call": "skeleton", "differs": [], "peak_bytes": peak}
        return {**facts, "elapsed": sides, "processor": sides}

    rows = [row([1.0, 2.0, 3.0], [1.0, 2.05, 9.0]), row([1.0], [1.04], memory=104)]
    assert paired.ratio(rows[0], "elapsed", np.median) == pytest.approx(1.025)
    assert paired.ratio(rows[0], "elapsed", np.min) == 1
    text = paired.text({"rows": rows, "checkouts": {"old": "a", "new": "b"}, "threads": 1})
    assert "new is more than 3 % slower (medians): s cpu (1.040)\n" in text
    assert "new needs more than 3 % more memory: s cpu (1.040)\n" in text
