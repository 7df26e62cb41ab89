"""Conversions between R objects and results: flat vectors in between, so that R walks its own lists. See `rbridge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.r.code import R_CODE
from pycupc.results.arrays import only_stored_cells
from pycupc.results.pcalgo import PcAlgo

if TYPE_CHECKING:
    from pycupc.gaussian.suffstat import SuffStat


class RCall(str):
    """The text of an R call, with what else a result needs to go back to R unchanged.

    Attributes
    ----------
    language : rpy2 object
        The call itself.
    weight : {"integer", "double", "none"}
        What the graph's edges carry.
    counts : {"integer", "double"}
        Type of n.edgetests: pcalg's "stable.fast" has integers.
    """

    language: Any
    weight: str
    counts: str

    def __new__(cls, text: str, language: Any, weight: str, counts: str) -> RCall:
        call = super().__new__(cls, text)
        call.language, call.weight, call.counts = language, weight, counts
        return call

    def __reduce__(self) -> tuple:
        return str, (str(self),)  # an R object cannot be pickled; its text can


class Converter:
    """Both directions, given rpy2.robjects; call its methods inside `rbridge._r_session`."""

    def __init__(self, robjects: Any) -> None:
        self._r = robjects
        self.code = _named(robjects.r(R_CODE))

    def pcalgo_from_r(self, robject: Any) -> PcAlgo:
        """A pcAlgo as a result."""
        labels, weight, arrays = self._graph_arrays(_slot(robject, "graph", ("S4SXP",)))
        p = len(labels)
        counts = _slot(robject, "n.edgetests", ("REALSXP", "INTSXP"))
        p_max = _slot(robject, "pMax", ("REALSXP",))
        if len(p_max) != p * p or len(_slot(robject, "sepset", ("VECSXP",))) != p:
            raise TypeError(f"slots pMax and sepset of the R object must be for the {p} nodes of its graph")
        sets = _named(self.code["flatten"](robject))
        cell = _vector(sets["cell"], np.float64).astype(np.int64)
        arrays |= {
            "sepset_x": cell // p,
            "sepset_y": cell % p,
            "sepset_len": _vector(sets["length"], np.int32),
            "sepset_members": _vector(sets["members"], np.int32),
            "n_edgetests": _vector(counts, np.float64),
            "pMax": _vector(p_max, np.float64),
        }
        language = robject.slots["call"]
        text = self.code["call_text"](self._boxed(language))[0]
        call = RCall(text, language, weight, "integer" if counts.typeof.name == "INTSXP" else "double")
        max_ord = int(_slot(robject, "max.ord", ("INTSXP", "REALSXP"))[0])
        arrays = only_stored_cells(arrays, p)
        return PcAlgo.from_arrays(arrays, labels=labels, max_ord=max_ord, call=call, engine="R")

    def graph_from_r(self, robject: Any) -> PcAlgo:
        """A graphNEL as a result of which only the graph is known."""
        labels, _, arrays = self._graph_arrays(robject)
        p = len(labels)
        none = dict.fromkeys(("sepset_x", "sepset_y", "sepset_len", "sepset_members"), np.zeros(0, np.int32))
        unknown = {"n_edgetests": np.zeros(0), "pMax": np.full(p * p, np.nan)}
        arrays = only_stored_cells({**arrays, **none, **unknown}, p)
        return PcAlgo.from_arrays(arrays, labels=labels, max_ord=-1, engine="R (a graph only)")

    def pcalgo_to_r(self, fit: PcAlgo) -> Any:
        """A result as a pcAlgo."""
        code, p, call = self.code, fit.p, fit.call
        arrays = fit.to_arrays("matrix")
        x, y, length, members = (arrays[f"sepset_{k}"] for k in ("x", "y", "len", "members"))
        empty_x, empty_y = fit.sepset.implied_empty()
        cell = np.concatenate((x.astype(np.float64) * p + y, empty_x.astype(np.float64) * p + empty_y))
        length = np.concatenate((length, np.zeros(len(empty_x), np.int32)))
        sepset = code["unflatten"](p, self._floats(cell), self._ints(length), self._ints(members + 1))
        if isinstance(call, RCall):
            language, weight, counts = call.language, call.weight, call.counts
        else:
            oriented = bool((fit.graph != fit.graph.T).any() or fit.call.startswith("pc("))
            language = self._r.r["str2lang"](_as_r_call(call))
            weight, counts = "double" if oriented else "integer", "double"
        at = arrays["graph_to"].astype(np.float64) * p + arrays["graph_from"]
        marks = self._ints(arrays["graph_mark"])
        graph = code["graph"](self._r.StrVector(list(fit.labels)), self._floats(at), marks, weight)
        tests = (self._ints if counts == "integer" else self._floats)(np.array(fit.n_edgetests))
        return code["pcalgo"](
            self._boxed(language), self._r.IntVector([fit.max_ord]), tests, sepset, self.matrix(fit.pMax), graph
        )

    def suffstat_from_r(self, robject: Any) -> SuffStat:
        """R's list of C and n as a SuffStat."""
        from pycupc.gaussian.suffstat import SuffStat

        fields = _named(robject) if len(robject) and robject.names != self._r.NULL else {}
        for name in ("C", "n"):
            if name not in fields:
                raise TypeError(
                    f"an R suffStat list must hold C and n; {name} is missing (it holds {', '.join(fields)})"
                )
        C = fields["C"]
        kind = C.typeof.name
        if kind not in ("REALSXP", "INTSXP") or len(self._r.r["dim"](C)) != 2:
            raise TypeError(f"C of an R suffStat must be a numeric matrix, got {kind}")
        rows, columns = self._r.r["dim"](C)
        names = self._r.r["colnames"](C)
        labels = None if names == self._r.NULL else [str(name) for name in names]
        flat = _vector(self._r.r["as.double"](C), np.float64)
        return SuffStat(flat.reshape((rows, columns), order="F"), float(fields["n"][0]), labels)

    def suffstat_to_r(self, data: SuffStat) -> Any:
        """A SuffStat as R's list of C and n."""
        C = self.matrix(data.C)
        if data.labels is not None:
            names = self._r.StrVector(list(data.labels))
            C = self._r.r["matrix"](C, data.p, data.p, dimnames=self._r.r["list"](names, names))
        return self._r.r["list"](C=C, n=float(data.n))

    def matrix(self, matrix: np.ndarray) -> Any:
        """An R matrix of logicals or doubles."""
        p, q = matrix.shape
        flat = np.ascontiguousarray(matrix.T).ravel()
        if matrix.dtype == bool:
            return self._r.r["matrix"](self._r.BoolVector(flat.tolist()), p, q)
        return self._r.r["matrix"](self._r.FloatVector.from_memoryview(memoryview(flat.astype(np.float64))), p, q)

    def _graph_arrays(self, graph: Any) -> tuple[list[str], str, dict[str, np.ndarray]]:
        cells = _named(self.code["graph_cells"](graph))
        labels = [str(label) for label in cells["labels"]]
        at = np.array(cells["at"], dtype=np.int64)
        p = len(labels)
        arrays = {"graph_from": at % p, "graph_to": at // p, "graph_mark": np.array(cells["mark"], dtype=np.int32)}
        return labels, str(cells["weight"][0]), arrays

    def _boxed(self, language: Any) -> Any:
        """An R list around a call: as a bare argument, R would evaluate it."""
        return self._r.rinterface.ListSexpVector([language])

    def _ints(self, values: np.ndarray) -> Any:
        return self._r.IntVector.from_memoryview(memoryview(np.ascontiguousarray(values, dtype=np.int32)))

    def _floats(self, values: np.ndarray) -> Any:
        return self._r.FloatVector.from_memoryview(memoryview(np.ascontiguousarray(values, dtype=np.float64)))


def _slot(robject: Any, name: str, kinds: tuple[str, ...]) -> Any:
    value = robject.slots[name]
    kind = value.typeof.name
    if kind not in kinds:
        raise TypeError(f"slot {name} of the R object must be {' or '.join(kinds)}, got {kind}")
    return value


def _vector(robject: Any, dtype: type) -> np.ndarray:
    return np.array(robject.memoryview(), dtype=dtype).ravel(order="K") if len(robject) else np.zeros(0, dtype)


def _named(robject: Any) -> dict[str, Any]:
    return dict(zip(robject.names, robject, strict=True))


def _as_r_call(call: str) -> str:
    """A Python call as R can parse it; what it cannot becomes a call that quotes it."""
    text = call.replace("inf", "Inf").replace("'", '"')
    return text if text and text.isascii() and text.endswith(")") and "\n" not in text else f"pycupc({call!r})"
