"""The data of a test, as R sends them, in the form that the test takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import are_numbers, check_texts, doubtful
from pycupc.data.clean_columns import Decisions, numbers_the_rows
from pycupc.data.text_columns import TextColumn
from pycupc.data.text_layout import MISSING
from pycupc.data.units import numbers_in
from pycupc.independence.base import IndependenceTest
from pycupc.independence.choice import Wishes
from pycupc.independence.families import FUNCTIONS, choice_of, family_of
from pycupc.independence.registry import FromR, Request, mixed_from_r
from pycupc.r.messages import in_r
from pycupc.r.r_memory import square

Sent = Mapping[str, NDArray[Any]]
#: Matrices of p x p numbers.
SQUARE = ("C", "pair_n")


def data_of(sent: Sent, options: Mapping[str, Any], labels: Sequence[str]) -> tuple[Any, Callable[..., float]]:
    """The data, and the `indepTest`, of `options["test"]`; see `Job.start`."""
    p, test = len(labels), options["test"]
    function = FUNCTIONS[test]
    family, _ = family_of(function, None)
    arrays = {name: square(v) if name in SQUARE and v.size == p * p else v for name, v in sent.items()}
    table = next(sent[name] for name in ("x", "dm", "C") if name in sent).reshape(p, -1).T
    data = family.from_r(FromR(test, table, arrays, list(labels), options))
    if options.get("texts") and not hasattr(data, "check_texts"):  # as a mixed table has, which checks its own
        texts = [list(own or ()) for own in options["texts"]]
        check_texts(labels, [None if are_numbers(own) else own for own in texts], [int(data.n)] * p)
        for remark in doubtful(labels, texts):
            warnings.warn(remark, stacklevel=2)
    return data, function


def chosen(sent: Sent, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The `test` that fits a table, the `reason`, and whether it is `unexpected`: whether a user should be told.

    `sent`: `x`, float64, column by column; options: `labels`, and `texts`, the levels of each factor. What is said of
    the table itself is said when its test gets it.
    """
    labels = [str(label) for label in options["labels"]]
    table = mixed_from_r(FromR("", sent["x"].reshape(len(labels), -1).T, {}, labels, options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        choice = choice_of(table, Wishes())
    said = {"test": choice.indepTest.__name__, "reason": in_r(choice.reason, labels), "unexpected": choice.unexpected}
    return said, {}


def columns_read(sent: Sent, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The columns of texts of a data frame to leave `out`, the ones that hold `numbers`, and the `reason`.

    `sent`: `codes`, float64, of the texts column by column, from 1, NaN where one is missing, and `rows`, columns that
    may number the rows. Options: `labels` of all columns, the `names` of those of texts, their `texts`, and `of_rows`,
    the names of these columns.
    The reply has the `values` of the columns of numbers, one after the other.
    """
    labels, names = ([str(name) for name in options[which]] for which in ("labels", "names"))
    texts, cells = [list(own) for own in options["texts"]], dict[str, list[str | None]]()
    if names:
        for name, own, codes in zip(names, texts, sent["codes"].reshape(len(names), -1), strict=True):
            cells[name] = [None if code != code else own[int(code) - 1] for code in codes.tolist()]
    decisions = Decisions.of({name: TextColumn.of(column) for name, column in cells.items()}, ())
    of_rows = [str(name) for name in options["of_rows"]]
    columns = sent["rows"].reshape(len(of_rows), -1) if of_rows else ()
    found = {
        name: numbers_the_rows(name, own, first=name == labels[0]) for name, own in zip(of_rows, columns, strict=True)
    }
    decisions = replace(decisions, out={**{name: what for name, what in found.items() if what}, **decisions.out})
    numbers = list({**decisions.units, **decisions.marks})
    values = [numbers_in(cells[name], MISSING | {decisions.marks.get(name, "").casefold()}) for name in numbers]
    reason = in_r(decisions.said, labels) if decisions else ""
    arrays = {"values": np.array(values, dtype=np.float64)} if numbers else {}
    return {"out": list(decisions.out), "numbers": numbers, "reason": reason}, arrays


def tests_of(sent: Sent, options: Mapping[str, Any], labels: Sequence[str], alpha: float) -> list[IndependenceTest]:
    """The test of `options["test"]` with its data; two if it has faults of pcalg, without and with them."""
    data, function = data_of(sent, options, labels)
    family, _ = family_of(function, data)
    request = Request(data, function, alpha)
    if function not in family.faulty:
        return [family.make(request)]
    return [family.make(replace(request, quirks=quirks)) for quirks in (False, True)]
