"""The name that was meant, where a given name does not exist: for keywords, options and words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

#: Names of arguments in other programs and functions.
_ELSEWHERE = {
    "significancelevel": ("alpha",),
    "njobs": ("numCores", "threads"),
    "ncores": ("numCores", "threads"),
    "cores": ("numCores", "threads"),
    "seed": ("random_state",),
    "maxcondvars": ("m_max",),
    "depth": ("m_max",),
    "suffstat": ("data",),
}
_DATA = {"data", "df", "X"}
#: Share of two names that agrees, from which on they are alike: one wrong letter of three.
_ALIKE = 0.65


def nearest(given: str, names: Iterable[str]) -> str | None:
    """The name that is like the given one, capitals and signs aside; None if there is none."""
    from difflib import get_close_matches  # only where something is wrong

    there = {_plain(name): name for name in names}
    plain = _plain(given)
    for other in _ELSEWHERE.get(plain, ()):
        if _plain(other) in there:
            return there[_plain(other)]
    found = [plain] if plain in there else get_close_matches(plain, there, n=1, cutoff=_ALIKE)
    return there[found[0]] if found else None


def _plain(name: str) -> str:
    return re.sub(r"\W|_", "", name).lower()


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """The nearest name as the end of a message; "" if none is near."""
    name = nearest(given, names)
    return "" if name is None else f": did you mean {name}?"


def hinted(function: Function) -> Function:
    """The function, which names the nearest argument where it gets a keyword that it does not have."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            if wrong := _unknown_keyword(function, kwargs):
                raise TypeError(wrong) from None
            raise

    return cast("Function", call)


def _unknown_keyword(function: Callable[..., Any], given: Iterable[str]) -> str | None:
    """The error text for a keyword that the function does not have; None if it has all keywords."""
    import inspect

    parameters, name = inspect.signature(function).parameters, function.__name__
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None  # the function checks them
    unknown = [keyword for keyword in given if keyword not in parameters]
    if not unknown:
        return None
    if "suffStat" in parameters and _DATA & {*unknown}:
        return f"the data are the first argument of {name}, suffStat: {name}(data, alpha=0.01)"
    hint = did_you_mean(unknown[0], parameters) or f"; its arguments are {', '.join(parameters)}"
    return f"{name} has no argument {unknown[0]}{hint}"
