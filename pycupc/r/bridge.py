"""rpy2's side: R objects in, R objects out, and pcalg itself for comparison.

A round trip from R to Python and back is `identical()`; `conversions.py` lists how each field is converted. Call this
from the main thread: R is single-threaded, and its interrupts go there. A process that R started (reticulate) must not
load rpy2 as well: the R package in r_wrapper/ is for such a process. rpy2 is imported at the first call.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pycupc.data.names import check_labels, default_labels
from pycupc.independence.gaussian.suffstat import SuffStat, as_suff_stat
from pycupc.r.conversions import Converter
from pycupc.r.messages import R_NAMES
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

__all__ = ["RBridgeError", "from_r", "pcalg_pc", "pcalg_skeleton", "to_r"]

_UNFIT = (
    "rpy2 does not work with this R ({error}). rpy2-rinterface 3.6.6 and later need R 4.5 or later; for an older R: "
    "pip install 'rpy2==3.6.4' 'rpy2-rinterface<=3.6.4' 'rpy2-robjects<=3.6.4'. Without R, install it first "
    "(Debian: apt install r-base-core). RPY2_CFFI_MODE=ABI in the environment avoids rpy2's compiled part"
)


class RBridgeError(RuntimeError):
    """rpy2, R or an R package is missing or of the wrong version; the text says which command installs it."""


@functools.cache
def load_rpy2() -> Any:
    """rpy2.robjects, imported once; an `RBridgeError` says why that is impossible."""
    if "rpytools" in sys.modules:  # reticulate's own module: R is the host of this process
        raise RBridgeError(
            "this process was started by R (reticulate), and rpy2 must not be loaded into it as well; "
            "use cu_pc() and cu_compare() of the R package"
        )
    try:
        import rpy2.robjects as robjects
    except Exception as error:  # a missing R, or symbols that this R does not have, raise many kinds
        if isinstance(error, ImportError) and "rpy2" in str(error) and "No module" in str(error):
            raise RBridgeError('the R bridge needs rpy2: pip install ".[r]" in a checkout of pycupc') from error
        raise RBridgeError(_UNFIT.format(error=f"{type(error).__name__}: {error}")) from error
    return robjects


@contextmanager
def r_session() -> Iterator[Any]:
    """rpy2.robjects under R's lock and with rpy2's default conversions, whatever the caller has set up."""
    if threading.current_thread() is not threading.main_thread():
        warnings.warn(
            "R is used off the main thread, where Ctrl-C does not reach it; call pycupc.r from the main thread",
            RuntimeWarning,
            stacklevel=4,
        )
    robjects = load_rpy2()
    from rpy2.rinterface_lib import openrlib
    from rpy2.robjects.conversion import localconverter

    with openrlib.rlock, localconverter(robjects.default_converter):
        yield robjects


@functools.cache
def _converter() -> Converter:
    return Converter(load_rpy2())


def require_packages(robjects: Any, *packages: str) -> None:
    """Raise `RBridgeError`, which says how to install it, for the first of these R packages that is missing."""
    for package in packages:
        if not robjects.r["requireNamespace"](package, quietly=True)[0]:
            libraries = ", ".join(robjects.r[".libPaths"]())
            raise RBridgeError(
                f"the R package {package} is not in R's libraries ({libraries}); in R: "
                f'install.packages("BiocManager"); BiocManager::install("{package}")'
            )


def from_r(robject: Any) -> PcAlgo | PagAlgo | SuffStat:
    """Turn an R object into its Python counterpart.

    A suffStat list becomes a SuffStat, whose labels are the column names of C, if it has any; a pcAlgo a PcAlgo; a
    graphNEL a PcAlgo of which only the graph is known; an fciAlgo a PagAlgo, which does not say whether the levels or
    later tests removed an edge.

    Raises
    ------
    TypeError
        For any other object, or if a field has the wrong type; the text names both.
    RBridgeError
        If R, rpy2 or a package is missing.
    """
    with r_session() as robjects:
        classes = tuple(robjects.r["class"](robject))
        if "pcAlgo" in classes or "fciAlgo" in classes:
            require_packages(robjects, "graph")
            found: PcAlgo | PagAlgo = _converter().result_from_r(robject)
            return found
        if "graphNEL" in classes:
            require_packages(robjects, "graph")
            return _converter().graph_from_r(robject)
        if "list" in classes:
            return _converter().suffstat_from_r(robject)
        raise TypeError(
            f"robject must be an R suffStat list, pcAlgo, graphNEL or fciAlgo; got an object of class {classes}"
        )


def to_r(fit: PcAlgo | PagAlgo | SuffStat) -> Any:
    """Turn a result into a pcAlgo or fciAlgo, and a SuffStat into R's list of C and n.

    An object that came from R through `from_r` returns `identical()`. TypeError if `fit` is something else;
    RBridgeError as of `from_r`.
    """
    with r_session() as robjects:
        if isinstance(fit, SuffStat):
            return _converter().suffstat_to_r(fit)
        if not isinstance(fit, (PcAlgo, PagAlgo)):
            raise TypeError(f"fit must be a PcAlgo, a PagAlgo or a SuffStat, got {type(fit).__name__}")
        require_packages(robjects, "pcalg", "graph")
        return _converter().result_to_r(fit)


def pcalg_pc(suffStat: Any, alpha: float, labels: Sequence[str] | None = None, **options: Any) -> PcAlgo:
    """Run the real ``pcalg::pc`` with gaussCItest.

    Parameters
    ----------
    suffStat : SuffStat, mapping with "C" and "n", or DataFrame
    alpha : float in [0, 1]
        Significance level of each test.
    labels : sequence of p str, optional
        Names of the variables; by default the labels of `suffStat`, else "1" to "p".
    **options
        Further arguments of `pycupc.pc` that pcalg has as well: fixedGaps, fixedEdges, NAdelete, m_max, u2pd,
        skel_method ("original" too), conservative, maj_rule, solve_confl, numCores, verbose.

    Returns
    -------
    PcAlgo

    Raises
    ------
    TypeError
        If pcalg does not have one of the options.
    RBridgeError
        If R, rpy2 or pcalg is missing.
    rpy2.rinterface_lib.embedded.RRuntimeError
        If R stops with an error.
    """
    return _run_pcalg("pc", suffStat, alpha, labels, options)


def pcalg_skeleton(suffStat: Any, alpha: float, labels: Sequence[str] | None = None, **options: Any) -> PcAlgo:
    """Run the real ``pcalg::skeleton`` with gaussCItest; see `pcalg_pc`, whose ``skel_method`` is ``method`` here."""
    return _run_pcalg("skeleton", suffStat, alpha, labels, options)


#: The options that pcalg has as well.
_SHARED = frozenset(("fixedGaps", "fixedEdges", "NAdelete", "numCores", "verbose", "m_max"))
_OPTIONS = {
    "skeleton": _SHARED | {"method"},
    "pc": _SHARED | {"u2pd", "conservative", "skel_method", "maj_rule", "solve_confl"},
}


def _run_pcalg(name: str, suffStat: Any, alpha: float, labels: Sequence[str] | None, options: dict[str, Any]) -> PcAlgo:
    if unknown := sorted(options.keys() - _OPTIONS[name]):
        raise TypeError(f"pcalg::{name} has no argument {', '.join(unknown)}")
    data = as_suff_stat(suffStat)
    labels = check_labels(data.labels or default_labels(data.p) if labels is None else labels, data.p)
    if data.pair_n is not None:
        raise ValueError("pcalg's test takes one number of observations n, not one for each pair of variables")
    with r_session() as robjects:
        require_packages(robjects, "pcalg", "graph")
        converter = _converter()
        values = {key: value for key, value in options.items() if value is not None}
        for key in values.keys() & {"fixedGaps", "fixedEdges"}:
            values[key] = converter.matrix(np.asarray(values[key]) != 0)
        if "m_max" in values:
            values["m_max"] = float(values["m_max"])
        args = {"alpha": float(alpha)} | {R_NAMES.get(key, key): value for key, value in values.items()}
        args["labels"] = robjects.StrVector(labels)
        fit = converter.code["run_pcalg"](name, converter.matrix(data.C), float(data.n), robjects.ListVector(args))
        out: PcAlgo = converter.result_from_r(fit)
    out.n, out.alpha, out.engine = data.n, float(alpha), f"pcalg::{name}"
    return out
