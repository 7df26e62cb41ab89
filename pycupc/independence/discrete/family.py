"""The family of the G^2 tests: everything that the program must know about them."""

from __future__ import annotations

from functools import partial
from typing import Any

from pycupc.data.content import Content
from pycupc.data.table import Table
from pycupc.independence.choice import Choice, Wishes, wish
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


def _choice(content: Content, wishes: Wishes) -> Choice | None:
    if content.kind != "categories" or len(content.gaps):
        return None
    data = DiscreteSuffStat.from_data(content.table, adaptDF=wishes.adaptDF, df=wishes.df)  # type: ignore[arg-type]
    chosen = partial(Choice, "discrete", disCItest, data, content, reads=("adaptDF", "df", "quirks"))
    this = wish("test", "discrete", 'indepTest = "disCItest"')
    if not content.found:
        return chosen(Message("{this}", this=this))
    text = "{found}, so that the G^2 test of discrete data runs ({this}); with {gaussian} only numbers are accepted"
    gaussian = wish("test", "gaussian", 'indepTest = "gaussCItest"')
    return chosen(Message(text, found=content.found, this=this, gaussian=gaussian), unexpected=True)


def _would_do(content: Content) -> tuple[str, dict[str, Any]] | None:
    """Numbers may be codes of categories."""
    if isinstance(content.table, Table) and content.kind == "numbers" and content.table.may_be_codes:
        return content.table.remark_on_codes(), {"test": "discrete"}
    return None


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
    word="discrete",
    columns="categories",
    help="G^2 of categories",
    choice=_choice,
    would_do=_would_do,
)
