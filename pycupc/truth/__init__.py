"""What is known about the truth: random graphs with data, how much of a graph was found, what a graph implies.

evaluation.py     `evaluate`: a result beside the true graph
simulation.py     `simulate`: a random DAG and data from it
separation.py     `d_separated`: which independences a graph implies
known_graph.py    `KnownGraph`: a true DAG with the size of each effect; `load_truth`: of the example data
graphs.py         a DAG or CPDAG that is given as a matrix, a result or a graph of networkx
"""

from __future__ import annotations

from pycupc.truth.evaluation import Evaluation, evaluate
from pycupc.truth.known_graph import KnownGraph, load_truth
from pycupc.truth.separation import d_separated
from pycupc.truth.simulation import Simulation, simulate

__all__ = ["Evaluation", "KnownGraph", "Simulation", "d_separated", "evaluate", "load_truth", "simulate"]
