"""`PagAlgo`: what `fci` and `rfci` return, shaped like pcalg's class fciAlgo, with the evidence for edges and marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pycupc.graph.named import NamedGraph
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints, read_only
from pycupc.independence.p_values import Floats
from pycupc.results.later_tests import LaterTests
from pycupc.results.levels import LevelSummary
from pycupc.results.pcalgo import PcAlgo


@dataclass(kw_only=True, eq=False, repr=False)
class PagAlgo(NamedGraph):
    """Result of `fci` or `rfci`: a partial ancestral graph (PAG), whose marks may be circles.

    Attributes
    ----------
    labels : tuple of str
    sparse_graph : SparseGraph
        The edges with their marks.
    method : {"fci", "rfci"}
    skeleton_fit : PcAlgo
        The skeleton after the levels, with its evidence; what follows has changed nothing in it.
    sepset : SepSets
        The separating sets in the end; ``sepset[0, 4]`` and ``sepset["a", "b"]`` as of `PcAlgo`.
    later : LaterTests
        The tests after the levels, and the edges that these removed.
    trace : mapping of (int, int) to tuple
        What set the mark at the second of the two variables; circles have no entry.
    call : str
    notes : dict
        Further facts about the run.
    """

    method: Literal["fci", "rfci"]
    skeleton_fit: PcAlgo
    sepset: SepSets
    later: LaterTests = field(default_factory=LaterTests)
    trace: Mapping[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)
    call: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sepset.labels = self.labels

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PagAlgo):
            return NotImplemented
        parts = ("labels", "method", "sparse_graph", "sepset", "later", "skeleton_fit")
        return all(getattr(self, part) == getattr(other, part) for part in parts)

    __hash__ = None  # type: ignore[assignment]

    # -- of the skeleton, and pcalg's slots ---------------------------------------------------------------------------

    @property
    def n_edgetests(self) -> list[int]:
        """Tests per level of the skeleton."""
        return self.skeleton_fit.n_edgetests

    @property
    def max_ord(self) -> int:
        """Last level of the skeleton."""
        return self.skeleton_fit.max_ord

    @property
    def n(self) -> float | None:
        """Number of observations."""
        return self.skeleton_fit.n

    @property
    def alpha(self) -> float | None:
        """Significance level."""
        return self.skeleton_fit.alpha

    @property
    def engine(self) -> str:
        """Which engine ran, and why it was chosen."""
        return self.skeleton_fit.engine

    @property
    def levels(self) -> tuple[LevelSummary, ...]:
        """The levels of the skeleton."""
        return self.skeleton_fit.levels

    @property
    def n_edgetests_pdsep(self) -> list[int]:
        """pcalg's n.edgetestsPDSEP."""
        return self.later.n_edgetests_pdsep

    @property
    def max_ord_pdsep(self) -> int:
        """pcalg's max.ordPDSEP."""
        return self.later.max_ord_pdsep

    @property
    def all_pdsep(self) -> list[Ints] | None:
        """pcalg's allPdsep, from 0; None if Possible-D-SEP was not computed."""
        return self.later.all_pdsep

    @cached_property
    def pMax(self) -> Floats:
        """pcalg's pMax, float64 (p, p), read only: of the skeleton, with the cells that later tests raised.

        These tests raise one of the two cells of a pair, as in pcalg.
        """
        x, y, p = self.later.raised
        dense = self.skeleton_fit.pMax
        if len(x):
            dense = dense.copy()
            dense[x, y] = p
        return read_only(dense.view())
