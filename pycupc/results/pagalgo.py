"""`PagAlgo`: what `fci` and `rfci` return, shaped like pcalg's class fciAlgo, with the evidence for edges and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import symbol
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.results import npz, pag_arrays
from pycupc.results import serialisation as flat
from pycupc.results.evidence import why_pair, why_removed_later
from pycupc.results.explanation import Why, reason_of_mark
from pycupc.results.explorer_content import ExplorableGraph
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.schema import Arrays, trace_entries, trace_from
from pycupc.results.stored import Contents, StoredResult
from pycupc.results.summary import closing_lines
from pycupc.results.tests_after_levels import LaterPValues, LaterTests
from pycupc.system.shown import Text
from pycupc.system.text import counted

#: What the tests after the levels are called in a summary.
_STAGES = {"possible-d-sep": "Possible-D-SEP", "rfci": "tests of RFCI"}


def _of(attribute: str, text: str) -> Any:
    """A property that is an attribute of a part of the result; `text` explains it."""
    return property(attrgetter(attribute), doc=text)


@dataclass(kw_only=True, eq=False, repr=False)
class PagAlgo(StoredResult, ExplorableGraph):
    """Result of `fci` or `rfci`: a partial ancestral graph (PAG), whose marks may be circles.

    Two results are equal (``==``) if everything that the tests and the orientation decided is equal.

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
    p_values : LaterPValues
        The one source of p-values.
    """

    method: Literal["fci", "rfci"]
    skeleton_fit: PcAlgo
    sepset: SepSets
    later: LaterTests = field(default_factory=LaterTests)
    trace: Mapping[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)
    call: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    p_values: LaterPValues = field(init=False)

    _OFFERED: ClassVar[Sequence[str]] = ("amat_pag",)
    is_pag = True

    def __post_init__(self) -> None:
        self.sepset.labels = self.labels
        self.p_values = LaterPValues(self.skeleton_fit.p_values, self.skeleton_fit.sparse_graph, self.later)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PagAlgo):
            return NotImplemented
        parts = ("labels", "method", "sparse_graph", "sepset", "later", "skeleton_fit")
        return all(getattr(self, part) == getattr(other, part) for part in parts)

    __hash__ = None  # type: ignore[assignment]

    # -- of the skeleton, and pcalg's slots ---------------------------------------------------------------------------

    n_edgetests = _of("skeleton_fit.n_edgetests", "Tests per level of the skeleton.")
    max_ord = _of("skeleton_fit.max_ord", "Last level of the skeleton.")
    n = _of("skeleton_fit.n", "Number of observations.")
    alpha = _of("skeleton_fit.alpha", "Significance level.")
    engine = _of("skeleton_fit.engine", "Which engine ran, and why it was chosen.")
    engine_name = _of("skeleton_fit.engine_name", "The name of the engine.")
    levels = _of("skeleton_fit.levels", "The levels of the skeleton.")
    n_edgetests_pdsep = _of("later.n_edgetests_pdsep", "pcalg's n.edgetestsPDSEP.")
    max_ord_pdsep = _of("later.max_ord_pdsep", "pcalg's max.ordPDSEP.")
    all_pdsep = _of("later.all_pdsep", "pcalg's allPdsep, from 0; None if Possible-D-SEP was not computed.")

    @cached_property
    def found_sepset(self) -> SepSets:
        """The separating sets as the tests found them; in `sepset` the rules for triples have changed some."""
        return self.skeleton_fit.found_sepset.changed(self.later.both_cells()).of_skeleton(self.sparse_graph)

    # -- summaries and evidence ---------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return f"PAG of {self.method.upper()}"

    def __repr__(self) -> str:
        tests = counted(sum(self.n_edgetests) + sum(self.later.n_tests), "test")
        return f"<PagAlgo ({self.method}): {self._size()}, levels 0 to {self.max_ord}, {tests}>"

    def summary(self) -> str:
        """Size, edges, levels and later tests of the run, as text."""
        lines = [*self._head_lines(self.method.upper()), *self.skeleton_fit._lines_of_levels()]
        later = self.later
        if later.n_tests:
            largest = max((size for size, n in enumerate(later.n_tests) if n), default=0)
            sets = f"given sets of up to {counted(largest, 'variable')}"
            made = f"{counted(sum(later.n_tests), 'test')} {sets}, {counted(len(later), 'edge')} removed"
            lines.append(f"{_STAGES[later.stage]}: {made}")
        if n := len(later.open_pairs):
            lines.append(f"{counted(n, 'pair')} not searched to the end: too many sets; see later.open_pairs")
        notes = {**self.skeleton_fit.notes, **self.notes}
        return Text("\n".join([*lines, *closing_lines(notes, self.engine)]))

    def _tests_of_levels(self) -> PcAlgo:
        return self.skeleton_fit

    def _why(self, i: int, j: int) -> Why:
        if (k := self.later.find(i, j)) is not None:
            return why_removed_later(self.skeleton_fit, self.later, k)
        found = why_pair(self.skeleton_fit, i, j)
        edge = int(self.sparse_graph.edge_number(i, j))
        if edge < 0:
            return found
        p, of_levels = self.p_values.at(i, j), self.skeleton_fit.p_values.at(i, j)
        if p > of_levels:  # by a test after the levels, whose set is not recorded
            found = Why(found.x, found.y, found.status, p=p)
        marks = self.sparse_graph.low_mark[edge], self.sparse_graph.high_mark[edge]
        set_by = tuple(reason_of_mark(self.trace, self.labels, *ends) for ends in ((j, i), (i, j)))
        left = bool((np.sort(self.later.open_pairs, axis=1) == sorted((i, j))).all(axis=1).any())
        return replace(found, symbol=symbol(*(marks if i < j else marks[::-1])), set_by=set_by, open=left)

    # -- files --------------------------------------------------------------------------------------------------------

    def to_arrays(self, p_values: Literal["matrix"] | None = "matrix") -> dict[str, NDArray[Any]]:
        """The answer as flat arrays, as R has it, with pMax or without; `save` keeps the evidence, too."""
        arrays = pag_arrays.answer_arrays(self.sparse_graph, self.sepset, self.later)
        arrays["n_edgetests"] = np.array(self.n_edgetests, dtype=np.float64)
        return arrays if p_values is None else arrays | {"pMax": self.pMax}

    @classmethod
    def from_answer(
        cls,
        arrays: Arrays,
        *,
        labels: Sequence[str],
        max_ord: int,
        max_ord_pdsep: int,
        method: Literal["fci", "rfci"] | None,
        call: str,
        engine: str,
        as_found: bool | None = None,
        **facts: Any,
    ) -> PagAlgo:
        """A result from the arrays of `to_arrays`, with further attributes of its skeleton.

        `method` is None if it is not known; then tests without Possible-D-SEP that removed edges are of "rfci". Which
        edges later tests removed follows from the sets if these are `as_found` by the tests; else it is not
        known. Unless that is None, pMax becomes symmetric.
        """
        recomputed, p = facts.get("known") is not None, len(labels)
        of_levels, removed = pag_arrays.of_levels(arrays, p, as_found=as_found, recomputed=recomputed)
        fit = PcAlgo.from_arrays(of_levels, labels=labels, max_ord=max_ord, engine=engine, **facts)
        graph = flat.graph_from_arrays(arrays, p)
        has_pdsep = len(arrays["pdsep_members"]) > 0
        is_rfci = not has_pdsep and (method == "rfci" or len(removed["x"]) > 0)
        if is_rfci:  # whose own tests are not in pMax
            removed["p"] = removed["value"]
        later = LaterTests(
            stage="rfci" if is_rfci else "possible-d-sep",
            all_pdsep=pag_arrays.all_pdsep_from(arrays) if has_pdsep else None,
            n_edgetests_pdsep=[int(v) for v in arrays["n_edgetests_pdsep"]],
            max_ord_pdsep=max_ord_pdsep,
            **removed,
        )
        return cls(
            labels=fit.labels,
            sparse_graph=graph,
            method="rfci" if is_rfci else "fci",
            skeleton_fit=fit,
            sepset=flat.sepset_from_arrays(arrays, graph),
            later=later,
            call=call,
        )

    KIND = npz.PAG

    def contents(self, *, evidence: bool | None = None, p_values: flat.PValueForm = "evidence") -> Contents:
        about = {"method": self.method, "call": self.call, "notes": self.notes, "trace": trace_entries(self.trace)}
        meta, arrays = self.skeleton_fit.contents(evidence=evidence, p_values=p_values)
        meta["pag"] = about | pag_arrays.later_meta(self.later)
        return meta, arrays | pag_arrays.file_arrays(
            self.sparse_graph, self.sepset, self.later, raised=p_values != "removals"
        )

    @classmethod
    def check_contents(cls, meta: Mapping[str, Any], arrays: Arrays) -> None:
        PcAlgo.check_contents(meta, arrays)
        pag_arrays.check_pag(meta["pag"], arrays, len(meta["labels"]))

    @classmethod
    def from_contents(cls, meta: Mapping[str, Any], arrays: Arrays, known: Correlations | None = None) -> PagAlgo:
        about = meta["pag"]
        graph, sepset = pag_arrays.graph_and_sets(arrays, len(meta["labels"]))
        return cls(
            labels=tuple(meta["labels"]),
            sparse_graph=graph,
            sepset=sepset,
            skeleton_fit=PcAlgo.from_contents(meta, arrays, known),
            later=pag_arrays.later_from(about, arrays),
            trace=trace_from(about["trace"]),
            **{name: about[name] for name in ("method", "call", "notes")},
        )
