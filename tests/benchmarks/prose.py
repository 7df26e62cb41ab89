"""The words of BENCHMARKS.md; its numbers come from the raw files."""

HEAD = """# Benchmarks

What each algorithm does on each workload. This page is written by `python -m tests.benchmarks report` from the raw
files in [results](results), which hold every repeat, the machine, the versions and the commit; none of its numbers
comes from elsewhere. Before anything is timed its answer is compared: edges, separating sets and number of tests
with the recorded answer of the set where there is one, else with the first engine's. Times are medians, in float64,
from arrays in the host's memory to arrays in the host's memory, without reading files and computing correlations;
compilation and first use are apart. Run it again with the commands at the end.
"""

SCALING = """\
The paper's generator adds up parents with weights in [0.1, 1] and noise of variance 1, so variances grow by orders
of magnitude along the order of the variables, and with p in the thousands late variables are copies of one another
to within rounding (the columns "largest r" and "pairs within 1e-12 of 1" say how near). Then the matrices of
conditioning sets are singular in float64, and which edge goes is decided by the last bits of the correlations: two
correct programs that round differently, or the same program on a correlation matrix from another library, give
different graphs, and neither is wrong. pycupc's engines share one definition for such tests ("careful tests" counts
them), so that they agree with each other all the same. Such data say how fast a program is, not whether it is
right. The standardised generator keeps every variance at 1 and noise at 20 to 60 % of it.

Kernels are compiled before; of two runs the second counts, where one takes less than a second. A run is stopped at a
limit (--limit of the commands below, else 10 s), and the other engines are not tried on that graph; an engine that
finished none of the first four graphs of a point is given up there. "(6 of 8)" counts the graphs that an engine
finished of those it was tried on, and its median is over these: engines with different counts ran on different graphs.
Where none finished, the level it was at and the number of tests that this level may need say how far it was. An empty
cell: not tried, since the engine had passed the limit at density .1, or schur on the same graphs. On the
standardised generator two graphs were tried at p = 2000 and one each above: a level alone may need 10^13 tests and
more, many minutes to hours for any program that makes these tests. On the paper's generator the graphs that pass the
limit are those where levels 3 to 11 ask for up to 10^8 to 10^12 tests, nearly all of them singular: each is an
eigenvalue problem."""

CONFIGURATIONS = """\
Sets called paper_P_DENSITY_N come from the paper's generator (section 7): nearly all their tests are singular.
"""

PEERS = """\
Peers as their users have them, on the same correlations: pcalg's `stable.fast` runs on one core, since CRAN's package
is built without OpenMP on Linux and `numCores` changes nothing there ("cpu_seconds" in the raw file show it); a column
of its own shows a build with OpenMP. A run is not started where its best rate a test on the sets so far says that it
would pass the limit. The original cuPC stops after level 14 and was given the right cutoffs (its R script's are off by
one level); gpucsl was run to level 6, the time is that of its skeleton. Edges that differ from pycupc's are counted.
"""

CPU = """\
The `cpu` engine apart, each set in a fresh process. The start includes loading Numba and its compiled code (or
compiling it, the first time on a machine); allowed memory is 3 x the bytes of C plus 500 MB.
"""

PYTHON_PEERS = """\
Python peers, from PyPI, on small sets (PC-stable, Fisher z, alpha .05, no limit on the level; theirs with orientation):
"""

PEAK = "processors x clock x float64 units x 2"

SPLIT = """\
Total is a call of `skeleton()`; the engine alone leaves out checking arguments and building the result. Tests a second:
pcalg's count over the time of the levels. Share of the peak: at ten operations a test, of {peak}.
"""

OTHER_HOST = """\
The tables above come from one card of a computer with four, with 16 of its cores, while the other cards were busy.
Of a call of few milliseconds launches, copies and Python are half. On a computer with one card ("there"), with the same
kernels of schur, the levels took up to 15 % less, the copy to the device up to half less (gpu-other-host.json is the
gpu.json recorded there):
"""

BASELINES = """\
One thread an edge makes all its tests in sequence (cupc-e with beta = 64, gamma = 1); one block an edge makes them in
parallel (beta = 1, gamma = 256).
"""

SHARING = """\
Local sharing is what cupc-s and schur live on: one row uses a set {a, b} for all its other edges. Global sharing would
reuse it across rows; how many rows ask for the same set says what that could gain.
"""

ACCURACY = """\
TDR: share of the found edges that are in the true graph; SHD: pairs of variables whose edge is missing, extra or marked
otherwise than in the true CPDAG. Means over the graphs that all have answered (slow peers get fewer). pycupc and pcalg
must coincide: the last column counts over all graphs. causal-learn is run twice: with colliders that overwrite each
other, as in pcalg (uc_priority = 0), and with its own default (2).
"""

IN_R = """\
From the correlation matrix in R to the `pcAlgo` object in R: conversion, skeleton, orientation, p^2 separating sets as
lists. The first call of a session also starts Python and loads the compiled code. pcalg runs on one core (section 1),
cu_pc() with engine = "cpu".
"""

COMMANDS = """
On a machine with a GPU: `python -m tests.benchmarks prepare --carry FOLDER` collects what the GPU experiments need, and
`python tests/benchmarks gpu-all --data FOLDER --out RESULTS` runs them in one call of at most ten minutes.
"""
