"""The family of the test of numbers and categories: everything that the program must know about it."""

from __future__ import annotations

from pycupc.data.mixed import MixedTable
from pycupc.independence.mixed.mix_ci_test import as_mixed, mixCItest
from pycupc.independence.mixed.test import MixedTest
from pycupc.independence.registry import Family, FromR, Identity, Kind, OwnRows, Request


def _make(request: Request) -> MixedTest:
    return MixedTest(as_mixed(request.suffStat), request.alpha, quirks=request.quirks)


def _from_r(sent: FromR) -> MixedTable:
    categories = tuple(None if own is None else tuple(own) for own in sent.values["texts"])
    return MixedTable(sent.table, categories, (False,) * sent.p, tuple(sent.labels))


FAMILY = Family(
    "mixed",
    (MixedTest,),
    _make,
    functions=(mixCItest,),
    faulty=(mixCItest,),
    classes=(MixedTable,),
    function_for=lambda data: mixCItest,
    observations=lambda request: OwnRows(as_mixed(request.suffStat)),
    identity=lambda test: Identity({"indepTest": "mixCItest", "quirks": test.quirks}, tuple(test.data.arrays())),
    kinds=(Kind("numbers and categories", "MixedTable.of(m)", 'm, indepTest = "mixCItest"', "--test mixed"),),
    from_r=_from_r,
)
