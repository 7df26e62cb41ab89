"""What the analyst knows before the tests: tiers, required and forbidden arrows, by name; files of Tetrad."""

from __future__ import annotations

import csv
import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pycupc.data.names import DataError, is_real, position, unknown
from pycupc.data.source import open_text, read_source
from pycupc.graph.constraints import Constraints, Indices
from pycupc.graph.pairs import in_order_of, marked
from pycupc.graph.tiers import NO_TIER

#: A variable, or several: a label, a pattern such as "age*", or a position.
Variables = str | int
#: The sections of a file of Tetrad, without blanks.
_SECTIONS = ("addtemporal", "forbiddirect", "requiredirect")


@dataclass(frozen=True)
class Knowledge:
    """Tiers of the variables, and arrows that are required or forbidden.

    A variable is named by its label or its position. A pattern such as ``"age*"`` names all labels that it matches,
    unless it is itself a label.

    Attributes
    ----------
    tiers : sequence of p numbers, mapping, or sequence of sequences of variables, optional
        A later tier cannot cause an earlier one. A number for each variable; a mapping from variables to numbers, or
        from numbers to the variables in that tier; or the variables of the first tier, of the second, and so on. A
        variable that none of them names, or whose number is None or NaN, has no tier and may be in any.
    required, forbidden : sequence of (tail, head), or bool (p, p)
        Arrows tail --> head; [i, j] of a matrix is i --> j. An arrow forbidden both ways is a gap. (A required arrow is
        an edge that is never tested.)
    context_all, context_tier : sequence of variables
        Variables that nothing causes, which are parents of all other variables, or of all others in their tier.
    apart : sequence of numbers
        Tiers, by their number, that have no edges inside.

    Examples
    --------
    >>> known = Knowledge(tiers={1: ["sex", "age*"], 2: ["bmi"]}, forbidden=[("sex", "bmi")])
    >>> known.of(["age", "bmi", "sex"]).tier
    array([0, 1, 0])
    """

    tiers: Any = None
    required: Any = ()
    forbidden: Any = ()
    context_all: Sequence[Variables] = ()
    context_tier: Sequence[Variables] = ()
    apart: Sequence[float] = field(default=())

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Knowledge:
        """Read a file in Tetrad's format, with the sections addtemporal, forbiddirect and requiredirect.

        A tier without names holds no variable, and counts for nothing; where all are so, there are no tiers.

        Raises
        ------
        DataError
            The file cannot be read, or a line is none of these; the message names the line.
        """
        source = read_source(Path(path))
        with open_text(source) as file:
            lines = [line.rstrip("\r\n") for line in file]
        tiers: dict[float, list[str]] = {}
        pairs: dict[str, list[tuple[str, str]]] = {"forbiddirect": [], "requiredirect": []}
        apart, section, delimiter = [], "", " "
        for number, line in enumerate(lines, 1):
            place = f"{source.name}, line {number}"
            words = _words(line, delimiter, place)
            if not words or words == ["/knowledge"]:
                continue
            if words == ["/knowledge", "comma"]:  # as Tetrad writes names with blanks
                delimiter = ","
            elif words[0] in _SECTIONS and len(words) == 1:
                section = words[0]
            elif section == "addtemporal" and (found := re.fullmatch(r"(\d+)(\*?)(-?)", words[0])):
                if not words[1:]:
                    continue
                if found[3]:
                    text = "a tier that causes the next one only, is not read: forbid its arrows to later tiers one by"
                    raise DataError(f"{place}: {words[0]!r}, {text} one, under forbiddirect")
                tier = float(found[1])
                tiers.setdefault(tier, []).extend(words[1:])
                apart += [tier] * bool(found[2])
            elif section in pairs and len(words) == 2:
                pairs[section].append((words[0], words[1]))
            else:
                expected = {"": "a section: " + ", ".join(_SECTIONS), "addtemporal": "a tier and its variables"}
                wanted = expected.get(section, "two variables")
                raise DataError(f"{place}: expected {wanted}, got {' '.join(words)!r}")
        return cls(tiers or None, pairs["requiredirect"], pairs["forbiddirect"], apart=tuple(apart))

    @classmethod
    def of_positions(cls, known: Constraints) -> Knowledge:
        """The constraints in one form, by positions alone; `of` with the same labels returns the same constraints."""
        arrows = ([divmod(arrow, known.p) for arrow in arrows.tolist()] for arrows in (known.required, known.forbidden))
        context = (tuple(np.flatnonzero(mask).tolist()) for mask in (known.context_all, known.context_tier))
        return cls([None if tier == NO_TIER else tier for tier in known.tier.tolist()], *arrows, *context)

    def of(self, labels: Sequence[str]) -> Constraints:
        """The knowledge on the positions of these variables.

        Raises
        ------
        TypeError, ValueError, IndexError
            A variable does not exist, or has two tiers; arrows contradict each other or the tiers. The message names
            them.
        """
        p, numbers = len(labels), _tiers(self.tiers, labels)
        everywhere, in_tier = np.zeros((2, p), dtype=np.bool_)
        for name, mask in (("context_all", everywhere), ("context_tier", in_tier)):
            given = getattr(self, name)
            for variables in [given] if isinstance(given, (str, int, np.integer)) else given:
                mask[_positions(variables, labels, name)] = True
        required, forbidden = (_arrows(getattr(self, name), name, labels) for name in ("required", "forbidden"))
        reverse = required % p * p + required // p
        inside = [np.flatnonzero(numbers == tier) for tier in self.apart]
        if without := [tier for tier, members in zip(self.apart, inside, strict=True) if not len(members)]:
            raise ValueError(f"apart must name tiers, got {without[0]!r}, in which no variable is")
        apart = [(tier[:, None] * p + tier)[~np.eye(len(tier), dtype=bool)] for tier in inside]
        forbidden = np.unique(np.concatenate([forbidden, reverse, *apart]))
        tier = np.full(p, NO_TIER)
        there = ~np.isnan(numbers)
        tier[there] = np.unique(numbers[there], return_inverse=True)[1]
        found = Constraints(tier, everywhere, in_tier, required, forbidden)
        found.check(labels)
        return found


def _words(line: str, delimiter: str, place: str) -> list[str]:
    """The names in a line of a file of Tetrad, without comments; those in quotation marks may hold blanks."""
    line = re.sub(r'("[^"]*")|(?<!\S)(?:#|//).*', lambda found: found[1] or "", line).replace("\t", " ")
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise DataError(f"{place}: {error}; do the quotation marks match?") from None
    return [cell.strip() for cell in cells if cell.strip()]


def as_knowledge(tiers: Any, **more: Any) -> Knowledge | None:
    """`tiers` of `pycupc.pc`, a `Knowledge` or its file too, with the other arguments; None if all are None."""
    more = {name: value for name, value in more.items() if value is not None}
    if tiers is None and not more:
        return None
    known = Knowledge.read(tiers) if isinstance(tiers, (str, PathLike)) else tiers
    known = known if isinstance(known, Knowledge) else Knowledge(tiers=known)
    if twice := [name for name in more if np.size(getattr(known, name))]:
        raise ValueError(f"{twice[0]} is given twice, as an argument and in tiers")
    return replace(known, **more)


def _tiers(tiers: Any, labels: Sequence[str]) -> Any:
    """The number of the tier of each variable, float64 (p,), NaN without a tier."""
    p = len(labels)
    if tiers is None:
        return np.zeros(p)
    if hasattr(tiers, "items"):  # a mapping, or a Series of pandas
        tiers_of = [(v, k) if v is None or is_real(v) else (k, v) for k, v in tiers.items()]
    else:
        if not isinstance(tiers, Iterable):
            raise TypeError(f"tiers must be a number for each variable, or variables by tier, got {tiers!r}")
        tiers = list(tiers)
        if all(tier is None or is_real(tier) for tier in tiers):
            if len(tiers) != p:
                text = f"tiers must have a number for each of the {p} variables, None for one without a tier"
                raise ValueError(f"{text}, got {len(tiers)}")
            return np.array(tiers, dtype=np.float64)
        tiers_of = list(enumerate(tiers, 1))
    numbers = np.full(p, np.nan)
    for tier, variables in tiers_of:
        if tier is not None and not is_real(tier):
            raise TypeError(f"tiers must be numbers, got {tier!r}")
        tier = np.nan if tier is None else tier
        for one in [variables] if isinstance(variables, (str, int, np.integer)) else variables:
            for v in _positions(one, labels, "tiers"):
                if numbers[v] == numbers[v] != tier == tier:
                    raise ValueError(f"tiers must name each variable once, got {labels[v]!r} in two tiers")
                numbers[v] = tier
    return numbers


def _positions(variables: Any, labels: Sequence[str], argument: str) -> list[int]:
    """The positions of the variables that a label, a pattern or a position names."""
    if isinstance(variables, str) and variables not in labels:
        found = [v for v, label in enumerate(labels) if fnmatch.fnmatchcase(label, variables)]
        if not found:
            is_pattern = not set(variables).isdisjoint("*?[")
            text = f"no variable matches {variables!r}" if is_pattern else unknown(variables, labels)
            raise ValueError(f"{argument}: {text}")
        return found
    try:
        return [position(variables, labels)]
    except (TypeError, IndexError) as error:
        raise type(error)(f"{argument}: {error}") from None


def _arrows(arrows: Any, argument: str, labels: Sequence[str]) -> Indices:
    """tail * p + head of the arrows, ascending."""
    p = len(labels)
    if hasattr(arrows, "shape") or hasattr(arrows, "columns"):
        return np.flatnonzero(marked(in_order_of(arrows, argument, labels), argument, p) & ~np.eye(p, dtype=bool))
    found: set[int] = set()
    for pair in arrows if np.iterable(arrows) else [arrows]:
        if not isinstance(pair, Iterable) or isinstance(pair, str) or len(pair := list(pair)) != 2:
            raise TypeError(f"{argument} must be pairs (tail, head) of variables, got {pair!r}")
        tails, heads = (_positions(end, labels, argument) for end in pair)
        if tails == heads and len(tails) == 1:
            raise ValueError(f"{argument}: {labels[tails[0]]!r} is paired with itself")
        found |= {a * p + b for a in tails for b in heads if a != b}
    return np.array(sorted(found), dtype=np.int64)
