"""The data of a test, as R sends them, in the form that the test takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from pycupc.data.categories import are_numbers, check_texts, doubtful
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


def tests_of(sent: Sent, options: Mapping[str, Any], labels: Sequence[str], alpha: float) -> list[IndependenceTest]:
    """The test of `options["test"]` with its data; two if it has faults of pcalg, without and with them."""
    data, function = data_of(sent, options, labels)
    family, _ = family_of(function, data)
    request = Request(data, function, alpha)
    if function not in family.faulty:
        return [family.make(request)]
    return [family.make(replace(request, quirks=quirks)) for quirks in (False, True)]
