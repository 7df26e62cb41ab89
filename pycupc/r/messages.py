"""Errors and warnings of the package in the terms of R users."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pycupc.engines.base import EngineError

__all__ = ["failures_in_reply", "in_r"]


@contextmanager
def failures_in_reply(labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a reply that collects exceptions and the package's own warnings, which R then shows as its own.

    Warnings of NumPy are left out: R's NA is a signalling NaN, about which NumPy warns in every computation.
    """
    reply: dict[str, Any] = {"error": None, "message": "", "notices": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield reply
        except Exception as error:
            ours = isinstance(error, (ValueError, TypeError, EngineError))  # not what a user's indepTest raised
            reply |= {"error": type(error).__name__, "message": in_r(str(error), labels) if ours else str(error)}
    reply["notices"] = [in_r(str(w.message), labels) for w in caught if issubclass(w.category, UserWarning)]


def in_r(text: str, labels: Sequence[str]) -> str:
    """A message of the package in R's terms: R's names of the arguments, and positions from 1 with labels."""

    def variable(match: re.Match[str]) -> str:
        k = int(match[2])
        return f"{match[1]} {k + 1}" + ("" if labels[k] == str(k + 1) else f" ({labels[k]})")

    def triple(match: re.Match[str]) -> str:
        return f"triple ({', '.join(labels[int(v)] for v in match[1].split(', '))})"

    text = text.replace("pip install 'pycupc[gpu]'", 'cu_install(source, gpu = "gpu")')
    text = text.replace("'pycupc[gpu13]'", 'gpu = "gpu13"')
    text = text.replace("random_state", "seed").replace("their frequencies are in .partial, and ", "")
    text = re.sub(r"\bdata (must|of shape)\b", r"`x` \1", text).replace("fraction=", "fraction = ")
    text = re.sub(r"\bresample (\d+)\b", lambda m: f"resample {int(m[1]) + 1}", text)
    text = re.sub(r"\b(m|maj|solve)_(max|rule|confl)\b", r"\1.\2", text)
    text = re.sub(r"\b(\w+(?:\.\w+)?)='([\w-]+)'", r'\1 = "\2"', text)
    text = re.sub(r"\bC\[(\d+), (\d+)\]", lambda m: f"C[{int(m[1]) + 1}, {int(m[2]) + 1}]", text)
    text = re.sub(r"\btriple \((\d+, \d+, \d+)\)", triple, text)
    return re.sub(r"\b(variable|node) (\d+)\b", variable, text)
