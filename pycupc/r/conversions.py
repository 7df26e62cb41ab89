"""Conversions between R objects and results, by flat vectors: R walks its own lists a hundred times faster than Python.

R                      Python                conversion, first index
suffStat list(C, n)    SuffStat              double p x p to float64; column names to labels
pcAlgo @graph          PcAlgo.sparse_graph   graphNEL to its nonzero cells, 1 to 0
pcAlgo @sepset         PcAlgo.sepset         p lists of p integer vectors or NULL, 1 to 0
pcAlgo @pMax           PcAlgo.pMax           double to float64
pcAlgo @n.edgetests    PcAlgo.n_edgetests    double, as R's integers end at 2^31, to int
pcAlgo @max.ord        PcAlgo.max_ord        integer to int
pcAlgo @call           PcAlgo.call           language to RCall, a str that keeps the R object
pcAlgo @n, @zMin       -                     always integer(0) and matrix(NA, 1, 1)
fciAlgo                PagAlgo               its slots as pcAlgo's; @amat to marks of edges; @allPdsep 1 to 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.p_values import UntestedPairs
from pycupc.results.facts_in_texts import method_in_call, skeleton_or_pc
from pycupc.results.methods import HIDDEN
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.schema import IN_R
from pycupc.results.serialisation import ANSWER, graph_from_arrays, only_stored_cells

_HERE = Path(__file__).parent
#: The folder of the R package in a checkout, of whose files a wheel holds pcalgo.R in shared/.
_SHARED = _HERE / "shared" if (_HERE / "shared").is_dir() else _HERE.parents[1] / "r_wrapper" / "R"


def from_plain(vectors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """R's vectors as the arrays of `pycupc.results.schema`; vectors of other names are left out."""
    known = {IN_R[name]: values for name, values in vectors.items() if name in IN_R}
    return {row.name: values - 1 if row.kind == "index" else values for row, values in known.items()}


def to_plain(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The reverse of `from_plain`: integers as int32, and float64 as it is."""
    known = {name: (row, arrays[row.name]) for name, row in IN_R.items() if row.name in arrays}
    return {
        name: np.ascontiguousarray(values + 1 if row.kind == "index" else values, dtype=row.dtype)
        for name, (row, values) in known.items()
    }


def untested_arrays(pairs: UntestedPairs) -> dict[str, NDArray[Any]]:
    """Pairs that were not tested as vectors for R, none if there are none."""
    if not len(pairs.x):
        return {}
    vectors = {"x": pairs.x + 1, "y": pairs.y + 1, "level": pairs.level, "needed": pairs.needed, "there": pairs.there}
    return {f"untested.{name}": np.asarray(values, dtype=np.float64) for name, values in vectors.items()}


def result_of(
    arrays: Mapping[str, NDArray[Any]],
    values: Mapping[str, Any],
    found: Mapping[str, NDArray[Any]] | None = None,
    **facts: Any,
) -> Any:
    """The `PcAlgo` or `PagAlgo` that as_plain() of pcalgo.R took apart, from its arrays and values.

    Where a rule changed sets, `found` are the arrays of the sets that the tests found. `facts` are further arguments
    of `PcAlgo.from_arrays` or `PagAlgo.from_answer`. If they include the correlations, `known`, all p-values of a
    pcAlgo, except for its edges, are computed from the correlations.
    """
    labels, arrays = [str(label) for label in values["labels"]], from_plain(arrays)
    p = len(labels)
    if values["every_cell"]:
        arrays = only_stored_cells(arrays, p)
    if values.get("found_every_cell"):
        arrays = only_stored_cells(arrays, p, "found_")
    arrays = {**arrays, **(found or {})}
    call: str = values["call"]
    facts |= {"labels": labels, "max_ord": int(values["max_ord"]), "call": call, "engine": "R", "engine_name": "R"}
    if "edge_low" in arrays:
        made_by: Any = name if (name := method_in_call(call)) in HIDDEN else None
        return PagAlgo.from_answer(arrays, max_ord_pdsep=int(values["max_ord_pdsep"]), method=made_by, **facts)
    facts["method"] = skeleton_or_pc(call)
    if "known" in facts:
        graph = graph_from_arrays(arrays, p)
        arrays["edge_p"] = arrays.pop("pMax").reshape(p, p)[graph.low, graph.high]
    return PcAlgo.from_arrays(arrays, **facts)


class RCall(str):
    """The text of an R call (`language`), with everything else that a result needs to return to R unchanged.

    `weight` is the type of the edges' weights: "integer", "double" or "none"; `counts` the type of n.edgetests:
    "integer", as of pcalg's "stable.fast", or "double".
    """

    language: Any
    weight: str
    counts: str

    def __new__(cls, text: str, language: Any, weight: str, counts: str) -> RCall:
        call = super().__new__(cls, text)
        call.language, call.weight, call.counts = language, weight, counts
        return call

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # an R object cannot be pickled; its text can


class Converter:
    """Both directions, given rpy2.robjects; its methods must run inside `bridge.r_session`."""

    def __init__(self, robjects: Any) -> None:
        self._r = robjects
        self.code = robjects.r["new.env"](parent=robjects.r["baseenv"]())
        for file in (_SHARED / "pcalgo.R", _HERE / "bridge.R"):
            robjects.r["sys.source"](str(file), envir=self.code)

    def result_from_r(self, robject: Any) -> Any:
        """A pcAlgo or fciAlgo as a `PcAlgo` or `PagAlgo`; TypeError for slots of another type or size."""
        counts = _slot(robject, "n.edgetests", "REALSXP", "INTSXP")
        _slot(robject, "pMax", "REALSXP")
        plain = _named(self.code["as_plain"](robject))
        values: dict[str, Any] = {name: list(value) for name, value in _named(plain["values"]).items()}
        values = {name: value[0] if len(value) == 1 else value for name, value in values.items()}
        p, vectors = len(values["labels"]), _named(plain["arrays"])
        if len(vectors["pMax"]) != p**2 or (values["every_cell"] and len(robject.slots["sepset"]) != p):
            raise TypeError(f"slots pMax and sepset of the R object must be for its {p} variables")
        values["call"] = RCall(
            values["call"],
            robject.slots["call"],
            weight=str(self.code["weight_type"](robject.slots["graph"])[0]) if "graph.from" in vectors else "none",
            counts="integer" if counts.typeof.name == "INTSXP" else "double",
        )
        return result_of({name: _vector(vector) for name, vector in vectors.items()}, values)

    def graph_from_r(self, robject: Any) -> PcAlgo:
        """A graphNEL as a result in which only the graph is known."""
        labels = [str(label) for label in self._r.r["slot"](robject, "nodes")]
        unknown = dict.fromkeys(ANSWER, np.zeros(0, dtype=np.int32)) | {"pMax": np.full(len(labels) ** 2, np.nan)}
        cells = {f"graph.{part}": _vector(cell) for part, cell in _named(self.code["graph_cells"](robject)).items()}
        arrays = only_stored_cells(unknown | from_plain(cells), len(labels))
        return PcAlgo.from_arrays(arrays, labels=labels, max_ord=-1, engine="R (a graph only)", engine_name="R")

    def result_to_r(self, fit: PcAlgo | PagAlgo) -> Any:
        """The pcAlgo or fciAlgo of a result."""
        vectors, call = to_plain(fit.to_arrays(None)), fit.call
        weight, counts = "double" if isinstance(fit, PcAlgo) and fit.oriented else "integer", "double"
        if isinstance(call, RCall):
            language, weight, counts = call.language, call.weight, call.counts
        else:
            language = self._r.r["str2lang"](_as_r_call(call))
        tests = self._r.IntVector if counts == "integer" else self._r.FloatVector
        plain = {
            "labels": self._r.StrVector(list(fit.labels)),
            "sepset": self._list("sepset.", vectors),
            "n.edgetests": tests(fit.n_edgetests),
            "max.ord": self._r.IntVector([fit.max_ord]),
            "pMax": self.matrix(fit.pMax),
        }
        if isinstance(fit, PagAlgo):
            plain |= {name: self._list(f"{name}.", vectors) for name in ("edge", "pdsep")}
            plain["n.edgetestsPDSEP"] = self._r.FloatVector(vectors["n.edgetestsPDSEP"])
            plain["max.ordPDSEP"] = self._r.IntVector([fit.max_ord_pdsep])
        else:
            plain["graph"] = self._list("graph.", vectors)
        boxed = self._r.rinterface.ListSexpVector([language])
        return self.code["with_call"](self._r.ListVector(plain), boxed, weight)

    def suffstat_from_r(self, robject: Any) -> SuffStat:
        """R's list of C and n as a SuffStat; TypeError for anything else."""
        fields = _named(robject) if len(robject) and robject.names != self._r.NULL else {}
        for name in ("C", "n"):
            if name not in fields:
                raise TypeError(
                    f"an R suffStat list must hold C and n; {name} is missing (it holds {', '.join(fields)})"
                )
        kind = fields["C"].typeof.name
        if kind not in ("REALSXP", "INTSXP") or not self._r.r["is.matrix"](fields["C"])[0]:
            raise TypeError(f"C of an R suffStat must be a numeric matrix, got {kind}")
        names = self._r.r["colnames"](fields["C"])
        labels = None if names == self._r.NULL else list(map(str, names))
        many = self._r.r["length"](fields["n"])[0] != 1  # of pairs, if they are a matrix
        n = self._array(fields["n"]) if many else fields["n"][0]
        n_rule = str(fields["n_rule"][0]) if "n_rule" in fields else "mean"
        return SuffStat(self._array(fields["C"]), n, labels, n_rule=n_rule)

    def _array(self, numbers: Any) -> NDArray[np.float64]:
        """R's numbers; a matrix as one."""
        values, shape = _vector(self._r.r["as.double"](numbers)), self._r.r["dim"](numbers)
        return values if shape == self._r.NULL else values.reshape(tuple(shape), order="F")

    def suffstat_to_r(self, data: SuffStat) -> Any:
        C = self.matrix(data.C, data.labels)
        if data.pair_n is None:
            return self._r.r["list"](C=C, n=float(data.n))
        return self._r.r["list"](C=C, n=self.matrix(data.pair_n.matrix, data.labels), n_rule=data.pair_n.rule)

    def matrix(self, matrix: NDArray[Any], names: Sequence[str] | None = None) -> Any:
        """An R matrix of logicals or doubles, perhaps with names of rows and columns."""
        flat = np.ascontiguousarray(matrix.T).ravel()
        if matrix.dtype == bool:
            vector = self._r.BoolVector(flat.tolist())
        else:
            vector = self._r.FloatVector.from_memoryview(flat.astype(np.float64).data)
        both = self._r.NULL if names is None else self._r.r["list"](*2 * [self._r.StrVector(list(names))])
        return self._r.r["matrix"](vector, *matrix.shape, dimnames=both)

    def _list(self, prefix: str, vectors: Mapping[str, NDArray[Any]]) -> Any:
        """R's list of the integer vectors whose names begin with `prefix`."""
        of_list = {name.removeprefix(prefix): v for name, v in vectors.items() if name.startswith(prefix)}
        return self._r.ListVector({name: self._r.IntVector.from_memoryview(v.data) for name, v in of_list.items()})


def _slot(robject: Any, name: str, *kinds: str) -> Any:
    value = robject.slots[name]
    kind = value.typeof.name
    if kind not in kinds:
        raise TypeError(f"slot {name} of the R object must be {' or '.join(kinds)}, got {kind}")
    return value


def _vector(robject: Any) -> NDArray[Any]:
    """An R vector of integers or doubles, int32 or float64, one-dimensional."""
    return np.array(robject.memoryview()).ravel(order="K") if len(robject) else np.zeros(0, dtype=np.int32)


def _named(robject: Any) -> dict[str, Any]:
    return dict(zip(robject.names, robject, strict=True))


def _as_r_call(call: str) -> str:
    """A Python call in a form that R can parse; if R cannot parse it, a call that quotes it."""
    text = call.replace("inf", "Inf").replace("'", '"')
    return text if text and text.isascii() and text.endswith(")") and "\n" not in text else f"pycupc({call!r})"
