"""Names of public functions, classes and methods, and of pages, in docstrings become links."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

import pycupc

#: A name between backticks, single or double: `pc`, ``pycupc.pc(...)``, `fit.why`, `Stability.frequencies`.
_NAME = re.compile(
    r"(?<![`:\w])(`{1,2})((?:pycupc\.discrete\.|pycupc\.|fit\.|[A-Z]\w+\.)?)(\w+)((?:\([^`]*\))?)\1(?![`\w])"
)
#: A line with nothing but names of classes: the type of a returned value, or of an error.
_CLASSES = re.compile(r"^ +\w+(?:(?:,| or) \w+)*$")


@functools.cache
def _targets() -> dict[str, str]:
    """The full name of a function, class or method by the name in a docstring."""
    public = {name: f"pycupc.{name}" for name in pycupc.__all__ if not name.startswith("_")}
    discrete = {name: f"pycupc.discrete.{name}" for name in pycupc.discrete.__all__}
    for name in [name for name in public if inspect.isclass(getattr(pycupc, name))]:
        for method, value in inspect.getmembers(getattr(pycupc, name)):
            if not method.startswith("_") and (callable(value) or isinstance(value, property)):
                public[f"{name}.{method}"] = f"pycupc.{name}.{method}"
    return public | discrete


def link_names(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace the names in the lines of a docstring, but for its own name and the names of its arguments."""
    targets = _targets()
    own = {name.rpartition(".")[2], *_arguments(obj)}

    def link(found: re.Match[str]) -> str:
        _, prefix, word, call = found.groups()
        key = {"fit.": f"PcAlgo.{word}", "pycupc.": word, "pycupc.discrete.": word}.get(prefix, prefix + word)
        if key not in targets or (not prefix and word in own) or name == targets[key]:
            return found[0]
        return f":obj:`{prefix}{word}{call} <{targets[key]}>`"

    for number, line in enumerate(lines):
        new = re.sub(r"\bdocs/(contracts/\w+)\.md\b", r":doc:`/\1`", _NAME.sub(link, line))
        head, colon, kinds = new.partition(" : ")
        if colon and re.match(r"^ *\*\*.*\*\*$", head):
            new = f"{head} : {_linked_classes(kinds)}"
        elif _CLASSES.match(new) and new.strip() not in own:
            new = _linked_classes(new)
        lines[number] = new


def _linked_classes(text: str) -> str:
    """A text whose words that are names of public classes are links."""

    def link(found: re.Match[str]) -> str:
        target = _targets().get(found[1])
        return f":obj:`{found[1]} <{target}>`" if target else found[1]

    return re.sub(r"(?<![`\w.:<])([A-Z]\w+)(?![`\w.>])", link, text)


def _arguments(obj: Any) -> list[str]:
    try:
        return list(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        return []
