"""The functions of the methods that `pycupc.results.methods` lists, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def function_of(method: str) -> Callable[..., Any]:
    """The function of a method, whose module has its name; it is loaded when somebody asks."""
    function: Callable[..., Any] = getattr(import_module(f"pycupc.algorithm.{method}"), method)
    return function
