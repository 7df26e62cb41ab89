"""The family of the kernel-based test: everything that the program must know about it."""

from __future__ import annotations

from pycupc.data.content import Content
from pycupc.data.names import listed_at
from pycupc.data.table import Table
from pycupc.independence.base import Indices
from pycupc.independence.choice import Choice, Wishes, wish
from pycupc.independence.kernel.kci import KCI, KernelData
from pycupc.independence.kernel.test import KernelTest
from pycupc.independence.registry import (
    Family,
    FromR,
    Identity,
    Kind,
    Observations,
    Request,
    TableRows,
    checked_table,
    table_from_r,
)
from pycupc.system.localised_message import Message

#: The test by name.
DEFAULT = KCI()


def _make(request: Request) -> KernelTest:
    data = KernelData.of(request.suffStat, request.labels)
    test = KernelTest(data, request.alpha, request.function, NAdelete=request.NAdelete, quirks=request.quirks)
    if request.m_max > 0:
        test.check_room_for_sets()
    return test


class _Rows(TableRows):
    """The rows as `KernelData`, which stand for the test."""

    def whole(self) -> KernelData:
        return KernelData(self.table)

    def take(self, rows: Indices) -> tuple[KernelData, Indices, int]:
        table, constant, copies = super().take(rows)
        return KernelData(table), constant, copies


def _observations(request: Request) -> Observations:
    data = request.suffStat
    return _Rows(data.table if isinstance(data, KernelData) else checked_table(data, request.labels))


def _identity(test: KernelTest) -> Identity:
    facts = {"indepTest": "KCI", "width": test.how.width, "NAdelete": test.na_p == 1.0, "quirks": test.quirks}
    return Identity(facts, (test.data.table.values,))


def _choice(content: Content, wishes: Wishes) -> Choice | None:
    """The test where it is wished: nothing in a table says that dependence is not linear."""
    if wishes.test != "kci" or not isinstance(content.table, Table):
        return None
    if len(content.gaps):
        columns = listed_at(content.table.names, content.gaps)
        text = "KCI needs complete rows, and values are missing in {columns}: {drop_rows}"
        raise ValueError(Message(text, columns=columns, drop_rows=wish("missing", "drop-rows", "na.omit()")))
    content.table.check()
    this = Message("{this}", this=wish("test", "kci", 'indepTest = "KCI"'))
    return Choice("kernel", DEFAULT, KernelData.of(content.table), content, this, reads=("quirks",))


def _from_r(sent: FromR) -> KernelData:
    table = table_from_r(sent)
    if not isinstance(table, Table):
        raise TypeError("KCI takes numbers; make them of factors, or take mixCItest")
    table.check()
    return KernelData.of(table)


FAMILY = Family(
    "kernel",
    (KernelTest,),
    _make,
    functions=(DEFAULT,),
    options=(KCI,),
    faulty=(DEFAULT,),
    classes=(KernelData,),
    function_for=lambda data: DEFAULT,
    observations=_observations,
    identity=_identity,
    kinds=(Kind("numbers, dependence of any form", "x, KCI()", 'x, indepTest = "KCI"', "--test kci", numbers=True),),
    from_r=_from_r,
    word="kci",
    help="kernels of numbers, for dependence of any form, up to some thousand rows",
    choice=_choice,
)
