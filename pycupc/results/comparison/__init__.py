"""Two results side by side: are they equal, and if not, at which test, triple or rule do they begin to differ?

`comparison` compares, `differences` finds what differs, `report` puts it into words.
"""

from __future__ import annotations

from pycupc.results.comparison.comparison import Comparison, compare
from pycupc.results.comparison.differences import Difference

__all__ = ["Comparison", "Difference", "compare"]
