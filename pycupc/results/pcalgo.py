"""`PcAlgo`: what `pc` and `skeleton` return, shaped like pcalg's class, with the evidence for every edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import DIRECTED
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.independence.p_values import Floats, UntestedPairs
from pycupc.orientation.trace import OrientationStatus
from pycupc.results import npz
from pycupc.results import serialisation as flat
from pycupc.results.base import TestedResult
from pycupc.results.causal_graph import CausalGraph
from pycupc.results.evidence import why_pair
from pycupc.results.explanation import Why
from pycupc.results.explorer_content import ExplorableGraph
from pycupc.results.methods import METHODS
from pycupc.results.schema import Arrays, check_facts, facts_from, facts_of, older_facts
from pycupc.results.serialisation import check_arrays
from pycupc.results.stored import Contents, StoredResult
from pycupc.results.summary import CONTRADICTING, LevelSummary, closing_lines, contradictions, level_lines
from pycupc.results.tests_after_levels import LaterTests
from pycupc.system.shown import Text
from pycupc.system.text import counted


@dataclass(kw_only=True, eq=False, repr=False)
class PcAlgo(StoredResult, TestedResult, ExplorableGraph, CausalGraph):
    """Result of `pc` or `skeleton`.

    Two results are equal (``==``) if everything that the tests and the orientation decided is equal: variables, graph,
    separating sets, numbers of tests, last level, and n and alpha. `pycupc.compare` says where two results differ, and
    compares the p-values too.

    Attributes
    ----------
    labels : tuple of str
    sparse_graph : SparseGraph
        The edges with their marks; after `skeleton` every edge is undirected.
    sepset : SepSets
        ``sepset[0, 4]`` is None or a tuple of 0-based indices, ``sepset["a", "b"]`` None or one of labels, whichever
        cell holds the set. ``sepset[x][y]`` is one of pcalg's own cells.
    found_sepset : SepSets
        The sets as the tests found them; in `sepset` the conservative and the majority rule change some of them.
    p_values : PValues
        The one source of p-values.
    n_edgetests : list of int
        Tests per level, as pcalg counts them; exact, also beyond 2^63.
    max_ord : int
        Last level that ran; -1 if fixedGaps left nothing to test.
    call : str
    n : float or None
        Number of observations (pcalg's slot of this name stays empty).
    alpha : float or None
    method : {"pc", "skeleton"}, or another method of `pycupc.results.methods` without hidden variables
        Which of the two made the result; "skeleton" also for the skeleton of `fci`.
    engine : str
        Which engine ran, and why it was chosen.
    engine_name : str
        Its name alone, such as "cpu"; "R" for a result from R.
    orientation : {"relaxed", "extendable", "reoriented", "forced", "random"} or None
        How the graph was found: "relaxed" without `u2pd`; else from the colliders as they were found, with other
        directions of edges that colliders want both ways, with further colliders, or from a random DAG. None for a
        skeleton, for a graph without edges, and for a result from R, which does not say so.
    levels : tuple of LevelSummary
    removals : Removals
        The edges removed at level 1 and above, with the r of the separating test; empty for a result from R.
    find_untested : callable
        Returns `untested`; called when it is first accessed.
    trace : mapping of (int, int) to tuple
        What set the arrowhead at the second of the two variables.
    notes : dict
        Further facts about the run, e.g. the number of ambiguous triples.
    tiers : Tiers or None
        The tiers of the run: they limit the conditioning sets.
    """

    sepset: SepSets
    n_edgetests: list[int]
    call: str = ""
    method: str = "skeleton"
    engine: str = ""
    engine_name: str = ""
    orientation: OrientationStatus | None = None
    levels: tuple[LevelSummary, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found_sepset = self.found_sepset or self.sepset
        self.sepset.labels = self.found_sepset.labels = self.labels

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__ |= older_facts(state, len(self.sparse_graph))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PcAlgo):
            return NotImplemented
        parts = ("labels", "sparse_graph", "sepset", "found_sepset", "n_edgetests", "max_ord", "n", "alpha")
        return all(getattr(self, part) == getattr(other, part) for part in parts)

    __hash__ = None  # type: ignore[assignment]

    # -- pcalg's slots, as matrices made on demand --------------------------------------------------------------------

    @property
    def zMin(self) -> Floats:
        """NaN, float64 (1, 1), as in pcalg."""
        return np.full((1, 1), np.nan)

    # -- summaries ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<PcAlgo: {self._size()}, levels 0 to {self.max_ord}, {counted(sum(self.n_edgetests), 'test')}>"

    @property
    def oriented(self) -> bool:
        """Whether the edges have been oriented, as by `pc`, although none need have a direction."""
        return METHODS[self.method].graph == "cpdag" or self.edge_counts()[1] < len(self.sparse_graph)

    def _cpdag_note(self, *, remedy: bool = True) -> str:
        """That arrows or tests contradict each other where the graph is not a CPDAG, without a full stop; else "".

        Also "" for a skeleton, whose edges have no directions yet. A graph with known arrows, which has more than a
        CPDAG, is only reported if no DAG extends it. With a `remedy` if there is one.
        """
        known = "known_before" in self.notes or "known_afterwards" in self.notes
        if not self.oriented or (known and self._has_dag):
            return ""
        return contradictions(self, self.notes, known=known, remedy=remedy)

    def to_cpdag(self) -> PcAlgo:
        """The result with the CPDAG of the DAGs that extend its graph, which all have the same; itself if it is one.

        The evidence stays; `trace` keeps the reasons of the arrows that both graphs have. ValueError as of `to_dag`.
        """
        found = super().to_cpdag().sparse_graph
        if found == self.sparse_graph:
            return self
        tail, head, kind = found.edge_list()
        arrows = set(zip(tail[kind == DIRECTED].tolist(), head[kind == DIRECTED].tolist(), strict=True))
        kept = {ends: reason for ends, reason in self.trace.items() if ends in arrows}
        same = found.low_mark == self.sparse_graph.low_mark
        same &= found.high_mark == self.sparse_graph.high_mark
        note = f"of the DAGs that extend the graph of pc; {counted(int((~same).sum()), 'edge')} changed"
        return replace(self, sparse_graph=found, trace=kept, notes={**self.notes, "CPDAG": note})

    def summary(self) -> str:
        """Size, edges and levels of the run, as text."""
        lines = self._head_lines("PC-stable")
        if note := self._cpdag_note():
            lines.append(note)
        return Text("\n".join([*lines, *self._lines_of_levels(), *closing_lines(self._notes_shown(), self.engine)]))

    def _notes_shown(self) -> dict[str, Any]:
        return {name: note for name, note in self.notes.items() if name != CONTRADICTING}

    def _lines_of_levels(self) -> list[str]:
        """The part of the summary about the levels."""
        removed = self.p * (self.p - 1) // 2 - len(self.sparse_graph) - len(self.found_sepset.gaps())
        return level_lines(self.levels, self.n_edgetests) + self.untested.sentences(removed)

    # -- evidence ----------------------------------------------------------------------------------------------------

    title = "PC-stable graph"
    later = LaterTests()

    def _tests_of_levels(self) -> PcAlgo:
        """The result itself: all its tests are of the levels."""
        return self

    def _page_note(self) -> str:
        """`_cpdag_note` as a sentence, without a remedy: who reads the page may not have the program."""
        note = self._cpdag_note(remedy=False)
        return note and f"{note[:1].upper()}{note[1:]}."

    def _why(self, i: int, j: int) -> Why:
        return why_pair(self, i, j)

    # -- flat arrays and files ----------------------------------------------------------------------------------------

    def to_arrays(
        self, p_values: flat.PValueForm | None = "evidence", *, evidence: bool | None = None
    ) -> dict[str, NDArray[Any]]:
        """The result as the flat arrays of `pycupc.results.schema`.

        The p-values are represented by the "evidence" from which they are computed, without pMax where they were
        recorded ("edges"), of the "removals" only, by the "matrix" pMax, or not at all (None); `evidence` as of `save`.
        """
        by_row = p_values in ("matrix", None)
        out = (flat.cell_arrays if by_row else flat.edge_arrays)(self.sparse_graph)  # R has the cells
        out |= flat.sepset_arrays(self.sepset, by_row=by_row)
        out["n_edgetests"] = np.array(self.n_edgetests, dtype=np.float64)
        if p_values == "matrix":
            out["pMax"] = self.pMax
        elif p_values is not None:
            if self.found_sepset is not self.sepset:
                out |= flat.sepset_arrays(self.found_sepset, "found_", by_row=False)
            out |= flat.evidence_arrays(self, p_values, everything=evidence)
            if len(self.untested.x):
                out["untested"] = np.concatenate(self.untested[:4]).astype(np.float64)
                if (self.untested.there != self.n).any():
                    out["untested_there"] = self.untested.there
        return out

    @classmethod
    def from_arrays(
        cls, arrays: Arrays, *, labels: Sequence[str], max_ord: int, known: Correlations | None = None, **facts: Any
    ) -> PcAlgo:
        """Rebuild a result from the arrays of `to_arrays`, its attributes, and correlations where these lack them."""
        graph = flat.graph_from_arrays(arrays, len(labels))
        sepset = found = flat.sepset_from_arrays(arrays, graph)
        if "found_x" in arrays:
            found = flat.sepset_from_arrays(arrays, graph, "found_")
        removals = flat.removals_from_arrays(arrays, found, known)
        untested = np.asarray(arrays.get("untested", ()), dtype=np.int64).reshape(4, -1)
        there: Any = arrays["untested_there"] if "untested_there" in arrays else facts.get("n")
        return cls(
            labels=tuple(labels),
            sparse_graph=graph,
            sepset=sepset,
            found_sepset=found,
            p_values=flat.p_values_from_arrays(arrays, graph, found.gaps(), removals, facts.get("n"), known),
            n_edgetests=flat.counts_from_arrays(arrays, facts.get("levels", ())),
            max_ord=int(max_ord),
            removals=removals,
            find_untested=partial(UntestedPairs.by_pair, untested, there),
            **facts,
        )

    KIND = npz.RESULT

    def contents(self, *, evidence: bool | None = None, p_values: flat.PValueForm = "evidence") -> Contents:
        meta = facts_of(self)
        if p_values != "evidence":
            meta["recorded"] = not isinstance(self.p_values, GaussianPValues)
        return meta, self.to_arrays(p_values, evidence=evidence)

    @classmethod
    def check_contents(cls, meta: Mapping[str, Any], arrays: Arrays) -> None:
        check_facts(meta)
        check_arrays(arrays, len(meta["labels"]))

    @classmethod
    def from_contents(cls, meta: Mapping[str, Any], arrays: Arrays, known: Correlations | None = None) -> PcAlgo:
        return cls.from_arrays(arrays, known=known, **facts_from(meta, len(arrays["edge_low"])))
