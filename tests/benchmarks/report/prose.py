"""The sentences of BENCHMARKS.md. Its numbers come from the raw files."""

HEAD = """# Benchmarks

How long pycupc and other implementations of the PC algorithm take, how much memory they need, and how far their
answers agree. `python -m tests.benchmarks report` writes this page, its tables (also as CSV) and its pictures from the
raw files in [results](results). All numbers come from there, except for the published times in section 12, which are
marked as such. The raw files contain every single run, the machine, the versions and the commit. The last section
lists the commands that made them.

**How time is measured.** A time is the median of several runs in one process, in double precision, from arrays in host
memory to arrays in host memory. Reading the data, computing the correlations, compiling, and the first use of a device
are not included unless a column says so. Before an engine of pycupc is timed, its answer is checked: edges, separating
sets and numbers of tests must equal the recorded answer for the data set or, if there is none (or this machine rounds
the correlations differently), the answer of another engine. For other implementations, the edges that differ from
pycupc's are counted.

**Engines of pycupc.** `cpu`: compiled with Numba, all cores. `gpu`: the default on a GPU; its algorithm is called the
Schur walk. `cupc-e` and `cupc-s`: our implementations of the two algorithms of the cuPC paper (Zarebavani et al.
2020). `reference`: plain NumPy, the oracle of the tests. All engines return the same answer.

**Data sets.** `nci60`, `mcc`, `saureus`, `tcga_brca_jive`, `riboflavin` and `stock_logret` are real. `std_P_DEGREE_N`
and `paper_P_DENSITY_N` are generated: P variables, N samples, and the expected number of neighbours or the density of
the true graph. Section 7 describes the two generators.

**Cells.** The heading of a column names its unit.

* `217 (17 edges differ)`: 217 in the unit of the column; 17 edges are in only one of the two graphs, pycupc's and that
  of the other implementation.
* `> 1,000 (stopped)`: the run was stopped at this time limit.
* `> 18 min (estimated)`: the run was not started, because the estimate exceeds the time limit, or did not end before
  the computer had to be given back. The estimate is the number of tests of this data set times the shortest time per
  test that this implementation needed on any other data set. It carries its own unit.
* An empty cell: the combination was not tried.
"""

LEGEND = """\
pcalg is CRAN's package, which uses one core on Linux; the original cuPC ran on the same GPU up to its last level, 14.
"Stopped": the run reached the time limit. "Estimated": the run was not started, or did not end in time; the estimate
is the number of tests times the shortest time per test on any other data set. "17 edges differ": from pycupc's graph.
[BENCHMARKS.md](tests/benchmarks/BENCHMARKS.md) has all tables and pictures, with versions and raw files.
"""

PEERS = """\
All implementations get the same correlations. pcalg is CRAN's package: its `stable.fast` runs on one core there,
because the package is built without OpenMP on Linux and ignores `numCores` ("cpu_seconds" in the raw file shows this);
a build with OpenMP has a separate column. ParallelPC (`pc_parallel`, one process per core) is timed with mem.efficient
FALSE and TRUE, and the smaller time is reported; it includes the orientation, which cannot be left out. The original
cuPC stops after level 14. It was given the correct cutoffs, because those of its R script are off by one level. gpucsl
was run up to level 6; its time is that of the skeleton alone.

All ran within half an hour on one computer with one GPU and 16 virtual processors: first those on the GPU, then those
on the CPU in six jobs side by side. Programs with one thread had one virtual processor, all others two, and no job
shared them with another. R used the OpenBLAS that was installed there.
"""

CPU = """\
The `cpu` engine in detail, each data set in a fresh process. Start-up includes importing the package and loading the
compiled code (or compiling it, on the first run on a machine). The allowed memory is 500 MB plus 3 times the size of
the correlation matrix.
"""

PYTHON_PEERS = """\
Python implementations from PyPI on small data sets (PC-stable, Fisher's z, alpha 0.05, no limit on the level). Their
times include the orientation; those of pycupc do not.
"""

GPU = """\
`kernels/README.md` explains the design of the kernels; `kernels/LOG.md` records what was tried. The goal is the time
that was set for the engine `gpu` on one H200. It is "met" if the whole call is fast enough, and "met by the engine" if
that holds without the checks of the arguments and the construction of the result.

The engines of pycupc had the computer to themselves; the time of `gpu` is the median of 25 runs. gpucsl and the
original cuPC ran beside one process of R (section 9). In a call of a few milliseconds half of the time goes to
launches, copies and Python, which vary from host to host. The orientation is that of a finished skeleton; `pc` on the
engine `gpu` takes less for it (section 11), because it finds on the device which separating sets matter.
"""

SPLIT = """\
The same runs step by step. The whole call is one call of `skeleton()`; the column "engine" leaves out the checks of
the arguments and the construction of the result. The copy to the device includes level 0, which waits for it. Tests
per second: pcalg's number of tests divided by the time of the levels. Share of the peak: at ten floating-point
operations per test, relative to
{peak}.
"""

PEAK = "{tflops} TFLOP/s (multiprocessors x clock x double-precision units x 2)"
NO_PEAK = "a peak that is not known for this GPU"

BASELINES = """\
The cuPC paper compares its algorithms with two baselines. With one thread per edge, the thread makes all tests of the
edge in sequence (cupc-e with beta = 64, gamma = 1). With one block per edge, the threads of the block make them in
parallel (beta = 1, gamma = 256).
"""

LEVELS = """\
The level is the size of the conditioning sets. At level 0 the correlations themselves are compared with the cutoff.
"""

CONFIGURATION = """\
`{engine}` with ({names}): the paper chose {paper}; pycupc's default is {default}. The best configuration on average is
{best}, which takes {mean:.2f} times as long as the paper's choice ({least:.2f} to {most:.2f} times, depending on the
data set, so it is {verdict}).
"""

CONFIGURATIONS = """\
With beta and gamma, one block tests beta edges with gamma threads each; with theta and delta, delta blocks of theta
threads test one row. On data sets called paper_P_DENSITY_N nearly all tests are ill-conditioned (section 7).
"""

SHARING = """\
The algorithms cupc-s and `gpu` reuse the work of a conditioning set within one row: the row uses the set {a, b} for
all its other edges. A set could also be reused across rows; how many rows use the same set shows how much that could
gain.
"""

SCALING = """\
**The two generators.** The paper's generator adds up the parents of a variable with weights in [0.1, 1] and noise of
variance 1. Variances therefore grow by orders of magnitude along the order of the variables, and with thousands of
variables the late ones are copies of each other up to rounding; the columns on correlations near 1 show how close they
are. The correlation matrices of the conditioning sets are then ill-conditioned, and the last bits of the correlations
decide which edges are removed. Two correct programs that round differently return different graphs, and so does one
program with correlations from two linear algebra libraries; neither graph is wrong. All engines of pycupc decide such
doubtful tests by the same canonical formula, so their answers are equal even here; the table counts these tests. Data
from this generator show how fast a program is, but not whether its answer is right. The standardised generator gives
every variable variance 1, of which 20 to 60 % is noise.

**The runs.** Kernels are compiled beforehand. If a run takes less than one second, it is repeated and the second run
is reported. A run is stopped at a time limit (10 s, or the `--limit` of the commands below), and no further engine is
tried on that graph. An engine that finishes none of the first four graphs of a point is given up at this point. "(6 of
8)" after a time: the engine finished 6 of the 8 graphs on which it was tried, and the time is the median over these 6,
so two engines with different counts were timed on different graphs. If an engine finished no graph, the cell shows the
limit, the level at which the run was stopped, and the largest number of tests that this level may need. An engine was
not tried at the larger densities if it had exceeded the limit at density 0.1, nor on graphs on which `gpu` had
exceeded it.

**With and without pruning.** `gpu` prunes (`tests/PRUNING.md`), "gpu, no pruning" makes every test. The latter was
recorded with an earlier version of the package; on all graphs that both finished, separating sets and numbers of tests
are equal. On the paper's generator only the latter was run.

**Where the limit is exceeded.** On the standardised generator a single level may need more than 10^13 tests from p =
2,000 on, which takes any program that makes these tests many minutes to hours. With pruning, the ten graphs at p =
2,000 take 22 to 36 s, the graph at p = 3,000 takes 170 s, with 4.65e15 tests answered (1.06e12 made, before sharing),
and the graph at p = 4,000 takes 851 s, with 6.56e16 tests answered and 3.23e12 made. The last two, and graph 4 at p =
2,000, were recorded after blocks had learned to share the pairs that take long (`kernels/LOG.md`), the others before.
On the paper's generator the limit is exceeded on graphs whose levels 3 to 11 need up to 10^8 to 10^12 tests that are
nearly all ill-conditioned: each of these tests solves an eigenvalue problem."""

SCALING_LARGE = """\
One sparse random graph per p (standardised generator, degree 10, n = 200, alpha 0.01). The predicted device memory is
that of `pycupc estimate`; the measured one includes the arrays with which the benchmark itself makes the data. The
orientation for p = 1,000 was the first one and waited until its compiled code was loaded; its time is left out.
"""

ACCURACY = """\
TDR, the true discovery rate, is the share of the found edges that are in the true graph. SHD, the structural Hamming
distance, is the number of pairs of variables whose edge is missing, superfluous, or oriented otherwise than in the
true CPDAG. The values are means over the graphs that every program answered; the slow programs were given fewer
graphs. pycupc and pcalg must agree exactly: the last column compares them on all graphs. causal-learn is run twice:
with the rule of pcalg, that a later collider overwrites an earlier one (uc_priority = 0), and with its default rule
(2).
"""

IN_R = """\
From the correlation matrix in R to the `pcAlgo` object in R: conversion, skeleton, orientation, and the list of p x p
separating sets. The first call of a session also starts Python and loads the compiled code. pcalg runs on one core
(see section 1), cu_pc() with engine = "cpu". A pair counts as different if it is not marked equally in the two CPDAGs.
The computer is that of section 1: cu_pc() had two virtual processors, beside gpucsl and the original cuPC.
"""

COMMANDS = """
 On a machine with a GPU: `python -m tests.benchmarks prepare --carry FOLDER` collects what the GPU experiments need,
and `python tests/benchmarks gpu-all --data FOLDER --out RESULTS` runs them in one call of at most ten minutes. With
`--cache` (the environment of the Python peers), `prepare` collects the tables of the experiment `discrete-gpu` as
well. `stability-gpu` and `stability-cluster` need the data alone, `stability-cluster` also as many GPUs as `--workers`
says. `python -m tests.benchmarks paired OLD_CHECKOUT` compares this checkout with another one, run by run.

The peers: `--install-peers` installs causal-learn and pgmpy into the folder `--cache`. pcalg, ParallelPC and bnlearn
are looked for in R's libraries (`R_LIBS`). bnlearn is on CRAN but not in Debian 12; the last version for its R 4.2 is
4.9, in CRAN's archive.
"""
