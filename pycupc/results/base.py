"""The bases of results: `TestedResult`, the evidence of the levels, and `TestedGraph`, a graph with its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from numpy.typing import NDArray

from pycupc.graph.named import NamedGraph
from pycupc.graph.removals import Removals
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import read_only
from pycupc.graph.tiers import Tiers
from pycupc.independence.p_values import Floats, PValues, UntestedPairs, no_untested_pairs
from pycupc.results.edge_columns import columns_of
from pycupc.results.explanation import Why
from pycupc.results.tests_after_levels import LaterTests
from pycupc.system.text import counted


@dataclass(kw_only=True, eq=False, repr=False)
class TestedResult(NamedGraph):
    """The evidence for the edges that the levels left or removed. `PcAlgo` describes the attributes."""

    p_values: PValues
    max_ord: int
    n: float | None = None
    alpha: float | None = None
    removals: Removals = field(default_factory=Removals)
    find_untested: Callable[[], UntestedPairs] = no_untested_pairs
    found_sepset: SepSets = field(default=None)  # type: ignore[assignment]  # `sepset`, see PcAlgo.__post_init__
    trace: Mapping[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)
    tiers: Tiers | None = None

    @cached_property
    def untested(self) -> UntestedPairs:
        """The removed pairs whose separating test was not made, because there were too few observations (discrete)."""
        return self.find_untested().of(self.n)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        if "untested" in state:
            self.__dict__["untested"] = state["untested"].of(self.n)


class TestedGraph(NamedGraph):
    """A graph with the tests behind its edges; the base of what `pc`, `fci` and `rfci` return.

    `p_values` is the one source of p-values. A key of `trace` is a pair; what it names has set the mark at the second
    of the two. `is_pag` says whether the rules are FCI's.
    """

    _OFFERED: ClassVar[Sequence[str]] = ("summary", "why", "sepset", "pMax", "alpha", "n")
    is_pag: ClassVar[bool] = False
    p_values: PValues
    trace: Mapping[tuple[int, int], tuple[Any, ...]]
    later: LaterTests  # the tests made after the levels

    @property
    def title(self) -> str:
        """Headline of the page of `explore`."""
        raise NotImplementedError

    def _tests_of_levels(self) -> TestedResult:
        """The result of the levels of the skeleton."""
        raise NotImplementedError

    def _page_note(self) -> str:
        """A sentence about the graph for its page, or ""."""
        return ""

    def _why(self, i: int, j: int) -> Why:
        """The answer of `why` for two different variables."""
        raise NotImplementedError

    @cached_property
    def pMax(self) -> Floats:
        """Largest p-value of each pair's tests, float64 (p, p), read only: 1 on the diagonal, -inf if never tested.

        Symmetric, but for the tests of `fci` after the levels: they raise one of the two cells of a pair, as in pcalg.
        """
        return read_only(self.p_values.dense().view())

    def why(self, x: int | str, y: int | str) -> Why:
        """Evidence for or against the edge between two variables, given by index or label.

        TypeError, ValueError or IndexError if there is no such variable, or both are the same.
        """
        i, j = self.index(x), self.index(y)
        if i == j:
            raise ValueError(f"x and y must be different variables, got {self.labels[i]!r} twice")
        return self._why(i, j)

    def edge_attributes(self) -> dict[str, NDArray[Any]]:
        """pMax and r of each edge, and what set its marks, in the order of `SparseGraph.edge_list`."""
        return {name: values.copy() for name, values in self._edge_attributes.items()}

    @cached_property
    def _edge_attributes(self) -> dict[str, NDArray[Any]]:
        return columns_of(self)

    def _head_lines(self, name: str) -> list[str]:
        """The first lines of a summary, which begins with the `name` of the algorithm."""
        degrees, found = self.sparse_graph.degrees(), self._tests_of_levels()
        top = int(degrees.argmax())
        observations = "" if found.n is None else f", {counted(found.n, 'observation')}"
        alpha = "" if found.alpha is None else f", alpha {found.alpha:g}"
        return [
            f"{name}: {counted(self.p, 'variable')}{observations}{alpha}",
            f"{counted(len(self.sparse_graph), 'edge')}: {self.kinds_of_edges()}",
            f"mean degree {degrees.mean():.2f}; most neighbours: {self.labels[top]} with {int(degrees[top]):,}",
        ]
