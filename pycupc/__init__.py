"""Causal structure from data: the PC-stable algorithm, exactly as R's pcalg answers it, on CPU and GPU.

What is public:

    pc, skeleton               the algorithm, with pcalg's arguments
    SuffStat                   correlations and number of observations
    gaussCItest                pcalg's Gaussian test
    PcAlgo                     what pc and skeleton return
    compare                    two results side by side
    EngineError, Interrupted   what pc and skeleton may raise besides TypeError and ValueError

How the package is built, from the top: cli, r and comparison; pc (skeleton, then orientation) and skeleton (the level
loop), with their checked arguments; engines, which run the tests of a level, and orientation; results; the Gaussian
test; sparse_graph, the form of a graph that all of them share.
"""

from __future__ import annotations

from pycupc.comparison import compare
from pycupc.engines.base import EngineError
from pycupc.gaussian.gauss_ci_test import gaussCItest
from pycupc.gaussian.suffstat import SuffStat
from pycupc.pc import pc
from pycupc.results.pcalgo import PcAlgo
from pycupc.skeleton import Interrupted, skeleton
from pycupc.version import __version__

__all__ = [
    "EngineError", "Interrupted", "PcAlgo", "SuffStat", "__version__", "compare", "gaussCItest", "pc", "skeleton",
]  # fmt: skip
