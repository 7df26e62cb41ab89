"""Times of KCI beside causal-learn, in turns: python tests/benchmarks/kernel_speed.py P N [SAMPLE]

A whole run of `pc(X, KCI())`, and for each size of sets some of causal-learn's tests between parts of ours; its time of
the run is the number of tests times the mean. Processor time and wall time. BLAS has the threads that it takes by
default; with OPENBLAS_NUM_THREADS=1 causal-learn has one.
"""

import sys
import time

import numpy as np

from pycupc import KCI, pc
from pycupc.independence.kernel.kci import KernelData
from pycupc.independence.kernel.test import KernelTest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from accuracy import nonlinear


def clocks():
    return np.array([time.process_time(), time.perf_counter()])


def main(p, n, sample=3):
    from causallearn.utils.cit import CIT

    rng = np.random.default_rng(0)
    X, _ = nonlinear(rng, p, n)
    pc(X[:60, :5], KCI())  # loads the compiled code
    KernelTest(KernelData.of(X[:60]), 0.05, KCI()).p_of_tests(*np.array([[0], [1]]), np.array([[2, 3, 4]]))
    begin = clocks()
    fit = pc(X, KCI(), alpha=0.05)
    ours = clocks() - begin
    theirs, found = CIT(X, "kci"), []
    for size in range(min(len(fit.n_edgetests), 4)):
        spent = np.zeros(2)
        for _ in range(sample):
            x, y, *S = rng.choice(p, size + 2, replace=False)
            begin = clocks()
            theirs(x, y, S)
            spent += clocks() - begin
        found.append(spent / sample)
    found += [found[-1]] * (len(fit.n_edgetests) - len(found))
    whole = sum(number * seconds for number, seconds in zip(fit.n_edgetests, found, strict=True))
    print(f"p = {p}, n = {n}: tests {fit.n_edgetests}, {len(fit.sparse_graph)} edges")
    print("causal-learn, s per test by size (processor, wall):", np.round(found, 4).tolist())
    print(f"whole run: pycupc {ours[0]:.2f} / {ours[1]:.2f} s, causal-learn {whole[0]:.0f} / {whole[1]:.0f} s")
    print(f"ratio: processor time {whole[0] / ours[0]:.0f}, wall time {whole[1] / ours[1]:.0f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
