"""The types of the values of options: each turns a text into a value, or says what was expected."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from pycupc.independence.choice import MISSING_WAYS, is_missing_way
from pycupc.independence.gaussian.measures import MEASURES
from pycupc.independence.missing.impute import MAX_SEED
from pycupc.system.nearest import did_you_mean


def _number(convert: Callable[[str], float], low: float, high: float, expected: str) -> Callable[[str], float]:
    """A type of arguments: numbers from `low` to `high`."""

    def parse(text: str) -> float:
        try:
            value = convert(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")
        return value

    return parse


def _whole_or_infinite(text: str) -> float:
    return math.inf if text.lower() in ("inf", "all") else int(text)


natural = _number(int, 0, math.inf, "a whole number of at least 0")
imputation_seed = _number(int, 0, MAX_SEED, f"a whole number from 0 to {MAX_SEED:,}")
positive = _number(int, 1, math.inf, "a whole number from 1")
level = _number(_whole_or_infinite, 0, math.inf, "a whole number of at least 0, or 'inf'")
picture_side = _number(float, 0.5, 400, "a number of inches from 0.5 to 400")
probability = _number(float, 0, 1, "a number from 0 to 1")
share = _number(float, math.nextafter(0, 1), math.nextafter(1, 0), "a number between 0 and 1")


def missing_values(text: str) -> str:
    """The argument of --missing: a word, or impute=M with a whole number from 2."""
    if is_missing_way(text):
        return text
    expected = f"expected {', '.join(MISSING_WAYS)}, or impute=M with M from 2, got {text!r}"
    raise argparse.ArgumentTypeError(expected + did_you_mean(text, (*MISSING_WAYS, "impute=M")))


def correlation_argument(text: str) -> float | str:
    """A measure of association by its name, or a number of observations."""
    if text in MEASURES:
        return text
    try:
        return positive(text)
    except argparse.ArgumentTypeError:
        expected = f"{', '.join(MEASURES)}, or the number of observations of a correlation matrix"
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}{did_you_mean(text, MEASURES)}") from None


def delimiter(text: str) -> str:
    """One character, or the name of one."""
    character = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(text, text)
    if len(character) != 1 or character in '"\r\n':
        raise argparse.ArgumentTypeError(f"expected one character or tab, comma, semicolon, space; got {text!r}")
    return character
