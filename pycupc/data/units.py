"""Numbers with a unit, as 5.2 mg, 1,200 kg, 45 % or $5: the number, and the unit."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import Any, NamedTuple

from pycupc.data.names import listed
from pycupc.data.text_layout import is_mark

#: Signs and codes of currencies, which may stand before a number.
_CURRENCY = (
    r"(?:US|AU|CA|NZ|HK|A|C|R)?\$|[\u00a2-\u00a5\u20a0-\u20c0]|USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|SEK|NOK|DKK|Rs\.?"
)
#: A unit behind a number begins with a letter or with one of these signs. A figure, as in m2, stands behind a letter,
#: in a unit that a blank separates from the number.
_SIGNS = "%\u2030\u00b0'\"\u2032\u2033$\u00a2-\u00a5\u20a0-\u20c0"
_WITH_UNIT = re.compile(
    rf"\s*(?P<sign>[+-]?)(?P<before>{_CURRENCY})?\s*(?P<minus>[+-]?)(?P<digits>(?!0\d)\d[\d.,]*|[.,]\d+)"
    rf"(?P<power>[eE][+-]?\d+)?(?P<behind>\s*(?:[^\W\d_]|[{_SIGNS}])\D*|\s+[^\W\d_](?:[^\W\d_]|[/^.*\s]|(?<=[^\W\d_])\d)*|)"
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?![^\W\d_])", re.IGNORECASE)

#: Units that also tell measurements from codes where a column has several of them: 3 kg and 5 lb, but not 3A and 5B.
KNOWN = frozenset(
    re.split(
        " ",
        "% \u2030 \u00b0 \u00b0C \u00b0F ' \" ng \u00b5g \u03bcg ug mcg mg g gm gr kg t lb lbs oz ton tons tonne "
        "tonnes nm \u00b5m \u03bcm um mm cm dm m km in inch inches ft foot feet yd mi mile miles ml mL cl dl dL l L "
        "liter liters litre litres gal s sec secs second seconds ms min mins minute minutes h hr hrs hour hours d day "
        "days wk wks week weeks mo mos month months y yr yrs year years Hz kHz MHz GHz kW MW mV mA kJ cal kcal Pa hPa "
        "kPa mmHg bar psi k K M bn mn mol mmol mM bpm mph km/h m/s kB KB MB GB TB mg/dl mg/dL g/dl g/dL mmol/l mmol/L "
        "mg/l mg/L kg/m2 m2 cm2 km2 m3 cm3 ha acres $ \u20ac \u00a3 \u00a5 USD EUR GBP cents dollars euros pounds",
    )
)
#: More different numbers with a unit than this are measurements, whatever stands beside them.
_MANY = 20
#: Fewer other texts than this, beside more numbers with a unit, may mean that a value is missing.
_FEW = 4


class WithUnit(NamedTuple):
    """A number with a unit: sign, digits with points and commas, and power; and the unit."""

    sign: str
    digits: str
    power: str
    unit: str

    def plain(self, decimal: str = ".") -> str | None:
        """The number without separators of thousands, None where points or commas cannot be these."""
        groups = "," if decimal == "." else "."
        digits = self.digits
        if groups in digits:
            if re.fullmatch(rf"\d{{1,3}}(?:{re.escape(groups)}\d{{3}})+(?:{re.escape(decimal)}\d*)?", digits) is None:
                return None
            digits = digits.replace(groups, "")
        return None if digits.count(decimal) > 1 else self.sign + digits + self.power


def with_unit(cell: str) -> WithUnit | None:
    """The parts of a cell that holds a number with a unit; None of any other, such as a range, a code or 1st."""
    found = _WITH_UNIT.fullmatch(cell)
    if found is None or (found["sign"] and found["minus"]):
        return None
    before, behind = found["before"] or "", found["behind"].strip()
    if not before + behind or _ORDINAL.match(behind):
        return None
    return WithUnit(found["sign"] or found["minus"], found["digits"], found["power"] or "", before + behind)


def without_unit(cell: str, decimal: str = ".") -> str:
    """The number of a cell without its unit, the cell itself if it holds no such number."""
    found = with_unit(cell)
    return cell if found is None else found.plain(decimal) or cell


def numbers_in(cells: Iterable[Any], missing: Set[str]) -> list[float]:
    """The numbers of a column of numbers, texts of numbers and numbers with a unit; NaN for None, NaN and `missing`."""
    found = []
    for cell in cells:
        none = cell is None or cell != cell or str(cell).strip().casefold() in missing
        found.append(math.nan if none else float(without_unit(cell) if isinstance(cell, str) else cell))
    return found


def has_unit(cell: str) -> bool:
    """Whether a cell holds a number with a unit."""
    return with_unit(cell) is not None


def unit_of(cells: Iterable[str]) -> str:
    """The unit of the numbers in all cells, such as mg in 5.19 mg; "" if there is none, or another one."""
    units = {found.unit if (found := with_unit(cell)) else "" for cell in cells}
    return _one(units) if units else ""


def _one(units: set[str]) -> str:
    """The only unit, of which one may be the plural, as day and days; "" if there are several."""
    longest = max(units, key=len)
    return longest if len({unit[:-1] if len(unit) > 2 and unit[-1] == "s" else unit for unit in units}) == 1 else ""


class Unit(NamedTuple):
    """The unit of a column, or in a clause why its numbers with units cannot be read as numbers; or neither."""

    name: str = ""
    problem: str = ""


def unit_in(texts: Iterable[str], plain: int, decimal: str = ".") -> Unit:
    """The unit of a column of these different texts, beside `plain` numbers without one.

    Marks of missing values count for nothing. Codes such as 3A and 5B, and words beside few numbers, are no numbers
    with a unit.
    """
    rest = [text for text in texts if not is_mark(text)]
    found = {text: parts for text in rest if (parts := with_unit(text)) is not None}
    if not found:
        return Unit()
    others = [text for text in rest if text not in found]
    units = list(dict.fromkeys(parts.unit for parts in found.values()))
    one, known = _one(set(units)), KNOWN.issuperset(units)
    if not others and not plain and one:
        unread = [text for text, parts in found.items() if parts.plain(decimal) is None]
        return Unit(problem=f"holds numbers in {one} with other separators ({_some(unread)})") if unread else Unit(one)
    if others:
        most = Counter(parts.unit for parts in found.values()).most_common(1)[0][0]
        of_one = [text for text, parts in found.items() if parts.unit == most]
        may_be_missing = known and len(others) < _FEW < len(of_one) and not any(map(_has_digit, others))
        if len(of_one) > _MANY or may_be_missing:
            return Unit(problem=f"holds numbers in {most} beside other texts ({_some(others)})")
        return Unit()
    if known or len(found) > _MANY:
        if len(units) > 1 and not one:
            return Unit(problem=f"holds numbers in different units ({_some([_first(found, unit) for unit in units])})")
        return Unit(problem=f"holds numbers with and without {units[0]} ({_some(list(found))})") if plain else Unit()
    return Unit()


def _first(found: dict[str, WithUnit], unit: str) -> str:
    return next(text for text, parts in found.items() if parts.unit == unit)


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _some(texts: Sequence[str]) -> str:
    return listed([*map(repr, texts)], most=3)
