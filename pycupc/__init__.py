"""Causal structure from data: the PC-stable algorithm, exactly as R's pcalg answers it, on CPU and GPU.

What is public:

    pc, skeleton               the algorithm, with pcalg's arguments
    SuffStat                   correlations and number of observations
    gaussCItest                pcalg's Gaussian test
    PcAlgo                     what pc and skeleton return
    EngineError, Interrupted   what they may raise besides TypeError and ValueError
"""

from __future__ import annotations

from pycupc.engines.base import EngineError
from pycupc.gaussian.gauss_ci_test import gaussCItest
from pycupc.gaussian.suffstat import SuffStat
from pycupc.pc import pc
from pycupc.results.pcalgo import PcAlgo
from pycupc.skeleton import Interrupted, skeleton
from pycupc.version import __version__

__all__ = ["EngineError", "Interrupted", "PcAlgo", "SuffStat", "__version__", "gaussCItest", "pc", "skeleton"]
