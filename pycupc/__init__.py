"""Causal structure from data: the PC-stable algorithm on CPU and GPU, with exactly the answer of R's pcalg.

The public names:

    pc, skeleton               the PC algorithm, with pcalg's arguments
    fci, rfci                  the FCI and the RFCI algorithm, for data with hidden variables
    SuffStat                   correlations and number of observations
    gaussCItest                pcalg's Gaussian test
    PcAlgo, PagAlgo            what pc and skeleton return, and what fci and rfci return
    Knowledge                  tiers, required and forbidden arrows
    add_background_knowledge   known directions added to a finished graph
    effects, Effects           possible causal effects of all variables on all others
    adjustment_set, is_adjustment_set   what to adjust for
    ida, ida_fast, joint_ida   the same as pcalg's functions give them
    MultipleImputation         several imputations of an incomplete table: gaussMItest, disMItest
    IncompleteTable            a table with missing values, for test-wise deletion: gaussCItwd, disCItwd
    MixedTable                 a table of numbers and categories: mixCItest, flexCItest; with gaps mixCItwd, flexCItwd
    MixedImputation            several imputations of such a table: mixMItest, flexMItest
    choose, Choice             the test that fits a table, why, and others that would do
    KCI, RCoT                  tests for nonlinear dependence, for pc(table, KCI()); RCoT for many variables or rows
    cstar, CStaR               pairs of cause and effect, ranked by how stable a large effect is
    compare                    two results side by side
    load_example, load_truth   example data, and their true graph
    evaluate, Evaluation       a result beside the true graph
    simulate, Simulation       a random DAG, and data from it
    d_separated                whether a graph implies an independence
    stability, Stability       how often each edge is found on resamples of the rows
    EngineError, Interrupted   what pc and skeleton may raise besides TypeError and ValueError

Public names are imported when they are first used, so that the command line responds at once. docs/architecture.md
tells how the package is built.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from pycupc.system.moved import find_moved_modules
from pycupc.system.version import __version__

TYPE_CHECKING = False  # as in `typing`, whose import would take most of the time before the command can handle Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from pycupc.algorithm.background import add_background_knowledge
    from pycupc.algorithm.fci import fci
    from pycupc.algorithm.pc import pc
    from pycupc.algorithm.rfci import rfci
    from pycupc.algorithm.skeleton import Interrupted, skeleton
    from pycupc.data import load_example
    from pycupc.data.mixed import MixedTable
    from pycupc.effects.adjustment import adjustment_set, is_adjustment_set
    from pycupc.effects.effects import effects
    from pycupc.effects.effects_result import Effects
    from pycupc.effects.ida import ida, ida_fast, joint_ida
    from pycupc.graph.knowledge import Knowledge
    from pycupc.independence.choice import Choice
    from pycupc.independence.families import choose
    from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
    from pycupc.independence.gaussian.suffstat import SuffStat
    from pycupc.independence.kernel.kci import KCI
    from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
    from pycupc.independence.missing.reference_tests import disCItwd, disMItest, gaussCItwd, gaussMItest
    from pycupc.independence.mixed.data import MixedImputation
    from pycupc.independence.mixed.mix_ci_test import flexCItest, flexCItwd, mixCItest, mixCItwd
    from pycupc.independence.mixed.mix_mi_test import flexMItest, mixMItest
    from pycupc.independence.rcot import RCoT
    from pycupc.results.comparison import compare
    from pycupc.results.pagalgo import PagAlgo
    from pycupc.results.pcalgo import PcAlgo
    from pycupc.stability.cstar import cstar
    from pycupc.stability.ranking import CStaR
    from pycupc.stability.stability_result import Stability
    from pycupc.stability.stability_run import stability
    from pycupc.system.limits import EngineError
    from pycupc.truth.evaluation import Evaluation, evaluate
    from pycupc.truth.known_graph import KnownGraph, load_truth
    from pycupc.truth.separation import d_separated
    from pycupc.truth.simulation import Simulation, simulate

__all__ = [
    "KCI",
    "CStaR",
    "Choice",
    "Effects",
    "EngineError",
    "Evaluation",
    "IncompleteTable",
    "Interrupted",
    "Knowledge",
    "KnownGraph",
    "MixedImputation",
    "MixedTable",
    "MultipleImputation",
    "PagAlgo",
    "PcAlgo",
    "RCoT",
    "Simulation",
    "Stability",
    "SuffStat",
    "__version__",
    "add_background_knowledge",
    "adjustment_set",
    "choose",
    "compare",
    "cstar",
    "d_separated",
    "disCItwd",
    "disMItest",
    "effects",
    "evaluate",
    "fci",
    "flexCItest",
    "flexCItwd",
    "flexMItest",
    "gaussCItest",
    "gaussCItwd",
    "gaussMItest",
    "ida",
    "ida_fast",
    "is_adjustment_set",
    "joint_ida",
    "load_example",
    "load_truth",
    "mixCItest",
    "mixCItwd",
    "mixMItest",
    "pc",
    "rfci",
    "simulate",
    "skeleton",
    "stability",
]  # fmt: skip

_HOME = {
    "CStaR": "pycupc.stability.ranking",
    "Choice": "pycupc.independence.choice",
    "Effects": "pycupc.effects.effects_result",
    "EngineError": "pycupc.system.limits",
    "Evaluation": "pycupc.truth.evaluation",
    "IncompleteTable": "pycupc.independence.missing.data",
    "Interrupted": "pycupc.algorithm.skeleton",
    "KCI": "pycupc.independence.kernel.kci",
    "KnownGraph": "pycupc.truth.known_graph",
    "Knowledge": "pycupc.graph.knowledge",
    "MixedImputation": "pycupc.independence.mixed.data",
    "MixedTable": "pycupc.data.mixed",
    "MultipleImputation": "pycupc.independence.missing.data",
    "PagAlgo": "pycupc.results.pagalgo",
    "PcAlgo": "pycupc.results.pcalgo",
    "RCoT": "pycupc.independence.rcot",
    "Simulation": "pycupc.truth.simulation",
    "Stability": "pycupc.stability.stability_result",
    "SuffStat": "pycupc.independence.gaussian.suffstat",
    "add_background_knowledge": "pycupc.algorithm.background",
    "adjustment_set": "pycupc.effects.adjustment",
    "choose": "pycupc.independence.families",
    "compare": "pycupc.results.comparison",
    "cstar": "pycupc.stability.cstar",
    "d_separated": "pycupc.truth.separation",
    "disCItwd": "pycupc.independence.missing.reference_tests",
    "disMItest": "pycupc.independence.missing.reference_tests",
    "effects": "pycupc.effects.effects",
    "evaluate": "pycupc.truth.evaluation",
    "fci": "pycupc.algorithm.fci",
    "flexCItest": "pycupc.independence.mixed.mix_ci_test",
    "flexCItwd": "pycupc.independence.mixed.mix_ci_test",
    "flexMItest": "pycupc.independence.mixed.mix_mi_test",
    "gaussCItest": "pycupc.independence.gaussian.gauss_ci_test",
    "gaussCItwd": "pycupc.independence.missing.reference_tests",
    "gaussMItest": "pycupc.independence.missing.reference_tests",
    "ida": "pycupc.effects.ida",
    "ida_fast": "pycupc.effects.ida",
    "is_adjustment_set": "pycupc.effects.adjustment",
    "joint_ida": "pycupc.effects.ida",
    "load_example": "pycupc.data",
    "load_truth": "pycupc.truth.known_graph",
    "mixCItest": "pycupc.independence.mixed.mix_ci_test",
    "mixCItwd": "pycupc.independence.mixed.mix_ci_test",
    "mixMItest": "pycupc.independence.mixed.mix_mi_test",
    "pc": "pycupc.algorithm.pc",
    "rfci": "pycupc.algorithm.rfci",
    "simulate": "pycupc.truth.simulation",
    "skeleton": "pycupc.algorithm.skeleton",
    "stability": "pycupc.stability.stability_run",
}


def __getattr__(name: str) -> Any:
    if name in ("discrete", "r", "sklearn"):
        return import_module(f"pycupc.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'pycupc' has no attribute {name!r}")
    from pycupc.system.garbage import no_collection  # here, as the command must handle Ctrl-C at once

    with no_collection():
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    modules = {name for name, value in globals().items() if getattr(value, "__name__", "") == f"{__name__}.{name}"}
    return sorted({*__all__, *modules})


class _Package(ModuleType):
    """Keeps the names of functions bound to them, although modules have the same names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):  # which the import system sets
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
find_moved_modules()
