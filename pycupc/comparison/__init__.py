"""Two results side by side: are they equal, and if not, at which test, triple or rule did they part?"""

from __future__ import annotations

from pycupc.comparison.comparison import Comparison, compare
from pycupc.comparison.differences import Parting

__all__ = ["Comparison", "Parting", "compare"]
