"""The family of the test of numbers and categories: everything that the program must know about it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pycupc.data.content import Content
from pycupc.data.mixed import MixedTable
from pycupc.data.names import listed_at
from pycupc.independence.choice import Choice, Wishes, wish
from pycupc.independence.mixed.mix_ci_test import as_mixed, mixCItest
from pycupc.independence.mixed.test import MixedTest
from pycupc.independence.registry import Family, Identity, Kind, OwnRows, Request, mixed_from_r
from pycupc.system.localised_message import Message, Words


def _make(request: Request) -> MixedTest:
    return MixedTest(as_mixed(request.suffStat), request.alpha, quirks=request.quirks)


def _choice(content: Content, wishes: Wishes) -> Choice | None:
    mixed = content.table
    if content.kind != "both" or not isinstance(mixed, MixedTable):
        return None
    mixed.check_texts()
    drop_rows = wish("missing", "drop-rows", "na.omit()")
    if len(content.gaps):
        text = "values are missing in {columns}, and the test of numbers and categories together needs complete rows, "
        text += "and does not pool imputations: {drop_rows}{drop}"
        drop = Words("", in_shell=", or --drop these columns")
        columns = listed_at(mixed.names, content.gaps)
        raise ValueError(Message(text, columns=columns, drop_rows=drop_rows, drop=drop))
    mixed.check()  # here, where warnings name the options of the caller
    data, this = replace(mixed, checked=True), wish("test", "mixed", 'indepTest = "mixCItest"')
    chosen = partial(Choice, "mixed", mixCItest, data, content, reads=("quirks",))
    if not content.found:
        return chosen(Message("{this}", this=this))
    text = "{found}, so that the test of numbers and categories together runs ({this}); {left_out} leaves the words "
    text += "out, {discrete} takes every value for a category"
    left_out = Words("drop_non_numeric=True", "a table without these columns", "--drop-non-numeric")
    discrete = wish("test", "discrete", 'indepTest = "disCItest"')
    reason = Message(text, found=content.found, this=this, left_out=left_out, discrete=discrete)
    return chosen(reason, ({"drop_non_numeric": True}, {"test": "discrete"}), unexpected=True)


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
    from_r=mixed_from_r,
    word="mixed",
    columns="both",
    help="both",
    choice=_choice,
)
