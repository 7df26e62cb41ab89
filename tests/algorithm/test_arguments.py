"""Each kind of bad input has its own error, which names the argument, what was expected and what came."""

import math

import numpy as np
import pandas as pd
import pytest
from common import refused
from small_tables import chain_table

from pycupc import SuffStat, pc, skeleton
from pycupc.engines.reference import ReferenceEngine

C3 = np.array([[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]])


def changed(i, j, value, both=True):
    C = C3.copy()
    C[i, j] = value
    if both:
        C[j, i] = value
    return C


@pytest.mark.parametrize(
    ("stat", "error", "words"),
    [
        ({"C": C3[:2], "n": 50}, ValueError, r"C must be square, got shape \(2, 3\)"),
        ({"C": np.ones((1, 1)), "n": 50}, ValueError, "C must describe at least 2 variables, got 1"),
        ({"C": "nonsense", "n": 50}, TypeError, "C must be numeric, got an array of <U8"),
        ({"C": C3.astype(object), "n": 50}, TypeError, "C must be numeric, got an array of object"),
        ({"C": changed(0, 2, 0.9, both=False), "n": 50}, ValueError, r"C must be symmetric, but C\[0, 2\] = 0.9"),
        ({"C": changed(0, 2, 1.5), "n": 50}, ValueError, r"correlations in \[-1, 1\], but C\[0, 2\] = 1.5 \(1, 3\)"),
        ({"C": changed(1, 1, 4.0), "n": 50}, ValueError, r"diagonal of 1, but C\[1, 1\] = 4.0 \(2\).*covariance"),
        ({"C": C3}, ValueError, "suffStat must have the entries 'C' and 'n'; missing: n"),
        ({"C": C3, "n": 0}, ValueError, "n must be the number of observations, a finite number of at least 1, got 0"),
        ({"C": C3, "n": -5}, ValueError, "n must be .* finite number of at least 1, got -5"),
        ({"C": C3, "n": 0.5}, ValueError, "n must be .* finite number of at least 1, got 0.5"),
        ({"C": C3, "n": math.inf}, ValueError, "n must be .* finite number of at least 1, got inf"),
        ({"C": C3, "n": "many"}, TypeError, "n must be .* finite number of at least 1, got 'many'"),
    ],
)
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_suff_stat(stat, error, words, engine):
    refused(words, skeleton, stat, alpha=0.05, engine=engine, error=error)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"suffStat": np.ones((5, 1))}, ValueError, r"at least 2 columns \(variables\), got 1"),
        ({"suffStat": np.ones((1, 5))}, ValueError, r"at least 2 rows \(observations\), got 1"),
        ({"alpha": 1.5}, ValueError, r"alpha must be a number in \[0, 1\], got 1.5"),
        ({"alpha": float("nan")}, ValueError, r"alpha must be a number in \[0, 1\], got nan"),
        ({"alpha": "small"}, TypeError, r"alpha must be a number in \[0, 1\], got 'small'"),
        ({"labels": ["a", "b"]}, ValueError, "labels must name all 3 variables, got 2"),
        ({"labels": ["a", "b", "b"]}, ValueError, "labels must be distinct, but these occur more than once: b"),
        ({"labels": [1, 2, 3]}, TypeError, "labels must be strings, got 1"),
        ({"labels": "abc"}, TypeError, "labels must be a sequence of 3 names, got 'abc'"),
        ({"p": 4}, ValueError, "p must equal the number of variables of suffStat, 3, got 4"),
        ({"p": 4, "labels": ["a", "b", "c"]}, ValueError, "p must equal the number of labels, 3, got 4"),
        ({"m_max": -1}, ValueError, "m_max must be a whole number of at least 0, or inf, got -1"),
        ({"m_max": 1.5}, ValueError, "m_max must be a whole number"),
        ({"fixedGaps": np.zeros((2, 2))}, ValueError, r"fixedGaps must have shape \(3, 3\), got \(2, 2\)"),
        (
            {"fixedEdges": np.triu(np.ones((3, 3)), 1)},
            ValueError,
            r"fixedEdges must be symmetric, but .* \(1, 2\) and the reverse",
        ),
        ({"fixedGaps": np.full((3, 3), "x")}, TypeError, "fixedGaps must be a matrix of True and False"),
        ({"numCores": 0}, ValueError, "numCores must be a whole number of at least 1, or None for all, got 0"),
        ({"engine": "quantum"}, ValueError, "engine must be one of 'auto', 'cpu', .* got 'quantum'"),
        (
            {"engine": "cpu", "engine_options": {"beta": 2}},
            ValueError,
            r"engine='cpu' does not take this one: 'beta' is an option of engine='cupc-e'",
        ),
        (
            {"engine": "reference", "engine_options": {"device": 0}},
            ValueError,
            "engine='reference' takes no engine_options: 'device' is an option of engine='gpu' or 'cupc-e' or 'cupc-s'",
        ),
        (
            {"engine": "cupc-e", "engine_options": {"pruning": False}},
            ValueError,
            "engine='cupc-e' does not take this one: 'pruning' is an option of engine='cpu' or 'gpu' or 'auto'",
        ),
        (
            {"engine": ReferenceEngine(), "engine_options": {"device": 0}},
            ValueError,
            r"engine_options configure an engine given by name, got \['device'\] with an Engine",
        ),
        ({"indepTest": 3}, TypeError, "indepTest must be callable"),
        ({"indepTest": min, "engine": "cpu"}, ValueError, "custom indepTest runs on engine='reference' only"),
        ({"indepTest": min}, ValueError, "either labels or p must be given"),
        ({"indepTest": min, "p": 1, "suffStat": None}, ValueError, "p must be at least 2, got 1"),
        ({"indepTest": min, "engine_options": {"beta": 4}}, ValueError, "engine_options must be empty with a custom"),
        ({"u2pd": "guess"}, ValueError, "u2pd must be 'relaxed', 'rand' or 'retry', got 'guess'"),
        ({"skel_method": "original"}, ValueError, r"'original' depends on the order.*pcalg::pc\(\)"),
        ({"skel_method": "fast"}, ValueError, r"skel_method\) must be 'stable' or 'stable.fast', got 'fast'"),
        ({"conservative": True, "u2pd": "rand"}, ValueError, "conservative=True needs u2pd='relaxed', got u2pd='rand'"),
        ({"maj_rule": True, "u2pd": "retry"}, ValueError, "maj_rule=True needs u2pd='relaxed'"),
        ({"solve_confl": True, "u2pd": "retry"}, ValueError, "solve_confl=True needs u2pd='relaxed'"),
        ({"conservative": True, "maj_rule": True}, ValueError, "choose one of conservative=True and maj_rule=True"),
    ],
)
def test_arguments(arguments, error, words):
    refused(words, pc, **{"suffStat": {"C": C3, "n": 50}, **arguments}, error=error)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_nan_is_allowed_and_its_variables_named(engine):
    C = C3.copy()
    C[1, :] = C[:, 1] = np.nan
    with pytest.warns(UserWarning, match="pairs without a correlation count as independent: b$"):
        fit = skeleton({"C": C, "n": 50}, labels=["a", "b", "c"], alpha=0.2, engine=engine)
    assert not fit.skeleton[1].any()
    refused("C must be symmetric", skeleton, {"C": changed(0, 1, np.nan, both=False), "n": 50}, engine=engine)


def test_integer_and_boolean_columns_are_data_too():
    data = pd.DataFrame({"a": [1, 2, 4, 3], "b": [True, False, False, True]})
    want = np.corrcoef(data.to_numpy(float), rowvar=False)
    np.testing.assert_allclose(SuffStat.from_data(data).C, want)
    nullable = data.convert_dtypes()
    np.testing.assert_allclose(SuffStat.from_data(nullable).C, want)
    nullable.loc[1, "a"] = pd.NA
    refused("missing or infinite values in a", SuffStat.from_data, nullable)


class Frame:
    """A table that is not pandas: polars, too, gives the types of its columns in words of its own."""

    def __init__(self, values, types):
        self.values, self.columns, self.dtypes = np.asarray(values), list("abc"), types

    def to_numpy(self):
        return self.values


def test_any_table_with_named_typed_columns_is_data():
    values = [[1.0, 2, 4], [3, 3, 1], [0, 1, 1], [2, 5, 0]]
    stat = SuffStat.from_data(Frame(values, ["Float64", "Int64", "Boolean"]))
    assert stat.labels == ("a", "b", "c")
    np.testing.assert_allclose(stat.C, np.corrcoef(np.array(values), rowvar=False))
    with pytest.raises(TypeError, match="these columns are not: b, c"):
        SuffStat.from_data(Frame(values, ["Float64", "String", "interval[int64, right]"]))
    assert pc(Frame(values, ["Float64"] * 3), alpha=0.1).labels == ("a", "b", "c")


def test_labels_in_another_order_than_the_names_of_the_data_give_a_warning():
    names = ["a", "b", "c"]
    table = pd.DataFrame(C3, index=names, columns=names)
    with pytest.warns(UserWarning, match="variable 0 is called 'b', though suffStat calls it 'a'; leave labels out"):
        assert pc({"C": table, "n": 50}, labels=["b", "a", "c"]).labels == ("b", "a", "c")
    for labels in (None, names, ["x", "y", "z"]):
        pc({"C": table, "n": 50}, labels=labels)  # warnings are errors


@pytest.mark.parametrize("answer", [None, "large", np.array([0.1, 0.2])])
def test_an_answer_of_a_custom_test_that_is_no_number_is_shown(answer):
    with pytest.raises((TypeError, ValueError), match="indepTest must return one number, got .* for x=0, y=1"):
        pc(None, lambda x, y, S, data: answer, p=3)


@pytest.mark.parametrize("answer", [1.5, -0.1, np.inf])
def test_an_answer_of_a_custom_test_that_is_no_p_value_is_shown(answer):
    with pytest.raises(ValueError, match=f"a p-value in \\[0, 1\\], got {answer} for x=0, y=1, S=\\(\\)"):
        pc(None, lambda x, y, S, data: answer, p=3)


def test_edges_for_whose_test_there_are_too_few_observations_are_said_to_be_untested():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 6))
    fit = pc(rng.normal(size=(6, 6)) @ mixing, alpha=0.9)
    assert fit.n_edgetests[3:] == [4]
    assert {*fit.untested.level.tolist()} == {3}
    assert {*fit.untested.needed.tolist()} == {7}
    assert "4 of 11 removed pairs were not tested: not enough data" in fit.summary()
    why = fit.why(int(fit.untested.x[0]), int(fit.untested.y[0]))
    assert "not enough data: the test given {2, 4, 6} needs 7 observations, there are 6" in str(why)
    with pytest.warns(UserWarning, match="fewer than 4 observations finds a dependence.* got n = 3"):
        assert not pc({"C": C3, "n": 3}, alpha=0.9).graph.any()


@pytest.mark.parametrize("wrong", ["abc", 1.5, -1])
def test_a_random_state_is_checked_before_the_tests(wrong):
    with pytest.raises((TypeError, ValueError), match="SeedSequence|non-negative"):
        pc(np.random.default_rng(1).standard_normal((20, 3)), u2pd="retry", random_state=wrong)


@pytest.mark.parametrize("name", ["NAdelete", "conservative", "maj_rule", "solve_confl"])
def test_a_word_is_no_switch(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'no'"):
        pc(np.random.default_rng(1).standard_normal((20, 3)), **{name: "no"})


@pytest.mark.parametrize("function", [pc, skeleton])
@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((), {"data": chain_table()}, r"first argument of {0}, suffStat: {0}\(data, alpha=0.01\)"),
        ((chain_table(), 0.05), {}, r"got 0.05; the significance level is alpha: {0}\(data, alpha=0.05\)"),
        ((chain_table(),), {"alhpa": 0.05}, "^{0} has no argument alhpa: did you mean alpha[?]$"),
        ((chain_table(),), {"indep_test": None}, "^{0} has no argument indep_test: did you mean indepTest[?]$"),
        ((chain_table(),), {"significance_level": 0.05}, "did you mean alpha[?]$"),
        ((chain_table(),), {"n_jobs": 2}, "did you mean numCores[?]$"),
        (
            (chain_table(),),
            {"zzz": 2},
            "^{0} has no argument zzz; its arguments are suffStat, indepTest, alpha, labels",
        ),
        ((None,), {}, "data must be a table of observations .*, got None;"),
    ],
)
def test_arguments_that_users_expect_are_explained(function, arguments, options, words):
    refused(words.format(function.__name__), function, *arguments, **options, error=TypeError)
