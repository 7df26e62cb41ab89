"""Paired runs of two checkouts, at small size: this checkout against itself and against one with a wrong answer."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    assert menu.main(["paired", str(record.ROOT), *WORDS, "--call", "pc from C", "--out", str(tmp_path)]) == 0
    ((old, new),) = paired.pairs(record.read(tmp_path, "paired"))
    for row in (old, new):
        assert "differs" not in row
        assert row["runs"] >= 2
        assert 0 < row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
        assert (row["tests"] > 500, 10**7 < row["peak_bytes"] < 10**9) == (True, True)
    heads, _, body = (line.split(" | ") for line in capsys.readouterr().out.splitlines()[3:6])
    assert heads[:5] == ["| data set", "engine", "call", "runs per side", "median, old (ms)"]
    assert body[:4] == ["| std_40_3_200", "cpu", "pc from C", str(new["runs"])]
    assert float(body[6]) == pytest.approx(new["seconds"] / old["seconds"], abs=2e-3)


def test_equal_answers_are_timed(stubs, capsys):
    assert menu.main(["paired", str(stubs()), *WORDS]) == 0
    printed = capsys.readouterr().out
    assert "the answers differ: none" in printed
    assert printed.count("| std_40_3_200 | cpu | skeleton from C |") == 1


@pytest.mark.parametrize(
    ("differences", "named"), [({"member": 3}, "separating sets"), ({"tests": 4}, "numbers of tests")]
)
def test_a_different_answer_is_not_timed(stubs, capsys, differences, named):
    assert menu.main(["paired", str(stubs(**differences)), *WORDS]) == 1
    printed = capsys.readouterr().out
    assert f"| std_40_3_200 | cpu | skeleton from C | **the answers differ**: {named} |" in printed
    assert "the answers differ: std_40_3_200 cpu skeleton from C" in printed


def test_an_engine_that_cannot_run_is_left_out(stubs, capsys):
    words = [word if word != "cpu" else "gpu" for word in WORDS]
    with pytest.raises(SystemExit, match="nothing could be run"):
        menu.main(["paired", str(stubs()), *words])
    assert "gpu: there is no device" in capsys.readouterr().err


def test_a_deadline_leaves_data_sets_out(stubs, capsys):
    with pytest.raises(SystemExit, match="nothing could be run"):
        menu.main(["paired", str(stubs()), *WORDS, "--deadline", "0"])
    assert "std_40_3_200, cpu, skeleton from C: not run, the deadline has passed" in capsys.readouterr().err


def test_a_worker_runs_its_own_checkout(tmp_path):
    (tmp_path / "pycupc").mkdir()
    with pytest.raises(SystemExit, match="holds no package pycupc"):
        menu.main(["paired", str(tmp_path), *WORDS])
    (tmp_path / "pycupc" / "__init__.py").write_text("raise ImportError('broken')")
    with pytest.raises(RuntimeError, match="ended with exit code 1"):
        menu.main(["paired", str(tmp_path), *WORDS])


def test_whole_calls(tmp_path):
    """From C and from data: equal answers, then times."""
    words = ["--sets", "std_40_3_200", "--engines", "cpu", "--threads", "1", "--pairs", "1", "--budget", "0"]
    assert menu.main(["call", str(record.ROOT), *words, "--out", str(tmp_path)]) == 0
    rows = record.read(tmp_path, "call")
    assert [row["call"] for row in record.where(rows, side="new")] == list(paired.CALLS)
    assert len(paired.pairs(rows)) == 3
    assert all("differs" not in row and row["seconds_min"] > 0 for row in rows)


def test_what_is_listed():
    def row(side, seconds, memory=100, **more):
        facts = {"set": "s", "engine": "cpu", "call": "pc from C", "side": side, "checkout": side}
        return {**facts, "runs": 3, "seconds": seconds, "peak_bytes": memory, **more}

    rows = [row("old", 2.0, alpha=0.01), row("new", 2.05, alpha=0.01), row("old", 1.0), row("new", 1.04, memory=104)]
    assert [paired.ratio(*pair, "seconds") for pair in paired.pairs(rows)] == pytest.approx([1.025, 1.04])
    text = paired.text(rows)
    assert "new is more than 3 % slower (medians): s cpu pc from C (1.040)\n" in text
    assert "new needs more than 3 % more memory: s cpu pc from C (1.040)\n" in text
