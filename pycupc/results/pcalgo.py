"""`PcAlgo`: what `pc` and `skeleton` return, shaped like pcalg's class, with the evidence for every edge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.gaussian import fisher_z
from pycupc.results import exports
from pycupc.results.evidence import LevelSummary, Removals, Why
from pycupc.results.sepset import SepSets

if TYPE_CHECKING:
    import networkx
    import pandas as pd


class PcAlgo:
    """Result of `pc` or `skeleton`.

    Attributes
    ----------
    labels : tuple of str
    call : str
    n : int or None
        Observations (pcalg's slot of this name stays empty).
    alpha : float or None
    max_ord : int
        Last level that ran.
    n_edgetests : list of int
        Tests of each level, as pcalg counts them.
    skeleton : bool (p, p)
    graph : int8 (p, p)
        ``as(fit@graph, "matrix")`` of pcalg, row to column: [i, j] = 1 and [j, i] = 0 is i --> j, both 1 undirected,
        both 2 bidirected. After `skeleton` every edge is undirected.
    sepset : SepSets
        ``sepset[x][y]`` is None or a tuple of 0-based indices, in pcalg's own cells.
    zMin : float64 (1, 1)
        NaN, as in pcalg.
    levels : tuple of LevelSummary
    removals : Removals or None
        The edges removed at levels from 1 on, with the r of the test that separated each; None for a result from R.
    engine : str
        Which engine ran, and why it was chosen.
    trace : dict of (int, int) to tuple
        What set the arrowhead at the second of the two nodes.
    notes : dict
        Further facts of the run, e.g. number of ambiguous triples.
    """

    def __init__(
        self,
        *,
        labels: Sequence[str],
        graph: np.ndarray,
        sepset: SepSets,
        n_edgetests: Sequence[int],
        max_ord: int,
        call: str = "",
        n: int | None = None,
        alpha: float | None = None,
        levels: Sequence[LevelSummary] = (),
        engine: str = "",
        removals: Removals | None = None,
        kept: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
        C: np.ndarray | None = None,
        pMax: np.ndarray | None = None,
        gaps: np.ndarray | None = None,
        skeleton: np.ndarray | None = None,
        trace: Mapping[tuple[int, int], tuple] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        self.labels, self.call, self.n, self.alpha = tuple(labels), call, n, alpha
        self.graph, self.sepset = graph, sepset
        self.skeleton = (graph != 0) | (graph != 0).T if skeleton is None else skeleton
        self.n_edgetests, self.max_ord = [int(v) for v in n_edgetests], int(max_ord)
        self.zMin = np.full((1, 1), np.nan)
        self.levels, self.engine = tuple(levels), engine
        self.trace, self.notes = dict(trace or {}), dict(notes or {})
        self.removals, self._kept, self._C, self._gaps = removals, kept, C, gaps
        if pMax is not None:
            self.pMax = pMax

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.labels)

    @cached_property
    def pMax(self) -> np.ndarray:
        """Largest p-value of each pair's tests, float64 (p, p): symmetric, 1 on the diagonal, -inf if never tested."""
        if self._C is None or self._kept is None or self.removals is None:
            raise ValueError("this result was made without p-values")
        out = np.empty_like(self._C)
        for i in range(self.p):  # a row at a time: one p x p matrix is enough
            out[i, i:] = fisher_z.p_value(self._C[i, i:], self.n, 0)
            out[i:, i] = out[i, i:]
        if self._gaps is not None:
            out[self._gaps & ~self.skeleton] = -np.inf
        gone = self.removals
        for level in np.unique(gone.level).tolist():
            at = gone.level == level
            p = fisher_z.p_value(gone.r[at], self.n, level)
            out[gone.x[at], gone.y[at]] = out[gone.y[at], gone.x[at]] = p
        x, y, p = self._kept
        out[x, y] = out[y, x] = p
        np.fill_diagonal(out, 1.0)
        return out

    # -- looking at it --------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        directed, undirected, both = self.edge_counts()
        tests = sum(self.n_edgetests)
        return (
            f"<PcAlgo: {self.p} variables, {directed + undirected + both} edges ({directed} directed, {undirected} "
            f"undirected, {both} bidirected), levels 0 to {self.max_ord}, {tests:,} tests>"
        )

    def edge_counts(self) -> tuple[int, int, int]:
        """Edges that are directed, undirected, bidirected."""
        upper, lower = np.triu(self.graph, 1), np.tril(self.graph, -1).T
        both = int(((upper == 2) & (lower == 2)).sum())
        undirected = int(((upper == 1) & (lower == 1)).sum())
        return int(((upper != 0) | (lower != 0)).sum()) - both - undirected, undirected, both

    def summary(self) -> str:
        """What a person wants to know first, as text."""
        directed, undirected, both = self.edge_counts()
        degree = self.skeleton.sum(axis=1)
        top = int(degree.argmax())
        lines = [
            f"PC-stable: {self.p:,} variables"
            + (f", {self.n:,} observations" if self.n is not None else "")
            + (f", alpha {self.alpha:g}" if self.alpha is not None else ""),
            f"{directed + undirected + both:,} edges: {directed:,} directed, {undirected:,} undirected, "
            f"{both:,} bidirected",
            f"mean degree {degree.mean():.2f}; most neighbours: {self.labels[top]} with {int(degree[top]):,}",
        ]
        if self.levels:
            lines += ["", f"{'level':>5} {'tests':>18} {'removed':>12} {'edges left':>12} {'seconds':>9}"]
            lines += [
                f"{s.level:>5} {s.n_tests:>18,} {s.n_removed:>12,} {s.edges_left:>12,} {s.seconds:>9.3f}"
                for s in self.levels
            ]
        else:
            lines.append(f"tests by level: {', '.join(f'{v:,}' for v in self.n_edgetests)}")
        careful = sum(s.n_careful for s in self.levels)
        if careful:
            lines.append(f"{careful:,} tests were near-singular or near the cutoff and took the careful path")
        lines += [f"{key.replace('_', ' ')}: {value}" for key, value in self.notes.items()]
        if self.engine:
            lines.append(f"engine: {self.engine}")
        return "\n".join(lines)

    def _index(self, v: int | str) -> int:
        if isinstance(v, str):
            if v not in self.labels:
                raise ValueError(f"there is no variable {v!r}; labels are {', '.join(self.labels[:5])}, ...")
            return self.labels.index(v)
        if not 0 <= v < self.p:
            raise IndexError(f"variables are 0 to {self.p - 1}, got {v}")
        return int(v)

    def why(self, x: int | str, y: int | str) -> Why:
        """Evidence for or against the edge between two variables, given by index or label.

        Raises
        ------
        ValueError, IndexError
            If there is no such variable, or both are the same.
        """
        i, j = self._index(x), self._index(y)
        if i == j:
            raise ValueError(f"x and y must be different variables, got {self.labels[i]!r} twice")
        name = self.labels.__getitem__
        if self.skeleton[i, j]:
            p = float(self._kept_p(i, j))
            reason = self.trace.get((i, j)) or self.trace.get((j, i))
            arrow = None if reason is None else (reason[0], *(name(v) for v in reason[1:]))
            status = "fixed" if p == -np.inf else "kept"
            return Why(name(i), name(j), status, p=None if status == "fixed" else p, arrow=arrow)
        found = None if self.removals is None else self.removals.find(i, j)
        if found is not None:
            i, j = int(self.removals.x[found]), int(self.removals.y[found])
            return self._removed(i, j, int(self.removals.level[found]), float(self.removals.r[found]))
        lo, hi = min(i, j), max(i, j)
        if self.removals is None:  # a result from elsewhere: the cells are all there is
            S = self.sepset.of_pair(i, j)
            if S is None:
                return Why(name(lo), name(hi), "gap")
            side = "A" if self.sepset.get(lo, hi) is not None else "B"
            return Why(name(lo), name(hi), "removed", len(S), side, tuple(map(name, S)), p=float(self.pMax[i, j]))
        if self._gaps is not None and self._gaps[i, j]:
            return Why(name(lo), name(hi), "gap")
        return self._removed(lo, hi, 0, math.nan if self._C is None else float(self._C[lo, hi]))

    def _kept_p(self, i: int, j: int) -> float:
        if self._kept is None or "pMax" in self.__dict__:
            return self.pMax[i, j]
        x, y, p = self._kept
        return p[(x == min(i, j)) & (y == max(i, j))][0]

    def _removed(self, i: int, j: int, level: int, r: float) -> Why:
        name = self.labels.__getitem__
        S = tuple(map(name, self.sepset.original().get(i, j) or () if level else ()))
        side = "A" if i < j else "B"
        if self._C is None:
            return Why(name(i), name(j), "removed", level, side, S, p=float(self.pMax[i, j]))
        r = 0.0 if math.isnan(r) else min(max(r, -fisher_z.R_MAX), fisher_z.R_MAX)
        z = float(fisher_z.z_score(r, self.n, level))
        cutoff = fisher_z.cutoff(self.alpha, self.n, level)
        p = float(fisher_z.z_to_p(z))
        return Why(name(i), name(j), "removed", level, side, S, r, math.copysign(z, r), p, cutoff, cutoff - abs(r))

    # -- exports ----------------------------------------------------------------------------------------------------

    def amat(self) -> pd.DataFrame:
        """pcalg's ``as(fit, "amat")``: amat[i, j] = 1 and amat[j, i] = 0 means j --> i (column to row)."""
        return exports.amat(self.graph, self.labels)

    def matrix(self) -> pd.DataFrame:
        """`graph` with labels: [i, j] = 1 and [j, i] = 0 means i --> j (row to column)."""
        return exports.row_to_column(self.graph, self.labels)

    def edges(self) -> pd.DataFrame:
        """Edge list: from, to, type (from --> to where directed), pMax, and what set the arrow."""
        return exports.edges(self.graph, self.labels, self.edge_attributes())

    def edge_attributes(self) -> dict[str, np.ndarray]:
        """pMax of each edge and what set its arrow, in the order of `exports.edge_list`."""
        tail, head, _ = exports.edge_list(self.graph)
        if self._kept is not None and "pMax" not in self.__dict__:
            x, y, p = self._kept
            by_pair = dict(zip(zip(x.tolist(), y.tolist(), strict=True), p.tolist(), strict=True))
            pairs = zip(np.minimum(tail, head).tolist(), np.maximum(tail, head).tolist(), strict=True)
            p_max = np.array([by_pair[pair] for pair in pairs], dtype=np.float64)
        else:
            p_max = self.pMax[tail, head]
        reasons = []
        for a, b in zip(tail.tolist(), head.tolist(), strict=True):
            kind = self.trace.get((a, b)) or self.trace.get((b, a))
            reasons.append("" if kind is None else " ".join([kind[0], *(self.labels[v] for v in kind[1:])]))
        return {"pMax": p_max, "set_by": np.array(reasons, dtype=object)}

    def to_networkx(self) -> networkx.DiGraph:
        """networkx.DiGraph, source --> target; undirected and bidirected edges are two arcs with attribute ``type``."""
        return exports.to_networkx(self.graph, self.labels, self.edge_attributes())

    def to_graphml(self) -> str:
        """GraphML text, source --> target."""
        return exports.to_graphml(self.graph, self.labels, self.edge_attributes())

    def to_dot(self) -> str:
        """Graphviz DOT text, tail --> head."""
        return exports.to_dot(self.graph, self.labels)

    def to_json(self) -> str:
        """JSON text: nodes, and edges from --> to with their type."""
        return exports.to_json(self.graph, self.labels, self.edge_attributes())

    def plot(self, *args: Any, **kwargs: Any) -> Any:
        """Draw the graph: see `pycupc.plotting.plot`."""
        from pycupc import plotting

        return plotting.plot(self, *args, **kwargs)

    # -- files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike) -> None:
        """Write everything into one .npz file (no pickle). See `pycupc.results.npz` for the fields."""
        from pycupc.results import npz as storage

        storage.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike) -> PcAlgo:
        """Read what `save` wrote.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such file, or it is not a saved result.
        """
        from pycupc.results import npz as storage

        return storage.load(path)
