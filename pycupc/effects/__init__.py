"""Causal effects from a graph: what happens to y if x is changed, in each DAG behind the graph (docs/EFFECTS.md).

effects.py        `effects`: all pairs at once; result.py, its value; blocks.py, largest.py, parts of that
ida.py            pcalg's ida, idaFast and jointIda
adjustment.py     adjustment sets as lists
parent_sets.py    the parent sets of a cause; dags.py, all DAGs; paths.py, causal paths and what blocks the others
orientations.py   a graph as sets of neighbours, with Meek's rules
local.py          the effects of many causes at once; regressors.py, their parent sets
regression.py     the numbers, from a covariance matrix; joint.py, those of several causes; intervals.py; on_gpu.py
"""

from __future__ import annotations

from pycupc.effects.effects import effects
from pycupc.effects.ida import ida, ida_fast, joint_ida
from pycupc.effects.result import Effects

__all__ = ["Effects", "effects", "ida", "ida_fast", "joint_ida"]
