"""The Gaussian family: everything that the program must know about its tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pycupc.data.content import Content
from pycupc.data.mixed import MixedTable
from pycupc.data.names import listed_at
from pycupc.data.table import Table
from pycupc.independence.base import Indices
from pycupc.independence.choice import Choice, Wishes, wish
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.latent import levels_of
from pycupc.independence.gaussian.measures import Measure
from pycupc.independence.gaussian.n_by_pair import LocalGaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat, as_suff_stat
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.independence.p_values import too_few_for_fisher_z as _untested  # its name in pickles of 0.2.0
from pycupc.independence.registry import (
    Family,
    FromR,
    Identity,
    Kind,
    Moments,
    Observations,
    Request,
    checked_table,
    digest_of,
)
from pycupc.system.localised_message import Message


@dataclass(frozen=True)
class CorrelatedRows:
    """`Observations` of which correlations are computed, for each resample."""

    table: Table
    measure: Measure

    @property
    def n(self) -> int:
        return len(self.table.values)

    def whole(self) -> SuffStat:
        return SuffStat.from_table(self.table, self.measure)

    def take(self, rows: Indices) -> tuple[SuffStat, Indices, int]:
        table = Table.of_values(self.table.values[rows], self.table.labels)
        return SuffStat.from_table(table, self.measure), table.constant, sum(map(len, table.copies))

    def digest(self) -> str:
        if self.measure == Measure():
            return digest_of((self.table.values,))
        rule = () if self.measure.n_rule is None else (self.measure.n_rule,)
        return digest_of((self.table.values,), repr((self.measure.name, self.measure.nearest, *rule)))


def _make(request: Request) -> GaussianTest | LocalGaussianTest:
    data = as_suff_stat(
        request.suffStat, request.progress, request.correlation, request.device, by_default=request.by_default
    )
    return (GaussianTest if data.pair_n is None else LocalGaussianTest)(data, request.alpha)


_NEEDS_ROWS = "data must be a table of observations: resampling draws rows, which a correlation matrix does not have"


def _observations(request: Request) -> Observations:
    data, correlation = request.suffStat, request.correlation
    if isinstance(data, SuffStat):
        if data.rows is None:
            raise ValueError(f"{_NEEDS_ROWS}; got a SuffStat without rows, made from correlations")
        values = np.ascontiguousarray(data.rows, dtype=np.float64)
        return CorrelatedRows(Table.of_values(values, data.labels), data.measure)
    if isinstance(data, Mapping):
        raise ValueError(f"{_NEEDS_ROWS}; got a mapping with {', '.join(map(repr, data)) or 'no entries'}")
    table = checked_table(data, request.labels)
    if request.by_default and correlation is None:
        table.warn_of_codes()
    return CorrelatedRows(table, Measure(correlation or "pearson").of_data(table))  # type: ignore[arg-type]  # checked


def _identity(test: GaussianTest | LocalGaussianTest) -> Identity:
    data = test.data
    facts = {"indepTest": "gaussCItest", "correlation": data.measure.name, "nearest": bool(data.measure.nearest)}
    if data.pair_n is not None:
        matrix, rule = data.pair_n
        return Identity({**facts, "n_rule": rule}, (data.C, matrix))
    return Identity(facts, (data.C if data.rows is None else data.rows,))


def _from_r(sent: FromR) -> Any:
    if "x" in sent.arrays:
        table = Table.of(sent.table, sent.labels)
        data = SuffStat.from_data(table)  # its warnings name the variables
        if sent.values.get("by_default"):
            table.warn_of_codes()
        return data
    if "pair_n" in sent.arrays:
        rule = sent.values.get("n_rule") or "mean"
        return SuffStat(sent.arrays["C"], sent.arrays["pair_n"], sent.labels, n_rule=rule)
    return {"C": sent.arrays["C"], "n": sent.values["n"]}


#: The choice of this family from its data on.
_chosen = partial(Choice, "gaussian", gaussCItest, reads=("correlation", "nearest"))
_DROP_ROWS = wish("missing", "drop-rows", "na.omit()")
_LATENT_IN_R = 'cu_suffStat(correlation = "latent")'


def _choice(content: Content, wishes: Wishes) -> Choice | None:
    table, how = content.table, wishes.correlation
    measure = Measure(how or "pearson", wishes.nearest)  # type: ignore[arg-type]  # checked
    if isinstance(table, MixedTable) and how is not None:
        return _latent(content, table, wishes)
    if not isinstance(table, Table) or content.kind != "numbers":
        return None
    if len(content.gaps):
        if measure.name != "pearson":
            text = "{measure} needs complete rows, and values are missing in {columns}: {drop}"
            columns, this = listed_at(table.names, content.gaps), wish("correlation", measure.name)
            raise ValueError(Message(text, measure=this, columns=columns, drop=_DROP_ROWS))
        return _pairwise(content, wishes) if wishes.pairwise else None
    text = "numbers in all columns: the Gaussian test, {measure} correlations"
    alternatives: tuple[dict[str, Any], ...] = ()
    facts = {"measure": measure.name, "latent": wish("correlation", "latent", _LATENT_IN_R), "p": len(table.names)}
    if measure.name == "pearson" and (few := len(levels_of(table.values))):
        text += "; {few} of {p} columns have up to 10 values: {latent} for classes"
        facts, alternatives = facts | {"few": few}, ({"correlation": "latent"},)
    data = _with_correlations(table, measure, wishes)
    return _chosen(data, content, Message(text, **facts), alternatives)


def _with_correlations(table: Table, measure: Measure, wishes: Wishes) -> SuffStat:
    """The data of a table; Pearson's correlations are left to the engine that runs the tests."""
    table.check()
    others = measure.nearest or measure.name != "pearson"
    engine = wishes.device(len(table.names)) if others else None
    how = {"progress": wishes.progress, "keep": wishes.keep, "engine": engine}
    return SuffStat.from_table(table, measure.of_data(table), quiet=False, **how)


def _pairwise(content: Content, wishes: Wishes) -> Choice:
    data = SuffStat.from_data(content.table, missing="pairwise", nearest=wishes.nearest, n_rule=wishes.pairwise)
    text = "{where}, so that each correlation and its n come from the rows complete in its pair ({this})"
    reason = Message(text, where=content.where, this=wish("missing", wishes.missing))
    return _chosen(data, content, reason, ({"missing": "testwise"},))


def _latent(content: Content, mixed: MixedTable, wishes: Wishes) -> Choice:
    if wishes.correlation != "latent":
        text = "{measure} takes numbers, and the table holds words; latent may do"
        raise ValueError(Message(text, measure=wish("correlation", str(wishes.correlation))))
    mixed.check()
    table = mixed.as_numbers()
    data = SuffStat.from_data(table, correlation="latent", nearest=wishes.nearest)
    reason = Message("{this}, with words as the two classes of a variable", this=wish("correlation", "latent"))
    found = replace(content, kind="numbers", table=table)
    return _chosen(data, found, reason, ({"test": "mixed"},), unexpected=True)


_NUMBERS: dict[str, Any] = {"numbers": True, "linear": True}
_MATRIX: dict[str, Any] = {**_NUMBERS, "rows": False}
_KINDS = (
    Kind("numbers", "x", "x", "--test gaussian", **_NUMBERS),
    Kind("correlations and n", '{"C": C, "n": n}', "list(C = C, n = n)", "--correlation n", **_MATRIX),
    Kind("ranks", 'x, correlation="spearman"', "", "--correlation spearman", **_NUMBERS),
    Kind("ranks, Kendall", 'x, correlation="kendall"', "", "--correlation kendall", **_NUMBERS),
    Kind("classes of Gaussian variables", 'x_k, correlation="latent"', "", "--correlation latent", **_NUMBERS),
    Kind("correlations, n by pair", '{"C": C, "n": N}', "list(C = C, n = N)", **_MATRIX),
    Kind(
        "numbers with gaps, pairwise",
        'SuffStat.from_data(x_gaps, missing="pairwise")',
        'cu_suffStat(x_gaps, missing = "pairwise")',
        "--missing pairwise",
        not_in_r=("cu_stability", "cu_cstar"),
        **_NUMBERS,
    ),
)

FAMILY = Family(
    "gaussian",
    (GaussianTest, LocalGaussianTest),
    _make,
    functions=(gaussCItest,),
    classes=(SuffStat,),
    correlates=True,
    observations=_observations,
    identity=_identity,
    moments=lambda data, *, quiet=False: Moments(data.C[None], data.n),
    kinds=_KINDS,
    from_r=_from_r,
    word="gaussian",
    help="partial correlations of numbers",
    choice=_choice,
)

__all__ = ["FAMILY", "CorrelatedRows", "_untested"]
