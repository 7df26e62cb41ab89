"""The families of the tests of numbers and categories: everything that the program must know about them."""

from __future__ import annotations

from typing import Any

from pycupc.data.mixed import MixedTable
from pycupc.independence.mixed.data import MixedImputation, as_gapped, as_imputed, as_mixed
from pycupc.independence.mixed.mix_ci_test import flexCItest, flexCItwd, mixCItest, mixCItwd
from pycupc.independence.mixed.mix_mi_test import flexMItest, mixMItest
from pycupc.independence.mixed.test import ImputedMixedTest, MixedTest, TestwiseMixedTest
from pycupc.independence.registry import Family, FromR, Identity, OwnRows, Request

#: Of the functions that the flexible variants of the tests stand for.
_FLEXIBLE = (flexCItest, flexCItwd, flexMItest)


def _how(request: Request) -> dict[str, Any]:
    flexible = request.function in _FLEXIBLE
    return {"NAdelete": request.NAdelete, "quirks": request.quirks, "flexible": flexible}


def _identity(test: Any) -> Identity:
    facts = {"indepTest": test.name, "flexible": test.flexible, "quirks": test.quirks, "NAdelete": test.na_p == 1.0}
    if isinstance(test, MixedTest) and not test.flexible:
        facts = {"indepTest": "mixCItest", "quirks": test.quirks}
    return Identity(facts, tuple(test.data.arrays()))


def _from_r(sent: FromR) -> MixedTable:
    categories = tuple(None if own is None else tuple(own) for own in sent.values["texts"])
    return MixedTable(sent.table, categories, (False,) * sent.p, tuple(sent.labels))


def _imputed_from_r(sent: FromR) -> MixedImputation:
    values = sent.arrays["x"].reshape(-1, sent.p, int(sent.values["n"])).transpose(0, 2, 1)
    return MixedImputation.from_values(values, [len(own or ()) for own in sent.values["texts"]], sent.labels)


FAMILY = Family(
    "mixed",
    (MixedTest,),
    lambda request: MixedTest(as_mixed(request.suffStat), request.alpha, **_how(request)),
    functions=(mixCItest, flexCItest),
    faulty=(mixCItest, flexCItest),
    classes=(MixedTable,),
    function_for=lambda data: mixCItest,
    observations=lambda request: OwnRows(as_mixed(request.suffStat)),
    identity=_identity,
    from_r=_from_r,
)
GAPPED = Family(
    "incomplete mixed",
    (TestwiseMixedTest,),
    lambda request: TestwiseMixedTest(as_gapped(request.suffStat), request.alpha, **_how(request)),
    functions=(mixCItwd, flexCItwd),
    faulty=(mixCItwd, flexCItwd),
    observations=lambda request: OwnRows(as_gapped(request.suffStat)),
    identity=_identity,
    from_r=_from_r,
)
IMPUTED = Family(
    "imputed mixed",
    (ImputedMixedTest,),
    lambda request: ImputedMixedTest(as_imputed(request.suffStat), request.alpha, **_how(request)),
    functions=(mixMItest, flexMItest),
    faulty=(mixMItest, flexMItest),
    classes=(MixedImputation,),
    function_for=lambda data: mixMItest,
    observations=lambda request: OwnRows(as_imputed(request.suffStat)),
    identity=_identity,
    from_r=_imputed_from_r,
)
