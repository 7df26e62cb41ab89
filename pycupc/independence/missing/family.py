"""The families of the tests of data with gaps: everything that the program must know about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycupc.data.content import Content
from pycupc.data.table import Table
from pycupc.independence.base import Floats
from pycupc.independence.choice import Choice, Wishes, wish
from pycupc.independence.gaussian.measures import Measure, deviations_of
from pycupc.independence.gaussian.n_by_pair import LocalGaussianTest  # its home in pickles of 0.2.0
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.missing import reference_tests
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation, as_imputation, as_incomplete
from pycupc.independence.missing.test import ImputedTest, TestwiseTest
from pycupc.independence.registry import Family, FromR, Identity, Kind, Moments, OwnRows, Request
from pycupc.system.localised_message import Message, Words


def _imputed_data(request: Request) -> MultipleImputation:
    return as_imputation(request.suffStat, categories=request.function is reference_tests.disMItest)


def _gapped_data(request: Request) -> IncompleteTable:
    return as_incomplete(request.suffStat, categories=request.function is reference_tests.disCItwd)


def _identity(test: ImputedTest | TestwiseTest) -> Identity:
    data, name = test.data, test.name + (" categories" if test.data.categories else "")
    facts = {"indepTest": name, "NAdelete": test.na_p == 1.0}
    if isinstance(test, TestwiseTest):
        facts |= {"quirks": test.quirks, "adaptDF": data.adaptDF}
    return Identity(facts, tuple(data.arrays()))


def _imputed_rows(request: Request) -> OwnRows:
    data = _imputed_data(request)
    if data.rows is None and not data.categories:
        raise ValueError("data must hold the imputed tables: resampling draws rows, which matrices do not have")
    return OwnRows(data)


def _imputed_moments(data: MultipleImputation, *, quiet: bool = False) -> Moments:
    if data.categories:
        raise TypeError("effects need numbers, got imputations of categories")
    if data.rows is None:
        return Moments(data.matrices, float(data.n))
    _check_units(data)
    return Moments(np.array([_covariance(values) for values in data.rows]), float(data.n))


def _covariance(values: Floats) -> Floats:
    """The covariances of a complete table; 0, without rounding, of a variable with one value."""
    constant = (values == values[0]).all(axis=0)
    C = np.cov(values, rowvar=False)
    C[constant], C[:, constant] = 0.0, 0.0
    return C


def _check_units(data: MultipleImputation | IncompleteTable) -> None:
    if not data.in_units:
        raise ValueError("effects need numbers between 1e-77 and 1e77 in size, for their units; scale others")


def _gapped_moments(data: IncompleteTable, *, quiet: bool = False) -> Moments:
    """Pairwise-complete covariances: test-wise deletion has no matrix of its own for each test."""
    if data.categories:
        raise TypeError("effects need numbers, got categories with gaps")
    _check_units(data)
    table = Table.of_values(data.values, data.labels)
    if quiet:
        stat = SuffStat.from_table(table, Measure(n_rule="mean"))
    else:
        stat = SuffStat.from_data(table, missing="pairwise")
    deviations = deviations_of(data.values)
    C = stat.C * np.outer(deviations, deviations)
    return Moments(C[None], None, "from pairwise-complete covariances, without intervals")


def _imputed_from_r(sent: FromR) -> MultipleImputation:
    n = sent.values["n"]
    if sent.name == "gaussMItest":
        return MultipleImputation.from_correlations(list(sent.arrays["C"].reshape(-1, sent.p, sent.p)), n, sent.labels)
    codes = sent.arrays["dm"].reshape(-1, sent.p, int(n))
    return MultipleImputation.from_codes(codes, sent.values["nlev"], sent.labels)


def _gapped_from_r(sent: FromR) -> IncompleteTable:
    if sent.name == "gaussCItwd":
        return IncompleteTable(sent.quiet, sent.labels)
    incomplete = np.where(sent.table < 0, np.nan, sent.table)  # R's NA
    return IncompleteTable(incomplete, sent.labels, categories=True, adaptDF=sent.values["adaptDF"])


def _takes_gaps(content: Content, wishes: Wishes) -> bool:
    """Whether a table is one for tests of data with gaps; ValueError if the wishes do not fit."""
    if not len(content.gaps) or content.kind == "both":
        return False
    if content.kind == "categories":
        drop, testwise = wish("missing", "drop-rows", "na.omit()"), wish("missing", "testwise")
        if wishes.df != "pcalg":
            text = "{df} needs complete rows, and values are missing: {drop}"
            raise ValueError(Message(text, df=wish("df", "observed"), drop=drop))
        if wishes.pairwise:
            text = "{pairwise} takes numbers, and the table has categories: {testwise}"
            raise ValueError(Message(text, pairwise=wish("missing", "pairwise"), testwise=testwise))
    return True


def _incomplete(content: Content, wishes: Wishes) -> IncompleteTable:
    if content.kind == "numbers":
        return IncompleteTable(content.table)
    table = content.table
    return IncompleteTable(table.values, table.names, categories=True, adaptDF=wishes.adaptDF)


def _begin(content: Content) -> Message:
    """The clause about a table with gaps."""
    if content.kind == "numbers":
        return Message("{where}", where=content.where)
    found = content.found or wish("test", "discrete")
    return Message("{found}; {where}", found=found, where=content.where)


def _imputed_choice(content: Content, wishes: Wishes) -> Choice | None:
    M, seed = wishes.imputations, wishes.impute_seed or 0
    if not M or not _takes_gaps(content, wishes):
        return None
    from pycupc.independence.missing.impute import imputed  # which few calls need

    categories, checked = content.kind == "categories", _incomplete(content, wishes)
    data = imputed(checked if categories else content.table, M, seed, categories=categories)
    text = "{begin}, so that {M} imputations by chained equations are tested together ({this})"
    this = Words(f"missing='impute={M}', impute_seed={seed}", in_shell=f"--missing impute={M} --impute-seed {seed}")
    reason = Message(text, begin=_begin(content), M=M, this=this)
    others = ({"missing": "testwise"},)
    return Choice("imputed", _imputed_function(data), data, content, reason, others, unexpected=bool(content.found))


def _imputed_function(data: MultipleImputation) -> Any:
    return reference_tests.disMItest if data.categories else reference_tests.gaussMItest


def _testwise_function(data: IncompleteTable) -> Any:
    return reference_tests.disCItwd if data.categories else reference_tests.gaussCItwd


def _gapped_choice(content: Content, wishes: Wishes) -> Choice | None:
    if not _takes_gaps(content, wishes):
        return None
    data, numbers = _incomplete(content, wishes), content.kind == "numbers"
    function = _testwise_function(data)
    text = "{begin}, so that each test takes the rows that are complete in its variables ({this}); others: {others}"
    ways = ["impute=20", *["pairwise"] * numbers, "drop-rows"]
    others = Words(
        f"missing={' or '.join(map(repr, ways))}",
        f'imputations with indepTest = "{"gauss" if numbers else "dis"}MItest", or na.omit()',
        f"--missing {', '.join(ways)}",
    )
    this = wish("missing", "testwise", f'indepTest = "{function.__name__}"')
    reason = Message(text, begin=_begin(content), this=this, others=others)
    return Choice(
        *("incomplete", function, data, content, reason, tuple({"missing": way} for way in ways)),
        unexpected=bool(content.found) or (numbers and wishes.missing == "auto"),
        reads=() if numbers else ("adaptDF", "quirks"),
    )


_NUMBERS: dict[str, Any] = {"numbers": True, "linear": True}
_NO_ROWS_IN_R = ("cu_stability", "cu_cstar")

IMPUTED = Family(
    "imputed",
    (ImputedTest,),
    lambda request: ImputedTest(_imputed_data(request), request.alpha, NAdelete=request.NAdelete),
    functions=(reference_tests.gaussMItest, reference_tests.disMItest),
    classes=(MultipleImputation,),
    function_for=_imputed_function,
    observations=_imputed_rows,
    identity=_identity,
    moments=_imputed_moments,
    kinds=(
        Kind(
            "imputed numbers",
            "MultipleImputation(x_imputed)",
            'x_imputed, indepTest = "gaussMItest"',
            "--missing impute=3",
            not_in_r=_NO_ROWS_IN_R,
            **_NUMBERS,
        ),
        Kind(
            "imputed categories",
            "MultipleImputation(k_imputed, categories=True)",
            'k_imputed, indepTest = "disMItest"',
            "--test discrete --missing impute=3",
            not_in_r=_NO_ROWS_IN_R,
        ),
    ),
    from_r=_imputed_from_r,
    under=("gaussian", "discrete"),
    choice=_imputed_choice,
)
TESTWISE = Family(
    "incomplete",
    (TestwiseTest,),
    lambda request: TestwiseTest(
        _gapped_data(request), request.alpha, NAdelete=request.NAdelete, quirks=request.quirks
    ),
    functions=(reference_tests.gaussCItwd, reference_tests.disCItwd),
    faulty=(reference_tests.disCItwd,),
    classes=(IncompleteTable,),
    function_for=_testwise_function,
    observations=lambda request: OwnRows(_gapped_data(request)),
    identity=_identity,
    moments=_gapped_moments,
    kinds=(
        Kind(
            "numbers with gaps, test-wise",
            "IncompleteTable(x_gaps)",
            'x_gaps, indepTest = "gaussCItwd"',
            "--missing testwise",
            not_in_r=("cu_cstar",),
            **_NUMBERS,
        ),
        Kind(
            "categories with gaps, test-wise",
            "IncompleteTable(k_gaps, categories=True)",
            'k_gaps, indepTest = "disCItwd"',
            "--test discrete --missing testwise",
        ),
    ),
    from_r=_gapped_from_r,
    under=("gaussian", "discrete"),
    choice=_gapped_choice,
)

__all__ = ["IMPUTED", "TESTWISE", "ImputedTest", "LocalGaussianTest", "TestwiseTest"]
