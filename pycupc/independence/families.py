"""All families of tests, and the one that a function and data stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycupc.independence.base import IndependenceTest
from pycupc.independence.custom import BATCH, CUSTOM, Batch
from pycupc.independence.discrete.family import FAMILY as DISCRETE
from pycupc.independence.gaussian.family import FAMILY as GAUSSIAN
from pycupc.independence.missing.family import IMPUTED, TESTWISE
from pycupc.independence.mixed.family import FAMILY as MIXED
from pycupc.independence.mixed.family import GAPPED as GAPPED_MIXED
from pycupc.independence.mixed.family import IMPUTED as IMPUTED_MIXED
from pycupc.independence.registry import Family, Identity, Observations, Request, no_rows
from pycupc.system.localised_message import Message, Setting

#: The families that a function of the program, or a class of data, stands for; the first is the default.
FAMILIES = (GAUSSIAN, DISCRETE, MIXED, IMPUTED, TESTWISE, GAPPED_MIXED, IMPUTED_MIXED)
#: The functions that stand for a family, by their names.
FUNCTIONS = {function.__name__: function for family in FAMILIES for function in family.functions}


def family_of(indepTest: Any, data: Any) -> tuple[Family, Any]:
    """The family that ``indepTest``, or without it the class of the data, stands for; and the function that does."""
    if indepTest is None:
        family = next((family for family in FAMILIES if isinstance(data, family.classes)), GAUSSIAN)
        return family, family.functions[0] if family.function_for is None else family.function_for(data)
    for family in FAMILIES:
        if indepTest in family.functions:
            return family, indepTest
    return BATCH if isinstance(indepTest, Batch) else CUSTOM, indepTest


def make_test(family: Family, request: Request) -> IndependenceTest:
    """The test of a call; TypeError or ValueError if the arguments do not fit the family."""
    _check(family, request.suffStat, request.correlation)
    return family.make(request)


def observations_of(request: Request) -> Observations:
    """The rows of the data of a call, for resampling; TypeError or ValueError unless they can be drawn.

    ``request.function`` is the ``indepTest`` that was given, or None.
    """
    family, function = family_of(request.function, request.suffStat)
    _check(family, request.suffStat, request.correlation)
    if family.observations is None:
        raise no_rows(function)
    return family.observations(replace(request, function=function))


def identity_of(test: IndependenceTest) -> Identity | None:
    """What determines the answers of a test besides alpha; None if that is not known."""
    identity = next((family.identity for family in FAMILIES if isinstance(test, family.tests)), None)
    return None if identity is None else identity(test)


def _check(family: Family, data: Any, correlation: str | None) -> None:
    """Raise TypeError if the Gaussian test got the data of another test; ValueError if `correlation` does not fit."""
    own = next((family for family in FAMILIES if isinstance(data, family.classes)), family)
    if correlation is not None and not (family.correlates and own is family):
        text = "{setting} goes with the Gaussian test and complete numbers only"
        raise ValueError(Message(text, setting=Setting("correlation", correlation)))
    if family is GAUSSIAN and own is not family:
        name = own.function_for(data).__name__ if own.function_for is not None else own.name
        raise TypeError(f"a {type(data).__name__} needs indepTest=pycupc.{name}, got the Gaussian test")
