"""The table of parameters: the signatures of the functions, and everything else that reads it, agree with it."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

import pycupc
from pycupc.algorithm.parameters import PARAMETERS, Arguments, defaults_of
from pycupc.results.methods import METHODS

FUNCTIONS = tuple(METHODS)
#: `skeleton` calls it as pcalg does.
OWN_NAMES = {"skeleton": {"method": "skel_method"}}


def signature(function: str) -> dict[str, object]:
    own = OWN_NAMES.get(function, {})
    parameters = inspect.signature(getattr(pycupc, function)).parameters
    return {own.get(name, name): parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_signatures_are_those_of_the_table(function):
    written = signature(function)
    assert written.pop("suffStat") is inspect.Parameter.empty
    assert written == defaults_of(function)


def test_each_row_belongs_to_a_field_and_to_a_function():
    assert list(PARAMETERS) == [one.name for one in fields(Arguments)][1:]
    assert all(row.functions and set(row.functions) <= set(FUNCTIONS) for row in PARAMETERS.values())
    assert all(bool(row.flag) == bool(row.help) == bool(row.group) for row in PARAMETERS.values())


def test_arguments_reach_the_call_unchanged():
    """Each function hands each of its arguments over under its own name: a wrong value of any of them is refused."""
    X = np.random.default_rng(1).standard_normal((20, 3))
    for function in FUNCTIONS:
        own = {table: name for name, table in OWN_NAMES.get(function, {}).items()}
        for name, row in PARAMETERS.items():
            if function in row.functions and (row.check is not None or row.choices):
                with pytest.raises((TypeError, ValueError), match="Seed" if name == "random_state" else name):
                    getattr(pycupc, function)(X, **{own.get(name, name): b"?"})


@pytest.mark.parametrize("verbose", [True, 0, 2, np.int64(1)])
def test_verbose_may_be_a_number(verbose):
    Arguments(function="pc", verbose=verbose).check()


@pytest.mark.parametrize("verbose", [None, "x", -1, 1.5])
def test_wrong_verbose(verbose):
    text = f"verbose must be True or False, or a whole number of at least 0, got {verbose!r}"
    with pytest.raises(TypeError, match=text):
        Arguments(function="pc", verbose=verbose).check()


def test_arguments_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Arguments(function="pc").alpha = 0.05


@pytest.mark.parametrize("function", ["fci", "rfci"])
@pytest.mark.parametrize("correlation", ["spearman", "kendall", "normal-scores"])
def test_correlation_of_fci_and_rfci_is_that_of_the_data(function, correlation):
    X = np.exp(np.cumsum(np.random.default_rng(2).standard_normal((300, 6)), axis=1) / 2)
    run = getattr(pycupc, function)
    fit = run(X, alpha=0.05, correlation=correlation)
    same = run(pycupc.SuffStat.from_data(X, correlation=correlation), alpha=0.05)
    assert (fit.amat_pag() == same.amat_pag()).all(axis=None)
    assert fit.n_edgetests == same.n_edgetests
    with pytest.raises(ValueError, match="correlation"):
        run(X, alpha=0.05, correlation="cosine")
