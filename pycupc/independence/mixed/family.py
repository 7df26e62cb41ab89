"""The families of the tests of numbers and categories: everything that the program must know about them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pycupc.data.content import Content
from pycupc.data.mixed import MixedTable
from pycupc.data.text_columns import MOST_LEVELS
from pycupc.independence.choice import Choice, Wishes, wish
from pycupc.independence.mixed.data import MixedImputation, as_gapped, as_imputed, as_mixed
from pycupc.independence.mixed.mix_ci_test import flexCItest, flexCItwd, mixCItest, mixCItwd
from pycupc.independence.mixed.mix_mi_test import flexMItest, mixMItest
from pycupc.independence.mixed.test import ImputedMixedTest, MixedTest, TestwiseMixedTest
from pycupc.independence.registry import Family, FromR, Identity, Kind, OwnRows, Request, mixed_from_r
from pycupc.system.localised_message import Message, Words

#: The functions that stand for the flexible variants of the tests.
_FLEXIBLE = (flexCItest, flexCItwd, flexMItest)


def _how(request: Request) -> dict[str, Any]:
    flexible = request.function in _FLEXIBLE
    return {"NAdelete": request.NAdelete, "quirks": request.quirks, "flexible": flexible}


def _identity(test: Any) -> Identity:
    facts = {"indepTest": test.name, "flexible": test.flexible, "quirks": test.quirks, "NAdelete": test.na_p == 1.0}
    if isinstance(test, MixedTest) and not test.flexible:  # as in checkpoints of 0.2.0
        facts = {"indepTest": "mixCItest", "quirks": test.quirks}
    return Identity(facts, tuple(test.data.arrays()))


def _table(content: Content, *, gaps: bool) -> MixedTable | None:
    """The table if it is of both kinds, and has gaps or has not, checked; else None."""
    mixed = content.table
    if content.kind != "both" or not isinstance(mixed, MixedTable) or bool(len(content.gaps)) != gaps:
        return None
    mixed.check_texts()
    if gaps:
        mixed.check_gaps()  # here, where warnings name the options of the caller
    else:
        mixed.check()
    return replace(mixed, checked=True)


def _choice(content: Content, wishes: Wishes) -> Choice | None:
    if (data := _table(content, gaps=False)) is None:
        return None
    this = wish("test", "mixed", 'indepTest = "mixCItest"')
    chosen = partial(Choice, "mixed", mixCItest, data, content, reads=("quirks",))
    if not content.found:
        return chosen(Message("{this}", this=this))
    reason = _of_both(content, "{found}, so that the test of numbers and categories together runs ({this})", this)
    return chosen(reason, _others(content), unexpected=True)


def _may_be_categories(content: Content) -> bool:
    """Whether each column of numbers holds so few whole ones that they may be taken for categories."""
    table = content.table
    assert isinstance(table, MixedTable)
    columns = (own[~np.isnan(own)] for own in table.values.T[~table.categorical])
    return all(bool((own == np.rint(own)).all()) and len(np.unique(own)) <= MOST_LEVELS for own in columns)


def _others(content: Content) -> tuple[dict[str, Any], ...]:
    """Arguments of `pycupc.choose` that choose another test of a table that holds words."""
    if not content.found:
        return ()
    return {"drop_non_numeric": True}, *([{"test": "discrete"}] if _may_be_categories(content) else ())


def _of_both(content: Content, text: str, this: Words, **facts: Any) -> Message:
    """A choice for a table that holds words, and how to choose another."""
    text += "; {left_out} leaves the words out"
    if _may_be_categories(content):
        text += ", {discrete} takes every value for a category"
    left_out = Words("drop_non_numeric=True", "a table without these columns", "--drop-non-numeric")
    discrete = wish("test", "discrete", 'indepTest = "disCItest"')
    return Message(text, found=content.found, this=this, left_out=left_out, discrete=discrete, **facts)


def _with_gaps(content: Content, text: str, this: Words, **facts: Any) -> Message:
    """A choice for a table with gaps; `text` follows the clause about them."""
    if content.found:
        return _of_both(content, "{found}; {where}, so that " + text, this, where=content.where, **facts)
    mixed = wish("test", "mixed")
    return Message("{mixed}; {where}, so that " + text, mixed=mixed, this=this, where=content.where, **facts)


def _gapped_choice(content: Content, wishes: Wishes) -> Choice | None:
    if (data := _table(content, gaps=True)) is None:
        return None
    this = wish("missing", "testwise", 'indepTest = "mixCItwd"')
    if wishes.pairwise:
        text = "{pairwise} takes numbers, and the table has categories: {this}"
        raise ValueError(Message(text, pairwise=wish("missing", "pairwise"), this=this))
    ways = ("impute=20", "drop-rows")
    others = Words(
        f"missing={' or '.join(map(repr, ways))}",
        'imputations with indepTest = "mixMItest", or na.omit()',
        f"--missing {', '.join(ways)}",
    )
    text = "each test takes the rows that are complete in its variables ({this}); others: {others}"
    reason = _with_gaps(content, text, this, others=others)
    unexpected = bool(content.found) or wishes.missing == "auto"
    alternatives = (*({"missing": way} for way in ways), *_others(content))
    return Choice(GAPPED.name, mixCItwd, data, content, reason, alternatives, unexpected, reads=("quirks",))


def _imputed_choice(content: Content, wishes: Wishes) -> Choice | None:
    M, seed = wishes.imputations, wishes.impute_seed or 0
    if not M or (table := _table(content, gaps=True)) is None:
        return None
    from pycupc.independence.mixed.impute import imputed_mixed  # which few calls need

    this = Words(f"missing='impute={M}', impute_seed={seed}", in_shell=f"--missing impute={M} --impute-seed {seed}")
    reason = _with_gaps(content, "{M} imputations by chained equations are tested together ({this})", this, M=M)
    data, others = imputed_mixed(table, M, seed), ({"missing": "testwise"}, *_others(content))
    return Choice(
        IMPUTED.name, mixMItest, data, content, reason, others, unexpected=bool(content.found), reads=("quirks",)
    )


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
    kinds=(Kind("numbers and categories", "MixedTable.of(m)", 'm, indepTest = "mixCItest"', "--test mixed"),),
    from_r=mixed_from_r,
    word="mixed",
    columns="both",
    help="both",
    choice=_choice,
)
GAPPED = Family(
    "incomplete mixed",
    (TestwiseMixedTest,),
    lambda request: TestwiseMixedTest(as_gapped(request.suffStat), request.alpha, **_how(request)),
    functions=(mixCItwd, flexCItwd),
    faulty=(mixCItwd, flexCItwd),
    observations=lambda request: OwnRows(as_gapped(request.suffStat)),
    identity=_identity,
    kinds=(
        Kind(
            "numbers and categories with gaps, test-wise",
            "MixedTable.of(m_gaps), mixCItwd",
            'm_gaps, indepTest = "mixCItwd"',
            "--test mixed --missing testwise",
        ),
    ),
    from_r=mixed_from_r,
    under=("mixed",),
    choice=_gapped_choice,
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
    kinds=(
        Kind(
            "imputed numbers and categories",
            "MixedImputation(m_imputed)",
            'm_imputed, indepTest = "mixMItest"',
            "--test mixed --missing impute=3",
            not_in_r=("cu_stability", "cu_cstar"),
        ),
    ),
    from_r=_imputed_from_r,
    under=("mixed",),
    choice=_imputed_choice,
)
