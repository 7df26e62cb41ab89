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

from pycupc.r.convert import Converter, RCall

if TYPE_CHECKING:
    from pycupc.gaussian.suffstat import SuffStat
    from pycupc.results.pcalgo import PcAlgo

__all__ = ["RBridgeError", "RCall", "from_r", "pcalg_pc", "pcalg_skeleton", "to_r"]


class RBridgeError(RuntimeError):
    """rpy2, R or an R package is missing or does not fit; the text says what to install."""


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
def _converter() -> Converter:
    return Converter(_rpy2())


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
            return _converter().pcalgo_from_r(robject)
        if "graphNEL" in classes:
            _need(robjects, "graph")
            return _converter().graph_from_r(robject)
        if "list" in classes:
            return _converter().suffstat_from_r(robject)
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
    from pycupc.gaussian.suffstat import SuffStat
    from pycupc.results.pcalgo import PcAlgo

    with _r_session() as robjects:
        if isinstance(fit, SuffStat):
            return _converter().suffstat_to_r(fit)
        if not isinstance(fit, PcAlgo):
            raise TypeError(f"expected a PcAlgo or a SuffStat, got {type(fit).__name__}")
        _need(robjects, "pcalg", "graph")
        return _converter().pcalgo_to_r(fit)


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
    from pycupc.gaussian.suffstat import as_suff_stat

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
                value = _converter().matrix(np.asarray(value) != 0)
            elif name == "m_max":
                value = float(value)
            args[dotted.get(name, name)] = value
        fit = _converter().code["run"](what, _converter().matrix(data.C), data.n, robjects.ListVector(args))
        out = _converter().pcalgo_from_r(fit)
    out.n, out.alpha, out.engine = data.n, float(alpha), f"pcalg::{what}"
    return out
