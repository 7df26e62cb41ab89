"""The kernel-based conditional independence test, KCI: docs/contracts/kernel_test.md.

kci.py        the options of the test, and its definition, written out
factors.py    factors of kernels, and what a set leaves of them
compiled.py   the loops of these, compiled
lapack.py     two functions of LAPACK, called outside the interpreter's lock
kept.py       values that threads share
test.py       the tests of a run, which share their work
family.py     what the program must know about the test
"""
