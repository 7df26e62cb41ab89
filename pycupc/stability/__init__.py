"""How stable is each edge? An algorithm on many resamples of the rows, and how often each edge or mark is found.

    rows.py                 which rows a resample has, a pure function of seed and index; the resample as `pc` takes it
    study.py                the computation on every resample, and the outcome of one
    processes.py            resamples in this process, or on an executor
    resample_checkpoint.py  finished resamples in a folder
    stability_arguments.py  the arguments of `stability`, checked
    stability_run.py        `stability`, which puts these together, and the counts so far
    stability_result.py     `Stability`, which it returns; saved.py, its file; over_resamples.py, its base
    consensus.py            how often each edge was found; the graph of the stable edges
    bounds.py               how many of its edges are expected to be false
    cstar.py                `cstar`: the largest effects on every resample, and their ranking; ranking.py, its result

References
----------
Meinshausen and Buehlmann (2010), Stability selection, JRSS B 72, 417-473. Shah and Samworth (2013), Variable selection
with error control: another look at stability selection, JRSS B 75, 55-80. Friedman, Goldszmidt and Wyner (1999), Data
analysis with Bayesian networks: a bootstrap approach, UAI. Stekhoven, Moraes, Sveinbjornsson, Hennig, Maathuis and
Buehlmann (2012), Causal stability ranking, Bioinformatics 28, 2819-2823.
"""

from __future__ import annotations

from pycupc.stability.consensus import Consensus, PagConsensus
from pycupc.stability.cstar import cstar
from pycupc.stability.ranking import CStaR
from pycupc.stability.stability_result import Stability
from pycupc.stability.stability_run import StabilityError, StabilityInterrupted, stability

__all__ = [
    "CStaR", "Consensus", "PagConsensus", "Stability", "StabilityError", "StabilityInterrupted", "cstar", "stability",
]  # fmt: skip
