"""Everything that speaks to R: reticulate's side (`transport`, called by the R package) and rpy2's side (`bridge`)."""

from __future__ import annotations

from pycupc.r.bridge import RBridgeError, from_r, pcalg_pc, pcalg_skeleton, to_r
from pycupc.r.convert import RCall

__all__ = ["RBridgeError", "RCall", "from_r", "pcalg_pc", "pcalg_skeleton", "to_r"]
