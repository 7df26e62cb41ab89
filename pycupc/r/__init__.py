"""R objects in Python, and Python's results in R.

    bridge.py, bridge.R  rpy2's side, for a Python process: from_r, to_r, and pcalg itself for comparison
    conversions.py       the conversions of the bridge, field by field
    transport.py         reticulate's side, for an R process: called by the R package in r_wrapper/
    worker_thread.py     its computations, in a thread that R polls, and a user's indepTest, which R calls
    r_memory.py          R's vectors as arrays
    stability_values.py  results of pycupc.stability as plain values, for reticulate's side
    kept_evidence.py     the evidence that R's objects keep
    r_explanation.py     results that R holds: compared, and why their edges are there
    messages.py          errors and warnings in R's terms

One R file, r_wrapper/R/pcalgo.R, builds pcalg's S4 objects and takes them apart; both sides use it.
"""

from __future__ import annotations

from pycupc.r.bridge import RBridgeError, from_r, pcalg_pc, pcalg_skeleton, to_r
from pycupc.r.conversions import RCall

__all__ = ["RBridgeError", "RCall", "from_r", "pcalg_pc", "pcalg_skeleton", "to_r"]
