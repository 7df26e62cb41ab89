"""The family of the G^2 tests: everything that the program must know about them."""

from __future__ import annotations

from pycupc.independence.discrete.g_square import binCItest, disCItest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat, as_discrete_suff_stat
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.registry import Family, FromR, Identity, Kind, OwnRows, Request
from pycupc.system.localised_message import Message, Setting


def _make(request: Request) -> DiscreteTest:
    """`disCItest` or `binCItest` with its data."""
    data, binary = as_discrete_suff_stat(request.suffStat), request.function is binCItest
    if binary:
        data.check_binary()
    if request.quirks and data.df == "observed":
        text = "{quirks} reproduces pcalg, which has no {df}: choose one of the two"
        raise ValueError(Message(text, quirks=Setting("quirks", True), df=Setting("df", "observed")))
    return DiscreteTest(data, request.alpha, binary=binary, quirks=request.quirks)


def _identity(test: DiscreteTest) -> Identity:
    data = test.data
    facts = {"indepTest": "binCItest" if test.binary else "disCItest"}
    return Identity({**facts, "quirks": test.quirks, "adaptDF": data.adaptDF, "df": data.df}, (data.codes, data.nlev))


def _from_r(sent: FromR) -> DiscreteSuffStat:
    of = sent.values
    how = {"adaptDF": of["adaptDF"], "df": of["df"], "labels": sent.labels}
    return DiscreteSuffStat(sent.table, of.get("nlev"), **how)


FAMILY = Family(
    "discrete",
    (DiscreteTest,),
    _make,
    functions=(disCItest, binCItest),
    faulty=(disCItest, binCItest),
    classes=(DiscreteSuffStat,),
    function_for=lambda data: disCItest,
    observations=lambda request: OwnRows(as_discrete_suff_stat(request.suffStat, "data")),
    identity=_identity,
    kinds=(
        Kind("categories", "DiscreteSuffStat.from_data(k), disCItest", 'k, indepTest = "disCItest"', "--test discrete"),
    ),
    from_r=_from_r,
)
