"""Files of Tetrad with covariances: the number of observations, the names, the lower triangle."""

import gzip
import json

import numpy as np
import pytest
from common import assert_same

import pycupc
from pycupc.cli import DATA, main
from pycupc.data import DataError
from pycupc.data.covariances import are_covariances, read_covariances

NAMES = ["bmi", "age", "blood_pressure", "x4", "x5"]
X = np.random.default_rng(3).standard_normal((400, 5)).cumsum(axis=1) * [1, 2, 30, 0.1, 5]
S = np.cov(X, rowvar=False)


def text(first="400", between="\t", names=NAMES):
    rows = [between.join(f"{v:.12g}" for v in S[k, : k + 1]) for k in range(5)]
    return "\n".join([first, between.join(names), *rows]) + "\n"


FORMS = {
    "tabs": text(),
    "blanks": text(between="  "),
    "commas": text(between=", "),
    "named kind": text("/Covariance\n400"),
    "comments": text("// made by hand\n400") + "\n// end\n\n",
    "windows": text().replace("\n", "\r\n"),
    "tabs at the ends": text().replace("\n", "\t\n"),
    "quotes": text(names=[f'"{name}"' for name in NAMES]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["d.cov.txt", "d.txt", "d.cov"])
def test_forms(tmp_path, form, name):
    path = tmp_path / name
    path.write_bytes(FORMS[form].encode())
    assert are_covariances(path)
    want = pycupc.pc({"C": np.corrcoef(X, rowvar=False), "n": 400}, alpha=0.01, labels=NAMES)
    fit = pycupc.pc(path, alpha=0.01)
    assert_same(fit, want)
    assert fit.labels == want.labels
    assert fit.notes["test"] == "covariances of 400 observations, as Tetrad writes them: the Gaussian test"
    np.testing.assert_allclose(read_covariances(path).table.values, S, rtol=1e-11)
    assert pycupc.choose(path, drop=["age"]).labels == ("bmi", "blood_pressure", "x4", "x5")


def test_the_command_line(tmp_path, capsys):
    (tmp_path / "d.cov.txt.gz").write_bytes(gzip.compress(text().encode()))
    command = ["run", str(tmp_path / "d.cov.txt.gz"), "--plot", "none"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    assert "read the correlations of 5 variables, of 400 observations, from" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["input"]
    assert (found["kind"], found["variables"], found["observations"]) == ("covariances", 5, 400)
    for more, said in (
        (["--test", "discrete"], "test goes with a table of observations; the file holds covariances"),
        (["--missing", "testwise"], "missing goes with a table"),
        (["--correlation", "spearman"], "correlation goes with a table"),
        (["--correlation", "400"], "holds covariances and the number of observations; leave --correlation out"),
    ):
        assert main([*command, *more]) == DATA
        assert said in capsys.readouterr().err
    assert main(["stability", *command[1:], "--resamples", "3"]) == DATA
    assert "rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("400\n", "many\n", 1), "line 1: a file of covariances of Tetrad has the number of obs"),
        (lambda t: t.rsplit("\t", 1)[0] + "\n", "line 7: .* has 5 numbers, the covariances up to 'x5', got 4 cells"),
        (lambda t: "\n".join(t.split("\n")[:-2]), "line 6: .* has 5 lines of covariances below the names, got 4"),
        (lambda t: t.replace(f"\n{S[0, 0]:.12g}", "\n-1"), "variances must be above 0; they are not of bmi"),
        (lambda t: t.replace(f"\n{S[0, 0]:.12g}", "\n?"), "line 3: .* has 1 numbers"),
        (lambda t: t.replace("age", "bmi"), "columns 1 and 2 are both named 'bmi'"),
        (lambda t: "", "line 1: a file of covariances"),
    ],
)
def test_wrong_files(tmp_path, change, said):
    path = tmp_path / "d.cov.txt"
    path.write_text(change(text()))
    with pytest.raises(DataError, match=said):
        pycupc.choose(path)


def test_tables_are_no_covariances(tmp_path):
    path = tmp_path / "d.txt"
    for content in ("a b\n1 2\n3 4\n", "1\n2\n3\n", "5\n6 7\n8\n9 10\n", "3\na b c\n1 2 3\n", ""):
        path.write_text(content)
        assert not are_covariances(path)
    path = tmp_path / "d.csv"
    path.write_text(text())
    assert not are_covariances(path)
    assert not are_covariances("-")
