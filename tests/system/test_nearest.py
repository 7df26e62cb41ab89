"""Arguments that do not exist: the error names the argument that was meant."""

import inspect
import pickle

import pytest
from common import refused

import pycupc
from pycupc.system.nearest import hinted

FUNCTIONS = sorted(name for name in pycupc.__all__ if inspect.isfunction(getattr(pycupc, name)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_names_the_argument_that_was_meant(name):
    """And looks to `inspect`, `help` and `pickle` as it would without that."""
    function = getattr(pycupc, name)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    meant = max((p.name for p in parameters), key=len)
    wrong = f"{meant[:-2]}{meant[-1]}{meant[-2]}x"  # two letters exchanged, and another one
    given = {p.name: None for p in parameters if p.default is p.empty and p.name != meant}
    given |= {"n_resamples": 2} if name in ("stability", "cstar") else {}
    words = f"is no argument of {name} or pc" if name in ("stability", "cstar") else ""
    refused(f"{wrong}.*{words}: did you mean {meant}[?]$", function, **given, **{wrong: None}, error=TypeError)
    assert pickle.loads(pickle.dumps(function)) is function
    assert inspect.getdoc(function)
    assert list(inspect.signature(function).parameters) == list(inspect.signature(function.__wrapped__).parameters)


def test_errors_inside_a_function_are_left_alone():
    def within(x):
        return x + 1

    call = hinted(lambda x=None: within(x))
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        call()
    assert not caught.value.__suppress_context__
