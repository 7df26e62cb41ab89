"""The page "What works with what": a table for Python, one for the command line and one for R.

Every cell follows from the description of a family (`pycupc/independence/registry.py`), and is tried by
tests/project/test_works_with.py. `python docs/works_with.py` writes the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pycupc.independence.families import EVERY
from pycupc.independence.registry import Family, Kind

#: Whether a kind of data of a family works, or a text that says how.
Works = Callable[[Family, Kind], "bool | str"]

_always: Works = lambda family, kind: True  # noqa: E731
_resampled: Works = lambda family, kind: family.observations is not None and kind.rows  # noqa: E731


def _cstar(family: Family, kind: Kind) -> bool:
    return bool(_resampled(family, kind)) and kind.numbers and kind.linear


def _gpu(family: Family, kind: Kind) -> bool | str:
    return kind.gpu or all("gpu" in test.engines for test in family.tests)


def _in_r(*functions: str, works: Works = _always) -> Works:
    return lambda family, kind: bool(kind.r) and not set(functions) & {*kind.not_in_r} and bool(works(family, kind))


#: The columns of each table.
PYTHON: Mapping[str, Works] = {
    "`pc`, `skeleton`": _always,
    "`fci`, `rfci`": _always,
    "`conservative`, `maj_rule`": _always,
    "`tiers`": _always,
    "`why`, `save`": _always,
    "`checkpoint`": lambda family, kind: family.identity is not None,
    "`stability`": _resampled,
    "`cstar`": _cstar,
    "`effects`": lambda family, kind: kind.numbers,
    "`executor`": _always,
    "GPU": _gpu,
}
SHELL: Mapping[str, Works] = {
    "`run`": _always,
    "`run --method fci`, `rfci`": _always,
    "`estimate`": _always,
    "`stability`": _resampled,
    "`cstar`": _cstar,
}
R: Mapping[str, Works] = {
    "`cu_pc`, `cu_skeleton`": _in_r(),
    "`cu_fci`, `cu_rfci`": _in_r(),
    "`cu_tpc`": _in_r(),
    "`cu_stability`": _in_r("cu_stability", works=_resampled),
    "`cu_cstar`": _in_r("cu_cstar", works=_cstar),
}
#: The kinds of data with their families, in the order of the page.
KINDS = [(family, kind) for family in EVERY for kind in family.kinds]

_TEXT = """\
# What works with what

Rows are kinds of data, columns are functions. Every cell is tried by the tests. The texts name example data: `x` a
table of numbers, `k` of categories, `m` of both, `x_k` of numbers of which some are classes; `x_gaps`, `k_gaps` and
`m_gaps` with missing values, `x_imputed`, `k_imputed` and `m_imputed` lists of imputations; `C` and `n` correlations
and the number of observations, `N` a matrix of these numbers.
[My data are ...](howto/data.md) explains the choice.

## Python

`skeleton`, `pc`, `fci` and `rfci` take every kind, with all options, and the results of all kinds explain, save and
load. Resamples need rows: correlations have none, and nobody knows the rows behind the data of a function of yours.
Effects are linear: they need numbers, and `cstar` a test of linear dependence too. An `executor` is taken by `pc`,
`skeleton`, `fci` and `rfci` ([Clusters](howto/cluster.md)). A function of yours runs on the reference engine.

{python}

## The command line

Options of `pycupc run TABLE` and the other commands.

{shell}

## R

{r}
"""


def page() -> str:
    """The text of the page, in Markdown."""
    return _TEXT.format(
        python=_table(PYTHON, KINDS, lambda kind: f"`{kind.python}`"),
        shell=_table(SHELL, [one for one in KINDS if one[1].shell is not None], lambda kind: f"`{kind.shell}`"),
        r=_table(R, [one for one in KINDS if one[1].r], lambda kind: f"`{kind.r}`"),
    )


def _table(columns: Mapping[str, Works], rows: list[tuple[Family, Kind]], code: Callable[[Kind], str]) -> str:
    lines = [["kind of data", "as arguments", *columns], ["---"] * (2 + len(columns))]
    for family, kind in rows:
        lines.append([kind.title, code(kind), *(_cell(works(family, kind)) for works in columns.values())])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(works: bool | str) -> str:
    return works if isinstance(works, str) else "yes" if works else "-"


PAGE = Path(__file__).with_suffix(".md")

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
