"""The family of the kernel-based test: everything that the program must know about it."""

from __future__ import annotations

from pycupc.independence.kernel.kci import KCI, KernelData
from pycupc.independence.kernel.test import KernelTest
from pycupc.independence.registry import Family, FromR, Identity, Observations, Request, TableRows, checked_table

#: The test by name.
DEFAULT = KCI()


def _make(request: Request) -> KernelTest:
    data = KernelData.of(request.suffStat, request.labels)
    test = KernelTest(data, request.alpha, request.function, NAdelete=request.NAdelete, quirks=request.quirks)
    if request.m_max > 0:
        test.check_room_for_sets()
    return test


def _observations(request: Request) -> Observations:
    data = request.suffStat
    return TableRows(data.table if isinstance(data, KernelData) else checked_table(data, request.labels))


def _identity(test: KernelTest) -> Identity:
    facts = {"indepTest": "KCI", "width": test.how.width, "NAdelete": test.na_p == 1.0, "quirks": test.quirks}
    return Identity(facts, (test.data.table.values,))


def _from_r(sent: FromR) -> KernelData:
    return KernelData.of(sent.table, sent.labels)


FAMILY = Family(
    "kernel",
    (KernelTest,),
    _make,
    functions=(DEFAULT,),
    faulty=(DEFAULT,),
    options=(KCI,),
    classes=(KernelData,),
    function_for=lambda data: DEFAULT,
    observations=_observations,
    identity=_identity,
    from_r=_from_r,
)
