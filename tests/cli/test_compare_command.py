"""`pycupc compare`: its exit code, what it names, pcalg by name."""

import numpy as np
import pytest
from compared_results import problem

import pycupc
from pycupc.cli import build_parser
from pycupc.cli.compare_command import load_or_compute, main
from pycupc.r.bridge import RBridgeError
from pycupc.results.comparison import Comparison, compare


def command(*words: str) -> int:
    return main(build_parser("compare").parse_args(["compare", *words]))


@pytest.fixture
def data_file(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 5)) @ rng.standard_normal((5, 5))
    path = tmp_path / "data.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,c,d,e", comments="", fmt="%.17g")
    return str(path)


def test_the_command_tells_by_its_exit_code(tmp_path, data_file, capsys):
    data = pycupc.SuffStat.from_data(np.loadtxt(data_file, delimiter=",", skiprows=1), labels=list("abcde"))
    pycupc.pc(data, alpha=0.05).save(tmp_path / "five.npz")
    pycupc.pc(data, alpha=1e-9).save(tmp_path / "other.npz")
    five, other = str(tmp_path / "five.npz"), str(tmp_path / "other.npz")
    assert command(five, "pycupc", "--data", data_file, "--alpha", "0.05") == 0
    assert "five.npz and pycupc are equal" in capsys.readouterr().out
    (tmp_path / "out").mkdir()
    (tmp_path / "five.npz").rename(tmp_path / "out" / "result.npz")  # as `pycupc run` leaves it
    five = str(tmp_path / "out")
    assert command(five, "pycupc", "--data", data_file, "--alpha", "0.05") == 0
    assert "out and pycupc are equal" in capsys.readouterr().out
    assert command(five, other, "--data", data_file) == 1
    assert "The first difference:" in capsys.readouterr().out


def test_the_command_names_what_is_wrong(tmp_path, data_file, capsys):
    assert command("nothing.npz", "pycupc", "--data", data_file, "--alpha", "0.05") == 2
    assert "'nothing.npz' is neither a result file, nor a folder" in capsys.readouterr().err
    assert command("pycupc", "pycupc") == 2
    assert "the method pycupc needs data and alpha" in capsys.readouterr().err
    assert command("pycupc", "pycupc", "--data", data_file, "--alpha", "0.05", "--rtol", "-1") == 2
    assert "rtol must be a number of at least 0, got -1" in capsys.readouterr().err
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,x\n2,3\n", encoding="utf-8")
    assert command("pycupc", "pycupc", "--data", str(bad), "--alpha", "0.05") == 3
    assert "bad.csv" in capsys.readouterr().err


def test_without_r_pcalg_is_refused_with_the_way_out(data_file, capsys, monkeypatch):
    def missing(*args, **kwargs):
        raise RBridgeError('the R bridge needs rpy2: pip install ".[r]"')

    monkeypatch.setattr("pycupc.r.bridge.pcalg_pc", missing)
    assert command("pycupc", "pcalg-stable", "--data", data_file, "--alpha", "0.05") == 2
    assert 'pip install ".[r]"' in capsys.readouterr().err


@pytest.mark.r
def test_pcalg_by_name(data_file, capsys):
    data = problem()
    try:
        theirs = load_or_compute("pcalg-stable", data, 0.05)
    except RBridgeError as error:
        pytest.skip(str(error))
    assert compare(load_or_compute("pycupc", data, 0.05), theirs)
    fast = load_or_compute("pcalg-stable.fast", data, 0.05, skeleton=True)
    found = compare(theirs, fast)
    assert isinstance(found, Comparison)
    assert found.parts["skeleton"]
    assert not found.parts["numbers of tests"]
    assert command("pcalg-stable", "pycupc", "--data", data_file, "--alpha", "0.05") == 0
