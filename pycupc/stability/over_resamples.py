"""`OverResamples`, the base of results over resamples."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import is_whole
from pycupc.results import npz
from pycupc.stability.rows import Resampling
from pycupc.system.shown import OfferedNames, Text, as_picture

Ints = NDArray[np.int64]
#: The names of the attributes of `Resampling` in a file.
DRAWN = ("n", "scheme", "fraction", "random_state")


@dataclass(kw_only=True, eq=False, repr=False)
class OverResamples(OfferedNames):
    """A result over resamples. `Stability` describes the attributes."""

    _OFFERED: ClassVar[Sequence[str]] = (
        "labels",
        "summary",
        "plot",
        "to_pandas",
        "bound",
        "n_resamples",
        "indices",
        "save",
    )
    _MAKERS: ClassVar[Sequence[str]] = ("load",)
    KIND: ClassVar[npz.Kind]
    #: The other attributes that are facts in a file, and the attributes that are arrays.
    FACTS: ClassVar[tuple[str, ...]]
    ARRAYS: ClassVar[tuple[str, ...]]
    labels: tuple[str, ...]
    resampling: Resampling
    resamples: Ints
    arguments: Mapping[str, Any]

    @property
    def n_resamples(self) -> int:
        """Number of resamples that are counted."""
        return len(self.resamples)

    @property
    def random_state(self) -> int:
        """The seed, with which the run can be repeated."""
        return self.resampling.seed

    def indices(self, i: int) -> Ints:
        """The rows of resample `i`, 0-based, ascending: it has the graph of ``pycupc.pc(data[indices(i)], ...)``."""
        if not is_whole(i) or i not in self.resamples:
            raise ValueError(f"i must be the number of a resample, 0 to {self.resamples.max(initial=0)}, got {i!r}")
        return self.resampling.indices(int(i))

    def summary(self) -> str:
        """The result in short, as text."""
        raise NotImplementedError

    def meta(self) -> dict[str, Any]:
        """Everything that is not an array, for a file."""
        own = {name: getattr(self, name) for name in ("labels", "arguments", *self.FACTS)}
        return own | dict(zip(DRAWN, astuple(self.resampling), strict=True))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays, all of one dimension."""
        return {name: getattr(self, name) for name in self.ARRAYS}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        a, b = self.to_arrays(), other.to_arrays()
        same = a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        return same and self.meta() == other.meta()

    __hash__ = None  # type: ignore[assignment]

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything into one .npz file (no pickle), which appears only when it is complete."""
        npz.write(path, self.meta(), self.to_arrays(), self.KIND)

    def _repr_html_(self) -> str:
        """For notebooks: the summary, and the picture that `plot` draws if matplotlib is installed."""
        shown = Text(self.summary())._repr_html_()
        with contextlib.suppress(ImportError):
            if (figure := self._figure()) is not None:
                shown += as_picture(figure, "the result over the resamples")
        return f"<div>{shown}</div>"

    def _figure(self) -> Any:
        """A figure for notebooks, None if it would be too large; ImportError without what draws it."""
        raise NotImplementedError
