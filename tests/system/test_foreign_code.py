"""Addresses of functions of SciPy."""

import pytest
from scipy.special import cython_special

from pycupc.system.foreign_code import address_of


def test_addresses_of_functions_of_several_types_differ():
    reals, floats = (
        address_of(cython_special, "fdtrc", f"{kind} ({kind}, {kind}, {kind},") for kind in ("double", "float")
    )
    assert len({0, reals, floats}) == 3


def test_an_unknown_function_is_an_error():
    with pytest.raises(LookupError, match="cython_special has no function fdtrc int"):
        address_of(cython_special, "fdtrc", "int (")
