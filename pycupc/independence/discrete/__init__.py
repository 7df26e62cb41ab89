"""The G^2 tests of discrete data, the sibling of `pycupc.independence.gaussian`: below the engines and the orientation.

    suffstat.py     a table of codes, the number of levels of each variable, and adaptDF, checked
    g_square.py     pcalg's disCItest, binCItest, gSquareDis and gSquareBin, one test at a time and literally
    contingency.py  the same tests in compiled code, as the engines and the orientation make them
    strata.py       groups of rows that agree in several variables
    chi_square.py   the exact sum behind G^2, its p-value, and the significance level as a cutoff on G^2

What pcalg does, and where its two faults lie, is in docs/contracts/contract.md, section 12.
"""

from pycupc.independence.discrete.g_square import binCItest, disCItest, gSquareBin, gSquareDis
from pycupc.independence.discrete.suffstat import DiscreteSuffStat

__all__ = ["DiscreteSuffStat", "binCItest", "disCItest", "gSquareBin", "gSquareDis"]
