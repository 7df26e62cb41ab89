"""The data of a test, as R sends them, in the form that the test takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import are_numbers, check_texts, doubtful
from pycupc.data.mixed import MixedTable
from pycupc.data.table import Table
from pycupc.independence.base import IndependenceTest
from pycupc.independence.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.missing.family import LocalGaussianTest, missing_test
from pycupc.independence.missing.literal import TESTS
from pycupc.independence.mixed.family import MixedTest
from pycupc.independence.mixed.mix_ci_test import mixCItest
from pycupc.r.r_memory import square

Sent = Mapping[str, NDArray[Any]]
_TESTS: dict[str, Callable[..., float]] = {
    **TESTS, "mixCItest": mixCItest, "disCItest": disCItest, "binCItest": binCItest
}  # fmt: skip


def data_of(sent: Sent, options: Mapping[str, Any], labels: Sequence[str]) -> tuple[Any, Callable[..., float] | None]:
    """The data, and the `indepTest` unless that is the Gaussian one, of `options["test"]`; see `Job.start`."""
    test, p, given = options["test"], len(labels), options.get
    table = next(sent[name] for name in ("x", "dm", "C") if name in sent).reshape(p, -1).T
    data: Any
    if test == "gaussCItest" and "x" in sent:
        observations = Table.of(table, labels)
        data = SuffStat.from_data(observations)  # its warnings name the variables
        if given("by_default"):
            observations.warn_of_codes()
    elif test == "gaussCItest" and "pair_n" in sent:
        data = SuffStat(square(sent["C"]), square(sent["pair_n"]), labels, n_rule=given("n_rule") or "mean")
    elif test == "gaussCItest":
        data = {"C": square(sent["C"]), "n": options["n"]}
    elif test == "gaussMItest":
        data = MultipleImputation.from_correlations(list(sent["C"].reshape(-1, p, p)), options["n"], labels)
    elif test == "disMItest":
        codes = sent["dm"].reshape(-1, p, int(options["n"]))
        data = MultipleImputation.from_codes(codes, options["nlev"], labels)
    elif test == "mixCItest":
        categories = tuple(None if own is None else tuple(own) for own in options["texts"])
        data = MixedTable(table, categories, (False,) * p, tuple(labels))
    elif test == "gaussCItwd":
        data = IncompleteTable(table, labels)
    elif test == "disCItwd":
        incomplete = np.where(table < 0, np.nan, table)  # R's NA
        data = IncompleteTable(incomplete, labels, categories=True, adaptDF=options["adaptDF"])
    else:
        data = DiscreteSuffStat(table, given("nlev"), adaptDF=options["adaptDF"], df=options["df"], labels=labels)
    if given("texts") and test != "mixCItest":  # whose table checks its own
        texts = [list(own or ()) for own in options["texts"]]
        check_texts(labels, [None if are_numbers(own) else own for own in texts], [int(data.n)] * p)
        for remark in doubtful(labels, texts):
            warnings.warn(remark, stacklevel=2)
    return data, _TESTS.get(test)


def tests_of(sent: Sent, options: Mapping[str, Any], labels: Sequence[str], alpha: float) -> list[IndependenceTest]:
    """The test of `options["test"]` with its data; two of discrete data, without and with pcalg's faults."""
    data, function = data_of(sent, options, labels)
    if function is None:
        stat = data if isinstance(data, SuffStat) else SuffStat(**data)
        return [(GaussianTest if stat.pair_n is None else LocalGaussianTest)(stat, alpha)]
    if isinstance(data, DiscreteSuffStat):
        binary = function is binCItest
        return [DiscreteTest(data, alpha, binary=binary, quirks=quirks) for quirks in (False, True)]
    if isinstance(data, MixedTable):
        return [MixedTest(data, alpha, quirks=quirks) for quirks in (False, True)]
    made = (missing_test(function, data, alpha, NAdelete=True, quirks=quirks) for quirks in (False, True))
    return [test for test in made if test is not None]
