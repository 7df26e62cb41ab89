"""R objects in, R objects out, and pcalg itself for comparison. The only module that touches rpy2, and lazily.

    R                      Python                what becomes of it, index base
    suffStat list(C, n)    SuffStat              double p x p to float64; dimnames to labels
    pcAlgo @graph          PcAlgo.graph          graphNEL to int8 (p, p), [i, j] = 1: i -> j
    pcAlgo @sepset         PcAlgo.sepset         p lists of p integers or NULL; 1 to 0-based
    pcAlgo @pMax           PcAlgo.pMax           double to float64
    pcAlgo @n.edgetests    PcAlgo.n_edgetests    double: R's integers end at 2^31
    pcAlgo @max.ord        PcAlgo.max_ord        integer to int
    pcAlgo @call           PcAlgo.call           language to RCall, a str that keeps the object
    pcAlgo @n, @zMin       -                     always integer(0) and matrix(NA, 1, 1)

R to Python to R is `identical()`. Use it from the main thread: R is single-threaded, and its interrupts go there.
Never in a process that R started (reticulate): there the R package `r_wrapper/` is the way.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.rbridge_code import R_CODE

if TYPE_CHECKING:
    from pycupc.result import PcAlgo
    from pycupc.suffstat import SuffStat

__all__ = ["RBridgeError", "RCall", "from_r", "pcalg_pc", "pcalg_skeleton", "to_r"]


class RBridgeError(RuntimeError):
    """rpy2, R or an R package is missing or does not fit; the text says what to install."""


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

    def __new__(cls, language: Any, weight: str, counts: str) -> RCall:
        text = super().__new__(cls, _code()["call_text"](_boxed(language))[0])
        text.language, text.weight, text.counts = language, weight, counts
        return text

    def __reduce__(self) -> tuple:
        return str, (str(self),)  # an R object cannot be pickled; its text can


@functools.cache
def _rpy2() -> Any:
    """rpy2.robjects, imported once."""
    if "rpytools" in sys.modules:  # reticulate's own module: R is the host of this process
        raise RBridgeError(
            "this process was started by R (reticulate), and rpy2 must not be loaded into it as well; "
            "use cu_pc() and cu_compare() of the R package"
        )
    try:
        import rpy2.robjects as robjects
    except ImportError as error:
        if "rpy2" in str(error) and "No module" in str(error):
            raise RBridgeError("the R bridge needs rpy2: pip install 'pycupc[r]'") from error
        raise RBridgeError(_UNFIT.format(error=f"{type(error).__name__}: {error}")) from error
    except Exception as error:  # a missing R, or symbols that this R does not have, raise many kinds
        raise RBridgeError(_UNFIT.format(error=f"{type(error).__name__}: {error}")) from error
    return robjects


_UNFIT = (
    "rpy2 does not work with this R ({error}). rpy2-rinterface 3.6.6 and later need R 4.5 or later; for an older R: "
    "pip install 'rpy2==3.6.4' 'rpy2-rinterface<=3.6.4' 'rpy2-robjects<=3.6.4'. No R at all: install one first "
    "(Debian: apt install r-base-core). RPY2_CFFI_MODE=ABI in the environment does without a compiled part"
)


@contextmanager
def _r_session() -> Iterator[Any]:
    """rpy2.robjects under R's lock and the plain converter, whatever the caller has set up."""
    if threading.current_thread() is not threading.main_thread():
        warnings.warn(
            "R is used off the main thread: Ctrl-C will not reach it; call pycupc.rbridge from the main thread",
            RuntimeWarning,
            stacklevel=4,
        )
    robjects = _rpy2()
    from rpy2.rinterface_lib import openrlib
    from rpy2.robjects.conversion import localconverter

    with openrlib.rlock, localconverter(robjects.default_converter):
        yield robjects


@functools.cache
def _code() -> dict[str, Any]:
    functions = _rpy2().r(R_CODE)
    return dict(zip(functions.names, functions, strict=True))


def _need(robjects: Any, *packages: str) -> None:
    for package in packages:
        if not robjects.r["requireNamespace"](package, quietly=True)[0]:
            libraries = ", ".join(robjects.r[".libPaths"]())
            raise RBridgeError(
                f"the R package {package} is not in R's libraries ({libraries}); in R: "
                f'install.packages("BiocManager"); BiocManager::install("{package}")'
            )


def from_r(robject: Any) -> PcAlgo | SuffStat:
    """Turn an R object into its counterpart here.

    Parameters
    ----------
    robject : rpy2 object
        A suffStat list (with C and n), a pcAlgo, or a graphNEL.

    Returns
    -------
    SuffStat
        Of a suffStat list; labels are the column names of C, where it has some.
    PcAlgo
        Of a pcAlgo or a graphNEL; of the latter only the graph is known.

    Raises
    ------
    TypeError
        Of anything else, or where a field is not what it should be; the text names the field and its type.
    RBridgeError
        If R, rpy2 or a package is missing.
    """
    with _r_session() as robjects:
        classes = tuple(robjects.r["class"](robject))
        if "pcAlgo" in classes:
            _need(robjects, "graph")
            return _pcalgo_from_r(robjects, robject)
        if "graphNEL" in classes:
            _need(robjects, "graph")
            return _graph_from_r(robject)
        if "list" in classes:
            return _suffstat_from_r(robjects, robject)
        raise TypeError(f"expected an R suffStat list, pcAlgo or graphNEL, got an object of class {classes}")


def to_r(fit: PcAlgo | SuffStat) -> Any:
    """Turn a result into an R pcAlgo, or a SuffStat into R's list of C and n.

    Parameters
    ----------
    fit : PcAlgo or SuffStat

    Returns
    -------
    rpy2 object
        What came from R by `from_r` goes back `identical()`.

    Raises
    ------
    TypeError
        If `fit` is something else.
    RBridgeError
        If R, rpy2, pcalg or graph is missing.
    """
    from pycupc.result import PcAlgo
    from pycupc.suffstat import SuffStat

    with _r_session() as robjects:
        if isinstance(fit, SuffStat):
            return _suffstat_to_r(robjects, fit)
        if not isinstance(fit, PcAlgo):
            raise TypeError(f"expected a PcAlgo or a SuffStat, got {type(fit).__name__}")
        _need(robjects, "pcalg", "graph")
        return _pcalgo_to_r(robjects, fit)


def pcalg_pc(suffStat: Any, alpha: float, labels: Sequence[str] | None = None, **options: Any) -> PcAlgo:
    """Run the real ``pcalg::pc`` with gaussCItest.

    Parameters
    ----------
    suffStat : SuffStat, mapping with "C" and "n", or DataFrame
    alpha : float
    labels : sequence of str, optional
    **options
        Further arguments of `pycupc.pc` that pcalg has: fixedGaps, fixedEdges, NAdelete, m_max, u2pd, skel_method,
        conservative, maj_rule, solve_confl, numCores, verbose. ``skel_method="original"`` too.

    Returns
    -------
    PcAlgo

    Raises
    ------
    TypeError
        An option that pcalg does not have.
    RBridgeError
        If R, rpy2 or pcalg is missing.
    rpy2.rinterface_lib.embedded.RRuntimeError
        If R stops with an error.
    """
    return _run_pcalg("pc", suffStat, alpha, labels, options)


def pcalg_skeleton(suffStat: Any, alpha: float, labels: Sequence[str] | None = None, **options: Any) -> PcAlgo:
    """Run the real ``pcalg::skeleton`` with gaussCItest; see `pcalg_pc`. The method is called ``method`` here."""
    return _run_pcalg("skeleton", suffStat, alpha, labels, options)


_SHARED = {"fixedGaps", "fixedEdges", "NAdelete", "m_max", "numCores", "verbose"}
_OPTIONS = {
    "skeleton": _SHARED | {"method"},
    "pc": _SHARED | {"u2pd", "skel_method", "conservative", "maj_rule", "solve_confl"},
}


def _run_pcalg(what: str, suffStat: Any, alpha: float, labels: Sequence[str] | None, options: dict[str, Any]) -> PcAlgo:
    from pycupc.suffstat import as_suff_stat

    unknown = sorted(options.keys() - _OPTIONS[what])
    if unknown:
        raise TypeError(f"pcalg::{what} has no argument {', '.join(unknown)}")
    data = as_suff_stat(suffStat)
    names = labels or data.labels or [str(i + 1) for i in range(data.p)]
    with _r_session() as robjects:
        _need(robjects, "pcalg", "graph")
        args = {"alpha": float(alpha), "labels": robjects.StrVector(list(names))}
        for name, value in options.items():
            if value is None:
                continue
            dotted = {
                "m_max": "m.max",
                "skel_method": "skel.method",
                "maj_rule": "maj.rule",
                "solve_confl": "solve.confl",
            }
            if name in ("fixedGaps", "fixedEdges"):
                value = _r_matrix(robjects, np.asarray(value) != 0)
            elif name == "m_max":
                value = float(value)
            args[dotted.get(name, name)] = value
        fit = _code()["run"](what, _r_matrix(robjects, data.C), data.n, robjects.ListVector(args))
        out = _pcalgo_from_r(robjects, fit)
    out.n, out.alpha, out.engine = data.n, float(alpha), f"pcalg::{what}"
    return out


def _slot(robject: Any, name: str, kinds: tuple[str, ...]) -> Any:
    value = robject.slots[name]
    kind = value.typeof.name if hasattr(value.typeof, "name") else str(value.typeof)
    if kind not in kinds:
        raise TypeError(f"slot {name} of the R object must be {' or '.join(kinds)}, got {kind}")
    return value


def _graph_arrays(graph: Any) -> tuple[list[str], str, dict[str, np.ndarray]]:
    cells = dict(zip(*((v := _code()["graph_cells"](graph)).names, v), strict=True))
    labels = [str(label) for label in cells["labels"]]
    at = np.array(cells["at"], dtype=np.int64)
    p = len(labels)
    arrays = {"graph_from": at % p, "graph_to": at // p, "graph_mark": np.array(cells["mark"], dtype=np.int32)}
    return labels, str(cells["weight"][0]), arrays


def _boxed(language: Any) -> Any:
    """An R list around a call: as a bare argument, R would evaluate it."""
    from rpy2.rinterface import ListSexpVector

    return ListSexpVector([language])


def _vector(robject: Any, dtype: type) -> np.ndarray:
    return np.array(robject.memoryview(), dtype=dtype).ravel(order="K") if len(robject) else np.zeros(0, dtype)


def _r_matrix(robjects: Any, matrix: np.ndarray) -> Any:
    p, q = matrix.shape
    flat = np.ascontiguousarray(matrix.T).ravel()
    if matrix.dtype == bool:
        return robjects.r["matrix"](robjects.BoolVector(flat.tolist()), p, q)
    return robjects.r["matrix"](robjects.FloatVector.from_memoryview(memoryview(flat.astype(np.float64))), p, q)


def _ints(robjects: Any, values: np.ndarray) -> Any:
    return robjects.IntVector.from_memoryview(memoryview(np.ascontiguousarray(values, dtype=np.int32)))


def _floats(robjects: Any, values: np.ndarray) -> Any:
    return robjects.FloatVector.from_memoryview(memoryview(np.ascontiguousarray(values, dtype=np.float64)))


def _named(robject: Any) -> dict[str, Any]:
    return dict(zip(robject.names, robject, strict=True))


def _pcalgo_from_r(robjects: Any, robject: Any) -> PcAlgo:
    from pycupc.flat import from_arrays

    labels, weight, arrays = _graph_arrays(_slot(robject, "graph", ("S4SXP",)))
    p = len(labels)
    counts = _slot(robject, "n.edgetests", ("REALSXP", "INTSXP"))
    p_max = _slot(robject, "pMax", ("REALSXP",))
    if len(p_max) != p * p or len(_slot(robject, "sepset", ("VECSXP",))) != p:
        raise TypeError(f"slots pMax and sepset of the R object must be for the {p} nodes of its graph")
    sets = _named(_code()["flatten"](robject))
    cell = _vector(sets["cell"], np.float64).astype(np.int64)
    arrays |= {
        "sepset_x": cell // p,
        "sepset_y": cell % p,
        "sepset_len": _vector(sets["length"], np.int32),
        "sepset_members": _vector(sets["members"], np.int32),
        "n_edgetests": _vector(counts, np.float64),
        "pMax": _vector(p_max, np.float64),
    }
    call = RCall(robject.slots["call"], weight, "integer" if counts.typeof.name == "INTSXP" else "double")
    max_ord = int(_slot(robject, "max.ord", ("INTSXP", "REALSXP"))[0])
    return from_arrays(arrays, labels=labels, max_ord=max_ord, call=call, engine="R")


def _graph_from_r(robject: Any) -> PcAlgo:
    from pycupc.flat import from_arrays

    labels, _, arrays = _graph_arrays(robject)
    p = len(labels)
    none = dict.fromkeys(("sepset_x", "sepset_y", "sepset_len", "sepset_members"), np.zeros(0, np.int32))
    unknown = {"n_edgetests": np.zeros(0), "pMax": np.full(p * p, np.nan)}
    return from_arrays({**arrays, **none, **unknown}, labels=labels, max_ord=-1, engine="R (a graph only)")


def _pcalgo_to_r(robjects: Any, fit: PcAlgo) -> Any:
    from pycupc.flat import to_arrays

    code, p, call = _code(), fit.p, fit.call
    arrays = to_arrays(fit)
    x, y, length, members = (arrays[f"sepset_{k}"] for k in ("x", "y", "len", "members"))
    implied = fit.sepset.empty_pairs()
    implied[x, y] = False
    empty_x, empty_y = np.nonzero(implied)
    cell = np.concatenate((x.astype(np.float64) * p + y, empty_x.astype(np.float64) * p + empty_y))
    length = np.concatenate((length, np.zeros(len(empty_x), np.int32)))
    sepset = code["unflatten"](p, _floats(robjects, cell), _ints(robjects, length), _ints(robjects, members + 1))
    if isinstance(call, RCall):
        language, weight, counts = call.language, call.weight, call.counts
    else:
        oriented = bool((fit.graph != fit.graph.T).any() or fit.call.startswith("pc("))
        language, weight, counts = (
            robjects.r["str2lang"](_as_r_call(call)),
            "double" if oriented else "integer",
            "double",
        )
    at = arrays["graph_to"].astype(np.float64) * p + arrays["graph_from"]
    marks = _ints(robjects, arrays["graph_mark"])
    graph = code["graph"](robjects.StrVector(list(fit.labels)), _floats(robjects, at), marks, weight)
    tests = (_ints if counts == "integer" else _floats)(robjects, np.array(fit.n_edgetests))
    return code["pcalgo"](
        _boxed(language), robjects.IntVector([fit.max_ord]), tests, sepset, _r_matrix(robjects, fit.pMax), graph
    )


def _as_r_call(call: str) -> str:
    """A Python call as R can parse it; what it cannot becomes a call that quotes it."""
    text = call.replace("inf", "Inf").replace("'", '"')
    return text if text and text.isascii() and text.endswith(")") and "\n" not in text else f"pycupc({call!r})"


def _suffstat_from_r(robjects: Any, robject: Any) -> SuffStat:
    from pycupc.suffstat import SuffStat

    fields = _named(robject) if len(robject) and robject.names != robjects.NULL else {}
    for name in ("C", "n"):
        if name not in fields:
            raise TypeError(f"an R suffStat list must hold C and n; {name} is missing (it holds {', '.join(fields)})")
    C = fields["C"]
    kind = C.typeof.name
    if kind not in ("REALSXP", "INTSXP") or len(robjects.r["dim"](C)) != 2:
        raise TypeError(f"C of an R suffStat must be a numeric matrix, got {kind}")
    rows, columns = robjects.r["dim"](C)
    names = robjects.r["colnames"](C)
    labels = None if names == robjects.NULL else [str(name) for name in names]
    flat = _vector(robjects.r["as.double"](C), np.float64)
    return SuffStat(flat.reshape((rows, columns), order="F"), float(fields["n"][0]), labels)


def _suffstat_to_r(robjects: Any, data: SuffStat) -> Any:
    C = _r_matrix(robjects, data.C)
    if data.labels is not None:
        names = robjects.StrVector(list(data.labels))
        C = robjects.r["matrix"](C, data.p, data.p, dimnames=robjects.r["list"](names, names))
    return robjects.r["list"](C=C, n=float(data.n))
