"""The Gaussian conditional-independence test, below the engines and the orientation, which both build on it.

    suffstat.py              correlation matrix and number of observations, checked
    correlation.py           the correlation matrix of a table of observations; pairwise.py, its compiled half
    fisher_z.py              partial correlation -> z -> p-value, and the significance level as a cutoff on |r|
    partial_correlation.py   the canonical partial correlation, by which every engine decides a doubtful test
    gauss_ci_test.py         pcalg's gaussCItest, one test at a time and literally

A second family of tests (G^2 tests of discrete data) becomes a sibling of this package: its own sufficient statistic
and its own test, run by the engines over the same graph between levels.
"""
