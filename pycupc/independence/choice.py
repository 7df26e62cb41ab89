"""The wishes about the test of a table, and the choice: the arguments and the answer of `pycupc.choose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pycupc.data.content import Content
from pycupc.data.names import default_labels
from pycupc.independence.base import CorrelationEngine
from pycupc.system.localised_message import Words
from pycupc.system.progress import CountHook


def no_device(p: int) -> CorrelationEngine | None:
    """No engine computes correlations of `p` variables on its device."""
    return None


#: The ways to treat missing values of `Wishes.missing`, besides "impute=M".
MISSING_WAYS = ("auto", "testwise", "pairwise", "pairwise=min", "pairwise=harmonic", "drop-rows", "error")


def is_missing_way(text: str) -> bool:
    """Whether this is a way to treat missing values: a word, or impute=M with a whole number from 2."""
    name, _, number = text.partition("=")
    return text in MISSING_WAYS or (name == "impute" and number.isdecimal() and int(number) > 1)


@dataclass(frozen=True, eq=False)
class Wishes:
    """The arguments of `pycupc.choose`, but the table and how to read it.

    `device`, `progress`: as of `Request`. `keep`: whether the rows of a table stay when their correlations have been
    computed.
    """

    test: str = "auto"
    missing: str = "auto"
    correlation: str | None = None
    nearest: bool = False
    impute_seed: int | None = None
    adaptDF: bool = False
    df: str = "pcalg"
    quirks: bool = False
    progress: CountHook | None = None
    device: Callable[[int], CorrelationEngine | None] = no_device
    keep: bool = True

    def __post_init__(self) -> None:
        if not is_missing_way(self.missing):
            ways = ", ".join(map(repr, MISSING_WAYS))
            raise ValueError(f"missing must be one of {ways}, or 'impute=M' with M from 2, got {self.missing!r}")

    @property
    def pairwise(self) -> str:
        """The rule of pairwise deletion, "" if it is not wished."""
        name, _, rule = self.missing.partition("=")
        return (rule or "mean") if name == "pairwise" else ""

    @property
    def imputations(self) -> int:
        """The number of imputations, 0 if none are wished."""
        name, _, number = self.missing.partition("=")
        return int(number) if name == "impute" else 0


def wish(name: str, value: str, in_r: str | None = None) -> Words:
    """An argument of `pycupc.choose` in a sentence; `in_r`: words for users of R."""
    return Words(f"{name}={value!r}", in_r, f"--{name} {value}")


@dataclass(frozen=True, eq=False)
class Choice:
    """The test that fits a table: what `pycupc.choose` returns.

    ``pycupc.pc(choice.data, choice.indepTest)`` runs it.

    Attributes
    ----------
    family : str
        The family of the test: gaussian, discrete, mixed, incomplete, imputed, incomplete mixed or imputed mixed.
    indepTest : callable
        The test, as `pycupc.pc` takes it.
    data : object
        The data, as the test takes them.
    content : pycupc.data.content.Content
        The table as it was read, and what it holds.
    reason : str
        Which test was chosen, why, and how to choose another.
    alternatives : tuple of dict
        Arguments of `pycupc.choose` beside the table that choose something else that fits it, too.
    unexpected : bool
        Whether a user should be told of the choice: it is not the Gaussian test, or another is as likely.
    reads : tuple of str
        The arguments among correlation, nearest, adaptDF, df and quirks that the test has.
    """

    family: str
    indepTest: Any
    data: Any
    content: Content
    reason: str
    alternatives: tuple[dict[str, Any], ...] = ()
    unexpected: bool = False
    reads: tuple[str, ...] = ()

    def __repr__(self) -> str:
        others = "".join(
            f"\n  or choose(..., {', '.join(f'{name}={value!r}' for name, value in other.items())})"
            for other in self.alternatives
        )
        return f"<Choice: {self.reason}{others}\n  data: {self.data!r}>"

    @property
    def labels(self) -> Sequence[str]:
        """Names of the variables; without names "1", "2", ..., as in `pc`."""
        labels: Sequence[str] | None = self.data.labels
        return default_labels(self.data.p) if labels is None else labels
