"""The names of results that the reference describes: those that completion offers, and those of the class itself."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from typing import Any

import pycupc
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.shown import OfferedNames, offered_by

#: An entry of the section Attributes: one name or several, before their type.
_ENTRY = re.compile(r"(\w+(?:, \w+)*) : ")


def described() -> dict[str, dict[str, list[str]]]:
    """The `methods` and the `properties` of each class of results by its name, in the order of the alphabet."""
    found = {}
    for of in (*(getattr(pycupc, name) for name in pycupc.__all__ if not name.startswith("_")), CausalGraph):
        if inspect.isclass(of) and issubclass(of, OfferedNames):
            members = {name: inspect.getattr_static(of, name, None) for name in sorted(offered_by(of, itself=True))}
            properties = [name for name, one in members.items() if isinstance(one, property | cached_property)]
            methods = [name for name in members if callable(getattr(of, name, None))]
            found[of.__name__] = {"methods": methods, "properties": properties}
    return found


def leave_out_others(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Leave out of the section Attributes of a result the names that completion does not offer; before numpydoc."""
    if what != "class" or not issubclass(obj, OfferedNames) or "Attributes" not in lines:
        return
    kept, offered, keep = [], offered_by(obj), True
    first = lines.index("Attributes") + 2
    for line in lines[first:]:
        if entry := _ENTRY.match(line):
            keep = not offered.isdisjoint(entry[1].split(", "))
        if keep:
            kept.append(line)
    lines[first:] = kept
