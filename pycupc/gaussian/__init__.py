"""The Gaussian conditional-independence test, below the engines and the orientation, which both build on it.

    suffstat.py              correlation matrix and number of observations, checked; table_checks.py, checks of a table
    correlation.py           the correlation matrix of a table of observations; pairwise.py, its compiled half
    fisher_z.py              partial correlation -> z -> p-value, and the significance level as a cutoff on |r|;
                             p_values.py, its compiled half
    limits.py                the numbers from which all engines take their rules
    partial_correlation.py   the canonical partial correlation, by which every engine decides a doubtful test
    exact.py                 the same of ill-conditioned matrices, in double-double arithmetic (double_double.py)
    gauss_ci_test.py         pcalg's gaussCItest, one test at a time and literally

The G^2 tests of discrete data are a sibling of this package (`pycupc.discrete`), with their own sufficient statistic
and test; the engines run them over the same graph between levels.
"""
