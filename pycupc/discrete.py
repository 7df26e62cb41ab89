"""The G^2 tests of discrete data, under the name that users import: `pycupc.independence.discrete` holds them."""

from pycupc.independence.discrete import DiscreteSuffStat, binCItest, disCItest, gSquareBin, gSquareDis

__all__ = ["DiscreteSuffStat", "binCItest", "disCItest", "gSquareBin", "gSquareDis"]
