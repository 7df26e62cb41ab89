"""What notebooks show of results: texts and tables as HTML, pictures; and the names that completion offers."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

_NUMBER = re.compile(r"[-+]?(\d[\d,]*\.?\d*(e[-+]?\d+)?|inf|nan)")
#: Between two cells of a table in a text.
_GAP = re.compile(r" {2,}")


class Text(str):
    """A text that notebooks show as lines instead of a quoted string; the table after an empty line as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        before, _, rest = self.partition("\n\n")
        rows = [_GAP.split(line.strip()) for line in rest.split("\n")]
        n = next((k for k, row in enumerate(rows) if len(row) != len(rows[0])), len(rows))
        if len(rows[0]) < 2 or n < 2:
            return as_lines(self)
        columns = dict(zip(rows[0], zip(*rows[1:n], strict=True), strict=True))
        return as_lines(before) + as_table(columns) + as_lines("\n".join(rest.split("\n")[n:]))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def as_lines(text: str) -> str:
    """A text as HTML, line by line; "" if it is empty."""
    return f"<p>{'<br>'.join(map(html.escape, text.splitlines()))}</p>" if text else ""


def as_table(columns: Mapping[str, Iterable[Any]]) -> str:
    """Columns as a table in HTML: floats with four digits, NaN and None as empty cells."""
    shown = {str(name): [_text(value) for value in values] for name, values in columns.items()}
    sides = ["left" if any(map(_is_word, texts)) else "right" for texts in shown.values()]

    def row(kind: str, texts: Iterable[str]) -> str:
        style = "padding: 0.1em 0.7em; text-align:"
        cells = (
            f'<{kind} style="{style} {side}">{html.escape(t)}</{kind}>' for t, side in zip(texts, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(row("td", texts) for texts in zip(*shown.values(), strict=True))
    return f"<table><thead>{row('th', shown)}</thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_word(text: str) -> bool:
    """Whether a cell is no number."""
    return bool(text) and text != "-" and not _NUMBER.fullmatch(text)


def as_picture(figure: Any, alt: str, *, pixels: int = 900) -> str:
    """A figure of matplotlib as an image in HTML, at most `pixels` wide and high."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=min(100.0, pixels / max(figure.get_size_inches())))
    source = base64.b64encode(data.getvalue()).decode("ascii")
    return f'<img alt="{html.escape(alt)}" style="max-width: 36em" src="data:image/png;base64,{source}" />'


#: Names that results had before version 0.3.0 and that are private now: they can be read as ever.
FORMER = frozenset((
    *("page_note", "cpdag_note", "edge_columns", "amat_csv", "lines_of_levels", "tests_of_levels"),
    *("is_small", "has_dag", "without_dag", "not_a_cpdag", "with_marks"),
))  # fmt: skip


class OfferedNames:
    """Completion (``dir``) offers the names that users need, which the classes list by task in `_OFFERED`.

    The other public names are for the modules of the package, and for programs written for earlier versions. Those of
    `FORMER` are read from the private ones.
    """

    _OFFERED: ClassVar[Sequence[str]] = ()
    _MAKERS: ClassVar[Sequence[str]] = ()  # functions for users that the class has to make a result, such as `load`

    def __dir__(self) -> list[str]:
        own = {name for of in _classes(type(self)) for name in vars(of)}
        own |= {part.name for part in fields(self)} if is_dataclass(self) else set()
        offered = offered_by(type(self))
        return sorted(name for name in super().__dir__() if name.startswith("_") or name in offered or name not in own)

    if not TYPE_CHECKING:  # a type checker would take every name for one of these

        def __getattr__(self, name: str) -> Any:
            return getattr(self, f"_{name}") if name in FORMER else object.__getattribute__(self, name)


def offered_by(of: type[OfferedNames], *, itself: bool = False) -> set[str]:
    """The names that results of a class offer; on request also the names of the class `itself`."""
    lists = ("_OFFERED", "_MAKERS") if itself else ("_OFFERED",)
    return {name for one in _classes(of) for names in lists for name in vars(one).get(names, ())}


def _classes(of: type) -> list[type]:
    """The class and those that it is derived from, as far as they are ours."""
    return [one for one in of.__mro__ if one.__module__.split(".")[0] == "pycupc"]
