"""Tests of data with missing values, as micd makes them (docs/contracts/missing.md).

data.py                              several imputations of a table; a table with gaps
reference_tests.py                   the tests written out literally
imputed_tests.py, testwise_tests.py  the same, compiled
family.py                            the tests with their data
"""
