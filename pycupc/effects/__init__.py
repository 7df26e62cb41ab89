"""Causal effects from a graph: what happens to y if x is changed, in each DAG behind the graph
(docs/contracts/effects.md).

effects.py       `effects`: all pairs at once; effects_result.py, its value, pooled.py, of imputations; plot.py
ida.py           pcalg's ida, idaFast and jointIda
adjustment.py    adjustment sets as lists
parent_sets.py   the parent sets of causes; dags.py, all DAGs; orientations.py, a graph as sets of neighbours
causal_paths.py  causal paths and what blocks the others, optimal adjustment sets
regression.py    effects given parent sets, from a covariance matrix, and their intervals
local.py         the effects of many causes at once, and the largest; on_gpu.py
"""

from __future__ import annotations

from pycupc.effects.effects import effects
from pycupc.effects.effects_result import Effects
from pycupc.effects.ida import ida, ida_fast, joint_ida

__all__ = ["Effects", "effects", "ida", "ida_fast", "joint_ida"]
