"""The choice of a test for a table: by `choose`, by `pc` of a file, and by the command line, which agree."""

import contextlib
import importlib
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pycupc
from pycupc import cli
from pycupc.data.mixed import MixedTable
from pycupc.data.table import Table
from pycupc.independence import families
from pycupc.independence.choice import Choice
from pycupc.independence.families import EVERY, FAMILIES, FUNCTIONS, WORDS
from pycupc.independence.gaussian.ranks import ranks
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import gaussCItest
from pycupc.independence.registry import Family, Identity, TableRows, checked_table
from pycupc.independence.setwise import SetwiseTest
from pycupc.r.sent_data import data_of

RNG = np.random.default_rng(4)
NUMBERS = pd.DataFrame(np.cumsum(RNG.standard_normal((80, 4)), axis=1), columns=list("abcd"))
TEXTS = pd.DataFrame(np.where(NUMBERS > 0, "up", "down"), columns=list("abcd"))
BOTH = NUMBERS.assign(w=RNG.choice(["u", "v"], 80))
CODES = pd.DataFrame(RNG.integers(1, 4, (80, 3)), columns=list("abc"))


def gaps(frame):
    return frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)


LATENT, DISCRETE, TESTWISE = {"correlation": "latent"}, {"test": "discrete"}, {"missing": "testwise"}
#: Table, arguments, family, test, words of the reason, alternatives.
CASES = {
    "numbers": (NUMBERS, {}, "gaussian", "gaussCItest", "^numbers in all columns: the Gaussian test, pearson", []),
    "ranks": (NUMBERS, {"correlation": "spearman"}, "gaussian", "gaussCItest", "spearman correlations$", []),
    "classes": (
        NUMBERS.assign(k=RNG.integers(1, 4, 80)), {}, "gaussian", "gaussCItest",
        "1 of 5 columns have up to 10 values: correlation='latent' for classes$", [LATENT],
    ),
    "codes": (
        CODES, {}, "gaussian", "gaussCItest", "few whole numbers, and the Gaussian test runs", [LATENT, DISCRETE],
    ),
    "codes of categories": (CODES, DISCRETE, "discrete", "disCItest", "^test='discrete'$", []),
    "gaps": (
        gaps(NUMBERS), {}, "incomplete", "gaussCItwd", "values are missing in 4 of 4 columns, so that each test takes",
        [{"missing": "impute=20"}, {"missing": "pairwise"}, {"missing": "drop-rows"}],
    ),
    "pairwise": (
        gaps(NUMBERS), {"missing": "pairwise=min"}, "gaussian", "gaussCItest", r"pair \(missing='pairwise=min'\)$",
        [TESTWISE],
    ),
    "imputed": (
        gaps(NUMBERS), {"missing": "impute=2", "impute_seed": 7}, "imputed", "gaussMItest",
        r"2 imputations .* \(missing='impute=2', impute_seed=7\)$", [TESTWISE],
    ),
    "texts": (TEXTS, {}, "discrete", "disCItest", "^holds categories, so that the G.2 test", []),
    "texts with gaps": (
        gaps(TEXTS), {}, "incomplete", "disCItwd", "^holds categories; values are missing in 4 of 4 columns",
        [{"missing": "impute=20"}, {"missing": "drop-rows"}],
    ),
    "both": (
        BOTH, {}, "mixed", "mixCItest", r"^1 of 5 columns hold words \(w\), so that the test of numbers and categories",
        [{"drop_non_numeric": True}],
    ),
    "both with gaps": (
        gaps(BOTH), {}, "incomplete mixed", "mixCItwd", "^1 of 5 .*; values are missing in 5 of 5 columns, so",
        [{"missing": "impute=20"}, {"missing": "drop-rows"}, {"drop_non_numeric": True}],
    ),
    "both, named": (
        gaps(BOTH), {"test": "mixed", "missing": "testwise"}, "incomplete mixed", "mixCItwd", "^test='mixed'; values",
        [{"missing": "impute=20"}, {"missing": "drop-rows"}],
    ),
    "imputed both": (
        gaps(BOTH), {"test": "mixed", "missing": "impute=2"}, "imputed mixed", "mixMItest",
        r"2 imputations .* \(missing='impute=2', impute_seed=0\)$", [TESTWISE],
    ),
    "latent": (
        BOTH, LATENT, "gaussian", "gaussCItest", "with words as the two classes of a variable$", [{"test": "mixed"}],
    ),
}  # fmt: skip
#: The choices of which a user is told.
UNEXPECTED = {"codes", "gaps", "texts", "texts with gaps", "both", "both with gaps", "latent"}


@pytest.fixture(params=CASES)
def case(request, tmp_path, monkeypatch):
    """The name of a case, and its table in d.csv, in the current folder."""
    if request.param.startswith("imputed"):
        pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    CASES[request.param][0].to_csv("d.csv", index=False)
    return request.param


def caught(call, *arguments, **options):
    """The value of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call(*arguments, **options)
    return value, [str(one.message) for one in found]


def test_a_table_in_memory_and_the_same_in_a_file(case):
    table, arguments, family, test, reason, alternatives = CASES[case]
    for data in (table, Path("d.csv"), MixedTable.of(table)):
        choice, said = caught(pycupc.choose, data, **arguments)
        assert (choice.family, choice.indepTest.__name__, said) == (family, test, [])
        assert re.search(reason, choice.reason)
        assert choice.unexpected == (case in UNEXPECTED)
        assert list(choice.alternatives) == alternatives
        assert tuple(choice.labels) == tuple(table.columns)
    fit, said = caught(pycupc.pc, choice.data, choice.indepTest, alpha=0.1)
    assert fit.labels == tuple(table.columns)
    for other in alternatives:
        if not other.get("missing", "").startswith("impute"):
            assert caught(pycupc.choose, "d.csv", **other)[0].reason != choice.reason
        if other.get("missing") in ("drop-rows", "pairwise"):
            assert caught(pycupc.choose, table, **other)[0].reason != choice.reason


@pytest.mark.parametrize("kind", ["numbers", "texts", "both"])
def test_incomplete_rows_of_a_table_in_memory_are_left_out_as_those_of_a_file(kind, tmp_path):
    table = gaps({"numbers": NUMBERS, "texts": TEXTS, "both": BOTH}[kind])
    if kind != "texts":
        table.insert(2, "empty", np.nan)  # left out, so that it makes no row incomplete
    table.to_csv(tmp_path / "d.csv", index=False)
    drop = {"missing": "drop-rows"}
    expected, _ = caught(pycupc.choose, tmp_path / "d.csv", **drop, drop=["empty"] * ("empty" in table))
    tables = {
        "pandas": table.set_index(np.repeat([3, 5], 40)),
        "typed": MixedTable.of(table.drop(columns="empty", errors="ignore")),
    }
    with contextlib.suppress(ImportError):
        tables["arrow"] = importlib.import_module("pyarrow").Table.from_pandas(
            table.drop(columns="empty", errors="ignore")
        )
    if kind == "numbers":
        tables |= {
            "array": table.drop(columns="empty", errors="ignore").to_numpy(),
            "list": table.drop(columns="empty", errors="ignore").values.tolist(),
        }
    for name, data in tables.items():
        choice, said = caught(pycupc.choose, data, **drop)
        assert choice.family == expected.family, name
        fits = [caught(pycupc.pc, one.data, one.indepTest, alpha=0.1)[0] for one in (choice, expected)]
        assert fits[0].sparse_graph == fits[1].sparse_graph
        assert fits[0].pMax.tolist() == fits[1].pMax.tolist()
        assert [one for one in said if one.startswith("data: ") and " of 80 rows dropped, " in one] != []
    for same in (TEXTS, BOTH):
        assert caught(pycupc.choose, same, **drop)[0].family == pycupc.choose(same).family


def test_cstar_of_a_file_takes_numbers_with_or_without_gaps(tmp_path):
    path = tmp_path / "d.csv"
    how = {"n_resamples": 2, "random_state": 1}
    for table in (NUMBERS, gaps(NUMBERS)):
        table.to_csv(path, index=False)
        found, said = caught(pycupc.cstar, path, **how)
        assert sum("values are missing" in one for one in said) == (table is not NUMBERS)
        choice, _ = caught(pycupc.choose, table)
        assert found.summary() == caught(pycupc.cstar, choice.data, **how)[0].summary()
    BOTH.to_csv(path, index=False)
    with pytest.raises(ValueError, match="column 5 .* is not a number"):
        pycupc.cstar(path, **how)


@pytest.mark.parametrize("function", ["pc", "fci", "stability"])
def test_a_file_is_analysed_by_the_test_that_fits(case, function):
    """The choice is said once, and kept in the result."""
    _, arguments, *_ = CASES[case]
    if arguments.keys() - {"correlation"}:
        return  # which are of `choose` alone
    more = {"n_resamples": 2, "random_state": 1} if function == "stability" else {}
    call = getattr(pycupc, function)
    fit, said = caught(call, "d.csv", alpha=0.1, **arguments, **more)
    choice, _ = caught(pycupc.choose, "d.csv", **arguments)
    expected, _ = caught(call, choice.data, indepTest=choice.indepTest, alpha=0.1, **more)
    assert sum(choice.reason in one for one in said) == (case in UNEXPECTED)
    if function == "stability":
        assert fit.summary() == expected.summary()
    else:
        assert (fit.skeleton_fit if function == "fci" else fit).notes["test"] == choice.reason
        assert f"test: {choice.reason}" in fit.summary()
        assert pycupc.compare(fit, expected)


def test_the_command_line_makes_the_same_choice(case, capsys):
    _, arguments, *_ = CASES[case]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in arguments.items()]
    assert cli.main(["run", "d.csv", "--alpha", "0.1", "--out", "out", "--plot", "none", "--quiet", *options]) == 0
    choice, _ = caught(pycupc.choose, "d.csv", **arguments)
    fit, _ = caught(pycupc.pc, choice.data, choice.indepTest, alpha=0.1)
    assert pycupc.compare(pycupc.PcAlgo.load("out/result.npz"), fit)
    said = json.loads(Path("out/manifest.json").read_text())["input"]["choice"]
    assert said.split("(")[0].split("--")[0].split(";")[0] in choice.reason.replace("test=", "--test ") + "--"
    assert capsys.readouterr().err.count(said) == (case in UNEXPECTED)


REFUSED = {
    "no such test": (
        NUMBERS,
        {"test": "gauss"},
        "test must be one of 'auto', 'gaussian', 'discrete', 'mixed', 'kci', got",
    ),
    "no such measure": (NUMBERS, {"correlation": "phi"}, "correlation must be one of .*, got 'phi'"),
    "measure of categories": (TEXTS, DISCRETE | LATENT, "correlation goes with the Gaussian test only"),
    "no such way": (gaps(NUMBERS), {"missing": "mean"}, "missing must be .*, got 'mean'"),
    "one imputation": (gaps(NUMBERS), {"missing": "impute=1"}, "missing must be .*, got 'impute=1'"),
    "degrees of freedom": (
        NUMBERS,
        {"df": "observed"},
        "go with test='discrete' without imputation; .*: numbers in all columns",
    ),
    "no such df": (TEXTS, {"df": "mine"}, "df must be 'pcalg' or 'observed', got 'mine'"),
    "ranks of words": (BOTH, {"correlation": "kendall"}, "correlation='kendall' takes numbers, and the table holds wo"),
    "ranks with gaps": (gaps(NUMBERS), {"correlation": "kendall"}, "complete rows, .* a, b, c, d: missing='drop-rows'"),
    "pairwise of both": (gaps(BOTH), {"missing": "pairwise"}, "takes numbers, and the table has .*missing='testwise'"),
    "pairwise categories": (gaps(TEXTS), {"missing": "pairwise"}, "takes numbers, and the table has categories"),
    "nearest": (TEXTS, {"nearest": True}, r"nearest=True goes with a test of correlations \(missing='pairwise'\)"),
    "words": (BOTH, {"test": "gaussian"}, r"columns are not: w \(2 different texts, such as 'v'\)"),
    "words of a typed table": (
        MixedTable.of(BOTH),
        {"test": "gaussian"},
        r"columns are not: w \(2 categories, such as 'u'\); leave them out, or .* mixCItest",
    ),
    "gaps of a table": (gaps(NUMBERS), {"missing": "error"}, "^data: missing values: .* first in row 3, column 'b'"),
    "no row of a table": (
        NUMBERS.assign(a=NUMBERS.a.where(NUMBERS.index < 40), b=NUMBERS.b.where(NUMBERS.index >= 40)),
        {"missing": "drop-rows"},
        "^data: every row has a missing value, so that no row is left",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    table, arguments, words = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=words):
        pycupc.choose(table, **arguments)


def test_each_family_can_be_asked_for_or_follows_from_the_table():
    assert [*WORDS] == ["gaussian", "discrete", "mixed", "kci"]
    assert all(family.word or set(family.under) <= {*WORDS} for family in FAMILIES)
    assert all(family.choice is not None for family in FAMILIES)


# -- another family, of which nothing but the registry knows ----------------------------------------------------------


def rankCItest(x, y, S, suffStat):
    return gaussCItest(x, y, S, SuffStat.from_data(ranks(suffStat.values)))


class RankTest(SetwiseTest):
    name = "ranks"
    engines = ("cpu", "reference")

    def p_value(self, x, y, S):
        return rankCItest(x, y, S, self.data)

    def p_of_tests(self, x, y, S):
        return np.array([self.p_value(*one) for one in zip(x.tolist(), y.tolist(), S.tolist(), strict=True)])


class Ranked(Table):
    p = property(lambda self: self.values.shape[1])


def ranked(data):
    table = data if isinstance(data, Table) else checked_table(data, None)
    return Ranked(table.values, table.labels, table.ends)


RANKS = Family(
    "ranks",
    (RankTest,),
    lambda request: RankTest(ranked(request.suffStat), request.alpha),
    functions=(rankCItest,),
    observations=lambda request: TableRows(ranked(request.suffStat)),
    identity=lambda test: Identity({"indepTest": "rankCItest"}, (test.data.values,)),
    word="ranks",
    help="ranks",
    choice=lambda content, wishes: Choice("ranks", rankCItest, ranked(content.table), content, "ranks"),
)


@pytest.fixture
def another_family(monkeypatch):
    monkeypatch.setattr(families, "FAMILIES", (*FAMILIES, RANKS))
    monkeypatch.setattr(families, "EVERY", (RANKS, *EVERY))
    monkeypatch.setitem(WORDS, "ranks", RANKS)
    monkeypatch.setitem(FUNCTIONS, "rankCItest", rankCItest)


@pytest.mark.usefixtures("another_family")
def test_another_family_is_known_everywhere_by_its_entry(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    NUMBERS.to_csv("d.csv", index=False)
    scores = pd.DataFrame(ranks(NUMBERS.to_numpy()), columns=NUMBERS.columns)
    fit, expected = (pycupc.pc(*given, alpha=0.1) for given in ((NUMBERS, rankCItest), (scores,)))
    assert pycupc.compare(fit, expected)
    assert pycupc.pc(NUMBERS, rankCItest, 0.1, checkpoint="kept").n_edgetests == fit.n_edgetests
    assert pycupc.pc(NUMBERS, rankCItest, 0.1, checkpoint="kept").n_edgetests == fit.n_edgetests
    with pytest.raises(ValueError, match="of another run: data differ"):
        pycupc.pc(NUMBERS[::-1], rankCItest, 0.1, checkpoint="kept")
    assert pycupc.compare(*(pycupc.fci(*given, alpha=0.1) for given in ((NUMBERS, rankCItest), (scores,))))
    assert pycupc.stability(NUMBERS, indepTest=rankCItest, n_resamples=2, random_state=1).n_resamples == 2
    choice = pycupc.choose("d.csv", test="ranks")
    assert (choice.family, pycupc.choose("d.csv").family) == ("ranks", "gaussian")
    how = ["d.csv", "--test", "ranks", "--alpha", "0.1", "--plot", "none", "--quiet"]
    assert cli.main(["run", *how, "--out", "out"]) == 0
    assert pycupc.compare(pycupc.PcAlgo.load("out/result.npz"), expected)
    assert cli.main(["stability", *how, "--resamples", "2", "--out", "resampled"]) == 0
    sent = {"x": NUMBERS.to_numpy().ravel(order="F")}
    data, function = data_of(sent, {"test": "rankCItest", "texts": [None] * 4}, list("abcd"))
    assert pycupc.compare(pycupc.pc(data, function, 0.1), expected)
