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

if TYPE_CHECKING:
    from pycupc.result import PcAlgo
    from pycupc.suffstat import SuffStat

__all__ = ["RBridgeError", "RCall", "from_r", "pcalg_pc", "pcalg_skeleton", "to_r"]

# Both ways in flat vectors: a list cell touched from Python costs a hundred times one touched from R.
_R_CODE = """
list(
  flatten = function(fit) {
    p <- length(fit@sepset)
    cells <- do.call(c, fit@sepset)
    stored <- which(!vapply(cells, is.null, NA))
    list(cell = as.double(stored) - 1, length = lengths(cells[stored]), members = as.integer(unlist(cells[stored])) - 1L,
         plain = all(vapply(cells[stored], is.integer, NA)))
  },
  unflatten = function(p, cell, length, members) {
    sets <- vector("list", base::length(length))
    before <- cumsum(as.double(length)) - length
    for (size in unique(length)) {
      of_size <- which(length == size)
      sets[of_size] <- if (size == 0L) list(integer(0)) else if (size == 1L) as.list(members[before[of_size] + 1]) else {
        block <- matrix(members[rep(before[of_size], each = size) + seq_len(size)], size)
        lapply(seq_along(of_size), function(i) block[, i])
      }
    }
    cells <- vector("list", p * p)
    cells[cell + 1] <- sets
    lapply(seq_len(p), function(x) cells[(x - 1) * p + seq_len(p)])
  },
  graph_cells = function(graph) {
    m <- methods::as(graph, "matrix")
    at <- which(m != 0)
    list(at = as.double(at) - 1, mark = as.integer(m[at]), weight = typeof(m),
         labels = graph::nodes(graph))
  },
  graph = function(labels, at, mark, weight) {
    if (!length(at)) return(methods::new(methods::getClass("graphNEL", where = asNamespace("graph")), nodes = labels))
    p <- length(labels)
    m <- matrix(if (weight == "integer") 0L else 0, p, p, dimnames = list(labels, labels))
    m[at + 1] <- if (weight == "integer") mark else as.double(mark)
    methods::as(m, "graphNEL")
  },
  pcalgo = function(call, max.ord, n.edgetests, sepset, pMax, graph) {
    methods::new(methods::getClass("pcAlgo", where = asNamespace("pcalg")), graph = graph, call = call, n = integer(0),
      max.ord = max.ord, n.edgetests = n.edgetests, sepset = sepset, pMax = pMax, zMin = matrix(NA, 1, 1))
  },
  run = function(what, C, n, args) {
    f <- getExportedValue("pcalg", what)
    fit <- do.call(f, c(list(suffStat = list(C = C, n = n), indepTest = pcalg::gaussCItest), args))
    args <- lapply(args, function(a) if (is.matrix(a)) quote(fixed) else if (length(a) > 8) quote(labels) else a)
    fit@call <- as.call(c(list(as.name(what), suffStat = quote(suffStat), indepTest = quote(gaussCItest)), args))
    fit
  }
)
"""


class RBridgeError(RuntimeError):
    """rpy2, R or an R package is missing or does not fit; the text says what to install."""


class RCall(str):
    """The text of an R call, with the R object itself in `.language`, so that it goes back to R unchanged."""

    language: Any

    def __new__(cls, language: Any) -> RCall:
        text = super().__new__(cls, " ".join(part.strip() for part in _rpy2().r["deparse"](language)))
        text.language = language
        return text


@functools.cache
def _rpy2() -> Any:
    """rpy2.robjects, imported once."""
    if "rpytools" in sys.modules:  # reticulate's own module: R is the host of this process
        raise RBridgeError("this process was started by R (reticulate): rpy2 must not be loaded into it as well; "
                           "use cu_pc() and cu_compare() of the R package")
    try:
        import rpy2.robjects as robjects
    except ImportError as error:
        raise RBridgeError(
            f"rpy2 cannot be imported ({error}). Install it with pip install 'pycupc[r]'"
        ) from error
    except Exception as error:  # a missing R, or symbols that this R does not have, raise many kinds
        raise RBridgeError(
            f"rpy2 does not work with this R ({type(error).__name__}: {error}). rpy2-rinterface 3.6.6 and later need "
            "R 4.5 or later; for an older R: pip install 'rpy2==3.6.4' 'rpy2-rinterface<=3.6.4' 'rpy2-robjects<=3.6.4'. "
            "No R at all: install one first (Debian: r-base-core). RPY2_CFFI_MODE=ABI avoids compiling"
        ) from error
    return robjects


@contextmanager
def _r_session() -> Iterator[Any]:
    """rpy2.robjects under R's lock and the plain converter, whatever the caller has set up."""
    robjects = _rpy2()
    from rpy2.rinterface_lib import openrlib
    from rpy2.robjects.conversion import localconverter

    if threading.current_thread() is not threading.main_thread():
        warnings.warn("R is used off the main thread: Ctrl-C will not reach it", RuntimeWarning, stacklevel=3)
    with openrlib.rlock, localconverter(robjects.default_converter):
        yield robjects


@functools.cache
def _code() -> dict[str, Any]:
    functions = _rpy2().r(_R_CODE)
    return dict(zip(functions.names, functions, strict=True))


def _need(package: str) -> None:
    found = _rpy2().r["requireNamespace"](package, quietly=True)[0]
    if not found:
        libraries = ", ".join(_rpy2().r[".libPaths"]())
        raise RBridgeError(
            f"the R package {package} is not installed in {libraries}; in R: "
            f'install.packages("BiocManager"); BiocManager::install("{package}")'
        )
