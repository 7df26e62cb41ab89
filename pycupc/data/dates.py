"""Texts that are dates, maybe with a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_TIME = r"(?:[T ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-]\d\d:?\d\d)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
#: Day and month, in either order, before the year.
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d\d){_TIME}", re.ASCII)
_YEAR_AND_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})", re.ASCII)
_QUARTER = re.compile(r"(\d{4})[- .:]?[Qq](?:tr)?([1-4])|[Qq]([1-4])[- .:/]?(\d{4})", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: With the name of a month, in any order: 1 Jan 1990, January 1990, Sep-63.
_NAMED = re.compile(
    r"(?:(?P<y>\d{4})[-/., ]+)?(?:(?P<d>\d{1,2})[-/., ]*)?"
    r"(?P<m>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?"
    r"(?:[-/., ]+(?P<d2>\d{1,2})(?=[-/., ]+\d{4}))?(?:[-/., ]+(?P<y2>\d{4}|\d\d))?",
    re.ASCII | re.IGNORECASE,
)

Date = tuple[int, ...]


def are_dates(texts: Iterable[str]) -> bool:
    """Whether all texts are dates."""
    return bool(_readings(list(texts)))


def are_dates_in_order(texts: Iterable[str]) -> bool:
    """Whether all texts are dates that rise or fall throughout."""
    readings = _readings(list(texts))
    return any(all(a <= b for a, b in pairwise(some)) or all(a >= b for a, b in pairwise(some)) for some in readings)


def _readings(cells: Sequence[str]) -> list[list[Date]]:
    """The dates, in each way in which they may be read; [] if some are none."""
    if not cells:
        return []
    if all(found := [_YEAR_FIRST.fullmatch(cell) for cell in cells]):
        readings = [[_numbers(one.group(1, 3, 4, 5, 6, 7)) for one in found if one]]
    elif all(found := [_YEAR_LAST.fullmatch(cell) for cell in cells]):
        days = [(_numbers(one.group(1, 3, 4)), _numbers(one.group(5, 6, 7))) for one in found if one]
        readings = [[(y, b, a, *time) for (a, b, y), time in days], [(y, a, b, *time) for (a, b, y), time in days]]
    elif all(found := [_YEAR_AND_MONTH.fullmatch(cell) for cell in cells]):
        readings = [[_numbers(one.group(1, 2)) for one in found if one]]
    elif all(found := [_QUARTER.fullmatch(cell) for cell in cells]):
        return [[_numbers((one[1] or one[4], one[2] or one[3])) for one in found if one]]
    else:
        return _with_names(cells)
    return [some for some in readings if all(1 <= month <= 12 for _, month, *_ in some)]


def _with_names(cells: Sequence[str]) -> list[list[Date]]:
    dates = []
    for cell in cells:
        found = _NAMED.fullmatch(cell)
        if found is None or not (found["y"] or found["y2"]):
            return []
        month = _MONTHS.index(found["m"][:3].lower()) + 1
        dates.append(_numbers((found["y"] or found["y2"], str(month), found["d"] or found["d2"])))
    return [dates]


def _numbers(parts: Iterable[str | None]) -> Date:
    return tuple(int(part or 0) for part in parts)
