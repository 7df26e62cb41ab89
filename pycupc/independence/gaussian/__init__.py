"""The Gaussian conditional-independence test.

family.py               the test with its data
suffstat.py             correlation matrix or data, and the number of observations, checked
correlation.py          the correlations: their definition for data, and an object that has them all, or computes some;
                        blocked_products.py, its compiled half
fisher_z.py             partial correlation -> z -> p-value, and the significance level as a cutoff on |r|;
                        compiled_p_values.py, its compiled half
p_values.py             the p-values of a result
tolerances.py           the numbers from which all engines take their rules
partial_correlation.py  the canonical partial correlation, by which every engine decides a doubtful test
n_by_pair.py            the test with an n for each pair of variables; pairwise_tests.py, its compiled half
double_double.py        the canonical partial correlation of ill-conditioned matrices, in double-double arithmetic
gauss_ci_test.py        pcalg's gaussCItest, one test at a time and literally
"""
