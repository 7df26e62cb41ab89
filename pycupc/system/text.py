"""Texts for users: labels in files, numbers of things, docstrings that share entries."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """`text` with a question mark for each control character, newlines included, and each that XML does not allow."""
    return _CONTROL.sub("?", text)


def counted(n: int | float, noun: str) -> str:
    """A number of things: "1 edge", "3,000 edges"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def distinct(labels: Sequence[str], replace: Callable[[str], str]) -> list[str]:
    """``replace(label)`` of different labels; where that makes two of them equal, their positions are added."""
    texts = list(map(replace, labels))
    taken = {text for text, label in zip(texts, labels, strict=True) if text == label}
    for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if text == label:
            continue
        while text in taken:
            text = f"{text} [{k}]"
        taken.add(text)
        texts[k] = text
    return texts


def explained_as(other: Callable[..., object]) -> Callable[[Function], Function]:
    """Let the docstring of a function explain in full the entries for which it says "See `other`."

    That line stands below a list of names, each of which has an entry in the docstring of `other`. So the text exists
    once, and `help` shows all of it.
    """
    entries: dict[str, str] = {}
    for head, body in re.findall(r"^(\S.*)\n((?:(?:    .*)?\n)*    .*)", inspect.getdoc(other) or "", re.MULTILINE):
        entries |= dict.fromkeys(re.split(", ", head.partition(" : ")[0]), f"{head}\n{body}")

    def explained(function: Function) -> Function:
        see = rf"^((?:\w[\w, ]*,\n)*\w[\w, ]*)\n    See `{other.__name__}`\."
        function.__doc__ = re.sub(
            see,
            lambda found: "\n".join(dict.fromkeys(entries[name] for name in re.split(r",\s", found[1]))),
            inspect.getdoc(function) or "",
            flags=re.MULTILINE,
        )
        return function

    return explained
